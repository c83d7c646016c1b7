/* SPDX-License-Identifier: Apache-2.0 */
/* Joining a session: find it from the environment, make this process's segment in it, give it memory step by step.
 *
 * Called on a process's first event, with signals blocked, never again on the hot path. No descriptor is kept
 * (programs close them all, and tests count them). A process that cannot be recorded leaves an empty file whose
 * name says why, which needs no memory even on a full tmpfs, and goes on without us. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "record/recorder.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define FIRST_CHUNKS 1u /* a page costs 4 us: start small */
#define MIN_STEP_CHUNKS 4u
#define MAX_STEP_CHUNKS 64u
#define FIXED_CHUNKS 256u   /* 4 MiB: a kernel without MADV_POPULATE_WRITE cannot grow */
#define RESERVED_CHUNKS 32u /* 512 KiB beside the chunks */
#define RETRY_GROWTH_NS UINT64_C(100000000)

struct segment recorder_segment;
static struct process_state *shared_state;

/* Starts as "maybe": a zone that is opened before our constructor ran finds out by itself. */
int opscope_recording = 1;

void recorder_switch_off(void)
{
    __atomic_store_n(&opscope_recording, 0, __ATOMIC_RELAXED);
}

struct process_state *process_state_get(void)
{
    struct process_state *state = __atomic_load_n(&shared_state, __ATOMIC_ACQUIRE);
    if (state)
        return state;
    void *memory = mmap(NULL, SESSION_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, SESSION_PAGE, MADV_WIPEONFORK);
    struct process_state *expected = NULL;
    if (__atomic_compare_exchange_n(&shared_state, &expected, memory, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return memory;
    munmap(memory, SESSION_PAGE);
    return expected;
}

static bool commit(const struct segment *s, size_t offset, size_t length)
{
    if (!s->header->can_grow && s->header->magic)
        return false; /* what was there from the start is all there is */
    size_t from = offset & ~(SESSION_PAGE - 1);
    size_t to = segment_page_up(offset + length);
    return madvise(s->memory + from, to - from, MADV_POPULATE_WRITE) == 0;
}

bool segment_commit(size_t offset, size_t length)
{
    return commit(&recorder_segment, offset, length);
}

/* --- chunks that cursors of an earlier session point to --- */

static uint64_t avoided[SESSION_MAX_CHUNKS / 64];

static bool is_avoided(uint32_t chunk)
{
    return avoided[chunk / 64] >> (chunk % 64) & 1;
}

void segment_avoid_none(void)
{
    memset(avoided, 0, sizeof avoided);
}

void segment_avoid(const struct chunk_descriptor *d)
{
    size_t chunk = (size_t)(d - segment_descriptor(0));
    if (chunk < SESSION_MAX_CHUNKS)
        avoided[chunk / 64] |= UINT64_C(1) << (chunk % 64);
}

/* --- making the segment --- */

struct session_place {
    char path[3072];
    uint64_t id;
    struct session_control control;
};

static void refuse(const struct session_place *place, int reason)
{
    char file[sizeof place->path + 64];
    snprintf(file, sizeof file, "%s/" SESSION_REFUSAL_PREFIX "%d-%d", place->path, (int)getpid(), reason);
    int fd = open(file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0)
        close(fd);
    if (fd >= 0 || errno == EEXIST)
        return;
    /* No descriptor, or no inode: a rename needs neither. */
    char spare[sizeof file];
    bool is_told = false;
    for (unsigned i = 0; i < SESSION_SPARES && !is_told; i++) {
        snprintf(spare, sizeof spare, "%s/" SESSION_SPARE_PREFIX "%u", place->path, i);
        is_told = rename(spare, file) == 0;
    }
}

static bool read_session(struct session_place *place)
{
    const char *value = secure_getenv(SESSION_VARIABLE);
    const char *colon = value ? strrchr(value, ':') : NULL;
    if (!colon || (size_t)(colon - value) >= sizeof place->path - 64 || strlen(colon + 1) != 16)
        return false;
    memcpy(place->path, value, (size_t)(colon - value));
    place->path[colon - value] = '\0';
    char *end;
    place->id = strtoull(colon + 1, &end, 16);
    if (*end)
        return false;
    char file[sizeof place->path + 16];
    snprintf(file, sizeof file, "%s/" SESSION_CONTROL_FILE, place->path);
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE)
            refuse(place, errno);
        return false;
    }
    ssize_t n = read(fd, &place->control, sizeof place->control);
    close(fd);
    return n == (ssize_t)sizeof place->control && place->control.magic == SESSION_CONTROL_MAGIC &&
           place->control.min_recorder <= SESSION_VERSION && place->control.session_id == place->id;
}

