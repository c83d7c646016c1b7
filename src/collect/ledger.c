/* SPDX-License-Identifier: Apache-2.0 */
/* Recovering from the death of a collector: counting exactly what was lost, and writing nothing twice.
 *
 * A collector takes records out of the session's chunks, keeps finished zones in its own memory for up to two
 * seconds, then writes them to the trace. If it is killed, what it kept is gone. `opscope recover` finds the
 * unfinished trace and the chunks that are still in the session. For each thread it has to find out which zones
 * are in the file, which are still in a chunk, and how many are in neither: those are lost.
 *
 * A thread that still has a chunk. Its zones were written in the order of their ends, so the file holds the first
 * N zones that ended, for some N. The descriptor of the oldest chunk left says how many had ended before that
 * chunk: E.
 *   - N < E: E - N zones are lost.
 *   - N > E: the first N - E zones that end in this chunk are in the file already. Their records are read, since
 *     they open and close zones, but nothing is written for them (ends_to_skip, ledger_replay).
 *
 * Records other than zones, and zones of devices and spans, have no such number. The collector notes in each chunk
 * how many slots it has taken (segment_chunk.taken). Records in those slots are in the file, or were lost with it: they
 * are not written again. How many were lost is known as a sum over all threads: the ledger (below) counts the rows
 * that the collector took, the file those that reached it. What begins and ends (an op, a text in pieces) counts from
 * its begin on; one that began in a slot that was taken, and that recover meets again and writes, is not lost.
 *
 * Losses that the program itself counted (buffer full, say). Each descriptor has the thread's total since its
 * start, and the file has the loss records written so far: the difference still has to be reported.
 *
 * A thread that has ended has no chunk. The collector therefore keeps a ledger in the control file: the total of
 * zones, found and lost, of all threads whose last chunk it has given back. recover compares it with what the file
 * holds of threads without a chunk: if the file has fewer, the rest was lost. Adding a thread to the total and
 * giving its last chunk back cannot be one step, so there are two. ledger_prepare writes the new total and the
 * thread's key beside the valid total; the chunk is given back; ledger_settle makes the new total the valid one.
 * If the collector dies in between, recover takes the new total if that thread has no chunk left, and the old one
 * if it has. Rows that are not zones of threads are added in the same way, around marking the slots of a chunk as
 * taken (ledger_consume).
 *
 * Where this cannot be exact:
 *   - A thread with tasks has its zones on several tracks, each of which reaches the file by itself. How many
 *     zones the file has is known, but not which. What the collector took is not written again; the difference was
 *     lost.
 *   - With --max-size the file has dropped old zones without saying whose, with --min-duration it never had the
 *     short ones. What the collector took is not written again, and the loss record says "an unknown number".
 *   - Of a session that was kept after its trace was finished (--keep-session), everything taken is in that trace:
 *     nothing was lost (SESSION_LEDGER_CLOSED).
 *   - A zone that is in the trace as "begun before the collector died" has lost its name, and the texts and values that
 *     were set before; they are not counted. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "collect/internal.h"
#include "trace/reader.h"

#define BEGUN_BEFORE "(begun before the collector died)"

void ledger_prepare(struct collector *c, struct track *t)
{
    struct session_control *ledger = c->folder->ledger;
    t->is_settled = true;
    if (!ledger)
        return;
    uint64_t not_ended = t->zones_too_deep + t->depth + t->parked_zones;
    uint64_t ended = t->zones_begun > not_ended ? t->zones_begun - not_ended : 0;
    __atomic_store_n(&ledger->ending_zones, ledger->ended_zones + ended + t->lost_zones, __ATOMIC_RELAXED);
    __atomic_store_n(&ledger->ending_track, t->key, __ATOMIC_RELEASE);
}

void ledger_settle(struct collector *c)
{
    struct session_control *ledger = c->folder->ledger;
    if (!ledger)
        return;
    __atomic_store_n(&ledger->ended_zones, ledger->ending_zones, __ATOMIC_RELEASE);
    __atomic_store_n(&ledger->ending_track, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&ledger->taken.zones, c->taken.zones, __ATOMIC_RELEASE); /* open spans were taken off */
}

static uint64_t key_of_chunk(const struct source *s, const struct segment_chunk *chunk)
{
    return source_key(s, 5, chunk->chunk);
}

