/* SPDX-License-Identifier: Apache-2.0 */
#include "import/own_ops_csv.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/count_of.h"
#include "ops/description.h"
#include "ops/known_figures.h"
#include "text/csv/cell.h"
#include "text/csv/reader.h"

#define BEGINNING "call,pid,program,thread,name,type,device,start_ns,host_ns,"

enum column {
    COLUMN_CALL,
    COLUMN_PID,
    COLUMN_NAME,
    COLUMN_TYPE,
    COLUMN_DEVICE,
    COLUMN_START,
    COLUMN_HOST,
    COLUMN_DEVICE_START,
    COLUMN_DEVICE_TIME,
    COLUMN_CORES,
    COLUMN_INPUTS,
    COLUMN_OUTPUTS,
    COLUMN_ATTRIBUTES,
    COLUMN_LOCATION,
    COLUMNS
};

static const char *const names[COLUMNS] = {
    [COLUMN_CALL] = "call",
    [COLUMN_PID] = "pid",
    [COLUMN_NAME] = "name",
    [COLUMN_TYPE] = "type",
    [COLUMN_DEVICE] = "device",
    [COLUMN_START] = "start_ns",
    [COLUMN_HOST] = "host_ns",
    [COLUMN_DEVICE_START] = "device_start_ns",
    [COLUMN_DEVICE_TIME] = "device_time_ns",
    [COLUMN_CORES] = "cores",
    [COLUMN_INPUTS] = "inputs",
    [COLUMN_OUTPUTS] = "outputs",
    [COLUMN_ATTRIBUTES] = "attributes",
    [COLUMN_LOCATION] = "location",
};

/* A part of a description, as a place in `text`: that moves while it grows. */
struct part {
    uint32_t kind;
    size_t begin, length;
};

struct reading {
    struct ops *ops;
    struct csv_reader csv;
    size_t places[COLUMNS]; /* SIZE_MAX: not there */
    uint32_t first_device;
    struct bytes text;
    struct part *parts;
    struct trace_part *described;
    size_t part_count, part_capacity, described_capacity;
    bool failed;
};

bool own_ops_csv_is_one(struct slice beginning)
{
    return slice_begins(beginning, BEGINNING);
}

static struct slice cell(const struct reading *r, enum column column)
{
    size_t at = r->places[column];
    return at < r->csv.cell_count ? r->csv.cells[at] : slice_from(NULL, 0);
}

static bool number(const struct reading *r, enum column column, uint64_t *value)
{
    double real;
    struct slice text = cell(r, column);
    if (!text.length || cell_number(text, &real) != NUMBER_WHOLE || real < 0 || real > 9e15)
        return false;
    *value = (uint64_t)real;
    return true;
}

/* --- descriptions --- */

static void begin_part(struct reading *r, uint32_t kind)
{
    if (!array_reserve(&r->parts, &r->part_capacity, r->part_count + 1, sizeof r->parts[0])) {
        r->failed = true;
        return;
    }
    r->parts[r->part_count++] = (struct part){kind, r->text.length, 0};
}

static void end_part(struct reading *r)
{
    if (!r->failed)
        r->parts[r->part_count - 1].length = r->text.length - r->parts[r->part_count - 1].begin;
}

static void add_part(struct reading *r, uint32_t kind, struct slice text)
{
    begin_part(r, kind);
    bytes_append(&r->text, text.data, text.length);
    end_part(r);
}

static bool is_shape(struct slice word)
{
    bool is_shape = word.length > 0;
    for (size_t i = 0; i < word.length && is_shape; i++)
        is_shape = (word.data[i] >= '0' && word.data[i] <= '9') || (i && word.data[i] == 'x');
    return is_shape;
}

static bool is_layout(struct slice word)
{
    return slice_is(word, "TILE") || slice_is(word, "ROW_MAJOR") || slice_is(word, "SPARSE");
}

/* "256x256 FLOAT32 ROW_MAJOR HOST": what is not known is left out, the order stays. */
static void add_tensor(struct reading *r, uint32_t kind, struct slice text)
{
    static const char *const keys[] = {"shape=", "dtype=", "layout=", "memory="};
    size_t key = 0;
    begin_part(r, kind);
    while (text.length && key < COUNT_OF(keys)) {
        struct slice word = slice_before(text, " ");
        size_t taken = word.length + (word.length < text.length);
        text = slice_from(text.data + taken, text.length - taken);
        if (key == 0 && !is_shape(word))
            key++;
        if (key == 2 && !is_layout(word))
            key++;
        bytes_append_format(&r->text, "%s%s%.*s",
                            r->text.length > r->parts[r->part_count - 1].begin ? ";" : "", keys[key++],
                            (int)word.length, word.data);
    }
    end_part(r);
}

/* The pieces between "; ". */
static void add_list(struct reading *r, enum column column, uint32_t kind)
{
    struct slice rest = cell(r, column);
    while (rest.length && !r->failed) {
        struct slice piece = slice_before(rest, "; ");
        size_t taken = piece.length + (piece.length < rest.length ? 2 : 0);
        rest = slice_from(rest.data + taken, rest.length - taken);
        if (kind == TRACE_PART_ATTRIBUTE)
            add_part(r, kind, piece);
        else
            add_tensor(r, kind, piece);
    }
}

