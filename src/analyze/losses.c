/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/losses.h"

#include "base/checked.h"

static void add(struct loss_sum *sum, const struct trace_loss *loss)
{
    sum->zones = saturating_add_u64(sum->zones, loss->zones);
    sum->records = saturating_add_u64(sum->records, loss->records);
    sum->events++;
}

bool loss_is_wanted(const struct trace_loss *loss, const struct trace_filter *filter)
{
    if (!filter)
        return true;
    if (loss->track != TRACE_NONE)
        return trace_filter_wants_track(filter, loss->track);
    return loss->process == TRACE_NONE || trace_filter_wants_process(filter, loss->process);
}

void loss_sums_make(struct loss_sums *sums, const struct trace *trace, const struct trace_filter *filter)
{
    size_t count = 0;
    const struct trace_loss *losses = trace_get_losses(trace, &count);
    *sums = (struct loss_sums){0};
    for (size_t i = 0; i < count; i++) {
        if (!loss_is_wanted(&losses[i], filter))
            continue;
        if (losses[i].reason == TRACE_LOSS_PAUSED) {
            sums->paused_ns += losses[i].to_ns - losses[i].from_ns;
            continue;
        }
        add(&sums->by_reason[losses[i].reason < TRACE_LOSS_REASONS ? losses[i].reason : 0], &losses[i]);
        if (losses[i].reason == TRACE_LOSS_LATE_ENDS)
            add(&sums->late_ends, &losses[i]);
        else if (losses[i].reason == TRACE_LOSS_DROPPED_OLD)
            add(&sums->old, &losses[i]);
        else
            add(&sums->lost, &losses[i]);
        sums->has_any = true;
    }
}
