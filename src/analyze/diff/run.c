/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of a table, taken from where the performance report has put them in order and merged its devices, so that the
 * sums here are the report's. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyze/diff/diff.h"
#include "analyze/diff/shape.h"
#include "analyze/report/internal.h"

uint32_t diff_shape_of_cells(struct diff *diff, const struct slice *cells)
{
    bytes_clear(&diff->scratch);
    diff_append_cells_shape(&diff->scratch, cells);
    return diff->scratch.failed ? DIFF_NO_TEXT : diff_intern(diff, diff->scratch.data, diff->scratch.length);
}

static uint32_t take_text(struct diff *diff, const struct perf *perf, uint32_t id)
{
    const char *text = perf_text(perf, id);
    return *text ? diff_intern(diff, text, strlen(text)) : DIFF_NO_TEXT;
}

static uint32_t group_of(struct diff *diff, const struct perf *perf, const struct perf_row *row,
                         const struct diff_key *key)
{
    const char *category = perf_category_text(row->category);
    switch (diff->options.group_by) {
    case DIFF_BY_CATEGORY:
        return diff_intern(diff, category, strlen(category));
    case DIFF_BY_LOCATION:
        return key->location;
    case DIFF_BY_LAYER:
        return take_text(diff, perf, row->layer);
    default:
        return key->name;
    }
}

static int take_row(struct diff *diff, int side, const struct perf *perf, size_t i, uint32_t shape,
                    struct error *err)
{
    const struct perf_row *row = perf_at(perf, i);
    struct diff_op *op = diff_add_op(diff, side);
    struct diff_key key = {.name = take_text(diff, perf, row->op_code),
                           .shape = shape,
                           .location = take_text(diff, perf, row->location)};
    key.kind = row->kind == PERF_SIGNPOST  ? DIFF_SIGNPOST
               : row->kind == PERF_HOST_OP ? DIFF_HOST_OP
                                           : DIFF_DEVICE_OP;
    key.group = group_of(diff, perf, row, &key);
    uint32_t id = diff_find_key(diff, &key);
    if (!op || id == INTERN_NONE)
        return error_set(err, ENOMEM, "no memory for %zu ops", diff->runs[side].op_count);
    op->key = id;
    op->id = (uint32_t)i + 1;
    op->host_ns = row->host_duration_ns;
    if (key.kind == DIFF_DEVICE_OP && !isnan(row->time_us))
        op->time_ns = row->duration_ns;
    else if (key.kind == DIFF_HOST_OP)
        op->time_ns = row->host_duration_ns;
    if (!isnan(row->shown_gap_us))
        op->gap_ns = row->gap_ns;
    return 0;
}

/* A window that is not there would compare something else than was asked for. */
int diff_no_signpost(const struct diff *diff, int side, const char *name, struct error *err)
{
    return error_set(err, EINVAL, "%s has no signpost '%s'", diff->runs[side].path, name);
}

static int check_signposts(const struct diff *diff, int side, const struct perf *perf, struct error *err)
{
    const char *names[] = {diff->options.start_signpost, diff->options.end_signpost};
    for (size_t k = 0; k < 2; k++) {
        bool is_there = !names[k];
        for (size_t i = 0; i < perf->row_count && !is_there; i++)
            is_there = perf->rows[i].kind == PERF_SIGNPOST &&
                       strcmp(perf_text(perf, perf->rows[i].op_code), names[k]) == 0;
        if (!is_there)
            return diff_no_signpost(diff, side, names[k], err);
    }
    return 0;
}

int diff_take_perf(struct diff *diff, int side, struct perf *perf, const uint32_t *shapes, struct error *err)
{
    int status = check_signposts(diff, side, perf, err);
    if (!status)
        status = perf_sort_rows(perf, err);
    if (!status)
        status = perf_apply_signposts(perf, err);
    if (!status)
        status = perf_merge_devices(perf, err);
    if (!status)
        status = perf_model_figures(perf, err);
    if (!status && perf->failed)
        status = error_set(err, ENOMEM, "no memory for %zu ops", perf->row_count);
    for (size_t i = 0; i < perf->count && !status; i++)
        status = take_row(diff, side, perf, i, shapes[perf->order[i]], err);
    return status;
}
