/* SPDX-License-Identifier: Apache-2.0 */
/* A segment's numbers and what they are in the trace: names, processes, threads. All are looked up on first sight
 * and kept; what a hostile segment can make us keep is bounded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "collect/internal.h"

struct source *source_new(struct collector *c, struct session_segment *segment)
{
    /* A copy of a segment would make every row again, under the same keys. */
    uint64_t id = session_segment_header(segment)->segment_id;
    for (size_t i = 0; i < c->source_count; i++) {
        if (session_segment_header(c->sources[i]->segment)->segment_id == id)
            return NULL;
    }
    if (!collector_is_first(&c->seen_segments, id))
        return NULL;
    struct source *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->collector = c;
    s->segment = segment;
    s->is_local = c->own_namespace && session_segment_header(segment)->pid_namespace == c->own_namespace;
    return s;
}

void source_close(struct source *s)
{
    if (!s)
        return;
    session_segment_close(s->segment);
    for (size_t i = 0; i < s->track_slots; i++) {
        if (s->tracks[i]) {
            while (fiber_drop(s->tracks[i]))
                ;
            spans_free(s->tracks[i]);
            free(s->tracks[i]->locks);
            free(s->tracks[i]->tasks);
            free(s->tracks[i]);
        }
    }
    for (size_t i = 0; i < s->device_track_count; i++)
        free(s->device_tracks[i].rows.rows);
    free(s->names);
    free(s->processes);
    free(s->tracks);
    free(s->device_tracks);
    free(s->devices);
    map_free(&s->descriptions);
    free(s);
}

/* --- names --- */

static uint32_t define_name(struct source *s, uint32_t id)
{
    struct trace_writer *w = s->collector->writer;
    struct bytes *text = &s->collector->scratch;
    struct segment_name name;
    bytes_clear(text);
    if (!session_segment_definition(s->segment, id, &name, text))
        return trace_writer_name(w, "(unknown)", "", "", 0, 0);
    bytes_append(text, "\0\0\0", 3); /* three texts, whatever is inside */
    if (text->failed)
        return trace_writer_name(w, "(unknown)", "", "", 0, 0);
    const char *first = (const char *)text->data;
    if (name.kind != NAME_SITE)
        return trace_writer_name(w, first, "", "", 0, 0);
    const char *function = first + strlen(first) + 1;
    const char *file = function + strlen(function) + 1;
    return trace_writer_name(w, first, function, file, name.aux, (uint32_t)name.value & 0xffffff);
}

uint32_t source_name(struct source *s, uint32_t id)
{
    if (id < s->name_capacity && s->names[id])
        return s->names[id] - 1;
    uint32_t trace_id = define_name(s, id);
    if (session_segment_is_foreign(s->segment))
        map_put(&s->collector->foreign_names, trace_id, 0);
    size_t had = s->name_capacity;
    if (id <= SESSION_MAX_NAMES &&
        array_reserve(&s->names, &s->name_capacity, (size_t)id + 1, sizeof *s->names)) {
        memset(s->names + had, 0, (s->name_capacity - had) * sizeof *s->names);
        s->names[id] = trace_id + 1;
    }
    return trace_id;
}

/* --- processes --- */

uint64_t source_key(const struct source *s, uint64_t kind, uint64_t number)
{
    return hash_mix(session_segment_header(s->segment)->segment_id ^ kind << 60, number * 2 + 1) | 1;
}

/* The command line with spaces for NULs. */
static void command_text(const struct segment_header *h, char *out, size_t size)
{
    size_t n = h->command_length < size - 1 ? h->command_length : size - 1;
    memcpy(out, h->command, n);
    while (n > 0 && out[n - 1] == '\0')
        n--;
    out[n] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (out[i] == '\0')
            out[i] = ' ';
    }
}

/* The newest process of that pid: pids are used again. */
static uint32_t find_by_pid(const struct collector *c, uint32_t pid)
{
    uint32_t id = map_get(&c->newest_of_pid, pid);
    return id != MAP_NONE ? id : TRACE_NONE;
}

