/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's cursor: setting it up, switching chunks, giving it back, counting what is lost. The argument why this
 * is exact under signals and fork is in fast.h. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/count_of.h"
#include "record/recorder.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define INLINE_KEYS 32u /* pthread keys that need no malloc when set: safe in a signal handler */

/* That of threads which have none: it has no limit. What they take from it is nobody's. */
static struct thread_cursor no_cursor;
__thread struct opscope_cursor_ *opscope_thread_cursor_ = &no_cursor.hot;

struct thread_cursor *cursor_known(void)
{
    struct thread_cursor *c = cursor_fast();
    return LIKELY(c != &no_cursor) ? c : NULL;
}

static pthread_key_t thread_end_key;
static enum { KEY_NONE, KEY_MADE, KEY_DELETED } thread_end_state;

static void lock_state(struct process_state *state)
{
    /* Signals are blocked, so the holder is another thread, and it will let go. */
    while (__atomic_exchange_n(&state->lock, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void unlock_state(struct process_state *state)
{
    __atomic_store_n(&state->lock, 0, __ATOMIC_RELEASE);
}

/* --- loss --- */

static struct session_process *own_process(const struct thread_cursor *c)
{
    return (struct session_process *)(void *)(recorder_segment.memory + recorder_segment.layout.processes) +
           c->process;
}

static void store_losses(struct chunk_descriptor *d, uint32_t zones, uint32_t records)
{
    __atomic_store_n(&d->lost_zones, zones, __ATOMIC_RELAXED);
    __atomic_store_n(&d->lost_records, records, __ATOMIC_RELAXED);
}

/* The chunk that is being taken; NULL when none is. */
static struct chunk_descriptor *arriving(const struct thread_cursor *c)
{
    uint32_t chunk = c->arriving;
    return chunk && chunk <= recorder_segment.layout.chunk_count ? segment_descriptor(chunk - 1) : NULL;
}

/* The counts are in shared memory at once, so that a SIGKILL does not lose them. The loops are for a handler that
 * counts in between: the last store is never older than the count. */
static void share_losses(struct thread_cursor *c)
{
    uint32_t zones, records;
    do {
        struct chunk_descriptor *next = arriving(c);
        zones = c->lost_zones;
        records = c->lost_records;
        if (c->descriptor)
            store_losses(c->descriptor, zones, records);
        if (next)
            store_losses(next, zones, records);
    } while (zones != c->lost_zones || records != c->lost_records);
}

/* With a slot in its hand, so that no handler switches chunks: the one before may be another thread's by then. */
static void count_loss(struct thread_cursor *c, volatile uint32_t *counter)
{
    struct slot *slot = cursor_take_slots(c, 1);
    cursor_count(counter);
    if (c->descriptor)
        share_losses(c);
    cursor_give_back(c, slot, 1);
}

void cursor_lose_zone(struct thread_cursor *c)
{
    if (!c) { /* neither a track nor a process to count for, though there may be a segment */
        if (recorder_segment.is_ready)
            __atomic_fetch_add(&recorder_segment.header->lost_zones, 1, __ATOMIC_RELAXED);
        return;
    }
    if (!c->descriptor) { /* no chunk yet: nothing of our own to count in */
        __atomic_fetch_add(&own_process(c)->lost_zones, 1, __ATOMIC_RELAXED);
        return;
    }
    count_loss(c, &c->lost_zones);
}

void cursor_lose_record(struct thread_cursor *c)
{
    if (!c) {
        if (recorder_segment.is_ready)
            __atomic_fetch_add(&recorder_segment.header->lost_records, 1, __ATOMIC_RELAXED);
        return;
    }
    if (!c->descriptor) {
        __atomic_fetch_add(&own_process(c)->lost_records, 1, __ATOMIC_RELAXED);
        return;
    }
    count_loss(c, &c->lost_records);
}

static bool commit_late_page(uint32_t track)
{
    const struct segment_layout *l = &recorder_segment.layout;
    struct segment_header *h = recorder_segment.header;
    uint32_t page = segment_late_page(track);
    if (track >= l->late_count)
        return false;
    if (__atomic_load_n(&h->late_pages[page / 64], __ATOMIC_ACQUIRE) >> (page % 64) & 1)
        return true;
    if (!h->can_grow || !segment_commit(l->late + page * SESSION_PAGE, SESSION_PAGE))
        return false;
    __atomic_fetch_or(&h->late_pages[page / 64], UINT64_C(1) << (page % 64), __ATOMIC_RELEASE);
    return true;
}

/* A zone ended and there is no chunk to record that in: counted in shared memory, so that it is known even if the
 * thread never gets another chunk. Without memory for that, it is known from the thread's next chunk on. */
void cursor_end_late(struct thread_cursor *c)
{
    size_t at = recorder_segment.layout.late + c->track * sizeof(struct late_ends);
    cursor_count(&c->late_ends);
    if (!c->has_late_page)
        c->has_late_page = commit_late_page(c->track);
    uint32_t count;
    do { /* a handler may count in between */
        count = c->late_ends;
        uint64_t both;
        memcpy(&both, &(struct late_ends){count, (uint32_t)c->sequence}, sizeof both);
        if (c->has_late_page)
            __atomic_store_n((uint64_t *)(void *)(recorder_segment.memory + at), both, __ATOMIC_RELAXED);
    } while (count != c->late_ends);
}

static void note_reason(struct thread_cursor *c, uint16_t flag)
{
    if (c->descriptor)
        c->descriptor->flags = (uint16_t)(c->descriptor->flags | flag);
}

static void clear(struct thread_cursor *c)
{
    struct op_stack *ops = c->ops;
    if (c->magic && ops && ops->count) /* else its memory was perhaps never touched */
        ops->count = 0;
    memset(c, 0, sizeof *c);
    c->ops = ops;
}

/* One that a fork has wiped is not of a block of this process. */
static void give_back(struct thread_cursor *c)
{
    struct process_state *state = process_state_get();
    bool is_known = c->magic == CURSOR_MAGIC || c->magic == CURSOR_STALE;
    clear(c);
    if (!is_known || !state)
        return;
    sigset_t all, saved;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
    lock_state(state);
    c->next_free = state->free_cursors;
    state->free_cursors = c;
    unlock_state(state);
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
}

/* --- chunks --- */

/* Whether zones take the slow path may have changed. A handler that comes in between may have switched chunks: the last
 * store is never of an older chunk than the limit. */
static void update_zone_limit(struct thread_cursor *c)
{
    struct slot *limit;
    do {
        bool is_slow = c->hidden || capture_hears_zones || c->clock_source != CLOCK_SOURCE_COUNTER ||
                       recorder_is_paused();
        limit = c->limit;
        c->hot.zone_limit = is_slow ? NULL : (uint64_t *)(void *)limit;
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    } while (limit != c->limit);
}

/* For the outermost call, which switches chunks. The fast path's limit never is of an older chunk than the other, also
 * where a siglongjmp comes in between. */
static void set_limit(struct thread_cursor *c, struct slot *limit)
{
    c->hot.zone_limit = NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    c->limit = limit;
    update_zone_limit(c);
}

static void set_at(struct thread_cursor *c, struct slot *slot)
{
    c->hot.at = (uint64_t *)(void *)slot;
}

void cursor_look_again(struct thread_cursor *c)
{
    update_zone_limit(c);
}

/* --- zones that are not recorded --- */

/* A handler that comes in between leaves the word as it was, and what it keeps of it is what we keep. */
void cursor_hide_zone(struct thread_cursor *c)
{
    uint64_t hidden = c->hidden, *kept = c->ops->hidden;
    uint32_t below = hidden_below(hidden);
    if (cursor_hides(c)) {
        c->hidden = hidden + (hidden_count(hidden) < HIDDEN_MOST ? HIDDEN_ONE : 0);
        update_zone_limit(c);
        return;
    }
    if (below >= CURSOR_HIDDEN) { /* the outermost are forgotten: most probably their ends will never come */
        below = CURSOR_HIDDEN - 1;
        memmove(kept, kept + 1, below * sizeof *kept);
    }
    if (hidden)
        kept[below++] = hidden;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    c->hidden = (uint64_t)cursor_depth(c) << 32 | HIDDEN_ONE | below;
    update_zone_limit(c);
}

static void leave_hidden(struct thread_cursor *c)
{
    uint32_t below = hidden_below(c->hidden);
    c->hidden = below ? c->ops->hidden[below - 1] : 0;
    update_zone_limit(c);
}

bool cursor_unhide_zone(struct thread_cursor *c)
{
    if (!cursor_hides(c))
        return false;
    if (hidden_count(c->hidden) > 1)
        c->hidden -= HIDDEN_ONE;
    else
        leave_hidden(c);
    return true;
}

/* Of hidden zones inside it no end will come: they were left by siglongjmp. */
void cursor_zone_ended(struct thread_cursor *c)
{
    while (UNLIKELY(c->hidden) && hidden_depth(c->hidden) > cursor_depth(c))
        leave_hidden(c);
}

/* A thread that is setting its limit right now may miss this: its zones are then recorded until its chunk is full. */
void cursors_take_slow_path(void)
{
    struct process_state *state = process_state_get();
    struct thread_cursor *block = state ? __atomic_load_n(&state->blocks, __ATOMIC_ACQUIRE) : NULL;
    for (; block; block = block->next_free)
        for (uint32_t i = 1; i < BLOCK_CURSORS; i++)
            if (block[i].magic == CURSOR_MAGIC)
                block[i].hot.zone_limit = NULL;
}

/* How many slots of its chunk a thread has used: those before the first that it can do without. */
static void note_slots(struct thread_cursor *c, const struct slot *end)
{
    uint32_t slots = cursor_index(c, end);
    if (c->descriptor)
        c->descriptor->slots = slots < CHUNK_SLOTS ? slots : CHUNK_SLOTS;
}

/* Only the outermost call gets here, so every slot is written. */
static void seal(struct chunk_descriptor *d, uint16_t flags)
{
    if (!d)
        return;
    d->flags = (uint16_t)(d->flags | flags);
    __atomic_store_n(&d->state, CHUNK_SEALED, __ATOMIC_RELEASE);
}

/* No handler may switch chunks any more. Which one is left is for whoever finds that we have not come back. */
static void leave(struct thread_cursor *c, const struct chunk_descriptor *d)
{
    c->leaving = d ? (uint32_t)(d - segment_descriptor(0)) + 1 : UINT32_MAX;
}

/* A siglongjmp went out of the switch before the chunk was the thread's: now it is, with nothing in it. */
static void settle_arrival(struct thread_cursor *c)
{
    struct chunk_descriptor *d = arriving(c);
    c->arriving = 0;
    if (!d || d == c->descriptor || __atomic_load_n(&d->state, __ATOMIC_ACQUIRE) != CHUNK_OWNED ||
        d->track != c->track)
        return;
    c->sequence += d->sequence == c->sequence;
    seal(c->descriptor, 0);
    c->descriptor = d;
}

/* A siglongjmp went out of the switch: what comes after the chunk that was left waits for it to be sealed. */
static void seal_left(const struct thread_cursor *c)
{
    if (!c->leaving || c->leaving > recorder_segment.layout.chunk_count)
        return;
    struct chunk_descriptor *d = segment_descriptor(c->leaving - 1);
    if (d != c->descriptor && __atomic_load_n(&d->state, __ATOMIC_ACQUIRE) == CHUNK_OWNED &&
        d->track == c->track)
        seal(d, 0);
}

/* From here on nothing is in the cursor but what is owed. */
static void use_chunk(struct thread_cursor *c, struct slot *base)
{
    c->zones += c->hot.state.all >> 48;
    c->hot.state.all = c->hot.state.owed_bytes;
    c->base = base;
}

static void describe_chunk(struct thread_cursor *c, uint32_t chunk)
{
    struct chunk_descriptor *d = segment_descriptor(chunk);
    d->slots = 0;
    d->process = c->process;
    d->track = c->track;
    d->sequence = c->sequence;
    d->base_ticks = clock_ticks(c->clock_source);
    d->base_raw_ns = clock_raw_ns();
    d->zones_before = c->zones + (c->hot.state.all >> 48);
    d->thread_id = c->thread_id;
    d->depth_at_start = (uint16_t)(cursor_depth(c) < UINT16_MAX ? cursor_depth(c) : UINT16_MAX);
    d->flags = 0;
    c->arriving = chunk + 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    share_losses(c);
    /* Nothing may be counted in a chunk that is not the thread's yet: should the process die, nobody looks at it. */
    __atomic_store_n(&d->state, CHUNK_OWNED, __ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    c->sequence++; /* not before: settle_arrival */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    c->descriptor = d;
    share_losses(c);
    c->arriving = 0;
}

/* Gives the full chunk away before waiting for another: if every thread kept one while it waits, none would ever
 * come free. Ends that are owed and find no chunk later on are reported late. */
static void let_go(struct thread_cursor *c, const struct slot *first, uint32_t slots)
{
    note_slots(c, first);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct chunk_descriptor *old = c->descriptor;
    leave(c, old);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    set_limit(c, NULL);
    use_chunk(c, NULL);
    set_at(c, slot_after(NULL, slots)); /* the caller's: handlers see that they are nested */
    c->descriptor = NULL;               /* from here on handlers count in the process's row */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    seal(old, 0);
    c->leaving = 0;
}

/* Only the outermost call gets here, with its slots taken from *first on: handlers see that they are nested, and find
 * no room. On success `at` is after the caller's slots in the new chunk, which begin at *first. */
static bool next_chunk(struct thread_cursor *c, struct slot **first, uint32_t slots)
{
    if (c->retry > 0) {
        c->retry--;
        return false;
    }
    int32_t chunk = segment_take_chunk(NULL);
    if (chunk < 0 && segment_may_wait()) {
        let_go(c, *first, slots);
        *first = NULL;
        chunk = segment_take_chunk(c);
    }
    if (chunk < 0) {
        c->retry = LOST_RETRY;
        return false;
    }
    note_slots(c, *first);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct chunk_descriptor *old = c->descriptor;
    leave(c, old);
    set_limit(c, NULL); /* nothing may be written until the new chunk is in place */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    describe_chunk(c, (uint32_t)chunk);
    seal(old, 0); /* from here on it may belong to another thread: handlers must count in the new one */
    use_chunk(c, (struct slot *)(void *)(recorder_segment.memory + recorder_segment.layout.chunks +
                                         (size_t)chunk * CHUNK_BYTES));
    *first = c->base;
    if (c->late_ends) {
        uint64_t head = slot_time_kind(clock_ticks(c->clock_source), RECORD_LATE_ENDS);
        cursor_write(c, (*first)++, head, c->late_ends, NULL, 0);
        c->late_ends = 0;
    }
    set_at(c, slot_after(*first, slots));
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    set_limit(c, c->base + CHUNK_SLOTS);
    c->leaving = 0;
    return true;
}

static bool switch_begins(struct process_state *state)
{
    __atomic_fetch_add(&state->inside, 1, __ATOMIC_SEQ_CST);
    if (LIKELY(!__atomic_load_n(&state->is_joining, __ATOMIC_SEQ_CST)))
        return true;
    __atomic_fetch_sub(&state->inside, 1, __ATOMIC_RELEASE);
    return false;
}

static bool switch_chunk(struct thread_cursor *c, struct slot **first, uint32_t slots)
{
    struct process_state *state = process_state_get();
    if (!state || !switch_begins(state))
        return false;
    bool is_done = c->magic == CURSOR_MAGIC && next_chunk(c, first, slots);
    __atomic_fetch_sub(&state->inside, 1, __ATOMIC_RELEASE);
    return is_done;
}

/* A call that interrupted others and found no room, so often that they will never go on (CURSOR_STUCK): now it is the
 * outermost one. A chunk that was being left has had its slots counted. Returns the call's first slot. */
static struct slot *take_over(struct thread_cursor *c, struct slot *slot, uint32_t slots)
{
    if (c->leaving || !c->limit) {
        settle_arrival(c);
        struct chunk_descriptor *old = c->descriptor;
        if (c->limit) /* in place: what came after the jump is in there */
            note_slots(c, slot);
        set_limit(c, NULL);
        seal_left(c);
        c->descriptor = NULL;
        seal(old, 0);
        use_chunk(c, NULL);
        slot = NULL;
        set_at(c, slot_after(slot, slots));
    }
    uint64_t done = (uint64_t)(cursor_index(c, slot) & 0xffff) << 32;
    c->hot.state.all = (c->hot.state.all & ~((uint64_t)0xffff << 32)) | done;
    c->leaving = c->nested_failures = 0;
    return slot;
}

static bool has_room(const struct thread_cursor *c, const struct slot *slot, uint32_t slots)
{
    return slot_after(slot, slots) <= c->limit;
}

static struct slot *reserve_slow(struct thread_cursor *c, struct slot *slot, uint32_t slots, bool is_end)
{
    /* slots of calls that we interrupted */
    uint32_t nested = cursor_index(c, slot) - cursor_done(c) + (c->leaving > 0);
    uint32_t owed = cursor_depth(c) + 1 < CURSOR_RESERVED_ENDS ? cursor_depth(c) + 1 : CURSOR_RESERVED_ENDS;
    uint32_t room = slots + (is_end ? 0 : owed + OPSCOPE_ZONE_SLACK_);
    if (!nested) {
        c->nested_failures = 0;
    } else if (!has_room(c, slot, room + (is_end ? 0 : nested < CHUNK_SLOTS ? nested : CHUNK_SLOTS))) {
        if (++c->nested_failures <= CURSOR_STUCK) {
            note_reason(c, CHUNK_LOST_NESTED);
            cursor_give_back(c, slot, slots);
            return NULL;
        }
        slot = take_over(c, slot, slots);
    }
    if (has_room(c, slot, room))
        return slot; /* a handler, or a stack deeper than the ends we keep room for */
    if (!switch_chunk(c, &slot, slots)) {
        note_reason(c, CHUNK_LOST_FULL);
        cursor_give_back(c, slot, slots);
        return NULL;
    }
    return slot;
}

/* Wiped by fork, or of an earlier session: start afresh. */
struct thread_cursor *cursor_renew(struct thread_cursor *c)
{
    give_back(c);
    opscope_thread_cursor_ = &no_cursor.hot;
    return cursor_of_thread();
}

struct slot *cursor_reserve_slow(struct thread_cursor **cursor, struct slot *slot, uint32_t slots,
                                 bool is_end)
{
    struct thread_cursor *c = *cursor;
    if (UNLIKELY(c->magic != CURSOR_MAGIC)) {
        c = *cursor = cursor_renew(c);
        if (!c || is_end) /* what ends here began where it is not seen */
            return NULL;
        slot = cursor_take_slots(c, slots);
    }
    return reserve_slow(c, slot, slots, is_end);
}

/* --- threads --- */

static void thread_ends(void *unused)
{
    (void)unused;
    struct thread_cursor *c = cursor_known();
    struct process_state *state = process_state_get();
    if (!c || !state)
        return;
    if (c->magic == CURSOR_MAGIC && c->capture_depth)
        capture_zone_ended(c);
    sigset_t all, saved;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
    opscope_thread_cursor_ = &no_cursor.hot;
    if (c->magic == CURSOR_MAGIC) {
        if (c->limit) /* else it was left by siglongjmp */
            note_slots(c, (struct slot *)(void *)c->hot.at);
        settle_arrival(c);
        seal_left(c);
        seal(c->descriptor, CHUNK_LAST);
    }
    give_back(c);
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
}

/* Linked into a plug-in that is unloaded, we go away while threads that we have recorded live: what their end would
 * call must not be called then. The collector learns of it from the process's end. */
__attribute__((destructor)) static void forget_threads(void)
{
    if (thread_end_state == KEY_MADE)
        pthread_key_delete(thread_end_key);
    thread_end_state = KEY_DELETED;
}

/* The first block is there with the state. A forked child does not use that one again: a call that the fork interrupted
 * may still have a cursor in it. */
static struct thread_cursor *new_block(struct process_state *state)
{
    static bool is_first_used;
    if (!is_first_used) {
        is_first_used = true;
        return (struct thread_cursor *)(void *)(state + 1);
    }
    void *memory = mmap(NULL, CURSOR_BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, CURSOR_BLOCK_BYTES, MADV_WIPEONFORK);
    return memory;
}

static struct thread_cursor *allocate_cursor(struct process_state *state)
{
    struct thread_cursor *c = state->free_cursors;
    if (c) {
        state->free_cursors = c->next_free;
        c->next_free = NULL;
        return c;
    }
    if (!state->block_left) {
        c = new_block(state);
        if (!c)
            return NULL;
        c->next_free = state->blocks;
        state->blocks = c;
        state->block = c + 1;
        state->block_left = BLOCK_CURSORS - 1;
    }
    c = state->block++;
    struct thread_cursor *block = state->blocks;
    c->ops = (struct op_stack *)(void *)(block + BLOCK_CURSORS) + (c - block);
    state->block_left--;
    return c;
}

/* A track's first record is its thread's name: the collector may see it only after the thread has ended. */
static void record_thread_name(struct thread_cursor *c)
{
    char name[16] = "";
    if (prctl(PR_GET_NAME, name) != 0)
        return;
    uint32_t id = names_text(name, strnlen(name, sizeof name));
    struct slot *slot = cursor_reserve(&c, 1);
    if (!slot)
        return;
    cursor_write(c, slot, slot_time_kind(clock_ticks(c->clock_source), RECORD_THREAD_NAME), id, NULL, 0);
}

static struct thread_cursor *set_up_thread(void)
{
    struct process_state *state = process_state_get();
    if (!state)
        return NULL;
    struct thread_cursor *c = NULL;
    lock_state(state);
    if (segment_attach() && (state->is_registered || process_register(state)))
        c = allocate_cursor(state);
    if (c && thread_end_state == KEY_NONE && pthread_key_create(&thread_end_key, thread_ends) == 0)
        thread_end_state = KEY_MADE;
    if (c) {
        clear(c);
        c->process = state->slot;
        c->track = __atomic_fetch_add(&recorder_segment.header->track_count, 1, __ATOMIC_RELAXED);
        c->thread_id = (uint32_t)syscall(SYS_gettid);
        c->clock_source = recorder_segment.header->clock_source;
        c->magic = CURSOR_MAGIC;
    }
    unlock_state(state);
    if (!c)
        return NULL;
    if (thread_end_state == KEY_MADE && thread_end_key < INLINE_KEYS)
        pthread_setspecific(thread_end_key, c);
    opscope_thread_cursor_ = &c->hot;
    return c;
}

struct thread_cursor *cursor_of_thread(void)
{
    struct thread_cursor *c = cursor_known();
    if (c && c->magic == CURSOR_MAGIC)
        return c;
    if (!__atomic_load_n(&opscope_recording, __ATOMIC_RELAXED))
        return NULL;
    int saved_errno = errno;
    sigset_t all, saved;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
    c = set_up_thread();
    if (!c && !recorder_segment.is_ready)
        recorder_switch_off();
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    if (c)
        record_thread_name(c);
    errno = saved_errno;
    return c;
}

/* --- one session after another: recorder.h --- */

static void make_stale(struct thread_cursor *c)
{
    if (c->magic != CURSOR_MAGIC && c->magic != CURSOR_STALE)
        return;
    if (c->descriptor)
        segment_avoid(c->descriptor);
    c->magic = CURSOR_STALE;
    c->limit = NULL;
    c->hot.zone_limit = NULL;
    c->arriving = 0;
    c->hot.state.all = c->hidden = c->capture_hidden = c->capture_depth = 0;
}

/* False when some thread does not leave the recorder: it has been stopped there, or left it by siglongjmp. */
static bool all_have_left(struct process_state *state)
{
    uint64_t until = clock_raw_ns() + SESSION_STALE_NS;
    while (__atomic_load_n(&state->inside, __ATOMIC_SEQ_CST)) {
        if (clock_raw_ns() > until)
            return false;
        sched_yield();
    }
    return true;
}

static int join_next(struct process_state *state)
{
    int failed = EBUSY;
    __atomic_store_n(&state->is_joining, 1, __ATOMIC_SEQ_CST);
    if (all_have_left(state)) {
        segment_avoid_none();
        for (struct thread_cursor *block = state->blocks; block; block = block->next_free)
            for (uint32_t i = 1; i < BLOCK_CURSORS; i++)
                make_stale(block + i);
        failed = segment_replace();
        state->is_registered = state->claimed = state->is_alone = 0;
        state->grow_not_before_ns = state->hopeless_taken = 0;
    }
    __atomic_store_n(&state->is_joining, 0, __ATOMIC_SEQ_CST);
    return failed;
}

static void (*leavers[4])(int is_over);
static uint32_t leaver_count;

OPSCOPE_API void opscope_on_leave_(void (*function)(int is_over))
{
    uint32_t place = __atomic_fetch_add(&leaver_count, 1, __ATOMIC_RELAXED);
    if (place < COUNT_OF(leavers))
        __atomic_store_n(&leavers[place], function, __ATOMIC_RELEASE);
}

static void call_leavers(int is_over)
{
    for (size_t i = 0; i < COUNT_OF(leavers); i++) {
        void (*function)(int) = __atomic_load_n(&leavers[i], __ATOMIC_ACQUIRE);
        if (function)
            function(is_over);
    }
}

OPSCOPE_API void opscope_session_leave_(void)
{
    bool was_in_session = opscope_has_session();
    if (was_in_session)
        call_leavers(0);
    recorder_switch_off();
    if (was_in_session)
        call_leavers(1);
}

OPSCOPE_API int opscope_session_join_(void)
{
    struct process_state *state = process_state_get();
    sigset_t all, saved;
    if (!state)
        return ENOMEM;
    recorder_switch_off();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
    lock_state(state);
    int failed = recorder_segment.is_ready ? join_next(state) : segment_attach() ? 0 : ENOENT;
    if (!failed)
        __atomic_store_n(&opscope_recording, RECORDING_ON, __ATOMIC_RELAXED); /* paused: capture_settle */
    unlock_state(state);
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
    return failed;
}
