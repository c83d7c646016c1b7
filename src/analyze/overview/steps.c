/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/overview/steps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/events/frames.h"
#include "analyze/overview/internal.h"
#include "analyze/window.h"
#include "base/checked.h"

#define LEAST_STEPS 2u

/* --- where they are --- */

static bool add_step(struct overview_steps *steps, size_t *capacity, const struct overview_step *step)
{
    if (!array_reserve(&steps->items, capacity, steps->count + 1, sizeof steps->items[0]))
        return false;
    steps->items[steps->count++] = *step;
    return true;
}

/* Whole frames inside the window. */
static int find_frames(const struct overview *o, const struct trace_filter *everything,
                       struct overview_steps *steps, struct error *err)
{
    struct frame_stats stats;
    size_t capacity = 0;
    uint32_t track = TRACE_NONE;
    int status = frame_stats_make(&stats, o->trace, everything, err);
    if (status)
        return status;
    size_t row = window_main_frames(&stats);
    for (size_t i = 0; i < stats.frame_count && row != SIZE_MAX && !status; i++) {
        const struct frame *frame = &stats.frames[i];
        uint64_t end = saturating_add_u64(frame->start_ns, frame->duration_ns);
        if (frame->row != row || (track != TRACE_NONE && frame->track != track))
            continue;
        track = frame->track;
        if (frame->start_ns < o->from_ns || end > o->to_ns)
            continue;
        const struct overview_step step = {
            .from_ns = frame->start_ns, .to_ns = end, .number = frame->number, .count = 1, .text = OPS_NONE};
        if (!add_step(steps, &capacity, &step))
            status = error_no_memory(err, "the steps");
    }
    if (!status && steps->count) {
        steps->name = strdup(frame_row_name(&stats, &stats.rows[row]));
        if (!steps->name)
            status = error_no_memory(err, "the steps");
    }
    frame_stats_free(&stats);
    return status;
}