static uint64_t process_key(const struct source *s, uint32_t slot, const struct session_process *process)
{
    return source_key(s, 1, slot | (uint64_t)process->generation << 32);
}

static uint32_t define_process(struct source *s, uint32_t slot, const struct session_process *from)
{
    struct collector *c = s->collector;
    const struct segment_header *h = session_segment_header(s->segment);
    uint64_t key = process_key(s, slot, from);
    uint32_t known = trace_writer_find_process(c->writer, key);
    if (known != TRACE_NONE)
        return known;
    char command[sizeof h->command + 1];
    command_text(h, command, sizeof command);
    if (!command[0])
        snprintf(command, sizeof command, "%.16s", from->comm);
    struct trace_process process = {
        .id = TRACE_NONE,
        .parent = TRACE_NONE,
        .pid = from->pid,
        .start_ns = collector_raw_ns(c, from->start_raw_ns),
        .exit_status = TRACE_STATUS_UNKNOWN,
        .key = key,
        .command = command,
        .host = c->host,
    };
    if (from->pid != h->pid)
        process.flags |= TRACE_PROCESS_FORKED;
    if (s->is_local && c->root_id != TRACE_NONE && (int64_t)from->pid == c->root_pid) {
        const struct trace_process *root = trace_writer_get_process(c->writer, c->root_id);
        if (root && !root->key) { /* the command itself: it has a row already */
            process.id = c->root_id;
            process.flags |= root->flags;
            process.start_ns = root->start_ns;
            process.exit_status = root->exit_status;
        }
    }
    process.parent = find_by_pid(c, from->parent_pid);
    if (process.id == TRACE_NONE && !(process.flags & TRACE_PROCESS_FORKED) &&
        find_by_pid(c, from->pid) != TRACE_NONE)
        c->stats.processes--; /* not one more, but what one of them became by exec */
    return collector_define_process(c, &process);
}

/* Has a process that is new to us called exec? Then its newer image is the first process of a segment of its own, and
 * what the older one had open ended with its last record. (Two copies of the recorder in one process look the same, and
 * lose nothing by it.) Either may be found first. */
static void find_exec(struct source *s, uint32_t slot, const struct session_process *image)
{
    const struct collector *c = s->collector;
    struct session_process other;
    for (size_t i = 0; i < c->source_count && s->is_local; i++) {
        struct source *o = c->sources[i];
        size_t count = o == s || !o->is_local ? 0 : slot && o->process_count ? 1 : o->process_count;
        for (uint32_t j = 0; j < count; j++) {
            if (!session_segment_process(o->segment, j, &other) || other.pid != image->pid)
                continue;
            if (other.start_raw_ns < image->start_raw_ns)
                o->processes[j].is_replaced = true;
            else
                s->processes[slot].is_replaced = true;
        }
    }
}

uint32_t source_process_id(struct source *s, uint32_t slot)
{
    struct session_process from;
    if (slot < s->process_count && s->processes[slot].trace_id != TRACE_NONE)
        return s->processes[slot].trace_id;
    if (!session_segment_process(s->segment, slot, &from) ||
        !array_reserve(&s->processes, &s->process_capacity, (size_t)slot + 1, sizeof *s->processes))
        return TRACE_NONE;
    while (s->process_count <= slot)
        s->processes[s->process_count++] = (struct source_process){.trace_id = TRACE_NONE};
    s->processes[slot].trace_id = define_process(s, slot, &from);
    find_exec(s, slot, &from);
    if (s->collector->flags & COLLECTOR_RECOVER)
        ledger_open_process(s, slot, process_key(s, slot, &from));
    return s->processes[slot].trace_id;
}

void source_forget_process(struct source *s, uint32_t slot)
{
    struct session_process p;
    if (!session_segment_process(s->segment, slot, &p) || p.lost_zones || p.lost_records)
        return;
    s->processes[slot] = (struct source_process){.trace_id = TRACE_NONE};
    session_segment_free_process(s->segment, slot);
}

