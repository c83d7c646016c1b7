/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in use by pool, from allocations and releases in the order of time (events/memory_use.h). Sums are those of the
 * whole process, whatever threads were asked for, and start with the trace, whatever window was. */
#include "analyze/events/memory_use.h"
#include "present/export/events.h"

struct sums {
    struct export_job *job;
    const struct export_events *events;
};

static int write_change(void *context, const struct memory_change *change)
{
    struct sums *sums = context;
    struct export_job *job = sums->job;
    if (change->kind == MEMORY_UNMATCHED || change->kind == MEMORY_REPLACED ||
        !trace_filter_wants_span(job->filter, change->ns, change->ns) ||
        !trace_filter_text_matches(job->filter, change->pool_name))
        return 0;
    job->counts->memory_events++;
    int result = sums->events->memory(sums->events->context, change->process, change->pool_name, change->ns,
                                      change->in_use_bytes);
    return result == 0 ? export_flush(job, false) : result;
}

int export_each_memory(struct export_job *job, const struct export_events *events)
{
    struct sums sums = {job, events};
    struct memory_reader reader = {
        .trace = job->trace, .filter = job->filter, .visit = write_change, .context = &sums};
    return memory_use_read(&reader, NULL, NULL, job->err);
}
