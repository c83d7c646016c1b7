/* SPDX-License-Identifier: Apache-2.0 */
/* What a command shows, put together from facts, tables and notes, and written as text, CSV or JSON.
 *
 *     terminal   facts as "title  value" lines, tables below their headings, notes as lines
 *     CSV        the tables alone (a command gives one); notes are kept in `notes` for the caller
 *     JSON       one object: {"table": NAME, facts..., "rows": [...], "notes": [...]}
 *
 * The order of the calls is the order of the output. */
#ifndef OPSCOPE_PRESENT_DOCUMENT_H
#define OPSCOPE_PRESENT_DOCUMENT_H

#include "present/output.h"
#include "present/table.h"

struct report {
    struct output *output;
    struct json json;   /* OUTPUT_JSON: further members may be written between the calls below */
    struct bytes text;  /* OUTPUT_TERMINAL, OUTPUT_CSV */
    struct bytes notes; /* lines */
    struct table_look look;
    bool is_inside; /* a table whose first rows went out */
    bool failed;
};

void report_begin(struct report *report, struct output *output, const char *name);
bool report_is_json(const struct report *report);

/* JSON inside of other JSON: its members go to the object that is open in `json`, which is the caller's again when it
 * has ended; the output names the format alone. */
void report_begin_members(struct report *report, struct output *output, struct json *json);
int report_end_members(struct report *report, int status, struct json *json, struct error *err);

/* Facts. `title` NULL: JSON only. */
void report_text(struct report *report, const char *key, const char *title, const char *text);
void report_number(struct report *report, const char *key, const char *title, enum table_type type,
                   uint64_t value);
void report_bool(struct report *report, const char *key, const char *title, bool value);

void report_heading(struct report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A table as a JSON member `key`. */
void report_table(struct report *report, const char *key, const struct table *table);
/* For tables of any length, after each row: CSV and JSON go out a thousand rows at a time, and the table is empty
 * again. Its last rows are report_table's, as the whole of it is for a terminal. */
void report_table_part(struct report *report, const char *key, struct table *table);
/* A line of text for people, and an element of "notes" in JSON. */
void report_note(struct report *report, enum table_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes what is left and frees everything; the output is left to its owner. */
int report_finish(struct report *report, struct error *err);
void report_free(struct report *report);
/* The end of a report and its output: written unless `status` says that something failed, freed and closed. Notes, for
 * which CSV has no place, go to `notes` then; NULL: nowhere. */
int report_close(struct report *report, int status, FILE *notes, struct error *err);

#endif
