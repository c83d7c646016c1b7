/* SPDX-License-Identifier: Apache-2.0 */
/* Ops and the device feed: what the runtime of an accelerator hands over. Descriptions (tensors, attributes,
 * devices, tracks) are interned in the segment by content, so a call that repeats costs a look-up and a slot. */
#include <string.h>

#include "record/recorder.h"

#define MAX_RANK 16u
#define MAX_RUN_PARTS 32u /* and as many figures */

static uint64_t word_of(uint32_t id, uint32_t low_payload, uint32_t more_slots)
{
    return (uint64_t)(low_payload | more_slots << 24) << 32 | id;
}

/* Writes one record whose first slot has the given time; false when it was lost. */
__attribute__((noinline)) static bool emit_at(uint64_t ticks, unsigned kind, uint64_t word,
                                              const struct slot *more, uint32_t count)
{
    struct thread_cursor *c = cursor_of_thread();
    struct slot *slot = c ? cursor_reserve(&c, 1 + count) : NULL;
    if (!slot) {
        cursor_lose_record(c);
        return false;
    }
    cursor_write(c, slot, slot_time_kind(ticks, kind), word, more, count);
    return true;
}

static uint32_t text_id(const char *text)
{
    return names_text(text ? text : "", text ? strlen(text) : 0);
}

/* --- ops: a zone on the thread's track with a description --- */

/* Ops that were ended as plain zones, or by an end too many. */
static void drop_ended_ops(struct op_stack *ops, uint32_t depth)
{
    while (ops->count && ops->entries[ops->count - 1].depth > depth)
        ops->count--;
}

/* A handler that comes in between leaves the count as it was, and may have used the entry: hence twice. */
static void push_op(const struct thread_cursor *c, uint64_t call)
{
    struct op_stack *ops = c->ops;
    const struct op_stack_entry entry = {.call = call, .depth = cursor_depth(c)};
    drop_ended_ops(ops, entry.depth - 1);
    uint32_t count = ops->count;
    if (count >= OP_STACK_ENTRIES)
        return;
    ops->entries[count] = entry;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    ops->count = count + 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    ops->entries[count] = entry;
}

OPSCOPE_API uint64_t opscope_op_current_(void)
{
    const struct thread_cursor *c = cursor_fast();
    if (c->magic != CURSOR_MAGIC || !c->ops->count)
        return 0;
    drop_ended_ops(c->ops, cursor_depth(c));
    return c->ops->count ? c->ops->entries[c->ops->count - 1].call : 0;
}

/* Everything that cursor_for_op leaves. */
__attribute__((noinline)) static struct thread_cursor *cursor_for_op_slow(const char *text, uint32_t id,
                                                                          bool *is_captured)
{
    struct thread_cursor *c = cursor_of_thread();
    *is_captured = c && capture_hears_zones && capture_zone_begins(c, text ? text_id(text) : id);
    if (c && recorder_is_paused() && !*is_captured) {
        opscope_zone_hide_();
        return NULL;
    }
    if (!c)
        cursor_lose_zone(NULL);
    else if (c->limit && !c->hot.zone_limit) /* for a pause that is over? */
        cursor_look_again(c);
    return c;
}

/* The cursor of a thread that may begin an op of that name (text, or else id); NULL: it is lost, and counted. */
static inline struct thread_cursor *cursor_for_op(const char *text, uint32_t id, bool *is_captured)
{
    struct thread_cursor *c = cursor_fast();
    *is_captured = false;
    if (LIKELY(c->hot.zone_limit)) /* with it nothing is in the way */
        return c;
    return cursor_for_op_slow(text, id, is_captured);
}

/* --- numbers of calls: each thread takes some at a time, so that none waits for another's cache line --- */

#define CALLS_AT_ONCE 64u

/* A handler that comes in between takes numbers of its own; what is left of either is not used. 0: no memory. */
__attribute__((noinline)) static uint64_t take_calls(struct op_stack *ops)
{
    struct process_state *state = process_state_get();
    if (!state)
        return 0;
    uint64_t first = __atomic_fetch_add(&state->calls, CALLS_AT_ONCE, __ATOMIC_RELAXED) + 1;
    ops->next_call = first + 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    ops->end_call = first + CALLS_AT_ONCE;
    return first;
}

/* False, too, where a handler has seen one of the two words that belong together, and not yet the other. */
static inline bool is_own_call(const struct op_stack *ops, uint64_t call)
{
    return ops->end_call - 1 - call < CALLS_AT_ONCE;
}

