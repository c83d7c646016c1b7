/* SPDX-License-Identifier: Apache-2.0 */
/* Joining a session: find it from the environment, make this process's segment in it, give it memory step by step.
 *
 * Called on a process's first event, with signals blocked, never again on the hot path. No descriptor is kept
 * (programs close them all, and tests count them). A process that cannot be recorded leaves an empty file whose
 * name says why, which needs no memory even on a full tmpfs, and goes on without us.
 *
 * The first event may come on a stack of a few KiB (a signal stack, a thread of the least size), so nothing here has
 * large local variables, and nothing calls printf and the like: the buffers are static, under the process's lock. */
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
#define FIXED_CHUNKS 256u /* 4 MiB: a kernel without MADV_POPULATE_WRITE cannot grow */
#define FIXED_LEVELS 4u   /* of the name table, likewise; 65,536 names in 4 MiB, ends of 512 threads */
#define FIXED_NAMES ((size_t)4 << 20)
#define RESERVED_CHUNKS 32u /* 512 KiB beside the chunks */
#define ADDRESS_SHARE 4u    /* with a limit on address space: one part in this many of what is left */
#define RETRY_GROWTH_NS UINT64_C(100000000)

struct segment recorder_segment;
static struct process_state *shared_state;

/* Starts as "maybe": a zone that is opened before our constructor ran finds out by itself. */
int opscope_recording = RECORDING_ON;

void recorder_switch_off(void)
{
    __atomic_store_n(&opscope_recording, 0, __ATOMIC_RELAXED);
}

struct process_state *process_state_get(void)
{
    struct process_state *state = __atomic_load_n(&shared_state, __ATOMIC_ACQUIRE);
    if (state)
        return state;
    const size_t bytes = sizeof(struct process_state) + CURSOR_BLOCK_BYTES;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_WIPEONFORK);
    struct process_state *expected = NULL;
    if (__atomic_compare_exchange_n(&shared_state, &expected, memory, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return memory;
    munmap(memory, bytes);
    return expected;
}

static bool commit(const struct segment *s, size_t offset, size_t length)
{
    if (!s->header->can_grow && s->header->magic)
        return false; /* what was there from the start is all there is */
    size_t from = offset & ~(SESSION_PAGE - 1);
    size_t to = segment_page_up(offset + length);
    int saved = errno;
    bool is_done = madvise(s->memory + from, to - from, MADV_POPULATE_WRITE) == 0;
    errno = saved;
    return is_done;
}

bool segment_commit(size_t offset, size_t length)
{
    return commit(&recorder_segment, offset, length);
}

/* --- chunks that cursors of an earlier session point to --- */

static uint64_t avoided[SESSION_MAX_CHUNKS / 64];

static bool is_avoided(uint32_t chunk)
{
    return recorder_segment.has_avoided && (avoided[chunk / 64] >> (chunk % 64) & 1);
}

void segment_avoid_none(void)
{
    memset(avoided, 0, sizeof avoided);
    recorder_segment.has_avoided = false;
}

void segment_avoid(const struct chunk_descriptor *d)
{
    size_t chunk = (size_t)(d - segment_descriptor(0));
    if (chunk >= SESSION_MAX_CHUNKS)
        return;
    recorder_segment.has_avoided = true;
    avoided[chunk / 64] |= UINT64_C(1) << (chunk % 64);
}

/* --- making the segment --- */

struct session_place {
    uint64_t id;
    struct session_control control;
    uid_t owner; /* of the session */
    gid_t group;
    char path[SESSION_PATH_BYTES];
    char file[SESSION_PATH_BYTES + 96], renamed[SESSION_PATH_BYTES + 96]; /* full names of files in it */
};

static size_t put_text(char *out, size_t at, const char *text)
{
    size_t length = strlen(text);
    memcpy(out + at, text, length + 1);
    return at + length;
}

static size_t put_number(char *out, size_t at, uint64_t value, unsigned base, unsigned least_digits)
{
    char digits[24];
    size_t n = sizeof digits;
    do {
        digits[--n] = "0123456789abcdef"[value % base];
        value /= base;
    } while (n && (value || sizeof digits - n < least_digits));
    memcpy(out + at, digits + n, sizeof digits - n);
    out[at + sizeof digits - n] = '\0';
    return at + sizeof digits - n;
}

/* FOLDER/PREFIX<pid>-, to which the caller adds. */
static size_t put_file(const struct session_place *place, char *out, const char *prefix)
{
    size_t at = put_text(out, 0, place->path);
    at = put_text(out, at, prefix);
    at = put_number(out, at, (uint64_t)getpid(), 10, 1);
    return put_text(out, at, "-");
}

static void refuse(struct session_place *place, int reason)
{
    put_number(place->file, put_file(place, place->file, "/" SESSION_REFUSAL_PREFIX), (uint64_t)reason, 10,
               1);
    int fd = open(place->file, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0)
        close(fd);
    if (fd >= 0 || errno == EEXIST)
        return;
    /* No descriptor, or no inode: a rename needs neither. */
    bool is_reported = false;
    for (unsigned i = 0; i < SESSION_SPARES && !is_reported; i++) {
        size_t at = put_text(place->renamed, 0, place->path);
        put_number(place->renamed, put_text(place->renamed, at, "/" SESSION_SPARE_PREFIX), i, 10, 1);
        is_reported = rename(place->renamed, place->file) == 0;
    }
}

/* Anybody may have put a FIFO there, which would make us wait, or a file that is never at its end. */
static bool read_control(struct session_place *place)
{
    struct stat st = {0};
    put_text(place->file, put_text(place->file, 0, place->path), "/" SESSION_CONTROL_FILE);
    int fd = open(place->file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE)
            refuse(place, errno);
        return false;
    }
    ssize_t n =
        fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, &place->control, sizeof place->control) : -1;
    close(fd);
    place->owner = st.st_uid;
    place->group = st.st_gid;
    return n == (ssize_t)sizeof place->control;
}

