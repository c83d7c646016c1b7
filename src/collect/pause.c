/* SPDX-License-Identifier: Apache-2.0 */
/* Pausing a session: `opscope pause` asks through the control file, a program or a rule (record/capture.c) through its
 * segment. The word that each process looks at before it records is written from here, into the process's memory
 * (/proc/PID/mem): nothing of ours has to run in it. The descriptor stands for one address space, not for the process,
 * so that an exec between the check and the write does no harm. Where that is not permitted, a process is not paused
 * from outside: it is counted, and `opscope pause` says so.
 *
 * A process that pauses itself, or goes on by itself, knows best: others do not change it, `opscope pause` does. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/internal.h"

#define MANY_EDGES 16384u /* half a MiB */

static bool write_word(int fd, const struct segment_header *h, uint32_t from, uint32_t to)
{
    uint64_t identity = 0;
    uint32_t now = 0;
    if (pread(fd, &identity, sizeof identity, (off_t)h->identity_address) != (ssize_t)sizeof identity ||
        identity != h->segment_id ||
        pread(fd, &now, sizeof now, (off_t)h->flag_address) != (ssize_t)sizeof now)
        return false;
    /* Another value: it has left the session. */
    return now != from || pwrite(fd, &to, sizeof to, (off_t)h->flag_address) == (ssize_t)sizeof to;
}

static bool write_flag(const struct source *s, uint32_t pid, bool is_paused)
{
    char path[64];
    uint32_t kind = s->collector->folder->control.capture.kind;
    uint32_t on = SESSION_FLAG_RECORDING(kind), off = SESSION_FLAG_PAUSED(kind);
    if (!s->is_local)
        return false;
    snprintf(path, sizeof path, "/proc/%u/mem", pid);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    bool is_done = fd >= 0 && write_word(fd, session_segment_header(s->segment), is_paused ? on : off,
                                         is_paused ? off : on);
    if (fd >= 0)
        close(fd);
    return is_done || (fd < 0 && access(path, F_OK) != 0); /* or it has ended */
}

/* Returns how many processes could not be reached. The order is that of capture_settle. */
static uint32_t tell_source(struct source *s, bool is_paused, bool tells_all)
{
    uint32_t unreachable = 0;
    session_segment_set_paused(s->segment, is_paused);
    uint32_t count = session_segment_process_count(s->segment);
    for (uint32_t row = 0; row < count; row++) {
        struct session_process p;
        bool is_dead = row < s->process_count && s->processes[row].is_dead;
        if (!session_segment_process(s->segment, row, &p) || is_dead ||
            (p.state == PROCESS_ALONE && !tells_all))
            continue;
        unreachable += !write_flag(s, p.pid, is_paused);
    }
    return unreachable;
}

static uint32_t tell(struct collector *c, bool is_paused, bool tells_all)
{
    uint32_t unreachable = 0;
    if (c->folder->ledger)
        __atomic_store_n(&c->folder->ledger->is_paused, is_paused, __ATOMIC_SEQ_CST);
    c->pause.is_paused = is_paused;
    for (size_t i = 0; i < c->source_count; i++)
        unreachable += tell_source(c->sources[i], is_paused, tells_all);
    return unreachable;
}

/* The trace is paused when no process that decides by itself goes on. */
static bool is_paused_after(struct collector *c, const struct pause_edge *edge)
{
    struct map *going_on = &c->pause.going_on;
    if (edge->process == TRACE_NONE)
        map_free(going_on);
    else if (edge->change == PAUSE_GOES_ON)
        map_put(going_on, edge->process, 0);
    else if (map_remove(going_on, edge->process) == MAP_NONE && edge->change == PAUSE_ENDS)
        return c->pause.is_open;
    if (edge->change == PAUSE_ENDS) /* others follow what the session does */
        return c->pause.is_open || (!going_on->count && c->pause.is_paused);
    return edge->change == PAUSE_STOPS && !going_on->count;
}

static void turn(struct collector *c, const struct pause_edge *edge)
{
    uint64_t ns = edge->ns;
    bool is_paused = is_paused_after(c, edge);
    if (is_paused && !c->pause.is_open)
        c->pause.since_ns = ns;
    bool is_written = c->pause.since_ns < c->pause.written_ns; /* by the collector that died */
    if (!is_paused && c->pause.is_open && ns > c->pause.since_ns && !is_written) {
        struct trace_loss span = {.process = TRACE_NONE,
                                  .track = TRACE_NONE,
                                  .reason = TRACE_LOSS_PAUSED,
                                  .from_ns = c->pause.since_ns,
                                  .to_ns = ns};
        trace_writer_loss(c->writer, &span);
        c->stats.paused_ns += ns - c->pause.since_ns;
    }
    c->stats.pauses_over += c->pause.is_open && !is_paused;
    c->pause.is_open = is_paused;
}

