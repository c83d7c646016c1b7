/* SPDX-License-Identifier: Apache-2.0 */
#include "import/open.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/count_of.h"
#include "base/open_regular.h"
#include "import/iree/profile.h"
#include "import/mlir/bytecode.h"
#include "import/mlir/folder.h"
#include "import/op_rows_join.h"
#include "import/ops_csv/reader.h"
#include "import/ops_csv/model.h"
#include "import/overhead_csv.h"
#include "import/own_ops_csv.h"
#include "import/tenstorrent/cells.h"
#include "import/tenstorrent/realtime/csv.h"
#include "import/tenstorrent/tenstorrent.h"
#include "import/tenstorrent/reported/growing.h"
#include "import/tenstorrent/trace.h"
#include "import/timeline_csv.h"
#include "import/torq/rows_csv.h"
#include "import/torq/runtime.h"
#include "ops/finish.h"
#include "ops/from_trace.h"

#define BEGINNING_BYTES 8192u

struct beginning { /* of a file; empty for a folder and for what cannot be read */
    const char *path;
    char data[BEGINNING_BYTES];
    size_t length;
    bool is_readable;
};

static bool is_trace(const struct beginning *file)
{
    return file->length >= 8 && memcmp(file->data, "OPSCOPE\n", 8) == 0;
}

static bool is_logs(const struct beginning *file)
{
    return tt_is_source(file->path);
}

static bool is_ops_csv(const struct beginning *file)
{
    return tt_realtime_is_one(slice_from(file->data, file->length)) ||
           memmem(file->data, file->length, "OP CODE", 7) ||
           memmem(file->data, file->length, "GLOBAL CALL COUNT", 17);
}

static bool is_own_ops_csv(const struct beginning *file)
{
    return own_ops_csv_is_one(slice_from(file->data, file->length));
}

static bool is_overhead_csv(const struct beginning *file)
{
    return file->length && overhead_csv_is_one(file->path);
}

static bool is_timeline_csv(const struct beginning *file)
{
    return timeline_csv_is_one(slice_from(file->data, file->length));
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), own = strlen(ending);
    return length > own && strcmp(text + length - own, ending) == 0;
}

static bool is_model(const struct beginning *file)
{
    return (file->length >= 4 && mlir_is_bytecode(file->data, 4)) ||
           (file->is_readable && (ends_with(file->path, ".mlir") || ends_with(file->path, ".mlirb") ||
                                  ends_with(file->path, ".mlirbc"))) ||
           mlir_is_folder(file->path);
}

static bool is_iree(const struct beginning *file)
{
    return iree_is_profile(file->data, file->length);
}

static bool is_torq_run(const struct beginning *file)
{
    return torq_run_is_one(slice_from(file->data, file->length));
}

static bool is_torq_rows(const struct beginning *file)
{
    return torq_rows_are_in(slice_from(file->data, file->length));
}

static bool is_other_csv(const struct beginning *file)
{
    size_t length = strlen(file->path);
    return file->is_readable && length > 4 && strcasecmp(file->path + length - 4, ".csv") == 0;
}

/* Asked in turn; the first that says yes is it. */
static const struct {
    enum import_kind kind;
    bool (*is_it)(const struct beginning *file);
} kinds[] = {
    {IMPORT_TRACE, is_trace},
    {IMPORT_MODEL, is_model},
    {IMPORT_LOGS, is_logs},
    {IMPORT_OWN_OPS_CSV, is_own_ops_csv}, /* an attribute of an op may be called as others' columns */
    {IMPORT_OPS_CSV, is_ops_csv},
    {IMPORT_OVERHEAD_CSV, is_overhead_csv},
    {IMPORT_TIMELINE_CSV, is_timeline_csv},
    {IMPORT_IREE, is_iree},
    {IMPORT_TORQ_RUN, is_torq_run},
    {IMPORT_TORQ_ROWS, is_torq_rows},
    {IMPORT_OTHER_CSV, is_other_csv},
};
#define KINDS COUNT_OF(kinds)