static int compare_signposts(const void *left, const void *right)
{
    const struct overview_step *a = left, *b = right;
    return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* From each signpost to the next, the last to the end of the window. */
static int find_signposts(const struct overview *o, struct overview_steps *steps, struct error *err)
{
    const struct ops *ops = o->perf.ops;
    size_t capacity = 0;
    for (size_t i = 0; ops && i < ops->signpost_count; i++) {
        const struct op_signpost *signpost = &ops->signposts[i];
        const struct overview_step step = {
            .from_ns = signpost->time_ns, .to_ns = o->to_ns, .count = 1, .text = signpost->header};
        if (signpost->time_ns >= o->from_ns && signpost->time_ns < o->to_ns &&
            !add_step(steps, &capacity, &step))
            return error_no_memory(err, "the steps");
    }
    if (steps->count)
        qsort(steps->items, steps->count, sizeof steps->items[0], compare_signposts);
    for (size_t i = 0; i < steps->count; i++) {
        steps->items[i].number = i + 1;
        if (i + 1 < steps->count)
            steps->items[i].to_ns = steps->items[i + 1].from_ns;
    }
    return 0;
}

/* --- what ran in them --- */

/* The one that a time is in; NULL. */
static struct overview_step *step_at(const struct overview_steps *steps, uint64_t ns)
{
    size_t low = 0, high = steps->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (steps->items[middle].from_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    struct overview_step *step = low ? &steps->items[low - 1] : NULL;
    return step && ns < step->to_ns ? step : NULL;
}

/* Signposts stand among the calls, frames on the clock that runs have, too. */
static uint64_t time_of(const struct overview *o, const struct overview_steps *steps,
                        const struct perf_row *row)
{
    const struct op_call *call = perf_call(&o->perf, row);
    if (!steps->name && call && !(call->faults & OP_FAULT_NO_HOST_TIME))
        return call->start_ns;
    return overview_place_of(o, row).start_ns;
}

static void add_ops(const struct overview *o, struct overview_steps *steps)
{
    for (size_t i = 0; i < o->perf.count; i++) {
        const struct perf_row *row = perf_at(&o->perf, i);
        double ns = perf_time_us(row) * 1000;
        struct overview_step *step = isnan(ns) ? NULL : step_at(steps, time_of(o, steps, row));
        if (!step)
            continue;
        unsigned class_ = perf_work_of(&o->perf, row)->class_;
        step->class_ns[class_ < PERF_CLASSES ? class_ : PERF_CLASS_OTHER] += ns;
        if (!steps->name && row->shown_gap_us > 0)
            step->idle_ns += row->shown_gap_us * 1000;
    }
}

/* What of each frame no run covers. */
static int add_idle(const struct overview *o, struct overview_steps *steps, struct error *err)
{
    const struct ops *ops = o->perf.ops;
    struct time_spans busy = {0};
    bool is_done = true;
    for (size_t i = 0; i < ops->run_count && is_done; i++) {
        const struct op_run *run = &ops->runs[i];
        if (run->track != OPS_NONE && run->duration_ns != OPS_NO_DURATION && !(run->faults & OP_FAULT_STALE))
            is_done =
                time_spans_add(&busy, run->start_ns, saturating_add_u64(run->start_ns, run->duration_ns));
    }
    if (is_done)
        time_spans_join(&busy);
    size_t first = 0;
    for (size_t i = 0; i < steps->count && is_done; i++) {
        struct overview_step *step = &steps->items[i];
        uint64_t covered = 0;
        while (first < busy.count && busy.items[first].end <= step->from_ns)
            first++;
        for (size_t at = first; at < busy.count && busy.items[at].start < step->to_ns; at++) {
            const struct time_span *span = &busy.items[at];
            covered += (span->end < step->to_ns ? span->end : step->to_ns) -
                       (span->start > step->from_ns ? span->start : step->from_ns);
        }
        step->idle_ns = (double)(step->to_ns - step->from_ns - covered);
    }
    time_spans_free(&busy);
    return is_done ? 0 : error_no_memory(err, "the steps");
}

/* Several that follow each other become one, so that there are no more than `most`. */
static void sum_up(struct overview_steps *steps, size_t most)
{
    size_t together = most ? (steps->count + most - 1) / most : 1, kept = 0;
    for (size_t i = 0; i < steps->count && together > 1; i++) {
        struct overview_step *into = &steps->items[i / together];
        if (i % together == 0) {
            *into = steps->items[i];
            kept++;
            continue;
        }
        into->to_ns = steps->items[i].to_ns;
        into->count++;
        into->idle_ns += steps->items[i].idle_ns;
        for (unsigned c = 0; c < PERF_CLASSES; c++)
            into->class_ns[c] += steps->items[i].class_ns[c];
    }
    steps->count = kept ? kept : steps->count;
}

int overview_find_steps(const struct overview *o, const struct trace_filter *everything, size_t most,
                        struct overview_steps *steps, struct error *err)
{
    bool has_runs = o->perf.ops && o->perf.count > 0;
    int status = find_frames(o, everything, steps, err);
    if (!status && !steps->count && has_runs)
        status = find_signposts(o, steps, err);
    if (!status && steps->count < LEAST_STEPS) {
        overview_steps_free(steps);
        return 0;
    }
    steps->steps = steps->count;
    for (size_t i = 0; i < steps->count; i++)
        steps->items[i].idle_ns = has_runs ? 0 : NAN;
    if (!status && has_runs)
        add_ops(o, steps);
    if (!status && has_runs && steps->name)
        status = add_idle(o, steps, err);
    if (!status)
        sum_up(steps, most);
    else
        overview_steps_free(steps);
    return status;
}

void overview_steps_free(struct overview_steps *steps)
{
    free(steps->items);
    free(steps->name);
    *steps = (struct overview_steps){0};
}