static uint64_t random_id(void)
{
    uint64_t value = 0;
    if (syscall(SYS_getrandom, &value, sizeof value, 1 /* GRND_NONBLOCK */) != (long)sizeof value)
        value = hash_mix(clock_raw_ns() ^ (uint64_t)(uintptr_t)&value, (uint64_t)getpid() << 32 | 1);
    return value ? value : 1;
}

/* Chunks that the session asks for, less where a file size limit would send us SIGXFSZ. */
static uint32_t wanted_chunks(const struct session_control *control)
{
    uint64_t chunks = control->buffer_bytes / CHUNK_BYTES;
    if (chunks >= 8 * RESERVED_CHUNKS)
        chunks -=
            RESERVED_CHUNKS; /* the whole segment stays within what was asked for, header and names included */
    chunks = chunks < FIRST_CHUNKS ? FIRST_CHUNKS : chunks > SESSION_MAX_CHUNKS ? SESSION_MAX_CHUNKS : chunks;
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        while (chunks > FIRST_CHUNKS && segment_layout((uint32_t)chunks).total > limit.rlim_cur)
            chunks /= 2;
        if (segment_layout((uint32_t)chunks).total > limit.rlim_cur)
            return 0;
    }
    return (uint32_t)chunks;
}

static void read_command(struct segment_header *header)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = read(fd, header->command, sizeof header->command);
    close(fd);
    header->command_length = n > 0 ? (uint32_t)n : 0;
}

static void write_header(struct segment *s, const struct session_control *control, uint64_t segment_id,
                         bool can_grow)
{
    struct segment_header *h = s->header;
    struct stat ns;
    h->version = SESSION_VERSION;
    h->chunk_count = s->layout.chunk_count;
    h->session_id = control->session_id;
    h->segment_id = segment_id;
    h->total_bytes = s->layout.total;
    h->clock_source = control->clock_source;
    h->on_full = control->on_full;
    h->pid = (uint32_t)getpid();
    h->parent_pid = (uint32_t)getppid();
    h->pid_namespace = stat("/proc/self/ns/pid", &ns) == 0 ? (uint64_t)ns.st_ino : 0;
    h->can_grow = can_grow;
    h->heartbeat_ns = clock_raw_ns();
    read_command(h);
    h->magic = SESSION_SEGMENT_MAGIC;
}

/* First memory: with MADV_POPULATE_WRITE a little of everything, without it fixed areas by fallocate. */
static int commit_first(struct segment *s, int fd, bool *can_grow)
{
    const struct segment_layout *l = &s->layout;
    struct segment_header *h = s->header;
    uint32_t chunks = FIRST_CHUNKS;
    size_t ids = SESSION_PAGE, names = SESSION_PAGE, processes = SESSION_PAGE;
    *can_grow = madvise(s->memory, l->processes, MADV_POPULATE_WRITE) == 0;
    if (!*can_grow && errno != EINVAL)
        return errno == EFAULT ? ENOSPC : errno;
    if (!*can_grow) {
        chunks = l->chunk_count < FIXED_CHUNKS ? l->chunk_count : FIXED_CHUNKS;
        ids = 64 * SESSION_PAGE;
        names = 256 * SESSION_PAGE;
    }
    const struct {
        size_t at, bytes;
    } parts[] = {{0, l->processes},
                 {l->processes, processes},
                 {l->descriptors, chunks * sizeof(struct chunk_descriptor)},
                 {l->name_ids, ids},
                 {l->names, names},
                 {l->chunks, chunks * CHUNK_BYTES}};
    for (size_t i = *can_grow ? 1 : 0; i < sizeof parts / sizeof parts[0]; i++) {
        int failed = 0;
        if (*can_grow)
            failed = commit(s, parts[i].at, parts[i].bytes) ? 0 : ENOSPC;
        else
            failed = posix_fallocate(fd, (off_t)parts[i].at, (off_t)parts[i].bytes);
        if (failed)
            return failed;
    }
    h->processes_committed = (uint32_t)(processes / sizeof(struct session_process));
    h->ids_committed = (uint32_t)(ids / sizeof(uint32_t));
    h->names_committed = names;
    h->levels_committed = 1;
    h->chunks_committed = chunks;
    uint64_t *map = (uint64_t *)(void *)(s->memory + l->free_map);
    for (uint32_t i = 0; i < chunks; i++)
        if (!is_avoided(i))
            map[i / 64] |= UINT64_C(1) << (i % 64);
    return 0;
}

