/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's policy: in which order chunks are taken, when a chunk that is not sealed is looked at, who is dead.
 *
 * - Sealed chunks are taken at each poll, in the order of their track. Unsealed ones only when nothing was sealed and
 *   at most every 20 ms: peeking at the line a thread writes to costs that thread 4-6 ns per zone.
 * - A chunk can be seen sealed while the one before it was still seen open (it was sealed in between): it waits.
 * - A process is dead when its pid is gone or a zombie (checked every 100 ms, at each poll when chunks run short), or
 *   when its segment's last writer has left (inotify, which also works across PID namespaces). Its unsealed chunks
 *   are then final. */
#include "collect/collector.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "collect/internal.h"

#define LIVENESS_NS UINT64_C(100000000)
#define PEEK_NS UINT64_C(20000000)

/* --- setting up --- */

/* Of one that is parked: the one that runs has no depth there. */
static void list_open_of_fiber(const struct source *s, const struct track *t, uint32_t fiber,
                               struct trace_writer *w)
{
    struct track copy = *t;
    if (!t->fibers[fiber].depth)
        return;
    fiber_show(&t->fibers[fiber], &copy);
    for (uint32_t d = 0; d < copy.depth; d++) {
        struct trace_open_zone zone = track_open_zone(&copy, d, source_seen_ns(s, t));
        trace_writer_open_zone(w, &zone);
    }
}

static void list_open_zones(void *context, struct trace_writer *w)
{
    struct collector *c = context;
    if (c->list_more_open)
        c->list_more_open(c->more_open_context, w);
    for (size_t i = 0; i < c->dead_open_count; i++)
        trace_writer_open_zone(w, &c->dead_open[i]);
    for (size_t i = 0; i < c->source_count; i++) {
        const struct source *s = c->sources[i];
        for (size_t j = 0; j < s->track_slots; j++) {
            const struct track *t = s->tracks[j];
            uint64_t seen_ns = t && (t->depth || t->span_count) ? source_seen_ns(s, t) : 0;
            for (size_t k = 0; t && k < t->span_count; k++) {
                struct trace_open_zone span = span_open_zone(t, k, seen_ns);
                trace_writer_open_zone(w, &span);
            }
            for (uint32_t d = 0; t && d < t->depth; d++) {
                struct trace_open_zone zone = track_open_zone(t, d, seen_ns);
                trace_writer_open_zone(w, &zone);
            }
            for (uint32_t f = 0; t && t->parked_zones && f < t->fiber_count; f++)
                list_open_of_fiber(s, t, f, w);
        }
    }
}

static void write_clock_point(struct collector *c, const struct clock_sample *sample)
{
    struct trace_clock_point point = {
        .clock = c->clock_id,
        .ticks = sample->ticks,
        .host_ns = sample->raw_ns + c->clock.ahead_ns,
        .uncertainty_ns = sample->uncertainty_ns,
        .realtime_ns = sample->realtime_ns,
        .boottime_ns = sample->boottime_ns,
        .is_break = sample->is_break,
    };
    trace_writer_clock_point(c->writer, &point);
    if (sample->is_break) {
        struct trace_loss loss = {.process = TRACE_NONE,
                                  .track = TRACE_NONE,
                                  .reason = TRACE_LOSS_CLOCK,
                                  .from_ns = point.host_ns,
                                  .to_ns = point.host_ns};
        trace_writer_loss(c->writer, &loss);
    }
}

static void sample_clock(struct collector *c)
{
    struct clock_sample sample;
    clock_map_sample(&c->clock, &sample);
    write_clock_point(c, &sample);
}

/* After a collector's death: the pair from the start of the session and one from now, if it is still the same boot;
 * otherwise the newest pair that a chunk carries. */
