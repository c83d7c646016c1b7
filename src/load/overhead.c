/* SPDX-License-Identifier: Apache-2.0 */
#include "load/overhead.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/overhead_csv.h"

static bool is_text(struct slice text, const char *other)
{
    return text.length == strlen(other) && memcmp(text.data, other, text.length) == 0;
}

static bool set_text(char **field, struct slice text)
{
    char *copy = strndup(text.data ? text.data : "", text.length);
    if (!copy)
        return false;
    free(*field);
    *field = copy;
    return true;
}

static int take_row(struct overhead_run *run, const struct overhead_csv_row *row, const char *path,
                    struct error *err)
{
    static const size_t prefix = sizeof OVERHEAD_CALIBRATION_PREFIX - 1;
    struct overhead_op *op = overhead_run_add(run, "", "");
    if (!op || !set_text(&op->name, row->name) || !set_text(&op->group, row->group) ||
        !set_text(&op->reason, row->reason))
        return error_no_memory(err, path);
    if (row->state.length) {
        op->state = OVERHEAD_MEASURED;
        while (op->state < OVERHEAD_LEFT_OUT && !is_text(row->state, overhead_state_name(op->state)))
            op->state++;
        if (!is_text(row->state, overhead_state_name(op->state)))
            return error_set(
                err, EINVAL, "%s:%" PRIu64 ": op \"%s\" has the state \"%.*s\", which is not known", path,
                row->line, op->name, row->state.length > 40 ? 40 : (int)row->state.length, row->state.data);
    }
    op->is_calibration = strncmp(op->name, OVERHEAD_CALIBRATION_PREFIX, prefix) == 0;
    op->count = row->count;
    op->min_ns = row->min_ns;
    op->floor_ns = row->floor_ns;
    op->rounding_ns = row->rounding_ns;
    op->mean_ns = row->mean_ns;
    op->mean_total_ns = row->mean_total_ns;
    op->native_ns = row->native_ns;
    op->p50_ns = row->p50_ns;
    op->p99_ns = row->p99_ns;
    op->ci_low_ns = row->ci_low_ns;
    op->ci_high_ns = row->ci_high_ns;
    return 0;
}

int overhead_load(struct overhead_run *run, const char *path, struct error *err)
{
    struct overhead_csv *csv;
    struct overhead_csv_row row;
    *run = (struct overhead_run){.loop_ns = NAN, .noise = NAN};
    int status = overhead_csv_open(&csv, path, err);
    if (status)
        return status;
    if (!overhead_set_text(&run->source, path))
        status = error_no_memory(err, path);
    while (status == 0 && (status = overhead_csv_next(csv, &row, err)) > 0)
        status = take_row(run, &row, path, err);
    overhead_csv_close(csv);
    overhead_run_sort(run);
    return status;
}