static uint32_t describe(struct reading *r)
{
    r->part_count = 0;
    bytes_clear(&r->text);
    if (cell(r, COLUMN_LOCATION).length)
        add_part(r, TRACE_PART_LOCATION, cell(r, COLUMN_LOCATION));
    add_list(r, COLUMN_INPUTS, TRACE_PART_INPUT);
    add_list(r, COLUMN_OUTPUTS, TRACE_PART_OUTPUT);
    add_list(r, COLUMN_ATTRIBUTES, TRACE_PART_ATTRIBUTE);
    r->failed |= r->text.failed || !array_reserve(&r->described, &r->described_capacity, r->part_count + 1,
                                                  sizeof r->described[0]);
    for (size_t i = 0; i < r->part_count && !r->failed; i++) {
        const struct part *part = &r->parts[i];
        r->described[i] =
            (struct trace_part){part->kind, slice_from(bytes_text(&r->text) + part->begin, part->length)};
    }
    return r->failed ? OPS_NONE : ops_parse_parts(r->ops, r->described, r->part_count);
}

/* --- rows --- */

static uint32_t type_of(struct slice text)
{
    for (uint32_t type = TRACE_OP_DEVICE; type <= TRACE_OP_CPU; type++) {
        if (slice_is(text, trace_op_type_text(type)))
            return type;
    }
    return TRACE_OP_HOST;
}

static void add_run(struct reading *r, uint32_t call, uint32_t device)
{
    uint64_t start, duration, cores = 0;
    if (!number(r, COLUMN_DEVICE_START, &start) || !number(r, COLUMN_DEVICE_TIME, &duration))
        return;
    number(r, COLUMN_CORES, &cores);
    ops_add_run(r->ops, &(struct op_run){.start_ns = start,
                                         .duration_ns = duration,
                                         .gap_ns = OPS_NO_GAP,
                                         .call = call,
                                         .track = device == OPS_NONE ? 0 : device,
                                         .cores = (uint32_t)cores,
                                         .device = device < OPS_NO_DEVICE ? (uint16_t)device : OPS_NO_DEVICE,
                                         .name = OPS_NONE});
}

static void add_row(struct reading *r)
{
    struct slice type = cell(r, COLUMN_TYPE);
    uint64_t start = 0, host = 0, device = 0, pid = 0, call = OPS_NO_NUMBER;
    bool has_start = number(r, COLUMN_START, &start), has_host = number(r, COLUMN_HOST, &host);
    if (slice_is(type, "signpost")) {
        ops_add_signpost(r->ops, start, cell(r, COLUMN_NAME), cell(r, COLUMN_ATTRIBUTES));
        return;
    }
    uint32_t on = number(r, COLUMN_DEVICE, &device) && device < 65536
                      ? ops_device(r->ops, (uint32_t)device + r->first_device)
                      : OPS_NONE;
    if (slice_is(type, "run")) {
        add_run(r, OPS_NONE, on);
        return;
    }
    number(r, COLUMN_CALL, &call);
    number(r, COLUMN_PID, &pid);
    if (type_of(type) == TRACE_OP_CPU && on != OPS_NONE && r->ops->devices[on].name == OPS_NONE)
        r->ops->devices[on].name = ops_text(r->ops, slice_of(OPS_CPU_DEVICE));
    struct op_call made = {.number = call,
                           .start_ns = start,
                           .end_ns = start + host,
                           .process = (uint32_t)pid,
                           .track = OPS_NONE,
                           .name = ops_text(r->ops, cell(r, COLUMN_NAME)),
                           .description = describe(r),
                           .device = on,
                           .faults = (uint16_t)(!has_start  ? OP_FAULT_NO_HOST_TIME
                                                : !has_host ? OP_FAULT_OPEN
                                                            : 0),
                           .type = type_of(type) & 0xffu,
                           .place = OPS_NONE};
    add_run(r, ops_add_call(r->ops, &made), on);
}

static int read_heading(struct reading *r, struct error *err)
{
    int status = csv_next(&r->csv, err);
    for (size_t c = 0; c < COLUMNS; c++) {
        r->places[c] = SIZE_MAX;
        for (size_t i = 0; status > 0 && i < r->csv.cell_count && r->places[c] == SIZE_MAX; i++) {
            if (slice_is(r->csv.cells[i], names[c]))
                r->places[c] = i;
        }
    }
    return status < 0 ? status : 0;
}

int own_ops_csv_read(struct ops *ops, const char *path, uint32_t first_device, struct error *err)
{
    struct reading r = {.ops = ops, .first_device = first_device};
    int status = csv_open(&r.csv, path, err);
    if (status)
        return status;
    status = read_heading(&r, err);
    while (!status && !r.failed && !ops->failed && (status = csv_next(&r.csv, err)) > 0) {
        add_row(&r);
        status = 0;
    }
    csv_close(&r.csv);
    bytes_free(&r.text);
    free(r.parts);
    free(r.described);
    return status < 0 ? status : r.failed ? error_no_memory(err, path) : ops_check(ops, err);
}
