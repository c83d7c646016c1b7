/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls that every program uses: zones, texts, signposts, counters, frames, memory, thread names.
 * opscope_zone_begin_ and opscope_zone_end_ are the hot path; see fast.h for why they are right and docs/benchmarks.md
 * for what they cost. */
#include <string.h>

#include "record/recorder.h"

static inline uint64_t now_kind(const struct thread_cursor *c, unsigned kind)
{
    return slot_time_kind(clock_ticks(c->clock_source), kind);
}

static inline uint64_t id_payload(uint32_t id, uint32_t payload)
{
    return (uint64_t)payload << 32 | id;
}

/* Everything that fast_begin leaves. */
__attribute__((noinline)) static int begin_slow(struct thread_cursor *c, unsigned kind, uint32_t id,
                                                uint32_t colour)
{
    if (UNLIKELY(c->magic != CURSOR_MAGIC) && !(c = cursor_renew(c))) {
        cursor_lose_zone(NULL);
        return 0;
    }
    bool is_captured = UNLIKELY(capture_hears_zones) && capture_zone_begins(c, id);
    if (UNLIKELY(recorder_is_paused()) && !is_captured)
        return 0;
    if (UNLIKELY(c->limit && !c->hot.zone_limit)) /* for a pause that is over? */
        cursor_look_again(c);
    const struct thread_cursor *own = c;
    struct slot *slot = cursor_reserve(&c, 1);
    if (LIKELY(slot)) {
        slot_write(slot, now_kind(c, kind), id_payload(id, colour));
        cursor_did(c, 1, 1, 1);
    } else {
        cursor_lose_zone(c);
        if (!c)
            return 0;
        cursor_hide_zone(c);
    }
    if (UNLIKELY(is_captured) && c == own) /* else a handler has forked, and this is the child */
        capture_zone_has_begun(c);
    return 1;
}

__attribute__((noinline)) static int zone_begin_first(struct opscope_site *site)
{
    struct thread_cursor *c = cursor_of_thread();
    if (!c) {
        cursor_lose_zone(NULL);
        return 0;
    }
    uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    return begin_slow(c, RECORD_ZONE_BEGIN, id ? id : names_site(site), 0);
}

OPSCOPE_API int opscope_zone_begin_rare_(uint64_t *slot, uint64_t word)
{
    struct thread_cursor *c = cursor_known();
    if (c)
        cursor_give_back(c, (struct slot *)(void *)slot, 1);
    else
        c = cursor_of_thread();
    if (!c) {
        cursor_lose_zone(NULL);
        return 0;
    }
    return begin_slow(c, RECORD_ZONE_BEGIN, (uint32_t)word, 0);
}

OPSCOPE_API int opscope_zone_begin_(struct opscope_site *site)
{
    uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    if (UNLIKELY(!id))
        return zone_begin_first(site);
    return opscope_begin_or_(opscope_thread_cursor_, id, opscope_zone_begin_rare_);
}

OPSCOPE_API int opscope_zone_begin_named_(const char *name, size_t length, uint32_t colour)
{
    struct thread_cursor *c = cursor_of_thread();
    if (!c)
        cursor_lose_zone(NULL);
    return c ? begin_slow(c, RECORD_ZONE_BEGIN, names_text(name, length), colour) : 0;
}

static uint32_t task_id(const char *name, size_t length, uint64_t number)
{
    struct name_definition d = {
        .kind = NAME_TASK,
        .value = number,
        .owner = process_state_get()->owner,
        .pieces = {{name, length < SESSION_MAX_NAME_BYTES ? length : SESSION_MAX_NAME_BYTES}},
        .piece_count = 1,
    };
    return names_intern(&d);
}

OPSCOPE_API int opscope_task_begin_(const char *name, size_t length, uint64_t number)
{
    struct thread_cursor *c = cursor_of_thread();
    if (!c) {
        cursor_lose_zone(NULL);
        return 0;
    }
    return begin_slow(c, RECORD_TASK_BEGIN, task_id(name, length, number), 0);
}

__attribute__((noinline)) static void end_slow(struct thread_cursor *c)
{
    if (!cursor_unhide_zone(c)) {
        if (cursor_depth(c) == 0) /* begun before the session, or before the fork */
            return;
        struct slot *slot = cursor_reserve_slow(&c, cursor_take_slots(c, 1), 1, true);
        if (!c || !cursor_depth(c)) /* of an earlier session */
            return;
        if (slot)
            slot_write(slot, now_kind(c, RECORD_ZONE_END), 0);
        cursor_did(c, slot ? 1 : 0, 0, -1);
        if (!slot)
            cursor_end_late(c);
        cursor_zone_ended(c);
    }
    if (UNLIKELY(capture_hears_zones))
        capture_zone_may_have_ended(c);
}

