/* SPDX-License-Identifier: Apache-2.0 */
#include "import/open.h"

#include "import/op_rows.h"
#include "import/ops_csv_model.h"
#include "import/tenstorrent/trace.h"
#include "ops/finish.h"
#include "ops/from_trace.h"
#include "trace/reader.h"

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
    if (!tt_is_trace(path))
        return load_rows(ops, path, loading, err);
    int status = trace_open(&loading->trace, path, 0, err);
    if (status)
        return status;
    /* Calls of several traces have the same numbers: these are read as tables, which number nothing. */
    if (loading->is_one_of_many || tt_trace_has_table(loading->trace))
        return load_rows(ops, path, loading, err);
    return load_trace(ops, loading, err);
}
