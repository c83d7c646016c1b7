/* SPDX-License-Identifier: Apache-2.0 */
#include "load/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/estimate/match.h"
#include "base/map.h"
#include "load/side.h"

/* Room for the pair of each unit, none yet. */
static uint32_t *begin_units(struct compare *compare, int side, const struct timeline *t)
{
    uint32_t *pairs = malloc((t->unit_count + 1) * sizeof pairs[0]);
    for (size_t i = 0; pairs && i < t->unit_count; i++)
        pairs[i] = COMPARE_NO_PAIR;
    compare->failed |= !pairs;
    compare->pair_of[side] = pairs;
    return pairs;
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
        uint32_t pair = map_get(by_start, unit->source);
        if (pair == MAP_NONE)
            continue;
        compare->pair_of[1][i] = pair;
        if (kind != TIMELINE_PROGRAM)
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
    struct map by_start = {0}, by_task = {0};
    *compare = (struct compare){.what = "program"};
    for (size_t i = 0; i < t->action_count; i++) {
        const struct timeline_action *action = &t->actions[i];
        struct compare_pair *pair = action->tasks ? compare_add(compare) : NULL;
        if (!pair)
            continue;
        uint64_t cycles =
            t->tasks[action->first_task + action->tasks - 1].end - t->tasks[action->first_task].start;
        pair->estimate_ns = (double)cycles * 1000 / estimate->target.clock_mhz;
        uint32_t number = (uint32_t)compare->pair_count - 1;
        compare->failed |= !map_put(&by_start, action->source, number);
        for (uint32_t k = 0; k < action->tasks; k++)
            compare->failed |= !map_put(&by_task, action->first_task + k, number);
    }
    uint32_t *own = begin_units(compare, 0, t);
    for (size_t i = 0; i < t->unit_count && own; i++)
        own[i] = t->units[i].task < t->task_count ? map_get(&by_task, t->units[i].task) : COMPARE_NO_PAIR;
    if (begin_units(compare, 1, &measured->timeline))
        add_units(compare, &measured->timeline, &by_start);
    for (size_t i = 0; i < compare->pair_count; i++)
        compare->unmeasured += !compare->pairs[i].runs;
    map_free(&by_start);
    map_free(&by_task);
    return compare->failed ? error_no_memory(err, "a comparison") : 0;
}

/* --- timelines --- */

static void name_op(struct compare *compare, const struct timeline *t, const struct match_pair *from,
                    struct compare_pair *pair)
{
    const struct timeline_op *op = &t->ops[from->op];
    struct bytes name = {0}, type = {0};
    const char *place = op->location == TIMELINE_NONE ? "" : timeline_get_text(t, op->location);
    const char *own = timeline_get_text(t, op->name);
    if (from->is_dispatch)
        own = timeline_get_text(t, t->dispatches[op->dispatch].name);
    bytes_append_text(&name, own);
    if (from->ops > 1 && !from->is_dispatch)
        bytes_append_format(&name, " and %u more", from->ops - 1);
    if (op->class != TIMELINE_NONE)
        bytes_append_text(&type, timeline_get_text(t, op->class));
    else if (op->name != op->location) /* a timeline that has no names */
        append_type(timeline_get_text(t, op->name), &type);
    pair->name = compare_text(compare, slice_of(bytes_text(&name)));
    pair->type = compare_text(compare, slice_of(type.length ? bytes_text(&type) : "(unknown)"));
    pair->location = compare_text(compare, slice_of(*place ? place : "(unknown)"));
    compare->failed |= name.failed || type.failed;
    bytes_free(&name);
    bytes_free(&type);
}

static void add_match(struct compare *compare, const struct timeline *estimate, const struct match *match)
{
    for (size_t i = 0; i < match->pair_count; i++) {
        const struct match_pair *from = &match->pairs[i];
        struct compare_pair *pair = compare_add(compare);
        if (!pair)
            return;
        name_op(compare, estimate, from, pair);
        pair->estimate_ns = from->estimate_ns;
        pair->measured_ns = pair->least_ns = from->least_ns;
        pair->most_ns = from->most_ns;
        pair->runs = from->runs;
        compare->unmeasured += !from->runs;
    }
}

