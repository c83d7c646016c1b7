/* SPDX-License-Identifier: Apache-2.0 */
/* An ops CSV as a trace, row by row: a row is an op. Its numbers are figures; tensors, where they are written as the
 * vendor writes them, are tensors; all other texts are attributes, which most rows have in common. Memory does not
 * follow the number of rows. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/ops_csv/reader.h"
#include "import/tenstorrent/cells.h"
#include "import/tenstorrent/trace.h"
#include "ops/known_figures.h"

#define ROWS_AT_ONCE 4096u
#define TEXTS_AT_ONCE 100000u     /* of a model, before it is begun again */
#define DESCRIPTIONS_KNOWN 16384u /* whose cells are remembered */
#define LONGEST_NAME 60000u       /* a trace cuts longer ones */
#define MOST_TENSORS 64u

struct column {
    struct tt_figure_column figure;
    bool is_tensor; /* a size, layout, type or memory, whatever the version of the header */
    bool is_figure; /* its name cannot be that of an attribute */
};

struct tensor_columns {
    size_t places[OP_TENSOR_FIELDS];
};

enum place {
    CODE,
    TYPE,
    DEVICE,
    ARCH,
    ATTRIBUTES,
    HOST_START,
    HOST_DURATION,
    FW_START,
    FW_END,
    FW,
    SESSION,
    CORES,
    PLACES
};

struct device_clock { /* the run that says most about how a device's clock stands to the host's */
    uint32_t device;
    bool has_host;
    double mhz, offset;
    struct trace_clock_point point;
};

struct table {
    struct tt_trace_writer w;
    struct ops ops;
    struct op_rows *rows;
    struct intern names; /* columns; what comes again has its number after the name */
    struct column *columns;
    size_t column_count;
    struct tensor_columns tensors[2][MOST_TENSORS];
    size_t tensor_count[2];
    size_t places[PLACES];
    struct intern known; /* cells of descriptions ... */
    uint32_t *known_ids; /* ... and which they are */
    size_t known_capacity;
    struct bytes key, text;
    uint32_t *ids;
    struct device_clock *clocks;
    size_t clock_count, clock_capacity;
};

/* --- columns --- */

static int add_names(struct table *t, struct error *err)
{
    struct bytes unique = {0};
    bool is_fine = true;
    for (size_t i = 0; i < t->column_count && is_fine; i++) {
        const char *name = op_rows_column_name(t->rows, i);
        bytes_clear(&unique);
        bytes_append_text(&unique, name);
        if (op_rows_find_column(t->rows, name) != i)
            bytes_append_format(&unique, "%c%zu", TT_COLUMN_AGAIN, i);
        is_fine = !unique.failed && intern_add(&t->names, bytes_text(&unique), unique.length) == i;
    }
    bytes_free(&unique);
    return is_fine ? 0 : error_set_errno(err, ENOMEM, "%zu columns", t->column_count);
}

static void find_tensors(struct table *t)
{
    for (unsigned side = 0; side < 2; side++) {
        for (; t->tensor_count[side] < MOST_TENSORS; t->tensor_count[side]++) {
            struct tensor_columns *tensor = &t->tensors[side][t->tensor_count[side]];
            bool is_there = true;
            for (unsigned i = 0; i < OP_TENSOR_FIELDS; i++) {
                bytes_clear(&t->text);
                op_tensor_column(side, (uint32_t)t->tensor_count[side], (enum op_tensor_field)i, &t->text);
                tensor->places[i] = op_rows_find_column(t->rows, bytes_text(&t->text));
                is_there &= tensor->places[i] != SIZE_MAX;
            }
            if (!is_there)
                break;
        }
    }
}

static void find_figures(struct table *t)
{
    for (size_t i = 0; i < t->column_count; i++) {
        const struct intern_entry *name = &t->names.entries[i];
        t->columns[i].figure = tt_figure_column(&t->ops, name->data, name->length);
        t->columns[i].is_figure = memchr(name->data, '=', name->length) != NULL;
        t->columns[i].is_tensor =
            strncmp(name->data, "INPUT_", 6) == 0 || strncmp(name->data, "OUTPUT_", 7) == 0;
    }
}

