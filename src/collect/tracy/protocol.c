/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tracy/protocol.h"

#include <stddef.h>

#include "base/count_of.h"
#include "base/slice.h"

const uint8_t tracy_versions[TRACY_VERSIONS] = {82, 76, 74, 72, 69, 66, 64, 63, 81, 80,
                                                79, 78, 77, 75, 73, 71, 70, 68, 67, 65};

#define FORK_BIT 0x80u
#define FORK(since) ((since) | FORK_BIT)

static const struct {
    const char *name;
    uint8_t since, size, wide, body;
} records[] = {
#define RECORD(name, since, size, wide, body, take) {#name, since, size, wide, TRACY_BODY_##body},
#include "collect/tracy/records.def"
#undef RECORD
};
_Static_assert(COUNT_OF(records) == TRACY_RECORDS, "one row for each record");

/* Records that were shorter up to a version. */
static const struct {
    uint8_t record, until, size;
} shorter[] = {
    {TRACY_MESSAGE, 76, 9},         {TRACY_MESSAGE_CALLSTACK, 76, 9},
    {TRACY_MESSAGE_COLOR, 76, 12},  {TRACY_MESSAGE_COLOR_CALLSTACK, 76, 12},
    {TRACY_FIBER_ENTER, 67, 21},    {TRACY_CPU_TOPOLOGY, 68, 13},
    {TRACY_CONTEXT_SWITCH, 72, 20}, {TRACY_THREAD_WAKEUP, 72, 13},
    {TRACY_SECTION_ENTER, 81, 13},
};

static uint8_t size_of(unsigned record, struct tracy_dialect dialect)
{
    for (size_t i = 0; i < COUNT_OF(shorter); i++) {
        if (shorter[i].record == record && dialect.version <= shorter[i].until)
            return shorter[i].size;
    }
    return dialect.has_wide_contexts ? records[record].wide : records[record].size;
}

bool tracy_table_make(struct tracy_table *table, struct tracy_dialect dialect)
{
    if (dialect.version < TRACY_OLDEST || dialect.version > TRACY_NEWEST)
        return false;
    *table = (struct tracy_table){.dialect = dialect};
    memset(table->record, TRACY_NO_RECORD, sizeof table->record);
    for (unsigned i = 0; i < TRACY_RECORDS; i++) {
        bool is_forked = records[i].since & FORK_BIT;
        if ((records[i].since & ~FORK_BIT) > dialect.version || (is_forked && !dialect.has_wide_contexts))
            continue;
        table->record[table->count] = (uint8_t)i;
        table->size[table->count] = size_of(i, dialect);
        table->body[table->count] = records[i].body;
        table->has_context[table->count] = records[i].size != records[i].wide;
        if (i - TRACY_ZONE_BEGIN <= TRACY_ZONE_BEGIN_16 - TRACY_ZONE_BEGIN) /* the longest is the first */
            table->begin = table->count;
        if (i - TRACY_ZONE_END <= TRACY_ZONE_END_16 - TRACY_ZONE_END)
            table->end = table->count;
        table->count++;
    }
    return true;
}

const char *tracy_record_name(unsigned record)
{
    return record < TRACY_RECORDS ? records[record].name : "?";
}

bool tracy_dialect_parse(const char *text, struct tracy_dialect *dialect)
{
    struct slice number = slice_of(text);
    dialect->has_wide_contexts = slice_begins(number, "tt");
    if (dialect->has_wide_contexts)
        number = slice_from(text + 2, number.length - 2);
    return slice_unsigned32(number, &dialect->version) && dialect->version >= TRACY_OLDEST &&
           dialect->version <= TRACY_NEWEST;
}

/* --- the welcome message --- */

#define DELAY_OFFSET 24u /* a field of 8 bytes that version 75 took out */
#define WELCOME_BYTES 1170u

unsigned tracy_welcome_bytes(uint32_t version)
{
    return version <= 74 ? WELCOME_BYTES + 8 : WELCOME_BYTES;
}

void tracy_welcome_read(struct tracy_welcome *welcome, uint32_t version, const uint8_t *data)
{
    const uint8_t *rest = data + DELAY_OFFSET + (version <= 74 ? 8 : 0);
    *welcome = (struct tracy_welcome){.first_tick = (int64_t)tracy_u64(data + 8),
                                      .epoch_s = tracy_u64(rest + 8),
                                      .pid = tracy_u64(rest + 24),
                                      .flags = rest[40]};
    memcpy(&welcome->ns_per_tick, data, sizeof welcome->ns_per_tick);
    memcpy(welcome->program, rest + 58, sizeof welcome->program - 1);
    memcpy(welcome->host, rest + 122, sizeof welcome->host - 1);
}
