/* SPDX-License-Identifier: Apache-2.0 */
#include "import/torq/rows_csv.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/count_of.h"
#include "text/csv/cell.h"
#include "text/csv/reader.h"

#define NO_COLUMN UINT32_MAX

enum column {
    COLUMN_NUMBER,
    COLUMN_OPERATION,
    COLUMN_NAMES,
    COLUMN_START,
    COLUMN_END,
    COLUMN_LOCATION,
    COLUMNS
};

/* The form with a row per action, then the older one with a row per op of a program. */
static const char *const names[2][COLUMNS][2] = {
    {[COLUMN_NUMBER] = {"action_id", "Action ID"},
     [COLUMN_OPERATION] = {"operation", "Action in program"},
     [COLUMN_NAMES] = {"invocation_names", "Slice Invocation Names (if applicable)"},
     [COLUMN_START] = {"timestamp_start", "Start Timestamp [us]"},
     [COLUMN_END] = {"timestamp_end", "End Timestamp [us]"},
     [COLUMN_LOCATION] = {"location", "Location"}},
    {[COLUMN_NUMBER] = {"nss_program_index", "NSS Program Index"},
     [COLUMN_OPERATION] = {"operation", "torq-hw Operation in program"},
     [COLUMN_NAMES] = {"invocation_name", "Invocation Name"},
     [COLUMN_START] = {"nss_program_timestamp_start", "NSS Program Start Timestamp [us]"},
     [COLUMN_END] = {"nss_program_timestamp_end", "NSS Program End Timestamp [us]"},
     [COLUMN_LOCATION] = {"location", "Location"}}};

struct reading {
    struct timeline *timeline;
    uint32_t columns[COLUMNS];
    uint32_t lane;
    bool is_by_program;
    uint64_t begun_ns; /* of the program that no wait followed yet; UINT64_MAX: none */
    int64_t program;   /* the last one; -1: none */
    uint64_t bad_rows, first_bad_line;
};

static bool is_word(struct slice cell, const char *word)
{
    cell = slice_trim(cell);
    return cell.length == strlen(word) && strncasecmp(cell.data, word, cell.length) == 0;
}

bool torq_rows_are_in(struct slice beginning)
{
    struct slice header = slice_before(beginning, "\n");
    for (size_t form = 0; form < 2; form++) {
        for (size_t i = 0; i < 2; i++) {
            const char *word = names[form][COLUMN_NUMBER][i];
            size_t length = strlen(word);
            if (header.length > length && strncasecmp(header.data, word, length) == 0 &&
                strchr(";,", header.data[length]) && slice_has(header, names[form][COLUMN_OPERATION][i]))
                return true;
        }
    }
    return false;
}

static bool find_columns(struct reading *r, const struct csv_reader *csv, size_t form)
{
    for (size_t i = 0; i < COLUMNS; i++) {
        r->columns[i] = NO_COLUMN;
        for (uint32_t k = 0; k < csv->cell_count; k++) {
            if (is_word(csv->cells[k], names[form][i][0]) || is_word(csv->cells[k], names[form][i][1]))
                r->columns[i] = k;
        }
    }
    r->is_by_program = form == 1;
    return r->columns[COLUMN_NUMBER] != NO_COLUMN && r->columns[COLUMN_OPERATION] != NO_COLUMN &&
           r->columns[COLUMN_START] != NO_COLUMN && r->columns[COLUMN_END] != NO_COLUMN;
}

static struct slice cell_of(const struct reading *r, const struct csv_reader *csv, enum column column)
{
    uint32_t at = r->columns[column];
    return at < csv->cell_count ? slice_trim(csv->cells[at]) : slice_from("", 0);
}

/* Microseconds as ns; false where there are none, or no number. */
static bool read_us(struct slice cell, uint64_t *ns)
{
    double value;
    enum number_kind kind = cell_number(cell, &value);
    if ((kind != NUMBER_WHOLE && kind != NUMBER_REAL) || !(value >= 0) || !(value < 1e15))
        return false;
    *ns = (uint64_t)llround(value * 1000);
    return true;
}

