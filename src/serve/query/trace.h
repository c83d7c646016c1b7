/* SPDX-License-Identifier: Apache-2.0 */
/* A trace that is served: the reader, and what is found out once and kept while it is open. */
#ifndef OPSCOPE_SERVE_QUERY_TRACE_H
#define OPSCOPE_SERVE_QUERY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/machine.h"
#include "analyze/report/report.h"
#include "analyze/zones/stats.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/map.h"
#include "base/text_list.h"
#include "trace/lod.h"
#include "trace/reader.h"

/* --- runs of device tracks --- */

struct run_level { /* nodes of 2^level ns, as trace/lod.h has them */
    unsigned level;
    struct node *nodes;
    size_t count;
};

#define RUN_LEVELS 24u
#define RUN_LANES 64u /* runs of more at a time share the last lane */

struct run_lane {
    struct node *runs; /* in order of start; count 1, longest = busy = duration */
    uint8_t *flags;    /* enum trace_run_flag */
    size_t count;
    struct run_level levels[RUN_LEVELS];
    unsigned level_count;
};

struct run_gap {
    uint64_t start_ns, end_ns;
};

struct run_track {
    uint32_t track;
    struct run_lane *lanes;
    unsigned lane_count;
    struct run_gap *gaps; /* in which nothing ran, above the machine's mark; in order of time */
    size_t gap_count;
    uint64_t busy_ns; /* in which something ran */
    uint64_t run_count;
};

struct run_index {
    struct run_track *tracks;
    size_t count;
    struct map by_track; /* track id to its place in `tracks` */
};

int run_index_make(struct run_index *index, struct trace *trace, const struct machine_set *machines,
                   struct error *err);
void run_index_free(struct run_index *index);
const struct run_track *run_index_find(const struct run_index *index, uint32_t track); /* NULL */
/* The run that begins then and ends as near to `end` as one does; of several, one of this name. NULL: none does. */
const struct node *run_track_find_start(const struct run_track *rt, const struct trace *trace, uint64_t start,
                                        uint64_t end, const char *name, unsigned *lane);
/* The run that contains the moment, in the lowest lane or in the one that is wanted (UINT64_MAX: any); NULL. */
const struct node *run_track_find(const struct run_track *rt, uint64_t at, uint64_t wanted_lane,
                                  unsigned *lane);

/* --- what /trace says beside the tables of the reader --- */

struct serve_counter { /* one name on one track */
    uint32_t track, name;
    uint64_t samples;
    double min, max;
};

struct serve_pool {
    uint32_t name; /* name id, TRACE_NONE: the default pool */
    uint64_t events, peak_bytes;
};

struct serve_facts {
    struct serve_counter *counters;
    size_t counter_count, counter_capacity;
    struct serve_pool *pools;
    size_t pool_count, pool_capacity;
    bool *has_memory;      /* by track */
    uint64_t *busy_ns;     /* by track: zones of depth 0, or runs */
    uint32_t *track_order; /* as they are shown: devices, then the main thread, then by busy time */
};

struct name_ratio { /* of self to total, by name id */
    uint64_t self_ns, total_ns;
    bool is_op; /* of calls or runs of ops */
};

struct serve_trace {
    char *path; /* as it was given */
    char *name; /* without the folder */
    struct trace *trace;
    struct bytes stdin_data;
    uint64_t start_ns, end_ns; /* host times */
    uint32_t id, generation;
    bool is_prepared;
    bool has_no_source; /* source lines are as if they were not here: they are not to be passed on */
    const struct text_list *source_folders; /* where files of them may be looked for; NULL: nowhere */
    struct machine_set machines;
    /* For the overview, where a report is looked at: they must stay. */
    const char *machine; /* name or file; NULL: what the devices say that they are */
    const struct perf_options *report;
    struct run_index runs;
    struct serve_facts *facts;      /* made when first asked for: serve_trace_facts */
    struct name_ratio *name_ratios; /* likewise: serve_trace_name_ratios */
    bool *is_wait;                  /* by name id; likewise: serve_trace_waits */
    size_t name_count;              /* of is_wait */
    struct lod_rows rows;           /* scratch */
    struct zone_stats stats;        /* of the window that was asked for last: serve_trace_stats */
    uint64_t stats_since_ns, stats_until_ns;
    bool has_stats;
    /* Likewise (overview.c): of the window that nobody had to ask for, and of another one. */
    struct serve_overview *own_overview, *overview;
    struct serve_flame *flame; /* the call tree of the window that was asked for last (flame.c) */
};

/* Opens whatever load/trace.h can; of a damaged trace, what is whole. */
int serve_trace_open(struct serve_trace *st, const char *path, struct error *err);
/* Takes a trace that is open already, and closes it, whatever is returned. `name` is what it is called. */
int serve_trace_take(struct serve_trace *st, struct trace *trace, const char *name, struct error *err);
/* The same trace for another thread, or, with `salvage`, what is whole of it; serve_trace_prepare has to come before
 * the first question. */
int serve_trace_open_again(struct serve_trace *st, const struct serve_trace *of, bool salvage,
                           struct error *err);
int serve_trace_prepare(struct serve_trace *st, struct error *err);
void serve_trace_close(struct serve_trace *st);

int serve_trace_facts(struct serve_trace *st, struct error *err);
int serve_trace_name_ratios(struct serve_trace *st, struct error *err);
int serve_trace_waits(struct serve_trace *st, struct error *err);
void serve_overview_free(struct serve_overview *kept); /* NULL is allowed */
void serve_flame_free(struct serve_flame *kept);       /* likewise */

static inline uint64_t serve_since(const struct serve_trace *st, uint64_t host_ns)
{
    return host_ns > st->start_ns ? host_ns - st->start_ns : 0;
}

/* 0 to 9, the same for a name in every trace: of ops by their kind, as in the table of ops, of others by the text
 * (present/name_colour.h). After serve_trace_name_ratios. */
unsigned serve_name_colour(const struct serve_trace *st, uint32_t id);

#endif
