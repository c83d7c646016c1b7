/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/diff/waterfall.h"

#include <math.h>

/* Keeps the largest; what has no place is one of the rest. */
static void add_step(struct diff_waterfall *w, struct diff_step step)
{
    size_t at = w->count;
    if (!(fabs(step.change_ns) > 0))
        return;
    while (at > 0 && fabs(w->steps[at - 1].change_ns) < fabs(step.change_ns))
        at--;
    if (w->count == DIFF_STEPS)
        w->rest_count++;
    if (at == DIFF_STEPS)
        return;
    if (w->count < DIFF_STEPS)
        w->count++;
    for (size_t i = w->count - 1; i > at; i--)
        w->steps[i] = w->steps[i - 1];
    w->steps[at] = step;
}

static bool is_changed(const struct diff_row *row)
{
    return row->state != DIFF_SAME && row->state != DIFF_NOISE && row->state != DIFF_OUTLIERS;
}

/* What is known of its rows; of all gaps their interval. */
static bool is_step_noise(const struct diff *diff, const struct diff_step *step)
{
    const struct diff_total *gap = &diff->totals[DIFF_GAP];
    if (step->is_gap)
        return !isnan(gap->margin) && fabs(gap->change) <= gap->margin;
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct diff_row *row = &diff->rows[i];
        uint32_t name = row->kind == DIFF_OP_ROW ? row->group : row->name;
        if ((row->kind == DIFF_OP_ROW) == diff->has_ops && name == step->name && is_changed(row))
            return false;
    }
    return true;
}

static void add_ops(const struct diff *diff, struct diff_waterfall *w)
{
    const struct diff_total *gap = &diff->totals[DIFF_GAP];
    if (!diff->is_host_time) {
        w->basis = DIFF_OF_DEVICE;
        w->from_ns = diff->totals[DIFF_TOTAL].values[DIFF_A];
        w->to_ns = diff->totals[DIFF_TOTAL].values[DIFF_B];
        add_step(w, (struct diff_step){.name = DIFF_NO_TEXT, .is_gap = true, .change_ns = gap->change});
    } else {
        w->basis = DIFF_OF_HOST;
    }
    for (size_t i = 0; i < diff->group_count; i++) {
        const struct diff_group *group = &diff->groups[i];
        if (diff->is_host_time) {
            w->from_ns += group->time_ns[DIFF_A];
            w->to_ns += group->time_ns[DIFF_B];
        }
        add_step(w, (struct diff_step){.name = group->name,
                                       .change_ns = group->time_ns[DIFF_B] - group->time_ns[DIFF_A]});
    }
}

static void add_rows(const struct diff *diff, unsigned kind, struct diff_waterfall *w)
{
    w->basis = kind == DIFF_ZONE_ROW ? DIFF_OF_ZONES : DIFF_OF_CALLS;
    for (size_t i = 0; i < diff->row_count; i++) {
        const struct diff_row *row = &diff->rows[i];
        const double *times = kind == DIFF_ZONE_ROW ? row->self_ns : row->total_ns;
        if (row->kind != kind || (kind == DIFF_CALL_ROW && !row->matched))
            continue;
        double before = row->counts[DIFF_A] && !isnan(times[DIFF_A]) ? times[DIFF_A] : 0;
        double now = row->counts[DIFF_B] && !isnan(times[DIFF_B]) ? times[DIFF_B] : 0;
        w->from_ns += before;
        w->to_ns += now;
        add_step(w, (struct diff_step){.name = row->name, .change_ns = now - before});
    }
}

/* Threads and queues do things at the same time: what they took does not add up to a step. The rest does. */
static void take_steps(const struct diff *diff, struct diff_waterfall *w)
{
    w->basis = DIFF_OF_STEP;
    w->from_ns = diff->totals[DIFF_STEP].values[DIFF_A];
    w->to_ns = diff->totals[DIFF_STEP].values[DIFF_B];
}

void diff_make_waterfall(const struct diff *diff, struct diff_waterfall *w)
{
    *w = (struct diff_waterfall){0};
    if (diff->has_ops)
        add_ops(diff, w);
    else if (diff->has_zones)
        add_rows(diff, DIFF_ZONE_ROW, w);
    else if (diff->has_calls)
        add_rows(diff, DIFF_CALL_ROW, w);
    if (diff->is_per_step)
        take_steps(diff, w);
    w->rest_ns = w->to_ns - w->from_ns;
    for (size_t i = 0; i < w->count; i++) {
        w->rest_ns -= w->steps[i].change_ns;
        w->steps[i].is_noise = is_step_noise(diff, &w->steps[i]);
    }
}

const char *diff_basis_text(enum diff_basis basis)
{
    static const char *const texts[] = {"",
                                        "device time and gaps",
                                        "time of ops on the host",
                                        "own time of zones",
                                        "dispatch times",
                                        "time of a step"};
    return texts[basis];
}
