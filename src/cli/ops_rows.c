/* SPDX-License-Identifier: Apache-2.0 */
/* CSV is written row by row as the vendor's tool writes it: CRLF, quotes only where they must be, cells as they
 * are. The terminal and JSON get a table of typed cells. */
#include "cli/ops_rows.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/count_of.h"
#include "base/text_copy.h"
#include "import/op_check.h"
#include "import/ops_csv/layout.h"
#include "import/op_rows.h"
#include "import/open.h"
#include "present/format.h"
#include "present/document.h"
#include "text/csv/writer.h"
#include "text/suggest.h"
#include "text/utf8.h"

#define WRITE_SIZE ((size_t)256 << 10)

struct chosen {
    char *header;        /* what the column is called in the output */
    char *name;          /* in the source */
    char *key;           /* in JSON */
    size_t column;       /* of the source */
    bool is_padded_only; /* "64[50]" is written as 64 */
    enum op_check check; /* of tables that others wrote */
};

struct ops_output {
    const struct command *command;
    const struct ops_options *options;
    struct op_rows *rows;
    struct chosen *columns;
    size_t column_count, column_capacity;
    size_t code; /* which cell is the op's name */
    struct output output;
    uint64_t shown, matched;
    bool is_foreign; /* a table that others wrote: its cells are checked */
};

static bool choose(struct ops_output *o, size_t column, const char *header, size_t header_length,
                   bool is_padded_only)
{
    if (!array_reserve(&o->columns, &o->column_capacity, o->column_count + 1, sizeof o->columns[0]))
        return false;
    struct chosen *chosen = &o->columns[o->column_count];
    *chosen = (struct chosen){.header = text_copy(header, header_length),
                              .name = strdup(op_rows_column_name(o->rows, column)),
                              .column = column,
                              .check = o->is_foreign ? op_check_of(op_rows_column_name(o->rows, column))
                                                     : OP_CHECK_NOTHING,
                              .is_padded_only = is_padded_only};
    o->column_count++;
    return chosen->header && chosen->name;
}

enum column_set { SET_ALL, SET_TT, SET_V1, SET_COMPACT };

static bool choose_set(struct ops_output *o, enum column_set set)
{
    struct bytes header = {0};
    bool is_fine = true;
    for (size_t i = 0; is_fine && i < op_rows_column_count(o->rows); i++) {
        const char *name = op_rows_column_name(o->rows, i);
        size_t length = strlen(name);
        bool is_padded_only = false, is_in = true;
        bytes_clear(&header);
        if (set == SET_V1)
            is_in = op_column_v1_name(name, length, &header, &is_padded_only);
        else
            bytes_append(&header, name, length);
        if (set == SET_TT)
            is_in = op_column_find(name, length) != OP_COLUMN_ID_NOTE;
        if (set == SET_COMPACT)
            is_in = op_column_is_compact(name, length);
        is_fine = !header.failed &&
                  (!is_in || choose(o, i, (const char *)header.data, header.length, is_padded_only));
    }
    bytes_free(&header);
    return is_fine;
}

/* Names with commas between. The nearest name is offered for one that the source does not have. */
static int choose_names(struct ops_output *o, const char *list, struct error *err)
{
    size_t count = op_rows_column_count(o->rows);
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ",");
        char *name = text_copy(at, length);
        if (!name)
            return error_set_errno(err, ENOMEM, "--columns");
        if (op_rows_find_column(o->rows, name) == SIZE_MAX) {
            const char **words = calloc(count + 1, sizeof words[0]);
            for (size_t i = 0; words && i < count; i++)
                words[i] = op_rows_column_name(o->rows, i);
            const char *near = words ? suggest_word(name, words, count) : NULL;
            error_set(err, EINVAL, "--columns: %s has no column '%s'%s%s%s", op_rows_path(o->rows), name,
                      near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
            free(words);
            free(name);
            return -EINVAL;
        }
        bool is_fine = choose(o, op_rows_find_column(o->rows, name), name, length, false);
        free(name);
        if (!is_fine)
            return error_set_errno(err, ENOMEM, "--columns");
        at += length + (at[length] == ',');
    }
    return o->column_count ? 0 : error_set(err, EINVAL, "--columns: no names");
}

