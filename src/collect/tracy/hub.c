/* SPDX-License-Identifier: Apache-2.0 */
/* A client takes one server, of exactly its version: versions are tried one after the other, each with a connection of
 * its own, the one that worked last first. A client of a version that is not known is found by going on, and let go.
 *
 * When a program ends, its client sends what is left, says so, and waits: it answers the last questions, and then the
 * session is ended by us. */
#include "collect/tracy/hub.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/tracy/elsewhere.h"
#include "collect/tracy/hub_internal.h"

#define HANDSHAKE_NS UINT64_C(5000000000) /* for the first answer of a client */
#define ANSWERS_NS UINT64_C(2000000000)   /* without one, at the end */
#define LATE_NS 5e9                       /* so late come the events of a client whose memory grows */
#define READ_BYTES (256 * 1024)
#define MOST_BYTES ((size_t)16 << 20) /* of one client in one poll */
#define LAST_VERSION 120u             /* that is tried to let a client go */

void client_notice(const struct client *c, const char *text)
{
    char line[700], who[64] = "";
    const struct tracy_welcome *welcome =
        c->trace ? tracy_stream_welcome(tracy_trace_stream(c->trace)) : NULL;
    if (c->place.pid)
        snprintf(who, sizeof who, " in process %" PRId64, c->place.pid);
    snprintf(line, sizeof line, "Tracy client%s%s%s%s: %s", who, welcome ? " (" : "",
             welcome ? welcome->program : "", welcome ? ")" : "", text);
    c->hub->options.notice(c->hub->options.context, line);
}

/* --- connecting --- */

/* The version of the n-th attempt; 0: all were tried. */
static uint32_t version_of(const struct client *c, uint32_t attempt)
{
    const struct tracy_hub *hub = c->hub;
    if (hub->options.dialect)
        return attempt == 0 ? hub->options.dialect->version : 0;
    if (hub->last_version && attempt-- == 0)
        return hub->last_version;
    if (attempt < TRACY_VERSIONS)
        return tracy_versions[attempt];
    uint32_t later = TRACY_NEWEST + 1 + attempt - TRACY_VERSIONS;
    return later <= LAST_VERSION ? later : 0;
}

static void disconnect(struct client *c)
{
    if (c->fd >= 0)
        close(c->fd); /* which takes it out of the epoll set */
    c->fd = -1;
}

/* Everything that it sent is in the trace. */
static void finish(struct client *c)
{
    disconnect(c);
    if (c->trace)
        tracy_trace_close(c->trace);
    relay_drain(c);
}

static void fail(struct client *c, const char *text)
{
    c->hub->stats.failed++;
    if (!c->hub->is_stopped)
        client_notice(c, text);
    finish(c);
}

/* Nobody is there, or at another address. */
static void fail_to_connect(struct client *c, int status)
{
    if (relay_is_open(c))
        relay_give_up(c, "the program cannot be reached");
    if (c->other_count) {
        c->place = c->others[0];
        memmove(c->others, c->others + 1, --c->other_count * sizeof c->others[0]);
        c->attempt = 0;
        client_connect_next(c);
        return;
    }
    char text[200];
    snprintf(text, sizeof text, "cannot connect: %s", strerror(status));
    fail(c, text);
}

void client_watch(struct client *c, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.ptr = c}};
    epoll_ctl(c->hub->epoll_fd, operation, c->fd, &event);
}

static bool open_trace(struct client *c)
{
    const struct tracy_hub_options *o = &c->hub->options;
    enum tracy_wide wide = !o->dialect                     ? TRACY_WIDE_DETECT
                           : o->dialect->has_wide_contexts ? TRACY_WIDE_YES
                                                           : TRACY_WIDE_NO;
    tracy_trace_free(c->trace);
    c->trace = NULL;
    if (c->hub->is_stopped || c->version > TRACY_NEWEST)
        return true;
    struct tracy_trace_options options = {.version = c->version,
                                          .wide = wide,
                                          .writer = o->writer,
                                          .time = c->place.is_local ? TRACY_TIME_LOCAL : TRACY_TIME_REMOTE,
                                          .clock = &c->hub->clock,
                                          .process = o->process,
                                          .context = o->context,
                                          .min_duration_ns = o->min_duration_ns,
                                          .listener = o->listener};
    c->trace = tracy_trace_new(&options);
    return c->trace != NULL;
}