/* Ids of names are kept in the program (in its sites), so they must mean the same in the next segment. */
static bool carry_names(struct segment *to, const struct segment *from)
{
    const struct segment_layout *l = &from->layout;
    const struct segment_header *had = from->header;
    struct segment_header *h = to->header;
    uint64_t bytes = had->names_used < had->names_committed ? had->names_used : had->names_committed;
    size_t ids = (size_t)had->ids_committed * sizeof(uint32_t);
    if (!cgroup_has_room((size_t)bytes + ids) || !commit(to, l->names, (size_t)bytes) ||
        !commit(to, l->name_ids, ids))
        return false;
    memcpy(to->memory + l->names, from->memory + l->names, (size_t)bytes);
    memcpy(to->memory + l->name_ids, from->memory + l->name_ids, ids);
    for (uint32_t i = 0; i < SESSION_NAME_LEVELS; i++) {
        size_t level = segment_level_slots(i) * sizeof(uint32_t);
        if (!(had->levels_committed & (1u << i)))
            continue;
        if (!commit(to, l->levels[i], level))
            return false;
        memcpy(to->memory + l->levels[i], from->memory + l->levels[i], level);
    }
    h->levels_committed = had->levels_committed;
    h->ids_committed = had->ids_committed;
    h->names_committed = segment_page_up((size_t)bytes);
    h->name_count = had->name_count;
    h->names_used = bytes;
    return true;
}

