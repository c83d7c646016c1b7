/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of tasks: coroutines and fibers that a thread runs one after the other. A turn is a zone on the thread's track;
 * what the thread records inside it is on a track of the task's own, below the thread's in the trace.
 *
 * A task that another thread goes on with has another track there: rows of one track come from one thread, in order. */
#include <stdlib.h>
#include <string.h>

#include "collect/internal.h"

static bool define_track(struct source *s, const struct track *t, uint32_t definition, uint32_t *trace_id)
{
    struct collector *c = s->collector;
    struct segment_name name;
    bytes_clear(&c->scratch);
    if (!session_segment_definition(s->segment, definition, &name, &c->scratch) || name.kind != NAME_TASK)
        return false;
    bytes_append_u8(&c->scratch, 0);
    if (c->scratch.failed)
        return false;
    uint64_t key = source_key(s, 3, (uint64_t)t->number << 32 | definition);
    *trace_id = trace_writer_find_track(c->writer, key);
    if (*trace_id == TRACE_NONE) {
        struct trace_track track = {.id = TRACE_NONE,
                                    .process = t->process_id,
                                    .parent = t->trace_id,
                                    .kind = TRACE_TRACK_TASK,
                                    .clock = TRACE_HOST_CLOCK,
                                    .number = name.value,
                                    .key = key,
                                    .name = (const char *)c->scratch.data};
        *trace_id = trace_writer_track(c->writer, &track);
    }
    return *trace_id != TRACE_NONE;
}

/* NULL when there is no room for another. */
static struct task_track *find_task(struct source *s, struct track *t, uint32_t definition)
{
    size_t low = 0, high = t->task_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->tasks[middle].definition < definition)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < t->task_count && t->tasks[low].definition == definition)
        return &t->tasks[low];
    struct task_track made = {.definition = definition};
    if (t->task_count >= MAX_TASK_TRACKS || !define_track(s, t, definition, &made.lane.trace_id) ||
        !array_reserve(&t->tasks, &t->task_capacity, t->task_count + 1, sizeof *t->tasks))
        return NULL;
    made.lane.sink = trace_writer_sink(s->collector->writer, made.lane.trace_id);
    if (!made.lane.sink)
        return NULL;
    memmove(t->tasks + low + 1, t->tasks + low, (t->task_count - low) * sizeof *t->tasks);
    t->tasks[low] = made;
    t->task_count++;
    return &t->tasks[low];
}

bool task_lane(struct source *s, struct track *t, uint32_t definition, struct track_lane *lane)
{
    const struct task_track *task = find_task(s, t, definition);
    if (task)
        *lane = task->lane;
    return task != NULL;
}

void task_begin(struct source *s, struct track *t, uint32_t definition, uint64_t ns)
{
    struct task_track *task = t->outer_count < MAX_TASKS_INSIDE ? find_task(s, t, definition) : NULL;
    t->zones_begun++;
    if (t->too_deep || !track_push(t, ns, source_name(s, definition), task ? ZONE_TASK : ZONE_PLAIN)) {
        t->too_deep++;
        t->zones_too_deep++;
        track_lose(t, TRACE_LOSS_TOO_DEEP, ns, ns, 1, 0);
        s->collector->stats.lost_zones++;
        return;
    }
    if (!task)
        return;
    t->outer[t->outer_count++] = t->lane;
    t->lane = task->lane;
    t->lane.base = t->depth;
}

void task_leave(struct track *t)
{
    if (t->outer_count)
        t->lane = t->outer[--t->outer_count];
}

void task_close_all(struct source *s, struct track *t)
{
    trace_writer_close_sink(s->collector->writer, t->own.sink);
    for (size_t i = 0; i < t->task_count; i++)
        trace_writer_close_sink(s->collector->writer, t->tasks[i].lane.sink);
    free(t->tasks);
    t->tasks = NULL;
    t->task_count = t->task_capacity = 0;
}
