/* SPDX-License-Identifier: Apache-2.0 */
#include "import/open.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "import/ops_csv.h"
#include "import/ops_csv_model.h"
#include "import/overhead_csv.h"
#include "import/tenstorrent/tenstorrent.h"
#include "import/tenstorrent/trace.h"
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
    return memmem(file->data, file->length, "OP CODE", 7) ||
           memmem(file->data, file->length, "GLOBAL CALL COUNT", 17);
}

static bool is_overhead_csv(const struct beginning *file)
{
    return file->length && overhead_csv_is_one(file->path);
}

static bool is_other_csv(const struct beginning *file)
{
    size_t length = strlen(file->path);
    return file->is_readable && length > 4 && strcasecmp(file->path + length - 4, ".csv") == 0;
}

static int open_logs(struct op_rows **rows, const char *path, const struct import_options *options,
                     struct error *err)
{
    return tt_rows_open_with(rows, path, options, err);
}

static int open_trace(struct op_rows **rows, const char *path, const struct import_options *options,
                      struct error *err)
{
    (void)options;
    return tt_trace_rows_open(rows, path, err);
}

static int open_csv(struct op_rows **rows, const char *path, const struct import_options *options,
                    struct error *err)
{
    (void)options;
    return ops_csv_open(rows, path, err);
}

/* Asked in turn; the first that says yes is it. */
static const struct {
    enum import_kind kind;
    bool (*is_it)(const struct beginning *file);
    int (*open)(struct op_rows **rows, const char *path, const struct import_options *options,
                struct error *err);
} kinds[] = {
    {IMPORT_TRACE, is_trace, open_trace},       {IMPORT_LOGS, is_logs, open_logs},
    {IMPORT_OPS_CSV, is_ops_csv, open_csv},     {IMPORT_OVERHEAD_CSV, is_overhead_csv, open_csv},
    {IMPORT_OTHER_CSV, is_other_csv, open_csv},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

static size_t find_kind(const char *path)
{
    struct beginning file = {.path = path};
    size_t i = 0;
    if (strcmp(path, "-") == 0)
        return KINDS;
    FILE *stream = fopen(path, "re");
    if (stream) {
        file.is_readable = true;
        file.length = fread(file.data, 1, sizeof file.data, stream);
        fclose(stream);
    }
    while (i < KINDS && !kinds[i].is_it(&file))
        i++;
    return i;
}

enum import_kind import_guess(const char *path)
{
    size_t i = find_kind(path);
    return i < KINDS ? kinds[i].kind : IMPORT_UNKNOWN;
}

int import_rows_open(struct op_rows **rows, const char *path, const struct import_options *options,
                     struct error *err)
{
    size_t i = find_kind(path);
    *rows = NULL;
    return i < KINDS ? kinds[i].open(rows, path, options, err) : ops_csv_open(rows, path, err);
}

int op_rows_open(struct op_rows **rows, const char *path, struct error *err)
{
    return import_rows_open(rows, path, &(struct import_options){0}, err);
}

/* --- the model --- */

static int load_trace(struct ops *ops, struct ops_loading *loading, struct error *err)
{
    const struct ops_wanted wanted = {.signposts = true};
    int status = ops_from_trace(ops, loading->trace, &wanted, err);
    if (!status)
        status = ops_finish(ops, err);
    loading->kind = "trace";
    loading->has_host_start = true;
    for (size_t i = 0; i < ops->device_count; i++) {
        if (ops->devices[i].number >= loading->devices)
            loading->devices = ops->devices[i].number + 1;
    }
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
    if (!loading->trace)
        loading->trace = op_rows_take_trace(rows);
    op_rows_close(rows);
    return status;
}

int ops_load(struct ops *ops, const char *path, struct ops_loading *loading, struct error *err)
{
    loading->trace = NULL;
    loading->devices = 0;
    if (import_guess(path) != IMPORT_TRACE)
        return load_rows(ops, path, loading, err);
    int status = trace_open(&loading->trace, path, 0, err);
    if (status)
        return status;
    /* Calls of several traces have the same numbers: these are read as tables, which number nothing. */
    if (loading->is_one_of_many || tt_trace_has_table(loading->trace))
        return load_rows(ops, path, loading, err);
    return load_trace(ops, loading, err);
}

/* --- traces made of what others wrote --- */

int import_to_trace(const char *path, const char *output, const struct import_options *options,
                    struct import_counts *counts, struct error *err)
{
    return tt_import(path, output, options, counts, err);
}

bool import_trace_has_table(const struct trace *trace)
{
    return tt_trace_has_table(trace);
}

bool import_path_has_table(const char *path)
{
    struct trace *trace;
    struct error err;
    if (import_guess(path) != IMPORT_TRACE || trace_open(&trace, path, 0, &err) != 0)
        return false;
    bool has_table = tt_trace_has_table(trace);
    trace_close(trace);
    return has_table;
}

int import_trace_notes(struct trace *trace, void (*note)(void *context, const char *text), void *context,
                       struct error *err)
{
    return tt_trace_notes(trace, note, context, err);
}
