/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about a trace and their answers, without sockets: the server, tests and fuzzers call the same functions.
 *
 * A question is the target of a request, decoded: a path and parameters. An answer is JSON, or the binary rows that
 * docs/http-api.md describes. All times in questions and answers are ns since the start of the trace. */
#ifndef OPSCOPE_SERVE_QUERY_QUERY_H
#define OPSCOPE_SERVE_QUERY_QUERY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/filter.h"
#include "base/bytes.h"
#include "base/error.h"
#include "serve/query/trace.h"
#include "text/json/writer.h"

#define QUERY_REFUSED EDOM     /* the code of errors for which the question is to blame, not the trace */
#define QUERY_TARGET_MAX 8192u /* bytes of a request's target */
#define QUERY_PARAMETERS_MAX 32u
#define QUERY_ANSWER_MAX ((size_t)64 << 20) /* bytes; an answer that would be longer is an error */

struct query { /* its texts are in `text`: it cannot be copied */
    const char *path;
    struct query_parameter {
        const char *name, *value;
    } parameters[QUERY_PARAMETERS_MAX];
    size_t parameter_count;
    char text[QUERY_TARGET_MAX + 1];
};

/* "/api/t/0/zones?top=12&q=a%20b". -QUERY_REFUSED: nobody can have meant this (a broken %-escape, a NUL,
 * too many parameters); -E2BIG: too long. */
int query_parse(struct query *q, const char *target, size_t length, struct error *err);

/* NULL when it was not given; "" when it was given without a value. */
const char *query_text(const struct query *q, const char *name);
/* Leaves *value as it is when the parameter was not given. A number that is too large or negative becomes the nearest
 * that is allowed: 0, or `largest`. -QUERY_REFUSED: not a number. */
int query_unsigned(const struct query *q, const char *name, uint64_t largest, uint64_t *value,
                   struct error *err);
int query_real(const struct query *q, const char *name, double smallest, double largest, double *value,
               struct error *err);
/* The index of the value among NULL-terminated words; *index stays when it was not given. */
int query_choice(const struct query *q, const char *name, const char *const *words, unsigned *index,
                 struct error *err);

/* `from` and `to`, cut to the trace, as host times; the whole trace by default. from > to is an error. */
struct query_window {
    uint64_t since_ns, until_ns;
    bool is_whole;
};
int query_window(const struct query *q, const struct serve_trace *st, struct query_window *window,
                 struct error *err);
/* The same of other parameters. */
int query_window_of(const struct query *q, const struct serve_trace *st, const char *from_name,
                    const char *to_name, struct query_window *window, struct error *err);
/* For the analyses; to be freed in any case. */
int query_filter(const struct serve_trace *st, const struct query_window *window, struct trace_filter *filter,
                 struct error *err);
/* `px`, 1 to 16384; 1000 where it was not given. */
int query_pixels(const struct query *q, uint32_t *pixels, struct error *err);
/* The track that `track` names; required. -ENOENT: there is none. */
int query_track(const struct query *q, const struct serve_trace *st, uint32_t *track, struct error *err);

/* JSON goes to the end of `out`: struct json j = query_json(out); ... return query_json_end(&j, out, err); */
struct json query_json(struct bytes *out);
int query_json_end(struct json *j, struct bytes *out, struct error *err);

/* A question: 0, or -QUERY_REFUSED (a parameter), -ENOENT (there is no such thing), or what reading the trace gave.
 * What is in `out` then is not an answer. */
typedef int query_function(struct serve_trace *st, const struct query *q, struct bytes *out,
                           struct error *err);

/* Likewise, of two traces, which may be one. */
typedef int query_two_function(struct serve_trace *a, struct serve_trace *b, const struct query *q,
                               struct bytes *out, struct error *err);

struct query_entry {
    const char *name; /* /api/t/N/NAME */
    query_function *answer;
    bool is_binary;
    query_two_function *answer_two; /* of /api/NAME?a&b; then there is no `answer` */
    bool is_long;                   /* reads a large part of the trace: answered beside the drawing */
    bool is_soon;                   /* of those: what a page needs to go on while others count */
};
extern const struct query_entry query_entries[];
extern const size_t query_entry_count;
extern const struct query_entry
    query_two_entries[]; /* those of two traces, which are not part of the others */
