/* SPDX-License-Identifier: Apache-2.0 */
/* A client takes one server. Where its user wants the file of Tracy's capture tool as well, the tool is that server,
 * and we are in between: it connects to a port of ours, everything goes through, and what the client sends is read on
 * the way. The tool asks the questions then, and none of ours are sent.
 *
 * Nothing of the program's may hang on the tool: when it does not come, speaks another protocol, dies, or does not end
 * the session, it is left out, and the session is ours as always. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/tracy/hub_internal.h"

#define COME_NS UINT64_C(10000000000)  /* for the tool to connect */
#define END_NS UINT64_C(10000000000)   /* for it to end a session whose client has ended */
#define WRITE_NS UINT64_C(60000000000) /* for it to write its file */
#define DRAIN_MS 10000
#define MOST_PENDING ((size_t)16 << 20)
#define READ_BYTES 65536

bool relay_is_open(const struct client *c)
{
    return c->relay.state == RELAY_OPEN;
}

static void watch_tool(struct client *c, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data = {.u64 = (uint64_t)(uintptr_t)c | RELAY_EVENT}};
    epoll_ctl(c->hub->epoll_fd, operation, c->relay.fd, &event);
}

static void close_tool(struct client *c)
{
    if (c->relay.fd >= 0)
        close(c->relay.fd);
    c->relay.fd = -1;
    c->relay.state = RELAY_OVER;
    bytes_free(&c->relay.to_tool);
    bytes_free(&c->relay.to_client);
}

void relay_give_up(struct client *c, const char *why)
{
    char text[600];
    snprintf(text, sizeof text, "%.150s: there is no whole %.400s", why, c->relay.capture.output);
    client_notice(c, text);
    c->relay.is_given_up = true;
    close_tool(c);
}

/* --- beginning --- */

