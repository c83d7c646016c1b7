/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/realtime/csv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/count_of.h"
#include "text/csv/cell.h"
#include "text/csv/reader.h"

enum read { PROGRAM, CHIP, START, END, CLOCK, SOURCES, READ };
static const char *const names[READ][4] = {
    [PROGRAM] = {"runtime_id", "program_id"},
    [CHIP] = {"chip_id"},
    [START] = {"start_timestamp"},
    [END] = {"end_timestamp"},
    [CLOCK] = {"frequency_ghz", "frequency", "frequency_cycles_per_ns"},
    [SOURCES] = {"kernel_sources"},
};

enum written { CODE, TYPE, CALL, DEVICE, FW_START, FW_END, GAP, FW, KERNEL, COMPUTE, DATA, WRITTEN };
static const char *const columns[WRITTEN] = {
    [CODE] = "OP CODE",
    [TYPE] = "OP TYPE",
    [CALL] = "GLOBAL CALL COUNT",
    [DEVICE] = "DEVICE ID",
    [FW_START] = "DEVICE FW START CYCLE",
    [FW_END] = "DEVICE FW END CYCLE",
    [GAP] = "OP TO OP LATENCY [ns]",
    [FW] = "DEVICE FW DURATION [ns]",
    [KERNEL] = "DEVICE KERNEL DURATION [ns]",
    [COMPUTE] = "COMPUTE KERNEL SOURCE",
    [DATA] = "DATA MOVEMENT KERNEL SOURCE",
};

#define CHIPS_MAX 4096u /* whose last end is kept, for gaps */

struct chip {
    uint64_t number, end;
};

struct realtime {
    struct csv_reader reader;
    size_t places[READ];
    struct chip *chips;
    size_t chip_count, chip_capacity;
    struct bytes text[WRITTEN]; /* of the row that was given last */
};

enum notice { BAD_TIMES, NO_CLOCK, NO_SOURCE };

static void close_state(void *state)
{
    struct realtime *r = state;
    csv_close(&r->reader);
    free(r->chips);
    for (size_t i = 0; i < WRITTEN; i++)
        bytes_free(&r->text[i]);
    free(r);
}

bool tt_realtime_is_one(struct slice beginning)
{
    struct slice line = slice_before(beginning, "\n");
    return slice_has(line, "start_timestamp") && slice_has(line, "end_timestamp") &&
           slice_has(line, "chip_id");
}

/* --- rows --- */

static struct slice cell(const struct realtime *r, enum read which)
{
    size_t place = r->places[which];
    return place < r->reader.cell_count ? slice_trim(r->reader.cells[place]) : (struct slice){0};
}

/* Where the chip's op before this one ended; NULL where none is known. */
static struct chip *find_chip(struct realtime *r, uint64_t number)
{
    for (size_t i = 0; i < r->chip_count; i++) {
        if (r->chips[i].number == number)
            return &r->chips[i];
    }
    return NULL;
}

static void keep_end(struct realtime *r, struct chip *chip, uint64_t number, uint64_t end)
{
    if (!chip && r->chip_count < CHIPS_MAX &&
        array_reserve(&r->chips, &r->chip_capacity, r->chip_count + 1, sizeof *r->chips)) {
        chip = &r->chips[r->chip_count++];
        chip->number = number;
    }
    if (chip)
        chip->end = end;
}

/* "a/b/multi_op.cpp" -> "multi_op". */
static struct slice base_name(struct slice path)
{
    struct slice rest;
    while ((rest = slice_after(path, "/")).data)
        path = rest;
    struct slice stem = slice_before(path, ".");
    return stem.length ? stem : path;
}

static void take_sources(struct realtime *r, struct op_rows *rows)
{
    struct slice rest = cell(r, SOURCES), name = {0};
    bool has_compute = false;
    while (rest.length) {
        struct slice source = slice_trim(slice_before(rest, ";"));
        bool is_compute = slice_has(source, "compute");
        struct bytes *list = &r->text[is_compute ? COMPUTE : DATA];
        if (source.length) {
            bytes_append_text(list, list->length ? "; " : "");
            bytes_append(list, source.data, source.length);
            if (!name.length || (is_compute && !has_compute))
                name = base_name(source);
            has_compute |= is_compute;
        }
        rest = slice_after(rest, ";");
    }
    if (name.length)
        bytes_append(&r->text[CODE], name.data, name.length);
    else
        bytes_append_text(&r->text[CODE], "program");
    if (!name.length)
        op_rows_add_notice(rows, NO_SOURCE, r->reader.line,
                           "line %" PRIu64 ": a program without kernel sources", r->reader.line);
}