static void read_beginning(struct beginning *file, const char *path)
{
    *file = (struct beginning){.path = path};
    FILE *stream = strcmp(path, "-") == 0 ? NULL : open_regular_stream(path, NULL);
    if (stream) {
        file->is_readable = true;
        file->length = fread(file->data, 1, sizeof file->data, stream);
        fclose(stream);
    }
}

enum import_kind import_guess(const char *path)
{
    struct beginning file;
    size_t i = 0;
    if (strcmp(path, "-") == 0)
        return IMPORT_UNKNOWN;
    read_beginning(&file, path);
    while (i < KINDS && !kinds[i].is_it(&file))
        i++;
    return i < KINDS ? kinds[i].kind : IMPORT_UNKNOWN;
}

static void each_file(const char *folder, bool (*is_wanted)(const char *name),
                      void (*found)(void *context, const char *path), void *context)
{
    DIR *entries = opendir(folder);
    struct bytes path = {0};
    for (struct dirent *entry; entries && (entry = readdir(entries)) != NULL;) {
        if (is_wanted && !is_wanted(entry->d_name))
            continue;
        bytes_clear(&path);
        bytes_append_format(&path, "%s/%s", folder, entry->d_name);
        found(context, bytes_text(&path));
    }
    bytes_free(&path);
    if (entries)
        closedir(entries);
}

static bool is_input_name(const char *name)
{
    return tt_is_log_name(name) || mlir_is_file_name(name);
}

void import_folder_files(const char *path, void (*found)(void *context, const char *path), void *context)
{
    struct bytes logs = {0};
    bytes_append_format(&logs, "%s/" TT_LOG_FOLDER, path);
    each_file(path, is_input_name, found, context);
    each_file(bytes_text(&logs), NULL, found, context);
    bytes_free(&logs);
}

int import_refuse_timeline(const char *path, struct error *err)
{
    return error_set(err, EINVAL,
                     "%s is a timeline in cycles: opscope import timeline %s -o FILE makes a trace of it",
                     path, path);
}

/* A table of ops, as one of the vendor's tools writes it. */
static int open_table(struct op_rows **rows, const char *path, struct error *err)
{
    struct beginning file;
    read_beginning(&file, path);
    return tt_realtime_is_one(slice_from(file.data, file.length)) ? tt_realtime_open(rows, path, err)
                                                                  : ops_csv_open(rows, path, err);
}

int import_rows_open(struct op_rows **rows, const char *path, const struct import_options *options,
                     struct error *err)
{
    enum import_kind kind = options->opened ? IMPORT_TRACE : import_guess(path);
    struct trace *trace = options->opened;
    *rows = NULL;
    if (kind == IMPORT_LOGS && options->recorded && import_path_has_table(options->recorded)) {
        path = options->recorded; /* its ops were joined with the logs when the run ended */
        kind = IMPORT_TRACE;
    }
    if (kind == IMPORT_OWN_OPS_CSV)
        return error_set(err, EINVAL,
                         "%s is the op table that opscope wrote of a trace: opscope report reads it; "
                         "the trace has more",
                         path);
    int status = kind == IMPORT_TRACE && !trace ? trace_open(&trace, path, 0, err) : 0;
    return status                        ? status
           : kind == IMPORT_TIMELINE_CSV ? import_refuse_timeline(path, err)
           : kind == IMPORT_TRACE        ? tt_trace_rows_open(rows, trace, path, err)
           : kind == IMPORT_LOGS         ? tt_rows_open(rows, path, options, err)
                                         : open_table(rows, path, err);
}

int op_rows_open(struct op_rows **rows, const char *path, struct error *err)
{
    return import_rows_open(rows, path, &(struct import_options){0}, err);
}

int op_rows_open_memory(struct op_rows **rows, const char *path, const void *data, size_t length,
                        struct error *err)
{
    size_t seen = length < BEGINNING_BYTES ? length : BEGINNING_BYTES;
    *rows = NULL;
    return tt_realtime_is_one(slice_from(data, seen)) ? tt_realtime_open_memory(rows, path, data, length, err)
                                                      : ops_csv_open_memory(rows, path, data, length, err);
}

/* --- the model --- */

