/* SPDX-License-Identifier: Apache-2.0 */
/* What an action uses is known before any time is: units that its program starts, and units of earlier programs that
 * were not waited for when it began. These plans are made once per action, then each invocation takes its times. */
#include "import/torq/join.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "import/torq/ops.h"

struct plan {       /* of an action of the estimate, by its index */
    uint32_t start; /* the action that started its program; TIMELINE_NONE */
    int64_t job;
    unsigned used;
    bool has_use;
    uint32_t names, operators, place, program; /* texts of the measured timeline */
};

struct joining {
    const struct torq_join *in;
    struct measured *out;
    struct plan *plans;
    struct map by_action; /* scope and action: the event */
    uint64_t foreign, foreign_name, without_times, joined;
};

static uint32_t add_text(struct joining *j, const struct bytes *text)
{
    return text->length ? timeline_text(&j->out->timeline, slice_from((const char *)text->data, text->length))
                        : TIMELINE_NONE;
}

static struct slice location_text(const struct joining *j, uint32_t op)
{
    struct slice own = mlir_slice(j->in->mlir, j->in->mlir->ops[op].location);
    return own.length || !j->in->default_location ? own : slice_of(j->in->default_location);
}

/* The op that made the invocation which a start or a wait names. */
static uint32_t invocation_of(const struct mlir *m, uint32_t op)
{
    if (!m->ops[op].operands)
        return MLIR_NONE;
    uint32_t value = m->operands[m->ops[op].first_operand];
    return value == MLIR_NONE || m->values[value].block != MLIR_NONE ? MLIR_NONE : m->values[value].op;
}

/* --- plans --- */

static unsigned use_of(const struct timeline_lane *lane)
{
    switch (lane->kind) {
    case TIMELINE_DMA_IN:
        return 1u << USED_DMA_IN;
    case TIMELINE_DMA_OUT:
        return 1u << USED_DMA_OUT;
    case TIMELINE_COPY:
        return 1u << USED_COPY;
    case TIMELINE_CORE:
        return 1u << USED_CORE;
    case TIMELINE_SLICE:
        return lane->number < 2 ? 1u << (USED_SLICE_0 + lane->number) : 0;
    default:
        return 0;
    }
}

static void add_name(struct bytes *names, const char *name)
{
    struct slice have = slice_of(bytes_text(names));
    size_t length = strlen(name);
    for (struct slice at = have; at.length;) {
        struct slice word = slice_before(at, ",");
        if (word.length == length && memcmp(word.data, name, length) == 0)
            return;
        at = slice_after(at, ",");
    }
    bytes_append_format(names, "%s%s", names->length ? "," : "", name);
}

struct pending { /* units that were started and, as far as the programs so far go, not waited for */
    uint32_t *units;
    size_t count, capacity;
    size_t next; /* unit that comes next */
};

/* A program's use: `pending` has what was left open before it, and keeps what it leaves open. */
static void plan_program(struct joining *j, uint32_t action, struct pending *pending)
{
    const struct timeline *t = j->in->estimate;
    const struct timeline_action *a = &t->actions[action];
    struct plan *plan = &j->plans[action];
    struct bytes names = {0}, operators = {0};
    size_t kept = 0;
    for (; pending->next < t->unit_count && t->units[pending->next].dispatch == a->dispatch &&
           t->units[pending->next].task < a->first_task + a->tasks;
         pending->next++) {
        if (!array_reserve(&pending->units, &pending->capacity, pending->count + 1,
                           sizeof pending->units[0])) {
            j->out->timeline.failed = true;
            return;
        }
        pending->units[pending->count++] = (uint32_t)pending->next;
    }
    for (size_t i = 0; i < pending->count; i++) {
        const struct timeline_unit *unit = &t->units[pending->units[i]];
        plan->used |= use_of(&t->lanes[unit->lane]);
        if (unit->program != TIMELINE_NONE) {
            add_name(&names, timeline_get_text(t, unit->program));
            torq_append_operators(j->in->folder, slice_of(timeline_get_text(t, unit->location)), &operators);
        }
        if (unit->waiter == TIMELINE_NONE || unit->waiter >= a->first_task + a->tasks)
            pending->units[kept++] = pending->units[i];
    }
    pending->count = kept;
    torq_append_operators(j->in->folder, location_text(j, a->source), &operators);
    plan->has_use = true;
    plan->names = add_text(j, &names);
    plan->operators = add_text(j, &operators);
    j->out->timeline.failed |= names.failed || operators.failed;
    bytes_free(&names);
    bytes_free(&operators);
}

