/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/events/frames.h"
#include "base/checked.h"
#include "ops/finish.h"
#include "ops/ops.h"

#define WARM_UP 1.5
#define LEAST_STEPS 3u
#define LEAST_TOGETHER 2u /* steps that two runs must share */
#define LEAST_SHARE 0.05  /* of the device time, for a part between signposts */

/* --- steps --- */

size_t window_main_frames(const struct frame_stats *stats)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < stats->row_count; i++) {
        if (stats->rows[i].count >= LEAST_STEPS &&
            (best == SIZE_MAX || stats->rows[i].total_ns > stats->rows[best].total_ns))
            best = i;
    }
    return best;
}

/* Frames of a name that follow each other on one thread. */
static int list_steps(struct window_steps *steps, const struct frame_stats *stats, size_t row,
                      struct error *err)
{
    uint32_t track = UINT32_MAX;
    steps->items = malloc((stats->frame_count + 1) * sizeof *steps->items);
    steps->name = strdup(frame_row_name(stats, &stats->rows[row]));
    if (!steps->items || !steps->name)
        return error_no_memory(err, "the steps");
    for (size_t i = 0; i < stats->frame_count; i++) {
        const struct frame *frame = &stats->frames[i];
        if (frame->row != row || (steps->count && frame->track != track))
            continue;
        track = frame->track;
        steps->items[steps->count++] =
            (struct window_step){frame->start_ns, frame->duration_ns, frame->number};
    }
    steps->median_ns = stats->rows[row].p50_ns;
    return 0;
}

static uint64_t end_of(const struct window_step *step)
{
    return saturating_add_u64(step->start_ns, step->duration_ns);
}

/* The first and the last of them, in the order of time. */
static void set_ends(struct window_steps *steps)
{
    steps->from_ns = steps->items[0].start_ns;
    steps->to_ns = end_of(&steps->items[steps->count - 1]);
    steps->first = steps->items[0].number;
    steps->last = steps->items[steps->count - 1].number;
}

static void keep(struct window_steps *steps, size_t from, size_t count)
{
    memmove(steps->items, steps->items + from, count * sizeof *steps->items);
    steps->count = count;
    set_ends(steps);
}

/* Leaves out the warm-up, where there is one: steps at the start that are slower, or what comes before them. */
static void leave_out_warm_up(struct window_steps *steps, const struct trace_info *info, bool has_ops)
{
    double limit = WARM_UP * (double)steps->median_ns;
    size_t warm = 0;
    uint64_t longest = 0;
    while (warm < steps->count && (double)steps->items[warm].duration_ns > limit) {
        longest = steps->items[warm].duration_ns > longest ? steps->items[warm].duration_ns : longest;
        warm++;
    }
    if (warm == steps->count || steps->count - warm < LEAST_STEPS - 1)
        return;
    uint64_t from = steps->items[warm].start_ns, to = steps->to_ns;
    /* Where the end of a step is marked, what the first one took is before the first mark. */
    if (!warm && (!has_ops || (double)(from - info->start_ns) <= limit))
        return;
    /* A program that marks a few of its frames is not all in them. */
    if (!has_ops && (to - from) / 2 < (info->end_ns - info->start_ns) / 4)
        return;
    steps->left_out = warm;
    steps->longest_left_out_ns = warm ? longest : steps->start_up_ns;
    steps->is_window = true;
    keep(steps, warm, steps->count - warm);
}

int window_list_steps(struct window_steps *found, struct trace *trace, const struct trace_filter *filter,
                      struct error *err)
{
    struct frame_stats stats;
    *found = (struct window_steps){0};
    int status = frame_stats_make(&stats, trace, filter, err);
    if (status)
        return status;
    size_t row = window_main_frames(&stats);
    if (row != SIZE_MAX)
        status = list_steps(found, &stats, row, err);
    frame_stats_free(&stats);
    if (status || !found->count) {
        window_steps_free(found);
        return status;
    }
    set_ends(found);
    found->first_known = found->first;
    found->last_known = found->last;
    uint64_t start_ns = trace_get_info(trace)->start_ns;
    found->start_up_ns = found->from_ns > start_ns ? found->from_ns - start_ns : 0;
    return 0;
}