static void count_devices(const struct ops *ops, size_t first_call, struct ops_loading *loading)
{
    uint32_t end = 0;
    for (size_t i = 0; i < ops->device_count; i++) {
        if (ops->devices[i].number >= loading->first_device && ops->devices[i].number >= end)
            end = ops->devices[i].number + 1;
    }
    loading->devices = end ? end - loading->first_device : 0;
    loading->has_host_start = false;
    for (size_t i = first_call; i < ops->call_count && !loading->has_host_start; i++)
        loading->has_host_start = !(ops->calls[i].faults & OP_FAULT_NO_HOST_TIME);
}

/* Several files may say the same. */
static void name_notices(struct ops *ops, size_t first, const char *path)
{
    for (size_t i = first; i < ops->notice_count; i++) {
        ops->notices[i].kind = UINT32_MAX - (uint32_t)i;
        ops->notices[i].text = ops_prefix_text(ops, path, ops->notices[i].text);
    }
}

/* Processes and tracks of a further trace begin after those of the traces before it. */
static void find_ends(const struct ops *ops, struct ops_wanted *wanted)
{
    for (size_t i = 0; i < ops->call_count; i++) {
        const struct op_call *call = &ops->calls[i];
        if (call->process != OPS_NONE && call->process >= wanted->first_process)
            wanted->first_process = call->process + 1;
        if (call->track != OPS_NONE && call->track >= wanted->first_track)
            wanted->first_track = call->track + 1;
    }
    for (size_t i = 0; i < ops->run_count; i++) {
        if (ops->runs[i].track != OPS_NONE && ops->runs[i].track >= wanted->first_track)
            wanted->first_track = ops->runs[i].track + 1;
    }
}

/* What vendors' files say is read as they say it; `fields` turn it into the model's words. */
static int end_fields(struct ops *ops, struct tt_fields *fields, size_t first_description, int status,
                      struct error *err)
{
    if (!status)
        tt_fields_end(fields, first_description);
    tt_fields_free(fields);
    if (!status && fields->is_table)
        ops_mark_finished(ops);
    else if (!status)
        status = ops_finish(ops, err);
    return status ? status : ops_check(ops, err);
}

static int load_trace(struct ops *ops, struct ops_loading *loading, struct error *err)
{
    const struct trace_track *import = ops_import_track(loading->trace);
    struct ops_wanted wanted = {.signposts = true, .first_device = loading->first_device};
    struct tt_fields fields;
    size_t first_description = ops->description_count;
    find_ends(ops, &wanted);
    if (import) {
        tt_fields_begin(&fields, ops, strcmp(import->name, TT_TRACK_TABLE) == 0);
        wanted.signposts = !fields.is_table; /* they are rows */
        wanted.without_runs = fields.is_table;
        wanted.remarks = true;
        wanted.figure_role = tt_field_role;
        wanted.take_figure = tt_field_take;
        wanted.call_read = tt_field_call;
        wanted.run_read = tt_field_run;
        wanted.context = &fields;
    }
    wanted.places = true;
    int status = ops_from_trace(ops, loading->trace, &wanted, err);
    if (!status && !import && tt_reported_is_in(loading->trace)) {
        first_description = ops->description_count;
        tt_fields_begin(&fields, ops, false);
        fields.first_device = loading->first_device;
        status =
            tt_reported_read(ops, loading->trace, &fields, wanted.first_process, wanted.first_track, err);
        return end_fields(ops, &fields, first_description, status, err);
    }
    return import   ? end_fields(ops, &fields, first_description, status, err)
           : status ? status
                    : ops_finish(ops, err);
}

static int load_logs(struct ops *ops, const char *path, const struct ops_loading *loading, struct error *err)
{
    struct tt_fields fields;
    struct tt_model model;
    size_t first_description = ops->description_count;
    tt_fields_begin(&fields, ops, false);
    fields.first_device = loading->first_device;
    tt_model_init(&model);
    int status = tt_load_path(&model, path, &(struct import_options){0}, err);
    if (!status)
        status = tt_to_ops(&model, ops, NULL, &fields, err);
    tt_model_free(&model);
    status = end_fields(ops, &fields, first_description, status, err);
    return status;
}