static bool read_session(struct session_place *place)
{
    const char *value = secure_getenv(SESSION_VARIABLE);
    const char *colon = value ? strrchr(value, ':') : NULL;
    if (!colon || (size_t)(colon - value) >= sizeof place->path || strlen(colon + 1) != 16)
        return false;
    memcpy(place->path, value, (size_t)(colon - value));
    place->path[colon - value] = '\0';
    char *end;
    place->id = strtoull(colon + 1, &end, 16);
    if (*end)
        return false;
    if (!read_control(place) || place->control.magic != SESSION_CONTROL_MAGIC ||
        place->control.session_id != place->id)
        return false;
    if (place->control.min_recorder > SESSION_VERSION)
        refuse(place, SESSION_REFUSAL_TOO_OLD);
    return place->control.min_recorder <= SESSION_VERSION;
}

static uint64_t random_id(void)
{
    uint64_t value = 0;
    if (syscall(SYS_getrandom, &value, sizeof value, 1 /* GRND_NONBLOCK */) != (long)sizeof value)
        value = hash_mix(clock_raw_ns() ^ (uint64_t)(uintptr_t)&value, (uint64_t)getpid() << 32 | 1);
    return value ? value : 1;
}

/* Address space that the process uses. */
static uint64_t address_space_used(void)
{
    char text[32] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    return n > 0 ? strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* A file size limit would send us SIGXFSZ. */
static uint64_t room_for_file(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? limit.rlim_cur
                                                                                   : UINT64_MAX;
}

/* How large a segment may be: a limit on address space is the program's, whose own memory must not run out because of
 * us. */
static uint64_t room_for_segment(void)
{
    struct rlimit limit;
    uint64_t room = room_for_file();
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        uint64_t used = address_space_used();
        uint64_t share = limit.rlim_cur > used ? (limit.rlim_cur - used) / ADDRESS_SHARE : 0;
        room = share < room ? share : room;
    }
    return room;
}

/* Chunks that the session asks for. */
static uint32_t wanted_chunks(const struct session_control *control)
{
    uint64_t chunks = control->buffer_bytes / CHUNK_BYTES;
    if (chunks >= 8 * RESERVED_CHUNKS)
        chunks -=
            RESERVED_CHUNKS; /* the whole segment stays within what was asked for, header and names included */
    chunks = chunks < FIRST_CHUNKS ? FIRST_CHUNKS : chunks > SESSION_MAX_CHUNKS ? SESSION_MAX_CHUNKS : chunks;
    return (uint32_t)chunks;
}

/* The next smaller layout: first without room for many names, then with half the chunks. False: there is none. */
static bool make_smaller(struct segment_layout *layout, bool *is_small)
{
    if (*is_small && layout->chunk_count <= FIRST_CHUNKS)
        return false;
    *layout = segment_layout_of(*is_small ? layout->chunk_count / 2 : layout->chunk_count, true);
    *is_small = true;
    return true;
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

static void write_header(struct segment *s, const struct session_control *control, uint64_t segment_id)
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
    h->is_small = s->layout.level_count < SESSION_NAME_LEVELS;
    h->heartbeat_ns = clock_raw_ns();
    capture_use(&control->capture);
    capture_describe(h, control->is_paused != 0);
    read_command(h);
    h->magic = SESSION_SEGMENT_MAGIC;
}