/* Its last record; or the last moment at which its process was known to live, if that is later: what hangs records
 * nothing. When the process died is not known that well: only when we heard of it. */
uint64_t source_seen_ns(const struct source *s, const struct track *t)
{
    const struct collector *c = s->collector;
    struct session_process p;
    uint64_t seen_ns = t->last_ns;
    if (t->process >= s->process_count || s->processes[t->process].is_replaced)
        return seen_ns;
    const struct source_process *process = &s->processes[t->process];
    seen_ns = process->alive_ns > seen_ns ? process->alive_ns : seen_ns;
    if (c->root_alive_ns > seen_ns && s->is_local && session_segment_process(s->segment, t->process, &p) &&
        (int64_t)p.pid == c->root_pid)
        seen_ns = c->root_alive_ns;
    return seen_ns;
}

/* --- tracks --- */

static size_t track_place(const struct source *s, uint32_t number)
{
    size_t at = (size_t)(number * UINT32_C(2654435761)) & (s->track_slots - 1);
    while (s->tracks[at] && s->tracks[at]->number != number)
        at = (at + 1) & (s->track_slots - 1);
    return at;
}

static bool grow_tracks(struct source *s)
{
    struct source old = *s;
    s->track_slots = old.track_slots ? old.track_slots * 2 : 64;
    s->tracks = calloc(s->track_slots, sizeof(struct track *));
    if (!s->tracks) {
        *s = old;
        return false;
    }
    for (size_t i = 0; i < old.track_slots; i++) {
        if (old.tracks[i])
            s->tracks[track_place(s, old.tracks[i]->number)] = old.tracks[i];
    }
    free(old.tracks);
    return true;
}

static struct track *new_track(struct source *s, const struct segment_chunk *chunk)
{
    struct collector *c = s->collector;
    const struct chunk_descriptor *d = &chunk->d;
    struct track *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->number = d->track;
    t->process = d->process;
    t->process_id = source_process_id(s, d->process);
    t->key = source_key(s, 2, d->track);
    t->trace_id = trace_writer_find_track(c->writer, t->key);
    if (t->trace_id == TRACE_NONE) {
        struct trace_track track = {.id = TRACE_NONE,
                                    .process = t->process_id,
                                    .parent = TRACE_NONE,
                                    .kind = TRACE_TRACK_THREAD,
                                    .clock = TRACE_HOST_CLOCK,
                                    .number = d->thread_id,
                                    .key = t->key,
                                    .name = ""};
        t->trace_id = trace_writer_track(c->writer, &track);
        c->stats.threads++;
    }
    t->lane.trace_id = t->trace_id;
    t->lane.sink = t->trace_id != TRACE_NONE ? trace_writer_sink(c->writer, t->trace_id) : NULL;
    t->own = t->lane;
    if (!t->lane.sink) {
        free(t);
        return NULL;
    }
    if (c->flags & COLLECTOR_RECOVER)
        ledger_open_track(s, t, chunk);
    return t;
}

struct track *source_track(struct source *s, const struct segment_chunk *chunk)
{
    if (s->track_count * 2 >= s->track_slots && !grow_tracks(s))
        return NULL;
    size_t at = track_place(s, chunk->d.track);
    if (!s->tracks[at]) {
        if (s->track_count >= s->collector->max_tracks)
            return NULL;
        s->tracks[at] = new_track(s, chunk);
        s->track_count += s->tracks[at] != NULL;
    }
    return s->tracks[at];
}

void source_forget_track(struct source *s, struct track *t)
{
    size_t hole = track_place(s, t->number);
    s->tracks[hole] = NULL;
    s->track_count--;
    /* Close the gap: an entry that probed past the hole must be found without it. */
    for (size_t at = (hole + 1) & (s->track_slots - 1); s->tracks[at]; at = (at + 1) & (s->track_slots - 1)) {
        struct track *moved = s->tracks[at];
        s->tracks[at] = NULL;
        s->tracks[track_place(s, moved->number)] = moved;
    }
}
