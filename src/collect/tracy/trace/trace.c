/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, fibers and their zones. Zones nest within a thread, or within the fiber that it has entered: then the
 * thread's own track has the turn of the fiber, as for tasks of other sources. Ends without a begin are counted; unless
 * the client records on demand, where that is usual, they mean that something was misread, and nothing is asked any
 * more. */
#include "collect/tracy/trace/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "collect/tracy/trace/internal.h"

/* --- times, tracks, losses --- */

/* How the client's ticks become times. Its own factor is an estimate over 0.2 s: on this machine ours is better. A
 * client that does not read the counter reads CLOCK_MONOTONIC_RAW, with a factor of exactly 1. */
static void choose_time(struct tracy_trace *t, const struct tracy_welcome *welcome)
{
    if (t->options.time == TRACY_TIME_REMOTE) {
        uint64_t since = clock_ns(CLOCK_REALTIME) - welcome->epoch_s * UINT64_C(1000000000),
                 now = clock_raw_ns();
        t->origin_ns = since < now ? now - since : 0;
    }
    if (t->options.time != TRACY_TIME_LOCAL)
        return;
    const struct clock_piece *piece = clock_map_find(t->options.clock, (uint64_t)welcome->first_tick);
    double ours = piece ? (double)piece->multiplier / 4294967296.0 : 0;
    if (ours > welcome->ns_per_tick * 0.99 && ours < welcome->ns_per_tick * 1.01)
        t->clock = t->options.clock;
    else
        t->origin_ns = (uint64_t)welcome->first_tick;
}

__attribute__((always_inline)) static inline uint64_t to_ns(struct tracy_trace *t, int64_t ticks)
{
    uint64_t ns;
    if (__builtin_expect(!t->has_time, 0)) {
        const struct tracy_welcome *welcome = tracy_stream_welcome(t->stream);
        t->first_tick = (uint64_t)welcome->first_tick;
        t->ns_per_tick = welcome->ns_per_tick;
        choose_time(t, welcome);
        t->has_time = true;
    }
    if (t->clock) {
        const struct clock_piece *piece = &t->piece;
        if (!(piece->multiplier && (uint64_t)ticks - piece->ticks < piece->end_ticks - piece->ticks)) {
            const struct clock_piece *found = clock_map_find(t->clock, (uint64_t)ticks);
            if (found)
                t->piece = *found;
        }
        ns = clock_piece_ns(piece, (uint64_t)ticks);
    } else {
        /* cut off as Tracy's own tools do, so that sums are equal */
        double since = (double)(int64_t)((uint64_t)ticks - t->first_tick) * t->ns_per_tick;
        ns = since > 0 && since < 9e18 ? t->origin_ns + (uint64_t)(int64_t)since : t->origin_ns;
    }
    if (ns > t->last_ns && ns < INT64_MAX)
        t->last_ns = ns;
    return ns < INT64_MAX ? ns : INT64_MAX;
}

uint64_t trace_ns(struct tracy_trace *t, int64_t ticks)
{
    return to_ns(t, ticks);
}

static void make_process(struct tracy_trace *t)
{
    const struct tracy_welcome *welcome = tracy_stream_welcome(t->stream);
    if (!welcome || t->process != TRACE_NONE)
        return;
    uint64_t start_ns = trace_ns(t, welcome->first_tick);
    if (t->options.process)
        t->process = t->options.process(t->options.context, (int64_t)welcome->pid, start_ns);
    if (t->process == TRACE_NONE)
        t->process =
            trace_writer_process(t->writer, &(struct trace_process){.id = TRACE_NONE,
                                                                    .parent = TRACE_NONE,
                                                                    .pid = (int64_t)welcome->pid,
                                                                    .start_ns = start_ns,
                                                                    .exit_status = TRACE_STATUS_UNKNOWN,
                                                                    .command = welcome->program,
                                                                    .host = ""});
}