/* Memory from the start, of [at, at + bytes). */
static int commit_part(const struct segment *s, int fd, bool can_populate, size_t at, size_t bytes)
{
    if (can_populate)
        return commit(s, at, bytes) ? 0 : ENOSPC;
    return posix_fallocate(fd, (off_t)at, (off_t)bytes);
}

/* The chunks that a segment has from the start; `all`: as many as there is memory for. There is room for the first. */
static int commit_chunks(struct segment *s, int fd, bool can_populate, uint32_t wanted, bool all)
{
    const struct segment_layout *l = &s->layout;
    uint64_t *map = (uint64_t *)(void *)(s->memory + l->free_map);
    uint32_t have = 0;
    int failed = 0;
    wanted = wanted < l->chunk_count ? wanted : l->chunk_count;
    while (have < wanted && !failed) {
        uint32_t step = wanted - have < MAX_STEP_CHUNKS ? wanted - have : MAX_STEP_CHUNKS;
        failed = wanted <= FIRST_CHUNKS || cgroup_has_room(step * CHUNK_BYTES) ? 0 : ENOMEM;
        if (!failed)
            failed = commit_part(s, fd, can_populate, l->descriptors + have * sizeof(struct chunk_descriptor),
                                 step * sizeof(struct chunk_descriptor));
        if (!failed)
            failed = commit_part(s, fd, can_populate, l->chunks + have * CHUNK_BYTES, step * CHUNK_BYTES);
        for (uint32_t i = have; !failed && i < have + step; i++)
            map[i / 64] |= (uint64_t)!is_avoided(i) << (i % 64);
        have += failed ? 0 : step;
    }
    s->header->chunks_committed = have;
    return all && have ? 0 : failed;
}

/* First memory: with MADV_POPULATE_WRITE a little of everything. Without it, or for a program that must not call the
 * kernel later on (OPSCOPE_EAGER), all there will ever be. */
static int commit_first(struct segment *s, int fd, bool is_eager)
{
    const struct segment_layout *l = &s->layout;
    struct segment_header *h = s->header;
    const size_t first = l->processes + SESSION_PAGE;
    bool can_populate = madvise(s->memory, first, MADV_POPULATE_WRITE) == 0;
    if (!can_populate && errno != EINVAL)
        return errno == EFAULT ? ENOSPC : errno;
    bool can_grow = can_populate && !is_eager;
    size_t ids = can_grow ? SESSION_PAGE : 64 * SESSION_PAGE, names = can_grow ? SESSION_PAGE : FIXED_NAMES;
    int failed = can_populate ? 0 : commit_part(s, fd, false, 0, first);
    if (!failed && !can_grow)
        failed = commit_part(s, fd, can_populate, l->late, SESSION_PAGE);
    if (!failed)
        failed = commit_part(s, fd, can_populate, l->name_ids, ids);
    if (!failed)
        failed = commit_part(s, fd, can_populate, l->names, names);
    for (uint32_t i = 1; !failed && !can_grow && i < FIXED_LEVELS; i++)
        failed = commit_part(s, fd, can_populate, l->levels[i], segment_level_slots(i) * sizeof(uint32_t));
    if (failed)
        return failed;
    h->processes_committed = (uint32_t)(SESSION_PAGE / sizeof(struct session_process));
    h->ids_committed = (uint32_t)(ids / sizeof(uint32_t));
    h->names_committed = names;
    h->levels_committed = can_grow ? 1 : (1u << FIXED_LEVELS) - 1;
    h->late_pages[0] = can_grow ? 0 : 1;
    h->can_grow = can_grow;
    uint32_t chunks = can_grow ? FIRST_CHUNKS : is_eager ? l->chunk_count : FIXED_CHUNKS;
    return commit_chunks(s, fd, can_populate, chunks, !can_grow);
}

/* Maps without locking: after mlockall(MCL_FUTURE) all of the mapping would get memory, if the file were not still
 * empty, and later on be locked with it. */
static void *map_unlocked(int fd, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED)
        return NULL;
    munlock(memory, bytes);
    return memory;
}

