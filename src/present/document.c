/* SPDX-License-Identifier: Apache-2.0 */
#include "present/document.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "present/format.h"
#include "text/utf8.h"

#define FACT_COLUMN 14

static bool is_utf8_wanted(void)
{
    const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        const char *value = getenv(variables[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

void report_begin(struct report *report, struct output *output, const char *name)
{
    *report = (struct report){.output = output};
    report->look = (struct table_look){output->width, output->is_coloured, is_utf8_wanted()};
    if (report_is_json(report)) {
        report->json.stream = output->stream;
        json_object(&report->json, JSON_LINES);
        json_member_text(&report->json, "table", name);
    }
}

bool report_is_json(const struct report *report)
{
    return report->output->format == OUTPUT_JSON;
}

static bool is_terminal(const struct report *report)
{
    return report->output->format == OUTPUT_TERMINAL;
}

static void fact(struct report *report, const char *title, const char *text)
{
    const char *begin = report->look.is_coloured ? table_style_begin(TABLE_BOLD) : "";
    bytes_append_format(&report->text, "%s%-*s %s", begin, FACT_COLUMN - 1, title, *begin ? "\033[0m" : "");
    utf8_append_visible(&report->text, text, strlen(text));
    bytes_append_text(&report->text, "\n");
}

void report_text(struct report *report, const char *key, const char *title, const char *text)
{
    if (report_is_json(report))
        json_member_text(&report->json, key, text);
    else if (is_terminal(report) && title)
        fact(report, title, text ? text : "-");
}

void report_number(struct report *report, const char *key, const char *title, enum table_type type,
                   uint64_t value)
{
    struct table_column column = {.key = key, .type = type};
    struct table_cell cell = {.kind = TABLE_CELL_INTEGER, .magnitude = value};
    const char *unit = table_column_unit(&column);
    if (report_is_json(report)) {
        char name[80];
        snprintf(name, sizeof name, "%s%s%s", key, *unit ? "_" : "", unit);
        json_member_unsigned(&report->json, name, value);
    } else if (is_terminal(report) && title) {
        struct bytes text = {0};
        table_append_cell(NULL, &column, &cell, &text);
        fact(report, title, text.failed ? "?" : bytes_text(&text));
        bytes_free(&text);
    }
}

void report_bool(struct report *report, const char *key, const char *title, bool value)
{
    if (report_is_json(report))
        json_member_bool(&report->json, key, value);
    else if (is_terminal(report) && title)
        fact(report, title, value ? "yes" : "no");
}

void report_heading(struct report *report, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    if (!is_terminal(report))
        return;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) {
        report->failed = true;
        return;
    }
    if (report->text.length > 0)
        bytes_append_text(&report->text, "\n");
    if (report->look.is_coloured)
        bytes_append_text(&report->text, table_style_begin(TABLE_BOLD));
    utf8_append_visible(&report->text, text, (size_t)length);
    bytes_append_text(&report->text, report->look.is_coloured ? "\033[0m\n" : "\n");
    free(text);
}

#define PART_ROWS 1024u

static void append_csv(struct report *report, const struct table *table)
{
    if (!report->is_inside)
        table_append_csv_header(table, &report->text);
    table_append_csv_rows(table, &report->text);
}

/* The rows go into the array of `key`, which is left open. */
static void write_objects(struct report *report, const char *key, const struct table *table)
{
    if (!report->is_inside) {
        json_key(&report->json, key);
        json_array(&report->json, JSON_LINES);
    }
    table_write_json_objects(table, &report->json);
}

void report_table_part(struct report *report, const char *key, struct table *table)
{
    if (is_terminal(report) || table->row_count < PART_ROWS)
        return;
    report->failed = report->failed || table->failed;
    if (report_is_json(report)) {
        write_objects(report, key, table);
    } else {
        append_csv(report, table);
        report->failed = report->failed || report->text.failed;
        if (!report->failed)
            fwrite(report->text.data, 1, report->text.length, report->output->stream);
        bytes_clear(&report->text);
    }
    report->is_inside = true;
    table_clear(table);
}

void report_table(struct report *report, const char *key, const struct table *table)
{
    report->failed = report->failed || table->failed;
    switch (report->output->format) {
    case OUTPUT_JSON:
        write_objects(report, key, table);
        json_end(&report->json);
        break;
    case OUTPUT_CSV:
        append_csv(report, table);
        break;
    case OUTPUT_TERMINAL:
        table_append_terminal(table, &report->look, &report->text);
        break;
    }
    report->is_inside = false;
}

void report_note(struct report *report, enum table_style style, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0) {
        report->failed = true;
        return;
    }
    if (is_terminal(report)) {
        const char *begin = report->look.is_coloured ? table_style_begin(style) : "";
        bytes_append_text(&report->text, begin);
        utf8_append_visible(&report->text, text, (size_t)length);
        bytes_append_text(&report->text, *begin ? "\033[0m\n" : "\n");
    } else {
        if (report_is_json(report))
            bytes_append(&report->notes, text, (size_t)length); /* the JSON writer has its own way */
        else
            utf8_append_visible(&report->notes, text, (size_t)length);
        bytes_append_text(&report->notes, "\n");
    }
    free(text);
}

static void write_json_notes(struct report *report)
{
    const char *at = bytes_text(&report->notes);
    size_t left = report->notes.length;
    json_key(&report->json, "notes");
    json_array(&report->json, JSON_LINES);
    while (left > 0) {
        const char *end = memchr(at, '\n', left);
        size_t length = end ? (size_t)(end - at) : left;
        json_text_length(&report->json, at, length);
        at += length + 1;
        left -= length + 1 < left ? length + 1 : left;
    }
    json_end(&report->json);
}

int report_finish(struct report *report, struct error *err)
{
    int result = 0;
    if (report_is_json(report)) {
        write_json_notes(report);
        json_end(&report->json);
        result = json_finish(&report->json);
    } else if (report->text.length > 0) {
        fwrite(report->text.data, 1, report->text.length, report->output->stream);
    }
    if (report->failed || report->text.failed || report->notes.failed || result == -ENOMEM)
        return error_no_memory(err, "the output");
    return 0; /* what the stream says is output_finish's business */
}

void report_free(struct report *report)
{
    bytes_free(&report->json.buffer);
    bytes_free(&report->text);
    bytes_free(&report->notes);
}

void report_begin_members(struct report *report, struct output *output, struct json *json)
{
    *report = (struct report){.output = output, .json = *json};
}

int report_end_members(struct report *report, int status, struct json *json, struct error *err)
{
    write_json_notes(report);
    *json = report->json;
    report->json.buffer = (struct bytes){0};
    if (!status && (report->failed || report->notes.failed))
        status = error_no_memory(err, "the output");
    report_free(report);
    return status;
}

int report_close(struct report *report, int status, FILE *notes, struct error *err)
{
    struct output *output = report->output;
    if (status == 0)
        status = report_finish(report, err);
    bool has_notes = output->format == OUTPUT_CSV && report->notes.length > 0;
    status = output_close(output, status, err);
    if (status == 0 && has_notes && notes)
        fwrite(report->notes.data, 1, report->notes.length, notes);
    report_free(report);
    return status;
}
