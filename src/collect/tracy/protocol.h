/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of Tracy's wire protocol: records with their sizes for each version, queries, the welcome message.
 *
 * In Tracy's words the profiled program is the client, which listens, and we are the server, which connects. Everything
 * is little-endian and packed. The version must be equal on both sides; there is no negotiation. */
#ifndef OPSCOPE_COLLECT_TRACY_PROTOCOL_H
#define OPSCOPE_COLLECT_TRACY_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define TRACY_OLDEST 63u
#define TRACY_NEWEST 82u
#define TRACY_VERSIONS (TRACY_NEWEST - TRACY_OLDEST + 1)
#define TRACY_MAGIC "TracyPrf"
#define TRACY_HELLO_BYTES 12u /* the magic and the version */
#define TRACY_QUERY_BYTES 13u
#define TRACY_FRAME_BYTES (256u * 1024)                                      /* decoded, at most */
#define TRACY_BLOCK_BYTES (TRACY_FRAME_BYTES + TRACY_FRAME_BYTES / 255 + 16) /* on the wire, at most */
#define TRACY_FIRST_PORT 8086u
#define TRACY_PORTS 20u

enum tracy_record {
#define RECORD(name, since, size, wide, body, take) TRACY_##name,
#include "collect/tracy/records.def"
#undef RECORD
    TRACY_RECORDS,
    TRACY_NO_RECORD = 255
};

enum tracy_body {
    TRACY_BODY_NONE,
    TRACY_BODY_TEXT8,       /* u8 length, bytes */
    TRACY_BODY_TEXT16,      /* u16 length, bytes */
    TRACY_BODY_TEXT16_LONG, /* the same; since version 80 the length is stored less 256 */
    TRACY_BODY_TEXT32,
};

enum tracy_status { TRACY_WELCOME = 1, TRACY_MISMATCH = 2, TRACY_NOT_AVAILABLE = 3 };

/* What we may ask. Others exist and are never used: some make the client wait for things that do not come. */
enum tracy_query {
    TRACY_ASK_TERMINATE = 0,
    TRACY_ASK_STRING = 1,
    TRACY_ASK_THREAD = 2,
    TRACY_ASK_SOURCE_LOCATION = 3,
    TRACY_ASK_PLOT = 4,
    TRACY_ASK_FRAME = 5,
    TRACY_ASK_FIBER = 7,
    TRACY_ASK_CODE = 10, /* the function at an address of code; since version 66 */
};

enum tracy_flag { TRACY_ON_DEMAND = 1 };

struct tracy_dialect {
    uint32_t version;
    bool has_wide_contexts; /* 16-bit GPU contexts, as a fork has them under the same version numbers */
};

/* How one version reads: by number on the wire. */
struct tracy_table {
    struct tracy_dialect dialect;
    unsigned count;
    uint8_t record[256]; /* enum tracy_record; TRACY_NO_RECORD where there is none */
    uint8_t size[256];
    uint8_t body[256];     /* enum tracy_body */
    bool has_context[256]; /* of a GPU: wider in a wide dialect */
    unsigned begin, end;   /* the shortest records of zones: their numbers */
};

/* All versions, in the order in which they are tried: released ones first. */
extern const uint8_t tracy_versions[TRACY_VERSIONS];

/* False: the version is not known. */
bool tracy_table_make(struct tracy_table *table, struct tracy_dialect dialect);
const char *tracy_record_name(unsigned record);

/* Read "82" or, with 16-bit contexts, "tt66". False: neither. */
bool tracy_dialect_parse(const char *text, struct tracy_dialect *dialect);

struct tracy_welcome {
    double ns_per_tick;
    int64_t first_tick; /* time zero of the client */
    uint64_t epoch_s;   /* wall clock, whole seconds */
    uint64_t pid;
    uint8_t flags; /* enum tracy_flag */
    char program[65];
    char host[1025];
};

unsigned tracy_welcome_bytes(uint32_t version);
void tracy_welcome_read(struct tracy_welcome *welcome, uint32_t version, const uint8_t *data);

static inline uint16_t tracy_u16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint32_t tracy_u32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline uint64_t tracy_u64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

#endif