static void plan_action(struct joining *j, uint32_t action, struct map *started, struct pending *pending)
{
    const struct mlir *m = j->in->mlir;
    const struct timeline_action *a = &j->in->estimate->actions[action];
    struct plan *plan = &j->plans[action];
    struct bytes place = {0};
    struct slice job;
    uint32_t invocation = a->has_times ? invocation_of(m, a->source) : MLIR_NONE;
    *plan = (struct plan){TIMELINE_NONE, -1,           0, false, TIMELINE_NONE, TIMELINE_NONE,
                          TIMELINE_NONE, TIMELINE_NONE};
    torq_append_place(m, location_text(j, a->source), &place);
    plan->place = add_text(j, &place);
    bytes_free(&place);
    if (invocation == MLIR_NONE)
        return;
    bool is_start = strcmp(mlir_name(m, a->source), "torq_hl.start_program") == 0;
    if (is_start) {
        j->out->timeline.failed |= !map_put(started, invocation, action);
        plan->start = action;
        if (a->tasks)
            plan_program(j, action, pending);
    } else {
        uint32_t start = map_get(started, invocation);
        uint32_t own_place = plan->place;
        if (start != MAP_NONE)
            *plan = j->plans[start];
        plan->place = own_place;
        plan->start = start == MAP_NONE ? TIMELINE_NONE : start;
    }
    if (mlir_attribute(m, invocation, "torq-job-id", &job))
        mlir_integer(job, &plan->job);
    plan->program = timeline_text(&j->out->timeline, torq_program_name(mlir_head(m, invocation)));
}

static int make_plans(struct joining *j, struct error *err)
{
    const struct timeline *t = j->in->estimate;
    struct map started = {0};
    struct pending pending = {0};
    uint32_t dispatch = TIMELINE_NONE;
    j->plans = calloc(t->action_count + 1, sizeof j->plans[0]);
    if (!j->plans)
        return error_no_memory(err, "the actions");
    for (uint32_t i = 0; i < t->action_count; i++) {
        if (t->actions[i].dispatch != dispatch) {
            dispatch = t->actions[i].dispatch;
            pending.count = 0;
            while (pending.next < t->unit_count && t->units[pending.next].dispatch != dispatch)
                pending.next++;
        }
        plan_action(j, i, &started, &pending);
    }
    map_free(&started);
    free(pending.units);
    return timeline_check(&j->out->timeline, err);
}

/* --- the measured timeline --- */

static void add_unit(struct joining *j, const char *lane, enum timeline_lane_kind kind, uint32_t number,
                     const struct timeline_unit *like)
{
    struct timeline *t = &j->out->timeline;
    uint32_t id = timeline_lane(t, lane, kind, number);
    struct timeline_unit *unit = timeline_add_unit(t);
    if (!unit)
        return;
    unit->start = like->start;
    unit->end = like->end;
    unit->bytes = UINT64_MAX;
    unit->lane = id;
    unit->dispatch = like->dispatch;
    unit->name = like->name;
    unit->location = like->location;
    unit->source = like->source;
    unit->program = like->program;
}

