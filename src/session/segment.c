/* SPDX-License-Identifier: Apache-2.0 */
#include "session/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/guard.h"

struct chunk_seen { /* what we know of a chunk, whatever its descriptor says */
    uint64_t sequence;
    uint32_t track;
    uint32_t consumed;
    bool is_known;
};

struct session_segment {
    uint8_t *memory;
    bool is_mapped;
    bool is_foreign;
    struct guard *guard;
    struct segment_header header; /* copy from when it was opened */
    struct segment_layout layout;
    struct chunk_seen *seen;
    struct segment_chunk *list;
    size_t list_capacity;
    char name[256];
};

static struct segment_header *live(const struct session_segment *s)
{
    return (struct segment_header *)(void *)s->memory;
}

static int check_header(struct session_segment *s, size_t length, uint64_t session_id, struct error *err)
{
    const struct segment_header *h = &s->header;
    if (h->magic != SESSION_SEGMENT_MAGIC)
        return error_set(err, EINVAL, "segment %s: not a segment", s->name);
    if (h->version != SESSION_VERSION)
        return error_set(err, EINVAL, "segment %s: layout %u, we read %u", s->name, h->version,
                         SESSION_VERSION);
    if (h->session_id != session_id)
        return error_set(err, EINVAL, "segment %s: belongs to another session", s->name);
    if (h->chunk_count == 0 || h->chunk_count > SESSION_MAX_CHUNKS)
        return error_set(err, EINVAL, "segment %s: %u chunks", s->name, h->chunk_count);
    s->layout = segment_layout_of(h->chunk_count, h->is_small != 0);
    if (length < s->layout.total)
        return error_set(err, EINVAL, "segment %s: %zu bytes, should be %zu", s->name, length,
                         s->layout.total);
    if (h->command_length > sizeof h->command)
        s->header.command_length = 0;
    s->seen = calloc(h->chunk_count, sizeof *s->seen);
    return s->seen ? 0 : error_set(err, ENOMEM, "no memory for segment %s", s->name);
}

int session_segment_open(struct session_segment **out, int folder_fd, const char *name, uint64_t session_id,
                         struct error *err)
{
    int status;
    struct session_segment *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, ENOMEM, "no memory for segment %s", name);
    strncpy(s->name, name, sizeof s->name - 1);
    struct stat st;
    int fd = openat(folder_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0) {
        status = error_set_errno(err, errno, "segment %s", name);
    } else if (!S_ISREG(st.st_mode) ||
               pread(fd, &s->header, sizeof s->header, 0) != (ssize_t)sizeof s->header) {
        status = error_set(err, EINVAL, "segment %s: cut short", name);
    } else {
        status = check_header(s, (size_t)st.st_size, session_id, err);
    }
    if (!status) {
        s->is_foreign = st.st_uid != geteuid();
        s->memory = mmap(NULL, s->layout.total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
        s->is_mapped = s->memory != MAP_FAILED;
        s->guard = s->is_mapped ? guard_add(s->memory, s->layout.total) : NULL;
        if (!s->guard)
            status = error_set(err, ENOMEM, "segment %s: cannot be mapped", name);
    }
    if (fd >= 0)
        close(fd);
    if (status) {
        session_segment_close(s);
        return status;
    }
    *out = s;
    return 0;
}

int session_segment_open_memory(struct session_segment **out, void *memory, size_t length,
                                uint64_t session_id, struct error *err)
{
    struct session_segment *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, ENOMEM, "no memory");
    if (length < sizeof s->header) {
        free(s);
        return error_set(err, EINVAL, "segment: cut short");
    }
    memcpy(&s->header, memory, sizeof s->header);
    int status = check_header(s, length, session_id, err);
    s->memory = memory;
    if (status) {
        session_segment_close(s);
        return status;
    }
    *out = s;
    return 0;
}

void session_segment_close(struct session_segment *s)
{
    if (!s)
        return;
    guard_remove(s->guard);
    if (s->is_mapped)
        munmap(s->memory, s->layout.total);
    free(s->seen);
    free(s->list);
    free(s);
}

bool session_segment_is_dead(const struct session_segment *s)
{
    return s->guard && s->guard->is_dead;
}

const struct segment_header *session_segment_header(const struct session_segment *s)
{
    return &s->header;
}

const char *session_segment_name(const struct session_segment *s)
{
    return s->name;
}

bool session_segment_is_foreign(const struct session_segment *s)
{
    return s->is_foreign;
}

void session_segment_beat(struct session_segment *s, uint64_t raw_ns)
{
    __atomic_store_n(&live(s)->heartbeat_ns, raw_ns, __ATOMIC_RELAXED);
}

void session_segment_set_closed(struct session_segment *s)
{
    __atomic_store_n(&live(s)->state, SEGMENT_CLOSED, __ATOMIC_RELEASE);
}

void session_segment_set_paused(struct session_segment *s, bool is_paused)
{
    __atomic_exchange_n(&live(s)->is_paused, is_paused, __ATOMIC_SEQ_CST);
}

