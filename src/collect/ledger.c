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
 * A thread may have no chunk: it has ended, or it waits for one (--on-full=wait), or has given that up. So whenever the
 * collector gives a chunk back, it first writes down how many zones of that thread have ended, or were lost, up to the
 * end of that chunk: the thread's row of the ledger (session/ledger_file.h). As long as the chunk is there, recover
 * does not look at the row; from the store on that gives it back, nothing else tells of those zones. So the two need
 * not be one step, whenever the collector dies. Ends without a chunk (struct late_ends) are added by the number of the
 * chunk that would have come next; when the thread is known to be gone, they are among the zones, which one store says
 * (LEDGER_FINISHED).
 *
 * Rows that are not zones of threads are added to sums around marking the slots of a chunk as taken, in two steps
 * (ledger_consume).
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

static void write_row(struct collector *c, struct track *t, uint64_t flag)
{
    struct session_control *ledger = c->folder->ledger;
    uint64_t not_ended = t->zones_too_deep + t->depth + t->parked_zones;
    uint64_t ended = t->zones_begun > not_ended ? t->zones_begun - not_ended : 0;
    if (!ledger)
        return;
    if (!t->ledger_row) {
        t->ledger_row = ledger_row_new(&c->ledger_rows, c->folder->fd);
        if (!t->ledger_row) {
            ledger->threads_without_row++;
            return;
        }
        c->ledger_rows.row[t->ledger_row - 1].key = t->key;
    }
    struct ledger_row *row = &c->ledger_rows.row[t->ledger_row - 1];
    __atomic_store_n(&row->unseen_sequence, t->unseen_sequence, __ATOMIC_RELAXED);
    __atomic_store_n(&row->zones, (ended + t->lost_zones) | flag, __ATOMIC_RELEASE);
}

void ledger_note(struct collector *c, struct track *t)
{
    write_row(c, t, 0);
}

void ledger_finish(struct collector *c, struct track *t)
{
    struct session_control *ledger = c->folder->ledger;
    write_row(c, t, LEDGER_FINISHED);
    if (ledger)
        __atomic_store_n(&ledger->taken.zones, c->taken.zones,
                         __ATOMIC_RELEASE); /* open spans were taken off */
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
    if (c->folder->control.ledger_state == SESSION_LEDGER_CLOSED)
        return;
    struct trace_loss loss = {.process = process,
                              .track = track,
                              .reason = TRACE_LOSS_COLLECTOR,
                              .from_ns = ns,
                              .to_ns = ns,
                              .zones = lost.zones,
                              .records = lost.records};
    collector_lose(c, loss);
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

/* Zones of each thread that the file has, or knows to have found no room in it; those of its tasks are its own. */
static void count_file_zones(struct collector *c)
{
    const struct trace_track *track;
    size_t capacity = 0;
    for (uint32_t id = 0; (track = trace_writer_get_track(c->writer, id)); id++) {
        uint64_t zones = trace_writer_track_zones(c->writer, id);
        if (!has_stack(track))
            c->known_rows.zones += zones;
        if (!array_reserve(&c->file_zones, &capacity, (size_t)id + 1, sizeof *c->file_zones))
            break;
        c->file_zones[id] = 0;
        c->file_track_count = (size_t)id + 1;
        uint32_t owner = track->kind == TRACE_TRACK_TASK ? track->parent : id;
        if (has_stack(track) && owner <= id)
            c->file_zones[owner] += zones + reported_losses(c, track->key).on_disk;
    }
}

static void open_rows(struct collector *c)
{
    struct ledger_rows *rows = &c->ledger_rows;
    count_file_zones(c);
    c->rows_are_missing = !ledger_rows_read(rows, c->folder->fd) || c->folder->control.threads_without_row;
    for (uint32_t i = 0; i < rows->count; i++) {
        if (rows->row[i].key && !map_put(&c->row_of_key, rows->row[i].key, i))
            c->rows_are_missing = true;
    }
}

static struct ledger_row *find_row(struct collector *c, uint64_t key)
{
    uint32_t index = map_get(&c->row_of_key, key);
    return index != MAP_NONE ? &c->ledger_rows.row[index] : NULL;
}

void ledger_take_late_ends(struct source *s)
{
    struct collector *c = s->collector;
    uint32_t count = c->row_of_key.count ? session_segment_late_count(s->segment) : 0;
    for (uint32_t number = 0; number < count; number++) {
        struct ledger_row *row = find_row(c, source_key(s, 2, number));
        if (row && row->key && !(row->zones & LEDGER_FINISHED))
            row->zones += session_segment_late_ends(s->segment, number, row->unseen_sequence);
    }
}

void ledger_open(struct collector *c)
{
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
    open_rows(c);
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
    struct ledger_row *row = find_row(c, t->key);
    if (row)
        row->key = 0; /* the chunk tells more */
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

/* A thread that has no chunk. */
static void close_row(struct collector *c, const struct ledger_row *row)
{
    uint64_t zones = row->zones & ~LEDGER_FINISHED;
    uint32_t id = trace_writer_find_track(c->writer, row->key);
    uint64_t known = id < c->file_track_count ? c->file_zones[id] : 0;
    const struct trace_track *track = trace_writer_get_track(c->writer, id);
    known += reported_losses(c, row->key).zones;
    if (zones > known)
        lose(c, track ? track->process : TRACE_NONE, track ? id : TRACE_NONE, collector_now_ns(c),
             (struct session_rows){.zones = zones - known});
}

void ledger_close(struct collector *c)
{
    const struct session_control *control = &c->folder->control;
    const struct session_rows *taken =
        control->taking_chunk && !c->taking_is_undone ? &control->taking : &control->taken;
    struct session_rows lost = {.zones = excess(taken->zones, c->known_rows.zones),
                                .records = excess(taken->records, c->known_rows.records)};
    bool is_unknown = !counts_are_known(c) || c->rows_are_missing;
    if (!counts_are_known(c))
        lost = (struct session_rows){0};
    for (uint32_t i = 0; counts_are_known(c) && i < c->ledger_rows.count; i++) {
        if (c->ledger_rows.row[i].key)
            close_row(c, &c->ledger_rows.row[i]);
    }
    if (is_unknown || lost.zones || lost.records)
        lose(c, TRACE_NONE, TRACE_NONE, collector_now_ns(c), lost);
}

void ledger_free(struct collector *c)
{
    ledger_rows_close(&c->ledger_rows);
    map_free(&c->row_of_key);
    free(c->file_zones);
    free(c->reported);
}
