/* SPDX-License-Identifier: Apache-2.0 */
#include "load/compare.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "import/mlir/bytecode.h"

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), own = strlen(ending);
    return length > own && strcmp(text + length - own, ending) == 0;
}

bool compare_is_model(const char *path)
{
    char head[4] = "";
    struct stat info;
    if (ends_with(path, ".mlir") || ends_with(path, ".mlirbc") || ends_with(path, ".mlirb"))
        return true;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = descriptor < 0 ? -1 : read(descriptor, head, sizeof head);
    if (descriptor >= 0)
        close(descriptor);
    return length == (ssize_t)sizeof head && mlir_is_bytecode(head, sizeof head);
}

/* "conv2d_0,add_1" is of type "conv2d,add": what differs from one program to the next is its number. */
static void append_type(const char *name, struct bytes *out)
{
    while (*name) {
        size_t length = strcspn(name, ","), kept = length;
        while (kept && name[kept - 1] >= '0' && name[kept - 1] <= '9')
            kept--;
        kept = kept && kept < length && name[kept - 1] == '_' ? kept - 1 : length;
        bytes_append(out, name, kept);
        name += length;
        if (*name == ',')
            bytes_append(out, name++, 1);
    }
}

static void name_pair(struct compare *compare, struct compare_pair *pair, const struct timeline *timeline,
                      const struct timeline_unit *unit)
{
    struct bytes type = {0};
    const char *name = timeline_get_text(timeline, unit->name);
    append_type(name, &type);
    uint32_t names = compare_text(compare, slice_of(name)),
             types = compare_text(compare, slice_of(bytes_text(&type)));
    const char *place = unit->location == TIMELINE_NONE ? "" : timeline_get_text(timeline, unit->location);
    uint32_t location = compare_text(compare, slice_of(*place ? place : "(unknown)"));
    compare->failed |= type.failed;
    bytes_free(&type);
    pair->name = names;
    pair->type = types;
    pair->location = location;
}

static void add_run(struct compare_pair *pair, double ns)
{
    pair->least_ns = !pair->runs || ns < pair->least_ns ? ns : pair->least_ns;
    pair->most_ns = ns > pair->most_ns ? ns : pair->most_ns;
    pair->runs++;
    pair->measured_ns += (ns - pair->measured_ns) / (double)pair->runs;
}

static void add_units(struct compare *compare, const struct timeline *timeline, struct map *by_start)
{
    for (size_t i = 0; i < timeline->unit_count; i++) {
        const struct timeline_unit *unit = &timeline->units[i];
        unsigned kind = timeline->lanes[unit->lane].kind;
        double ns = (double)(unit->end - unit->start);
        if (kind == TIMELINE_HOST || kind == TIMELINE_HOST_COPY)
            compare->outside_ns += ns;
        uint32_t pair = kind == TIMELINE_PROGRAM ? map_get(by_start, unit->source) : MAP_NONE;
        if (pair == MAP_NONE)
            continue;
        if (!compare->pairs[pair].runs)
            name_pair(compare, &compare->pairs[pair], timeline, unit);
        add_run(&compare->pairs[pair], ns);
    }
}

int compare_measured(struct compare *compare, const struct estimate *estimate,
                     const struct measured *measured, struct error *err)
{
    const struct timeline *t = &estimate->timeline;
    struct map by_start = {0};
    *compare = (struct compare){0};
    for (size_t i = 0; i < t->action_count; i++) {
        const struct timeline_action *action = &t->actions[i];
        struct compare_pair *pair = action->tasks ? compare_add(compare) : NULL;
        if (!pair)
            continue;
        uint64_t cycles =
            t->tasks[action->first_task + action->tasks - 1].end - t->tasks[action->first_task].start;
        pair->estimate_ns = (double)cycles * 1000 / estimate->target.clock_mhz;
        compare->failed |= !map_put(&by_start, action->source, (uint32_t)compare->pair_count - 1);
    }
    add_units(compare, &measured->timeline, &by_start);
    for (size_t i = 0; i < compare->pair_count; i++)
        compare->unmeasured += !compare->pairs[i].runs;
    map_free(&by_start);
    return compare->failed ? error_no_memory(err, "a comparison") : 0;
}
