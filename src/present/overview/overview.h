/* SPDX-License-Identifier: Apache-2.0 */
/* The overview of a trace in words: a sentence, labels, the JSON that scripts and the page read, and one screen for a
 * terminal. All three have the same figures. */
#ifndef OPSCOPE_PRESENT_OVERVIEW_OVERVIEW_H
#define OPSCOPE_PRESENT_OVERVIEW_OVERVIEW_H

#include "analyze/overview/overview.h"
#include "analyze/overview/steps.h"
#include "base/bytes.h"
#include "base/slice.h"
#include "present/document.h"
#include "text/json/writer.h"

/* --- words.c --- */

struct phrase {        /* of the sentence */
    size_t begin, end; /* in sentence.text */
    bool is_strong;
    const char *meaning; /* "work", "gap", "wait", "loss"; NULL */
};

#define SENTENCE_PHRASES 16u
struct sentence {
    struct bytes text;
    struct phrase phrases[SENTENCE_PHRASES];
    size_t count;
};

void overview_sentence(const struct overview *overview, struct sentence *sentence);
/* One more phrase. */
void sentence_say(struct sentence *s, bool is_strong, const char *meaning, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void sentence_write_json(const struct sentence *sentence, struct json *json); /* an array */
void sentence_free(struct sentence *sentence);

const char *overview_kind_text(const struct overview *overview);
const char *overview_key_text(enum overview_key key);                        /* "idle_host_working" */
const char *overview_label(const struct overview *o, enum overview_key key); /* "idle, host working" */
const char *overview_basis_text(const struct overview *o); /* whose time the parts add up to */
const char *overview_meaning(enum overview_key key);       /* as in a phrase; NULL */
/* 0 to 9: the colour of ops of a class (enum perf_class). */
unsigned overview_colour(unsigned class_);
const char *overview_class_text(enum overview_class class_);
/* "whole trace", "steps 2 to 9", "after the last signpost 'x'". */
void overview_append_source(const struct overview *overview, struct bytes *out);
/* What was left out of the window and why; nothing where nothing was. */
void overview_append_left_out(const struct overview *overview, struct bytes *what, struct bytes *reason);
/* The same as a sentence without its full stop; nothing where nothing was. */
void overview_append_left_out_text(const struct overview *overview, struct bytes *out);
/* A name without what says nothing: template arguments, common namespaces and endings. */
void overview_append_short(struct bytes *out, const char *name);
/* Shares of the parts in tenths of a percent that add up to 1000 (largest remainder). */
void overview_tenths(const struct overview *overview, unsigned tenths[OVERVIEW_PARTS]);

/* --- lists.c --- */

/* What the trace does not hold, and what helps against that. */
struct overview_loss {
    struct bytes text, remedy;
};
struct overview_next {
    struct bytes text, command;
};
#define OVERVIEW_LOSSES 24u
#define OVERVIEW_NEXT 4u
struct overview_lists {
    struct overview_loss losses[OVERVIEW_LOSSES];
    size_t loss_count;
    struct overview_next next[OVERVIEW_NEXT];
    size_t next_count;
};
void overview_lists_make(struct overview_lists *lists, const struct overview *overview);
void overview_lists_free(struct overview_lists *lists);

/* Advice that saves too little to be any is not: how many of the ranked lines are, at most OVERVIEW_ADVICE. */
#define OVERVIEW_ADVICE 5u
size_t overview_advice_count(const struct overview *overview);
/* What a line of advice would save at most, and its share of the run. */
double overview_gain_us(const struct overview *o, size_t i);
double overview_gain_share(const struct overview *o, size_t i);
/* What to do, verb first; and the figures that it rests on. */
void overview_append_advice(const struct overview *overview, size_t i, struct bytes *text,
                            struct bytes *evidence);

/* --- writers --- */

void overview_write_json(const struct overview *overview, struct json *json); /* members of an object */
void overview_write_gap(const struct overview *overview, const struct overview_gap *gap, struct json *json);
/* Members of a place ("kind", "track", "lane", "start", "end", "name"): that of a row of the report's table. */
void overview_write_row_place(const struct overview *overview, uint32_t row, struct json *json);
/* Members "text" (the location), "file", "line" and "function"; null where it names no line, or no zone is there. Where
 * that is in a library, `own` is the place in somebody's own code that led there (NULL: none): it is the one of these
 * members, and "library" has those of the location, else null. */
void overview_write_launch(const struct trace *trace, const char *location, const char *own,
                           struct json *json);
/* "train.py:9"; false where there is no line. */
bool overview_split_place(const char *text, struct slice *file, uint32_t *line);
struct overview_launch {
    uint32_t location, own; /* texts */
    uint64_t count;
    double ns;
};
/* From where these rows of the report's table (NULL: the first `count`) were launched, by device time; `places` has
 * room for one of each. */
size_t overview_add_up_launches(const struct overview *overview, const uint32_t *rows, size_t count,
                                struct overview_launch *places);
/* Members "place_count" and "places": from where these rows of the report's table were launched, by device time. */
#define OVERVIEW_LAUNCHES 8u
int overview_write_launches(const struct overview *overview, const uint32_t *rows, size_t count,
                            struct json *json, struct error *err);
const char *overview_op_name(const struct overview *overview, const struct overview_op *op); /* of a group */
/* Members of the answers about gaps, ops and the roofline (docs/http-api.md). */
void overview_write_gaps(const struct overview *overview, size_t limit, struct json *json);
void overview_write_groups(const struct overview *overview, const struct overview_ops *groups,
                           enum overview_group by, size_t limit, struct json *json);
void overview_write_roofline(const struct overview *overview, struct json *json);
void overview_write_steps(const struct overview *overview, const struct overview_steps *steps,
                          struct json *json);
/* For CSV: the parts as a table. */
void overview_add_parts(const struct overview *overview, struct report *report);
#define OVERVIEW_LINES 24u /* of a usual terminal */
struct overview_look {
    size_t lines;  /* that all of it should fit on */
    size_t rows;   /* of each table; 0: as many as there is room for */
    bool no_facts; /* without the line that says what the trace is: somebody has said it */
};
/* For people. */
void overview_show(const struct overview *overview, struct report *report, const struct overview_look *look);

#endif