static int find_columns(struct table *t, struct error *err)
{
    static const char *const names[PLACES] = {
        [CODE] = "OP CODE",
        [TYPE] = "OP TYPE",
        [DEVICE] = "DEVICE ID",
        [ARCH] = "DEVICE ARCH",
        [ATTRIBUTES] = "ATTRIBUTES",
        [HOST_START] = "HOST START TS",
        [HOST_DURATION] = "HOST DURATION [ns]",
        [FW_START] = "DEVICE FW START CYCLE",
        [FW_END] = "DEVICE FW END CYCLE",
        [FW] = "DEVICE FW DURATION [ns]",
        [SESSION] = "METAL TRACE REPLAY SESSION ID",
        [CORES] = "CORE COUNT",
    };
    t->column_count = op_rows_column_count(t->rows);
    t->columns = calloc(t->column_count + 1, sizeof t->columns[0]);
    t->ids = calloc(t->column_count + 2 * MOST_TENSORS + 1, sizeof t->ids[0]);
    if (!t->columns || !t->ids)
        return error_set_errno(err, ENOMEM, "%zu columns", t->column_count);
    for (size_t i = 0; i < PLACES; i++)
        t->places[i] = op_rows_find_column(t->rows, names[i]);
    find_tensors(t);
    int result = add_names(t, err);
    if (result == 0)
        find_figures(t);
    return result;
}

/* --- descriptions --- */

/* The cell as a figure: a number, or whatever stands where its column has numbers. False: a text that other rows may
 * have as well. */
static bool take_figure(struct table *t, size_t column, struct slice cell, struct op_figure *figure)
{
    const struct column *known = &t->columns[column];
    if (known->is_tensor && !known->is_figure)
        return false;
    if (tt_number_of_cell(&known->figure, cell, &t->text, figure))
        return true;
    if (!known->is_figure && known->figure.kind == OP_COLUMN_TEXT)
        return false;
    *figure = (struct op_figure){
        .name = known->figure.name, .kind = OP_FIGURE_TEXT, .whole = ops_text(&t->ops, cell)};
    return cell.length < LONGEST_NAME;
}

static uint32_t make_description(struct table *t, const struct op_row *row, const bool *is_in)
{
    struct op_description d = {.location = OPS_NONE, .module = OPS_NONE, .fidelity = OPS_NONE};
    struct slice cells[OP_TENSOR_FIELDS];
    bool is_taken[2][MOST_TENSORS] = {{0}};
    size_t at = 0;
    for (unsigned side = 0; side < 2; side++) {
        uint32_t tensor = 0;
        for (size_t k = 0; k < t->tensor_count[side] && tensor != OPS_NONE; k++) {
            for (unsigned i = 0; i < OP_TENSOR_FIELDS; i++)
                cells[i] = row->cells[t->tensors[side][k].places[i]];
            tensor = tt_exact_tensor(&t->ops, cells);
            if (tensor != OPS_NONE) {
                t->ids[at++] = tensor;
                is_taken[side][k] = true;
                *(side ? &d.outputs : &d.inputs) += 1;
            }
        }
    }
    for (size_t i = 0; i < t->column_count; i++) {
        bool is_part = false;
        for (unsigned side = 0; side < 2 && t->columns[i].is_tensor && !is_part; side++) {
            for (size_t k = 0; k < t->tensor_count[side] && !is_part; k++)
                for (unsigned n = 0; n < OP_TENSOR_FIELDS && !is_part; n++)
                    is_part = is_taken[side][k] && t->tensors[side][k].places[n] == i;
        }
        if (is_in[i] && !is_part && d.attributes < UINT16_MAX) {
            t->ids[at++] =
                ops_attribute(&t->ops, t->columns[i].figure.name, ops_text(&t->ops, row->cells[i]));
            d.attributes++;
        }
    }
    return t->ops.failed || at == 0 ? OPS_NONE : ops_description(&t->ops, &d, t->ids);
}

/* Rows whose cells were there before are not taken apart again. */
static uint32_t describe(struct table *t, const struct op_row *row, const bool *is_in)
{
    bytes_clear(&t->key);
    for (size_t i = 0; i < t->column_count; i++) {
        uint32_t head[2] = {(uint32_t)i, (uint32_t)row->cells[i].length};
        if (!is_in[i])
            continue;
        bytes_append(&t->key, head, sizeof head);
        bytes_append(&t->key, row->cells[i].data, row->cells[i].length);
    }
    if (t->key.failed) {
        t->ops.failed = true;
        return OPS_NONE;
    }
    uint32_t id = intern_find(&t->known, t->key.data, t->key.length);
    if (id != INTERN_NONE)
        return t->known_ids[id];
    uint32_t description = make_description(t, row, is_in);
    if (t->known.count >= DESCRIPTIONS_KNOWN)
        return description;
    id = intern_add(&t->known, t->key.data, t->key.length);
    if (id != INTERN_NONE &&
        array_reserve(&t->known_ids, &t->known_capacity, (size_t)id + 1, sizeof t->known_ids[0]))
        t->known_ids[id] = description;
    else
        t->ops.failed = true;
    return description;
}

