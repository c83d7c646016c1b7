/* SPDX-License-Identifier: Apache-2.0 */
/* The traces that are served, and what became of their files since they were opened. */
#ifndef OPSCOPE_SERVE_TRACES_H
#define OPSCOPE_SERVE_TRACES_H

#include <sys/stat.h>

#include "serve/answerer.h"
#include "serve/query/query.h"

#define TRACES_MAX 1024u

enum trace_state { TRACE_COMPLETE, TRACE_GROWING, TRACE_DAMAGED, TRACE_REPLACED, TRACE_DELETED };

struct traces_entry {
    char *path;
    char *error;   /* why it cannot be opened; NULL */
    char *command; /* that was recorded; NULL: not known yet */
    char key[9];   /* of its content, the same wherever the file lies; "" before it was looked for */
    struct serve_trace trace;           /* open while trace.trace is set */
    struct serve_trace *own[ANSWERERS]; /* of the answerers; NULL until they are needed */
    struct stat seen;                   /* of the file when it was opened */
    enum trace_state state;
    uint64_t zones, duration_ns, lost_zones;
    uint64_t start_unix_ns; /* 0: nothing was recorded yet */
    int64_t pid;            /* of the command; 0: not known */
    uint32_t generation;
    uint64_t checked_ns; /* when the file was last looked at */
    uint64_t opening_ns; /* how long opening it took */
    bool is_listed;      /* zones, duration_ns and what runs are in it are known */
    bool has_estimate, has_run;
};

struct traces { /* zero-initialise */
    struct traces_entry **entries;
    size_t count, capacity;
    bool is_live; /* pages follow: writers are asked to write at once */
    /* no paths: recordings that run, and the traces of the working folder; new ones are added */
    bool is_folder;
    const struct text_list *source_folders; /* of all of them; NULL: none */
};

/* A block of this trace, which is open, may be damaged: opens what is whole of it in its place, unless that was done
 * before. False: no block is damaged, or all are. */
bool traces_salvage(struct traces *traces, uint64_t id);

/* Every path has to be one that can be opened; without paths, what is being recorded, then the traces
 * of the working folder, newest first. */
int traces_open(struct traces *traces, const char *const *paths, size_t count, struct error *err);
void traces_free(struct traces *traces);

/* The trace of this number, opened and up to date; NULL with -ENOENT (there is none) or why it cannot be opened. */
struct serve_trace *traces_get(struct traces *traces, uint64_t id, struct error *err);

/* The same for the thread of an answerer of this kind: the trace must not be touched by any other. When it was opened
 * again, the answerer closes the reader that it had. */
struct serve_trace *traces_for_answerer(struct traces *traces, uint64_t id, enum answerer_kind kind,
                                        struct answerer *answerer, struct error *err);

/* Looks at all files, and for new ones where it is a folder. */
void traces_refresh(struct traces *traces);
/* Looks at those that are open, or new, so that zones and duration of all are known. */
void traces_describe(struct traces *traces);
void traces_set_live(struct traces *traces, bool is_live);
/* Looks at one, unless that was done just now. */
void traces_check(struct traces *traces, struct traces_entry *entry);

const char *trace_state_text(enum trace_state state);
/* The answer to /api/traces. */
int traces_answer(struct traces *traces, struct bytes *out, struct error *err);

#endif