static int choose_columns(struct ops_output *o, struct error *err)
{
    static const struct {
        const char *word;
        enum column_set set;
    } sets[] = {{"all", SET_ALL}, {"tt", SET_TT}, {"v1", SET_V1}, {"compact", SET_COMPACT}};
    const char *asked = o->options->columns;
    if (!asked)
        asked = o->output.format == OUTPUT_TERMINAL ? "compact" : "all";
    for (size_t i = 0; i < COUNT_OF(sets); i++) {
        if (strcmp(asked, sets[i].word) == 0)
            return choose_set(o, sets[i].set) ? 0 : error_set_errno(err, ENOMEM, "--columns");
    }
    return choose_names(o, asked, err);
}

static bool wants(const struct ops_output *o, struct slice code)
{
    const struct text_list *names = &o->options->filter.names;
    char text[512];
    if (names->count == 0)
        return true;
    size_t length = code.length < sizeof text - 1 ? code.length : sizeof text - 1;
    if (length)
        memcpy(text, code.data, length);
    text[length] = 0;
    for (size_t i = 0; i < names->count; i++) {
        if (fnmatch(names->items[i], text, 0) == 0)
            return true;
    }
    return false;
}

/* Tells of cells that are not what their column should hold; they are shown as they are all the same. */
static void check_row(struct ops_output *o, const struct op_row *row)
{
    for (size_t i = 0; i < o->column_count; i++) {
        struct chosen *chosen = &o->columns[i];
        struct slice cell = row->cells[chosen->column];
        const char *wrong = chosen->check == OP_CHECK_NOTHING ? NULL : op_check_cell(chosen->check, cell);
        if (wrong)
            op_rows_add_notice(o->rows, OP_ROWS_NOTICE_READER + (uint32_t)i, row->line,
                               "line %llu: column '%s': '%.*s%s' %s", (unsigned long long)row->line,
                               chosen->name, (int)(cell.length < 40 ? cell.length : 40),
                               cell.length ? cell.data : "", cell.length > 40 ? "..." : "", wrong);
    }
}

/* The next row that is wanted: 1, 0 at the end, negative when reading failed. */
static int next_row(struct ops_output *o, struct op_row *row, struct error *err)
{
    int status;
    while ((status = op_rows_next(o->rows, row, err)) > 0) {
        if (!wants(o, o->code < row->cell_count ? row->cells[o->code] : (struct slice){0}))
            continue;
        o->matched++;
        if (o->options->limit && o->shown >= o->options->limit)
            continue;
        o->shown++;
        if (o->is_foreign)
            check_row(o, row);
        return 1;
    }
    return status;
}

static struct slice shown_cell(const struct ops_output *o, const struct op_row *row, size_t i)
{
    struct slice cell = row->cells[o->columns[i].column];
    const char *bracket =
        o->columns[i].is_padded_only && cell.length ? memchr(cell.data, '[', cell.length) : NULL;
    if (bracket)
        cell.length = (size_t)(bracket - cell.data);
    return cell;
}

static int flush(struct bytes *text, FILE *stream, struct error *err)
{
    bool is_fine = !text->failed && fwrite(text->data, 1, text->length, stream) == text->length;
    int code = text->failed ? ENOMEM : errno;
    bytes_clear(text);
    if (is_fine || (stream == stdout && code == EPIPE))
        return is_fine ? 0 : 1;
    return error_set_errno(err, code ? code : EIO, "cannot write the table");
}

static int write_csv(struct ops_output *o, struct error *err)
{
    struct bytes text = {0};
    struct op_row row;
    int status = 0, written = 0;
    for (size_t i = 0; i < o->column_count; i++) {
        if (i)
            bytes_append_u8(&text, ',');
        csv_append_exact(&text, o->columns[i].header, strlen(o->columns[i].header));
    }
    bytes_append_text(&text, "\r\n");
    while (written == 0 && (status = next_row(o, &row, err)) > 0) {
        for (size_t i = 0; i < o->column_count; i++) {
            struct slice cell = shown_cell(o, &row, i);
            if (i)
                bytes_append_u8(&text, ',');
            csv_append_exact(&text, cell.data, cell.length);
        }
        bytes_append_text(&text, "\r\n");
        if (text.length >= WRITE_SIZE)
            written = flush(&text, o->output.stream, err);
    }
    if (status >= 0 && written == 0)
        written = flush(&text, o->output.stream, err);
    bytes_free(&text);
    return status < 0 ? status : written < 0 ? written : 0;
}