/* A program ran: it stands on its own lane, and on one for each thing that it used, as long as it lasted. */
static void add_program(struct joining *j, const struct plan *plan, const struct timeline_unit *like)
{
    static const struct {
        const char *lane;
        enum timeline_lane_kind kind;
        uint32_t number;
    } lanes[USED_KINDS] = {[USED_SLICE_0] = {"Slice 0 Used", TIMELINE_SLICE, 0},
                           [USED_SLICE_1] = {"Slice 1 Used", TIMELINE_SLICE, 1},
                           [USED_DMA_IN] = {"DMA In Used", TIMELINE_DMA_IN, 0},
                           [USED_DMA_OUT] = {"DMA Out Used", TIMELINE_DMA_OUT, 0},
                           [USED_COPY] = {"CDMA Used", TIMELINE_COPY, 0},
                           [USED_CORE] = {"CSS Used", TIMELINE_CORE, 0}};
    bool is_host = !plan->has_use;
    add_unit(j, is_host ? "Host Programs" : "NSS Programs", is_host ? TIMELINE_HOST : TIMELINE_PROGRAM, 0,
             like);
    for (unsigned i = 0; i < USED_KINDS; i++) {
        if (plan->used >> i & 1u)
            add_unit(j, lanes[i].lane, lanes[i].kind, lanes[i].number, like);
    }
}

static const struct torq_event *event_of(const struct joining *j, uint32_t scope, int64_t action)
{
    uint32_t event = map_get(&j->by_action, (uint64_t)scope << 32 | (uint32_t)action);
    return event == MAP_NONE || !j->in->run->events[event].has_end ? NULL : &j->in->run->events[event];
}

static void draw_action(struct joining *j, uint32_t scope, uint32_t action, uint32_t dispatch)
{
    const struct timeline *t = j->in->estimate;
    const struct plan *plan = &j->plans[action];
    const struct torq_event *event = event_of(j, scope, t->actions[action].number);
    if (!event)
        return;
    struct timeline_unit like = {.start = event->start_ns,
                                 .end = event->end_ns,
                                 .dispatch = dispatch,
                                 .name = plan->names != TIMELINE_NONE ? plan->names : plan->program,
                                 .location = plan->place,
                                 .program = plan->program,
                                 .source = t->actions[action].source};
    if (strcmp(timeline_get_text(t, t->actions[action].name), "torq_hl.host_copy") == 0) {
        like.name = timeline_text(&j->out->timeline, slice_of("host copy"));
        add_unit(j, "Host Copy", TIMELINE_HOST_COPY, 0, &like);
    }
    if (plan->start == TIMELINE_NONE || plan->start == action)
        return;
    const struct torq_event *begin = event_of(j, scope, t->actions[plan->start].number);
    if (begin && begin->start_ns <= event->end_ns) {
        like.start = begin->start_ns;
        like.source = t->actions[plan->start].source;
        add_program(j, plan, &like);
    }
}

/* --- rows --- */

static void set_times(struct measured_row *row, const struct torq_event *event)
{
    row->has_times = true;
    row->start_us = (double)event->start_ns / 1000;
    row->end_us = (double)event->end_ns / 1000;
}

static void add_actions(struct joining *j, uint32_t scope, uint32_t dispatch)
{
    const struct timeline *t = j->in->estimate;
    struct timeline *own = &j->out->timeline;
    struct timeline_dispatch *invocation = timeline_add_dispatch(own);
    uint32_t number = (uint32_t)own->dispatch_count - 1;
    bool has_any = false;
    if (!invocation)
        return;
    invocation->name = timeline_text(own, slice_of(timeline_get_text(t, t->dispatches[dispatch].name)));
    invocation->start = UINT64_MAX;
    for (uint32_t i = 0; i < t->action_count; i++)
        has_any |= t->actions[i].dispatch == dispatch && event_of(j, scope, t->actions[i].number);
    for (uint32_t i = 0; i < t->action_count; i++) {
        const struct timeline_action *action = &t->actions[i];
        const struct plan *plan = &j->plans[i];
        struct measured_row *row = action->dispatch == dispatch ? measured_add(j->out) : NULL;
        if (!row)
            continue;
        const struct torq_event *event = event_of(j, scope, action->number);
        row->action = action->number;
        row->job = plan->job;
        row->operation = timeline_text(own, slice_of(timeline_get_text(t, action->name)));
        row->invocations = plan->names;
        row->operators = plan->operators;
        row->location = plan->place;
        row->dispatch = own->dispatches[number].name;
        row->used = plan->used;
        row->has_use = plan->has_use;
        if (event) {
            set_times(row, event);
            struct timeline_dispatch *d = &own->dispatches[number];
            d->start = event->start_ns < d->start ? event->start_ns : d->start;
            d->end = event->end_ns > d->end ? event->end_ns : d->end;
            j->joined++;
        } else if (has_any) {
            j->without_times++;
        }
        draw_action(j, scope, i, number);
    }
    if (own->dispatches[number].start == UINT64_MAX)
        own->dispatches[number].start = 0;
}

