/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/host.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/keyed_text.h"
#include "base/slice.h"

static struct slice cell_at(const struct csv_reader *csv, size_t column)
{
    return column < csv->cell_count ? slice_trim(csv->cells[column]) : slice_from(NULL, 0);
}

static size_t find_column(const struct csv_reader *csv, const char *name)
{
    for (size_t i = 0; i < csv->cell_count; i++) {
        if (slice_is(slice_trim(csv->cells[i]), name))
            return i;
    }
    return SIZE_MAX;
}

/* --- tracy_ops_times.csv --- */

struct times_columns {
    size_t name, text, start, duration, thread, parent;
};

static bool id_behind_colon(struct slice text, uint64_t *id)
{
    const char *colon = text.length ? memrchr(text.data, ':', text.length) : NULL;
    return colon && slice_unsigned(
                        slice_trim(slice_from(colon + 1, (size_t)(text.data + text.length - colon - 1))), id);
}

#define WHERE_BYTES 64u

/* For notes. */
static const char *where(char text[WHERE_BYTES], uint64_t line)
{
    if (line)
        snprintf(text, WHERE_BYTES, "tracy_ops_times.csv, line %" PRIu64, line);
    return line ? text : "a zone of the program";
}

static void set_times(struct tt_model *model, uint64_t id, const struct tt_host_zone *zone, uint64_t line)
{
    char text[WHERE_BYTES];
    uint32_t index = map_get(&model->op_of_id, id);
    if (index == TT_NONE && model->is_growing)
        return;
    struct tt_op *op = index == TT_NONE ? tt_op_add(model, id) : &model->ops[index];
    if (!op)
        return;
    if (index == TT_NONE) {
        tt_note(model, TT_UNMATCHED_TIMES, line,
                "%s: op %" PRIu64 " has host times and no message; its name is not known", where(text, line),
                id);
        op->flags |= TT_OP_NO_MESSAGE;
        op->name = slice_from(tt_keep(model, zone->name.data, zone->name.length), zone->name.length);
        op->message_ns = zone->start_ns;
        if (!(id >> 31 & 1)) /* this bit tells host ops; the low ten are the device */
            op->device = (uint32_t)(id & 0x3ff);
    }
    op->start_ns = zone->start_ns;
    op->duration_ns = zone->duration_ns;
    op->thread = zone->thread;
    op->flags &= ~(uint32_t)TT_OP_NO_TIMES;
}

static void add_child(struct tt_model *model, struct tt_op *op, struct slice name, uint64_t duration)
{
    struct bytes column_name = {0};
    bytes_append(&column_name, name.data, name.length);
    bytes_append_text(&column_name, "_TT_HOST_FUNC [ns]");
    if (column_name.failed) {
        model->failed = true;
        bytes_free(&column_name);
        return;
    }
    uint32_t column = tt_column(model, (const char *)column_name.data, column_name.length);
    bytes_free(&column_name);
    uint64_t key = (uint64_t)(op - model->ops) << 32 | column;
    uint32_t known = map_get(&model->child_of_key, key);
    if (known != TT_NONE) {
        model->children[known].sum_ns += duration;
        return;
    }
    if (model->child_count >= TT_NONE - 1 ||
        !array_reserve(&model->children, &model->child_capacity, model->child_count + 1,
                       sizeof model->children[0]) ||
        !map_put(&model->child_of_key, key, (uint32_t)model->child_count)) {
        model->failed = true;
        return;
    }
    model->children[model->child_count] = (struct tt_child){column, op->children, duration};
    op->children = (uint32_t)model->child_count++;
}

static bool is_op(struct slice name)
{
    return slice_has(name, "TT_DNN") || slice_has(name, "TT_METAL");
}

static void note_damage(struct tt_model *model, uint64_t line)
{
    char text[WHERE_BYTES];
    tt_note(model, TT_DAMAGED_TIMES, line, "%s: no id, start or duration; the row is left out",
            where(text, line));
}

