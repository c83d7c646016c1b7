/* SPDX-License-Identifier: Apache-2.0 */
/* Records in a child that joins a session of its own, and reads the raw slots of its segments back. There is no
 * collector, so what does not fit stays lost. */
#ifndef OPSCOPE_TESTS_UNIT_RECORD_CHILD_H
#define OPSCOPE_TESTS_UNIT_RECORD_CHILD_H

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <opscope/opscope.h>

#include "base/clock.h"
#include "session/folder.h"
#include "session/segment.h"

struct figures { /* what the child says it did; shared with the parent */
    volatile uint64_t zones, handler_zones, freed_zones, other, other_records, failed_children;
};

struct seen { /* what the segments hold */
    uint64_t begins, ends, late_ends, lost_zones, lost_records, messages, message_bytes, counters, memory,
        frames;
    uint64_t op_begins, op_parts, device_zones, runs, syncs, values;
    uint32_t segments, processes, tracks, last_chunks, open_chunks, disorder, unbalanced;
    uint32_t names, distinct_names;
    char first_message[64];
};

static struct figures *figures;
static bool may_miss_chunks;                     /* the test gives some back itself */
static uint32_t clock_source = CLOCK_SOURCE_RAW; /* sane under qemu-user as well */
static struct session_capture capture;           /* of a session that is paused then, unless it is empty */

static inline void share_figures(void)
{
    figures = mmap(NULL, sizeof *figures, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(figures != MAP_FAILED);
}

/* --- reading --- */

struct reading {
    struct seen *seen;
    struct session_segment *segment;
    uint64_t depth[4096], time[4096];
    uint8_t known_track[4096];
    uint8_t *known_name;
};

static void see_name(struct reading *r, uint32_t id)
{
    struct segment_name name;
    struct bytes text = {0};
    if (session_segment_definition(r->segment, id, &name, &text)) {
        r->seen->names++;
        if (id < SESSION_MAX_NAMES && !r->known_name[id]) {
            r->known_name[id] = 1;
            r->seen->distinct_names++;
        }
    }
    bytes_free(&text);
}

static uint32_t see_record(struct reading *r, uint32_t track, const struct slot *slot, uint32_t left)
{
    struct seen *s = r->seen;
    unsigned kind = slot->time_kind & 0xff;
    uint32_t more = slot_more(kind, slot->word);
    assert_true(more < left);
    if (!slot->time_kind) /* never written */
        return 1 + more;
    if (kind != RECORD_DEVICE_ZONE && kind != RECORD_DEVICE_RUN && kind != RECORD_CLOCK_SYNC) {
        s->disorder += slot->time_kind >> 8 < r->time[track];
        r->time[track] = slot->time_kind >> 8;
    }
    if (kind == RECORD_ZONE_BEGIN) {
        s->begins++;
        r->depth[track]++;
        see_name(r, (uint32_t)slot->word);
    } else if (kind == RECORD_ZONE_END) {
        s->ends++;
        s->unbalanced += r->depth[track] == 0;
        r->depth[track] -= r->depth[track] > 0;
    } else if (kind == RECORD_LATE_ENDS) {
        s->late_ends += (uint32_t)slot->word;
    } else if (kind == RECORD_MESSAGE) {
        uint32_t offset = (uint32_t)(slot->word >> 32) & 0xffffff;
        s->messages += offset == 0;
        s->message_bytes += (uint64_t)more * 16;
        if (s->messages == 1 && offset == 0)
            memcpy(s->first_message, slot + 1, more ? 16 : 0);
    }
    s->counters += kind == RECORD_COUNTER;
    s->memory += kind == RECORD_MEMORY;
    s->frames += kind == RECORD_FRAME;
    s->op_begins += kind == RECORD_OP_BEGIN;
    s->op_parts += kind == RECORD_OP_PART;
    s->device_zones += kind == RECORD_DEVICE_ZONE;
    s->runs += kind == RECORD_DEVICE_RUN;
    s->syncs += kind == RECORD_CLOCK_SYNC;
    s->values += kind == RECORD_ZONE_VALUE;
    return 1 + more;
}

static void read_segment(struct session_segment *segment, struct seen *seen)
{
    struct reading *r = calloc(1, sizeof *r);
    size_t count;
    assert_non_null(r);
    r->seen = seen;
    r->segment = segment;
    r->known_name = calloc(SESSION_MAX_NAMES, 1);
    assert_non_null(r->known_name);
    const struct segment_chunk *list = session_segment_scan(segment, true, &count);
    uint64_t next_sequence[4096] = {0};
    uint32_t lost_zones[4096] = {0}, lost_records[4096] = {0};
    for (size_t i = 0; i < count; i++) {
        const struct chunk_descriptor *d = &list[i].d;
        assert_true(d->track < 4096);
        /* Nobody gave chunks back: none is missing. */
        assert_true(may_miss_chunks || d->sequence == next_sequence[d->track]);
        next_sequence[d->track] = d->sequence + 1;
        seen->tracks += !r->known_track[d->track];
        r->known_track[d->track] = 1;
        seen->last_chunks += (d->flags & CHUNK_LAST) != 0;
        seen->open_chunks += !list[i].is_sealed;
        lost_zones[d->track] = d->lost_zones;
        lost_records[d->track] = d->lost_records;
        uint32_t slots = list[i].is_sealed ? d->slots : session_segment_slots_left_behind(&list[i]);
        for (uint32_t at = 0; at < slots;)
            at += see_record(r, d->track, &list[i].slots[at], slots - at);
    }
    for (size_t i = 0; i < 4096; i++) {
        seen->lost_zones += lost_zones[i];
        seen->lost_records += lost_records[i];
    }
    uint32_t processes = session_segment_process_count(segment);
    for (uint32_t i = 0; i < processes; i++) {
        struct session_process p;
        if (session_segment_process(segment, i, &p)) {
            seen->processes++;
            seen->lost_zones += p.lost_zones;
            seen->lost_records += p.lost_records;
        }
    }
    free(r->known_name);
    free(r);
}

static void read_folder(const struct session_folder *folder, struct seen *seen)
{
    DIR *dir = opendir(folder->path);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct session_segment *segment;
        if (!strstr(entry->d_name, SESSION_SEGMENT_SUFFIX) || entry->d_name[0] == '.')
            continue;
        assert_int_equal(
            session_segment_open(&segment, folder->fd, entry->d_name, folder->control.session_id, NULL), 0);
        seen->segments++;
        read_segment(segment, seen);
        session_segment_close(segment);
    }
    closedir(dir);
}

