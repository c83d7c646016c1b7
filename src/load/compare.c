/* SPDX-License-Identifier: Apache-2.0 */
#include "load/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "import/mlir/bytecode.h"
#include "load/dispatches.h"

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), own = strlen(ending);
    return length > own && strcmp(text + length - own, ending) == 0;
}

/* The beginning of a regular file; 0 of what cannot be read. */
static size_t read_head(const char *path, char *head, size_t size)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return 0;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = descriptor < 0 ? -1 : read(descriptor, head, size);
    if (descriptor >= 0)
        close(descriptor);
    return length > 0 ? (size_t)length : 0;
}

bool compare_is_model(const char *path)
{
    char head[4];
    return ends_with(path, ".mlir") || ends_with(path, ".mlirbc") || ends_with(path, ".mlirb") ||
           (read_head(path, head, sizeof head) == sizeof head && mlir_is_bytecode(head, sizeof head));
}

bool compare_is_dispatches(const char *path)
{
    char head[4096];
    return iree_is_profile(head, read_head(path, head, sizeof head));
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

/* --- dispatches --- */

static void add_dispatches(struct compare *compare, const struct timeline *t,
                           const struct dispatch_join *join)
{
    for (size_t i = 0; i < t->op_count; i++) {
        const struct timeline_op *op = &t->ops[i];
        const struct dispatch_runs *runs = &join->runs[i];
        struct compare_pair *pair = compare_add(compare);
        if (!pair)
            return;
        const char *place = op->location == TIMELINE_NONE ? "" : timeline_get_text(t, op->location);
        const char *class = op->class == TIMELINE_NONE ? "" : timeline_get_text(t, op->class);
        *pair = (struct compare_pair){
            .name = compare_text(compare, slice_of(timeline_get_text(t, t->dispatches[op->dispatch].name))),
            .type = compare_text(compare, slice_of(*class ? class : "(unknown)")),
            .location = compare_text(compare, slice_of(*place ? place : "(unknown)")),
            .estimate_ns = (double)(op->end - op->start) * 1000 / t->clock_mhz,
            .measured_ns = (double)runs->least_ns,
            .least_ns = (double)runs->least_ns,
            .most_ns = (double)runs->most_ns,
            .runs = runs->count,
        };
        compare->unmeasured += !runs->count;
    }
}

/* The part of the events to draw: the shortest run of the whole model. */
static void find_shortest(const struct dispatch_join *join, const struct iree_profile *profile, size_t *first,
                          size_t *count)
{
    uint64_t shortest = UINT64_MAX;
    *first = 0;
    *count = join->whole_runs ? join->event_count / join->whole_runs : join->event_count;
    for (size_t i = 0; i < join->whole_runs; i++) {
        const uint32_t *events = join->events + i * *count;
        uint64_t end = 0, start = profile->events[events[0]].start_ns;
        for (size_t k = 0; k < *count; k++)
            end = profile->events[events[k]].end_ns > end ? profile->events[events[k]].end_ns : end;
        if (end - start < shortest) {
            shortest = end - start;
            *first = i * *count;
        }
    }
}

static void draw_run(struct timeline *run, const struct dispatch_join *join,
                     const struct iree_profile *profile)
{
    size_t first, count;
    run->clock_mhz = 1000;
    find_shortest(join, profile, &first, &count);
    uint32_t lane = timeline_lane(run, "dispatches", TIMELINE_PROGRAM, 0);
    for (size_t i = 0; i < count; i++) {
        const struct iree_event *event = &profile->events[join->events[first + i]];
        struct timeline_unit *unit = timeline_add_unit(run);
        uint64_t zero = profile->events[join->events[first]].start_ns;
        if (!unit)
            return;
        unit->lane = lane;
        unit->start = event->start_ns - zero;
        unit->end = event->end_ns - zero;
        unit->bytes = UINT64_MAX;
        unit->name = timeline_text(run, slice_of(iree_text(profile, event->name)));
    }
    if (join->unknown)
        timeline_add_notice(run, TIMELINE_NONE, "%zu of %zu dispatches of the run are not in the model",
                            join->unknown, join->event_count);
    if (profile->damaged + profile->dropped)
        timeline_add_notice(run, TIMELINE_NONE, "%" PRIu64 " records of the profile are damaged or were lost",
                            profile->damaged + profile->dropped);
}

/* A model that shares no dispatch with the profile is another one, or not yet cut into dispatches. */
static int check_shared(const struct compare *compare, const struct timeline *timeline,
                        const struct timeline *run, const char *model, const char *profile, struct error *err)
{
    if (compare->unmeasured < compare->pair_count)
        return 0;
    if (!compare->pair_count || !run->unit_count)
        return error_set(err, EINVAL, "%s has no dispatch to compare", compare->pair_count ? profile : model);
    return error_set(
        err, EINVAL,
        "%s ran '%s', %s has '%s': they have no dispatch in common (the flow or stream phase of the "
        "model that ran is needed)",
        profile, timeline_get_text(run, run->units[0].name), model,
        timeline_get_text(timeline, timeline->dispatches[timeline->ops[0].dispatch].name));
}

int compare_dispatches(struct compare *compare, struct timeline *run, const struct estimate *estimate,
                       const char *model, const char *profile_path, struct error *err)
{
    const struct timeline *timeline = &estimate->timeline;
    struct iree_profile profile;
    struct dispatch_join join;
    *compare = (struct compare){0};
    *run = (struct timeline){0};
    int status = iree_profile_open(&profile, profile_path, err);
    if (status)
        return status;
    status = dispatch_join(&join, timeline, &profile, err);
    if (status == 0) {
        add_dispatches(compare, timeline, &join);
        draw_run(run, &join, &profile);
        compare->is_shortest = true;
        compare->whole_runs = join.whole_runs;
        status = compare->failed ? error_no_memory(err, "a comparison") : timeline_check(run, err);
    }
    if (status == 0)
        status = check_shared(compare, timeline, run, model, profile_path, err);
    dispatch_join_free(&join);
    iree_profile_free(&profile);
    return status;
}
