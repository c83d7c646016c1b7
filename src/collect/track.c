/* SPDX-License-Identifier: Apache-2.0 */
/* One thread's records in order: begins are pushed, ends pop and give a zone. This loop and the writer's columns are
 * what must run at 40 M zones per second, so: one pass, no copy of the slots, the clock's piece looked up when a tick
 * falls outside it. A word of shared memory is checked and used as it was loaded (its owner may be hostile): what was
 * looked at to choose a path is loaded and checked again on that path.
 *
 * Times are clamped to non-decreasing within the track: a signal handler's record can be a few ns older than the one
 * it interrupted. */
#include <stdlib.h>
#include <string.h>

#include "collect/internal.h"

/* How far ahead of the records the next ones are fetched: the cache of the program's core has them. On an Intel Xeon a
 * page ahead is 45.3 M zones/s, 1 KiB 35.9, nothing 33.7. It may lie beyond the chunk, which does no harm. */
#define PREFETCH_BYTES 4096u
#define KIND_BITS 8 /* below the ticks in the first word of a record */

static inline bool push(struct track *t, uint64_t start, uint32_t name, uint32_t kind)
{
    if (__builtin_expect(t->depth >= t->stack_capacity, 0)) {
        if (t->depth > TRACE_MAX_DEPTH ||
            !array_reserve(&t->stack, &t->stack_capacity, (size_t)t->depth + 1, sizeof *t->stack))
            return false;
    }
    t->stack[t->depth++] = (struct open_zone){start, 0, name, kind};
    return true;
}

bool track_push(struct track *t, uint64_t start, uint32_t name, uint32_t kind)
{
    return push(t, start, name, kind);
}

void track_lose(struct track *t, uint32_t reason, uint64_t from_ns, uint64_t to_ns, uint64_t zones,
                uint64_t records)
{
    struct trace_loss *loss = NULL;
    for (size_t i = 0; i < TRACK_LOSS_REASONS; i++) {
        loss = &t->losses[i];
        if (!loss->reason)
            *loss = (struct trace_loss){t->process_id, t->trace_id, reason, from_ns, to_ns, 0, 0};
        if (loss->reason == reason)
            break;
    }
    loss->to_ns = to_ns > loss->to_ns ? to_ns : loss->to_ns;
    loss->zones += zones;
    loss->records += records;
}

void track_flush_losses(struct source *s, struct track *t)
{
    for (size_t i = 0; i < TRACK_LOSS_REASONS && t->losses[i].reason; i++) {
        trace_writer_loss(s->collector->writer, &t->losses[i]);
        t->losses[i].reason = 0;
    }
}

static void push_too_deep(struct source *s, struct track *t, uint64_t ns)
{
    t->too_deep++;
    t->zones_too_deep++;
    track_lose(t, TRACE_LOSS_TOO_DEEP, ns, ns, 1, 0);
    s->collector->stats.lost_zones++;
}

__attribute__((always_inline)) static inline void end_zone(struct source *s, struct track *t, uint64_t end_ns)
{
    if (__builtin_expect(t->too_deep != 0, 0)) {
        t->too_deep--;
        return;
    }
    if (__builtin_expect(t->depth == 0, 0)) { /* begun in data that was lost with an earlier collector */
        track_lose(t, TRACE_LOSS_UNMATCHED, t->last_ns, end_ns, 1, 0);
        return;
    }
    struct open_zone *zone = &t->stack[--t->depth];
    if (__builtin_expect(zone->kind == ZONE_TASK, 0))
        task_leave(t);
    if (__builtin_expect(end_ns - zone->start < s->collector->min_duration_ns, 0) &&
        zone->kind == ZONE_PLAIN) {
        record_drop_zone(t, t->depth, false);
        s->collector->stats.short_zones++;
        return; /* to its parent it is time of its own */
    }
    if (t->depth)
        t->stack[t->depth - 1].child += end_ns - zone->start;
    zone_sink_add(t->lane.sink, t->depth - t->lane.base, zone->start, end_ns, zone->child, zone->name);
    if (__builtin_expect(t->extra_count || zone->kind == ZONE_OP, 0)) {
        record_zone_extras(s, t, t->depth);
        if (zone->kind == ZONE_OP)
            record_end_op(s, t, t->depth, end_ns);
    }
}