int window_find_steps(struct window_steps *found, struct trace *trace, const struct trace_filter *filter,
                      bool has_ops, struct error *err)
{
    int status = window_list_steps(found, trace, filter, err);
    if (!status && found->count)
        leave_out_warm_up(found, trace_get_info(trace), has_ops);
    return status;
}

void window_cut_steps(struct window_steps *steps, uint64_t from_ns, uint64_t to_ns)
{
    size_t from = 0, end = 0;
    while (from < steps->count && steps->items[from].start_ns < from_ns)
        from++;
    for (end = from; end < steps->count && end_of(&steps->items[end]) <= to_ns;)
        end++;
    if (end == from)
        window_steps_free(steps);
    else
        keep(steps, from, end - from);
}

void window_keep_numbers(struct window_steps *steps, uint64_t from, uint64_t to)
{
    size_t first = 0, end = 0;
    while (first < steps->count && steps->items[first].number < from)
        first++;
    for (end = first; end < steps->count && steps->items[end].number <= to;)
        end++;
    if (end - first >= LEAST_TOGETHER)
        keep(steps, first, end - first);
}

void window_steps_free(struct window_steps *steps)
{
    free(steps->name);
    free(steps->items);
    *steps = (struct window_steps){0};
}

/* --- parts between signposts --- */

size_t window_choose_block(const struct window_block *blocks, size_t count)
{
    double all = 0;
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        all += blocks[i].device_ns;
    for (size_t i = count; i-- > 1;) {
        if (!blocks[i].ops)
            continue;
        if (blocks[i].device_ns >= LEAST_SHARE * all)
            return i;
        last = last == SIZE_MAX ? i : last;
    }
    return last; /* many small parts: none has so much */
}

static int compare_times(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* How many of the times are not after one. */
static size_t count_until(const uint64_t *times, size_t count, uint64_t time)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (times[middle] <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void fill_blocks(const struct ops *ops, const uint64_t *times, struct window_block *blocks)
{
    for (size_t i = 0; i < ops->line_count; i++) {
        const struct op_line *line = &ops->lines[i];
        const struct op_call *call = line->call == OPS_NONE ? NULL : &ops->calls[line->call];
        if (!call || call->faults & OP_FAULT_NO_HOST_TIME)
            continue;
        struct window_block *block = &blocks[count_until(times, ops->signpost_count, call->start_ns)];
        struct op_line_sum sum = ops_sum_line(ops, line);
        block->ops++;
        block->device_ns += sum.runs && sum.duration_ns != OPS_NO_DURATION ? (double)sum.duration_ns : 0;
    }
}

bool window_find_block(const struct ops *ops, uint64_t *from_ns, uint64_t *to_ns, bool *is_found)
{
    size_t count = ops->signpost_count;
    uint64_t *times = malloc((count + 1) * sizeof *times);
    struct window_block *blocks = calloc(count + 1, sizeof *blocks);
    bool is_fine = times && blocks;
    *is_found = false;
    for (size_t i = 0; i < count && is_fine; i++)
        times[i] = ops->signposts[i].time_ns;
    if (is_fine && count) {
        qsort(times, count, sizeof *times, compare_times);
        fill_blocks(ops, times, blocks);
        size_t chosen = window_choose_block(blocks, count + 1);
        *is_found = chosen != SIZE_MAX;
        *from_ns = *is_found ? times[chosen - 1] : 0;
        *to_ns = UINT64_MAX;
        for (size_t i = chosen + 1; *is_found && i <= count && *to_ns == UINT64_MAX; i++) {
            if (blocks[i].ops)
                *to_ns = times[chosen] - 1; /* up to the next signpost */
        }
    }
    free(times);
    free(blocks);
    return is_fine;
}