void ledger_consume(struct source *s, const struct segment_chunk *chunk)
{
    const struct session_rows taken = s->collector->taken;
    struct session_control *ledger = s->collector->folder->ledger;
    bool has_rows = ledger && (ledger->taken.zones != taken.zones || ledger->taken.records != taken.records);
    if (has_rows) {
        ledger->taking = taken;
        ledger->taking_slots = chunk->d.slots;
        __atomic_store_n(&ledger->taking_chunk, key_of_chunk(s, chunk), __ATOMIC_RELEASE);
    }
    session_segment_consumed(s->segment, chunk, chunk->d.slots);
    if (has_rows) {
        __atomic_store_n(&ledger->taken.zones, taken.zones, __ATOMIC_RELEASE);
        __atomic_store_n(&ledger->taken.records, taken.records, __ATOMIC_RELEASE);
        __atomic_store_n(&ledger->taking_chunk, 0, __ATOMIC_RELEASE);
    }
}

/* --- recover --- */

static bool counts_are_known(const struct collector *c)
{
    return c->folder->control.max_size_bytes == 0 && c->folder->control.min_duration_ns == 0;
}

static void lose(struct collector *c, uint32_t process, uint32_t track, uint64_t ns, struct session_rows lost)
{
    if (c->folder->control.ended_zones == SESSION_LEDGER_CLOSED)
        return;
    struct trace_loss loss = {.process = process,
                              .track = track,
                              .reason = TRACE_LOSS_COLLECTOR,
                              .from_ns = ns,
                              .to_ns = ns,
                              .zones = lost.zones,
                              .records = lost.records};
    trace_writer_loss(c->writer, &loss);
    c->stats.lost_zones += lost.zones;
    c->stats.lost_records += lost.records;
}

/* --- what the file says --- */

struct reported { /* of a track, or of a process as a whole */
    uint64_t key;
    uint64_t zones, records; /* lost by the program itself */
    uint64_t on_disk;        /* zones that found no room in the file */
};

