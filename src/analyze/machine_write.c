/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/machine_write.h"

#include <string.h>

#include "text/json/writer.h"

static void write_figure(struct json *json, const char *key, double value, const char *unit,
                         const char *source)
{
    json_key(json, key);
    json_object(json, JSON_LINES);
    json_member_real(json, "value", value);
    if (*unit)
        json_member_text(json, "unit", unit);
    json_member_text(json, "source", source);
    json_end(json);
}

static const struct machine_figure *figure_of(const struct machine *machine, const char *key)
{
    for (size_t i = 0; i < machine->figure_count; i++) {
        if (machine->figures[i].is_estimate && strcmp(machine->figures[i].key, key) == 0)
            return &machine->figures[i];
    }
    return NULL;
}

static void write_target(struct json *json, const struct machine *machine,
                         const struct estimate_target *target, const char *source)
{
    struct estimate_target defaults;
    estimate_target_defaults(&defaults);
    json_key(json, "estimate");
    json_object(json, JSON_LINES);
    json_member_text(json, "kind", estimate_kind_text(target->kind));
    json_key(json, "figures");
    json_object(json, JSON_LINES);
#define X(name, required, otherwise, what)                                                                   \
    {                                                                                                        \
        const struct machine_figure *known = figure_of(machine, #name);                                      \
        bool is_known = known && known->value == target->name;                                               \
        if (known || target->name != defaults.name)                                                          \
            write_figure(json, #name, target->name, known ? known->unit : "",                                \
                         is_known ? known->source : source);                                                 \
    }
    ESTIMATE_FIGURES(X)
#undef X
    json_end(json);
    json_end(json);
}

int machine_write(FILE *stream, const struct machine *machine, const char *name,
                  const struct estimate_target *target, const char *source)
{
    struct json json = {.stream = stream};
    json_object(&json, JSON_LINES);
    json_member_text(&json, "name", name);
    json_member_text(&json, "title", machine->title);
    json_key(&json, "aliases");
    json_array(&json, JSON_INLINE);
    bool is_itself = strcmp(name, machine->name) == 0; /* another target made of it is no such device */
    for (size_t i = 0; is_itself && i < machine->alias_count; i++)
        json_text(&json, machine->aliases[i]);
    json_end(&json);
    json_key(&json, "figures");
    json_object(&json, JSON_LINES);
    for (size_t i = 0; i < machine->figure_count; i++) {
        const struct machine_figure *figure = &machine->figures[i];
        if (!figure->is_estimate)
            write_figure(&json, figure->key, figure->value, figure->unit, figure->source);
    }
    json_end(&json);
    if (target)
        write_target(&json, machine, target, source);
    json_end(&json);
    return json_finish(&json);
}
