/* SPDX-License-Identifier: Apache-2.0 */
/* The fast path of a call, a return and a line: one test that nothing is special, then the recorder's own inline begin
 * and end (record/fast.h). In every other case these return false with nothing changed, and the caller takes the slow
 * path. On 3.11 this is a tenth of a recorded call's cost; nearly all the rest is the two readings of the CPU's counter
 * and that calls are no longer inlined. */
#ifndef OPSCOPE_PYTHON_FAST_H
#define OPSCOPE_PYTHON_FAST_H

#include "python/src/native.h"
#include "record/fast.h"

/* May the functions below be used? The recorder's clock must be the CPU's counter, too. Sets the thread up. */
static inline bool fast_is_possible(void)
{
    if (opscope_recorder_layout_() != RECORDER_LAYOUT || !opscope_now_())
        return false;
    return cursor_fast()->magic == CURSOR_MAGIC && cursor_fast()->clock_source == CLOCK_SOURCE_COUNTER;
}

/* A line of the innermost call begins; depth is what its function's zone has open with it. False when that has to take
 * the slow path (code_site_line_begins). */
static inline bool fast_line(struct thread_stack *t, const struct code_site *site, uint32_t depth,
                             uint32_t line)
{
    struct thread_cursor *c = cursor_fast();
    uint32_t index = line - site->site.line; /* of an earlier line: beyond any count */
    uint32_t id = LIKELY(index < site->line_count) ? site->lines[index].id : 0;
    if (UNLIKELY(!hook_is_fast || !id))
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

/* A call whose begin was recorded returns. False when that has to take the slow path. */
static inline bool fast_end_call(struct thread_stack *t, const void *key)
{
    const struct open_call *call = innermost_call(t, key);
    struct thread_cursor *c = cursor_fast();
    if (UNLIKELY(!call || call->has_task || !hook_is_fast))
        return false;
    uint32_t above = t->depth - call->depth;
    /* scopes that are open above it take the slow path */
    if (UNLIKELY(above == 1 ? !fast_end(c) : above == 2 ? t->scope_count || !fast_end_two(c) : true))
        return false;
    t->depth = call->depth;
    t->is_muted = call->was_muted;
    t->call_count--;
    return true;
}

/* False when the call's begin has to take the slow path. */
static inline bool fast_begin_call(struct thread_stack *t, PyCodeObject *code)
{
    const struct code_site *site = code_site_known(code);
    struct thread_cursor *c = cursor_fast();
    if (UNLIKELY(!site || site->special || !hook_is_fast || t->ready_run != hook_run || t->is_muted ||
                 t->call_count == t->call_capacity || !fast_begin(c, site->site.id)))
        return false;
    t->calls[t->call_count++] = (struct open_call){code, t->depth++, true, false, false};
    return true;
}

#endif
