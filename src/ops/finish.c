/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/finish.h"

#include <errno.h>
#include <stdlib.h>

/* --- runs of a call, next to each other --- */

static bool group_runs(struct ops *ops)
{
    size_t count = ops->run_count;
    uint32_t at = 0;
    ops->run_order = malloc((count + 1) * sizeof ops->run_order[0]);
    if (!ops->run_order)
        return false;
    for (size_t i = 0; i < ops->call_count; i++)
        ops->calls[i].first_run = ops->calls[i].runs = 0;
    for (size_t i = 0; i < count; i++) {
        struct op_call *call = ops->runs[i].call < ops->call_count ? &ops->calls[ops->runs[i].call] : NULL;
        if (call && call->runs < UINT16_MAX)
            call->runs++;
    }
    for (size_t i = 0; i < ops->call_count; i++) {
        ops->calls[i].first_run = at;
        at += ops->calls[i].runs;
        ops->calls[i].runs = 0;
    }
    ops->unmatched_runs = 0;
    for (size_t i = 0; i < count; i++) {
        struct op_run *run = &ops->runs[i];
        struct op_call *call = run->call < ops->call_count ? &ops->calls[run->call] : NULL;
        if (!call) {
            run->faults |= OP_FAULT_NO_CALL;
            ops->unmatched_runs++;
        } else if (call->runs < UINT16_MAX) {
            ops->run_order[call->first_run + call->runs++] = (uint32_t)i;
        }
    }
    return true;
}

uint32_t ops_own_run(const struct ops *ops, const struct op_call *call)
{
    for (uint32_t i = 0; i < call->runs; i++) {
        uint32_t run = ops->run_order[call->first_run + i];
        if (!ops->runs[run].session)
            return run;
    }
    return OPS_NONE;
}

/* --- gaps --- */

static bool find_gaps(struct ops *ops)
{
    struct end_of_track {
        uint64_t end_ns;
        bool has_end;
    } *ends = NULL;
    size_t tracks = 0;
    for (size_t i = 0; i < ops->run_count; i++) {
        uint32_t track = ops->runs[i].track;
        if (track != OPS_NONE && track >= tracks)
            tracks = (size_t)track + 1;
    }
    if (tracks && !(ends = calloc(tracks, sizeof *ends)))
        return false;
    for (size_t i = 0; i < ops->run_count; i++) {
        struct op_run *run = &ops->runs[i];
        if (run->track == OPS_NONE)
            continue;
        struct end_of_track *last = &ends[run->track];
        if (run->gap_ns == OPS_NO_GAP)
            run->gap_ns = last->has_end ? (int64_t)(run->start_ns - last->end_ns) : 0;
        *last = (struct end_of_track){run->start_ns + run->duration_ns, true};
    }
    free(ends);
    return true;
}

/* --- lines --- */

struct place { /* of something that has a line */
    uint64_t time_ns;
    uint64_t number; /* further runs: of their call */
    uint32_t session, id;
};

static int compare_places(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->session != b->session)
        return a->session < b->session ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

struct places {
    struct place *items;
    size_t count, next;
};

static void sort_places(struct places *places)
{
    for (size_t i = 1; i < places->count; i++) {
        if (compare_places(&places->items[i - 1], &places->items[i]) > 0) {
            qsort(places->items, places->count, sizeof places->items[0], compare_places);
            return;
        }
    }
}

static size_t count_further(const struct ops *ops, size_t *own)
{
    size_t matched = ops->run_count - ops->unmatched_runs;
    *own = 0;
    for (size_t i = 0; i < ops->call_count; i++)
        *own += ops_own_run(ops, &ops->calls[i]) != OPS_NONE;
    return matched - *own;
}