void tt_host_zone_add(struct tt_model *model, const struct tt_host_zone *zone, uint64_t line)
{
    uint64_t id = 0;
    if (is_op(zone->name) && !id_behind_colon(zone->text, &id)) {
        note_damage(model, line);
        return;
    }
    if (is_op(zone->name))
        set_times(model, id, zone, line);
    if (!slice_has(zone->parent, "id:") || !id_behind_colon(zone->parent, &id))
        return;
    uint32_t index = map_get(&model->op_of_id, id);
    if (index != TT_NONE && !model->failed)
        add_child(model, &model->ops[index], zone->name, zone->duration_ns);
}

static void read_times_row(struct tt_model *model, const struct csv_reader *csv,
                           const struct times_columns *at)
{
    struct tt_host_zone zone = {
        .name = cell_at(csv, at->name), .text = cell_at(csv, at->text), .parent = cell_at(csv, at->parent)};
    if (!is_op(zone.name) && !slice_has(zone.parent, "id:"))
        return;
    slice_unsigned32(cell_at(csv, at->thread), &zone.thread);
    if (slice_unsigned(cell_at(csv, at->start), &zone.start_ns) &&
        slice_unsigned(cell_at(csv, at->duration), &zone.duration_ns))
        tt_host_zone_add(model, &zone, csv->line);
    else
        note_damage(model, csv->line);
}

int tt_times_read(struct tt_model *model, struct csv_reader *csv, struct error *err)
{
    int status = csv_next(csv, err);
    if (status <= 0)
        return status;
    struct times_columns at = {.name = find_column(csv, "name"),
                               .text = find_column(csv, "zone_text"),
                               .start = find_column(csv, "ns_since_start"),
                               .duration = find_column(csv, "exec_time_ns"),
                               .thread = find_column(csv, "thread"),
                               .parent = find_column(csv, "special_parent_text")};
    if (at.name == SIZE_MAX || at.text == SIZE_MAX || at.start == SIZE_MAX || at.duration == SIZE_MAX) {
        tt_note(
            model, TT_DAMAGED_TIMES_HEADER, 1,
            "tracy_ops_times.csv, line 1: the header lacks name, zone_text, ns_since_start or exec_time_ns; "
            "host times are missing");
        return 0;
    }
    while ((status = csv_next(csv, err)) > 0 && !model->failed)
        read_times_row(model, csv, &at);
    return status < 0 ? status : tt_model_check(model, err);
}

/* --- cpp_device_perf_report.csv --- */

struct report_columns {
    size_t id, trace, session, device, arch, cores, kernel, fw, fw_start, fw_end, kernel_start, kernel_end,
        dm_start, dm_end, op_to_op, op_to_op_dm;
    enum op_fixed_column *known; /* of each column of the file; OP_FIXED_COLUMN_COUNT: not in the table */
    size_t count;
};

/* What the gap to the run before is made from, for each device. */
struct previous {
    uint32_t device;
    bool has_end[2];
    uint64_t end[2];         /* of the kernel, of its data movement */
    double ns_per_cycle;     /* of the device's first row; 0: not known */
    uint64_t longest_cycles; /* the run that gave the frequency */
};

struct report_reader {
    struct tt_model *model;
    struct csv_reader *csv;
    struct report_columns at;
    struct tt_cell_builder cells;
    struct previous *previous;
    size_t previous_count, previous_capacity;
    struct map previous_of_device;
};

