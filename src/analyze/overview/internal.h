/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the overview. */
#ifndef OPSCOPE_ANALYZE_OVERVIEW_INTERNAL_H
#define OPSCOPE_ANALYZE_OVERVIEW_INTERNAL_H

#include "analyze/overview/overview.h"
#include "analyze/overview/spans.h"

static inline bool overview_is_host(const struct trace_track *track)
{
    return track->kind == TRACE_TRACK_THREAD || track->kind == TRACE_TRACK_TASK ||
           track->kind == TRACE_TRACK_SPAN;
}

/* A filter for some tracks of another one and for the window of the overview. `base` must outlive it. */
struct overview_filter {
    struct trace_filter filter;
    bool *wanted;
};
int overview_filter_make(struct overview_filter *own, const struct overview *overview,
                         const struct trace_filter *base, struct error *err);
static inline void overview_filter_free(struct overview_filter *own)
{
    free(own->wanted);
}

static inline void overview_add_part(struct overview *overview, enum overview_key key, uint64_t ns)
{
    overview->parts[overview->part_count++] = (struct overview_part){key, ns};
    overview->total_ns += ns;
}

/* window.c: which part of the trace the numbers are about; fills the window of the overview. */
int overview_find_window(struct overview *overview, const struct ops *ops,
                         const struct overview_options *options, struct error *err);

/* pauses.c: how much of the window recording was paused; of it inside zones of the filter's threads, and of those that
 * wait; by name of the zone that was innermost (NULL: never paused), which the caller frees. All names that a row of
 * statistics is of have its sum; after the names of the trace is one more, for zones whose name it does not define. */
struct overview_paused {
    uint64_t total_ns, in_zones_ns, in_waits_ns;
    uint64_t *by_name;
};
int overview_find_paused(struct overview_paused *found, const struct overview *overview,
                         const struct trace_filter *filter, struct error *err);

/* host.c: the main thread's time; functions of all threads. */
int overview_main_thread(struct overview *overview, const struct trace_filter *filter, struct error *err);
int overview_functions(struct overview *overview, const struct trace_filter *filter, struct error *err);

/* device.c: parts and gaps from the times of runs and of the host's zones. */
int overview_device_times(struct overview *overview, const struct ops *ops, const struct trace_filter *filter,
                          struct error *err);
/* The same from the report's figures alone. */
int overview_device_sums(struct overview *overview, struct error *err);
/* gaps.c: all gaps by their lengths. */
void overview_make_bins(struct overview *overview, const uint64_t *durations, size_t count);
/* estimate.c: lanes of a modelled device. */
int overview_estimate(struct overview *overview, const struct trace_filter *filter, struct error *err);

/* places.c: fills the places of the model's runs. */
int overview_place_runs(struct overview *overview, const struct ops *ops, struct error *err);

/* names.c: fills the names of the report's rows. */
int overview_name_rows(struct overview *overview, struct error *err);

/* ops.c: for each run of the model how much of it was alone on its device. */
int overview_find_alone(struct overview *overview, const struct ops *ops, struct error *err);

#endif
