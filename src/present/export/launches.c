/* SPDX-License-Identifier: Apache-2.0 */
/* Who launched which runs: ops and runs joined by process and call. */
#include <stdlib.h>

#include "base/checked.h"
#include "present/export/stacks.h"

struct call { /* of an op */
    uint64_t call, start_ns;
    uint32_t process, track;
};

struct calls {
    struct stacks *stacks;
    struct call *items;
    size_t count, capacity;
};

static int take_runs(void *context, const struct trace_rows *rows)
{
    struct stacks *s = context;
    struct export_job *job = s->job;
    for (size_t i = 0; i < rows->count; i++) {
        const struct trace_run *run = &rows->runs[i];
        uint64_t start = export_host_ns(job, run->track, run->start);
        uint64_t end = export_host_ns(job, run->track, saturating_add_u64(run->start, run->duration));
        uint64_t duration = end < start ? 0 : end - start;
        if (!trace_filter_wants_name(job->filter, run->name) ||
            !trace_filter_clip(job->filter, &start, &duration))
            continue;
        if (!array_reserve(&s->launches, &s->launch_capacity, s->launch_count + 1, sizeof *s->launches))
            return export_no_memory(job);
        s->launches[s->launch_count++] =
            (struct stack_launch){.call = run->call,
                                  .start_ns = UINT64_MAX,
                                  .device_ns = duration,
                                  .device_count = 1,
                                  .process = run->process,
                                  .track = run->track,
                                  .name = run->name,
                                  .is_wanted = trace_filter_wants_track(job->filter, run->track)};
    }
    return 0;
}

static int take_ops(void *context, const struct trace_rows *rows)
{
    struct calls *calls = context;
    for (size_t i = 0; i < rows->count; i++) {
        const struct trace_op *op = &rows->ops[i];
        if (!array_reserve(&calls->items, &calls->capacity, calls->count + 1, sizeof *calls->items))
            return export_no_memory(calls->stacks->job);
        calls->items[calls->count++] = (struct call){op->call, op->start_ns, op->process, op->track};
    }
    return 0;
}

static int compare_calls(const void *left, const void *right)
{
    const struct call *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return a->call < b->call ? -1 : a->call > b->call;
}

static int compare_launches(const void *left, const void *right)
{
    const struct stack_launch *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return a->call < b->call ? -1 : a->call > b->call;
}

/* Fills in who launched each, and leaves out those of which neither the launching thread nor the device's track is
 * wanted. */
static void join(struct stacks *s, const struct calls *calls, const struct trace_filter *filter)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->launch_count; i++) {
        struct stack_launch launch = s->launches[i];
        const struct call wanted = {.call = launch.call, .process = launch.process};
        const struct call *found = launch.call && calls->count ? bsearch(&wanted, calls->items, calls->count,
                                                                         sizeof *calls->items, compare_calls)
                                                               : NULL;
        if (found && found->track < s->job->track_count) {
            launch.track = found->track;
            launch.start_ns = found->start_ns;
            launch.is_wanted |= trace_filter_wants_track(filter, found->track);
        }
        if (launch.is_wanted)
            s->launches[kept++] = launch;
    }
    s->launch_count = kept;
}

int stacks_find_launches(struct stacks *s)
{
    struct calls calls = {.stacks = s};
    const struct trace_filter *filter = s->job->filter;
    int result = export_each_rows(s->job, TRACE_BLOCK_RUNS, take_runs, s);
    s->callers = *filter;
    s->callers.has_window = s->callers.has_tracks = false;
    s->callers.track_count = 0;
    s->job->filter = &s->callers; /* from here on: also for the zones */
    if (result == 0 && s->launch_count)
        result = export_each_rows(s->job, TRACE_BLOCK_OPS, take_ops, &calls);
    if (result == 0 && calls.count)
        qsort(calls.items, calls.count, sizeof *calls.items, compare_calls);
    if (result == 0)
        join(s, &calls, filter);
    if (result == 0 && s->launch_count)
        qsort(s->launches, s->launch_count, sizeof *s->launches, compare_launches);
    s->job->counts->runs += s->launch_count;
    free(calls.items);
    return result;
}
