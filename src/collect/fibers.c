/* SPDX-License-Identifier: Apache-2.0 */
/* Fibers: a thread that runs several stacks in turn (greenlets), each of which stays open while another runs. Every one
 * has a track below the thread's, and its own stack of open zones: RECORD_TASK_SWITCH says which of them goes on. The
 * one that ran first is the thread's own track.
 *
 * A turn of a coroutine (tasks.c) is another thing: it ends what it began. */
#include <stdlib.h>
#include <string.h>

#include "collect/internal.h"

#define FIELDS(X)                                                                                            \
    X(lane)                                                                                                  \
    X(outer_count)                                                                                           \
    X(stack)                                                                                                 \
    X(depth)                                                                                                 \
    X(stack_capacity)                                                                                        \
    X(too_deep)                                                                                              \
    X(extras)                                                                                                \
    X(extra_count)                                                                                           \
    X(extra_capacity)                                                                                        \
    X(ops)                                                                                                   \
    X(op_count)                                                                                              \
    X(op_capacity)

static void park(struct track *t, struct fiber *fiber)
{
#define SAVE(field) fiber->field = t->field;
    FIELDS(SAVE)
    memcpy(fiber->outer, t->outer, sizeof fiber->outer);
    t->parked_zones += fiber->depth;
}

void fiber_show(const struct fiber *fiber, struct track *t)
{
#define LOAD(field) t->field = fiber->field;
    FIELDS(LOAD)
    memcpy(t->outer, fiber->outer, sizeof t->outer);
}

static void resume(struct track *t, uint32_t index)
{
    fiber_show(&t->fibers[index], t);
    t->parked_zones -= t->fibers[index].depth;
    t->fibers[index] = (struct fiber){0}; /* all of it is the track's now */
    t->fiber = index;
}

/* MAP_NONE: no room. */
static uint32_t find_fiber(struct source *s, struct track *t, uint32_t definition)
{
    uint32_t index = map_get(&t->fiber_of, definition);
    if (index != MAP_NONE)
        return index;
    struct track_lane lane = t->lane;
    if (definition && !task_lane(s, t, definition, &lane))
        return MAP_NONE;
    if (!array_reserve(&t->fibers, &t->fiber_capacity, t->fiber_count + 1, sizeof *t->fibers) ||
        !map_put(&t->fiber_of, definition, (uint32_t)t->fiber_count))
        return MAP_NONE;
    lane.base = 0;
    t->fibers[t->fiber_count] = (struct fiber){.lane = lane};
    return (uint32_t)t->fiber_count++;
}

void fiber_switch(struct source *s, struct track *t, uint32_t definition, uint64_t ns)
{
    if (!t->fiber_count && find_fiber(s, t, 0) == MAP_NONE)
        return;
    uint32_t next = find_fiber(s, t, definition);
    if (next == MAP_NONE) { /* what follows is on the track of the one before */
        track_lose(t, TRACE_LOSS_TOO_DEEP, ns, ns, 0, 1);
        s->collector->stats.lost_records++;
        return;
    }
    if (next == t->fiber)
        return;
    park(t, &t->fibers[t->fiber]);
    resume(t, next);
}

/* The next one that is parked becomes the thread's; what was its is freed. False when it was the last. */
bool fiber_drop(struct track *t)
{
    record_free(t);
    free(t->stack);
    t->stack = NULL;
    t->depth = 0;
    for (uint32_t i = 0; i < t->fiber_count; i++) {
        if (i == t->fiber || (!t->fibers[i].stack && !t->fibers[i].extras && !t->fibers[i].ops))
            continue;
        resume(t, i);
        return true;
    }
    free(t->fibers);
    map_free(&t->fiber_of);
    t->fibers = NULL;
    t->fiber_count = 0;
    return false;
}