extern const size_t query_two_entry_count;
const struct query_entry *query_find(const char *name);     /* NULL */
const struct query_entry *query_find_two(const char *path); /* "/api/compare"; NULL */

/* One file each, or one for a few that belong together. */
query_function query_trace, query_names, query_rows, query_zone, query_run, query_points, query_counter,
    query_memory, query_allocations, query_zones, query_find_zones, query_range, query_flame, query_search,
    query_overview, query_gaps, query_ops, query_roofline, query_steps, query_op, query_overhead,
    query_report, query_source, query_launched, query_export;

/* The member "source": lines around the place of a name; null where they cannot be read, or were changed since. */
void query_put_source(struct json *j, const struct serve_trace *st, const struct trace_name *name);

/* What query_rows answers of the whole trace, in at most `most` rows: every zone and run by itself where there are no
 * more (but for zones of a few ns in a trace of many seconds, which the reader sums up), else those shorter than 2^tile
 * ns summed up. Where there are too many tracks even for that, there are no rows and the tile is QUERY_NO_ROWS. */
#define QUERY_NO_ROWS 64u
int query_all_rows(struct serve_trace *st, uint64_t most, unsigned *tile, struct bytes *out,
                   struct error *err);

/* What query_op answers of each of the costliest ops, with its name, as an array; *is_all: of every one. */
struct query_ops_room {
    size_t ops, bytes; /* at most, nearly */
    uint64_t runs;     /* of each */
};
int query_all_ops(struct serve_trace *st, const struct query *q, const struct query_ops_room *room,
                  bool *is_all, struct bytes *out, struct error *err);

/* What query_source answers of the places that tables of the trace's own window name, as an array: what launched ops,
 * then zones by their own time. Places of which nothing can be read are not in it; *is_all: all places fitted. */
int query_all_sources(struct serve_trace *st, bool *is_all, struct bytes *out, struct error *err);

/* The window that the overview chooses where none is asked for. It is whole where nothing is left out. */
int serve_trace_own_window(struct serve_trace *st, struct query_window *window, struct error *err);

query_two_function query_compare, query_overlay;
/* What query_compare answers, from figures that are there: of two runs, or of an estimate and a run. */
struct diff;
struct compare;
struct compare_made {
    const struct diff *diff; /* or */
    const struct compare *pairs;
    unsigned only;     /* of the diff: 0 all, 1 ops, 2 zones */
    const char *notes; /* lines */
};
int query_compare_made(struct serve_trace *a, struct serve_trace *b, const struct compare_made *made,
                       struct bytes *out, struct error *err);

struct overview;
/* The overview of a window; it is kept until that of another window takes its place. */
int serve_trace_overview(struct serve_trace *st, const struct query_window *window, bool include_warm_up,
                         const struct overview **overview, struct error *err);
/* The same of `from`, `to` and `warmup`. */
int query_overview_asked(struct serve_trace *st, const struct query *q, const struct overview **overview,
                         struct error *err);
/* From where a call was made ("train.py:9"), as the ops of a kept overview know it; and where that is in a library, the
 * place in somebody's own code that led there. NULL: not known. */
int serve_trace_location(struct serve_trace *st, uint32_t process, uint64_t call, const char **location,
                         const char **own, struct error *err);

/* The member "counted" of a run: what the tables of ops say of it. */
void serve_trace_put_counted(struct serve_trace *st, uint32_t track, unsigned lane, const struct node *run,
                             struct json *j);

/* Statistics by name of a window, in st->stats; the last ones are kept. */
int serve_trace_stats(struct serve_trace *st, const struct query_window *window, struct error *err);
/* Those of the last ones, by their own time; the caller frees the list. NULL: no memory. */
const struct zone_stats_row **serve_trace_rows_by_self(const struct serve_trace *st, size_t *count);

#endif