void track_end_zone(struct source *s, struct track *t, uint64_t end_ns)
{
    end_zone(s, t, end_ns);
}

/* Losses that the descriptor has counted since we last looked. They happened after the records before them. */
void track_note_loss(struct source *s, struct track *t, const struct chunk_descriptor *d)
{
    uint32_t zones = d->lost_zones - t->lost_zones, records = d->lost_records - t->lost_records;
    if (!zones && !records)
        return;
    t->lost_zones = d->lost_zones;
    t->lost_records = d->lost_records;
    struct trace_loss *loss = &t->pending_loss;
    if (!loss->reason) {
        *loss = (struct trace_loss){.process = t->process_id, .track = t->trace_id, .from_ns = t->last_ns};
        loss->reason = !(d->flags & CHUNK_LOST_FULL) && (d->flags & CHUNK_LOST_NESTED) ? TRACE_LOSS_NESTED
                       : session_segment_growth_failures(s->segment)                   ? TRACE_LOSS_NO_MEMORY
                                                                     : TRACE_LOSS_BUFFER_FULL;
    }
    struct trace_loss more = {.reason = loss->reason, .zones = zones, .records = records};
    collector_doubt(s->collector, &more);
    loss->reason = more.reason;
    loss->zones += more.zones;
    loss->records += more.records;
    s->collector->stats.lost_zones += more.zones;
    s->collector->stats.lost_records += more.records;
}

void track_flush_loss(struct source *s, struct track *t, uint64_t until_ns)
{
    if (!t->pending_loss.reason)
        return;
    t->pending_loss.to_ns = until_ns > t->pending_loss.from_ns ? until_ns : t->pending_loss.from_ns;
    trace_writer_loss(s->collector->writer, &t->pending_loss);
    t->pending_loss = (struct trace_loss){0};
}

/* The clock's piece for a tick; the common case is that it is the one we have. */
struct tick_clock {
    const struct clock_map *map;
    struct clock_piece piece;
    /* ticks from the piece's start on that fit, times its multiplier, 64 bits, and in a record */
    uint64_t span;
    uint64_t base; /* the chunk's full tick count: records have its low 56 bits */
};

static void clock_use(struct tick_clock *clock, const struct clock_piece *piece)
{
    const uint64_t far = UINT64_C(1) << 54;
    uint64_t length = piece->end_ticks - piece->ticks, fits = UINT64_MAX / (piece->multiplier | 1);
    clock->piece = *piece;
    clock->span = length < fits ? length : fits;
    if (clock->span > far)
        clock->span = far;
    if (clock->base - piece->ticks > far)
        clock->span = 0; /* a record's bits do not tell its time from the piece's start: tick_ns does */
}

/* Ticks between `base` and a record, negative where it is older. */
static inline uint64_t ticks_since(uint64_t time_kind, uint64_t base)
{
    return (uint64_t)((int64_t)(time_kind - (base << KIND_BITS)) >> KIND_BITS);
}

static inline uint64_t tick_ns(struct tick_clock *clock, uint64_t time_kind)
{
    uint64_t ticks = clock->base + ticks_since(time_kind, clock->base);
    if (__builtin_expect(ticks - clock->piece.ticks >= clock->piece.end_ticks - clock->piece.ticks, 0)) {
        const struct clock_piece *piece = clock_map_find(clock->map, ticks);
        if (!piece)
            return ticks;
        clock_use(clock, piece);
    }
    return clock_piece_ns(&clock->piece, ticks);
}

static inline uint64_t load_word(const uint64_t *at)
{
    return __atomic_load_n(at, __ATOMIC_RELAXED);
}

