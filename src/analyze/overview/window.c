/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of a trace the overview is about: the one that was asked for, else the one of analyze/window.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/overview/internal.h"
#include "analyze/window.h"

static int find_steps(struct overview *o, const struct trace_filter *filter, bool has_ops, struct error *err)
{
    struct window_steps found;
    int status = window_find_steps(&found, o->trace, filter, has_ops, err);
    if (status)
        return status;
    if (found.is_window) {
        o->from_ns = found.from_ns;
        o->to_ns = found.to_ns;
        o->source = OVERVIEW_STEPS;
        o->left_out_steps = found.left_out;
        o->longest_left_out_ns = found.longest_left_out_ns;
        o->first_step = found.first;
        o->last_step = found.last;
        o->step_median_ns = found.median_ns;
        o->step_name = found.name;
        found.name = NULL;
    }
    window_steps_free(&found);
    return 0;
}

static int find_block(struct overview *o, const struct ops *ops, struct error *err)
{
    uint64_t from, to;
    bool is_found;
    if (!window_find_block(ops, &from, &to, &is_found))
        return error_no_memory(err, "the signposts");
    if (!is_found || from >= o->to_ns)
        return 0;
    o->from_ns = from;
    o->to_ns = to < o->to_ns ? to : o->to_ns;
    o->source = OVERVIEW_SIGNPOST;
    return 0;
}

int overview_find_window(struct overview *o, const struct ops *ops, const struct overview_options *options,
                         struct error *err)
{
    const struct trace_info *info = trace_get_info(o->trace);
    bool has_ops = ops->call_count + ops->run_count > 0;
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
    return status || o->source == OVERVIEW_STEPS || o->kind != OVERVIEW_GPU ? status
                                                                            : find_block(o, ops, err);
}
