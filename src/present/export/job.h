/* SPDX-License-Identifier: Apache-2.0 */
/* What the export writers share: the buffered output, names of processes and tracks, time conversion, and the
 * questions to the filter. Private to this folder. */
#ifndef OPSCOPE_PRESENT_EXPORT_JOB_H
#define OPSCOPE_PRESENT_EXPORT_JOB_H

#include "base/bytes.h"
#include "present/export/export.h"

struct export_job {
    struct trace *trace;
    const struct trace_filter *filter;
    const struct export_options *options;
    const struct trace_info *info;
    struct export_counts *counts;
    struct error *err;
    struct bytes out; /* what is not yet in the stream */
    FILE *stream;
    char **process_labels; /* by process id: the program */
    char **track_labels;   /* by track id: the name, or kind and number */
    size_t process_count, track_count;
    uint64_t progress_done, progress_total; /* blocks to decode, each as often as it will be */
};

int export_job_open(struct export_job *job);
void export_job_close(struct export_job *job);

/* Writes the buffer when it is large; all of it with is_last. 0, -EPIPE, or an error with its sentence. */
int export_flush(struct export_job *job, bool is_last);
int export_no_memory(struct export_job *job);

/* One more block is done. */
void export_progress(struct export_job *job);

const char *export_process_label(const struct export_job *job, uint32_t process);
const char *export_track_label(const struct export_job *job, uint32_t track);
uint32_t export_track_process(const struct export_job *job, uint32_t track);

/* A time on a track in host ns. */
uint64_t export_host_ns(const struct export_job *job, uint32_t track, uint64_t time);
/* ns since the start of the trace; 0 for what is said to be earlier. */
uint64_t export_relative_ns(const struct export_job *job, uint64_t host_ns);

bool export_is_host_track(const struct trace_track *track); /* a thread or task, not something on a device */
/* The track above, or TRACE_NONE; also where a damaged file has parents in a circle. */
uint32_t export_parent_track(const struct export_job *job, uint32_t track);
/* The topmost ancestor on the same side, host or device; itself when it has no parent. */
uint32_t export_root_track(const struct export_job *job, uint32_t track);

/* Every block of one type that may hold wanted rows, decoded. */
typedef int (*export_rows_fn)(void *context, const struct trace_rows *rows);
int export_each_rows(struct export_job *job, uint32_t block_type, export_rows_fn visit, void *context);
uint64_t export_block_count(const struct export_job *job, uint32_t block_type);

bool export_wants_zone(const struct export_job *job, uint32_t track, uint32_t name, uint64_t start_ns,
                       uint64_t end_ns);
bool export_wants_point(const struct export_job *job, const struct trace_point *point, uint64_t ns);
bool export_wants_loss(const struct export_job *job, const struct trace_loss *loss);

/* "lost 3 zones", "lost 2 zones and 5 records", "3 zones ended late". */
void export_loss_text(const struct trace_loss *loss, char *text, size_t size);
/* When it is shown: at its beginning, within the trace. */
uint64_t export_loss_ns(const struct export_job *job, const struct trace_loss *loss);

/* A run's figure: its name with the unit that the name does not say, and its value as text. */
void export_append_figure_key(const struct export_job *job, const struct trace_run_part *figure,
                              struct bytes *out);
void export_append_figure_value(const struct export_job *job, const struct trace_run_part *figure,
                                struct bytes *out);

void export_append_unsigned(struct bytes *out, uint64_t value);

/* --- the writers --- */
int export_write_chrome(struct export_job *job);
int export_write_perfetto(struct export_job *job);
int export_write_csv(struct export_job *job);
int export_write_speedscope(struct export_job *job);
int export_write_collapsed(struct export_job *job);
int export_write_torq_runtime(struct export_job *job);
int export_write_flamegraph(struct export_job *job);

#endif