uint64_t session_segment_pause_request(const struct session_segment *s)
{
    return __atomic_load_n(&live(s)->pause_request, __ATOMIC_ACQUIRE);
}

uint32_t session_segment_growth_failures(const struct session_segment *s)
{
    return __atomic_load_n(&live(s)->growth_failures, __ATOMIC_RELAXED);
}

void session_segment_unplaced_losses(const struct session_segment *s, uint64_t *zones, uint64_t *records)
{
    *zones = __atomic_load_n(&live(s)->lost_zones, __ATOMIC_RELAXED);
    *records = __atomic_load_n(&live(s)->lost_records, __ATOMIC_RELAXED);
}

uint32_t session_segment_process_count(const struct session_segment *s)
{
    uint32_t count =
        __atomic_load_n(&live(s)->process_count, __ATOMIC_SEQ_CST); /* after session_segment_set_paused */
    uint32_t committed = __atomic_load_n(&live(s)->processes_committed, __ATOMIC_ACQUIRE);
    count = count < committed ? count : committed;
    return count < s->layout.process_count ? count : s->layout.process_count;
}

static struct session_process *process_row(const struct session_segment *s, uint32_t index)
{
    return (struct session_process *)(void *)(s->memory + s->layout.processes) + index;
}

bool session_segment_process(const struct session_segment *s, uint32_t index, struct session_process *out)
{
    if (index >= session_segment_process_count(s))
        return false;
    const struct session_process *p = process_row(s, index);
    uint32_t state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);
    if (state != PROCESS_VALID && state != PROCESS_ALONE)
        return false;
    memcpy(out, p, sizeof *out);
    return true;
}

void session_segment_free_process(struct session_segment *s, uint32_t index)
{
    if (index >= session_segment_process_count(s))
        return;
    __atomic_store_n(&process_row(s, index)->state, PROCESS_FREE, __ATOMIC_RELEASE);
    __atomic_fetch_add(&live(s)->processes_free, 1, __ATOMIC_RELEASE);
}

/* --- chunks --- */

static uint32_t committed_chunks(const struct session_segment *s)
{
    uint32_t count = __atomic_load_n(&live(s)->chunks_committed, __ATOMIC_ACQUIRE);
    return count < s->layout.chunk_count ? count : s->layout.chunk_count;
}

static struct chunk_descriptor *descriptor(const struct session_segment *s, uint32_t chunk)
{
    return (struct chunk_descriptor *)(void *)(s->memory + s->layout.descriptors) + chunk;
}

static uint16_t *taken(const struct session_segment *s, uint32_t chunk)
{
    return (uint16_t *)(void *)(s->memory + s->layout.taken) + chunk;
}

