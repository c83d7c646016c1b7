/* SPDX-License-Identifier: Apache-2.0 */
/* A run's logs, or an ops CSV, as a trace: the op model as ops_to_trace writes it, on a track for each thread and
 * device.
 *
 * A device log's zones go to a track for each processor, below its core and device. No file says how a device's clock
 * stands to the host's: the clock gets one point, the latest that lets no run begin before it was dispatched. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_TRACE_H
#define OPSCOPE_IMPORT_TENSTORRENT_TRACE_H

#include "import/tenstorrent/tenstorrent.h"
#include "ops/to_trace.h"
#include "trace/reader.h"
#include "trace/writer.h"

/* Makes `output` of a folder, a device log or an ops CSV. */
int tt_import(const char *path, const char *output, const struct import_options *options,
              struct import_counts *counts, struct error *err);

/* What the model says, as ops. With `w` for a trace: tracks are those of the writer. With `fields` for views: in the
 * model's own words, tt_fields_end comes next; without, attributes and figures are the cells of the vendor's table. */
struct tt_fields;
struct tt_trace_writer;
int tt_to_ops(struct tt_model *model, struct ops *ops, struct tt_trace_writer *w, struct tt_fields *fields,
              struct error *err);

/* The vendor's table of a folder or a device log, of what was read of one, and of any trace, which is taken over. */
int tt_rows_open(struct op_rows **rows, const char *path, const struct import_options *options,
                 struct error *err);
int tt_rows_open_model(struct op_rows **rows, const char *path, struct tt_model *model, struct error *err);
int tt_trace_rows_open(struct op_rows **rows, struct trace *trace, const char *path, struct error *err);

/* --- between the files of the writer --- */
struct tt_trace_writer {
    struct tt_model *model; /* NULL: a table */
    struct trace_writer *writer;
    struct ops_writing ops;
    uint32_t process, import_track;
    struct map track_of_thread, track_of_device, clock_of_device;
    struct slice architecture; /* of a device that is new in a table */
    double mhz;                /* and of its clock; 0: not known */
    struct import_counts *counts;
    uint64_t lost_zones;
    bool failed;
};
int tt_trace_begin(struct tt_trace_writer *w, const char *path, const char *output, const char *import_track,
                   struct error *err);
/* Finishes the trace, or removes it when `result` or something in between is an error; `ops` has the remarks. */
int tt_trace_end(struct tt_trace_writer *w, const struct ops *ops, const char *output, int result,
                 struct error *err);
/* The same for rows in a writer that is another's. */
int tt_trace_end_rows(struct tt_trace_writer *w, const struct ops *ops, int result, struct error *err);
/* Ops, runs, clocks and zones of the writer's model. */
int tt_trace_write_model(struct tt_trace_writer *w, struct ops *ops, const struct tt_files *files,
                         struct error *err);
/* Of the rows of a table, which are closed. */
int tt_import_rows(struct op_rows *rows, const char *output, struct import_counts *counts, struct error *err);
uint32_t tt_trace_device_track(struct tt_trace_writer *w, uint32_t device);
uint32_t tt_trace_thread_track(struct tt_trace_writer *w, uint32_t thread);
/* Zones of the device log and of the host's functions. */
int tt_trace_write_zones(struct tt_trace_writer *w, const struct tt_files *files, struct error *err);

#endif
