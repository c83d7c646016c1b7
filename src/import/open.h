/* SPDX-License-Identifier: Apache-2.0 */
/* What a path is, and how it is opened: the only place that knows every kind of file and whose it is.
 *
 * A path is asked once (import_guess) and the answer is passed on; kinds are recognised by content, the ending of a
 * name decides only where content says nothing. */
#ifndef OPSCOPE_IMPORT_OPEN_H
#define OPSCOPE_IMPORT_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "import/op_rows.h"
#include "ops/ops.h"
#include "trace/reader.h"

enum import_kind {
    IMPORT_UNKNOWN,      /* cannot be read, or nothing that is known; "-" as well */
    IMPORT_TRACE,        /* .opscope */
    IMPORT_LOGS,         /* a folder of device logs, the one above it, or a device log by itself */
    IMPORT_OPS_CSV,      /* a table of ops: its header says so */
    IMPORT_OWN_OPS_CSV,  /* the table of ops that opscope writes of a recording: its header says so */
    IMPORT_OVERHEAD_CSV, /* dispatch times: its header says so */
    IMPORT_TIMELINE_CSV, /* a timeline in cycles: its header says so */
    IMPORT_MODEL,        /* MLIR, text or bytecode */
    IMPORT_IREE,         /* a device profile of IREE */
    IMPORT_TORQ_RUN,     /* a profile of Torq's runtime: its header says so */
    IMPORT_TORQ_ROWS,    /* such a profile as opscope annotate writes it: its header says so */
    IMPORT_OTHER_CSV,    /* called .csv, with a header that nobody knows */
};
enum import_kind import_guess(const char *path);
/* Calls back with the path of each file that a folder is there for: every file of its logs, and of its own files those
 * that are called as logs and models are. Others may be reports of an earlier run. Nothing where it is not a folder. */
void import_folder_files(const char *path, void (*found)(void *context, const char *path), void *context);
/* What to do with a timeline, where a trace or ops are wanted. */
int import_refuse_timeline(const char *path, struct error *err);

/* True of what has ops and is not a trace: logs, and tables that are or may be ops CSVs. */
static inline bool import_has_ops(enum import_kind kind)
{
    return kind == IMPORT_LOGS || kind == IMPORT_OPS_CSV || kind == IMPORT_OWN_OPS_CSV ||
           kind == IMPORT_OVERHEAD_CSV || kind == IMPORT_OTHER_CSV;
}

enum import_device_source {
    IMPORT_SOURCE_AUTO,   /* the runtime's report where there is one, else the log */
    IMPORT_SOURCE_REPORT, /* the runtime's report of device times */
    IMPORT_SOURCE_LOG,    /* the device's log */
};

struct import_options { /* zero-initialised: as the vendor's tool does it */
    enum import_device_source source;
    bool is_device_only; /* what devices recorded, without the host's ops */
    /* NULL, or a trace that opscope recorded of the same run, to be joined with the logs */
    const char *recorded;
    struct trace *opened; /* the path, where it is a trace that is open already: taken over; NULL */
};

/* Op rows of logs, a trace or a table; options matter for logs alone. */
int import_rows_open(struct op_rows **rows, const char *path, const struct import_options *options,
                     struct error *err);

/* --- the ops of whatever it is, as the model --- */

struct ops_loading {
    /* what is asked for */
    uint32_t first_device; /* the file's device 0 is this one */
    bool times_only;       /* names, tensors, times and places alone; nothing is said about the rest */
    struct trace *opened;  /* the path, where it is a trace that is open already; NULL */
    /* what came of it */
    const char *kind;    /* for people: "ops CSV", "log folder", "trace" */
    struct trace *trace; /* still open, where it is one (or `opened`): the caller closes it; NULL */
    uint32_t devices;    /* the largest device number + 1; 0: no op names a device */
    bool has_host_start; /* ops say when they were called */
};

/* Adds the ops to the model, joined, with their lines. */
int ops_load(struct ops *ops, const char *path, struct ops_loading *loading, struct error *err);

/* --- traces made of what others wrote --- */

struct import_counts {
    uint64_t ops, runs, zones, signposts, notes;
    uint64_t faults; /* things that could not be read or joined */
};

/* Makes the trace `output` of logs or of a table of ops. */
int import_to_trace(const char *path, const char *output, const struct import_options *options,
                    struct import_counts *counts, struct error *err);
/* Of several, which are the hosts of one run: each counts its devices from 0, and has as many as the others. */
int import_hosts_to_trace(const char *const *paths, size_t count, uint32_t devices, const char *output,
                          struct error *err);
/* Such a trace holds a vendor's op table. */
bool import_trace_has_table(const struct trace *trace);
/* It will hold one when it is finished: programs reported ops, and no op records were made of that yet. Such ops are
 * there for import_rows_open and ops_load, without what devices did. */
bool import_trace_tells_ops(struct trace *trace);
bool import_path_has_table(const char *path); /* false for what is not a trace */
/* Calls back with each note of an imported trace: what could not be read or joined. */
int import_trace_notes(struct trace *trace, void (*note)(void *context, const char *text), void *context,
                       struct error *err);

#endif