static int by_track_and_sequence(const void *a, const void *b)
{
    const struct segment_chunk *x = a, *y = b;
    if (x->d.track != y->d.track)
        return x->d.track < y->d.track ? -1 : 1;
    if (x->d.sequence != y->d.sequence)
        return x->d.sequence < y->d.sequence ? -1 : 1;
    return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

/* Up to the first record that is not written yet. Of what is damaged its reader will tell. */
static uint32_t written_slots(const struct slot *slots, uint32_t from)
{
    uint32_t at = from;
    while (at < CHUNK_SLOTS) {
        uint64_t head = __atomic_load_n(&slots[at].time_kind, __ATOMIC_ACQUIRE);
        if (!head)
            return at;
        at += 1 + slot_more(head, __atomic_load_n(&slots[at].word, __ATOMIC_RELAXED));
    }
    return CHUNK_SLOTS;
}

uint32_t session_segment_slots_left_behind(const struct segment_chunk *chunk)
{
    uint32_t end = chunk->d.slots;
    for (uint32_t at = end; at < CHUNK_SLOTS;) {
        uint64_t head = __atomic_load_n(&chunk->slots[at].time_kind, __ATOMIC_ACQUIRE);
        at += 1 + slot_more(head, __atomic_load_n(&chunk->slots[at].word, __ATOMIC_RELAXED));
        if (head)
            end = at < CHUNK_SLOTS ? at : CHUNK_SLOTS;
    }
    return end;
}

const struct segment_chunk *session_segment_scan(struct session_segment *s, bool include_owned, size_t *count)
{
    uint32_t chunks = committed_chunks(s);
    size_t n = 0;
    bool is_sorted = true;
    for (uint32_t i = 0; i < chunks; i++) {
        struct chunk_descriptor *d = descriptor(s, i);
        uint32_t state = __atomic_load_n(&d->state, __ATOMIC_ACQUIRE);
        if (state != CHUNK_SEALED && !(state == CHUNK_OWNED && include_owned))
            continue;
        if (!array_reserve(&s->list, &s->list_capacity, n + 1, sizeof *s->list))
            break;
        struct segment_chunk *c = &s->list[n];
        memcpy(&c->d, d, sizeof c->d);
        c->d.slots = c->d.slots < CHUNK_SLOTS ? c->d.slots : CHUNK_SLOTS;
        c->chunk = i;
        c->is_sealed = state == CHUNK_SEALED;
        c->slots = (const struct slot *)(void *)(s->memory + s->layout.chunks + (size_t)i * CHUNK_BYTES);
        struct chunk_seen *seen = &s->seen[i];
        if (!seen->is_known || seen->track != c->d.track || seen->sequence != c->d.sequence)
            *seen = (struct chunk_seen){c->d.sequence, c->d.track, 0, true};
        c->consumed = seen->consumed;
        if (!c->is_sealed)
            c->d.slots = written_slots(c->slots, c->consumed);
        c->taken = __atomic_load_n(taken(s, i), __ATOMIC_RELAXED);
        c->taken = c->taken < c->d.slots ? c->taken : c->d.slots;
        if (n > 0 && by_track_and_sequence(&s->list[n - 1], c) > 0)
            is_sorted = false;
        n++;
    }
    if (!is_sorted)
        qsort(s->list, n, sizeof *s->list, by_track_and_sequence);
    *count = n;
    return s->list;
}

void session_segment_consumed(struct session_segment *s, const struct segment_chunk *chunk, uint32_t slots)
{
    s->seen[chunk->chunk].consumed = slots;
    __atomic_store_n(taken(s, chunk->chunk), (uint16_t)slots, __ATOMIC_RELEASE); /* after the ledger */
}

void session_segment_release(struct session_segment *s, const struct segment_chunk *chunk)
{
    uint64_t *map = (uint64_t *)(void *)(s->memory + s->layout.free_map);
    /* Whoever died with it may have left half of a record after those that can be read. */
    uint32_t written = chunk->is_sealed && chunk->d.slots ? chunk->d.slots : CHUNK_SLOTS;
    /* First nobody's, then cleared, then to be had: a collector that is killed in between leaves a chunk that recover
     * does not look at, never one with half of its records. */
    __atomic_store_n(&descriptor(s, chunk->chunk)->state, CHUNK_FREE, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    memset(s->memory + s->layout.chunks + (size_t)chunk->chunk * CHUNK_BYTES, 0,
           written * sizeof(struct slot));
    s->seen[chunk->chunk].is_known = false;
    __atomic_store_n(taken(s, chunk->chunk), 0, __ATOMIC_RELAXED);
    __atomic_fetch_or(&map[chunk->chunk / 64], UINT64_C(1) << (chunk->chunk % 64), __ATOMIC_RELEASE);
}

uint32_t session_segment_free_chunks(const struct session_segment *s)
{
    const uint64_t *map = (const uint64_t *)(void *)(s->memory + s->layout.free_map);
    uint32_t chunks = committed_chunks(s), free_count = s->layout.chunk_count - chunks;
    for (uint32_t i = 0; i < (chunks + 63) / 64; i++)
        free_count += (uint32_t)__builtin_popcountll(__atomic_load_n(&map[i], __ATOMIC_RELAXED));
    return free_count;
}

uint32_t session_segment_late_count(const struct session_segment *s)
{
    uint32_t tracks = __atomic_load_n(&live(s)->track_count, __ATOMIC_RELAXED);
    return tracks < s->layout.late_count ? tracks : s->layout.late_count;
}

uint32_t session_segment_late_ends(const struct session_segment *s, uint32_t track, uint64_t next_sequence)
{
    uint32_t page = segment_late_page(track);
    if (track >= s->layout.late_count ||
        !(__atomic_load_n(&live(s)->late_pages[page / 64], __ATOMIC_ACQUIRE) >> (page % 64) & 1))
        return 0;
    const struct late_ends *at = (const struct late_ends *)(void *)(s->memory + s->layout.late) + track;
    struct late_ends late;
    uint64_t both = __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED);
    memcpy(&late, &both, sizeof late);
    return late.sequence == (uint32_t)next_sequence ? late.count : 0;
}

/* --- names --- */

bool session_segment_definition(const struct session_segment *s, uint32_t id, struct segment_name *out,
                                struct bytes *text)
{
    uint32_t ids_committed = __atomic_load_n(&live(s)->ids_committed, __ATOMIC_ACQUIRE);
    if (id == 0 || id > s->layout.name_count || id >= ids_committed)
        return false;
    const uint32_t *ids = (const uint32_t *)(void *)(s->memory + s->layout.name_ids);
    uint32_t at = __atomic_load_n(&ids[id], __ATOMIC_ACQUIRE);
    size_t offset = ((size_t)at - 1) * 8;
    if (at == 0 || offset > s->layout.names_bytes - sizeof(struct name_entry))
        return false;
    struct name_entry entry;
    memcpy(&entry, s->memory + s->layout.names + offset, sizeof entry);
    if (entry.length > SESSION_MAX_NAME_BYTES + 2 ||
        entry.length > s->layout.names_bytes - sizeof entry - offset)
        return false;
    *out = (struct segment_name){entry.kind, entry.aux, entry.owner, entry.parent, entry.value};
    bytes_append(text, s->memory + s->layout.names + offset + sizeof entry, entry.length);
    return !text->failed;
}