static bool list_places(const struct ops *ops, struct places *calls, struct places *further,
                        struct places *signposts)
{
    size_t own;
    calls->items = malloc((ops->call_count + 1) * sizeof calls->items[0]);
    further->items = malloc((count_further(ops, &own) + 1) * sizeof further->items[0]);
    signposts->items = malloc((ops->signpost_count + 1) * sizeof signposts->items[0]);
    if (!calls->items || !further->items || !signposts->items)
        return false;
    for (uint32_t i = 0; i < ops->call_count; i++) {
        const struct op_call *call = &ops->calls[i];
        uint32_t first = ops_own_run(ops, call);
        calls->items[calls->count++] = (struct place){.time_ns = call->start_ns, .id = i};
        for (uint32_t k = 0; k < call->runs; k++) {
            uint32_t run = ops->run_order[call->first_run + k];
            if (run != first)
                further->items[further->count++] = (struct place){.time_ns = ops->runs[run].start_ns,
                                                                  .number = call->number,
                                                                  .session = ops->runs[run].session,
                                                                  .id = run};
        }
    }
    for (uint32_t i = 0; i < ops->signpost_count; i++)
        signposts->items[signposts->count++] = (struct place){.time_ns = ops->signposts[i].time_ns, .id = i};
    sort_places(calls);
    sort_places(further);
    sort_places(signposts);
    return true;
}

/* The list whose next place is the earliest; of equal times the first list. */
static struct places *earliest(struct places **lists, size_t count)
{
    struct places *best = NULL;
    for (size_t i = 0; i < count; i++) {
        if (lists[i]->next < lists[i]->count &&
            (!best || lists[i]->items[lists[i]->next].time_ns < best->items[best->next].time_ns))
            best = lists[i];
    }
    return best;
}

static bool make_lines(struct ops *ops)
{
    struct places calls = {0}, further = {0}, signposts = {0};
    struct places *lists[] = {&signposts, &calls, &further}, *from;
    bool is_fine = list_places(ops, &calls, &further, &signposts);
    size_t count = calls.count + further.count + signposts.count;
    size_t runs = ops->call_count ? 0 : ops->run_count;
    ops->line_count = 0;
    ops->lines = is_fine ? malloc((count + runs + 1) * sizeof ops->lines[0]) : NULL;
    while (ops->lines && (from = earliest(lists, 3))) {
        uint32_t id = from->items[from->next++].id;
        struct op_line line = {OPS_NONE, OPS_NONE, OPS_NONE};
        if (from == &signposts)
            line.signpost = id;
        else if (from == &calls)
            line = (struct op_line){id, ops_own_run(ops, &ops->calls[id]), OPS_NONE};
        else
            line = (struct op_line){ops->runs[id].call, id, OPS_NONE};
        ops->lines[ops->line_count++] = line;
    }
    for (uint32_t i = 0; ops->lines && i < runs; i++)
        ops->lines[ops->line_count++] = (struct op_line){OPS_NONE, i, OPS_NONE};
    free(calls.items);
    free(further.items);
    free(signposts.items);
    return ops->lines != NULL;
}

/* --- wrong times --- */

static bool is_stale(const struct op_run *run)
{
    uint64_t limit = run->duration_ns / 2 > OPS_STALE_NS ? run->duration_ns / 2 : OPS_STALE_NS;
    return run->gap_ns != OPS_NO_GAP && run->gap_ns < -OPS_STALE_NS && (uint64_t)-run->gap_ns > limit;
}

/* A large gap beside a wrong time is wrong as well. */
static void mark_wrong_times(struct ops *ops)
{
    bool was_wrong = false;
    for (size_t i = 0; i < ops->line_count; i++) {
        const struct op_line *line = &ops->lines[i];
        struct op_run *run = line->run == OPS_NONE ? NULL : &ops->runs[line->run];
        struct op_call *call = line->call == OPS_NONE ? NULL : &ops->calls[line->call];
        bool is_device = !call || call->type == OP_TYPE_DEVICE, is_wrong = false;
        if (line->signpost != OPS_NONE)
            continue;
        if (is_device && !run) {
            is_wrong = true;
            call->faults |= OP_FAULT_NO_RUN;
        } else if (is_device && is_stale(run)) {
            is_wrong = true;
            run->faults |= OP_FAULT_STALE;
        }
        if (run && run->gap_ns != OPS_NO_GAP && (is_wrong || was_wrong) &&
            (run->gap_ns > OPS_STALE_NS || run->gap_ns < -OPS_STALE_NS))
            run->flags |= OP_RUN_WRONG_GAP;
        was_wrong = is_wrong;
    }
}

int ops_finish(struct ops *ops, struct error *err)
{
    free(ops->run_order);
    free(ops->lines);
    ops->run_order = NULL;
    ops->lines = NULL;
    ops_forget_numbers(ops);
    if (ops->failed || !group_runs(ops) || !find_gaps(ops) || !make_lines(ops))
        ops->failed = true;
    else
        mark_wrong_times(ops);
    return ops_check(ops, err);
}