uint32_t trace_track(struct tracy_trace *t, uint32_t kind, uint32_t parent, const char *name, uint64_t number,
                     uint32_t clock)
{
    make_process(t);
    return trace_writer_track(t->writer, &(struct trace_track){.id = TRACE_NONE,
                                                               .process = t->process,
                                                               .parent = parent,
                                                               .kind = kind,
                                                               .clock = clock,
                                                               .number = number,
                                                               .name = name});
}

static void count_loss(struct trace_loss *loss, uint32_t reason, uint64_t ns)
{
    if (!loss->zones)
        loss->from_ns = ns;
    loss->to_ns = ns > loss->from_ns ? ns : loss->from_ns;
    loss->reason = reason;
    loss->zones++;
}

/* --- threads --- */

/* "" while it is not known. */
static const char *thread_name(const struct tracy_trace *t, uint32_t id)
{
    uint32_t name = map_get(&t->names->name_of, tracy_names_key(TRACY_ASK_THREAD, id));
    const char *text = name == MAP_NONE ? NULL : tracy_names_text(t->names, name);
    return text ? text : "";
}

static bool open_stack(struct tracy_trace *t, struct stack *stack, uint32_t kind, uint32_t parent,
                       const char *name, uint64_t number)
{
    *stack = (struct stack){.track = trace_track(t, kind, parent, name, number, TRACE_HOST_CLOCK)};
    stack->sink = stack->track == TRACE_NONE ? NULL : trace_writer_sink(t->writer, stack->track);
    return stack->sink != NULL;
}

static struct thread *make_thread(struct tracy_trace *t, uint32_t id)
{
    struct thread *thread = t->thread_count < MAX_THREADS ? calloc(1, sizeof *thread) : NULL;
    if (!thread ||
        !array_reserve(&t->threads, &t->thread_capacity, t->thread_count + 1, sizeof(struct thread *)) ||
        !open_stack(t, &thread->own, TRACE_TRACK_THREAD, TRACE_NONE, thread_name(t, id), id)) {
        free(thread);
        return NULL;
    }
    thread->id = id;
    thread->now = &thread->own;
    thread->waits =
        (struct lanes){.name = "lock waits", .kind = TRACE_TRACK_SPAN, .parent = thread->own.track};
    thread->holds =
        (struct lanes){.name = "locks held", .kind = TRACE_TRACK_SPAN, .parent = thread->own.track};
    t->threads[t->thread_count] = thread;
    map_put(&t->thread_of, id, (uint32_t)t->thread_count++);
    return thread;
}

struct thread *trace_thread(struct tracy_trace *t, uint32_t id)
{
    if (__builtin_expect(t->recent && t->recent->id == id, 1))
        return t->recent;
    uint32_t index = map_get(&t->thread_of, id);
    struct thread *thread = index == MAP_NONE ? make_thread(t, id) : t->threads[index];
    if (thread)
        t->recent = thread;
    return thread;
}

static void name_thread(struct tracy_trace *t, const struct tracy_event *event)
{
    uint32_t index = map_get(&t->thread_of, event->thread);
    const struct trace_track *known =
        index == MAP_NONE ? NULL : trace_writer_get_track(t->writer, t->threads[index]->own.track);
    if (!known)
        return;
    struct trace_track track = *known;
    track.name = thread_name(t, event->thread);
    trace_writer_track(t->writer, &track);
}

/* --- zones --- */

__attribute__((always_inline)) static inline void begin_zone(struct stack *stack, uint64_t ns,
                                                             uint32_t source, uint32_t name)
{
    if (__builtin_expect(stack->too_deep || stack->depth >= stack->capacity, 0)) {
        if (stack->too_deep || stack->depth > TRACE_MAX_DEPTH ||
            !array_reserve(&stack->zones, &stack->capacity, (size_t)stack->depth + 1, sizeof *stack->zones)) {
            stack->too_deep++;
            count_loss(&stack->deep, TRACE_LOSS_TOO_DEEP, ns);
            return;
        }
    }
    stack->zones[stack->depth++] = (struct open_zone){.start = ns, .source = source, .name = name};
}

