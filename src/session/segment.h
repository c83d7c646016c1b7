/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's side of a segment. The file belongs to a process that may be broken or hostile, so: the layout
 * follows from one checked number, descriptors are copied once and clamped, slots are never read twice, chunks that
 * we gave back are known from our own list, and a truncated file is a dead segment and not a crash (guard.h).
 * What to do with the records is the caller's business: the collector, recover, and later the remote agent. */
#ifndef OPSCOPE_SESSION_SEGMENT_H
#define OPSCOPE_SESSION_SEGMENT_H

#include "base/bytes.h"
#include "base/error.h"
#include "session/session.h"

struct session_segment;

int session_segment_open(struct session_segment **out, int folder_fd, const char *name, uint64_t session_id,
                         struct error *err);
/* A segment in memory that the caller keeps (tests, fuzzing): same checks. */
int session_segment_open_memory(struct session_segment **out, void *memory, size_t length,
                                uint64_t session_id, struct error *err);
void session_segment_close(struct session_segment *s);

bool session_segment_is_dead(
    const struct session_segment *s); /* truncated under us: nothing more will come */
const struct segment_header *session_segment_header(const struct session_segment *s); /* a checked copy */
const char *session_segment_name(const struct session_segment *s);                    /* file name */
bool session_segment_is_foreign(const struct session_segment *s); /* its file is another user's than we are */

void session_segment_beat(struct session_segment *s, uint64_t raw_ns);
void session_segment_set_closed(struct session_segment *s);
void session_segment_set_paused(struct session_segment *s, bool is_paused); /* for processes that join now */
uint64_t session_segment_pause_request(const struct session_segment *s);    /* the last one; 0: none yet */

uint32_t session_segment_process_count(const struct session_segment *s);
bool session_segment_process(const struct session_segment *s, uint32_t index, struct session_process *out);
/* Another process may have its row: it is gone, and nothing in the segment refers to it any more. */
void session_segment_free_process(struct session_segment *s, uint32_t index);
uint32_t session_segment_growth_failures(const struct session_segment *s);
/* What was lost by processes that are not in the table. */
void session_segment_unplaced_losses(const struct session_segment *s, uint64_t *zones, uint64_t *records);

/* One chunk that has records we have not seen, or that is sealed. */
struct segment_chunk {
    uint32_t chunk;
    uint32_t consumed; /* slots [0, consumed) were taken before */
    uint32_t taken; /* the same of whoever read this segment before us, if it died: in the segment itself */
    bool is_sealed;
    struct chunk_descriptor d; /* a copy; slots: those to be looked at, also of one that is not sealed */
    const struct slot *slots;  /* shared memory: load each word once */
};

/* Lists chunks in order of (track, sequence). Unsealed ones only when asked for, because looking at the line a
 * thread is writing to slows it down. The list is valid until the next call. */
const struct segment_chunk *session_segment_scan(struct session_segment *s, bool include_owned,
                                                 size_t *count);
/* Of a chunk that is not sealed and whose owner is gone: those up to the last record, also after one that it never
 * finished, since it died in a signal handler that had interrupted that one. */
uint32_t session_segment_slots_left_behind(const struct segment_chunk *chunk);
void session_segment_consumed(struct session_segment *s, const struct segment_chunk *chunk, uint32_t slots);
void session_segment_release(struct session_segment *s,
                             const struct segment_chunk *chunk); /* back to the pool */
/* Zones of a thread that ended after the last record of it, with no chunk to record that in. next_sequence: of the
 * first chunk of which no record has been seen. */
uint32_t session_segment_late_ends(const struct session_segment *s, uint32_t track, uint64_t next_sequence);
uint32_t
session_segment_late_count(const struct session_segment *s); /* threads that may have some: numbers below */
/* Chunks without memory or without an owner: what the program can still take. */
uint32_t session_segment_free_chunks(const struct session_segment *s);

struct segment_name {
    uint32_t kind, aux, owner, parent;
    uint64_t value;
};
/* Copies the definition and appends its bytes to `text`; false when there is no such name (yet). */
bool session_segment_definition(const struct session_segment *s, uint32_t id, struct segment_name *out,
                                struct bytes *text);

#endif