static void recover_clock(struct collector *c)
{
    const struct session_control *control = &c->folder->control;
    struct clock_sample first = {.ticks = control->start_ticks, .raw_ns = control->start_raw_ns};
    clock_map_add(&c->clock, &first);
    uint64_t now_ticks = clock_ticks(c->clock.source), now_raw = clock_raw_ns();
    if (now_ticks > first.ticks && now_raw > first.raw_ns) {
        sample_clock(c);
        return;
    }
    struct clock_sample last = first;
    for (size_t i = 0; i < c->source_count; i++) {
        size_t count;
        const struct segment_chunk *list = session_segment_scan(c->sources[i]->segment, true, &count);
        for (size_t j = 0; j < count; j++) {
            if (list[j].d.base_ticks > last.ticks && list[j].d.base_raw_ns > last.raw_ns)
                last = (struct clock_sample){.ticks = list[j].d.base_ticks, .raw_ns = list[j].d.base_raw_ns};
        }
    }
    clock_map_add(&c->clock, &last);
    write_clock_point(c, &last);
}

int collector_create(struct collector **out, struct session_folder *folder, struct trace_writer *writer,
                     unsigned flags, struct error *err)
{
    struct collector *c = calloc(1, sizeof *c);
    if (!c)
        return error_no_memory(err, "the collector");
    struct stat st;
    c->folder = folder;
    c->writer = writer;
    c->flags = flags;
    c->root_id = TRACE_NONE;
    c->min_duration_ns = folder->control.min_duration_ns;
    c->max_tracks = MAX_TRACKS_PER_SOURCE;
    c->own_namespace = stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
    gethostname(c->host, sizeof c->host - 1);
    const struct trace_process *known;
    for (uint32_t id = 0; (known = trace_writer_get_process(writer, id)); id++)
        map_put(&c->newest_of_pid, (uint64_t)known->pid, id);
    clock_map_init(&c->clock, folder->control.clock_source);
    struct trace_clock clock = {
        .id = TRACE_NONE,
        .ticks_per_second = 0,
        .name = folder->control.clock_source == CLOCK_SOURCE_COUNTER ? "CPU counter" : "CLOCK_MONOTONIC_RAW"};
    c->clock_id = trace_writer_clock(writer, &clock);
    trace_writer_set_open_zones(writer, list_open_zones, c);
    if (flags & COLLECTOR_RECOVER)
        ledger_open(c);
    else
        sample_clock(c);
    pause_open(c);
    collector_scan_folder(c);
    if (flags & COLLECTOR_RECOVER)
        recover_clock(c);
    *out = c;
    return 0;
}

void collector_free(struct collector *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->source_count; i++)
        source_close(c->sources[i]);
    free(c->sources);
    free(c->dead_open);
    free(c->pause.edges);
    map_free(&c->pause.going_on);
    map_free(&c->newest_of_pid);
    map_free(&c->seen_refusals);
    map_free(&c->seen_broken);
    map_free(&c->seen_segments);
    map_free(&c->foreign_names);
    for (size_t i = 0; i < c->folder_count; i++)
        free(c->folders[i]);
    ledger_free(c);
    clock_map_free(&c->clock);
    bytes_free(&c->scratch);
    free(c);
}

bool collector_is_first(struct map *seen, uint64_t key)
{
    if (map_get(seen, key) != MAP_NONE)
        return false;
    if (seen->count < MAX_REMEMBERED)
        map_put(seen, key, 0);
    return true;
}

void collector_set_more_open_zones(struct collector *c, trace_open_zones_fn list, void *context)
{
    c->list_more_open = list;
    c->more_open_context = context;
}

/* --- draining --- */

/* A lost zone costs its thread 2 ns at the very least. */
#define LEAST_LOSS_NS 2u

void collector_doubt(const struct collector *c, struct trace_loss *loss)
{
    uint64_t now = clock_raw_ns(), since = c->folder->control.start_raw_ns;
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    if (now < since) /* recover, after a start of the machine */
        since = 0;
    uint64_t most = (now - since) / LEAST_LOSS_NS * (uint64_t)(processors > 0 ? processors : 1);
    if (loss->zones <= most && loss->records <= most)
        return;
    loss->reason = TRACE_LOSS_DAMAGED;
    loss->zones = loss->records = 0;
}