/* Texts, values and colours of the zone at the top and of what was inside it. */
static void take_details(struct stack *stack, bool is_written)
{
    size_t first = stack->detail_count;
    while (first && stack->details[first - 1].depth >= stack->depth)
        first--;
    for (size_t i = first; i < stack->detail_count; i++) {
        struct zone_detail *detail = &stack->details[i];
        if (is_written)
            zone_sink_extra(stack->sink, &(struct trace_extra){.kind = detail->kind,
                                                               .value = detail->value,
                                                               .text = detail->text,
                                                               .text_length = detail->text_length});
        free(detail->text);
    }
    stack->detail_count = first;
}

/* False: no zone was open. */
__attribute__((always_inline)) static inline bool end_zone(struct tracy_trace *t, struct stack *stack,
                                                           uint64_t ns)
{
    if (__builtin_expect(stack->too_deep != 0, 0)) {
        stack->too_deep--;
        return true;
    }
    if (__builtin_expect(stack->depth == 0, 0))
        return false;
    const struct open_zone *zone = &stack->zones[--stack->depth];
    /* Whether it is inside another cannot be foreseen: a branch would cost more than doing both. */
    uint64_t duration = ns - zone->start, is_inner = stack->depth != 0;
    uint64_t turn_start = zone->start > stack->turn_ns ? zone->start : stack->turn_ns;
    stack->zones[stack->depth - is_inner].child += duration & (0 - is_inner);
    stack->turn_busy += (ns - turn_start) & (is_inner - 1);
    bool is_written = duration >= t->options.min_duration_ns;
    if (__builtin_expect(is_written, 1))
        zone_sink_add(stack->sink, stack->depth, zone->start, ns, zone->child, zone->name);
    if (__builtin_expect(trace_may_listen(t, zone->source), 0))
        trace_listen_zone(t, stack, ns);
    if (__builtin_expect(stack->detail_count != 0, 0))
        take_details(stack, is_written);
    t->stats.zones += is_written;
    return true;
}

/* Time never runs backwards within a thread. */
static inline uint64_t step_time(struct tracy_trace *t, struct stack *stack, int64_t ticks)
{
    uint64_t ns = to_ns(t, ticks);
    stack->last_ns = ns > stack->last_ns ? ns : stack->last_ns;
    return stack->last_ns;
}

static void count_unmatched(struct tracy_trace *t, struct stack *stack, uint64_t ns)
{
    count_loss(&stack->unmatched, TRACE_LOSS_UNMATCHED, ns);
    if (!(tracy_stream_welcome(t->stream)->flags & TRACY_ON_DEMAND))
        tracy_stream_distrust(t->stream);
}

static void take_step(struct tracy_trace *t, struct stack *stack, const struct tracy_step *step)
{
    uint64_t ns = step_time(t, stack, step->time);
    if (step->source != TRACY_END)
        begin_zone(stack, ns, step->source, late_name_of_source(t, step->source));
    else if (!end_zone(t, stack, ns))
        count_unmatched(t, stack, ns);
}

/* The usual steps, with what each of them changes in registers: begins whose names are known, ends whose zones have a
 * place in the sink and nothing else to them. Returns how many these were. Nobody is called from here: they would look
 * at the stack. */