/* Zones with nothing inside them, one after the other on one level: most of what a busy thread records. Everything
 * that does not change between them is in a local variable; the first record that is anything else, or that needs a
 * look at something, ends the run and takes the slow path. Returns how many slots were taken. */
__attribute__((noinline)) static uint32_t drain_leaves(struct source *s, struct track *t,
                                                       const struct tick_clock *clock,
                                                       const struct slot *slots, uint32_t count)
{
    if (t->too_deep || t->depth > TRACE_MAX_DEPTH)
        return 0;
    const struct clock_piece piece = clock->piece;
    const uint64_t span = clock->span, first = piece.ticks << KIND_BITS;
    const uint64_t min_duration = s->collector->min_duration_ns;
    const uint32_t *names = s->names, depth = t->depth - t->lane.base;
    const size_t name_count = s->name_capacity;
    struct zone_run run = zone_run_begin(t->lane.sink, depth);
    uint64_t last = t->last_ns;
    uint32_t i = 0, short_zones = 0;
    for (; i + 1 < count; i += 2) {
        __builtin_prefetch((const void *)((uintptr_t)&slots[i] + PREFETCH_BYTES));
        uint64_t begin = load_word(&slots[i].time_kind), stop = load_word(&slots[i + 1].time_kind);
        uint32_t id = (uint32_t)load_word(&slots[i].word);
        if ((uint8_t)begin != RECORD_ZONE_BEGIN || (uint8_t)stop != RECORD_ZONE_END || id >= name_count)
            break;
        uint64_t start_ticks = (begin - first) >> KIND_BITS, end_ticks = (stop - first) >> KIND_BITS;
        uint32_t name = names[id];
        if (__builtin_expect(start_ticks >= span || end_ticks >= span || !name, 0))
            break;
        uint64_t start = piece.ns + (start_ticks * piece.multiplier >> 32);
        uint64_t end = piece.ns + (end_ticks * piece.multiplier >> 32);
        start = start > last ? start : last;
        end = end > start ? end : start;
        if (__builtin_expect(end - start < min_duration, 0)) {
            last = end;
            short_zones++;
            continue;
        }
        if (!zone_run_add(&run, start, end, name - 1))
            break;
        last = end;
    }
    zone_run_end(t->lane.sink, depth, &run);
    for (uint32_t k = 0; t->depth && k < run.count; k++)
        t->stack[t->depth - 1].child += run.duration[k];
    t->last_ns = last;
    t->zones_begun += i / 2;
    s->collector->stats.short_zones += short_zones;
    return i;
}

/* One record of any kind. Returns how many slots were taken. */
static uint32_t drain_record(struct source *s, struct track *t, struct tick_clock *clock,
                             const struct slot *slots, uint32_t count)
{
    uint64_t time_kind = load_word(&slots->time_kind), word = load_word(&slots->word);
    unsigned kind = (unsigned)(time_kind & 0xff);
    if (__builtin_expect(!time_kind, 0))
        return record_take(s, t, slots, count, time_kind, word, t->last_ns);
    uint64_t ns = tick_ns(clock, time_kind);
    /* these carry times that are not this thread's now */
    bool is_device = kind == RECORD_DEVICE_ZONE || kind == RECORD_DEVICE_RUN || kind == RECORD_CLOCK_SYNC;
    uint64_t now = ns > t->last_ns ? ns : t->last_ns;
    if (kind == RECORD_ZONE_BEGIN) {
        uint32_t id = (uint32_t)word;
        uint32_t name = id < s->name_capacity && s->names[id] ? s->names[id] - 1 : source_name(s, id);
        t->last_ns = now;
        t->zones_begun++;
        if (__builtin_expect(!push(t, now, name, 0), 0))
            push_too_deep(s, t, now);
        return 1;
    }
    if (kind == RECORD_ZONE_END) {
        end_zone(s, t, now);
        t->last_ns = now;
        return 1;
    }
    uint32_t taken = record_take(s, t, slots, count, time_kind, word, is_device ? ns : now);
    if (!is_device)
        t->last_ns = now;
    return taken;
}