void collector_lose(struct collector *c, struct trace_loss loss)
{
    collector_doubt(c, &loss);
    trace_writer_loss(c->writer, &loss);
    c->stats.lost_zones += loss.zones;
    c->stats.lost_records += loss.records;
}

/* Chunks before this one are missing: lost with a damaged segment, or when there was no track for this thread.
 * zones_before says how many zones. */
static void note_gap(struct source *s, struct track *t, const struct chunk_descriptor *d)
{
    uint64_t missing = d->zones_before > t->zones_begun ? d->zones_before - t->zones_begun : 0;
    uint64_t counted = missing < s->zones_without_track ? missing : s->zones_without_track;
    s->zones_without_track -= counted;
    missing -= counted;
    struct trace_loss loss = {.process = t->process_id,
                              .track = t->trace_id,
                              .reason = TRACE_LOSS_DAMAGED,
                              .from_ns = t->last_ns,
                              .to_ns = collector_ns(s->collector, d->base_ticks),
                              .zones = missing};
    collector_lose(s->collector, loss);
    t->zones_begun = d->zones_before;
    t->next_sequence = d->sequence;
}

/* There is no track for its thread: no memory, or too many of them. The loss names no process:
 * `opscope recover` would take it for one that the process itself counted (ledger.c). */
static void lose_chunk(struct source *s, const struct segment_chunk *chunk)
{
    uint64_t ns = collector_ns(s->collector, chunk->d.base_ticks);
    struct trace_loss loss = {.process = TRACE_NONE,
                              .track = TRACE_NONE,
                              .reason = TRACE_LOSS_NO_MEMORY,
                              .from_ns = ns,
                              .to_ns = ns};
    for (uint32_t i = chunk->consumed; i < chunk->d.slots;) {
        const struct slot *slot = &chunk->slots[i];
        unsigned kind = (unsigned)(__atomic_load_n(&slot->time_kind, __ATOMIC_RELAXED) & 0xff);
        uint64_t word = __atomic_load_n(&slot->word, __ATOMIC_RELAXED);
        if (kind == RECORD_ZONE_BEGIN || kind == RECORD_OP_BEGIN || kind == RECORD_TASK_BEGIN)
            loss.zones++;
        else if (kind != RECORD_ZONE_END && kind != RECORD_LATE_ENDS && kind != RECORD_NOTHING)
            loss.records++;
        i += 1 + slot_more(kind, word);
    }
    if (loss.zones || loss.records)
        trace_writer_loss(s->collector->writer, &loss);
    s->zones_without_track += loss.zones;
    s->collector->stats.lost_zones += loss.zones;
    s->collector->stats.lost_records += loss.records;
    session_segment_consumed(s->segment, chunk, chunk->d.slots);
}

static bool owner_is_gone(const struct source *s, const struct track *t)
{
    struct session_process p;
    return t->is_dead || s->is_closed ||
           (s->is_local && session_segment_process(s->segment, t->process, &p) && process_is_gone(p.pid));
}

/* Takes what one chunk holds; is_final: its owner will write no more. */
static uint64_t take_chunk(struct source *s, const struct segment_chunk *listed, bool is_final)
{
    struct segment_chunk chunk = *listed;
    struct track *t = source_track(s, &chunk);
    bool is_done = chunk.is_sealed || is_final;
    uint32_t slots = t && is_final && !chunk.is_sealed ? session_segment_slots_left_behind(&chunk) : 0;
    if (slots > chunk.d.slots && owner_is_gone(s, t)) /* else the run is over, and it goes on writing */
        chunk.d.slots = slots;
    if (!t)
        lose_chunk(s, &chunk);
    if (!t || chunk.d.sequence < t->next_sequence) { /* or claimed twice */
        if (chunk.is_sealed)
            session_segment_release(s->segment, &chunk);
        return 0;
    }
    if (chunk.d.sequence > t->next_sequence) {
        if (!is_final)
            return 0; /* the one before it is sealed by now: next poll */
        note_gap(s, t, &chunk.d);
    }
    if (chunk.consumed == 0)
        track_flush_loss(s, t, collector_ns(s->collector, chunk.d.base_ticks));
    uint64_t taken = chunk.d.slots > chunk.consumed ? chunk.d.slots - chunk.consumed : 0;
    if (s->collector->flags & COLLECTOR_RECOVER)
        chunk.consumed = ledger_replay(s, t, &chunk);
    track_drain(s, t, &chunk);
    track_flush_losses(s, t);
    ledger_consume(s, &chunk);
    if (chunk.d.slots)
        t->unseen_sequence = chunk.d.sequence + 1;
    track_note_loss(s, t, &chunk.d);
    if (!is_done)
        return taken;
    t->next_sequence++;
    ledger_note(s->collector, t);
    if (chunk.d.flags & CHUNK_LAST)
        track_finish(s, t, t->last_ns);
    session_segment_release(s->segment, &chunk);
    return taken;
}

