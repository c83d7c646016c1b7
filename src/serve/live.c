/* SPDX-License-Identifier: Apache-2.0 */
/* Pages that follow: a WebSocket says what became of each trace (it grew, it is complete, it was replaced); the data
 * itself is asked for as always. A page that does not read misses steps, not the last one: nothing is queued for a
 * connection that has not taken what was sent before. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "serve/internal.h"
#include "serve/websocket.h"

#define FOLDER_NS UINT64_C(500000000) /* new traces are looked for that often */

struct live {
    struct bytes out;
    size_t sent;
    uint64_t *seen; /* by trace: the state that was sent to the page last */
    size_t seen_count, seen_capacity;
    uint64_t heard_ns, pinged_ns;
    bool is_closing; /* what is in `out` is the last */
};

/* --- what is sent to a page --- */

static uint64_t state_of(const struct traces_entry *entry)
{
    const uint64_t values[] = {entry->generation, entry->state, entry->zones, entry->duration_ns,
                               entry->lost_zones};
    uint64_t state = hash_bytes(values, sizeof values, 1);
    return state ? state : 1; /* 0: nothing yet */
}

static void append_state(struct bytes *out, size_t number, const struct traces_entry *entry)
{
    char text[400], behind[48] = "";
    /* What has just come was recorded that long ago: times of a trace are of this clock. */
    uint64_t now_ns = clock_ns(CLOCK_MONOTONIC_RAW), end_ns = entry->trace.end_ns;
    if (entry->state == TRACE_GROWING && entry->generation && now_ns > end_ns)
        snprintf(behind, sizeof behind, ",\"behind_ns\":%" PRIu64, now_ns - end_ns);
    int length = snprintf(text, sizeof text,
                          "{\"trace\":%zu,\"state\":\"%s\",\"generation\":%" PRIu32 ",\"end_ns\":%" PRIu64
                          ",\"zones\":%" PRIu64 ",\"lost_zones\":%" PRIu64 "%s}",
                          number, trace_state_text(entry->state), entry->generation, entry->duration_ns,
                          entry->zones, entry->lost_zones, behind);
    websocket_append(out, WEBSOCKET_TEXT, text, (size_t)length);
}

static void append_news(const struct server *server, struct live *live)
{
    size_t count = server->traces.count, had = live->seen_capacity;
    if (!array_reserve(&live->seen, &live->seen_capacity, count, sizeof *live->seen))
        return;
    if (live->seen_capacity > had)
        memset(live->seen + had, 0, (live->seen_capacity - had) * sizeof *live->seen);
    for (size_t i = 0; i < count; i++) {
        uint64_t state = state_of(server->traces.entries[i]);
        if (live->seen[i] == state)
            continue;
        live->seen[i] = state;
        append_state(&live->out, i, server->traces.entries[i]);
    }
}

/* --- sending --- */

/* False: the connection is closed. */
static bool flush(struct server *server, struct connection *c)
{
    struct live *live = c->live;
    while (live->sent < live->out.length) {
        ssize_t n = send(c->fd, live->out.data + live->sent, live->out.length - live->sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            server_wait_for(server, c, EPOLLIN | EPOLLOUT | EPOLLRDHUP);
            return true;
        }
        if (n < 0 || live->out.failed) {
            server_close_connection(server, c);
            return false;
        }
        live->sent += (size_t)n;
    }
    bytes_clear(&live->out);
    live->sent = 0;
    if (live->is_closing) {
        server_close_connection(server, c);
        return false;
    }
    server_wait_for(server, c, EPOLLIN | EPOLLRDHUP);
    return true;
}

static void count_pages(struct server *server, int change)
{
    server->live_count += (size_t)change;
    traces_set_live(&server->traces, server->live_count > 0);
}

void live_begin(struct server *server, struct connection *c, const struct http_request *request)
{
    struct live *live = c->live = calloc(1, sizeof *live);
    if (!live) {
        server_close_connection(server, c);
        return;
    }
    live->heard_ns = clock_ns(CLOCK_MONOTONIC);
    websocket_append_handshake(&live->out, request);
    count_pages(server, 1);
    traces_describe(&server->traces);
    append_news(server, live);
}

void live_end(struct server *server, struct connection *c)
{
    if (!c->live)
        return;
    bytes_free(&c->live->out);
    free(c->live->seen);
    free(c->live);
    c->live = NULL;
    count_pages(server, -1);
}

/* --- receiving --- */

static void answer_frame(struct live *live, const struct websocket_frame *frame)
{
    if (frame->opcode == WEBSOCKET_PING)
        websocket_append(&live->out, WEBSOCKET_PONG, frame->data, frame->length);
    if (frame->opcode == WEBSOCKET_CLOSE) {
        websocket_append_close(&live->out, WEBSOCKET_NORMAL);
        live->is_closing = true;
    }
}

bool live_received(struct server *server, struct connection *c)
{
    struct live *live = c->live;
    struct websocket_frame frame;
    size_t at = 0;
    int result = 0;
    live->heard_ns = clock_ns(CLOCK_MONOTONIC);
    while (!live->is_closing && (result = websocket_parse(&frame, c->in.data + at, c->in.length - at)) == 0) {
        at += frame.taken;
        answer_frame(live, &frame);
        if (live->out.length > LIVE_OUT_MAX) { /* pings that nobody reads the answers of */
            server_close_connection(server, c);
            return false;
        }
    }
    if (result > 1) {
        websocket_append_close(&live->out, (unsigned)result);
        live->is_closing = true;
    }
    memmove(c->in.data, c->in.data + at, c->in.length - at);
    c->in.length -= at;
    return flush(server, c);
}

bool live_may_send(struct server *server, struct connection *c)
{
    return flush(server, c);
}

/* --- time --- */

static void tick_connection(struct server *server, struct connection *c, uint64_t now)
{
    struct live *live = c->live;
    uint64_t silent = now - live->heard_ns;
    if (silent > server->timeout_ns) {
        server->metrics.timed_out++;
        server_close_connection(server, c);
        return;
    }
    if (live->out.length) /* it has not read what it was sent before */
        return;
    if (silent > server->timeout_ns / 3 && now - live->pinged_ns > server->timeout_ns / 3) {
        live->pinged_ns = now;
        websocket_append(&live->out, WEBSOCKET_PING, "", 0);
    }
    append_news(server, live);
    if (live->out.length)
        flush(server, c);
}

void live_tick(struct server *server)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    if (server->live_count == 0)
        return;
    if (now - server->folder_ns > FOLDER_NS) {
        server->folder_ns = now;
        traces_refresh(&server->traces);
    }
    traces_describe(&server->traces);
    for (size_t i = server->connection_count; i-- > 0;) {
        if (server->connections[i]->live)
            tick_connection(server, server->connections[i], now);
    }
}