static inline uint64_t next_call(struct op_stack *ops)
{
    uint64_t call = ops->next_call;
    if (UNLIKELY(!is_own_call(ops, call)))
        return take_calls(ops);
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    call = 1;
    __asm__ volatile("xaddq %0, %1" : "+r"(call), "+m"(ops->next_call) : : "memory", "cc");
#else
    call = __atomic_fetch_add(&ops->next_call, 1, __ATOMIC_RELAXED);
#endif
    return LIKELY(is_own_call(ops, call)) ? call
                                          : take_calls(ops); /* a handler took the last one in between */
}

/* What follows the head of the record: `second`, after the call's number, and `third`, unless it is NULL. */
static inline uint64_t begin_op(struct thread_cursor *c, uint32_t name, uint32_t type, uint64_t second,
                                const struct slot *third, bool is_captured)
{
    const struct thread_cursor *own = c;
    uint32_t count = third ? 2 : 1;
    struct slot *slot = cursor_reserve(&c, 1 + count);
    if (!slot) {
        cursor_lose_zone(c);
        if (c)
            cursor_hide_zone(c);
        if (UNLIKELY(is_captured) && c == own)
            capture_zone_has_begun(c);
        return 0;
    }
    uint64_t call = next_call(c->ops);
    slot->word = word_of(name, type & 0xff, count);
    slot[1].time_kind = call;
    slot[1].word = second;
    if (third)
        slot[2] = *third;
    slot_show(slot, slot_time_kind(clock_ticks(c->clock_source), RECORD_OP_BEGIN));
    cursor_did(c, 1 + count, 1, 1);
    if (UNLIKELY(is_captured) && c == own) /* else a handler has forked, and this is the child */
        capture_zone_has_begun(c);
    push_op(c, call);
    return call;
}

OPSCOPE_API uint64_t opscope_op_begin_(const char *name, int type, uint32_t device)
{
    bool is_captured;
    struct thread_cursor *c = cursor_for_op(name, 0, &is_captured);
    return c ? begin_op(c, text_id(name), (uint32_t)type, device, NULL, is_captured) : 0;
}

OPSCOPE_API uint64_t opscope_op_begin_id_(uint32_t name, int type, uint32_t device)
{
    bool is_captured;
    struct thread_cursor *c = cursor_for_op(NULL, name, &is_captured);
    return c ? begin_op(c, name, (uint32_t)type, device, NULL, is_captured) : 0;
}

/* Of a zone that is not an op, and of an op that was lost, it is the same as opscope_zone_end_. */
OPSCOPE_API void opscope_op_end_(void)
{
    const struct thread_cursor *c = cursor_fast();
    if (c->magic == CURSOR_MAGIC && !cursor_hides(c) && cursor_depth(c) && c->ops->count)
        drop_ended_ops(c->ops, cursor_depth(c) - 1);
    opscope_zone_end_();
}

OPSCOPE_API int opscope_is_paused_(void)
{
    return recorder_is_paused();
}

/* Begin, attribute and end in one go: one reservation, and one more look at the clock. The first head is written last,
 * so that they can be seen together. */
OPSCOPE_API uint64_t opscope_op_done_(uint32_t name, uint32_t attribute, uint32_t device, uint64_t start)
{
    struct thread_cursor *c = cursor_of_thread();
    if (UNLIKELY(c && !c->hot.zone_limit) && recorder_is_paused()) /* with that limit nothing is in the way */
        return 0;
    uint32_t slots = attribute ? 4 : 3;
    struct slot *slot = c ? cursor_reserve(&c, slots) : NULL;
    if (!slot) {
        cursor_lose_zone(c);
        return 0;
    }
    uint64_t call = next_call(c->ops);
    slot->word = word_of(0, 0, slots - 1); /* if the process dies in here, it left one unfinished record */
    __atomic_signal_fence(__ATOMIC_RELEASE);
    slot[1] = (struct slot){call, device};
    if (attribute)
        slot[2] = (struct slot){slot_time_kind(start, RECORD_OP_PART), word_of(attribute, PART_ATTRIBUTE, 0)};
    slot[slots - 1] = (struct slot){slot_time_kind(clock_ticks(c->clock_source), RECORD_ZONE_END), 0};
    __atomic_signal_fence(__ATOMIC_RELEASE);
    slot->word = word_of(name, OPSCOPE_OP_DEVICE, 1);
    slot_show(slot, slot_time_kind(start, RECORD_OP_BEGIN));
    cursor_did(c, slots, 1, 0);
    return call;
}

static void emit_part(uint32_t role, uint32_t id)
{
    struct thread_cursor *c = cursor_fast();
    if (cursor_depth(c) && !cursor_hides(c))
        emit_at(clock_ticks(c->clock_source), RECORD_OP_PART, word_of(id, role, 0), NULL, 0);
}

/* --- the same for an observer of many ops, which keeps the ids of what it names --- */

