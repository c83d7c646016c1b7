/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of a trace is wanted: processes, tracks, names, a window of time.
 *
 * The texts a person typed (struct trace_filter_options) are resolved once against a trace into bit tables,
 * so that the test of a row is one load. A filter that matches nothing is an error with a sentence that says
 * what there is, rather than an empty table. */
#ifndef OPSCOPE_ANALYZE_FILTER_H
#define OPSCOPE_ANALYZE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text_list.h"
#include "trace/reader.h"

/* A point in time as typed: ns since the start of the trace, or a share of its length. */
struct trace_time {
    enum { TRACE_TIME_UNSET = 0, TRACE_TIME_NS, TRACE_TIME_PERCENT } kind;
    uint64_t ns;
    double percent;
};

struct trace_filter_options {
    struct text_list processes; /* pid, or text that the command contains, or a glob over it */
    struct text_list threads;   /* tid, or the name of the track, or a glob over it */
    struct text_list names;     /* globs over zone names, message texts, counter names */
    struct trace_time since, until;
    struct text_list files;   /* patterns over the paths of source files */
    struct text_list modules; /* see source_is_in_module */
    bool mine;                /* only files below `folder`, and none of a library */
    const char *folder;
    const char *start_signpost,
        *end_signpost; /* the window is between the first of each, the end after the start */
    bool salvage;
};

struct trace_filter {
    bool is_everything;   /* nothing was asked for: all of the trace */
    bool has_processes;   /* a process was asked for */
    bool has_tracks;      /* a process or a thread was asked for */
    bool *process_wanted; /* by process id */
    bool *track_wanted;   /* by track id: its process is wanted, and itself */
    bool *name_wanted;    /* by name id */
    bool *place_wanted;   /* likewise, by file and module alone */
    bool wants_all_names; /* no name, file or module was asked for */
    size_t process_count, track_count, name_count;
    const struct text_list *names; /* for texts that are not names (messages) */
    bool has_window;
    uint64_t since_ns, until_ns; /* host times; the whole trace without a window */
};

/* -EINVAL: a process, thread, file, module or signpost that the trace does not have, or an empty window. The options
 * must outlive it. */
int trace_filter_resolve(struct trace_filter *filter, struct trace *trace,
                         const struct trace_filter_options *options, struct error *err);
void trace_filter_free(struct trace_filter *filter);

/* Does the text match one of the --name globs? True when none was given. */
bool trace_filter_text_matches(const struct trace_filter *filter, const char *text);

static inline bool trace_filter_wants_track(const struct trace_filter *filter, uint32_t track)
{
    return track < filter->track_count ? filter->track_wanted[track] : !filter->has_tracks;
}

static inline bool trace_filter_wants_process(const struct trace_filter *filter, uint32_t process)
{
    return process < filter->process_count ? filter->process_wanted[process] : !filter->has_processes;
}

static inline bool trace_filter_wants_name(const struct trace_filter *filter, uint32_t name)
{
    return name < filter->name_count ? filter->name_wanted[name] : filter->wants_all_names;
}

/* Is any of [start, end] inside the window? */
static inline bool trace_filter_wants_span(const struct trace_filter *filter, uint64_t start_ns,
                                           uint64_t end_ns)
{
    return end_ns >= filter->since_ns && start_ns <= filter->until_ns;
}

/* Cuts a span to the window; false when no time of it lies there. A span of no length may lie on the border. */
static inline bool trace_filter_clip(const struct trace_filter *filter, uint64_t *start_ns,
                                     uint64_t *duration_ns)
{
    uint64_t start = *start_ns, end = start + *duration_ns;
    if (!filter->has_window)
        return true;
    if (*duration_ns ? end <= filter->since_ns || start >= filter->until_ns
                     : start < filter->since_ns || start > filter->until_ns)
        return false;
    *start_ns = start > filter->since_ns ? start : filter->since_ns;
    *duration_ns = (end < filter->until_ns ? end : filter->until_ns) - *start_ns;
    return true;
}

#endif