__attribute__((always_inline)) static inline size_t take_usual(struct tracy_trace *t, struct stack *stack,
                                                               const struct tracy_step *steps, size_t count,
                                                               bool by_counter)
{
    const uint32_t *names = t->late.of_source;
    const uint32_t *wishes = t->wishes, vain_wish = trace_vain_wish(t);
    const size_t name_count = t->late.source_capacity, wish_count = t->wish_capacity,
                 capacity = stack->capacity;
    const bool listens = t->options.listener != NULL;
    const struct clock_piece piece = t->piece;
    const uint64_t first_tick = t->first_tick, origin_ns = t->origin_ns, turn_ns = stack->turn_ns,
                   least_ns = t->options.min_duration_ns;
    const double ns_per_tick = t->ns_per_tick, most_ns = origin_ns < INT64_MAX / 2 ? 4e18 : 0;
    struct zone_sink *sink = stack->sink;
    struct open_zone *zones = stack->zones;
    uint64_t last_ns = stack->last_ns, turn_busy = stack->turn_busy, ended = 0;
    uint32_t depth = stack->depth;
    size_t i = 0;
    for (; i < count; i++) {
        uint64_t ticks = (uint64_t)steps[i].time, ns;
        uint32_t source = steps[i].source;
        if (by_counter) {
            ns = clock_piece_ns(&piece, ticks);
            if (ticks - piece.ticks >= piece.end_ticks - piece.ticks || ns >= INT64_MAX)
                break;
        } else {
            double since = (double)(int64_t)(ticks - first_tick) * ns_per_tick;
            if (!(since > 0 && since < most_ns))
                break;
            ns = origin_ns + (uint64_t)(int64_t)since;
        }
        ns = ns > last_ns ? ns : last_ns;
        if (source != TRACY_END) {
            uint32_t known = source < name_count ? names[source] : 0;
            if (!known || depth >= capacity)
                break;
            zones[depth++] = (struct open_zone){.start = ns, .source = source, .name = known - 1};
        } else {
            if (depth == 0)
                break;
            const struct open_zone *zone = &zones[depth - 1];
            uint64_t start = zone->start, duration = ns - start, is_inner = depth != 1;
            if (duration < least_ns ||
                (listens && !(zone->source < wish_count &&
                              (wishes[zone->source] == WISH_NO || wishes[zone->source] == vain_wish))) ||
                !zone_sink_try_add(sink, depth - 1, start, ns, zone->child, zone->name))
                break;
            depth--;
            zones[depth - is_inner].child += duration; /* or its own, which nobody reads any more */
            turn_busy += (ns - (start > turn_ns ? start : turn_ns)) & (is_inner - 1);
            ended++;
        }
        last_ns = ns;
    }
    stack->depth = depth;
    stack->turn_busy = turn_busy;
    stack->last_ns = last_ns;
    t->stats.zones += ended;
    if (last_ns > t->last_ns && last_ns < INT64_MAX)
        t->last_ns = last_ns;
    return i;
}

static void take_steps(void *context, uint32_t thread_id, const struct tracy_step *steps, size_t count)
{
    struct tracy_trace *t = context;
    struct thread *thread = trace_thread(t, thread_id);
    if (!thread) {
        for (size_t i = 0; i < count; i++)
            t->stats.lost_zones += steps[i].source != TRACY_END;
        return;
    }
    struct stack *stack = thread->now;
    for (size_t i = 0; i < count; i++) {
        size_t left = count - i;
        if (t->has_time && !stack->too_deep && !stack->detail_count && (!t->clock || t->piece.multiplier))
            i += t->clock ? take_usual(t, stack, steps + i, left, true)
                          : take_usual(t, stack, steps + i, left, false);
        if (i < count)
            take_step(t, stack, &steps[i]);
    }
}

/* Several texts of a zone are lines of one. */
static void add_detail(struct stack *stack, uint32_t kind, const struct tracy_event *event)
{
    struct zone_detail *last = stack->detail_count ? &stack->details[stack->detail_count - 1] : NULL;
    uint32_t depth = stack->depth - 1;
    if (kind == TRACE_EXTRA_TEXT && last && last->kind == kind && last->depth == depth &&
        (size_t)last->text_length + event->text_length + 1 <= TRACE_MAX_TEXT) {
        char *longer = realloc(last->text, (size_t)last->text_length + event->text_length + 2);
        if (!longer)
            return;
        longer[last->text_length] = '\n';
        memcpy(longer + last->text_length + 1, event->text, event->text_length);
        last->text = longer;
        last->text_length += event->text_length + 1;
        return;
    }
    if (!array_reserve(&stack->details, &stack->detail_capacity, stack->detail_count + 1,
                       sizeof *stack->details))
        return;
    struct zone_detail detail = {.depth = depth, .kind = kind, .value = event->value};
    if (kind == TRACE_EXTRA_TEXT) {
        detail.text = malloc((size_t)event->text_length + 1);
        if (!detail.text)
            return;
        memcpy(detail.text, event->text, event->text_length);
        detail.text_length = event->text_length;
    }
    stack->details[stack->detail_count++] = detail;
}