/* Runs `work` in a child that joins a session with this much buffer, and reads what it left. */
static inline void record(void (*work)(void), uint64_t buffer_bytes, uint32_t on_full, struct seen *seen)
{
    struct session_folder folder = {0};
    struct error err = {0};
    folder.control.session_id = UINT64_C(0x0123456789abcdef);
    folder.control.clock_source = clock_source;
    folder.control.buffer_bytes = buffer_bytes;
    folder.control.on_full = on_full;
    folder.control.capture = capture;
    folder.control.is_paused = capture.kind != CAPTURE_ALWAYS;
    memset(seen, 0, sizeof *seen);
    assert_int_equal(session_folder_create(&folder, &err), 0);
    memset((void *)figures, 0, sizeof *figures);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char variable[4000];
        signal(SIGSEGV, SIG_DFL); /* not cmocka's: it would go on with the next test */
        session_folder_variable(&folder, variable, sizeof variable);
        setenv(SESSION_VARIABLE, variable, 1);
        opscope_recording = 1; /* the constructor ran without a session */
        work();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    read_folder(&folder, seen);
    session_folder_close(&folder);
    assert_int_equal(session_folder_remove(folder.path, &err), 0);
}

/* --- what children do --- */

static inline void nested(int depth)
{
    OPSCOPE_FUNCTION();
    if (depth > 1)
        nested(depth - 1);
}

#endif