static int by_key(const void *a, const void *b)
{
    const struct reported *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static uint64_t key_of_loss(const struct trace *trace, const struct trace_loss *loss)
{
    if (loss->track != TRACE_NONE) {
        const struct trace_track *track = trace_get_track(trace, loss->track);
        return track ? track->key : 0;
    }
    const struct trace_process *process =
        loss->process != TRACE_NONE ? trace_get_process(trace, loss->process) : NULL;
    return process ? process->key : 0;
}

/* Sums those of one key; the list is in order. */
static void merge_reported(struct collector *c)
{
    size_t last = 0;
    for (size_t i = 1; i < c->reported_count; i++) {
        if (c->reported[last].key != c->reported[i].key) {
            c->reported[++last] = c->reported[i];
            continue;
        }
        c->reported[last].zones += c->reported[i].zones;
        c->reported[last].records += c->reported[i].records;
        c->reported[last].on_disk += c->reported[i].on_disk;
    }
    c->reported_count = c->reported_count ? last + 1 : 0;
}

static bool has_stack(const struct trace_track *track)
{
    return track->kind == TRACE_TRACK_THREAD || track->kind == TRACE_TRACK_TASK;
}

/* Rows that found no room in the file: its loss records have them. Records of zones are the zones' own texts. */
static void add_rows_without_room(struct collector *c, const struct trace *trace,
                                  const struct trace_loss *loss)
{
    const struct trace_track *track = loss->track != TRACE_NONE ? trace_get_track(trace, loss->track) : NULL;
    if (!track)
        c->known_rows.records += loss->records;
    else if (!has_stack(track))
        c->known_rows.zones += loss->zones;
}

static void read_losses(struct collector *c, const struct trace *trace)
{
    size_t count;
    const struct trace_loss *losses = trace_get_losses(trace, &count);
    c->reported = calloc(count + 1, sizeof *c->reported);
    for (size_t i = 0; c->reported && i < count; i++) {
        const struct trace_loss *loss = &losses[i];
        if (loss->reason == TRACE_LOSS_PAUSED && loss->to_ns > c->pause.written_ns)
            c->pause.written_ns = loss->to_ns;
        if (loss->reason == TRACE_LOSS_DISK_FULL)
            add_rows_without_room(c, trace, loss);
        struct reported reported = {.key = key_of_loss(trace, loss)};
        if (loss->reason == TRACE_LOSS_BUFFER_FULL || loss->reason == TRACE_LOSS_NO_MEMORY ||
            loss->reason == TRACE_LOSS_NESTED) {
            reported.zones = loss->zones;
            reported.records = loss->records;
        } else if (loss->reason == TRACE_LOSS_DISK_FULL) {
            reported.on_disk = loss->zones;
        }
        if (reported.key && (reported.zones || reported.records || reported.on_disk))
            c->reported[c->reported_count++] = reported;
    }
    if (c->reported_count)
        qsort(c->reported, c->reported_count, sizeof *c->reported, by_key);
    merge_reported(c);
}

static struct reported reported_losses(const struct collector *c, uint64_t key)
{
    struct reported wanted = {.key = key};
    const struct reported *found =
        c->reported_count ? bsearch(&wanted, c->reported, c->reported_count, sizeof *c->reported, by_key)
                          : NULL;
    return found ? *found : wanted;
}

void ledger_open(struct collector *c)
{
    const struct trace_track *track;
    struct trace *trace;
    char path[sizeof c->folder->output + 16];
    snprintf(path, sizeof path, "%s.partial", c->folder->output);
    if (counts_are_known(c) && trace_open(&trace, path, 0, NULL) == 0) {
        const struct trace_info *info = trace_get_info(trace);
        c->known_rows.records =
            info->points + info->counters + info->memory_events + info->ops + info->runs + info->locks;
        read_losses(c, trace);
        trace_close(trace);
    }
    for (uint32_t id = 0; (track = trace_writer_get_track(c->writer, id)); id++) {
        struct reported reported = reported_losses(c, track->key);
        uint64_t zones = trace_writer_track_zones(c->writer, id);
        if (has_stack(track))
            c->known_zones += zones + reported.on_disk + reported.zones;
        else
            c->known_rows.zones += zones;
    }
}

void ledger_open_process(struct source *s, uint32_t slot, uint64_t key)
{
    struct reported reported = reported_losses(s->collector, key);
    s->processes[slot].lost_zones = reported.zones;
    s->processes[slot].lost_records = reported.records;
}

/* Zones that the file has, or knows to be lost, of the tasks of a thread. */
static uint64_t zones_of_tasks(const struct collector *c, struct track *t)
{
    const struct trace_track *track;
    uint64_t zones = 0;
    for (uint32_t id = 0; (track = trace_writer_get_track(c->writer, id)); id++) {
        if (track->kind == TRACE_TRACK_TASK && track->parent == t->trace_id) {
            zones += trace_writer_track_zones(c->writer, id) + reported_losses(c, track->key).on_disk;
            t->has_tasks = true;
        }
    }
    return zones;
}

/* The first chunk that the session still has of this thread. */
void ledger_open_track(struct source *s, struct track *t, const struct segment_chunk *chunk)
{
    struct collector *c = s->collector;
    const struct chunk_descriptor *d = &chunk->d;
    struct reported reported = reported_losses(c, t->key);
    uint64_t in_file =
                 trace_writer_track_zones(c->writer, t->trace_id) + reported.on_disk + zones_of_tasks(c, t),
             open = d->depth_at_start;
    uint64_t first = __atomic_load_n(&chunk->slots[0].time_kind, __ATOMIC_RELAXED);
    if (d->slots && (first & 0xff) == RECORD_LATE_ENDS) /* ended before, reported in this chunk */
        open += (uint32_t)__atomic_load_n(&chunk->slots[0].word, __ATOMIC_RELAXED);
    uint64_t ended = d->zones_before > open ? d->zones_before - open : 0;
    t->next_sequence = t->unseen_sequence = d->sequence;
    t->zones_begun = d->zones_before;
    t->last_ns = collector_ns(c, d->base_ticks);
    t->lost_zones = (uint32_t)reported.zones;
    t->lost_records = (uint32_t)reported.records;
    c->known_live_zones += in_file + reported.zones;
    c->ending_is_live |= t->key == c->folder->control.ending_track;
    uint32_t name = open ? trace_writer_name(c->writer, BEGUN_BEFORE, "", "", 0, 0) : TRACE_NONE;
    for (uint64_t i = 0; i < open && i <= TRACE_MAX_DEPTH; i++) {
        if (!track_push(t, t->last_ns, name, 0))
            break;
    }
    t->reported_ends = in_file;
    t->taken_ends = ended;
    if (!counts_are_known(c) || t->has_tasks)
        return;
    t->ends_to_skip = in_file > ended ? in_file - ended : 0;
    if (ended > in_file)
        lose(c, t->process_id, t->trace_id, t->last_ns, (struct session_rows){.zones = ended - in_file});
}

static uint64_t time_of(const struct collector *c, const struct track *t, const struct segment_chunk *chunk,
                        uint64_t time_kind)
{
    uint64_t base = chunk->d.base_ticks;
    int64_t delta = (int64_t)(((time_kind >> 8) - base) << 8) >> 8; /* records have the low 56 bits */
    uint64_t ns = collector_ns(c, base + (uint64_t)delta);
    return ns > t->last_ns ? ns : t->last_ns;
}

static void end_silently(struct track *t, uint64_t end_ns)
{
    if (t->too_deep) {
        t->too_deep--;
        return;
    }
    if (!t->depth)
        return;
    const struct open_zone *zone = &t->stack[--t->depth];
    if (zone->kind == ZONE_TASK)
        task_leave(t);
    t->taken_ends++;
    if (t->depth)
        t->stack[t->depth - 1].child += end_ns - zone->start;
    record_drop_zone(t, t->depth, zone->kind == ZONE_OP && t->is_muted);
}

static void end_zones(struct source *s, struct track *t, uint64_t ns, uint64_t count, bool is_known)
{
    t->last_ns = ns;
    for (; count && (t->depth || t->too_deep || t->ends_to_skip || count == 1); count--) {
        if (t->ends_to_skip || !is_known)
            end_silently(t, ns);
        else
            track_end_zone(s, t, ns);
        t->ends_to_skip -= t->ends_to_skip > 0;
    }
}

/* Goes over what the dead collector had taken; returns the slot from which on everything is new. */
uint32_t ledger_replay(struct source *s, struct track *t, const struct segment_chunk *chunk)
{
    const struct session_control *control = &s->collector->folder->control;
    uint32_t i = chunk->consumed;
    if (control->taking_chunk == key_of_chunk(s, chunk) && chunk->taken < control->taking_slots)
        s->collector->taking_is_undone = true;
    while (i < chunk->d.slots && (t->ends_to_skip || i < chunk->taken)) {
        const struct slot *slot = &chunk->slots[i];
        uint64_t time_kind = __atomic_load_n(&slot->time_kind, __ATOMIC_RELAXED);
        uint64_t word = __atomic_load_n(&slot->word, __ATOMIC_RELAXED),
                 ns = time_of(s->collector, t, chunk, time_kind);
        unsigned kind = (unsigned)(time_kind & 0xff);
        bool was_taken = i < chunk->taken;
        bool is_known = !was_taken || (counts_are_known(s->collector) && !t->has_tasks);
        t->is_muted = was_taken;
        if (kind == RECORD_ZONE_BEGIN) {
            t->zones_begun++;
            t->last_ns = ns;
            if (!track_push(t, ns, source_name(s, (uint32_t)word), 0))
                t->too_deep++;
            i++;
        } else if (kind == RECORD_ZONE_END || kind == RECORD_LATE_ENDS) {
            end_zones(s, t, ns, kind == RECORD_ZONE_END ? 1 : (uint32_t)word, is_known);
            i++;
        } else {
            i += record_take(s, t, slot, chunk->d.slots - i, time_kind, word, ns);
        }
    }
    t->is_muted = false;
    if (t->has_tasks && counts_are_known(s->collector) && t->taken_ends > t->reported_ends) {
        lose(s->collector, t->process_id, t->trace_id, t->last_ns,
             (struct session_rows){.zones = t->taken_ends - t->reported_ends});
        t->reported_ends = t->taken_ends;
    }
    return i;
}

static uint64_t excess(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

void ledger_close(struct collector *c)
{
    const struct session_control *control = &c->folder->control;
    bool is_ending = control->ending_track && !c->ending_is_live;
    uint64_t ended = is_ending ? control->ending_zones : control->ended_zones;
    const struct session_rows *taken =
        control->taking_chunk && !c->taking_is_undone ? &control->taking : &control->taken;
    struct session_rows lost = {.zones = excess(ended, c->known_zones - c->known_live_zones) +
                                         excess(taken->zones, c->known_rows.zones),
                                .records = excess(taken->records, c->known_rows.records)};
    if (!counts_are_known(c))
        lost = (struct session_rows){0}; /* an unknown number */
    if (!counts_are_known(c) || lost.zones || lost.records)
        lose(c, TRACE_NONE, TRACE_NONE, collector_now_ns(c), lost);
}