static void detail_event(struct tracy_trace *t, const struct tracy_event *event)
{
    struct thread *thread = trace_thread(t, event->thread);
    struct stack *stack = thread ? thread->now : NULL;
    if (!stack || !stack->depth || stack->too_deep) {
        t->stats.lost_records++;
        return;
    }
    struct open_zone *zone = &stack->zones[stack->depth - 1];
    if (event->kind == TRACY_EVENT_ZONE_NAME)
        zone->name = late_name_own(t, zone->source, event->text, event->text_length);
    else
        add_detail(stack,
                   event->kind == TRACY_EVENT_ZONE_TEXT    ? TRACE_EXTRA_TEXT
                   : event->kind == TRACY_EVENT_ZONE_VALUE ? TRACE_EXTRA_VALUE
                                                           : TRACE_EXTRA_COLOUR,
                   event);
}

/* --- fibers --- */

static struct stack *find_fiber(struct tracy_trace *t, const struct thread *thread, uint32_t name)
{
    uint32_t index = map_get(&t->fiber_of, name);
    if (index != MAP_NONE)
        return t->fibers[index];
    const char *text = tracy_names_text(t->names, name);
    struct stack *fiber = t->fiber_count < MAX_THREADS ? calloc(1, sizeof *fiber) : NULL;
    if (!fiber ||
        !array_reserve(&t->fibers, &t->fiber_capacity, t->fiber_count + 1, sizeof(struct stack *)) ||
        !open_stack(t, fiber, TRACE_TRACK_TASK, thread->own.track, text ? text : "", t->fiber_count + 1)) {
        free(fiber);
        return NULL;
    }
    t->fibers[t->fiber_count] = fiber;
    map_put(&t->fiber_of, name, (uint32_t)t->fiber_count++);
    return fiber;
}

/* The name of a fiber is answered after its track was made. */
static void name_fibers(struct tracy_trace *t)
{
    for (uint32_t name = 0; name < t->names->count && t->fiber_count; name++) {
        uint32_t index = map_get(&t->fiber_of, name);
        const char *text = index == MAP_NONE ? NULL : tracy_names_text(t->names, name);
        const struct trace_track *known =
            text ? trace_writer_get_track(t->writer, t->fibers[index]->track) : NULL;
        if (!known || known->name[0])
            continue;
        struct trace_track track = *known;
        track.name = text;
        trace_writer_track(t->writer, &track);
    }
}

static void leave_fiber(struct tracy_trace *t, struct thread *thread, uint64_t ns)
{
    struct stack *fiber = thread->now, *own = &thread->own;
    if (fiber == own)
        return;
    thread->now = own;
    ns = ns > own->last_ns ? ns : own->last_ns;
    if (fiber->depth) {
        uint64_t from = fiber->zones[0].start > fiber->turn_ns ? fiber->zones[0].start : fiber->turn_ns;
        fiber->turn_busy += ns > from ? ns - from : 0;
    }
    if (own->depth && !own->too_deep)
        own->zones[own->depth - 1].child = fiber->turn_busy;
    if (end_zone(t, own, ns)) {
        t->stats.zones--;
        t->stats.other_zones++;
    }
    own->last_ns = ns;
}

static void fiber_event(struct tracy_trace *t, const struct tracy_event *event)
{
    struct thread *thread = trace_thread(t, event->thread);
    if (!thread)
        return;
    uint64_t ns = step_time(t, &thread->own, event->time);
    leave_fiber(t, thread, ns); /* without a word, where another is entered */
    if (event->kind == TRACY_EVENT_FIBER_LEAVE || event->name == TRACY_NONE)
        return;
    struct stack *fiber = find_fiber(t, thread, event->name);
    if (!fiber)
        return;
    begin_zone(&thread->own, ns, TRACY_NONE, late_name_of_text(t, event->name));
    fiber->turn_ns = ns;
    fiber->turn_busy = 0;
    thread->now = fiber;
}

