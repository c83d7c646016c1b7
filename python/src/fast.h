/* SPDX-License-Identifier: Apache-2.0 */
/* A zone's begin and end without a call into the recorder: what opscope_zone_begin_ and opscope_zone_end_ do when
 * nothing is in the way (src/record/recorder.h has the reasons). In every other case these return false with nothing
 * changed, and the caller makes the call. On 3.11 this is a tenth of a recorded call's cost; nearly all the rest is
 * the two readings of the CPU's counter and that calls are no longer inlined.
 *
 * A record that does not fit is taken back by giving its slot back before nest: a signal handler in between meets the
 * same full chunk that the recorder's own slow path leaves it. */
#ifndef OPSCOPE_PYTHON_FAST_H
#define OPSCOPE_PYTHON_FAST_H

#include "native.h"
#include "record/recorder.h"

/* May the functions below be used? The recorder's clock must be the CPU's counter, too. Sets the thread up. */
static inline bool fast_is_possible(void)
{
    if (opscope_recorder_layout_() != RECORDER_LAYOUT || !opscope_now_())
        return false;
    return recorder_cursor && recorder_cursor->clock_source == CLOCK_SOURCE_COUNTER;
}

static inline bool fast_take_back(struct thread_cursor *c, uint32_t index, uint32_t nest)
{
    c->index = index;
    c->nest = nest - 1;
    return false;
}

/* Begin: room is left for its own end and those of all zones already open. */
static inline bool fast_begin(struct thread_cursor *c, uint32_t id)
{
    if (UNLIKELY(!id || c->skip))
        return false;
    uint32_t nest = c->nest + 1, depth = c->depth;
    c->nest = nest;
    uint32_t index = cursor_advance(&c->index, 1);
    if (UNLIKELY(index + 1 + depth + 1 + CURSOR_SLACK + nest > c->limit))
        return fast_take_back(c, index, nest);
    c->depth = depth + 1;
    cursor_count(&c->zones);
    c->base[index] = (struct slot){slot_time_kind(clock_counter(), RECORD_ZONE_BEGIN), id};
    cursor_publish_as(c, nest);
    return true;
}

static inline bool fast_end(struct thread_cursor *c)
{
    if (UNLIKELY(!c || c->skip || c->depth == 0))
        return false;
    uint32_t nest = c->nest + 1;
    c->nest = nest;
    uint32_t index = cursor_advance(&c->index, 1);
    if (UNLIKELY(index + 1 > c->limit))
        return fast_take_back(c, index, nest);
    c->depth--;
    c->base[index] = (struct slot){slot_time_kind(clock_counter(), RECORD_ZONE_END), 0};
    cursor_publish_as(c, nest);
    return true;
}

/* The end of a line and the begin of the next, at the same time: one reading of the clock for both. */
static inline bool fast_end_begin(struct thread_cursor *c, uint32_t id)
{
    if (UNLIKELY(!c || !id || c->skip || c->depth == 0))
        return false;
    uint32_t nest = c->nest + 1;
    c->nest = nest;
    uint32_t index = cursor_advance(&c->index, 2);
    if (UNLIKELY(index + 2 + c->depth + 1 + CURSOR_SLACK + nest > c->limit))
        return fast_take_back(c, index, nest);
    cursor_count(&c->zones);
    uint64_t now = clock_counter();
    c->base[index] = (struct slot){slot_time_kind(now, RECORD_ZONE_END), 0};
    c->base[index + 1] = (struct slot){slot_time_kind(now, RECORD_ZONE_BEGIN), id};
    cursor_publish_as(c, nest);
    return true;
}

/* The end of a line and of its function. */
static inline bool fast_end_two(struct thread_cursor *c)
{
    if (UNLIKELY(!c || c->skip || c->depth < 2))
        return false;
    uint32_t nest = c->nest + 1;
    c->nest = nest;
    uint32_t index = cursor_advance(&c->index, 2);
    if (UNLIKELY(index + 2 > c->limit))
        return fast_take_back(c, index, nest);
    c->depth -= 2;
    uint64_t now = clock_counter();
    c->base[index] = (struct slot){slot_time_kind(now, RECORD_ZONE_END), 0};
    c->base[index + 1] = c->base[index];
    cursor_publish_as(c, nest);
    return true;
}

/* A line of the innermost call begins; depth is what its function's zone has open with it. */
static inline void fast_line(struct thread_stack *t, struct code_site *site, uint32_t depth, uint32_t line)
{
    struct opscope_site *at = code_site_line(site, line);
    if (LIKELY(hook_is_fast && at && recorder_cursor)) {
        if (t->depth == depth + 1 && fast_end_begin(recorder_cursor, at->id))
            return;
        if (t->depth == depth && fast_begin(recorder_cursor, at->id)) {
            t->depth++;
            return;
        }
    }
    stack_pop_to(depth);
    if (at && code_site_begin_line(site, at, line))
        t->depth++;
}

/* A call that was told of returns. */
static inline void fast_end_call(struct thread_stack *t, const void *key)
{
    const struct open_call *call = t->call_count ? &t->calls[t->call_count - 1] : NULL;
    if (LIKELY(hook_is_fast && call && call->key == key && call->is_shown && !call->has_task)) {
        uint32_t above = t->depth - call->depth;
        /* scopes that are open above it go the long way */
        bool is_done = above == 1   ? fast_end(recorder_cursor)
                       : above == 2 ? !t->scope_count && fast_end_two(recorder_cursor)
                                    : false;
        if (LIKELY(is_done)) {
            t->depth = call->depth;
            t->is_muted = call->was_muted;
            t->call_count--;
            return;
        }
    }
    stack_end_call(key);
}

/* False when the call's begin has to go the long way. */
static inline bool fast_begin_call(struct thread_stack *t, PyCodeObject *code)
{
    const struct code_site *site = code_site_known(code);
    struct thread_cursor *c = recorder_cursor;
    if (UNLIKELY(!site || site->special || !hook_is_fast || t->stack_limit == STACK_LIMIT_UNKNOWN ||
                 t->run != hook_run || t->is_muted || !c || t->call_count == t->call_capacity ||
                 !fast_begin(c, site->site.id)))
        return false;
    t->calls[t->call_count++] = (struct open_call){code, t->depth++, true, false, false};
    return true;
}

#endif