static bool find_report_columns(struct report_columns *at, const struct csv_reader *csv)
{
    *at = (struct report_columns){.id = find_column(csv, "GLOBAL CALL COUNT"),
                                  .trace = find_column(csv, "METAL TRACE ID"),
                                  .session = find_column(csv, "METAL TRACE REPLAY SESSION ID"),
                                  .device = find_column(csv, "DEVICE ID"),
                                  .arch = find_column(csv, "DEVICE ARCH"),
                                  .cores = find_column(csv, "CORE COUNT"),
                                  .kernel = find_column(csv, "DEVICE KERNEL DURATION [ns]"),
                                  .fw = find_column(csv, "DEVICE FW DURATION [ns]"),
                                  .fw_start = find_column(csv, "DEVICE FW START CYCLE"),
                                  .fw_end = find_column(csv, "DEVICE FW END CYCLE"),
                                  .kernel_start = find_column(csv, "DEVICE KERNEL START CYCLE"),
                                  .kernel_end = find_column(csv, "DEVICE KERNEL END CYCLE"),
                                  .dm_start = find_column(csv, "DEVICE KERNEL DM START CYCLE"),
                                  .dm_end = find_column(csv, "DEVICE KERNEL DM END CYCLE"),
                                  .op_to_op = find_column(csv, "OP TO OP LATENCY [ns]"),
                                  .op_to_op_dm = find_column(csv, "OP TO OP LATENCY BR/NRISC START [ns]")};
    at->count = csv->cell_count;
    at->known = calloc(at->count ? at->count : 1, sizeof at->known[0]);
    if (!at->known)
        return false;
    for (size_t i = 0; i < at->count; i++) {
        struct slice name = slice_trim(csv->cells[i]);
        at->known[i] = op_column_find(name.data, name.length);
    }
    return true;
}

static struct previous *previous_of(struct report_reader *r, uint32_t device)
{
    uint32_t index = map_get(&r->previous_of_device, device);
    if (index != TT_NONE)
        return &r->previous[index];
    if (!array_reserve(&r->previous, &r->previous_capacity, r->previous_count + 1, sizeof r->previous[0]) ||
        !map_put(&r->previous_of_device, device, (uint32_t)r->previous_count)) {
        r->model->failed = true;
        return NULL;
    }
    struct previous *fresh = &r->previous[r->previous_count++];
    uint64_t duration, start, end;
    *fresh = (struct previous){.device = device};
    if (slice_unsigned(cell_at(r->csv, r->at.fw), &duration) &&
        slice_unsigned(cell_at(r->csv, r->at.fw_start), &start) &&
        slice_unsigned(cell_at(r->csv, r->at.fw_end), &end) && end > start)
        fresh->ns_per_cycle = (double)duration / (double)(end - start);
    return fresh;
}

/* The runtime leaves the gap blank where ops overlap or it has no markers: then it is made here, negative where
 * they overlap, 0 where there is nothing to make it from. */
static void add_gap(struct report_reader *r, struct previous *previous, unsigned which)
{
    struct slice given = cell_at(r->csv, which ? r->at.op_to_op_dm : r->at.op_to_op);
    uint64_t start, end;
    bool has_start = slice_unsigned(cell_at(r->csv, which ? r->at.dm_start : r->at.kernel_start), &start);
    uint32_t column = which ? OP_COLUMN_ID_OP_TO_OP_DM : OP_COLUMN_ID_OP_TO_OP;
    if (given.length > 0) {
        tt_cell_copy(r->model, &r->cells, column, given.data, given.length);
    } else {
        char text[32] = "0";
        if (has_start && previous->has_end[which] && previous->ns_per_cycle > 0) {
            double cycles = start >= previous->end[which] ? (double)(start - previous->end[which])
                                                          : -(double)(previous->end[which] - start);
            double gap = nearbyint(cycles * previous->ns_per_cycle);
            snprintf(text, sizeof text, "%.0f", gap == 0 ? 0.0 : gap);
        }
        tt_cell_copy(r->model, &r->cells, column, text, strlen(text));
    }
    if (slice_unsigned(cell_at(r->csv, which ? r->at.dm_end : r->at.kernel_end), &end)) {
        previous->has_end[which] = true;
        previous->end[which] = end;
    }
}

static bool is_own_cell(enum op_fixed_column column)
{
    return column == OP_COLUMN_ID_OP_TO_OP || column == OP_COLUMN_ID_OP_TO_OP_DM ||
           column == OP_COLUMN_ID_TRACE_ID || column == OP_COLUMN_ID_TRACE_SESSION ||
           column == OP_COLUMN_ID_CALL || column == OP_FIXED_COLUMN_COUNT;
}

