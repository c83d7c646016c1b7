/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of a trace the numbers are about, where nobody asked for one.
 *
 * Programs for accelerators compile, allocate and fill caches in their first iterations. Where frames mark iterations
 * and the first ones, or what comes before them, take more than WARM_UP times the median, the window is what follows.
 * Where signposts are among ops, the window begins at the last one that ops follow, as in the report. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/events/frames.h"
#include "analyze/overview/internal.h"

#define WARM_UP 1.5
#define LEAST_STEPS 3u

size_t overview_main_frames(const struct frame_stats *stats)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < stats->row_count; i++) {
        if (stats->rows[i].count >= LEAST_STEPS &&
            (best == SIZE_MAX || stats->rows[i].total_ns > stats->rows[best].total_ns))
            best = i;
    }
    return best;
}

/* Frames of a name that follow each other on one thread: where they begin in stats->frames and how many there are. */
struct steps {
    const struct frame *first, *last, *first_kept;
    uint64_t count, warm, longest_warm_ns;
};

static struct steps look_at_steps(const struct frame_stats *stats, size_t row)
{
    uint64_t median = stats->rows[row].p50_ns;
    struct steps steps = {0};
    bool is_warm = true;
    for (size_t i = 0; i < stats->frame_count; i++) {
        const struct frame *frame = &stats->frames[i];
        if (frame->row != row || (steps.first && frame->track != steps.first->track))
            continue;
        if (!steps.first)
            steps.first = frame;
        steps.last = frame;
        steps.count++;
        is_warm = is_warm && (double)frame->duration_ns > WARM_UP * (double)median;
        if (is_warm) {
            steps.warm++;
            if (frame->duration_ns > steps.longest_warm_ns)
                steps.longest_warm_ns = frame->duration_ns;
        } else if (!steps.first_kept) {
            steps.first_kept = frame;
        }
    }
    return steps;
}

/* Takes the steps after the warm-up, where there is one; false where there is none. */
static bool take_steps(struct overview_warm_steps *found, const struct trace_info *info,
                       const struct frame_stats *stats, size_t row, bool has_ops)
{
    struct steps steps = look_at_steps(stats, row);
    if (!steps.first_kept || steps.count - steps.warm < LEAST_STEPS - 1)
        return false;
    uint64_t from = steps.first_kept->start_ns, to = steps.last->start_ns + steps.last->duration_ns;
    /* Where the end of a step is marked, what the first one took is before the first mark. */
    uint64_t before = from - info->start_ns;
    if (!steps.warm && (!has_ops || (double)before <= WARM_UP * (double)stats->rows[row].p50_ns))
        return false;
    /* A program that marks a few of its frames is not all in them. */
    if (!has_ops && (to - from) / 2 < (info->end_ns - info->start_ns) / 4)
        return false;
    found->from_ns = from;
    found->to_ns = to;
    found->left_out = steps.warm;
    found->longest_left_out_ns = steps.warm ? steps.longest_warm_ns : before;
    found->first = steps.first_kept->number;
    found->last = steps.last->number;
    found->median_ns = stats->rows[row].p50_ns;
    return true;
}

int overview_find_warm_steps(struct overview_warm_steps *found, struct trace *trace,
                             const struct trace_filter *filter, bool has_ops, struct error *err)
{
    struct frame_stats stats;
    *found = (struct overview_warm_steps){0};
    int status = frame_stats_make(&stats, trace, filter, err);
    if (status)
        return status;
    size_t row = overview_main_frames(&stats);
    if (row != SIZE_MAX && take_steps(found, trace_get_info(trace), &stats, row, has_ops)) {
        found->name = strdup(frame_row_name(&stats, &stats.rows[row]));
        if (!found->name)
            status = error_no_memory(err, "the names of frames");
    }
    frame_stats_free(&stats);
    return status;
}

static int find_steps(struct overview *o, const struct trace_filter *filter, bool has_ops, struct error *err)
{
    struct overview_warm_steps found;
    int status = overview_find_warm_steps(&found, o->trace, filter, has_ops, err);
    if (status || !found.name)
        return status;
    o->from_ns = found.from_ns;
    o->to_ns = found.to_ns;
    o->source = OVERVIEW_STEPS;
    o->step_name = found.name;
    o->left_out_steps = found.left_out;
    o->longest_left_out_ns = found.longest_left_out_ns;
    o->first_step = found.first;
    o->last_step = found.last;
    o->step_median_ns = found.median_ns;
    return 0;
}

/* The last signpost that any call follows; UINT64_MAX. */
static uint64_t last_signpost(const struct ops *ops)
{
    uint64_t last_call = 0, found = UINT64_MAX;
    for (size_t i = 0; i < ops->call_count; i++) {
        const struct op_call *call = &ops->calls[i];
        if (!(call->faults & OP_FAULT_NO_HOST_TIME) && call->start_ns > last_call)
            last_call = call->start_ns;
    }
    for (size_t i = 0; i < ops->signpost_count; i++) {
        uint64_t time = ops->signposts[i].time_ns;
        if (time <= last_call && (found == UINT64_MAX || time > found))
            found = time;
    }
    return found;
}

int overview_find_window(struct overview *o, const struct ops *ops, const struct overview_options *options,
                         struct error *err)
{
    const struct trace_info *info = trace_get_info(o->trace);
    bool has_ops = o->kind == OVERVIEW_OPS || o->kind == OVERVIEW_GPU;
    o->from_ns = info->start_ns;
    o->to_ns = info->end_ns;
    o->source = OVERVIEW_WHOLE;
    if (options->filter->has_window) {
        o->from_ns = options->filter->since_ns;
        o->to_ns = options->filter->until_ns;
        o->source = OVERVIEW_ASKED;
        return 0;
    }
    bool is_chosen = options->report && !options->report->steps.text; /* by signposts or numbers */
    if (options->include_warm_up || is_chosen || o->kind == OVERVIEW_ESTIMATE || o->kind == OVERVIEW_EMPTY)
        return 0;
    int status = find_steps(o, options->filter, has_ops, err);
    if (status || o->source == OVERVIEW_STEPS || o->kind != OVERVIEW_GPU)
        return status;
    uint64_t signpost = last_signpost(ops);
    if (signpost != UINT64_MAX && signpost < o->to_ns) {
        o->from_ns = signpost;
        o->source = OVERVIEW_SIGNPOST;
    }
    return 0;
}