static int by_start(const void *left, const void *right)
{
    const struct torq_event *a = *(const struct torq_event *const *)left,
                            *b = *(const struct torq_event *const *)right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->action != b->action)
        return a->action < b->action ? -1 : 1;
    return (a->type > b->type) - (a->type < b->type);
}

static void add_driver_event(struct joining *j, const struct torq_event *event, bool is_only)
{
    const struct torq_run *run = j->in->run;
    const char *scope = intern_text(&run->texts, run->scopes[event->scope].name),
               *type = intern_text(&run->texts, event->type);
    struct bytes text = {0};
    struct slice bare = slice_of(scope);
    if (strcmp(type, "HAL_CALL") == 0 && !is_only)
        return;
    struct measured_row *row = measured_add(j->out);
    if (!row)
        return;
    while (bare.length && bare.data[0] == '_')
        bare = slice_from(bare.data + 1, bare.length - 1);
    while (bare.length && bare.data[bare.length - 1] == '_')
        bare.length--;
    bytes_append_format(&text, "%s.%s", scope, type);
    row->operation = add_text(j, &text);
    row->location = timeline_text(&j->out->timeline, strcmp(type, "HAL_CALL") == 0 ? bare : slice_of(type));
    row->has_times = true;
    row->start_us = (double)event->start_ns / 1000;
    row->end_us = (double)(event->has_end ? event->end_ns : event->start_ns) / 1000;
    struct timeline_unit like = {.start = event->start_ns,
                                 .end = event->has_end ? event->end_ns : event->start_ns,
                                 .name = row->location,
                                 .program = TIMELINE_NONE,
                                 .source = TIMELINE_NONE,
                                 .location = TIMELINE_NONE};
    add_unit(j, "HAL", TIMELINE_DRIVER, 0, &like);
    j->out->timeline.failed |= text.failed;
    bytes_free(&text);
}

static void add_driver(struct joining *j, const struct torq_event **events, size_t count)
{
    bool has_other = false;
    if (count)
        qsort(events, count, sizeof events[0], by_start);
    for (size_t i = 0; i < count; i++)
        has_other |= strcmp(intern_text(&j->in->run->texts, events[i]->type), "HAL_CALL") != 0;
    for (size_t i = 0; i < count; i++)
        add_driver_event(j, events[i], !has_other);
}

static bool is_driver(const struct torq_run *run, uint32_t scope)
{
    return strncmp(intern_text(&run->texts, run->scopes[scope].name), "__HAL_", 6) == 0;
}

/* Driver events, scope by scope: events come in the order of time, so they are sorted into their scopes first. */
static int add_drivers(struct joining *j, struct error *err)
{
    const struct torq_run *run = j->in->run;
    const struct torq_event **events = malloc((run->event_count + 1) * sizeof events[0]);
    size_t *first = calloc(run->scope_count + 2, sizeof first[0]);
    if (!events || !first) {
        free(events);
        free(first);
        return error_no_memory(err, "the driver's events");
    }
    for (size_t i = 0; i < run->event_count; i++)
        first[run->events[i].scope + 1]++;
    for (size_t i = 0; i < run->scope_count; i++)
        first[i + 1] += first[i];
    for (size_t i = 0; i < run->event_count; i++)
        events[first[run->events[i].scope]++] = &run->events[i];
    for (uint32_t i = 0; i < run->scope_count; i++) { /* each has moved to the end of its scope */
        size_t begin = i ? first[i - 1] : 0;
        if (is_driver(run, i))
            add_driver(j, events + begin, first[i] - begin);
    }
    free(events);
    free(first);
    return 0;
}

