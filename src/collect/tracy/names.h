/* SPDX-License-Identifier: Apache-2.0 */
/* What addresses mean. A client sends addresses of names and source locations; their texts are asked for, and come
 * later.
 *
 * The client follows the address that it is asked about, so a wrong one kills the profiled program. Hence: only
 * addresses that the stream gave are asked for, each once, and no more after anything that looks wrong. */
#ifndef OPSCOPE_COLLECT_TRACY_NAMES_H
#define OPSCOPE_COLLECT_TRACY_NAMES_H

#include "base/bytes.h"
#include "base/intern.h"
#include "base/map.h"
#include "collect/tracy/protocol.h"

#define TRACY_NONE UINT32_MAX
#define TRACY_MAX_NAMES (1u << 20) /* and as many source locations: more are not asked for */
#define TRACY_MAX_TEXT_BYTES ((size_t)256 << 20)

struct tracy_name {
    uint64_t address;
    uint32_t text; /* id in texts; TRACY_NONE: not answered */
};

struct tracy_source {
    uint64_t address;              /* 0: it came with its texts */
    uint32_t name, function, file; /* indices of names; TRACY_NONE: not there */
    uint32_t line, colour;         /* 0xRRGGBB */
    bool is_known;                 /* it was answered; its names may not be yet */
};

struct tracy_names {
    struct intern texts;
    size_t text_bytes;
    struct tracy_name *names;
    size_t count, capacity;
    struct map name_of; /* kind and address -> name */
    struct tracy_source *sources;
    size_t source_count, source_capacity;
    struct map source_of;    /* address -> source */
    struct map payload_of;   /* text -> source that came as a whole */
    uint32_t *asked_sources; /* answers have no key: they come in this order */
    size_t asked_count, asked_capacity, answered_sources;
    struct bytes queries; /* to be sent; the caller takes them out */
    bool is_silent;       /* nothing is asked any more */
    uint64_t asked, answered;
    uint64_t refused; /* not asked for, since there were too many, or no memory */
};

void tracy_names_free(struct tracy_names *names);
/* Something made no sense: nothing is asked any more, not even what was about to be. */
void tracy_names_stop(struct tracy_names *names);

/* The index of a name, asked for when it is new; TRACY_NONE for address 0, or when there are too many. `kind` is the
 * query that asks for it: a thread is not an address. */
uint32_t tracy_names_find(struct tracy_names *names, enum tracy_query kind, uint64_t address);
uint32_t tracy_names_source(struct tracy_names *names, uint64_t address);
/* A source location that came with its texts. */
uint32_t tracy_names_payload(struct tracy_names *names, const uint8_t *body, size_t length);

void tracy_names_answer(struct tracy_names *names, enum tracy_query kind, uint64_t address, const void *text,
                        size_t length);
/* The answer to the oldest question about a source location; false: nobody asked. */
bool tracy_names_answer_source(struct tracy_names *names, const uint8_t *item);

/* Key of a name in name_of. */
static inline uint64_t tracy_names_key(enum tracy_query kind, uint64_t address)
{
    return (uint64_t)kind << 56 ^ address;
}

/* An address of a program: nothing of the kernel's, no small number, no garbage in the bits that are not used. */
static inline bool tracy_is_address(uint64_t address)
{
    return address >= 4096 && address >> 48 == 0;
}

/* Text of a name; NULL while it is not known. */
const char *tracy_names_text(const struct tracy_names *names, uint32_t name);
/* Everything that a source location says is known. */
bool tracy_names_source_is_whole(const struct tracy_names *names, uint32_t source);

#endif
