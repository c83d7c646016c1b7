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

#include "record/recorder.h"

static inline bool fast_layout_fits(void)
{
    return opscope_recorder_layout_() == RECORDER_LAYOUT;
}

static inline bool fast_take_back(struct thread_cursor *c, uint32_t index)
{
    c->index = index;
    c->nest--;
    return false;
}

static inline void fast_write(struct thread_cursor *c, uint32_t index, unsigned kind, uint64_t word)
{
    struct slot *slot = c->base + index;
    slot->time_kind = slot_time_kind(clock_ticks(c->clock_source), kind);
    slot->word = word;
    cursor_publish(c);
}

static inline bool fast_begin(struct thread_cursor *c, uint32_t id)
{
    if (UNLIKELY(!id || c->skip))
        return false;
    c->nest++;
    uint32_t index = cursor_advance(&c->index, 1);
    if (UNLIKELY(index + 1 + c->depth + 1 + CURSOR_SLACK + c->nest > c->limit))
        return fast_take_back(c, index);
    c->depth++;
    cursor_count(&c->zones);
    fast_write(c, index, RECORD_ZONE_BEGIN, id);
    return true;
}

static inline bool fast_end(struct thread_cursor *c)
{
    if (UNLIKELY(!c || c->skip || c->depth == 0))
        return false;
    c->nest++;
    uint32_t index = cursor_advance(&c->index, 1);
    if (UNLIKELY(index + 1 > c->limit))
        return fast_take_back(c, index);
    c->depth--;
    fast_write(c, index, RECORD_ZONE_END, 0);
    return true;
}

#endif