/* --- all of it --- */

static void take_event(void *context, const struct tracy_event *event)
{
    struct tracy_trace *t = context;
    switch (event->kind) {
    case TRACY_EVENT_ZONE_TEXT:
    case TRACY_EVENT_ZONE_NAME:
    case TRACY_EVENT_ZONE_COLOUR:
    case TRACY_EVENT_ZONE_VALUE:
        detail_event(t, event);
        break;
    case TRACY_EVENT_FIBER_ENTER:
    case TRACY_EVENT_FIBER_LEAVE:
        fiber_event(t, event);
        break;
    case TRACY_EVENT_THREAD_NAME:
        name_thread(t, event);
        break;
    case TRACY_EVENT_GPU_CONTEXT:
    case TRACY_EVENT_GPU_CONTEXT_NAME:
    case TRACY_EVENT_GPU_BEGIN:
    case TRACY_EVENT_GPU_END:
    case TRACY_EVENT_GPU_TIME:
    case TRACY_EVENT_GPU_SYNC:
    case TRACY_EVENT_GPU_ZONE:
        trace_gpu_event(t, event);
        break;
    case TRACY_EVENT_LOCK:
    case TRACY_EVENT_LOCK_NAME:
    case TRACY_EVENT_LOCK_WAIT:
    case TRACY_EVENT_LOCK_OBTAIN:
    case TRACY_EVENT_LOCK_RELEASE:
        trace_lock_event(t, event);
        break;
    default:
        trace_row_event(t, event);
        break;
    }
}

struct tracy_trace *tracy_trace_new(const struct tracy_trace_options *options)
{
    struct tracy_trace *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->options = *options;
    t->writer = options->writer;
    t->process = TRACE_NONE;
    t->stream = tracy_stream_new(options->version, options->wide, take_event, t);
    if (!t->stream) {
        free(t);
        return NULL;
    }
    tracy_stream_set_zones(t->stream, take_steps);
    t->names = tracy_stream_names(t->stream);
    t->free_gpu_zone = t->frame_track = t->plot_track = t->load_name = TRACE_NONE;
    t->frames = (struct lanes){.name = "frames", .kind = TRACE_TRACK_OTHER, .parent = TRACE_NONE};
    t->sections = (struct lanes){.name = "sections", .kind = TRACE_TRACK_OTHER, .parent = TRACE_NONE};
    t->cpus = (struct lanes){.name = "CPUs", .kind = TRACE_TRACK_OTHER, .parent = TRACE_NONE};
    return t;
}

int tracy_trace_feed(struct tracy_trace *t, const void *data, size_t length, struct error *err)
{
    struct error own = {0};
    t->piece.multiplier = 0; /* the map may have got another piece */
    bool had_failed = tracy_stream_feed(t->stream, "", 0, NULL) != 0;
    int status = tracy_stream_feed(t->stream, data, length, &own);
    late_names_settle(t, false);
    trace_points_settle(t, false);
    trace_listen_settle(t, false);
    if (status && !had_failed && tracy_stream_welcome(t->stream)) {
        t->stats.lost_records++;
        trace_writer_loss(t->writer, &(struct trace_loss){.process = t->process,
                                                          .track = TRACE_NONE,
                                                          .reason = TRACE_LOSS_DAMAGED,
                                                          .from_ns = t->last_ns,
                                                          .to_ns = t->last_ns,
                                                          .records = 1});
    }
    if (err && status)
        *err = own;
    return status;
}

uint64_t tracy_trace_last_ns(const struct tracy_trace *t)
{
    return t->last_ns;
}

struct tracy_stream *tracy_trace_stream(struct tracy_trace *t)
{
    return t->stream;
}

void tracy_trace_lose_contact(struct tracy_trace *t)
{
    trace_writer_loss(t->writer, &(struct trace_loss){.process = t->process,
                                                      .track = TRACE_NONE,
                                                      .reason = TRACE_LOSS_UNRECORDED,
                                                      .from_ns = t->last_ns,
                                                      .to_ns = t->last_ns});
}