static uint32_t find_dispatch(const struct joining *j, uint32_t scope)
{
    const struct timeline *t = j->in->estimate;
    const char *name = intern_text(&j->in->run->texts, j->in->run->scopes[scope].name);
    if (!*name) /* a form that does not name it */
        return t->dispatch_count ? 0 : TIMELINE_NONE;
    for (uint32_t i = 0; i < t->dispatch_count; i++) {
        if (strcmp(timeline_get_text(t, t->dispatches[i].name), name) == 0)
            return i;
    }
    return TIMELINE_NONE;
}

/* --- the older form: rows are ops of programs --- */

static void add_program_ops(struct joining *j, uint32_t action, int64_t program,
                            const struct torq_event *event)
{
    const struct mlir *m = j->in->mlir;
    const struct timeline *t = j->in->estimate;
    const struct timeline_action *a = &t->actions[action];
    const struct plan *plan = &j->plans[action];
    for (uint32_t task = a->first_task; task < a->first_task + a->tasks; task++) {
        uint32_t region = m->ops[t->tasks[task].source].first_region;
        uint32_t block = region == MLIR_NONE ? MLIR_NONE : m->regions[region].first_block;
        for (uint32_t op = block == MLIR_NONE ? MLIR_NONE : m->blocks[block].first_op; op != MLIR_NONE;
             op = m->ops[op].next) {
            struct slice id;
            struct measured_row *row = measured_add(j->out);
            if (!row)
                return;
            row->program = program;
            row->operation = timeline_text(&j->out->timeline, slice_of(mlir_name(m, op)));
            row->used = plan->used;
            row->has_use = true;
            row->location = plan->place;
            if (strncmp(mlir_name(m, op), "torq_hw.slice_", 14) == 0 && mlir_attribute(m, op, "id", &id))
                mlir_integer(id, &row->slice);
            if (strcmp(mlir_name(m, op), "torq_hw.slice_start") == 0)
                row->invocations = plan->names;
            if (event)
                set_times(row, event);
        }
    }
}

static void add_programs(struct joining *j)
{
    const struct timeline *t = j->in->estimate;
    struct timeline_dispatch *dispatch = timeline_add_dispatch(&j->out->timeline);
    int64_t program = 0;
    j->out->is_by_program = true;
    if (!dispatch)
        return;
    dispatch->name = timeline_text(&j->out->timeline, slice_of("run"));
    dispatch->start = UINT64_MAX;
    for (uint32_t i = 0; i < t->action_count; i++) {
        const struct plan *plan = &j->plans[i];
        if (plan->start != i || !t->actions[i].tasks)
            continue;
        const struct torq_event *event = event_of(j, 0, program);
        add_program_ops(j, i, program++, event);
        if (!event) {
            j->without_times++;
            continue;
        }
        add_program(
            j, plan,
            &(struct timeline_unit){.start = event->start_ns,
                                    .end = event->end_ns,
                                    .name = plan->names != TIMELINE_NONE ? plan->names : plan->program,
                                    .program = plan->program,
                                    .source = t->actions[i].source,
                                    .location = plan->place});
        j->joined++;
        dispatch = &j->out->timeline.dispatches[0];
        dispatch->start = event->start_ns < dispatch->start ? event->start_ns : dispatch->start;
        dispatch->end = event->end_ns > dispatch->end ? event->end_ns : dispatch->end;
    }
}

/* --- all of it --- */