/* --- rows --- */

static bool number_at(const struct table *t, const struct op_row *row, enum place place, uint64_t *value)
{
    size_t column = t->places[place];
    return column < row->cell_count && row->cells[column].data &&
           slice_unsigned(slice_trim(row->cells[column]), value);
}

static struct slice cell_at(const struct table *t, const struct op_row *row, enum place place)
{
    return t->places[place] < row->cell_count ? row->cells[t->places[place]] : slice_from(NULL, 0);
}

/* The rate of a device's clock by what a row says in cycles and in nanoseconds, which are rounded: of a short run the
 * nearest rate that chips are set to. 0: not known. */
static double clock_rate(struct table *t, const struct op_row *row, uint64_t cycles)
{
    uint64_t ns;
    if (!number_at(t, row, FW, &ns) || ns == 0 || cycles == 0)
        return 0;
    double mhz = (double)cycles * 1000 / (double)ns, set = round(mhz / 50) * 50;
    return fabs(mhz - set) <= mhz / 100 ? set : mhz;
}

/* The latest host time that the device's clock may show. */
static void take_clock(struct table *t, uint32_t device, double mhz, uint64_t ticks,
                       const struct op_call *call)
{
    bool has_host = !(call->faults & OP_FAULT_NO_HOST_TIME);
    struct device_clock *clock = NULL;
    for (size_t i = 0; i < t->clock_count && !clock; i++)
        clock = t->clocks[i].device == device ? &t->clocks[i] : NULL;
    if (clock)
        mhz = clock->mhz; /* as the trace has it */
    double offset = (double)call->start_ns - (double)ticks * 1000 / mhz;
    if (clock && (clock->has_host > has_host || (clock->has_host == has_host && offset <= clock->offset)))
        return;
    if (!clock) {
        if (!array_reserve(&t->clocks, &t->clock_capacity, t->clock_count + 1, sizeof t->clocks[0])) {
            t->ops.failed = true;
            return;
        }
        clock = &t->clocks[t->clock_count++];
    }
    *clock = (struct device_clock){.device = device,
                                   .has_host = has_host,
                                   .mhz = mhz,
                                   .offset = offset,
                                   .point = {.ticks = ticks,
                                             .host_ns = call->start_ns,
                                             .uncertainty_ns = call->end_ns - call->start_ns}};
}

static void add_run(struct table *t, const struct op_row *row, const struct op_call *call, uint32_t call_id)
{
    struct op_run run = {.call = call_id, .gap_ns = OPS_NO_GAP, .device = OPS_NO_DEVICE, .name = OPS_NONE};
    uint64_t number, start, end;
    if (call->device == OPS_NONE || !number_at(t, row, FW_START, &start) ||
        !number_at(t, row, FW_END, &end) || end < start)
        return;
    uint32_t device = t->ops.devices[call->device].number;
    t->w.architecture = cell_at(t, row, ARCH);
    t->w.mhz = clock_rate(t, row, end - start);
    run.device = (uint16_t)call->device;
    run.track = tt_trace_device_track(&t->w, device);
    if (number_at(t, row, SESSION, &number) && number < UINT32_MAX)
        run.session = (uint32_t)number;
    if (number_at(t, row, CORES, &number) && number < UINT32_MAX)
        run.cores = (uint32_t)number;
    if (ops_add_run(&t->ops, &run) != OPS_NONE)
        ops_set_ticks(&t->ops, start, end);
    take_clock(t, device, t->w.mhz > 0 ? t->w.mhz : 1000, start, call);
}

static void add_figures(struct table *t, const struct op_row *row, bool *is_in)
{
    for (size_t i = 0; i < t->column_count; i++) {
        struct slice cell = row->cells[i];
        struct op_figure figure;
        is_in[i] = false;
        if (cell.length == 0 || (i == t->places[CODE] && cell.length < LONGEST_NAME))
            continue;
        is_in[i] = !take_figure(t, i, cell, &figure);
        if (!is_in[i])
            ops_add_call_figure(&t->ops, figure);
    }
}