static void take_times(struct realtime *r, struct op_rows *rows, uint64_t chip_number)
{
    uint64_t start, end;
    double clock;
    struct chip *chip = find_chip(r, chip_number);
    bool has_times =
        slice_unsigned(cell(r, START), &start) && slice_unsigned(cell(r, END), &end) && end >= start;
    if (!has_times) {
        op_rows_add_notice(rows, BAD_TIMES, r->reader.line,
                           "line %" PRIu64 ": start and end are no times, or it ends before it starts",
                           r->reader.line);
        return;
    }
    bytes_append_format(&r->text[FW_START], "%" PRIu64, start);
    bytes_append_format(&r->text[FW_END], "%" PRIu64, end);
    if (cell_number(cell(r, CLOCK), &clock) == NUMBER_BAD || !(clock > 0) || !isfinite(clock)) {
        op_rows_add_notice(rows, NO_CLOCK, r->reader.line,
                           "line %" PRIu64 ": no clock: how long it took is not known", r->reader.line);
    } else {
        bytes_append_format(&r->text[FW], "%.0f", (double)(end - start) / clock);
        bytes_append_format(&r->text[KERNEL], "%.0f", (double)(end - start) / clock);
        if (chip)
            bytes_append_format(
                &r->text[GAP], "%.0f",
                (start >= chip->end ? (double)(start - chip->end) : -(double)(chip->end - start)) / clock);
    }
    keep_end(r, chip, chip_number, end);
}

static int next(void *state, struct op_rows *rows, struct slice *cells, uint64_t *line, struct error *err)
{
    struct realtime *r = state;
    int status = csv_next(&r->reader, err);
    uint64_t chip = 0;
    if (status <= 0)
        return status;
    for (size_t i = 0; i < WRITTEN; i++)
        bytes_clear(&r->text[i]);
    struct slice program = cell(r, PROGRAM), number = cell(r, CHIP);
    bytes_append_text(&r->text[TYPE], "tt_dnn_device");
    bytes_append(&r->text[CALL], program.data, program.length);
    if (slice_unsigned(number, &chip))
        bytes_append(&r->text[DEVICE], number.data, number.length);
    take_sources(r, rows);
    take_times(r, rows, chip);
    for (size_t i = 0; i < WRITTEN; i++) {
        if (r->text[i].failed)
            return error_no_memory(err, op_rows_path(rows));
        cells[i] = slice_from(r->text[i].length ? (const char *)r->text[i].data : "", r->text[i].length);
    }
    *line = r->reader.line;
    return 1;
}

static const struct op_rows_source source = {
    .kind = "real-time profile", .next = next, .close = close_state, .fills_all = true};

/* --- the header --- */

static int find_columns(struct realtime *r, const char *path, struct error *err)
{
    for (size_t i = 0; i < READ; i++) {
        r->places[i] = SIZE_MAX;
        for (size_t k = 0; k < r->reader.cell_count && r->places[i] == SIZE_MAX; k++) {
            for (size_t n = 0; n < COUNT_OF(names[0]) && names[i][n]; n++) {
                if (slice_is(slice_trim(r->reader.cells[k]), names[i][n]))
                    r->places[i] = k;
            }
        }
        if (r->places[i] == SIZE_MAX && i != SOURCES)
            return error_set(err, EINVAL, "%s:1: a real-time profile without column '%s'", path, names[i][0]);
    }
    return 0;
}

/* Takes the state over. `status` is of opening it. */
static int begin(struct op_rows **rows, struct realtime *r, const char *path, int status, struct error *err)
{
    if (status) {
        free(r);
        return status;
    }
    status = csv_next(&r->reader, err);
    if (status == 0)
        status = error_set(err, EINVAL, "%s:1: the file is empty: no header, no rows", path);
    if (status > 0)
        status = find_columns(r, path, err);
    if (status < 0) {
        close_state(r);
        return status;
    }
    struct op_rows *made = op_rows_new(&source, r, path);
    if (!made)
        return error_no_memory(err, path);
    for (size_t i = 0; i < WRITTEN && !status; i++)
        status = op_rows_add_column(made, columns[i], strlen(columns[i]), err);
    if (status) {
        op_rows_close(made);
        return status;
    }
    *rows = made;
    return 0;
}

int tt_realtime_open(struct op_rows **rows, const char *path, struct error *err)
{
    struct realtime *r = calloc(1, sizeof *r);
    *rows = NULL;
    return r ? begin(rows, r, path, csv_open(&r->reader, path, err), err) : error_no_memory(err, path);
}

int tt_realtime_open_memory(struct op_rows **rows, const char *path, const void *data, size_t length,
                            struct error *err)
{
    struct realtime *r = calloc(1, sizeof *r);
    *rows = NULL;
    return r ? begin(rows, r, path, csv_open_memory(&r->reader, path, data, length, err), err)
             : error_no_memory(err, path);
}