static void add_notices(struct joining *j)
{
    const struct torq_run *run = j->in->run;
    struct timeline *t = &j->out->timeline;
    if (run->bad_rows)
        timeline_add_notice(t, TIMELINE_NONE,
                            "%" PRIu64 " row%s of the profile cannot be read (the first in line %" PRIu64 ")",
                            run->bad_rows, run->bad_rows == 1 ? "" : "s", run->first_bad_line);
    if (run->unpaired)
        timeline_add_notice(t, TIMELINE_NONE,
                            "%" PRIu64 " event%s of the profile with only a begin or only an end",
                            run->unpaired, run->unpaired == 1 ? "" : "s");
    if (run->backwards)
        timeline_add_notice(t, TIMELINE_NONE,
                            "%" PRIu64 " event%s of the profile with the end before the begin",
                            run->backwards, run->backwards == 1 ? "" : "s");
    if (j->foreign)
        timeline_add_notice(
            t, TIMELINE_NONE, "%" PRIu64 " invocation%s of dispatches that the IR does not have (%s)",
            j->foreign, j->foreign == 1 ? "" : "s", intern_text(&run->texts, (uint32_t)j->foreign_name));
    if (j->without_times)
        timeline_add_notice(t, TIMELINE_NONE, "%" PRIu64 " action%s of the IR without times in the profile",
                            j->without_times, j->without_times == 1 ? "" : "s");
}

static void add_invocations(struct joining *j)
{
    const struct torq_run *run = j->in->run;
    for (uint32_t i = 0; i < run->scope_count; i++) {
        uint32_t dispatch = is_driver(run, i) ? TIMELINE_NONE : find_dispatch(j, i);
        if (dispatch != TIMELINE_NONE)
            add_actions(j, i, dispatch);
        else if (!is_driver(run, i) && !j->foreign++)
            j->foreign_name = run->scopes[i].name;
    }
}

/* The timeline begins with the first thing in it; the rows keep the times of the profile. */
static void shift(struct timeline *timeline)
{
    uint64_t origin = UINT64_MAX;
    for (size_t i = 0; i < timeline->unit_count; i++)
        origin = timeline->units[i].start < origin ? timeline->units[i].start : origin;
    for (size_t i = 0; i < timeline->unit_count; i++) {
        timeline->units[i].start -= origin;
        timeline->units[i].end -= origin;
    }
    for (size_t i = 0; i < timeline->dispatch_count; i++) {
        struct timeline_dispatch *dispatch = &timeline->dispatches[i];
        bool has_times = dispatch->end >= origin && dispatch->start >= origin;
        dispatch->start = has_times ? dispatch->start - origin : 0;
        dispatch->end = has_times ? dispatch->end - origin : 0;
    }
}

int torq_join(struct measured *measured, const struct torq_join *join, struct error *err)
{
    struct joining j = {.in = join, .out = measured};
    *measured = (struct measured){.timeline = {.clock_mhz = 1000, .is_measured = true}};
    int status = make_plans(&j, err);
    for (size_t i = 0; i < join->run->event_count && status == 0; i++) {
        const struct torq_event *event = &join->run->events[i];
        if (event->action >= 0 && event->action < UINT32_MAX &&
            !map_put(&j.by_action, (uint64_t)event->scope << 32 | (uint32_t)event->action, (uint32_t)i))
            status = error_no_memory(err, "the profile");
    }
    if (status == 0 && join->run->form == TORQ_PROGRAMS)
        add_programs(&j);
    else if (status == 0)
        add_invocations(&j);
    if (status == 0)
        status = add_drivers(&j, err);
    add_notices(&j);
    shift(&measured->timeline);
    if (status == 0 && !j.joined)
        status = error_set(
            err, EINVAL, "nothing of the profile belongs to %s: its dispatches are others (%s)",
            join->mlir->path,
            j.foreign ? intern_text(&join->run->texts, (uint32_t)j.foreign_name) : "none has times");
    map_free(&j.by_action);
    free(j.plans);
    return status ? status : timeline_check(&measured->timeline, err);
}
