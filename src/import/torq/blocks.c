/* SPDX-License-Identifier: Apache-2.0 */
/* Which wait belongs to which start is in the IR alone; the runtime waits for programs in the order in which it started
 * them, so the k-th wait of an invocation is taken for the k-th start. */
#include "import/torq/blocks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

struct open_start { /* one that was not waited for yet */
    const struct torq_event *event;
    uint32_t next; /* of the same queue; TIMELINE_NONE */
};

struct queue { /* of the starts of one invocation, of programs or of host programs */
    uint32_t first, last;
};

struct drawing {
    const struct torq_run *run;
    struct timeline *timeline;
    uint32_t *dispatches; /* by scope; TIMELINE_NONE: none */
    struct queue *queues; /* by scope and by kind */
    struct open_start *starts;
    size_t start_count, start_capacity;
    int64_t last_action; /* of the older forms */
};

static const char *text_of(const struct drawing *d, uint32_t text)
{
    return intern_text(&d->run->texts, text);
}

static void add_unit(struct drawing *d, const char *lane, enum timeline_lane_kind kind, const char *name,
                     const struct torq_event *first, const struct torq_event *last)
{
    struct timeline *t = d->timeline;
    uint32_t id = timeline_lane(t, lane, kind, 0);
    uint32_t named = timeline_text(t, slice_of(name));
    uint32_t location =
        timeline_text(t, slice_of(first->location == INTERN_NONE ? "" : text_of(d, first->location)));
    struct timeline_unit *unit = timeline_add_unit(t);
    if (!unit)
        return;
    unit->start = first->start_ns;
    unit->end = last->end_ns;
    unit->bytes = UINT64_MAX;
    unit->lane = id;
    unit->dispatch = d->dispatches[first->scope];
    unit->name = named;
    unit->location = location;
}

/* A profile that was cut off has no end of the dispatch: it lasts as long as what is known of it. */
static void widen_dispatch(struct drawing *d, const struct torq_event *first, const struct torq_event *last)
{
    struct timeline *t = d->timeline;
    uint32_t *own = &d->dispatches[first->scope];
    if (*own == TIMELINE_NONE) {
        struct timeline_dispatch *dispatch = timeline_add_dispatch(t);
        if (!dispatch)
            return;
        dispatch->start = first->start_ns;
        dispatch->name = timeline_text(t, slice_of(text_of(d, d->run->scopes[first->scope].name)));
        *own = (uint32_t)t->dispatch_count - 1;
    }
    if (last->end_ns > t->dispatches[*own].end)
        t->dispatches[*own].end = last->end_ns;
}

/* "main_dispatch_0:3": an action has no other name. */
static void add_action(struct drawing *d, const char *lane, enum timeline_lane_kind kind,
                       const struct torq_event *first, const struct torq_event *last)
{
    struct bytes name = {0};
    widen_dispatch(d, first, last);
    bytes_append_format(&name, "%s:%" PRId64, text_of(d, d->run->scopes[first->scope].name), first->action);
    add_unit(d, lane, kind, bytes_text(&name), first, last);
    d->timeline->failed |= name.failed;
    bytes_free(&name);
}

static void remember_start(struct drawing *d, const struct torq_event *event, bool is_host)
{
    struct queue *queue = &d->queues[2 * (size_t)event->scope + is_host];
    uint32_t id = (uint32_t)d->start_count;
    if (!array_reserve(&d->starts, &d->start_capacity, d->start_count + 1, sizeof d->starts[0])) {
        d->timeline->failed = true;
        return;
    }
    d->starts[d->start_count++] = (struct open_start){event, TIMELINE_NONE};
    if (queue->first == TIMELINE_NONE)
        queue->first = id;
    else
        d->starts[queue->last].next = id;
    queue->last = id;
}

static void add_program(struct drawing *d, const struct torq_event *wait, bool is_host)
{
    struct queue *queue = &d->queues[2 * (size_t)wait->scope + is_host];
    const struct torq_event *first = wait;
    if (queue->first != TIMELINE_NONE) {
        const struct open_start *start = &d->starts[queue->first];
        first = start->event->start_ns <= wait->end_ns ? start->event : wait;
        queue->first = start->next;
    }
    add_action(d, is_host ? "Host Programs" : "NSS Programs", is_host ? TIMELINE_HOST : TIMELINE_PROGRAM,
               first, wait);
}