static uint64_t drain(struct source *s, bool include_owned, bool is_final)
{
    size_t count;
    uint64_t taken = 0;
    if (s->collector->clock.sample_count < 2) /* one sample has no slope */
        sample_clock(s->collector);
    const struct segment_chunk *list = session_segment_scan(s->segment, include_owned || is_final, &count);
    for (size_t i = 0; i < count; i++)
        taken += take_chunk(s, &list[i], is_final);
    return taken;
}

static void finish_tracks(struct source *s, uint32_t process_slot, bool every_process)
{
    /* track_finish fills the gap with entries that come after it, so the same place is looked at again. */
    for (size_t i = 0; i < s->track_slots;) {
        struct track *t = s->tracks[i];
        if (t && (every_process || t->process == process_slot))
            track_finish(s, t, source_seen_ns(s, t));
        else
            i++;
    }
}

/* Losses of threads that never had a chunk are only in the process table. */
static void note_process_loss(struct source *s, uint32_t slot)
{
    struct session_process p;
    uint32_t id = source_process_id(s, slot);
    if (!session_segment_process(s->segment, slot, &p) || slot >= s->process_count)
        return;
    struct source_process *known = &s->processes[slot];
    struct trace_loss loss = {.process = id,
                              .track = TRACE_NONE,
                              .from_ns = collector_raw_ns(s->collector, p.start_raw_ns),
                              .to_ns = collector_now_ns(s->collector),
                              .zones = p.lost_zones - known->lost_zones,
                              .records = p.lost_records - known->lost_records};
    loss.reason = session_segment_growth_failures(s->segment) ? TRACE_LOSS_NO_MEMORY : TRACE_LOSS_BUFFER_FULL;
    if (!loss.zones && !loss.records)
        return;
    known->lost_zones = p.lost_zones;
    known->lost_records = p.lost_records;
    collector_lose(s->collector, loss);
}

static void process_died(struct source *s, uint32_t slot)
{
    size_t count;
    drain(s, false, false);
    const struct segment_chunk *list = session_segment_scan(s->segment, true, &count);
    for (size_t i = 0; i < count; i++) {
        if (list[i].d.process == slot)
            take_chunk(s, &list[i], true);
    }
    cuda_take(s, slot);
    finish_tracks(s, slot, false);
    note_process_loss(s, slot);
    s->processes[slot].is_dead = true;
    process_end(s->collector, s->processes[slot].trace_id, TRACE_STATUS_UNKNOWN, 0);
    source_forget_process(s, slot);
}

/* Threads that ended without our hearing of it (raw clone, or no free pthread key). What they wrote is looked at
 * again once they are known to be dead: until then they may have gone on, also into further chunks. */