/* Ids of names are kept in the program (in its sites), so they must mean the same in the next segment. */
static bool carry_names(struct segment *to, const struct segment *from)
{
    const struct segment_layout *l = &from->layout;
    const struct segment_header *had = from->header;
    struct segment_header *h = to->header;
    uint64_t bytes = had->names_used < had->names_committed ? had->names_used : had->names_committed;
    size_t ids = (size_t)had->ids_committed * sizeof(uint32_t);
    if (bytes > l->names_bytes ||
        had->ids_committed > segment_page_up((l->name_count + 1) * sizeof(uint32_t)) / 4)
        return false;   /* somebody else has written into it */
    if (!h->can_grow) { /* there is what there is */
        if (bytes > h->names_committed || had->ids_committed > h->ids_committed ||
            had->levels_committed & ~h->levels_committed)
            return false;
    } else if (!cgroup_has_room((size_t)bytes + ids) || !commit(to, l->names, (size_t)bytes) ||
               !commit(to, l->name_ids, ids)) {
        return false;
    }
    memcpy(to->memory + l->names, from->memory + l->names, (size_t)bytes);
    memcpy(to->memory + l->name_ids, from->memory + l->name_ids, ids);
    for (uint32_t i = 0; i < l->level_count; i++) {
        size_t level = segment_level_slots(i) * sizeof(uint32_t);
        if (!(had->levels_committed & (1u << i)))
            continue;
        if (h->can_grow && !commit(to, l->levels[i], level))
            return false;
        memcpy(to->memory + l->levels[i], from->memory + l->levels[i], level);
    }
    if (h->can_grow) {
        h->levels_committed = had->levels_committed;
        h->ids_committed = had->ids_committed;
        h->names_committed = segment_page_up((size_t)bytes);
    }
    h->name_count = had->name_count;
    h->names_used = bytes;
    return true;
}

/* earlier: a segment of the same layout is wanted, or none. */
static int map_segment(struct segment *s, int fd, uint32_t chunks, const struct segment *earlier)
{
    bool is_small = false;
    struct segment_layout layout = earlier ? earlier->layout : segment_layout_of(chunks, is_small);
    uint64_t room = earlier ? UINT64_MAX : room_for_segment();
    for (;;) {
        void *memory = layout.total <= room ? map_unlocked(fd, layout.total) : NULL;
        if (memory) {
            madvise(memory, layout.total, MADV_DONTDUMP);
            s->layout = layout;
            s->memory = memory;
            s->header = memory;
            return ftruncate(fd, (off_t)layout.total) == 0 ? 0 : errno;
        }
        if (earlier || !make_smaller(&layout, &is_small))
            return layout.total > room_for_file() ? EFBIG : ENOMEM;
    }
}

/* earlier: of the session before this one, whose names and size this one takes over; NULL: there is none. */
static int build_segment(struct segment *s, int fd, const struct session_place *place, uint64_t id,
                         const struct segment *earlier)
{
    if (place->owner != geteuid() && fchown(fd, place->owner, place->group) != 0)
        return errno;
    int failed = map_segment(s, fd, wanted_chunks(&place->control), earlier);
    if (failed)
        return failed;
    cgroup_trust(place->control.cgroup_signature);
    if (!cgroup_has_room((size_t)16 * SESSION_PAGE + FIRST_CHUNKS * CHUNK_BYTES))
        return ENOMEM;
    failed = commit_first(s, fd, secure_getenv("OPSCOPE_EAGER") != NULL);
    if (failed)
        return failed;
    write_header(s, &place->control, id);
    return earlier && !carry_names(s, earlier) ? ENOMEM : 0;
}