static void close_stack(struct tracy_trace *t, struct stack *stack)
{
    struct trace_loss *losses[] = {&stack->unmatched, &stack->deep};
    for (unsigned i = 0; i < 2; i++) {
        if (!losses[i]->zones)
            continue;
        losses[i]->process = t->process;
        losses[i]->track = stack->track;
        trace_writer_loss(t->writer, losses[i]);
        t->stats.lost_zones += losses[i]->zones;
    }
    t->stats.open_zones += stack->depth;
    trace_writer_close_sink(t->writer, stack->sink);
}

void tracy_trace_close(struct tracy_trace *t)
{
    if (t->is_closed)
        return;
    t->is_closed = true;
    make_process(t);
    late_names_settle(t, true);
    name_fibers(t);
    trace_points_settle(t, true);
    trace_listen_settle(t, true);
    trace_gpu_close(t);
    lanes_close(t, &t->frames);
    lanes_close(t, &t->sections);
    lanes_close(t, &t->cpus);
    trace_locks_close(t);
    for (size_t i = 0; i < t->thread_count; i++) {
        lanes_close(t, &t->threads[i]->waits);
        lanes_close(t, &t->threads[i]->holds);
        close_stack(t, &t->threads[i]->own);
    }
    for (size_t i = 0; i < t->fiber_count; i++)
        close_stack(t, t->fibers[i]);
}

static void list_stack(const struct tracy_trace *t, const struct stack *stack, struct trace_writer *w)
{
    for (uint32_t i = 0; i < stack->depth; i++) {
        const struct open_zone *zone = &stack->zones[i];
        uint64_t child = zone->child;
        if (i + 1 < stack->depth)
            child += t->last_ns > zone[1].start ? t->last_ns - zone[1].start : 0;
        trace_writer_open_zone(w, &(struct trace_open_zone){.track = stack->track,
                                                            .depth = i,
                                                            .start = zone->start,
                                                            .seen = t->last_ns,
                                                            .child = child,
                                                            .name = zone->name});
    }
}

void tracy_trace_list_open(const struct tracy_trace *t, struct trace_writer *w)
{
    lanes_list_open(t, &t->frames, w);
    lanes_list_open(t, &t->sections, w);
    lanes_list_open(t, &t->cpus, w);
    for (size_t i = 0; i < t->thread_count; i++) {
        lanes_list_open(t, &t->threads[i]->waits, w);
        lanes_list_open(t, &t->threads[i]->holds, w);
        list_stack(t, &t->threads[i]->own, w);
    }
    for (size_t i = 0; i < t->fiber_count; i++)
        list_stack(t, t->fibers[i], w);
}

static void free_stack(struct stack *stack)
{
    for (size_t i = 0; i < stack->detail_count; i++)
        free(stack->details[i].text);
    free(stack->details);
    free(stack->zones);
}

void tracy_trace_free(struct tracy_trace *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->thread_count; i++) {
        lanes_free(&t->threads[i]->waits);
        lanes_free(&t->threads[i]->holds);
        free_stack(&t->threads[i]->own);
        free(t->threads[i]);
    }
    for (size_t i = 0; i < t->fiber_count; i++) {
        free_stack(t->fibers[i]);
        free(t->fibers[i]);
    }
    free(t->threads);
    free(t->fibers);
    map_free(&t->thread_of);
    map_free(&t->fiber_of);
    lanes_free(&t->frames);
    lanes_free(&t->sections);
    lanes_free(&t->cpus);
    trace_gpu_free(t);
    trace_locks_free(t);
    trace_listen_free(t);
    late_names_free(&t->late);
    free(t->points);
    map_free(&t->address_names);
    bytes_free(&t->scratch);
    tracy_stream_free(t->stream);
    free(t);
}

void tracy_trace_get_stats(const struct tracy_trace *t, struct tracy_trace_stats *stats)
{
    *stats = t->stats;
    stats->threads = (uint32_t)t->thread_count;
    stats->unused = tracy_stream_counts(t->stream)->unused;
    stats->unnamed = t->late.unnamed;
}
