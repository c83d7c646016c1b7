/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that read a large part of a trace, answered by a thread of its own, one after the other, so that drawing
 * never waits for them. It has its own readers of the traces: nothing of a trace is shared with the loop. There are
 * two: what a page needs to go on (its tracks, names) does not wait for what counts all zones. */
#ifndef OPSCOPE_SERVE_ANSWERER_H
#define OPSCOPE_SERVE_ANSWERER_H

#include "serve/query/query.h"

struct answerer;
enum answerer_kind { ANSWERER_COUNTS, ANSWERER_SOON, ANSWERERS };

struct job {
    struct job *next;
    const struct query_entry *entry; /* NULL: only closes the trace */
    struct serve_trace *trace;
    struct serve_trace *other; /* of a question about two; NULL */
    uint64_t ids[2];           /* of the two */
    bool is_salvaged;          /* the trace was opened for what is whole of it */
    bool is_second_try;        /* after a block turned out to be damaged */
    bool closes_trace;         /* nobody asks for it any more */
    char *target;              /* of the request */
    size_t target_length;
    uint64_t connection; /* whose answer it is */
    uint64_t began_ns;
    bool is_cancelled; /* nobody waits for it any more; read and written atomically */
    /* the answer */
    int status; /* as the query gave it */
    struct bytes out;
    struct error err;
};

int answerer_start(struct answerer **out, struct error *err);
/* Cancels the job that is being answered and waits for its end; the others are dropped. */
void answerer_stop(struct answerer *answerer);
/* Takes the job, which comes back from answerer_take. */
void answerer_give(struct answerer *answerer, struct job *job);
/* The next job that is done; NULL. The caller frees it. */
struct job *answerer_take(struct answerer *answerer);
/* How far the question is that is being answered; false: none is. Some read the zones more than once. */
struct answerer_progress {
    const char *question;
    uint64_t trace, zones_read, zones;
};
bool answerer_progress(struct answerer *answerer, struct answerer_progress *progress);
/* Readable when a job is done. */
int answerer_fd(const struct answerer *answerer);
void job_free(struct job *job);

#endif