static enum table_type type_of(const char *name, size_t length)
{
    enum op_column_kind kind = op_column_kind_of(name, length);
    enum op_fixed_column fixed = op_column_find(name, length);
    if (kind == OP_COLUMN_TEXT)
        return TABLE_TEXT;
    if (length > 5 && strcmp(name + length - 5, " [ns]") == 0)
        return TABLE_TIME;
    if (kind == OP_COLUMN_REAL)
        return TABLE_REAL;
    return fixed == OP_COLUMN_ID_CORE_COUNT || fixed == OP_FIXED_COLUMN_COUNT ? TABLE_INTEGER
                                                                              : TABLE_IDENTIFIER;
}

/* Titles for the terminal; other columns are shown under their names. */
static const struct {
    enum op_fixed_column column;
    const char *title;
    unsigned drop;
} titles[] = {
    {OP_COLUMN_ID_OP_CODE, "op", 0},           {OP_COLUMN_ID_CALL, "call", 6},
    {OP_COLUMN_ID_DEVICE_ID, "device", 5},     {OP_COLUMN_ID_MATH_FIDELITY, "fidelity", 8},
    {OP_COLUMN_ID_CORE_COUNT, "cores", 2},     {OP_COLUMN_ID_HOST_DURATION, "host", 4},
    {OP_COLUMN_ID_OP_TO_OP, "gap", 1},         {OP_COLUMN_ID_FW, "firmware", 9},
    {OP_COLUMN_ID_KERNEL, "kernel", 0},        {OP_COLUMN_ID_TRACE_ID, "trace", 10},
    {OP_COLUMN_ID_TRACE_SESSION, "replay", 7}, {OP_COLUMN_ID_PM_IDEAL, "model", 11},
    {OP_COLUMN_ID_PM_FPU_UTIL, "fpu %", 12},   {OP_COLUMN_ID_NOTE, "note", 3},
};

/* "DEVICE KERNEL DURATION [ns]" is "device_kernel_duration" (times get their unit from the table), "DRAM BW UTIL (%)"
 * is "dram_bw_util_percent". */
static char *key_of(const char *header, bool is_time)
{
    struct bytes key = {0};
    for (const char *at = header; *at;) {
        const char *word = strncmp(at, "(%)", 3) == 0   ? "percent"
                           : strncmp(at, "[B]", 3) == 0 ? "bytes"
                                                        : NULL;
        bool is_sign = !isalnum((unsigned char)*at), is_end = key.length && key.data[key.length - 1] == '_';
        if (is_time && strcmp(at, "[ns]") == 0)
            break;
        if (word)
            bytes_append_text(&key, word);
        else if (!is_sign)
            bytes_append_u8(&key, (uint8_t)tolower((unsigned char)*at));
        else if (!is_end && key.length)
            bytes_append_u8(&key, '_');
        at += word ? 3 : 1;
    }
    while (key.length && key.data[key.length - 1] == '_')
        key.length--;
    char *copy = key.failed ? NULL : text_copy((const char *)key.data, key.length);
    bytes_free(&key);
    return copy;
}

static void describe_column(struct chosen *chosen, struct table_column *column)
{
    size_t length = strlen(chosen->name);
    enum op_fixed_column fixed = op_column_find(chosen->name, length);
    *column =
        (struct table_column){.title = chosen->header, .type = type_of(chosen->name, length), .decimals = 3};
    column->shrink = column->type == TABLE_TEXT ? 16 : 0;
    chosen->key = key_of(chosen->header, column->type == TABLE_TIME);
    column->key = chosen->key ? chosen->key : chosen->header;
    for (size_t i = 0; i < COUNT_OF(titles); i++) {
        if (titles[i].column == fixed) {
            column->title = titles[i].title;
            column->drop = titles[i].drop;
        }
    }
}

/* A number where the column has numbers and the cell is one; else the text. Empty cells are missing. */
static void set_cell(struct table *table, size_t column, enum table_type type, struct slice cell)
{
    char buffer[48], *end = NULL;
    if (cell.length == 0)
        return;
    if (type == TABLE_TEXT || cell.length >= sizeof buffer) {
        table_set_text_length(table, column, cell.data, cell.length);
        return;
    }
    memcpy(buffer, cell.data, cell.length);
    buffer[cell.length] = 0;
    bool is_negative = buffer[0] == '-';
    errno = 0;
    if (type == TABLE_REAL) {
        double value = strtod(buffer, &end);
        if (end != buffer && *end == 0)
            table_set_real(table, column, value);
    } else if (is_negative) {
        long long value = strtoll(buffer, &end, 10);
        if (end != buffer && *end == 0 && errno == 0)
            table_set_integer(table, column, value);
    } else {
        unsigned long long value = strtoull(buffer, &end, 10);
        if (end != buffer && *end == 0 && errno == 0)
            table_set_unsigned(table, column, value);
    }
    if (end == buffer || *end != 0 || errno != 0)
        table_set_text_length(table, column, cell.data, cell.length);
}

