/* SPDX-License-Identifier: Apache-2.0 */
/* A zone's begin and end without a call into the recorder: what opscope_zone_begin_ and opscope_zone_end_ do when
 * nothing is in the way (src/record/recorder.h has the reasons). In every other case these return false with nothing
 * changed, and the caller makes the call. On 3.11 this is a tenth of a recorded call's cost; nearly all the rest is
 * the two readings of the CPU's counter and that calls are no longer inlined.
 *
 * A record that does not fit is taken back by giving its slot back before nest: a signal handler in between meets the
 * same full chunk that the recorder's own slow path leaves it.
 *
 * The clock is read before the slot is taken: reading it waits for what was begun before, and taking a slot is slow
 * to end. A handler that records in between comes first in the stream with a later time; the collector lets no time go
 * back, so the record then begins or ends where the handler's last one did. */
#ifndef OPSCOPE_PYTHON_FAST_H
#define OPSCOPE_PYTHON_FAST_H

#include "python/src/native.h"
#include "record/recorder.h"

/* May the functions below be used? The recorder's clock must be the CPU's counter, too. Sets the thread up. */
static inline bool fast_is_possible(void)
{
    if (opscope_recorder_layout_() != RECORDER_LAYOUT || !opscope_now_())
        return false;
    return recorder_cursor && recorder_cursor->clock_source == CLOCK_SOURCE_COUNTER;
}

static inline bool fast_take_back(struct thread_cursor *c, uint32_t index)
{
    c->index = index;
    c->nest = 0;
    return false;
}

/* end: what index was when the record was made. A handler that has recorded since is published by the loop. */
static inline bool fast_publish(struct thread_cursor *c, uint32_t end)
{
    __atomic_store_n(c->published, end, __ATOMIC_RELEASE);
    c->nest = 0;
    if (UNLIKELY(c->index != end)) {
        c->nest = 1;
        cursor_publish_as(c, 1);
    }
    return true;
}

/* Begin: room is left for its own end and those of all zones already open. */
static inline bool fast_begin(struct thread_cursor *c, uint32_t id)
{
    if (UNLIKELY(c->skip || c->nest))
        return false;
    uint64_t now = clock_counter();
    c->nest = 1;
    uint32_t depth = c->depth, index = cursor_advance(&c->index, 1);
    if (UNLIKELY(index + depth + 2 + CURSOR_SLACK + 1 > c->limit))
        return fast_take_back(c, index);
    c->depth = depth + 1;
    cursor_count(&c->zones);
    struct slot *slot = c->base + index;
    *slot = (struct slot){slot_time_kind(now, RECORD_ZONE_BEGIN), id};
    return fast_publish(c, index + 1);
}

static inline bool fast_end(struct thread_cursor *c)
{
    uint32_t depth;
    if (UNLIKELY(!c || c->skip || c->nest || (depth = c->depth) == 0))
        return false;
    uint64_t now = clock_counter();
    c->nest = 1;
    uint32_t index = cursor_advance(&c->index, 1);
    if (UNLIKELY(index >= c->limit))
        return fast_take_back(c, index);
    c->depth = depth - 1;
    c->base[index] = (struct slot){slot_time_kind(now, RECORD_ZONE_END), 0};
    return fast_publish(c, index + 1);
}

/* The end of a line and the begin of the next, at the same time: one reading of the clock for both. */
static inline bool fast_end_begin(struct thread_cursor *c, uint32_t id)
{
    uint32_t depth;
    if (UNLIKELY(c->skip || c->nest || (depth = c->depth) == 0))
        return false;
    uint64_t now = clock_counter();
    c->nest = 1;
    uint32_t index = cursor_advance(&c->index, 2);
    if (UNLIKELY(index + depth + 3 + CURSOR_SLACK + 1 > c->limit))
        return fast_take_back(c, index);
    cursor_count(&c->zones);
    c->base[index] = (struct slot){slot_time_kind(now, RECORD_ZONE_END), 0};
    c->base[index + 1] = (struct slot){slot_time_kind(now, RECORD_ZONE_BEGIN), id};
    return fast_publish(c, index + 2);
}

/* The end of a line and of its function. */
static inline bool fast_end_two(struct thread_cursor *c)
{
    uint32_t depth;
    if (UNLIKELY(!c || c->skip || c->nest || (depth = c->depth) < 2))
        return false;
    uint64_t now = clock_counter();
    c->nest = 1;
    uint32_t index = cursor_advance(&c->index, 2);
    if (UNLIKELY(index + 2 > c->limit))
        return fast_take_back(c, index);
    c->depth = depth - 2;
    uint64_t end = slot_time_kind(now, RECORD_ZONE_END);
    c->base[index] = (struct slot){end, 0};
    c->base[index + 1] = (struct slot){end, 0};
    return fast_publish(c, index + 2);
}

/* A line of the innermost call begins; depth is what its function's zone has open with it. False when that has to go
 * the long way (code_site_line_begins). */
static inline bool fast_line(struct thread_stack *t, const struct code_site *site, uint32_t depth,
                             uint32_t line)
{
    struct thread_cursor *c = recorder_cursor;
    uint32_t index = line - site->site.line; /* of an earlier line: beyond any count */
    uint32_t id = LIKELY(index < site->line_count) ? site->lines[index].id : 0;
    if (UNLIKELY(!hook_is_fast || !id || !c))
        return false;
    if (UNLIKELY(t->scope_count &&
                 t->scopes[t->scope_count - 1].depth >= depth)) /* a with block's lines are inside */
        return false;
    if (t->depth == depth + 1)
        return fast_end_begin(c, id);
    if (UNLIKELY(t->depth != depth || !fast_begin(c, id)))
        return false;
    t->depth++;
    return true;
}

/* The innermost call, when it is recorded and of this code object. */
static inline const struct open_call *innermost_call(const struct thread_stack *t, const void *key)
{
    const struct open_call *call = &t->calls[t->call_count - 1];
    return LIKELY(t->call_count && call->key == key && call->is_shown) ? call : NULL;
}

/* A call that was told of returns. False when that has to go the long way. */
static inline bool fast_end_call(struct thread_stack *t, const void *key)
{
    const struct open_call *call = innermost_call(t, key);
    if (UNLIKELY(!call || call->has_task || !hook_is_fast))
        return false;
    uint32_t above = t->depth - call->depth;
    /* scopes that are open above it go the long way */
    if (UNLIKELY(above == 1   ? !fast_end(recorder_cursor)
                 : above == 2 ? t->scope_count || !fast_end_two(recorder_cursor)
                              : true))
        return false;
    t->depth = call->depth;
    t->is_muted = call->was_muted;
    t->call_count--;
    return true;
}

/* False when the call's begin has to go the long way. */
static inline bool fast_begin_call(struct thread_stack *t, PyCodeObject *code)
{
    const struct code_site *site = code_site_known(code);
    struct thread_cursor *c = recorder_cursor;
    if (UNLIKELY(!site || site->special || !hook_is_fast || t->ready_run != hook_run || t->is_muted || !c ||
                 t->call_count == t->call_capacity || !fast_begin(c, site->site.id)))
        return false;
    t->calls[t->call_count++] = (struct open_call){code, t->depth++, true, false, false};
    return true;
}

#endif
