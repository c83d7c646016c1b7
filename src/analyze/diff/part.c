/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of each run is compared: the one that was asked for, else that of analyze/window.h. Where both have steps,
 * these are the ones that both have by their numbers: one run may have had one more step as its warm-up. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "ops/ops.h"
#include "trace/reader.h"

static bool is_asked(const struct diff *diff)
{
    return diff->options.start_signpost || diff->options.end_signpost;
}

static int list_steps(struct window_steps *steps, const struct diff_trace *from, bool is_all,
                      struct error *err)
{
    const struct trace_filter_options everything = {0};
    struct trace_filter filter = {0};
    int status = trace_filter_resolve(&filter, from->trace, &everything, err);
    if (!status)
        status = is_all ? window_list_steps(steps, from->trace, &filter, err)
                        : window_find_steps(steps, from->trace, &filter, from->has_ops, err);
    trace_filter_free(&filter);
    return status;
}

int diff_find_common(struct diff *diff, const struct diff_trace traces[DIFF_SIDES], struct error *err)
{
    struct window_steps steps[DIFF_SIDES] = {0};
    struct diff_common *common = &diff->common;
    int status = 0;
    *common = (struct diff_common){0};
    if (diff->options.include_warm_up || is_asked(diff) || diff->options.windows[DIFF_A].is_set ||
        diff->options.windows[DIFF_B].is_set)
        return 0;
    for (int side = 0; side < DIFF_SIDES && !status; side++)
        status = list_steps(&steps[side], &traces[side], false, err);
    const struct window_steps *a = &steps[DIFF_A], *b = &steps[DIFF_B];
    common->has_no_steps = !a->count || !b->count;
    if (!status && a->count && b->count && (a->is_window || b->is_window)) {
        common->from = a->first > b->first ? a->first : b->first;
        common->to = a->last < b->last ? a->last : b->last;
        common->is_set = common->from < common->to;
    }
    window_steps_free(&steps[DIFF_A]);
    window_steps_free(&steps[DIFF_B]);
    return status;
}

/* Steps in which little of the time is say nothing of it. */
static void drop_rare_steps(struct window_steps *steps, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t inside = 0;
    for (size_t i = 0; i < steps->count; i++)
        inside += steps->items[i].duration_ns;
    if (inside < (to_ns - from_ns) / 2)
        window_steps_free(steps);
}

int diff_find_window(struct diff *diff, int side, const struct diff_trace *from, struct error *err)
{
    struct diff_run *run = &diff->runs[side];
    const struct diff_window *asked = &diff->options.windows[side];
    const struct trace_info *info = trace_get_info(from->trace);
    const struct diff_common *common = &diff->common;
    bool is_all = asked->is_set || diff->options.include_warm_up || common->has_no_steps;
    if (is_asked(diff)) /* between signposts: steps do not begin and end there */
        return 0;
    int status = list_steps(&run->steps, from, is_all, err);
    if (status)
        return status;
    run->window = *asked;
    if (asked->is_set) {
        run->part = DIFF_PART_ASKED;
        if (run->steps.count)
            window_cut_steps(&run->steps, asked->since_ns, asked->until_ns);
    } else if (common->is_set) {
        window_keep_numbers(&run->steps, common->from, common->to);
    }
    if (run->part != DIFF_PART_ASKED && run->steps.count && (common->is_set || run->steps.is_window)) {
        run->window = (struct diff_window){true, run->steps.from_ns, run->steps.to_ns};
        run->part = DIFF_PART_STEPS;
    }
    if (run->steps.count)
        drop_rare_steps(&run->steps, run->window.is_set ? run->window.since_ns : info->start_ns,
                        run->window.is_set ? run->window.until_ns : info->end_ns);
    return 0;
}

int diff_find_block(struct diff *diff, int side, const struct ops *ops, struct error *err)
{
    struct diff_run *run = &diff->runs[side];
    uint64_t from, to;
    bool is_found;
    if (diff->options.include_warm_up || is_asked(diff) || run->part != DIFF_PART_WHOLE ||
        !ops->signpost_count)
        return 0;
    if (!window_find_block(ops, &from, &to, &is_found))
        return error_no_memory(err, "the signposts");
    if (!is_found)
        return 0;
    struct bytes text = {0};
    bytes_append_text(&text, "what follows the signpost");
    for (size_t i = 0; i < ops->signpost_count; i++) {
        if (ops->signposts[i].time_ns != from)
            continue;
        bytes_append_format(&text, " '%.80s'", ops_get_text(ops, ops->signposts[i].header));
        break;
    }
    run->part_name = text.failed ? NULL : strdup(bytes_text(&text));
    bytes_free(&text);
    run->window = (struct diff_window){true, from, to};
    run->part = DIFF_PART_SIGNPOST;
    window_steps_free(&run->steps);
    return run->part_name ? 0 : error_no_memory(err, "the signposts");
}