void client_connect_as(struct client *c, uint32_t version)
{
    disconnect(c);
    c->version = version;
    int family = c->place.address.any.sa_family;
    c->fd = c->place.is_elsewhere ? tracy_socket_elsewhere(c->place.pid, family)
                                  : socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0 && c->place.is_elsewhere) {
        char text[300];
        snprintf(
            text, sizeof text,
            "it is in a network of its own, which opscope cannot enter (%s): not recorded. At its end it "
            "waits for a server: end it with kill, or use --no-tracy",
            strerror(errno));
        fail(c, text);
        return;
    }
    if (c->fd < 0 || !open_trace(c)) {
        fail(c, "cannot connect: no socket, or no memory");
        return;
    }
    int on = 1;
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    c->is_connecting = true;
    c->deadline_ns = clock_raw_ns() + HANDSHAKE_NS;
    if (connect(c->fd, &c->place.address.any, c->place.length) != 0 && errno != EINPROGRESS) {
        fail_to_connect(c, errno);
        return;
    }
    client_watch(c, EPOLL_CTL_ADD, EPOLLOUT);
}

/* With the next version. */
void client_connect_next(struct client *c)
{
    uint32_t version = version_of(c, c->attempt++);
    if (version) {
        client_connect_as(c, version);
        return;
    }
    char text[120];
    snprintf(text, sizeof text, "it speaks none of the protocols %u to %u: not recorded", TRACY_OLDEST,
             TRACY_NEWEST);
    fail(c, c->hub->options.dialect ? "it speaks another protocol than the one that was given" : text);
}

static void say_hello(struct client *c)
{
    uint8_t hello[TRACY_HELLO_BYTES];
    int status = 0;
    socklen_t size = sizeof status;
    getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &status, &size);
    memcpy(hello, TRACY_MAGIC, 8);
    memcpy(hello + 8, &c->version, 4);
    if (status == 0 && send(c->fd, hello, sizeof hello, MSG_NOSIGNAL) != (ssize_t)sizeof hello)
        status = errno;
    if (status) {
        fail_to_connect(c, status);
        return;
    }
    c->is_connecting = false;
    client_watch(c, EPOLL_CTL_MOD, EPOLLIN);
}

/* --- a session --- */