static int load_own_table(struct ops *ops, const char *path, struct ops_loading *loading, struct error *err)
{
    size_t first_call = ops->call_count;
    int status = own_ops_csv_read(ops, path, loading->first_device, err);
    if (!status)
        status = ops_finish(ops, err);
    loading->kind = "op table of opscope";
    count_devices(ops, first_call, loading);
    return status;
}

static int load_rows(struct ops *ops, const char *path, struct ops_loading *loading, struct error *err)
{
    struct op_rows *rows;
    const struct ops_csv_request request = {loading->first_device, loading->times_only};
    struct ops_csv_summary summary = {0};
    int status = op_rows_open(&rows, path, err);
    if (status)
        return status;
    status = ops_csv_to_model(ops, rows, &request, &summary, err);
    loading->kind = op_rows_kind(rows);
    loading->devices = summary.devices;
    loading->has_host_start = summary.has_host_start;
    op_rows_close(rows);
    ops_mark_finished(ops);
    return status;
}

int ops_load(struct ops *ops, const char *path, struct ops_loading *loading, struct error *err)
{
    enum import_kind kind = loading->opened ? IMPORT_TRACE : import_guess(path);
    size_t first_call = ops->call_count, first_notice = ops->notice_count;
    int status = 0;
    loading->trace = loading->opened;
    loading->devices = 0;
    if (kind == IMPORT_TRACE && !loading->opened)
        status = trace_open(&loading->trace, path, 0, err);
    if (kind == IMPORT_OWN_OPS_CSV)
        return load_own_table(ops, path, loading, err);
    const struct trace_track *import = loading->trace ? ops_import_track(loading->trace) : NULL;
    /* Traces of tables had no descriptions once: every cell was a figure. */
    if (!status && (kind == IMPORT_TRACE ? import && strcmp(import->name, TT_TRACK_OLD_TABLE) == 0
                                         : kind != IMPORT_LOGS))
        return load_rows(ops, path, loading, err);
    if (!status)
        status = kind == IMPORT_TRACE ? load_trace(ops, loading, err) : load_logs(ops, path, loading, err);
    loading->kind = kind == IMPORT_TRACE ? "trace" : "log folder";
    if (kind == IMPORT_LOGS || import)
        name_notices(ops, first_notice, path);
    count_devices(ops, first_call, loading);
    if (kind == IMPORT_TRACE && !import)
        loading->has_host_start = true;
    return status;
}

/* --- traces made of what others wrote --- */

int import_to_trace(const char *path, const char *output, const struct import_options *options,
                    struct import_counts *counts, struct error *err)
{
    return tt_import(path, output, options, counts, err);
}

int import_hosts_to_trace(const char *const *paths, size_t count, uint32_t devices, const char *output,
                          struct error *err)
{
    struct import_counts counts = {0};
    struct op_rows *rows;
    int status = op_rows_join(&rows, paths, count, devices, err);
    return status ? status : tt_import_rows(rows, output, &counts, err);
}

bool import_trace_has_table(const struct trace *trace)
{
    return ops_import_track(trace) != NULL;
}

bool import_trace_tells_ops(struct trace *trace)
{
    return tt_reported_is_in(trace);
}

bool import_path_has_table(const char *path)
{
    struct trace *trace;
    struct error err;
    if (import_guess(path) != IMPORT_TRACE || trace_open(&trace, path, 0, &err) != 0)
        return false;
    bool has_table = import_trace_has_table(trace);
    trace_close(trace);
    return has_table;
}

int import_trace_notes(struct trace *trace, void (*note)(void *context, const char *text), void *context,
                       struct error *err)
{
    struct ops_pieces *pieces;
    struct ops ops;
    ops_init(&ops);
    int status = ops_pieces_open(&pieces, &ops, trace, &(struct ops_wanted){.remarks = true}, err);
    for (size_t i = 0; !status && i < ops.notice_count; i++)
        note(context, ops_get_text(&ops, ops.notices[i].text));
    ops_pieces_close(pieces);
    ops_free(&ops);
    return status;
}