static void add_notices(struct timeline *run, const struct match *match)
{
    if (match->unknown)
        timeline_add_notice(run, TIMELINE_NONE, "%zu of %zu %s of the run are not in the model",
                            match->unknown, run->op_count,
                            match->by == MATCH_DISPATCH ? "dispatches" : "programs");
    if (match->uneven)
        timeline_add_notice(
            run, TIMELINE_NONE,
            "places of the source with other numbers of ops in the estimate and in the run, whose "
            "sums are compared: %zu",
            match->uneven);
}

static const char *first_name(const struct timeline *t, bool is_dispatch)
{
    const struct timeline_op *op = &t->ops[0];
    is_dispatch = is_dispatch && op->dispatch < t->dispatch_count && t->dispatch_count > 1;
    return timeline_get_text(t, is_dispatch ? t->dispatches[op->dispatch].name : op->name);
}

/* What an estimate shares nothing with is another model, or another step of the compiler. */
static int refuse(const struct estimate *estimate, const struct timeline *run, const char *model,
                  const char *profile, struct error *err)
{
    const struct timeline *t = &estimate->timeline;
    if (!t->op_count || !run->op_count)
        return error_set(err, EINVAL, "%s has no dispatch or op to compare", t->op_count ? profile : model);
    struct side_kind kind = side_kind_of(profile);
    const char *needed =
        kind.file == IMPORT_TORQ_RUN || kind.file == IMPORT_TORQ_ROWS
            ? "needed is the phase executable-targets of the model that ran"
            : "needed is the flow or stream phase of the model that ran, or its source with --phase FLOW.mlir";
    return error_set(err, EINVAL,
                     "%s (%s%s) has '%s', %s (%s) ran '%s': they have no dispatch in common, no place in the "
                     "source and no name; %s",
                     model, estimate->mlir ? "phase: " : "",
                     estimate->mlir ? phase_of(estimate->mlir) : "an estimate", first_name(t, true), profile,
                     side_kind_text(kind), first_name(run, false), needed);
}

static void add_unit_pairs(struct compare *compare, int side, const struct timeline *t,
                           const struct match *match)
{
    uint32_t *pairs = begin_units(compare, side, t);
    for (size_t i = 0; i < t->unit_count && pairs; i++) {
        if (t->units[i].op < t->op_count)
            pairs[i] = match->pair_of[side][t->units[i].op];
    }
}

static double outside_ns(const struct timeline *run)
{
    double ns = 0;
    for (size_t i = 0; i < run->unit_count; i++) {
        unsigned kind = run->lanes[run->units[i].lane].kind;
        if (kind == TIMELINE_HOST || kind == TIMELINE_HOST_COPY)
            ns += (double)(run->units[i].end - run->units[i].start) * 1000 / run->clock_mhz;
    }
    return ns;
}

int compare_timelines(struct compare *compare, const struct estimate *estimate, struct timeline *run,
                      const char *model, const char *profile, struct error *err)
{
    struct match match;
    *compare = (struct compare){0};
    int status = match_runs(&match, &estimate->timeline, run, err);
    if (status == 0 && match.by == MATCH_NONE)
        status = refuse(estimate, run, model, profile, err);
    if (status == 0) {
        add_match(compare, &estimate->timeline, &match);
        add_notices(run, &match);
        compare->is_shortest = true;
        compare->whole_runs = match.whole_runs;
        compare->what = match.by == MATCH_DISPATCH ? "dispatch" : "op";
        if (match.whole_runs)
            timeline_cut(run, match.shortest_start, match.shortest_end);
        else
            timeline_cut(run, timeline_start(run), UINT64_MAX);
        compare->outside_ns = outside_ns(run);
        add_unit_pairs(compare, 0, &estimate->timeline, &match);
        add_unit_pairs(compare, 1, run, &match);
        status = compare->failed ? error_no_memory(err, "a comparison") : timeline_check(run, err);
    }
    match_free(&match);
    return status;
}
