/* SPDX-License-Identifier: Apache-2.0 */
/* A trace written for other people's tools: Chrome trace events, Perfetto, CSV, speedscope, collapsed stacks,
 * a runtime profile of Torq, and pictures: flame graphs.
 *
 * The trace is streamed block by block, so that memory does not grow with its length (docs/internals/export.md
 * says what does grow). Nothing is dropped in silence: losses of the recording are events in the formats that
 * have events, and export_counts says which rows a format has no room for. */
#ifndef OPSCOPE_PRESENT_EXPORT_EXPORT_H
#define OPSCOPE_PRESENT_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/filter.h"
#include "base/error.h"
#include "trace/reader.h"

enum export_format {
    EXPORT_CHROME = 0,
    EXPORT_PERFETTO = 1,
    EXPORT_CSV = 2,
    EXPORT_SPEEDSCOPE = 3,
    EXPORT_COLLAPSED = 4,
    EXPORT_TORQ_RUNTIME = 5,
    EXPORT_FLAMEGRAPH = 6,
};

extern const char *const export_format_words[]; /* by enum export_format, NULL-terminated */

/* CSV: which rows. */
enum export_rows {
    EXPORT_ROWS_ZONES = 0,
    EXPORT_ROWS_MESSAGES = 1,
    EXPORT_ROWS_COUNTERS = 2,
    EXPORT_ROWS_MEMORY = 3,
    EXPORT_ROWS_OPS = 4,
    EXPORT_ROWS_RUNS = 5,
    EXPORT_ROWS_LOSSES = 6,
    EXPORT_ROWS_LOCKS = 7,
};

/* Flame graphs: what a frame is as wide as. */
enum export_flame_by {
    EXPORT_FLAME_WALL = 0,
    EXPORT_FLAME_SELF = 1,
    EXPORT_FLAME_DEVICE = 2,
    EXPORT_FLAME_COUNT = 3,
};
extern const char *const export_flame_words[]; /* NULL-terminated */

struct export_options {
    enum export_format format;
    enum export_rows rows; /* CSV only */
    bool in_microseconds;  /* collapsed only: weights in us, rounded down, instead of ns */
    enum export_flame_by flame_by;
    bool is_html;      /* a flame graph in a page, not as SVG alone */
    const char *title; /* speedscope, flame graphs: the name of the profile */
    /* Called now and then with the share that is done, 0 to 1; may be NULL. */
    void (*progress)(void *context, double share);
    void *progress_context;
};

struct export_counts { /* rows written */
    uint64_t zones, open_zones, points, counters, memory_events, ops, runs, losses, locks;
    uint64_t lost_zones, lost_records; /* by the recording, among the losses that were asked for */
    uint64_t size_bytes;
};

/* 0; -EPIPE when the reader of the stream went away, which is for the caller to take as an error or not. */
int export_trace(struct trace *trace, const struct trace_filter *filter, const struct export_options *options,
                 FILE *stream, struct export_counts *counts, struct error *err);

/* The ending of a file name: ".json", ".pftrace" ... */
const char *export_file_ending(enum export_format format);
/* Would it make a mess of a terminal? */
bool export_is_binary(enum export_format format);

#endif