OPSCOPE_API uint64_t opscope_op_begin_known_(const struct opscope_known_op *op)
{
    bool is_captured;
    struct thread_cursor *c = cursor_for_op(NULL, op->name, &is_captured);
    if (UNLIKELY(!c))
        return 0;
    uint64_t second = (uint64_t)op->parts << 32 | op->device;
    struct slot third = {op->sequence, op->forward};
    return begin_op(c, op->name, op->type, second, op->sequence == OPSCOPE_NO_SEQUENCE ? NULL : &third,
                    is_captured);
}

/* A part and the end at the same time: one reading of the clock, one place taken for both. */
OPSCOPE_API void opscope_op_end_known_(uint32_t parts)
{
    struct thread_cursor *c = cursor_fast();
    if (parts && c->magic == CURSOR_MAGIC && !cursor_hides(c) && cursor_depth(c)) {
        uint64_t ticks = clock_ticks(c->clock_source);
        struct slot *slot = cursor_reserve(&c, 2);
        if (slot) {
            drop_ended_ops(c->ops, cursor_depth(c) - 1);
            slot[1] = (struct slot){slot_time_kind(ticks, RECORD_ZONE_END), 0};
            slot_write(slot, slot_time_kind(ticks, RECORD_OP_PART), word_of(parts, PART_LIST, 0));
            cursor_did(c, 2, 0, -1);
            cursor_zone_ended(c);
            if (UNLIKELY(capture_hears_zones))
                capture_zone_may_have_ended(c);
            return;
        }
        cursor_lose_record(c);
    }
    opscope_op_end_();
}

/* A text that is put together on a small stack: no printf. */
struct short_text {
    size_t length;
    char data[1024];
};

static void append_text(struct short_text *t, const char *text)
{
    size_t length = strnlen(text, sizeof t->data - t->length);
    memcpy(t->data + t->length, text, length);
    t->length += length;
}

static void append_number(struct short_text *t, int64_t value)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    digits[at] = '\0';
    do
        digits[--at] = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0)
        digits[--at] = '-';
    append_text(t, digits + at);
}

static void append_shape(struct short_text *t, const char *key, const int64_t *shape, uint32_t rank)
{
    append_text(t, key);
    for (uint32_t i = 0; i < rank; i++) {
        if (i)
            append_text(t, "x");
        append_number(t, shape[i]);
    }
}

static void append_field(struct short_text *t, const char *key, const char *value)
{
    if (!value || !*value)
        return;
    append_text(t, key);
    append_text(t, value);
}

OPSCOPE_API void opscope_op_tensor_(int is_output, const struct opscope_tensor *t)
{
    if (!t || !cursor_of_thread())
        return;
    struct short_text text;
    text.length = 0;
    uint32_t rank = t->shape ? (t->rank < MAX_RANK ? t->rank : MAX_RANK) : 0;
    append_shape(&text, "shape=", t->shape, rank);
    if (t->padded_shape)
        append_shape(&text, ";padded=", t->padded_shape, rank);
    append_field(&text, ";dtype=", t->dtype);
    append_field(&text, ";layout=", t->layout);
    append_field(&text, ";memory=", t->memory);
    emit_part(is_output ? PART_OUTPUT : PART_INPUT, names_text(text.data, text.length));
}

OPSCOPE_API void opscope_op_attribute_(const char *key, const char *value)
{
    if (!cursor_of_thread())
        return;
    /* key NUL value, as two pieces: no buffer, so no length limit of ours */
    struct name_definition d = {
        .kind = NAME_TEXT,
        .pieces = {{key ? key : "", key ? strlen(key) : 0}, {value ? value : "", value ? strlen(value) : 0}},
        .piece_count = 2,
    };
    emit_part(PART_ATTRIBUTE, names_intern(&d));
}

OPSCOPE_API void opscope_op_kernel_(const char *name)
{
    if (cursor_of_thread())
        emit_part(PART_KERNEL, text_id(name));
}

/* --- device feed --- */

OPSCOPE_API uint32_t opscope_name_(const char *text, size_t length)
{
    return cursor_of_thread() ? names_text(text, length) : 0;
}

OPSCOPE_API uint64_t opscope_now_(void)
{
    struct thread_cursor *c = cursor_of_thread();
    return c ? clock_ticks(c->clock_source) : 0;
}

static struct name_piece short_piece(const char *text)
{
    return (struct name_piece){text ? text : "", text ? strnlen(text, SESSION_MAX_NAME_BYTES / 4) : 0};
}

/* Members that the caller's struct is too old to have read as zero. */
static struct opscope_device device_of(const struct opscope_device *given)
{
    struct opscope_device device = {0};
    memcpy(&device, given, given->struct_size < sizeof device ? given->struct_size : sizeof device);
    return device;
}