static void fill_run(struct report_reader *r, struct tt_run *run)
{
    const struct csv_reader *csv = r->csv;
    uint32_t trace;
    if (slice_unsigned32(cell_at(csv, r->at.trace), &trace))
        run->trace = trace;
    slice_unsigned32(cell_at(csv, r->at.session), &run->session);
    slice_unsigned32(cell_at(csv, r->at.cores), &run->cores);
    run->has_cycles = slice_unsigned(cell_at(csv, r->at.fw_start), &run->start_cycle) &&
                      slice_unsigned(cell_at(csv, r->at.fw_end), &run->end_cycle) &&
                      run->end_cycle >= run->start_cycle;
    run->has_kernel = slice_unsigned(cell_at(csv, r->at.kernel), &run->kernel_ns);
    for (size_t i = 0; i < r->at.count && i < csv->cell_count; i++) {
        struct slice cell = cell_at(csv, i);
        if (cell.length > 0 && !is_own_cell(r->at.known[i]))
            tt_cell_copy(r->model, &r->cells, r->at.known[i], cell.data, cell.length);
    }
}

static void read_report_row(struct report_reader *r)
{
    uint64_t id, fw_ns;
    uint32_t device;
    if (!slice_unsigned(cell_at(r->csv, r->at.id), &id) ||
        !slice_unsigned32(cell_at(r->csv, r->at.device), &device)) {
        tt_note(r->model, TT_DAMAGED_REPORT_ROW, r->csv->line,
                "cpp_device_perf_report.csv, line %" PRIu64 ": no call count or device; the row is left out",
                r->csv->line);
        return;
    }
    struct tt_device *known = tt_device_get(r->model, device);
    struct previous *previous = known ? previous_of(r, device) : NULL;
    struct tt_run *run = previous ? tt_run_add(r->model) : NULL;
    if (!run)
        return;
    struct slice arch = cell_at(r->csv, r->at.arch);
    if (!known->arch.data && arch.length > 0)
        known->arch = slice_from(tt_keep(r->model, arch.data, arch.length), arch.length);
    if (slice_has(arch, "quasar"))
        r->model->is_quasar = true;
    run->id = id;
    run->device = device;
    fill_run(r, run);
    if (run->has_cycles && run->end_cycle - run->start_cycle > previous->longest_cycles &&
        slice_unsigned(cell_at(r->csv, r->at.fw), &fw_ns) && fw_ns > 0) {
        previous->longest_cycles = run->end_cycle - run->start_cycle;
        known->frequency_mhz =
            (uint32_t)fmin(1e6, (double)previous->longest_cycles * 1000.0 / (double)fw_ns + 0.5);
    }
    add_gap(r, previous, 0);
    add_gap(r, previous, 1);
    run->cells = tt_cells_finish(r->model, &r->cells);
}

int tt_report_read(struct tt_model *model, struct csv_reader *csv, struct error *err)
{
    struct report_reader reader = {.model = model, .csv = csv};
    int status = csv_next(csv, err);
    if (status <= 0)
        return status;
    if (!find_report_columns(&reader.at, csv))
        return error_set_errno(err, ENOMEM, "%zu columns", csv->cell_count);
    if (reader.at.id == SIZE_MAX || reader.at.device == SIZE_MAX)
        tt_note(
            model, TT_DAMAGED_REPORT_HEADER, 1,
            "cpp_device_perf_report.csv, line 1: the header lacks GLOBAL CALL COUNT or DEVICE ID; it is not used");
    else
        while ((status = csv_next(csv, err)) > 0 && !model->failed)
            read_report_row(&reader);
    free(reader.at.known);
    free(reader.cells.items);
    free(reader.previous);
    map_free(&reader.previous_of_device);
    return status < 0 ? status : tt_model_check(model, err);
}