OPSCOPE_API int opscope_zone_end_rare_(uint64_t *slot, uint64_t word)
{
    struct thread_cursor *c = cursor_known();
    (void)word;
    cursor_give_back(c, (struct slot *)(void *)slot, 1);
    end_slow(c);
    return 1;
}

OPSCOPE_API void opscope_zone_end_(void)
{
    struct thread_cursor *c = cursor_fast();
    if (LIKELY(c->hot.state.owed_bytes))
        opscope_end_or_(&c->hot, opscope_zone_end_rare_);
    else if ((c = cursor_known()))
        end_slow(c);
}

/* A record of `count` slots after its head, also while paused. */
static void emit_always(unsigned kind, uint32_t id, uint32_t payload, const struct slot *more, uint32_t count)
{
    struct thread_cursor *c = cursor_of_thread();
    struct slot *slot = c ? cursor_reserve(&c, 1 + count) : NULL;
    if (!slot) {
        cursor_lose_record(c);
        return;
    }
    cursor_write(c, slot, now_kind(c, kind), id_payload(id, payload | count << 24), more, count);
}

static void emit(unsigned kind, uint32_t id, uint32_t payload, const struct slot *more, uint32_t count)
{
    if (!recorder_is_paused())
        emit_always(kind, id, payload, more, count);
}

void record_pause(bool is_paused)
{
    emit_always(RECORD_PAUSE, is_paused, 0, NULL, 0);
}

/* Text in pieces of at most 4,080 bytes; head and tail are two parts of one text (signpost: header NUL message). */
static void emit_text(unsigned kind, const char *head, size_t head_length, const char *tail,
                      size_t tail_length)
{
    struct thread_cursor *c = cursor_of_thread();
    if (recorder_is_paused())
        return;
    if (!c) {
        cursor_lose_record(NULL);
        return;
    }
    const size_t most = (size_t)1 << 20, piece_bytes = SESSION_PIECE_SLOTS * sizeof(struct slot);
    if (head_length > most || tail_length > most - head_length) { /* what is cut off is counted */
        cursor_lose_record(c);
        head_length = head_length < most ? head_length : most;
        tail_length = tail_length < most - head_length ? tail_length : most - head_length;
    }
    size_t total = head_length + tail_length, offset = 0;
    do {
        size_t bytes = total - offset < piece_bytes ? total - offset : piece_bytes;
        uint32_t slots = (uint32_t)((bytes + sizeof(struct slot) - 1) / sizeof(struct slot));
        struct slot *slot = cursor_reserve(&c, 1 + slots);
        if (!slot) {
            cursor_lose_record(c);
            return;
        }
        slot->word = id_payload((uint32_t)total, (uint32_t)offset | slots << 24);
        char *out = (char *)(slot + 1);
        size_t from_head = offset < head_length ? head_length - offset : 0;
        from_head = from_head < bytes ? from_head : bytes;
        if (from_head)
            copy_bytes(out, head + offset, from_head);
        if (bytes > from_head)
            copy_bytes(out + from_head, tail + (offset + from_head - head_length), bytes - from_head);
        slot_show(slot, now_kind(c, kind));
        cursor_did(c, 1 + slots, 0, 0);
        offset += bytes;
    } while (offset < total);
}

/* Extras of an unrecorded zone are not recorded either. */
static bool zone_is_skipped(void)
{
    const struct thread_cursor *c = cursor_fast();
    return !cursor_depth(c) || cursor_hides(c);
}

OPSCOPE_API void opscope_zone_text_(const char *text, size_t length)
{
    if (!zone_is_skipped())
        emit_text(RECORD_ZONE_TEXT, text, length, NULL, 0);
}

OPSCOPE_API void opscope_zone_value_(uint64_t value)
{
    if (!zone_is_skipped())
        emit(RECORD_ZONE_VALUE, 0, 0, &(struct slot){value, 0}, 1);
}

OPSCOPE_API void opscope_zone_colour_(uint32_t colour)
{
    if (!zone_is_skipped())
        emit(RECORD_ZONE_COLOUR, 0, colour & 0xffffff, NULL, 0);
}

OPSCOPE_API void opscope_task_switch_(const char *name, size_t length, uint64_t number)
{
    struct thread_cursor *c = cursor_of_thread();
    emit_always(RECORD_TASK_SWITCH, c && name ? task_id(name, length, number) : 0, 0, NULL, 0);
}

/* A span whose begin found no room is lost; its end then says nothing. */
OPSCOPE_API void opscope_span_begin_(const char *name, size_t length, uint64_t number)
{
    uint32_t id = cursor_of_thread() ? names_text(name, length) : 0;
    emit(RECORD_SPAN_BEGIN, id, 0, &(struct slot){number, 0}, 1);
}

OPSCOPE_API void opscope_span_end_(uint64_t number)
{
    emit_always(RECORD_SPAN_END, 0, 0, &(struct slot){number, 0}, 1);
}