static void reclaim_dead_threads(struct source *s)
{
    size_t count, dead = 0;
    const struct segment_chunk *list = session_segment_scan(s->segment, true, &count);
    for (size_t i = 0; i < count; i++) {
        struct session_process p;
        if (list[i].is_sealed || !session_segment_process(s->segment, list[i].d.process, &p) ||
            syscall(SYS_tgkill, (pid_t)p.pid, (pid_t)list[i].d.thread_id, 0) == 0 || errno != ESRCH)
            continue;
        struct track *t = source_track(s, &list[i]);
        dead += t && !t->is_dead;
        if (t)
            t->is_dead = true;
    }
    if (!dead)
        return;
    list = session_segment_scan(s->segment, true, &count);
    for (size_t i = 0; i < count; i++) {
        struct track *t = source_track(s, &list[i]);
        if (t && t->is_dead)
            take_chunk(s, &list[i], true);
    }
    for (size_t i = 0; i < s->track_slots;) {
        struct track *t = s->tracks[i];
        if (t && t->is_dead)
            track_finish(s, t, t->last_ns);
        else
            i++;
    }
}

static void check_liveness(struct source *s, bool is_short)
{
    if (!s->is_local)
        return;
    uint32_t count = session_segment_process_count(s->segment);
    for (uint32_t slot = 0; slot < count; slot++) {
        struct session_process p;
        uint64_t now_ns = collector_now_ns(s->collector);
        source_process_id(s, slot);
        if (slot >= s->process_count || s->processes[slot].is_dead ||
            !session_segment_process(s->segment, slot, &p))
            continue;
        if (process_is_gone(p.pid))
            process_died(s, slot);
        else
            s->processes[slot].alive_ns = now_ns;
    }
    if (is_short)
        reclaim_dead_threads(s);
}

static bool is_short_of_chunks(const struct source *s)
{
    return session_segment_free_chunks(s->segment) < session_segment_header(s->segment)->chunk_count / 4;
}

/* --- segments --- */

/* Losses of processes that are not in the table. Said once, at the end. */
static void note_unplaced_losses(struct source *s, uint64_t now)
{
    struct trace_loss loss = {
        .process = session_segment_process_count(s->segment) ? source_process_id(s, 0) : TRACE_NONE,
        .track = TRACE_NONE,
        .reason = session_segment_process_count(s->segment) >= SESSION_MAX_PROCESSES ? TRACE_LOSS_PROCESSES
                                                                                     : TRACE_LOSS_NO_MEMORY,
        .to_ns = now};
    session_segment_unplaced_losses(s->segment, &loss.zones, &loss.records);
    if (!loss.zones && !loss.records)
        return;
    collector_lose(s->collector, loss);
}

/* Everything of a segment whose writers are gone (or whose time is up): takes it all, ends its tracks. */
static void finish_source(struct source *s, bool is_end_of_run)
{
    struct collector *c = s->collector;
    uint64_t now = collector_now_ns(c);
    drain(s, false, false);
    drain(s, true, true);
    uint32_t count = session_segment_process_count(s->segment);
    for (uint32_t slot = 0; slot < count; slot++) {
        struct session_process p;
        uint32_t id = source_process_id(s, slot);
        note_process_loss(s, slot);
        if (id == TRACE_NONE || s->processes[slot].is_dead || !session_segment_process(s->segment, slot, &p))
            continue;
        cuda_take(s, slot);
        bool is_gone = s->is_local
                           ? process_is_gone(p.pid)
                           : process_is_gone_inside(session_segment_header(s->segment)->pid_namespace, p.pid);
        bool is_running = is_end_of_run && !s->is_closed && !is_gone;
        if (is_running && s->is_local && !(c->flags & COLLECTOR_RECOVER))
            s->processes[slot].alive_ns = now;
        c->stats.still_running += is_running;
        process_end(c, id, TRACE_STATUS_UNKNOWN, is_running ? TRACE_PROCESS_RUNNING_AT_END : 0);
    }
    finish_tracks(s, 0, true);
    ledger_take_late_ends(s);
    note_unplaced_losses(s, now);
    device_flush(s, now, true);
    if (session_segment_is_dead(s->segment)) {
        struct trace_loss loss = {.process = count ? source_process_id(s, 0) : TRACE_NONE,
                                  .track = TRACE_NONE,
                                  .reason = TRACE_LOSS_DAMAGED,
                                  .to_ns = now,
                                  .records = 1};
        trace_writer_loss(c->writer, &loss);
        c->stats.lost_records++;
        c->stats.broken_segments++;
    }
}