static int make_segment(struct segment *s, struct session_place *place, const struct segment *earlier)
{
    uint64_t id = random_id();
    put_number(place->file, put_file(place, place->file, "/."), id, 16, 16);
    size_t at = put_number(place->renamed, put_file(place, place->renamed, "/"), id, 16, 16);
    put_text(place->renamed, at, SESSION_SEGMENT_SUFFIX);
    *s = (struct segment){0};
    int fd = open(place->file, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno;
    int failed = build_segment(s, fd, place, id, earlier);
    if (!failed && rename(place->file, place->renamed) != 0)
        failed = errno;
    close(fd);
    if (failed) {
        unlink(place->file);
        if (s->memory)
            munmap(s->memory, s->layout.total);
        *s = (struct segment){0};
    }
    return failed;
}

static struct session_place place; /* used under the process's lock */

bool segment_attach(void)
{
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

/* FOLDER/<name of the segment without its ending>.<pid><suffix>: for what belongs to this process beside its segment,
 * and is the collector's when the process has ended. */
OPSCOPE_API int opscope_session_file_(const char *suffix, char *out, size_t size)
{
    const struct segment_header *h = cursor_of_thread() ? recorder_segment.header : NULL;
    if (!h || strlen(place.path) + strlen(suffix) + 64 > size)
        return ENOENT;
    size_t at = put_text(out, put_text(out, 0, place.path), "/");
    at = put_text(out, put_number(out, at, h->pid, 10, 1), "-");
    at = put_text(out, put_number(out, at, h->segment_id, 16, 16), ".");
    put_text(out, put_number(out, at, (uint64_t)getpid(), 10, 1), suffix);
    return 0;
}

/* --- processes --- */

static struct session_process *process_row(uint32_t row)
{
    return (struct session_process *)(void *)(recorder_segment.memory + recorder_segment.layout.processes) +
           row;
}

/* A row of a process that is gone. */
static bool claim_free_row(struct process_state *state)
{
    struct segment_header *h = recorder_segment.header;
    if (!__atomic_load_n(&h->processes_free, __ATOMIC_ACQUIRE))
        return false;
    uint32_t count = __atomic_load_n(&h->process_count, __ATOMIC_RELAXED);
    uint32_t committed = __atomic_load_n(&h->processes_committed, __ATOMIC_ACQUIRE);
    const uint32_t most = recorder_segment.layout.process_count;
    count = count < committed ? count : committed;
    for (uint32_t row = 0; row < count && row < most; row++) {
        uint32_t expected = PROCESS_FREE;
        if (!__atomic_compare_exchange_n(&process_row(row)->state, &expected, PROCESS_TAKEN, false,
                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        __atomic_fetch_sub(&h->processes_free, 1, __ATOMIC_RELAXED);
        process_row(row)->generation++;
        state->claimed = row + 1;
        return true;
    }
    return false;
}

/* A row that nobody has had yet, given memory. */
static bool claim_new_row(struct process_state *state)
{
    struct segment_header *h = recorder_segment.header;
    if (!state->claimed)
        state->claimed = __atomic_fetch_add(&h->process_count, 1, __ATOMIC_RELAXED) + 1;
    uint32_t row = state->claimed - 1;
    if (row >= recorder_segment.layout.process_count ||
        (state->grow_not_before_ns && clock_raw_ns() < state->grow_not_before_ns))
        return false;
    uint32_t have = __atomic_load_n(&h->processes_committed, __ATOMIC_ACQUIRE);
    if (row < have)
        return true;
    uint32_t now = row / 64 * 64 + 64;
    size_t at = recorder_segment.layout.processes + (size_t)have * sizeof(struct session_process);
    if (!segment_commit(at, (size_t)(now - have) * sizeof(struct session_process))) {
        __atomic_fetch_add(&h->growth_failures, 1, __ATOMIC_RELAXED);
        state->grow_not_before_ns = clock_raw_ns() + RETRY_GROWTH_NS;
        return false;
    }
    while (have < now && !__atomic_compare_exchange_n(&h->processes_committed, &have, now, false,
                                                      __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
        ;
    return true;
}

bool process_register(struct process_state *state)
{
    if (!claim_free_row(state) && !claim_new_row(state))
        return false;
    struct session_process *p = process_row(state->claimed - 1);
    p->pid = (uint32_t)getpid();
    p->parent_pid = (uint32_t)getppid();
    p->start_ticks = clock_ticks(recorder_segment.header->clock_source);
    p->start_raw_ns = clock_raw_ns();
    prctl(PR_GET_NAME, p->comm);
    state->slot = state->claimed - 1;
    state->owner = SESSION_OWNER(state->slot, p->generation);
    __atomic_store_n(&p->state, PROCESS_VALID, __ATOMIC_SEQ_CST);
    state->is_registered = 1;
    capture_settle();
    return true;
}

/* --- chunks --- */

static int32_t take_free(void)
{
    uint64_t *map = (uint64_t *)(void *)(recorder_segment.memory + recorder_segment.layout.free_map);
    uint32_t most = recorder_segment.layout.chunk_count;
    uint32_t committed = __atomic_load_n(&recorder_segment.header->chunks_committed, __ATOMIC_ACQUIRE);
    uint32_t words = ((committed < most ? committed : most) + 63) / 64;
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

int32_t segment_take_chunk(struct thread_cursor *waiter)
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
        if (chunk >= 0 || !waiter || wait_is_hopeless(&wait))
            return chunk;
        int saved = errno;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        errno = saved;
        waiter->nested_failures = 0; /* the handlers that came meanwhile have returned */
    }
}

__attribute__((constructor)) static void check_environment(void)
{
    if (!secure_getenv(SESSION_VARIABLE))
        recorder_switch_off();
    else if (secure_getenv("OPSCOPE_EAGER"))
        cursor_of_thread(); /* for programs that enter seccomp before their first zone */
    capture_prepare();
}