/* Threads are read one after the other, their edges sorted here before they make spans. */
void pause_note(struct collector *c, uint32_t process, enum pause_change change, uint64_t ns)
{
    struct pause_edge edge = {ns, c->pause.edges_seen++, process, change};
    if (array_reserve(&c->pause.edges, &c->pause.edge_capacity, c->pause.edge_count + 1, sizeof edge))
        c->pause.edges[c->pause.edge_count++] = edge;
    else
        turn(c, &edge);
}

static int compare_edges(const void *a, const void *b)
{
    const struct pause_edge *left = a, *right = b;
    if (left->ns != right->ns)
        return left->ns < right->ns ? -1 : 1;
    return left->number < right->number ? -1 : 1;
}

bool pause_has_many_edges(const struct collector *c)
{
    return c->pause.edge_count > MANY_EDGES;
}

void pause_settle(struct collector *c, uint64_t until_ns)
{
    size_t done = 0, count = c->pause.edge_count;
    if (!count)
        return;
    qsort(c->pause.edges, count, sizeof c->pause.edges[0], compare_edges);
    for (; done < count && c->pause.edges[done].ns <= until_ns; done++)
        turn(c, &c->pause.edges[done]);
    c->pause.edge_count = count - done;
    memmove(c->pause.edges, c->pause.edges + done, c->pause.edge_count * sizeof c->pause.edges[0]);
}

void pause_open(struct collector *c)
{
    const struct session_control *control = &c->folder->control;
    if (c->flags & COLLECTOR_RECOVER)
        return; /* nobody records any more */
    c->pause.is_paused = control->is_paused;
    c->pause.request = control->pause_request;
    if (control->is_paused)
        pause_note(c, TRACE_NONE, PAUSE_STOPS, collector_now_ns(c));
}

/* It has looked by itself when it joined; since then the state may have changed. A process that has changed its own
 * meanwhile is left alone. */
void pause_source(struct source *s)
{
    bool is_paused = s->collector->pause.is_paused;
    if (s->collector->flags & COLLECTOR_RECOVER)
        return;
    if (session_segment_header(s->segment)->is_paused != is_paused &&
        !session_segment_pause_request(s->segment))
        tell_source(s, is_paused, false);
    else
        session_segment_set_paused(s->segment, is_paused);
}

void pause_take_request(struct source *s)
{
    uint64_t request = session_segment_pause_request(s->segment);
    bool is_paused = request & 1;
    if (request == s->pause_request ||
        !session_pause_is_request(request, session_segment_header(s->segment)->segment_id))
        return;
    s->pause_request = request;
    if (!(s->collector->flags & COLLECTOR_RECOVER) && is_paused != s->collector->pause.is_paused)
        tell(s->collector, is_paused, false);
}

void pause_poll(struct collector *c)
{
    struct session_control *control = c->folder->ledger;
    if (c->flags & COLLECTOR_RECOVER)
        return;
    for (size_t i = 0; i < c->source_count; i++)
        pause_take_request(c->sources[i]);
    uint64_t request =
        control ? __atomic_load_n(&control->pause_request, __ATOMIC_ACQUIRE) : c->pause.request;
    if (request == c->pause.request)
        return;
    bool is_paused = request & 1;
    c->pause.request = request;
    if (is_paused)
        pause_note(c, TRACE_NONE, PAUSE_STOPS, collector_now_ns(c));
    control->unreachable = tell(c, is_paused, true);
    if (!is_paused)
        pause_note(c, TRACE_NONE, PAUSE_GOES_ON, collector_now_ns(c));
    __atomic_store_n(&control->pause_done, request, __ATOMIC_RELEASE);
}

void pause_close(struct collector *c)
{
    pause_settle(c, UINT64_MAX);
    uint64_t over = c->stats.pauses_over;
    pause_note(c, TRACE_NONE, PAUSE_GOES_ON, collector_now_ns(c));
    pause_settle(c, UINT64_MAX);
    c->stats.pauses_over = over;
}