static struct source *find_source(struct collector *c, const char *name, size_t *index)
{
    for (size_t i = 0; i < c->source_count; i++) {
        if (strcmp(session_segment_name(c->sources[i]->segment), name) == 0) {
            *index = i;
            return c->sources[i];
        }
    }
    return NULL;
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n > m && strcmp(name + n - m, suffix) == 0;
}

const char *collector_refusal_text(int reason)
{
    return reason == SESSION_REFUSAL_TOO_OLD ? "its libopscope is older than this opscope"
           : reason == EFBIG                 ? "its limit on the size of files, ulimit -f, is too low"
                                             : strerror(reason);
}

/* A process may try again, in each of its images and with each of its recorders: it counts once. */
static void note_refusal(struct collector *c, const char *name)
{
    char *end;
    long pid = strtol(name + strlen(SESSION_REFUSAL_PREFIX), &end, 10);
    long reason = *end == '-' ? strtol(end + 1, NULL, 10) : 0;
    unlinkat(c->folder->fd, name, 0);
    session_folder_make_spares(c->folder);
    if (!collector_is_first(&c->seen_refusals, (uint64_t)pid))
        return;
    collector_note_unrecorded(c, pid, collector_refusal_text((int)reason));
    if (!c->stats.refused++)
        c->stats.refused_reason = (int)reason;
}

void collector_note_unrecorded(struct collector *c, int64_t pid, const char *why)
{
    char command[128];
    snprintf(command, sizeof command, "(not recorded: %s)", why);
    struct trace_process process = {.id = TRACE_NONE,
                                    .parent = TRACE_NONE,
                                    .pid = pid,
                                    .start_ns = collector_now_ns(c),
                                    .exit_status = TRACE_STATUS_UNKNOWN,
                                    .command = command,
                                    .host = c->host};
    struct trace_loss loss = {.track = TRACE_NONE,
                              .reason = TRACE_LOSS_UNRECORDED,
                              .from_ns = process.start_ns,
                              .to_ns = process.start_ns};
    bool is_root = c->root_id != TRACE_NONE && pid == c->root_pid; /* it has a row already */
    loss.process = is_root ? c->root_id : collector_define_process(c, &process);
    trace_writer_loss(c->writer, &loss);
}

/* Damaged, of another session, or a copy of one that is being read. The folder is listed again and again. */
static void note_broken_segment(struct collector *c, const char *name)
{
    if (!collector_is_first(&c->seen_broken, hash_bytes(name, strlen(name), 1)))
        return;
    struct trace_loss loss = {.process = TRACE_NONE, .track = TRACE_NONE, .reason = TRACE_LOSS_DAMAGED};
    loss.from_ns = loss.to_ns = collector_now_ns(c);
    trace_writer_loss(c->writer, &loss);
    c->stats.broken_segments++;
}

void collector_file_appeared(struct collector *c, const char *name)
{
    size_t index;
    if (strncmp(name, SESSION_REFUSAL_PREFIX, strlen(SESSION_REFUSAL_PREFIX)) == 0) {
        note_refusal(c, name);
        return;
    }
    if (name[0] == '.' || !has_suffix(name, SESSION_SEGMENT_SUFFIX) || find_source(c, name, &index))
        return;
    struct session_segment *segment = NULL;
    struct source *s = NULL;
    if (session_segment_open(&segment, c->folder->fd, name, c->folder->control.session_id, NULL) == 0)
        s = source_new(c, segment);
    if (!s ||
        !array_reserve(&c->sources, &c->source_capacity, c->source_count + 1, sizeof(struct source *))) {
        if (s)
            source_close(s);
        else
            session_segment_close(segment);
        note_broken_segment(c, name);
        return;
    }
    session_segment_beat(segment, clock_raw_ns());
    c->sources[c->source_count++] = s;
    pause_source(s);
    sources_note_folder(c, segment);
}