/* A listening socket on a port that is free. */
static int listen_anywhere(unsigned *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, 1) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &length) == 0) {
        *port = ntohs(address.sin_port);
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

bool relay_begin(struct client *c)
{
    const struct tracy_hub_options *o = &c->hub->options;
    char output[4200];
    struct error err = {0};
    unsigned port = 0;
    c->relay = (struct relay){.fd = -1};
    if (!o->capture_tool || c->hub->is_stopped)
        return false;
    uint32_t number = ++c->hub->captures;
    if (number == 1)
        snprintf(output, sizeof output, "%s.tracy", o->capture_output);
    else
        snprintf(output, sizeof output, "%s.%u.tracy", o->capture_output, number);
    c->relay.fd = listen_anywhere(&port);
    if (c->relay.fd < 0 || tracy_capture_start(&c->relay.capture, o->capture_tool, output, port, &err) != 0) {
        relay_give_up(c, err.code ? err.message : "no port");
        return false;
    }
    c->relay.state = RELAY_LISTENING;
    c->relay.deadline_ns = clock_raw_ns() + COME_NS;
    watch_tool(c, EPOLL_CTL_ADD, EPOLLIN);
    return true;
}

static void accept_tool(struct client *c)
{
    int on = 1, fd = accept4(c->relay.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    close(c->relay.fd);
    c->relay.fd = fd;
    c->relay.state = RELAY_HELLO;
    watch_tool(c, EPOLL_CTL_ADD, EPOLLIN);
}

static void take_hello(struct client *c)
{
    struct relay *relay = &c->relay;
    uint32_t version;
    ssize_t n =
        recv(relay->fd, relay->hello + relay->hello_length, TRACY_HELLO_BYTES - relay->hello_length, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    relay->hello_length += n > 0 ? (size_t)n : 0;
    memcpy(&version, relay->hello + 8, sizeof version);
    if (n <= 0 ||
        (relay->hello_length == TRACY_HELLO_BYTES &&
         (memcmp(relay->hello, TRACY_MAGIC, 8) != 0 || version < TRACY_OLDEST || version > TRACY_NEWEST))) {
        relay_give_up(c, "the capture tool speaks no protocol that opscope knows");
        client_connect_next(c);
    } else if (relay->hello_length == TRACY_HELLO_BYTES) {
        relay->state = RELAY_OPEN;
        client_connect_as(c, version);
    }
}

/* --- passing on --- */

/* Sends what goes. False: the other side is gone. */
static bool flush(int fd, struct bytes *pending)
{
    while (pending->length) {
        ssize_t n = send(fd, pending->data, pending->length, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        pending->length -= (size_t)n;
        memmove(pending->data, pending->data + n, pending->length);
    }
    return true;
}

/* The session goes on without it, and without questions: nobody knows which of its own the tool has sent. */
static void lose_tool(struct client *c)
{
    bool is_ending = c->trace && tracy_stream_is_ending(tracy_trace_stream(c->trace));
    if (c->trace)
        tracy_stream_distrust(tracy_trace_stream(c->trace));
    if (is_ending || c->relay.state == RELAY_DRAINING)
        close_tool(c); /* as it should be */
    else
        relay_give_up(c, "the capture tool ended");
    if (c->fd >= 0 && !c->is_connecting)
        client_watch(c, EPOLL_CTL_MOD, EPOLLIN);
}

static void flush_tool(struct client *c)
{
    struct relay *relay = &c->relay;
    if (!flush(relay->fd, &relay->to_tool) || relay->to_tool.failed) {
        lose_tool(c);
        return;
    }
    watch_tool(c, EPOLL_CTL_MOD, relay->to_tool.length ? EPOLLIN | EPOLLOUT : EPOLLIN);
    bool is_paused = relay->to_tool.length > MOST_PENDING;
    if (is_paused != relay->is_paused && c->fd >= 0 && !c->is_connecting)
        client_watch(c, EPOLL_CTL_MOD, is_paused ? 0 : EPOLLIN);
    relay->is_paused = is_paused;
    if (relay->state == RELAY_DRAINING && !relay->to_tool.length)
        close_tool(c);
}

void relay_pass_on(struct client *c, const uint8_t *data, size_t length)
{
    bytes_append(&c->relay.to_tool, data, length);
    flush_tool(c);
}

/* Questions of the tool. */
static void read_tool(struct client *c)
{
    struct relay *relay = &c->relay;
    uint8_t data[READ_BYTES];
    ssize_t n;
    while (relay->fd >= 0 && (n = recv(relay->fd, data, sizeof data, 0)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            break;
        relay->has_asked = true;
        if (relay->state == RELAY_OPEN)
            bytes_append(&relay->to_client, data, (size_t)n);
        if (relay->state == RELAY_OPEN && c->fd >= 0 && !c->is_connecting)
            flush(c->fd, &relay->to_client); /* the client reads them at once; its end is seen by reading */
    }
    if (relay->fd >= 0)
        lose_tool(c);
}

void relay_step(struct client *c)
{
    switch (c->relay.state) {
    case RELAY_LISTENING:
        accept_tool(c);
        break;
    case RELAY_HELLO:
        take_hello(c);
        break;
    case RELAY_OPEN:
    case RELAY_DRAINING:
        read_tool(c);
        if (c->relay.fd >= 0)
            flush_tool(c);
        break;
    default:
        break;
    }
}

/* --- the end --- */

void relay_drain(struct client *c)
{
    struct relay *relay = &c->relay;
    if (relay->state == RELAY_LISTENING || relay->state == RELAY_HELLO)
        close_tool(c);
    if (relay->state != RELAY_OPEN)
        return;
    relay->state = RELAY_DRAINING;
    flush_tool(c);
}

void relay_tick(struct client *c, uint64_t now_ns)
{
    struct relay *relay = &c->relay;
    if (relay->state == RELAY_LISTENING && tracy_capture_has_ended(&relay->capture)) {
        relay_give_up(c, "the capture tool ended before it connected");
        client_connect_next(c);
    } else if ((relay->state == RELAY_LISTENING || relay->state == RELAY_HELLO) &&
               now_ns > relay->deadline_ns) {
        relay_give_up(c, "the capture tool does not connect");
        client_connect_next(c);
    } else if (relay->state == RELAY_OPEN && c->trace && !relay->is_deaf &&
               tracy_stream_is_ending(tracy_trace_stream(c->trace)) && now_ns > c->deadline_ns + END_NS) {
        tracy_stream_distrust(tracy_trace_stream(c->trace));
        relay_give_up(c, "the capture tool does not end its session");
    } else if (relay->state == RELAY_OPEN && relay->to_client.length && c->fd >= 0 && !c->is_connecting) {
        flush(c->fd, &relay->to_client);
    }
}

static void drain_all(struct client *c)
{
    uint64_t start_ns = clock_raw_ns();
    while (c->relay.state == RELAY_DRAINING &&
           clock_raw_ns() - start_ns < (uint64_t)DRAIN_MS * UINT64_C(1000000)) {
        struct pollfd wait = {.fd = c->relay.fd, .events = POLLOUT | POLLIN};
        poll(&wait, 1, 100);
        relay_step(c);
    }
}

void relay_end(struct client *c)
{
    struct tracy_capture *capture = &c->relay.capture;
    char text[600];
    struct stat file;
    if (!capture->output[0])
        return;
    relay_drain(c);
    drain_all(c);
    bool was_used = c->relay.hello_length == TRACY_HELLO_BYTES;
    close_tool(c);
    tracy_capture_end(capture, was_used ? WRITE_NS : 0);
    if (!was_used || c->relay.is_given_up)
        return;
    bool is_whole = WIFEXITED(capture->wait_status) && WEXITSTATUS(capture->wait_status) == 0;
    if (stat(capture->output, &file) != 0)
        file.st_size = 0;
    if (is_whole && file.st_size)
        return;
    if (capture->was_stopped)
        snprintf(text, sizeof text, "the capture tool did not end and was stopped: %.400s may not be whole",
                 capture->output);
    else if (WIFSIGNALED(capture->wait_status))
        snprintf(text, sizeof text, "the capture tool was killed by signal %d: %.400s may not be whole",
                 WTERMSIG(capture->wait_status), capture->output);
    else
        snprintf(text, sizeof text, "the capture tool ended with status %d: %.400s %s",
                 WEXITSTATUS(capture->wait_status), capture->output,
                 file.st_size ? "may not be whole" : "was not written");
    client_notice(c, text);
}