/* Sends questions, as many as go. One that was begun is sent to its end, whatever happens. */
static void send_queries(struct client *c)
{
    struct bytes *queries = tracy_stream_queries(tracy_trace_stream(c->trace));
    ssize_t n = 0;
    if (c->tail_length) {
        n = send(c->fd, c->tail, c->tail_length, MSG_NOSIGNAL);
        if (n > 0) {
            c->tail_length -= (size_t)n;
            memmove(c->tail, c->tail + n, c->tail_length);
        }
    }
    if (!c->tail_length && queries->length) {
        n = send(c->fd, queries->data, queries->length, MSG_NOSIGNAL);
        size_t sent = n > 0 ? (size_t)n : 0,
               whole = (sent + TRACY_QUERY_BYTES - 1) / TRACY_QUERY_BYTES * TRACY_QUERY_BYTES;
        c->tail_length = whole - sent;
        memcpy(c->tail, queries->data + sent, c->tail_length);
        queries->length -= whole;
        memmove(queries->data, queries->data + whole, queries->length);
    }
    client_watch(c, EPOLL_CTL_MOD, c->tail_length || queries->length ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* Says good-bye, so that the program may end. Whatever is still to be sent first, a close has the same effect. */
static void end_session(struct client *c)
{
    static const uint8_t terminate[TRACY_QUERY_BYTES] = {TRACY_ASK_TERMINATE};
    if (c->fd >= 0 && !c->tail_length && !c->relay.has_asked && !c->is_connecting && c->is_welcome)
        (void)!send(c->fd, terminate, sizeof terminate, MSG_NOSIGNAL);
    finish(c);
}

static void end_when_done(struct client *c, uint64_t now_ns)
{
    struct tracy_stream *stream = tracy_trace_stream(c->trace);
    if (!tracy_stream_is_ending(stream) || relay_is_open(c))
        return;
    if (!tracy_stream_has_open_questions(stream) || now_ns > c->deadline_ns)
        end_session(c);
}

/* What came in the handshake of a client that is only let go. */
static void let_go(struct client *c, const uint8_t *data)
{
    if (data[0] == TRACY_MISMATCH) {
        client_connect_next(c);
        return;
    }
    if (c->version > TRACY_NEWEST && !c->hub->is_stopped) {
        char text[300];
        snprintf(text, sizeof text,
                 "it speaks protocol %u, which opscope does not know (%u to %u): not recorded%s", c->version,
                 TRACY_OLDEST, TRACY_NEWEST,
                 c->version == 83 ? "; 83 is that of a fork whose records nobody has described" : "");
        fail(c, text);
    }
    disconnect(c);
}

/* Events that come later than they did before lie in the client's memory, which has no limit. Compared with the
 * quickest, since what was recorded before we came is late by itself, and another machine's clock is not ours. */
static void watch_delay(struct client *c)
{
    uint64_t last_ns = tracy_trace_last_ns(c->trace);
    if (last_ns == c->last_ns || c->is_slow)
        return;
    int64_t delay_ns = (int64_t)(clock_raw_ns() - last_ns);
    c->last_ns = last_ns;
    if (delay_ns < c->least_delay_ns)
        c->least_delay_ns = delay_ns;
    double late_ns = (double)delay_ns - (double)c->least_delay_ns;
    if (late_ns < LATE_NS)
        return;
    char text[200];
    c->is_slow = true;
    snprintf(
        text, sizeof text,
        "what it records comes %.0f s late, and fills its memory until then: the program, the network or "
        "opscope cannot keep up",
        late_ns / 1e9);
    client_notice(c, text);
}

static void take_bytes(struct client *c, const uint8_t *data, size_t length)
{
    struct error err = {0};
    if (!c->trace) {
        let_go(c, data);
        return;
    }
    struct tracy_stream *stream = tracy_trace_stream(c->trace);
    int status = c->relay.is_deaf ? 0 : tracy_trace_feed(c->trace, data, length, &err);
    if (tracy_stream_status(stream) == TRACY_MISMATCH) {
        if (relay_is_open(c))
            relay_give_up(c, "the capture tool speaks another protocol");
        client_connect_next(c);
        return;
    }
    if (tracy_stream_status(stream) == TRACY_WELCOME && !c->is_welcome) {
        c->is_welcome = true;
        c->hub->last_version = c->version;
        c->hub->stats.clients++;
    }
    watch_delay(c);
    if (status) {
        char text[600];
        snprintf(text, sizeof text, "%s; %s", err.message,
                 c->is_welcome ? "the rest of it is not recorded" : "not recorded");
        if (!relay_is_open(c)) {
            fail(c, text);
            return;
        }
        c->relay.is_deaf = true;
        client_notice(c, text);
    }
    c->deadline_ns = clock_raw_ns() + ANSWERS_NS;
    if (relay_is_open(c)) {
        bytes_clear(tracy_stream_queries(stream)); /* the tool asks */
        relay_pass_on(c, data, length);
    } else {
        send_queries(c);
    }
}

static void lose_contact(struct client *c)
{
    if (c->relay.has_asked && c->trace && tracy_stream_is_ending(tracy_trace_stream(c->trace))) {
        finish(c); /* the tool has ended the session */
        return;
    }
    const char *why = !c->is_welcome ? "the connection was refused: is another server connected?"
                                     : "it ended without a word: what it had not sent is lost";
    if (c->is_welcome) {
        c->hub->stats.cut++;
        tracy_trace_lose_contact(c->trace);
    }
    fail(c, why);
    c->hub->stats.failed -= c->is_welcome;
}

static uint64_t read_client(struct client *c)
{
    uint64_t taken = 0;
    while (c->fd >= 0 && !c->is_connecting && !c->relay.is_paused && taken < MOST_BYTES) {
        ssize_t n = recv(c->fd, c->hub->room, READ_BYTES, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n <= 0) {
            lose_contact(c);
            break;
        }
        taken += (uint64_t)n;
        take_bytes(c, c->hub->room, (size_t)n);
    }
    return taken;
}

static uint64_t step(struct client *c, uint32_t events)
{
    uint64_t taken = 0;
    if (c->fd < 0)
        return 0;
    if (c->is_connecting) {
        say_hello(c);
        return 0;
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        taken = read_client(c);
    if (c->fd >= 0 && c->trace && c->is_welcome && !relay_is_open(c) && events & EPOLLOUT)
        send_queries(c);
    return taken;
}

/* No answer yet. It may be stopped, or have another server: who is patient leaves the connection open, since its
 * program would wait for one at its end. */
static void wait_on(struct client *c)
{
    static const char text[] = "it does not answer: is it stopped, or is another server connected?";
    if (!c->hub->options.is_patient)
        fail(c, text);
    else if (!c->is_late && !c->hub->is_stopped)
        client_notice(c, text);
    c->is_late = true;
}

/* --- all of them --- */

int tracy_hub_new(struct tracy_hub **out, const struct tracy_hub_options *options, struct error *err)
{
    struct tracy_hub *hub = calloc(1, sizeof *hub);
    struct clock_sample sample;
    if (hub) {
        hub->options = *options;
        hub->room = malloc(READ_BYTES);
        hub->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        clock_map_init(&hub->clock, CLOCK_SOURCE_COUNTER);
    }
    if (!hub || !hub->room || hub->epoll_fd < 0 || !clock_map_sample(&hub->clock, &sample)) {
        tracy_hub_free(hub);
        return error_no_memory(err, "connections to Tracy clients");
    }
    *out = hub;
    return 0;
}

int tracy_hub_fd(const struct tracy_hub *hub)
{
    return hub->epoll_fd;
}

void tracy_hub_connect(struct tracy_hub *hub, const struct tracy_place *places, size_t count)
{
    struct client *c = count && count <= TRACY_MAX_PLACES ? calloc(1, sizeof *c) : NULL;
    if (!c)
        return;
    *c = (struct client){.least_delay_ns = INT64_MAX,
                         .next = hub->clients,
                         .hub = hub,
                         .place = places[0],
                         .other_count = count - 1,
                         .fd = -1};
    memcpy(c->others, places + 1, (count - 1) * sizeof *places);
    hub->clients = c;
    if (!relay_begin(c))
        client_connect_next(c);
}

uint64_t tracy_hub_poll(struct tracy_hub *hub)
{
    struct epoll_event events[64];
    struct clock_sample sample;
    uint64_t taken = 0, now_ns = clock_raw_ns();
    if (clock_map_is_due(&hub->clock, now_ns))
        clock_map_sample(&hub->clock, &sample);
    int count = hub->clients ? epoll_wait(hub->epoll_fd, events, 64, 0) : 0;
    for (int i = 0; i < count; i++) {
        if (events[i].data.u64 & RELAY_EVENT)
            relay_step((struct client *)(uintptr_t)(events[i].data.u64 - RELAY_EVENT));
        else
            taken += step(events[i].data.ptr, events[i].events);
    }
    for (struct client *c = hub->clients; c; c = c->next) {
        relay_tick(c, now_ns);
        if (c->fd < 0)
            continue;
        if (!c->is_welcome && now_ns > c->deadline_ns)
            wait_on(c);
        else if (c->is_welcome && c->trace)
            end_when_done(c, now_ns);
    }
    return taken;
}

bool tracy_hub_is_idle(const struct tracy_hub *hub)
{
    for (const struct client *c = hub->clients; c; c = c->next) {
        if (c->fd >= 0 || (c->relay.state != RELAY_NONE && c->relay.state != RELAY_OVER))
            return false;
    }
    return true;
}

void tracy_hub_list_open(const struct tracy_hub *hub, struct trace_writer *w)
{
    for (const struct client *c = hub->clients; c; c = c->next) {
        if (c->trace)
            tracy_trace_list_open(c->trace, w);
    }
}

static bool is_gone(const struct client *c)
{
    return c->place.pid && kill((pid_t)c->place.pid, 0) != 0 && errno == ESRCH;
}

void tracy_hub_stop(struct tracy_hub *hub)
{
    for (struct client *c = hub->clients; c; c = c->next) {
        if (c->fd >= 0 && c->is_welcome && is_gone(c)) /* a child has its connection: nobody reported it */
            lose_contact(c);
    }
    hub->is_stopped = true;
    for (struct client *c = hub->clients; c; c = c->next) {
        if (c->is_welcome || !hub->options.is_patient) {
            end_session(c);
        } else { /* it is let go when it answers */
            tracy_trace_free(c->trace);
            c->trace = NULL;
        }
    }
}

void tracy_hub_get_stats(const struct tracy_hub *hub, struct tracy_hub_stats *stats)
{
    *stats = hub->stats;
    for (const struct client *c = hub->clients; c; c = c->next) {
        struct tracy_trace_stats own = {0};
        if (c->trace)
            tracy_trace_get_stats(c->trace, &own);
        stats->sum.zones += own.zones;
        stats->sum.gpu_zones += own.gpu_zones;
        stats->sum.lock_zones += own.lock_zones;
        stats->sum.other_zones += own.other_zones;
        stats->sum.records += own.records;
        stats->sum.open_zones += own.open_zones;
        stats->sum.lost_zones += own.lost_zones;
        stats->sum.lost_records += own.lost_records;
        stats->sum.unused += own.unused;
        stats->sum.unnamed += own.unnamed;
        stats->sum.threads += own.threads;
    }
}

void tracy_hub_free(struct tracy_hub *hub)
{
    if (!hub)
        return;
    while (hub->clients) {
        struct client *c = hub->clients;
        hub->clients = c->next;
        disconnect(c);
        relay_end(c);
        tracy_trace_free(c->trace);
        free(c);
    }
    if (hub->epoll_fd >= 0)
        close(hub->epoll_fd);
    clock_map_free(&hub->clock);
    free(hub->room);
    free(hub);
}