/* Does a process of the segment still have it in its memory? */
static bool is_mapped(const struct source *s, const char *name)
{
    uint32_t count = s->is_local ? session_segment_process_count(s->segment) : 0;
    bool is_found = false;
    for (uint32_t slot = 0; slot < count && !is_found; slot++) {
        struct session_process p;
        char path[64], line[4096];
        if (slot < s->process_count && s->processes[slot].is_dead)
            continue;
        if (!session_segment_process(s->segment, slot, &p))
            continue;
        snprintf(path, sizeof path, "/proc/%u/maps", p.pid);
        FILE *file = fopen(path, "re");
        while (file && !is_found && fgets(line, sizeof line, file))
            is_found = strstr(line, name) != NULL;
        if (file)
            fclose(file);
    }
    return is_found;
}

void collector_file_closed(struct collector *c, const char *name)
{
    size_t index;
    struct source *s = find_source(c, name, &index);
    if (!s || is_mapped(s, name)) /* somebody else has looked into the file, and left */
        return;
    s->is_closed = true;
    pause_take_request(s);
    finish_source(s, false);
    c->sources[index] = c->sources[--c->source_count];
    char file[256];
    snprintf(file, sizeof file, "%s", name);
    source_close(s);
    unlinkat(c->folder->fd, file, 0); /* its memory back at once, not at the end of the run */
}

void collector_scan_folder(struct collector *c)
{
    int fd = openat(c->folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(dir));)
        collector_file_appeared(c, entry->d_name);
    closedir(dir);
}

/* --- polling --- */

uint64_t collector_poll(struct collector *c, struct error *err)
{
    uint64_t now = clock_raw_ns(), taken = 0;
    /* Not before there is something to convert; from then on also while nobody records, or the line is lost. */
    if ((c->source_count || c->clock.sample_count > 1) && clock_map_is_due(&c->clock, now))
        sample_clock(c);
    pause_poll(c);
    for (size_t i = 0; i < c->source_count; i++) {
        session_segment_beat(c->sources[i]->segment, now);
        taken += drain(c->sources[i], false, false);
    }
    if ((!taken || pause_has_many_edges(c)) && now >= c->next_peek_ns) {
        for (size_t i = 0; i < c->source_count; i++)
            taken += drain(c->sources[i], true, false);
        pause_settle(c, collector_raw_ns(c, now));
        c->next_peek_ns = now + PEEK_NS;
    }
    bool is_due = now >= c->next_liveness_ns;
    if (is_due)
        c->next_liveness_ns = now + LIVENESS_NS;
    for (size_t i = 0; i < c->source_count; i++) {
        bool is_short = is_short_of_chunks(c->sources[i]);
        if (is_due || is_short)
            check_liveness(c->sources[i], is_short);
        device_flush(c->sources[i], now, false);
    }
    trace_writer_tick(c->writer, now, err);
    return taken;
}

bool collector_is_idle(const struct collector *c)
{
    return c->source_count == 0;
}

/* What became of a process depends on its images in other segments, so all of them are known before any is finished. */
static void know_processes(struct source *s)
{
    uint32_t count = session_segment_process_count(s->segment);
    for (uint32_t slot = 0; slot < count; slot++)
        source_process_id(s, slot);
}

void collector_finish(struct collector *c)
{
    if (!(c->flags & COLLECTOR_RECOVER)) {
        collector_scan_folder(c);
        sample_clock(c);
    }
    for (size_t i = 0; i < c->source_count; i++) {
        session_segment_set_closed(c->sources[i]->segment);
        know_processes(c->sources[i]);
    }
    for (size_t i = 0; i < c->source_count; i++)
        finish_source(c->sources[i], true);
    for (size_t i = 0; i < c->source_count; i++)
        source_close(c->sources[i]);
    c->source_count = 0;
    pause_close(c);
    if (c->flags & COLLECTOR_RECOVER)
        ledger_close(c);
}

const struct collector_stats *collector_get_stats(struct collector *c)
{
    c->stats.zones = trace_writer_zone_count(c->writer);
    c->stats.open_zones = (uint32_t)c->dead_open_count;
    return &c->stats;
}