OPSCOPE_API uint32_t opscope_device_open_as_(const struct opscope_device *given)
{
    struct thread_cursor *c = cursor_of_thread();
    if (!c || !given)
        return 0;
    struct opscope_device device = device_of(given);
    struct name_definition d = {
        .kind = NAME_DEVICE,
        .aux = device.number,
        .owner = process_state_get()->owner,
        .pieces = {short_piece(device.name), short_piece(device.architecture), short_piece(device.identity)},
        .piece_count = device.identity && *device.identity           ? 3
                       : device.architecture && *device.architecture ? 2
                                                                     : 1,
    };
    memcpy(&d.value, &device.ticks_per_second, sizeof d.value);
    return names_intern(&d);
}

OPSCOPE_API uint32_t opscope_device_open_(const char *name, uint32_t number, double ticks_per_second)
{
    return opscope_device_open_as_(&(struct opscope_device){.struct_size = sizeof(struct opscope_device),
                                                            .number = number,
                                                            .name = name,
                                                            .ticks_per_second = ticks_per_second});
}

OPSCOPE_API uint32_t opscope_device_track_(uint32_t device, uint32_t parent, int kind, const char *name,
                                           uint64_t number)
{
    if (!device || !cursor_of_thread())
        return 0;
    struct name_definition d = {
        .kind = NAME_DEVICE_TRACK,
        .aux = (uint32_t)kind,
        .value = number,
        .owner = device,
        .parent = parent,
        .pieces = {{name ? name : "", name ? strlen(name) : 0}},
        .piece_count = 1,
    };
    return names_intern(&d);
}

OPSCOPE_API void opscope_device_track_name_(uint32_t track, const char *name)
{
    const struct thread_cursor *c = cursor_of_thread();
    if (c && track)
        emit_at(clock_ticks(c->clock_source), RECORD_THREAD_NAME, word_of(text_id(name), track & 0xffffff, 0),
                NULL, 0);
}

OPSCOPE_API void opscope_device_zone_(uint32_t track, const char *name, uint64_t start_ticks,
                                      uint64_t duration_ticks)
{
    if (!track || !cursor_of_thread())
        return;
    emit_at(start_ticks, RECORD_DEVICE_ZONE, word_of(text_id(name), track & 0xffffff, 1),
            &(struct slot){duration_ticks, slot_high_ticks(start_ticks)}, 1);
}

OPSCOPE_API void opscope_device_run_(const struct opscope_run *run)
{
    if (!run || !run->track || !cursor_of_thread())
        return;
    struct slot more[2 + 2 * MAX_RUN_PARTS];
    uint32_t parts = run->parts ? (run->part_count < MAX_RUN_PARTS ? run->part_count : MAX_RUN_PARTS) : 0;
    uint32_t count = parts;
    bool has_figures = run->struct_size >= sizeof *run && run->figures;
    more[0] = (struct slot){run->duration_ticks, run->op_call};
    more[1] = (struct slot){(uint64_t)run->session << 32 | run->cores,
                            slot_high_ticks(run->start_ticks) | run->flags};
    for (uint32_t i = 0; i < parts; i++)
        more[2 + i] = (struct slot){text_id(run->parts[i].name), run->parts[i].ticks};
    for (uint32_t i = 0; has_figures && i < run->figure_count && i < MAX_RUN_PARTS; i++) {
        const struct opscope_figure *figure = &run->figures[i];
        struct slot *slot = &more[2 + count++];
        *slot = (struct slot){(uint64_t)figure->kind << 32 | text_id(figure->name), figure->value.whole};
        if (figure->kind == OPSCOPE_FIGURE_TEXT)
            slot->word = text_id(figure->value.text);
    }
    emit_at(run->start_ticks, RECORD_DEVICE_RUN,
            word_of(text_id(run->name), run->track & 0xffffff, 2 + count), more, 2 + count);
}

OPSCOPE_API void opscope_device_sync_(uint32_t device, uint64_t host_time, uint64_t device_ticks,
                                      uint64_t uncertainty_ns)
{
    if (device && host_time)
        emit_at(host_time, RECORD_CLOCK_SYNC, word_of(device, 0, 1),
                &(struct slot){device_ticks, uncertainty_ns}, 1);
}

OPSCOPE_API void opscope_device_lost_(uint32_t device, uint64_t count, uint64_t start_ticks,
                                      uint64_t end_ticks)
{
    const struct thread_cursor *c = cursor_of_thread();
    const struct slot more[] = {{start_ticks, end_ticks}, {count, 0}};
    if (c && device && count)
        emit_at(clock_ticks(c->clock_source), RECORD_DEVICE_LOST, word_of(device, 0, 2), more, 2);
}
