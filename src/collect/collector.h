/* SPDX-License-Identifier: Apache-2.0 */
/* The collector: drains a session's segments, pairs begins with ends, converts clocks, gives rows to the trace
 * writer. Policy (when to poll, when to stop) is the caller's: launch.c for `opscope run`, recover.c for a session
 * whose collector died. */
#ifndef OPSCOPE_COLLECT_COLLECTOR_H
#define OPSCOPE_COLLECT_COLLECTOR_H

#include "base/error.h"
#include "session/folder.h"
#include "trace/writer.h"

struct collector;

struct collector_stats {
    uint64_t zones; /* ended and written */
    uint64_t other; /* records other than zones */
    uint64_t lost_zones, lost_records;
    uint64_t short_zones; /* left out, since they were shorter than the user wants to see */
    uint32_t processes, threads;
    uint32_t refused;       /* processes that got no segment */
    int refused_reason;     /* errno of the first */
    uint32_t still_running; /* processes alive at the end */
    uint32_t open_zones;    /* of processes that died inside them */
    uint64_t ops;
    uint32_t broken_segments;
    uint32_t notices; /* messages that begin with COLLECTOR_NOTICE: of our adapters, inside the programs */
    char notice[600]; /* the first */
    uint64_t paused_ns;
    uint64_t pauses_over; /* before the end of the recording */
};
const char *collector_refusal_text(int reason); /* of refused_reason */
#define COLLECTOR_NOTICE "opscope: "

enum collector_flag {
    COLLECTOR_RECOVER = 1, /* no live clock: take it from the chunks; nobody writes any more */
};

int collector_create(struct collector **out, struct session_folder *folder, struct trace_writer *writer,
                     unsigned flags, struct error *err);
void collector_free(struct collector *c);

/* The command that was started, so that its process row has an exit status even if it recorded nothing. */
void collector_set_root(struct collector *c, int64_t pid, const char *command, uint64_t start_ns);
/* It had not exited at that time: call after the folder's events were read. */
void collector_root_alive(struct collector *c, uint64_t ns);
void collector_root_exited(struct collector *c, int status);

/* The process with that pid; where it is not known, it is defined, and started then. */
uint32_t collector_process(struct collector *c, int64_t pid, uint64_t start_ns);
/* A process that records nothing, and why, which follows "not recorded: ". */
void collector_note_unrecorded(struct collector *c, int64_t pid, const char *why);
/* Zones that are open elsewhere: called where those of the collector are listed. */
void collector_set_more_open_zones(struct collector *c, trace_open_zones_fn list, void *context);

/* A file appeared in, or its last writer left, the session folder. */
void collector_file_appeared(struct collector *c, const char *name);
void collector_file_closed(struct collector *c, const char *name);
void collector_scan_folder(struct collector *c);

/* Takes what there is: sealed chunks always; unsealed ones only when no chunk was sealed. Returns the number of
 * slots taken. Beats the heart of every segment, samples the clock, lets the writer write. *err is filled with the
 * first trouble of the writer (a full disk), collecting goes on. */
uint64_t collector_poll(struct collector *c, struct error *err);

/* True when no segment has a writer any more. */
bool collector_is_idle(const struct collector *c);

/* Closes all segments, takes everything that is left, finishes all tracks. The writer stays the caller's. */
void collector_finish(struct collector *c);

/* Takes lines of source files into the trace: those around all places that were defined so far (sourcelines.c).
 * Call when everything is recorded. */
void collector_take_sources(struct collector *c);

const struct collector_stats *collector_get_stats(struct collector *c);

#endif