static void add_program(struct reading *r, const struct csv_reader *csv, uint64_t start, uint64_t end)
{
    struct timeline *t = r->timeline;
    struct slice name = cell_of(r, csv, COLUMN_NAMES), location = cell_of(r, csv, COLUMN_LOCATION);
    struct timeline_op *op = timeline_add_op(t);
    struct timeline_unit *unit = op ? timeline_add_unit(t) : NULL;
    if (!unit)
        return;
    op = &t->ops[t->op_count - 1];
    op->name = timeline_text(t, name.length ? name : slice_of("(transfers)"));
    op->location = location.length ? timeline_text(t, location) : TIMELINE_NONE;
    op->dispatch = TIMELINE_NONE;
    op->start = unit->start = start;
    op->end = unit->end = end;
    unit->lane = r->lane;
    unit->bytes = UINT64_MAX;
    unit->op = (uint32_t)t->op_count - 1;
    unit->name = op->name;
    unit->location = op->location;
}

/* Start and wait of a program are rows of their own. */
static void read_action(struct reading *r, const struct csv_reader *csv)
{
    uint64_t start = 0, end = 0;
    struct slice operation = cell_of(r, csv, COLUMN_OPERATION);
    bool has_times = read_us(cell_of(r, csv, COLUMN_START), &start) &&
                     read_us(cell_of(r, csv, COLUMN_END), &end) && end >= start;
    if (!cell_of(r, csv, COLUMN_START).length)
        return; /* of a load: it did not run */
    if (!has_times) {
        r->first_bad_line = r->bad_rows++ ? r->first_bad_line : csv->line;
        return;
    }
    if (slice_is(operation, "torq_hl.start_program"))
        r->begun_ns = start;
    if (!slice_is(operation, "torq_hl.wait_program") || r->begun_ns > end)
        return;
    add_program(r, csv, r->begun_ns, end);
    r->begun_ns = UINT64_MAX;
}

/* Every row of a program repeats its times; the one that starts a slice names what it ran. */
static void read_program(struct reading *r, const struct csv_reader *csv)
{
    uint64_t start, end;
    int64_t program;
    struct slice name = cell_of(r, csv, COLUMN_NAMES);
    if (!cell_int64(cell_of(r, csv, COLUMN_NUMBER), &program)) {
        r->first_bad_line = r->bad_rows++ ? r->first_bad_line : csv->line;
        return;
    }
    struct timeline *t = r->timeline;
    if (program == r->program) {
        if (name.length && t->op_count) {
            t->ops[t->op_count - 1].name = timeline_text(t, name);
            t->units[t->unit_count - 1].name = t->ops[t->op_count - 1].name;
        }
        return;
    }
    if (!read_us(cell_of(r, csv, COLUMN_START), &start) || !read_us(cell_of(r, csv, COLUMN_END), &end) ||
        end < start)
        return;
    r->program = program;
    add_program(r, csv, start, end);
}

/* The header; as csv_next. The reader is to be closed, whatever is returned. */
static int open_rows(struct csv_reader *csv, const char *path, char separator, struct error *err)
{
    int status = csv_open(csv, path, err);
    if (status)
        return status;
    csv->separator = (uint32_t)separator;
    return csv_next(csv, err);
}

int torq_rows_read(struct timeline *timeline, const char *path, struct error *err)
{
    struct reading r = {.timeline = timeline, .begun_ns = UINT64_MAX, .program = -1};
    struct csv_reader csv;
    *timeline = (struct timeline){.clock_mhz = 1000};
    int status = open_rows(&csv, path, ',', err);
    if (status == 1 && slice_has(csv.cells[0], ";")) {
        csv_close(&csv);
        status = open_rows(&csv, path, ';', err);
    }
    if (status == 1 && !find_columns(&r, &csv, 0) && !find_columns(&r, &csv, 1))
        status =
            error_set(err, EINVAL, "%s:1: not an annotated profile: columns for times are missing", path);
    r.lane = timeline_lane(timeline, "programs", TIMELINE_PROGRAM, 0);
    while (status == 1 && !timeline->failed && (status = csv_next(&csv, err)) == 1) {
        if (r.is_by_program)
            read_program(&r, &csv);
        else
            read_action(&r, &csv);
    }
    csv_close(&csv);
    if (r.bad_rows)
        timeline_add_notice(timeline, TIMELINE_NONE,
                            "%" PRIu64 " row%s of the profile cannot be read (the first in line %" PRIu64 ")",
                            r.bad_rows, r.bad_rows == 1 ? "" : "s", r.first_bad_line);
    return status < 0 ? status : timeline_check(timeline, err);
}