static uint32_t site_id(struct opscope_site *site)
{
    if (!cursor_of_thread())
        return 0;
    uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    return id ? id : names_site(site);
}

_Static_assert((int)OPSCOPE_LOCK_WAIT_ == (int)RECORD_LOCK_WAIT &&
                   (int)OPSCOPE_LOCK_OBTAINED_ == (int)RECORD_LOCK_OBTAINED &&
                   (int)OPSCOPE_LOCK_RELEASED_ == (int)RECORD_LOCK_RELEASED &&
                   (int)OPSCOPE_LOCK_GAVE_UP_ == (int)RECORD_LOCK_GAVE_UP &&
                   (int)OPSCOPE_LOCK_SHARED_ == (int)RECORD_LOCK_SHARED,
               "the recorder's steps of locks are the session's");

/* While paused only what ends is recorded: of a lock that is obtained then, the wait. */
OPSCOPE_API int opscope_lock_(struct opscope_site *name, uint64_t number, int step)
{
    uint32_t payload = (uint32_t)step, kind = payload & RECORD_LOCK_STEPS, id = 0;
    bool begins = kind == RECORD_LOCK_WAIT || kind == RECORD_LOCK_OBTAINED;
    if (begins && recorder_is_paused()) {
        if (kind == RECORD_LOCK_WAIT)
            return 0;
        kind = RECORD_LOCK_GAVE_UP;
        payload = kind | (payload & RECORD_LOCK_SHARED);
        begins = false;
    }
    if (begins)
        id = site_id(name);
    emit_always(RECORD_LOCK, id, payload, &(struct slot){number, 0}, 1);
    return kind == RECORD_LOCK_OBTAINED;
}

OPSCOPE_API void opscope_zone_suspend_(const char *part, size_t length, uint64_t number)
{
    if (!zone_is_skipped())
        emit_always(RECORD_ZONE_SUSPEND, names_text(part, length), 0, &(struct slot){number, 0}, 1);
}

OPSCOPE_API void opscope_message_(const char *text, size_t length)
{
    emit_text(RECORD_MESSAGE, text, length, NULL, 0);
}

OPSCOPE_API void opscope_signpost_(const char *header, const char *message)
{
    header = header ? header : "";
    message = message ? message : "";
    capture_signpost(header, true);
    emit_text(RECORD_SIGNPOST, header, strlen(header) + 1, message, strlen(message));
    capture_signpost(header, false);
}

static uint32_t text_id(const char *text)
{
    return cursor_of_thread() ? names_text(text ? text : "", text ? strlen(text) : 0) : 0;
}

static void emit_counter(uint32_t id, double value)
{
    struct slot more = {0, 0};
    memcpy(&more.time_kind, &value, sizeof value);
    emit(RECORD_COUNTER, id, 0, &more, 1);
}

OPSCOPE_API void opscope_counter_(struct opscope_site *site, double value)
{
    emit_counter(site_id(site), value);
}

OPSCOPE_API void opscope_counter_named_(const char *name, double value)
{
    emit_counter(text_id(name), value);
}

static void mark_frame(struct opscope_site *site, bool ends_a_step)
{
    uint32_t id = site_id(site);
    capture_frame(true, ends_a_step);
    emit(RECORD_FRAME, id, 0, NULL, 0);
    capture_frame(false, ends_a_step);
}

static bool has_frames; /* that the program marks itself */

OPSCOPE_API void opscope_frame_(struct opscope_site *site)
{
    __atomic_store_n(&has_frames, true, __ATOMIC_RELAXED);
    mark_frame(site, false);
}

OPSCOPE_API void opscope_frame_observed_(struct opscope_site *site)
{
    if (!__atomic_load_n(&has_frames, __ATOMIC_RELAXED))
        mark_frame(site, true);
}

OPSCOPE_API void opscope_alloc_(const void *address, size_t size, const char *pool)
{
    emit(RECORD_MEMORY, pool ? text_id(pool) : 0, 0, &(struct slot){(uint64_t)(uintptr_t)address, size}, 1);
}

OPSCOPE_API void opscope_free_(const void *address, const char *pool)
{
    emit(RECORD_MEMORY, pool ? text_id(pool) : 0, 1, &(struct slot){(uint64_t)(uintptr_t)address, 0}, 1);
}

OPSCOPE_API void opscope_free_all_(const char *pool)
{
    emit(RECORD_MEMORY, pool ? text_id(pool) : 0, 3, &(struct slot){0, 0}, 1);
}

OPSCOPE_API void opscope_thread_name_(const char *name)
{
    emit_always(RECORD_THREAD_NAME, text_id(name), 0, NULL, 0);
}

OPSCOPE_API uint32_t opscope_recorder_layout_(void)
{
    return RECORDER_LAYOUT;
}

OPSCOPE_API const char *opscope_recorder_version(void)
{
    return OPSCOPE_VERSION;
}