static bool is_driver(const struct drawing *d, uint32_t scope)
{
    return strncmp(text_of(d, d->run->scopes[scope].name), "__HAL_", 6) == 0;
}

static void draw_event(struct drawing *d, const struct torq_event *event)
{
    const char *type = text_of(d, event->type), *scope = text_of(d, d->run->scopes[event->scope].name);
    if (is_driver(d, event->scope))
        add_unit(d, "HAL", TIMELINE_DRIVER, strcmp(type, "HAL_CALL") == 0 ? scope : type, event, event);
    else if (strcmp(type, "NSS_START") == 0 || strcmp(type, "HOST_START") == 0)
        remember_start(d, event, type[0] == 'H');
    else if (strcmp(type, "NSS_WAIT") == 0 || strcmp(type, "HOST_WAIT") == 0)
        add_program(d, event, type[0] == 'H');
    else if (strcmp(type, "HOST_COPY") == 0)
        add_action(d, "Host Copy", TIMELINE_HOST_COPY, event, event);
    else if (event->action >= 0)
        add_action(d, "Host Actions", TIMELINE_HOST, event, event);
    else if (strcmp(type, "DISPATCH") != 0) /* that is the dispatch itself */
        add_unit(d, "Runtime", TIMELINE_DRIVER, type, event, event);
}

/* These forms do not name a dispatch; rows that are numbered from the beginning again are another run. */
static void draw_row(struct drawing *d, const struct torq_event *event)
{
    bool is_action = d->run->form == TORQ_ACTIONS;
    struct timeline *t = d->timeline;
    if (!t->dispatch_count || event->action <= d->last_action) {
        struct timeline_dispatch *dispatch = timeline_add_dispatch(t);
        if (!dispatch)
            return;
        *dispatch = (struct timeline_dispatch){
            .name = timeline_text(t, slice_of("run")), .start = event->start_ns, .end = event->end_ns};
    }
    struct timeline_dispatch *dispatch = &t->dispatches[t->dispatch_count - 1];
    dispatch->start = event->start_ns < dispatch->start ? event->start_ns : dispatch->start;
    dispatch->end = event->end_ns > dispatch->end ? event->end_ns : dispatch->end;
    d->dispatches[event->scope] = (uint32_t)t->dispatch_count - 1;
    d->last_action = event->action;
    add_unit(d, is_action ? "Actions" : "NSS Programs", TIMELINE_PROGRAM,
             is_action ? text_of(d, event->type) : "program", event, event);
}

static void add_dispatches(struct drawing *d)
{
    const struct torq_run *run = d->run;
    for (size_t i = 0; i < run->scope_count; i++) {
        d->dispatches[i] = TIMELINE_NONE;
        d->queues[2 * i] = d->queues[2 * i + 1] = (struct queue){TIMELINE_NONE, TIMELINE_NONE};
    }
    for (size_t i = 0; i < run->event_count; i++) {
        const struct torq_event *event = &run->events[i];
        if (!event->has_end || strcmp(text_of(d, event->type), "DISPATCH") != 0)
            continue;
        struct timeline_dispatch *dispatch = timeline_add_dispatch(d->timeline);
        if (!dispatch)
            return;
        dispatch->start = event->start_ns;
        dispatch->end = event->end_ns;
        dispatch->name = timeline_text(d->timeline, slice_of(text_of(d, run->scopes[event->scope].name)));
        d->dispatches[event->scope] = (uint32_t)d->timeline->dispatch_count - 1;
    }
}

int torq_run_blocks(const struct torq_run *run, struct timeline *timeline, struct error *err)
{
    struct drawing d = {.run = run, .timeline = timeline};
    *timeline = (struct timeline){.clock_mhz = 1000};
    d.dispatches = malloc((run->scope_count + 1) * sizeof d.dispatches[0]);
    d.queues = malloc((2 * run->scope_count + 1) * sizeof d.queues[0]);
    timeline->failed = !d.dispatches || !d.queues;
    if (!timeline->failed)
        add_dispatches(&d);
    for (size_t i = 0; i < run->event_count && !timeline->failed; i++) {
        const struct torq_event *event = &run->events[i];
        if (!event->has_end)
            continue;
        if (run->form == TORQ_EVENTS)
            draw_event(&d, event);
        else
            draw_row(&d, event);
    }
    free(d.starts);
    free(d.queues);
    free(d.dispatches);
    return timeline_check(timeline, err);
}