void track_drain(struct source *s, struct track *t, const struct segment_chunk *chunk)
{
    struct tick_clock clock = {.map = &s->collector->clock, .base = chunk->d.base_ticks};
    const struct clock_piece *piece = clock_map_find(clock.map, clock.base);
    if (piece)
        clock_use(&clock, piece);
    const struct slot *slots = chunk->slots;
    uint32_t i = chunk->consumed, end = chunk->d.slots;
    while (i < end) {
        if (i + 1 < end && (uint8_t)load_word(&slots[i].time_kind) == RECORD_ZONE_BEGIN &&
            (uint8_t)load_word(&slots[i + 1].time_kind) == RECORD_ZONE_END)
            i += drain_leaves(s, t, &clock, slots + i, end - i);
        if (i < end)
            i += drain_record(s, t, &clock, slots + i, end - i);
    }
}

struct trace_open_zone track_open_zone(const struct track *t, uint32_t depth, uint64_t seen_ns)
{
    const struct open_zone *zone = &t->stack[depth];
    uint64_t child = zone->child;
    if (depth + 1 < t->depth && seen_ns > zone[1].start)
        child += seen_ns - zone[1].start;
    const struct track_lane *lane = &t->lane;
    for (uint32_t i = t->outer_count; i > 0 && depth < lane->base; i--)
        lane = &t->outer[i - 1];
    return (struct trace_open_zone){.track = lane->trace_id,
                                    .depth = depth - lane->base,
                                    .start = zone->start,
                                    .seen = seen_ns,
                                    .child = child,
                                    .name = zone->name};
}

static void keep_open(struct collector *c, struct trace_open_zone zone)
{
    if (c->dead_open_count < MAX_DEAD_OPEN_ZONES &&
        array_reserve(&c->dead_open, &c->dead_open_capacity, c->dead_open_count + 1, sizeof *c->dead_open)) {
        c->dead_open[c->dead_open_count++] = zone;
        return;
    }
    struct trace_loss loss = {.process = TRACE_NONE,
                              .track = TRACE_NONE,
                              .reason = TRACE_LOSS_NO_MEMORY,
                              .from_ns = zone.start,
                              .to_ns = zone.seen,
                              .zones = 1};
    trace_writer_loss(c->writer, &loss);
    c->stats.lost_zones++;
}

/* Ends that the thread could not record before it was gone: it had no chunk any more. */
static void take_late_ends(struct source *s, struct track *t, uint64_t seen_ns)
{
    uint32_t count = session_segment_late_ends(s->segment, t->number, t->unseen_sequence);
    uint64_t end_ns = seen_ns > t->last_ns ? seen_ns : t->last_ns;
    if (count && (t->depth || t->too_deep))
        track_lose(t, TRACE_LOSS_LATE_ENDS, t->last_ns, end_ns, count, 0);
    for (uint32_t i = 0; i < count && (t->depth || t->too_deep); i++)
        end_zone(s, t, end_ns);
    t->last_ns = count ? end_ns : t->last_ns;
}

/* The thread is gone. What it had open stays open for good. */
void track_finish(struct source *s, struct track *t, uint64_t seen_ns)
{
    struct collector *c = s->collector;
    take_late_ends(s, t, seen_ns);
    c->taken.zones -= t->span_count; /* open ones are not rows */
    ledger_finish(c, t);
    track_flush_losses(s, t);
    track_flush_loss(s, t, seen_ns);
    for (size_t i = 0; i < t->span_count; i++)
        keep_open(c, span_open_zone(t, i, seen_ns));
    do {
        for (uint32_t i = 0; i < t->depth; i++)
            keep_open(c, track_open_zone(t, i, seen_ns));
        while (t->op_count) /* ops that never ended are rows all the same */
            record_end_op(s, t, t->ops[t->op_count - 1].depth, 0);
    } while (fiber_drop(t));
    task_close_all(s, t);
    locks_close(s, t, seen_ns);
    spans_close(s, t);
    source_forget_track(s, t);
    free(t);
}