static int map_segment(struct segment *s, int fd, uint32_t chunks)
{
    /* A process with little address space gets a smaller segment rather than none. */
    for (;; chunks /= 2) {
        struct segment_layout layout = segment_layout(chunks);
        void *memory = mmap(NULL, layout.total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
        if (memory != MAP_FAILED) {
            madvise(memory, layout.total, MADV_DONTDUMP);
            s->layout = layout;
            s->memory = memory;
            s->header = memory;
            return ftruncate(fd, (off_t)layout.total) == 0 ? 0 : errno;
        }
        if (chunks <= FIRST_CHUNKS)
            return errno;
    }
}

/* earlier: of the session before this one, whose names and size this one takes over; NULL: there is none. */
static int build_segment(struct segment *s, int fd, const struct session_place *place, uint64_t id,
                         const struct segment *earlier)
{
    struct stat folder;
    uint32_t chunks = wanted_chunks(&place->control);
    if (!chunks)
        return EFBIG;
    if (stat(place->path, &folder) == 0 && folder.st_uid != geteuid() &&
        fchown(fd, folder.st_uid, folder.st_gid) != 0)
        return errno;
    int failed = map_segment(s, fd, earlier ? earlier->layout.chunk_count : chunks);
    if (failed)
        return failed;
    if (earlier && s->layout.chunk_count != earlier->layout.chunk_count)
        return ENOMEM;
    cgroup_trust(place->control.cgroup_signature);
    if (!cgroup_has_room((size_t)16 * SESSION_PAGE))
        return ENOMEM;
    bool can_grow = false;
    failed = commit_first(s, fd, &can_grow);
    if (failed)
        return failed;
    write_header(s, &place->control, id, can_grow);
    return earlier && !carry_names(s, earlier) ? ENOMEM : 0;
}

static int make_segment(struct segment *s, const struct session_place *place, const struct segment *earlier)
{
    char hidden[sizeof place->path + 64], final[sizeof place->path + 64];
    uint64_t id = random_id();
    snprintf(hidden, sizeof hidden, "%s/.%d-%016llx", place->path, (int)getpid(), (unsigned long long)id);
    snprintf(final, sizeof final, "%s/%d-%016llx" SESSION_SEGMENT_SUFFIX, place->path, (int)getpid(),
             (unsigned long long)id);
    *s = (struct segment){0};
    int fd = open(hidden, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno;
    int failed = build_segment(s, fd, place, id, earlier);
    if (!failed && rename(hidden, final) != 0)
        failed = errno;
    close(fd);
    if (failed) {
        unlink(hidden);
        if (s->memory)
            munmap(s->memory, s->layout.total);
        *s = (struct segment){0};
    }
    return failed;
}

bool segment_attach(void)
{
    struct session_place place;
    if (recorder_segment.is_ready)
        return true;
    if (!read_session(&place))
        return false;
    int failed = make_segment(&recorder_segment, &place, NULL);
    if (failed) {
        refuse(&place, failed);
        return false;
    }
    names_text("(no room for this name)", 23); /* becomes SESSION_NAME_FULL */
    recorder_segment.is_ready = true;
    return true;
}

int segment_replace(void)
{
    struct session_place place;
    struct segment next;
    if (!read_session(&place))
        return ENOENT;
    int failed = make_segment(&next, &place, &recorder_segment);
    if (failed)
        return failed;
    /* In one step, at the same address: a thread that is late writes into a chunk that nobody uses. */
    if (mremap(next.memory, next.layout.total, next.layout.total, MREMAP_MAYMOVE | MREMAP_FIXED,
               recorder_segment.memory) == MAP_FAILED) {
        failed = errno;
        munmap(next.memory, next.layout.total);
    }
    return failed;
}

/* --- processes --- */

bool process_register(struct process_state *state)
{
    struct segment_header *h = recorder_segment.header;
    if (!state->claimed)
        state->claimed = __atomic_fetch_add(&h->process_count, 1, __ATOMIC_RELAXED) + 1;
    uint32_t slot = state->claimed - 1;
    if (slot >= SESSION_MAX_PROCESSES ||
        (state->grow_not_before_ns && clock_raw_ns() < state->grow_not_before_ns))
        return false;
    uint32_t have = __atomic_load_n(&h->processes_committed, __ATOMIC_ACQUIRE);
    if (slot >= have) {
        uint32_t now = slot / 64 * 64 + 64;
        size_t at = recorder_segment.layout.processes + (size_t)have * sizeof(struct session_process);
        if (!segment_commit(at, (size_t)(now - have) * sizeof(struct session_process))) {
            __atomic_fetch_add(&h->growth_failures, 1, __ATOMIC_RELAXED);
            state->grow_not_before_ns = clock_raw_ns() + RETRY_GROWTH_NS;
            return false;
        }
        while (have < now && !__atomic_compare_exchange_n(&h->processes_committed, &have, now, false,
                                                          __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
            ;
    }
    struct session_process *p =
        (struct session_process *)(void *)(recorder_segment.memory + recorder_segment.layout.processes) +
        slot;
    p->pid = (uint32_t)getpid();
    p->parent_pid = (uint32_t)getppid();
    p->start_ticks = clock_ticks(h->clock_source);
    p->start_raw_ns = clock_raw_ns();
    prctl(PR_GET_NAME, p->comm);
    __atomic_store_n(&p->state, 1, __ATOMIC_RELEASE);
    state->slot = slot;
    state->is_registered = 1;
    return true;
}

/* --- chunks --- */

static int32_t take_free(void)
{
    uint64_t *map = (uint64_t *)(void *)(recorder_segment.memory + recorder_segment.layout.free_map);
    uint32_t words =
        (__atomic_load_n(&recorder_segment.header->chunks_committed, __ATOMIC_ACQUIRE) + 63) / 64;
    for (uint32_t w = 0; w < words; w++) {
        uint64_t bits = __atomic_load_n(&map[w], __ATOMIC_RELAXED);
        while (bits) {
            uint64_t lowest = bits & (~bits + 1);
            bits = __atomic_fetch_and(&map[w], ~lowest, __ATOMIC_ACQUIRE);
            if (bits & lowest) {
                uint32_t chunk = w * 64 + (uint32_t)__builtin_ctzll(lowest);
                return chunk < recorder_segment.layout.chunk_count ? (int32_t)chunk : -1;
            }
        }
    }
    return -1;
}

/* Commits the next step of chunks and takes the first of them. Populating twice is harmless, so threads that
 * race here need no lock: one of them moves the count, the others look at the free map again (TRY_AGAIN). */
#define TRY_AGAIN (-2)

static int32_t grow(void)
{
    struct segment_header *h = recorder_segment.header;
    const struct segment_layout *l = &recorder_segment.layout;
    struct process_state *state = process_state_get();
    uint32_t have = __atomic_load_n(&h->chunks_committed, __ATOMIC_ACQUIRE);
    if (have >= l->chunk_count || !h->can_grow || !state)
        return -1;
    if (state->grow_not_before_ns && clock_raw_ns() < state->grow_not_before_ns)
        return -1;
    uint32_t step = have < MIN_STEP_CHUNKS   ? MIN_STEP_CHUNKS
                    : have > MAX_STEP_CHUNKS ? MAX_STEP_CHUNKS
                                             : have;
    if (step > l->chunk_count - have)
        step = l->chunk_count - have;
    size_t bytes = step * CHUNK_BYTES;
    if (!cgroup_has_room(bytes) ||
        !segment_commit(l->descriptors + have * sizeof(struct chunk_descriptor),
                        step * sizeof(struct chunk_descriptor)) ||
        !segment_commit(l->chunks + have * CHUNK_BYTES, bytes)) {
        __atomic_fetch_add(&h->growth_failures, 1, __ATOMIC_RELAXED);
        state->grow_not_before_ns = clock_raw_ns() + RETRY_GROWTH_NS;
        return -1;
    }
    if (!__atomic_compare_exchange_n(&h->chunks_committed, &have, have + step, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return TRY_AGAIN;
    uint64_t *map = (uint64_t *)(void *)(recorder_segment.memory + l->free_map);
    for (uint32_t chunk = have + 1; chunk < have + step; chunk++)
        if (!is_avoided(chunk))
            __atomic_fetch_or(&map[chunk / 64], UINT64_C(1) << (chunk % 64), __ATOMIC_RELEASE);
    return is_avoided(have) ? TRY_AGAIN : (int32_t)have;
}

/* While we wait for a chunk: is it time to give up? Without a collector nobody gives chunks back; and when all of
 * them belong to threads that sleep, nobody does so either, though the collector lives. Then no thread takes one any
 * more, and waiting again is of no use until one does. */
struct wait {
    uint64_t taken, since_ns;
};

static bool wait_is_hopeless(struct wait *wait)
{
    struct segment_header *h = recorder_segment.header;
    struct process_state *state = process_state_get();
    uint64_t taken = __atomic_load_n(&h->chunks_taken, __ATOMIC_RELAXED);
    uint64_t beat = __atomic_load_n(&h->heartbeat_ns, __ATOMIC_RELAXED), now = clock_raw_ns();
    if (!state || (now > beat && now - beat > SESSION_STALE_NS))
        return true;
    if (!wait->since_ns || wait->taken != taken)
        *wait = (struct wait){taken, now};
    if (state->hopeless_taken != taken + 1 && now - wait->since_ns <= SESSION_STALE_NS)
        return false;
    state->hopeless_taken = taken + 1;
    return true;
}

int32_t segment_take_chunk(bool may_wait)
{
    struct segment_header *h = recorder_segment.header;
    struct wait wait = {0, 0};
    for (;;) {
        if (__atomic_load_n(&h->state, __ATOMIC_RELAXED) == SEGMENT_CLOSED) {
            recorder_switch_off();
            return -1;
        }
        int32_t chunk = take_free();
        if (chunk < 0)
            chunk = grow();
        if (chunk == TRY_AGAIN)
            continue; /* each time the segment has grown, so this ends */
        if (chunk >= 0)
            __atomic_fetch_add(&h->chunks_taken, 1, __ATOMIC_RELAXED);
        if (chunk >= 0 || !may_wait || wait_is_hopeless(&wait))
            return chunk;
        int saved = errno;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        errno = saved;
    }
}

__attribute__((constructor)) static void check_environment(void)
{
    if (!secure_getenv(SESSION_VARIABLE))
        recorder_switch_off();
    else if (secure_getenv("OPSCOPE_EAGER"))
        cursor_of_thread(); /* for programs that enter seccomp before their first zone */
}
