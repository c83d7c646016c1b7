/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of a table, taken from where the performance report has put them in order and merged its devices, so that the
 * sums here are the report's. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyze/diff/shape.h"
#include "analyze/report/report.h"
#include "load/diff.h"
#include "ops/description.h"

static uint32_t take_text(struct diff *diff, const struct perf *perf, uint32_t id)
{
    const char *text = perf_text(perf, id);
    return *text ? diff_intern(diff, text, strlen(text)) : DIFF_NO_TEXT;
}

static uint32_t group_of(struct diff *diff, const struct perf *perf, const struct perf_row *row,
                         const struct diff_key *key, uint32_t module)
{
    const char *category = perf_category_text(perf_category(perf, row));
    switch (diff->options.group_by) {
    case DIFF_BY_CATEGORY:
        return diff_intern(diff, category, strlen(category));
    case DIFF_BY_LOCATION:
        return key->location;
    case DIFF_BY_LAYER:
        return take_text(diff, perf, module);
    default:
        return key->name;
    }
}

static uint32_t shape_of(struct diff *diff, const struct ops *ops, const struct op_description *d)
{
    bytes_clear(&diff->scratch);
    diff_append_ops_shape(&diff->scratch, ops, d);
    return diff->scratch.failed ? DIFF_NO_TEXT : diff_intern(diff, diff->scratch.data, diff->scratch.length);
}

static int take_row(struct diff *diff, int side, const struct perf *perf, size_t i, struct error *err)
{
    const struct perf_row *row = perf_at(perf, i);
    const struct perf_work *work = perf_work_of(perf, row);
    const struct op_description *d = perf_description(perf, row);
    const struct op_line *line = perf_line(perf, row);
    struct diff_op *op = diff_add_op(diff, side);
    bool is_signpost = row->kind == PERF_SIGNPOST;
    uint32_t name = is_signpost ? perf->ops->signposts[line->signpost].header : work->name;
    struct diff_key key = {.name = take_text(diff, perf, name),
                           .shape = shape_of(diff, perf->ops, d),
                           .location = take_text(diff, perf, d->location)};
    key.kind = is_signpost ? DIFF_SIGNPOST : row->kind == PERF_HOST_OP ? DIFF_HOST_OP : DIFF_DEVICE_OP;
    key.group = group_of(diff, perf, row, &key, d->module);
    uint32_t id = diff_find_key(diff, &key);
    if (!op || id == INTERN_NONE)
        return error_set(err, ENOMEM, "no memory for %zu ops", diff->runs[side].op_count);
    op->key = id;
    op->id = (uint32_t)i + 1;
    const struct op_run *run = perf_run(perf, row);
    bool is_replay = run && run->session; /* it calls no op */
    op->host_ns = is_signpost || is_replay ? NAN : perf_host_ns(perf, row);
    if (key.kind == DIFF_DEVICE_OP && !isnan(perf_time_us(row)))
        op->time_ns = row->duration_ns;
    else if (key.kind == DIFF_HOST_OP)
        op->time_ns = op->host_ns;
    if (!isnan(row->shown_gap_us))
        op->gap_ns = perf_gap_ns(perf, row);
    return 0;
}

static int check_signposts(const struct diff *diff, int side, const struct ops *ops, struct error *err)
{
    const char *names[] = {diff->options.start_signpost, diff->options.end_signpost};
    for (size_t k = 0; k < 2; k++) {
        bool is_there = !names[k];
        for (size_t i = 0; i < ops->signpost_count && !is_there; i++)
            is_there = strcmp(ops_get_text(ops, ops->signposts[i].header), names[k]) == 0;
        if (!is_there)
            return diff_no_signpost(diff, side, names[k], err);
    }
    return 0;
}

int diff_take_perf(struct diff *diff, int side, struct perf *perf, struct error *err)
{
    int status = check_signposts(diff, side, perf->ops, err);
    if (!status)
        status = perf_finish_times(perf, err);
    for (size_t i = 0; i < perf->count && !status; i++)
        status = take_row(diff, side, perf, i, err);
    return status;
}
