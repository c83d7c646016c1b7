/* SPDX-License-Identifier: Apache-2.0 */
/* What one client sends, taken apart: bytes in, events and questions out. No socket, no clock, no trace: the same for a
 * live client, a recorded stream and a fuzzer.
 *
 * After the handshake the client sends frames: a length, then an LZ4 block that decodes to whole records. Times in
 * records are differences to one before; here they are whole again, in ticks of the client. Anything that does not
 * fit (a type that the version does not have, a record beyond its frame) ends the stream: what came before is good. */
#ifndef OPSCOPE_COLLECT_TRACY_STREAM_H
#define OPSCOPE_COLLECT_TRACY_STREAM_H

#include "base/error.h"
#include "collect/tracy/names.h"

enum tracy_event_kind {
    TRACY_EVENT_ZONE_BEGIN, /* source */
    TRACY_EVENT_ZONE_END,
    TRACY_EVENT_ZONE_TEXT, /* text; of the innermost open zone, as the next three */
    TRACY_EVENT_ZONE_NAME,
    TRACY_EVENT_ZONE_COLOUR, /* value */
    TRACY_EVENT_ZONE_VALUE,
    TRACY_EVENT_MESSAGE, /* text, or name; number: severity << 4 | 1 where Tracy itself speaks */
    TRACY_EVENT_APP_INFO,
    TRACY_EVENT_FRAME, /* name; TRACY_NONE: the main frames */
    TRACY_EVENT_FRAME_START,
    TRACY_EVENT_FRAME_END,
    TRACY_EVENT_PLOT,  /* name, real */
    TRACY_EVENT_ALLOC, /* address, value: size; name: pool */
    TRACY_EVENT_FREE,
    TRACY_EVENT_FREE_ALL,  /* name: pool */
    TRACY_EVENT_LOCK,      /* number: lock; source; announced */
    TRACY_EVENT_LOCK_NAME, /* text */
    TRACY_EVENT_LOCK_WAIT, /* of an exclusive or shared lock, as the next two */
    TRACY_EVENT_LOCK_OBTAIN,
    TRACY_EVENT_LOCK_RELEASE, /* thread: 0 where the owner is meant */
    TRACY_EVENT_GPU_CONTEXT,  /* number: context, gpu_time, real: ns per tick, value: type, thread: 0 = any */
    TRACY_EVENT_GPU_CONTEXT_NAME,
    TRACY_EVENT_GPU_BEGIN, /* number, query, source */
    TRACY_EVENT_GPU_END,
    TRACY_EVENT_GPU_TIME,    /* number, query, gpu_time */
    TRACY_EVENT_GPU_SYNC,    /* number, gpu_time at time */
    TRACY_EVENT_GPU_ZONE,    /* number, source, gpu_time, value: end: a whole zone */
    TRACY_EVENT_FIBER_ENTER, /* name */
    TRACY_EVENT_FIBER_LEAVE,
    TRACY_EVENT_SECTION_ENTER, /* number, text */
    TRACY_EVENT_SECTION_LEAVE,
    TRACY_EVENT_SAMPLE,         /* text: addresses, innermost first */
    TRACY_EVENT_CONTEXT_SWITCH, /* value: thread that stops << 32 | thread that starts; number: CPU */
    TRACY_EVENT_CPU_LOAD,       /* real: percent */
    TRACY_EVENT_THREAD_NAME,    /* text */
    TRACY_EVENT_CRASH,
    TRACY_EVENT_KINDS
};

struct tracy_event {
    enum tracy_event_kind kind;
    uint32_t thread;
    int64_t time; /* ticks of the client */
    uint32_t source, name;
    uint32_t number;
    uint16_t query;
    bool is_shared; /* of a lock */
    uint64_t address, value;
    int64_t gpu_time;
    double real;
    const char *text; /* not NUL-terminated; valid during the call */
    uint32_t text_length;
};

typedef void (*tracy_event_fn)(void *context, const struct tracy_event *event);
/* Begin or end of a zone. They are most of what comes: without the struct, and those of a thread that follow one
 * another at once, at most TRACY_MOST_STEPS. */
struct tracy_step {
    int64_t time;
    uint32_t source; /* TRACY_END: an end */
};
#define TRACY_END (TRACY_NONE - 1)
#define TRACY_MOST_STEPS 128u
typedef void (*tracy_steps_fn)(void *context, uint32_t thread, const struct tracy_step *steps, size_t count);

enum tracy_wide { TRACY_WIDE_DETECT, TRACY_WIDE_NO, TRACY_WIDE_YES };

struct tracy_stream;

/* NULL: no memory, or a version that is not known. Events are given to `event`. */
struct tracy_stream *tracy_stream_new(uint32_t version, enum tracy_wide wide, tracy_event_fn event,
                                      void *context);
/* Begins and ends of zones go there, and not to `event`. */
void tracy_stream_set_zones(struct tracy_stream *s, tracy_steps_fn steps);
void tracy_stream_free(struct tracy_stream *s);

/* Takes bytes that the client sent, in pieces of any size. 0; or the error that ended the stream, again and again. */
int tracy_stream_feed(struct tracy_stream *s, const void *data, size_t length, struct error *err);

/* Questions for the client: to be sent, then cleared by the caller. */
struct bytes *tracy_stream_queries(struct tracy_stream *s);
/* Something in what it sends makes no sense: nothing is asked any more. */
void tracy_stream_distrust(struct tracy_stream *s);
bool tracy_stream_is_trusted(const struct tracy_stream *s);

/* 0 while it has not come; else enum tracy_status. */
unsigned tracy_stream_status(const struct tracy_stream *s);
/* NULL while it has not come. */
const struct tracy_welcome *tracy_stream_welcome(const struct tracy_stream *s);
const struct tracy_names *tracy_stream_names(const struct tracy_stream *s);
struct tracy_dialect tracy_stream_dialect(const struct tracy_stream *s);
/* The program is about to end: it waits until nothing is asked any more and the connection is closed. */
bool tracy_stream_is_ending(const struct tracy_stream *s);
bool tracy_stream_has_open_questions(const struct tracy_stream *s);
/* True between frames: an end here is not in the middle of anything. */
bool tracy_stream_is_between(const struct tracy_stream *s);

struct tracy_counts {
    uint64_t frames, decoded_bytes, items;
    uint64_t records[TRACY_RECORDS]; /* by enum tracy_record */
    uint64_t unused;                 /* of kinds that are passed over */
};
const struct tracy_counts *tracy_stream_counts(const struct tracy_stream *s);

#endif