static void add_row(struct table *t, const struct op_row *row, bool *is_in)
{
    struct slice code = cell_at(t, row, CODE), type = cell_at(t, row, TYPE);
    struct slice name = slice_from(code.length ? code.data : "", code.length);
    struct op_call call = {.number = row->index + 1,
                           .process = t->w.process,
                           .track = tt_trace_thread_track(&t->w, 0),
                           .name = ops_text(&t->ops, name),
                           .device = OPS_NONE};
    uint64_t number = 0;
    if (number_at(t, row, DEVICE, &number) && number < TT_MAX_DEVICES)
        call.device = ops_device(&t->ops, (uint32_t)number);
    call.type = (uint8_t)(slice_is(type, "python_fallback") ? OP_TYPE_FALLBACK
                          : call.device == OPS_NONE         ? OP_TYPE_HOST
                                                            : OP_TYPE_DEVICE);
    if (!number_at(t, row, HOST_START, &call.start_ns))
        call.faults |= OP_FAULT_NO_HOST_TIME;
    call.end_ns = call.start_ns;
    if (number_at(t, row, HOST_DURATION, &number))
        call.end_ns += number;
    else
        call.faults |= OP_FAULT_OPEN;
    uint32_t id = ops_add_call(&t->ops, &call);
    if (id == OPS_NONE)
        return;
    add_figures(t, row, is_in);
    t->ops.calls[id].description = describe(t, row, is_in);
    add_run(t, row, &call, id);
    if (slice_is(type, "signpost"))
        ops_add_signpost(&t->ops, call.start_ns, name, cell_at(t, row, ATTRIBUTES));
}

static void write_rows(struct table *t)
{
    struct import_counts *counts = t->w.counts;
    ops_to_trace(&t->w.ops, &t->ops);
    counts->ops += t->ops.call_count;
    counts->runs += t->ops.run_count;
    counts->signposts += t->ops.signpost_count;
    ops_clear_calls(&t->ops);
    if (t->ops.texts.count < TEXTS_AT_ONCE)
        return;
    bool failed = t->ops.failed | t->w.ops.failed;
    struct error ignored;
    ops_free(&t->ops); /* its texts are in the trace */
    ops_init(&t->ops);
    ops_writing_end(&t->w.ops, &ignored);
    ops_writing_begin(&t->w.ops, t->w.writer, t->w.process, t->w.import_track);
    intern_free(&t->known);
    find_figures(t);
    t->ops.failed |= failed;
}

static int write_table(struct table *t, struct error *err)
{
    struct op_row row;
    bool *is_in = calloc(t->column_count + 1, sizeof is_in[0]);
    int status = is_in ? 0 : error_set_errno(err, ENOMEM, "%zu columns", t->column_count);
    while (status >= 0 && is_in && !t->ops.failed && (status = op_rows_next(t->rows, &row, err)) > 0) {
        add_row(t, &row, is_in);
        if (t->ops.call_count >= ROWS_AT_ONCE)
            write_rows(t);
    }
    free(is_in);
    if (status < 0)
        return status;
    write_rows(t);
    for (size_t i = 0; i < t->clock_count; i++) {
        t->clocks[i].point.clock = map_get(&t->w.clock_of_device, t->clocks[i].device);
        trace_writer_clock_point(t->w.writer, &t->clocks[i].point);
    }
    for (size_t i = 0; i < t->column_count; i++)
        ops_add_fact(&t->ops, slice_of("column"),
                     slice_from(t->names.entries[i].data, t->names.entries[i].length));
    for (size_t i = 0; i < op_rows_notice_count(t->rows); i++) {
        const struct op_row_notice *notice = op_rows_notice(t->rows, i);
        ops_add_notice(&t->ops, OP_NOTICE_KIND_OWN + (uint32_t)i, OP_NOTICE_DAMAGED, notice->first_line, "%s",
                       notice->text);
        if (!t->ops.failed)
            t->ops.notices[i].count = notice->count;
    }
    return ops_check(&t->ops, err);
}

int tt_import_rows(struct op_rows *rows, const char *output, struct import_counts *counts, struct error *err)
{
    struct table t = {.w = {.counts = counts}, .rows = rows};
    ops_init(&t.ops);
    int result = find_columns(&t, err);
    if (result == 0)
        result = tt_trace_begin(&t.w, op_rows_path(rows), output, TT_TRACK_TABLE, err);
    if (result == 0)
        result = write_table(&t, err);
    result = tt_trace_end(&t.w, &t.ops, output, result, err);
    op_rows_close(rows);
    ops_free(&t.ops);
    intern_free(&t.names);
    intern_free(&t.known);
    free(t.known_ids);
    free(t.columns);
    free(t.ids);
    free(t.clocks);
    bytes_free(&t.key);
    bytes_free(&t.text);
    return result;
}
