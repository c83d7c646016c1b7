/* SPDX-License-Identifier: Apache-2.0 */
/* A vendor's op table in a trace, and back.
 *
 * Ops of the host become ops whose description holds their cells: tensors in the notation of the model, the rest
 * as attributes "COLUMN=text". Runs become runs on a track for each device, in ticks of its clock, with their
 * cells as parts: whole numbers by value, reals as the bits of a double, texts inside the part's name
 * ("DEVICE ARCH=blackhole"). Signposts and notes are points on a track called "tenstorrent import" or "op table
 * import", by which such a trace is known. Reading gives the table back as it was.
 *
 * A device log's zones go to a track for each processor, below its core and device. No file tells how a device's
 * clock stands to the host's: the clock gets one point, the latest that lets no run begin before it was
 * dispatched. */
#ifndef OPSCOPE_IMPORT_TENSTORRENT_TRACE_H
#define OPSCOPE_IMPORT_TENSTORRENT_TRACE_H

#include "import/tenstorrent/tenstorrent.h"
#include "trace/reader.h"
#include "trace/writer.h"

#define TT_TRACK_FOLDER "tenstorrent import"
#define TT_TRACK_TABLE "op table import"

/* Names of parts that are no columns. */
#define TT_PART_TRACE "trace"
#define TT_PART_REPLAY_NS "replay ns"
#define TT_PART_FLAGS "flags"
#define TT_PART_ID "id"
#define TT_PART_ORDER "order"

/* Makes `output` of a folder, a device log or an ops CSV. */
int tt_import(const char *path, const char *output, const struct import_options *options,
              struct import_counts *counts, struct error *err);

/* Calls back with each note of an imported trace: what could not be read or joined. */
int tt_trace_notes(struct trace *trace, void (*note)(void *context, const char *text), void *context,
                   struct error *err);

bool tt_trace_has_table(const struct trace *trace);
/* The trace stays open as long as the model. */
int tt_model_from_trace(struct tt_model *model, struct trace *trace, struct error *err);
int tt_trace_rows_open(struct op_rows **rows, const char *path, struct error *err);
/* Of a trace that opscope recorded: its ops under the vendor's column names. The trace may be closed then. */
int recorded_rows_open(struct op_rows **rows, const char *path, struct trace *trace, struct error *err);

/* Of a trace that was made of an ops CSV: the table as it was. The trace is closed with the rows. */
int table_rows_open(struct op_rows **rows, const char *path, struct trace *trace, struct error *err);

/* --- between the files of the writer --- */
struct tt_trace_writer {
    struct tt_model *model;
    struct trace_writer *writer;
    uint32_t process, import_track;
    struct tt_map track_of_thread, track_of_device, clock_of_device;
    struct import_counts *counts;
    uint64_t lost_zones;
    bool failed;
};
uint32_t tt_trace_device_track(struct tt_trace_writer *w, uint32_t device);
uint32_t tt_trace_thread_track(struct tt_trace_writer *w, uint32_t thread);
/* Zones of the device log and of the host's functions. */
int tt_trace_write_zones(struct tt_trace_writer *w, const struct tt_files *files, struct error *err);
/* Reads an ops CSV into a model whose rows have all their cells in records. */
int tt_model_from_rows(struct tt_model *model, struct op_rows *rows, struct error *err);

#endif
