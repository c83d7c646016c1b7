/* SPDX-License-Identifier: Apache-2.0 */
/* Rows need the id of a name at once, its texts are answered later: the id is reserved, and defined when everything is
 * there, or at the end with what there is. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "collect/tracy/trace/internal.h"

/* one in this many of those that wait may have been answered: then they are looked through */
#define SETTLE_SHARE 8u

static const char *text_or_empty(const struct tracy_trace *t, uint32_t name)
{
    const char *text = tracy_names_text(t->names, name);
    return text ? text : "";
}

/* Its name, or that of the function where it has none. */
const char *late_source_text(const struct tracy_trace *t, uint32_t source)
{
    if (source >= t->names->source_count || !tracy_names_source_is_whole(t->names, source))
        return NULL;
    const struct tracy_source *s = &t->names->sources[source];
    const char *name = text_or_empty(t, s->name);
    return name[0] ? name : text_or_empty(t, s->function);
}

static bool is_known(const struct tracy_trace *t, const struct late_name *late)
{
    if (late->source != TRACY_NONE)
        return tracy_names_source_is_whole(t->names, late->source);
    return late->name == TRACY_NONE || tracy_names_text(t->names, late->name);
}

/* What is known of it by now; an address where that is nothing. */
static struct trace_name texts_of(struct tracy_trace *t, const struct late_name *late)
{
    static const struct tracy_source nothing = {
        .name = TRACY_NONE, .function = TRACY_NONE, .file = TRACY_NONE};
    const struct tracy_source *s =
        late->source < t->names->source_count ? &t->names->sources[late->source] : &nothing;
    const char *name = late->own != TRACY_NONE      ? intern_text(&t->late.texts, late->own)
                       : late->source == TRACY_NONE ? text_or_empty(t, late->name)
                                                    : text_or_empty(t, s->name);
    if (!name[0])
        name = text_or_empty(t, s->function);
    uint64_t address = late->name < t->names->count ? t->names->names[late->name].address : s->address;
    bytes_clear(&t->scratch);
    if (name[0] || late->prefix[0])
        bytes_append_format(&t->scratch, "%s%s", late->prefix, name);
    else if (address)
        bytes_append_format(&t->scratch, "0x%" PRIx64, address);
    else
        bytes_append_text(&t->scratch, "?");
    return (struct trace_name){.id = late->trace_id,
                               .name = bytes_text(&t->scratch),
                               .function = text_or_empty(t, s->function),
                               .file = text_or_empty(t, s->file),
                               .line = s->line,
                               .colour = s->colour};
}

static uint32_t add(struct tracy_trace *t, struct late_name late)
{
    struct late_names *names = &t->late;
    if (is_known(t, &late)) {
        struct trace_name name = texts_of(t, &late);
        return trace_writer_name(t->writer, name.name, name.function, name.file, name.line, name.colour);
    }
    if (!array_reserve(&names->waiting, &names->capacity, names->count + 1, sizeof *names->waiting))
        return TRACE_NONE;
    late.trace_id = trace_writer_name_later(t->writer);
    if (late.trace_id != TRACE_NONE)
        names->waiting[names->count++] = late;
    return late.trace_id;
}

static uint32_t *slot(uint32_t **array, size_t *capacity, uint32_t index)
{
    size_t known = *capacity;
    if (index >= known) {
        if (!array_reserve(array, capacity, (size_t)index + 1, sizeof **array))
            return NULL;
        memset(*array + known, 0, (*capacity - known) * sizeof **array);
    }
    return &(*array)[index];
}

uint32_t late_name_add_source(struct tracy_trace *t, uint32_t source)
{
    struct late_names *names = &t->late;
    struct late_name late = {.prefix = "", .source = source, .name = TRACY_NONE, .own = TRACY_NONE};
    uint32_t *place = source == TRACY_NONE ? NULL : slot(&names->of_source, &names->source_capacity, source);
    uint32_t id = add(t, late);
    if (place)
        *place = id + 1;
    return id;
}

uint32_t late_name_of_text(struct tracy_trace *t, uint32_t name)
{
    struct late_names *names = &t->late;
    if (name < names->name_capacity && names->of_name[name])
        return names->of_name[name] - 1;
    struct late_name late = {.prefix = "", .source = TRACY_NONE, .name = name, .own = TRACY_NONE};
    uint32_t *place = name == TRACY_NONE ? NULL : slot(&names->of_name, &names->name_capacity, name);
    uint32_t id = add(t, late);
    if (place)
        *place = id + 1;
    return id;
}

uint32_t late_name_own(struct tracy_trace *t, uint32_t source, const char *text, size_t length)
{
    uint32_t own = t->late.texts.count < TRACY_MAX_NAMES ? intern_add(&t->late.texts, text, length)
                                                         : intern_find(&t->late.texts, text, length);
    if (own == INTERN_NONE)
        return late_name_of_source(t, source);
    uint64_t key = (uint64_t)source << 32 | own;
    uint32_t id = map_get(&t->late.of_own, key);
    if (id == MAP_NONE) {
        id = late_name_prefixed(t, "", source, own);
        map_put(&t->late.of_own, key, id);
    }
    return id;
}

uint32_t late_name_prefixed(struct tracy_trace *t, const char *prefix, uint32_t source, uint32_t own)
{
    return add(t, (struct late_name){.prefix = prefix, .source = source, .name = TRACY_NONE, .own = own});
}

/* Rows to come use the name that has the texts, and not the one that got them late. */
static void replace(struct late_names *names, const struct late_name *late, uint32_t id)
{
    if (late->prefix[0])
        return;
    if (late->own != TRACY_NONE)
        map_put(&names->of_own, (uint64_t)late->source << 32 | late->own, id);
    else if (late->source < names->source_capacity)
        names->of_source[late->source] = id + 1;
    else if (late->source == TRACY_NONE && late->name < names->name_capacity)
        names->of_name[late->name] = id + 1;
}

void late_names_settle(struct tracy_trace *t, bool is_final)
{
    struct late_names *names = &t->late;
    uint64_t answers = t->names->answered - names->settled_answers;
    size_t kept = 0;
    if (!is_final && (!answers || answers * SETTLE_SHARE < names->count))
        return;
    names->settled_answers = t->names->answered;
    for (size_t i = 0; i < names->count; i++) {
        const struct late_name late = names->waiting[i];
        if (!is_final && !is_known(t, &late)) {
            names->waiting[kept++] = late;
            continue;
        }
        names->unnamed += !is_known(t, &late);
        struct trace_name name = texts_of(t, &late);
        replace(names, &late, trace_writer_set_name(t->writer, &name));
    }
    names->count = kept;
}

void late_names_free(struct late_names *names)
{
    intern_free(&names->texts);
    free(names->of_source);
    free(names->of_name);
    map_free(&names->of_own);
    free(names->waiting);
}