static void add_notices(struct ops_output *o, struct report *report)
{
    struct bytes text = {0}, shown = {0};
    for (size_t i = 0; i < op_rows_notice_count(o->rows); i++) {
        bytes_clear(&text);
        bytes_clear(&shown);
        op_rows_append_notice(o->rows, op_rows_notice(o->rows, i), &text);
        if (report) {
            report_note(report, TABLE_WARN, "%s", bytes_text(&text));
        } else {
            utf8_append_visible(&shown, bytes_text(&text), text.length);
            fprintf(stderr, "opscope ops: %.*s\n", shown.failed ? 0 : (int)shown.length,
                    (const char *)shown.data);
        }
    }
    bytes_free(&text);
    bytes_free(&shown);
}

static int write_table(struct ops_output *o, struct error *err)
{
    struct table_column *columns = calloc(o->column_count ? o->column_count : 1, sizeof columns[0]);
    struct table table;
    struct report report;
    struct op_row row;
    struct number_text shown, matched;
    int status;
    if (!columns)
        return error_set_errno(err, ENOMEM, "%zu columns", o->column_count);
    for (size_t i = 0; i < o->column_count; i++)
        describe_column(&o->columns[i], &columns[i]);
    table_init(&table, "ops", columns, o->column_count);
    while ((status = next_row(o, &row, err)) > 0) {
        table_add_row(&table);
        for (size_t i = 0; i < o->column_count; i++)
            set_cell(&table, i, columns[i].type, shown_cell(o, &row, i));
    }
    report_begin(&report, &o->output, "ops");
    report_text(&report, "file", NULL, op_rows_path(o->rows));
    report_text(&report, "source", NULL, op_rows_kind(o->rows));
    report_number(&report, "ops", NULL, TABLE_INTEGER, o->matched);
    report_table(&report, "rows", &table);
    if (o->shown < o->matched)
        report_note(&report, TABLE_DIM, "the first %s of %s", format_count(&shown, o->shown),
                    format_count(&matched, o->matched));
    add_notices(o, &report);
    int result = status < 0 ? status : report_finish(&report, err);
    report_free(&report);
    table_free(&table);
    free(columns);
    return result;
}

static int open_rows(struct ops_output *o, const char *path, struct trace *opened, struct error *err)
{
    struct import_options options = {.source = (enum import_device_source)o->options->device_source,
                                     .is_device_only = o->options->device_only,
                                     .recorded = o->options->trace,
                                     .opened = opened};
    return import_rows_open(&o->rows, path, &options, err);
}

int ops_rows_run(const struct command *command, const char *path, struct trace *opened,
                 const struct ops_options *options)
{
    struct ops_output o = {.command = command, .options = options};
    struct error err = {0};
    int result = open_rows(&o, path, opened, &err);
    if (result == 0)
        result = output_open(&o.output, &options->output, &err);
    o.is_foreign = result == 0 && strcmp(op_rows_kind(o.rows), "ops CSV") == 0;
    if (result == 0)
        result = choose_columns(&o, &err);
    if (result == 0)
        o.code = op_rows_find_column(o.rows, op_fixed_columns[OP_COLUMN_ID_OP_CODE].name);
    bool is_csv = o.output.format == OUTPUT_CSV;
    if (result == 0)
        result = is_csv ? write_csv(&o, &err) : write_table(&o, &err);
    if (result == 0)
        result = output_finish(&o.output, &err);
    else if (o.output.stream)
        output_abandon(&o.output);
    if (result == 0 && is_csv)
        add_notices(&o, NULL);
    for (size_t i = 0; i < o.column_count; i++) {
        free(o.columns[i].header);
        free(o.columns[i].name);
        free(o.columns[i].key);
    }
    free(o.columns);
    op_rows_close(o.rows);
    return result == 0 ? EXIT_OK : command_fail(command, &err);
}
