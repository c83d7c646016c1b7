/* SPDX-License-Identifier: Apache-2.0 */
/* The loop. A connection reads one request, is answered, and reads the next: while an answer is being sent nothing is
 * read, so that a client costs one request and one answer of memory at most. Every wait has an end: a connection that
 * is idle, that takes too long to ask, or that does not read its answer is closed. */
#include "serve/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/internal.h"

#define EVENTS 64
#define ACCEPT_PAUSE_NS UINT64_C(100000000)
#define LIVE_TICK_MS 25 /* how often files are looked at for pages that follow */
#define READ_BYTES 16384u
#define KEPT_BYTES ((size_t)1 << 20) /* of an answer's memory that a connection keeps for the next one */
#define LONGEST_TIMEOUTS 20u         /* time-outs in which an answer has to be read as a whole */

static uint64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* --- connections --- */

void server_wait_for(struct server *server, struct connection *c, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = c};
    if (c->is_added && c->events == events)
        return;
    epoll_ctl(server->epoll, c->is_added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->fd, &event);
    c->is_added = true;
    c->events = events;
}

void server_close_connection(struct server *server, struct connection *c)
{
    live_end(server, c);
    if (c->job)
        __atomic_store_n(&c->job->is_cancelled, true, __ATOMIC_RELAXED);
    close(c->fd);
    if (server->accept_ns)
        server->accept_ns = 1; /* there is one again */
    c->fd = -1;
    bytes_free(&c->in);
    bytes_free(&c->answer.head);
    bytes_free(&c->answer.made);
    server->connections[c->place] = server->connections[--server->connection_count];
    server->connections[c->place]->place = c->place;
    server->metrics.open = server->connection_count;
    c->next_closed = server->closed; /* an event of it may still be in hand */
    server->closed = c;
}

static void free_closed(struct server *server)
{
    while (server->closed) {
        struct connection *c = server->closed;
        server->closed = c->next_closed;
        free(c);
    }
}

/* Says why, as far as that goes without waiting. */
static void refuse_connection(struct server *server, int fd)
{
    static const char text[] =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 21\r\n"
        "Retry-After: 1\r\nConnection: close\r\n\r\ntoo many connections\n";
    if (send(fd, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
        shutdown(fd, SHUT_WR);
    close(fd);
    server->metrics.refused++;
}

/* No descriptor is left, and the connection would wake us again at once: it waits until one is closed, or a while,
 * since others than connections have some. */
static void pause_accepting(struct server *server)
{
    server->metrics.paused++;
    server->accept_ns = now_ns() + ACCEPT_PAUSE_NS;
    epoll_ctl(server->epoll, EPOLL_CTL_DEL, server->socket.fd, NULL);
}

static void accept_again(struct server *server)
{
    struct epoll_event accepts = {.events = EPOLLIN, .data.ptr = &server->socket};
    server->accept_ns = 0;
    epoll_ctl(server->epoll, EPOLL_CTL_ADD, server->socket.fd, &accepts);
}

static void accept_connections(struct server *server)
{
    for (;;) {
        int fd = accept4(server->socket.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1;
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                pause_accepting(server);
            return;
        }
        server->metrics.connections++;
        struct connection *c = server->connection_count < SERVER_CONNECTIONS ? calloc(1, sizeof *c) : NULL;
        if (!c) {
            refuse_connection(server, fd);
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        *c = (struct connection){.fd = fd,
                                 .place = server->connection_count,
                                 .since_ns = now_ns(),
                                 .number = ++server->last_connection};
        server->connections[server->connection_count++] = c;
        server->metrics.open = server->connection_count;
        server_wait_for(server, c, EPOLLIN | EPOLLRDHUP);
    }
}

/* --- sending --- */

static size_t answer_length(const struct connection *c)
{
    return c->answer.head.length + c->answer.body_length;
}

/* 1: all of it is sent; 0: the rest has to wait; -1: the connection is gone. */
static int send_answer(struct connection *c)
{
    const struct answer *a = &c->answer;
    while (c->sent < answer_length(c)) {
        size_t head = c->sent < a->head.length ? a->head.length - c->sent : 0;
        size_t body = c->sent > a->head.length ? c->sent - a->head.length : 0;
        struct iovec parts[2] = {{a->head.data + a->head.length - head, head},
                                 {(void *)(uintptr_t)(a->body + body), a->body_length - body}};
        struct msghdr message = {.msg_iov = head ? parts : parts + 1, .msg_iovlen = head ? 2 : 1};
        ssize_t n = sendmsg(c->fd, &message, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        c->sent += (size_t)n;
        c->since_ns = now_ns();
    }
    return 1;
}

static void forget_answer(struct connection *c)
{
    if (c->answer.made.capacity > KEPT_BYTES)
        bytes_free(&c->answer.made);
    c->answer.body = NULL;
    c->answer.body_length = 0;
    bytes_clear(&c->answer.head);
    c->sent = 0;
}

/* --- requests --- */

static void start_answer(struct server *server, struct connection *c, bool has_body, bool keep_alive,
                         uint64_t began_ns)
{
    struct answer *a = &c->answer;
    if (a->made.failed)
        route_refuse(a, 503, "no memory for the answer");
    route_write_head(server, a, keep_alive);
    if (!has_body)
        a->body_length = 0;
    c->is_ending = !keep_alive;
    c->is_sending = true;
    c->sent = 0;
    c->since_ns = c->sending_ns = now_ns();
    route_count(server, a, answer_length(c), c->since_ns - began_ns);
}

static void give_job(struct server *server, struct connection *c, const struct http_request *request,
                     uint64_t began_ns)
{
    c->job = c->answer.job;
    c->answer.job = NULL;
    c->job->connection = c->number;
    c->job->began_ns = began_ns;
    c->job_has_body = request->method != HTTP_HEAD;
    c->job_keeps_alive = request->keep_alive;
    answerer_give(server->answerers[route_answerer(c->job->entry)], c->job);
}

/* Answers what has been read, one request after the other. False: the connection is closed. */
static bool answer_requests(struct server *server, struct connection *c)
{
    for (;;) {
        if (c->job) {
            server_wait_for(server, c, EPOLLRDHUP);
            return true;
        }
        if (c->is_sending) {
            int result = send_answer(c);
            if (result < 0 || (result == 1 && c->is_ending)) {
                if (result == 1)
                    shutdown(c->fd, SHUT_WR);
                server_close_connection(server, c);
                return false;
            }
            if (result == 0) {
                server_wait_for(server, c, EPOLLOUT);
                return true;
            }
            forget_answer(c);
            c->is_sending = false;
            c->since_ns = now_ns();
        }
        struct http_request request;
        uint64_t began_ns = now_ns();
        int status =
            c->in.length ? http_parse(&request, (const char *)c->in.data, c->in.length) : HTTP_INCOMPLETE;
        if (status == HTTP_INCOMPLETE) {
            server_wait_for(server, c, EPOLLIN | EPOLLRDHUP);
            return true;
        }
        if (status == HTTP_PARSED) {
            route_request(server, &request, &c->answer);
            size_t taken = request.length;
            if (c->answer.is_live)
                live_begin(server, c, &request);
            else if (c->answer.job)
                give_job(server, c, &request, began_ns);
            else
                start_answer(server, c, request.method != HTTP_HEAD, request.keep_alive, began_ns);
            if (c->fd < 0)
                return false;
            memmove(c->in.data, c->in.data + taken, c->in.length - taken);
            c->in.length -= taken;
            if (c->live)
                return live_received(server, c);
        } else {
            route_refuse(&c->answer, status, NULL);
            start_answer(server, c, true, false, began_ns);
            c->in.length = 0;
        }
    }
}

/* The client sends nothing more while it waits for an answer that is not there yet. Whether it closed the connection or
 * only its half of it shows when something is sent to it: HTTP has an answer before the answer for that. */
static void ask_whether_gone(struct server *server, struct connection *c)
{
    static const char text[] = "HTTP/1.1 102 Processing\r\n\r\n";
    if (send(c->fd, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)(sizeof text - 1))
        server_close_connection(server, c);
    else
        server_wait_for(server, c, 0); /* that it is gone is told all the same */
}

static struct connection *find_connection(const struct server *server, uint64_t number)
{
    for (size_t i = 0; i < server->connection_count; i++) {
        if (server->connections[i]->number == number)
            return server->connections[i];
    }
    return NULL;
}

static struct job *take_job(struct server *server)
{
    struct job *job = NULL;
    for (unsigned kind = 0; kind < ANSWERERS && !job; kind++)
        job = answerer_take(server->answerers[kind]);
    return job;
}

static void take_jobs(struct server *server)
{
    struct job *job;
    while ((job = take_job(server))) {
        struct connection *c = job->entry ? find_connection(server, job->connection) : NULL;
        if (c) {
            if (route_asks_again(server, job)) {
                answerer_give(server->answerers[route_answerer(job->entry)], job);
                continue;
            }
            c->job = NULL;
            route_finish(&c->answer, job);
            start_answer(server, c, c->job_has_body, c->job_keeps_alive, job->began_ns);
            answer_requests(server, c);
        }
        job_free(job);
    }
}

static void read_requests(struct server *server, struct connection *c)
{
    if (!bytes_reserve(&c->in, READ_BYTES)) {
        server_close_connection(server, c);
        return;
    }
    ssize_t n = recv(c->fd, c->in.data + c->in.length, READ_BYTES, 0);
    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            server_close_connection(server, c);
        return;
    }
    if (c->in.length == 0)
        c->since_ns = now_ns(); /* no longer idle: it has as long again to ask */
    c->in.length += (size_t)n;
    if (c->live)
        live_received(server, c);
    else
        answer_requests(server, c);
}

/* --- time --- */

static bool is_late(const struct server *server, const struct connection *c, uint64_t now)
{
    if (c->job || c->live) /* it is we who are slow; live.c looks after those */
        return false;
    return now - c->since_ns > server->timeout_ns ||
           (c->is_sending && now - c->sending_ns > LONGEST_TIMEOUTS * server->timeout_ns);
}

static void close_late(struct server *server)
{
    uint64_t now = now_ns();
    for (size_t i = server->connection_count; i-- > 0;) {
        if (is_late(server, server->connections[i], now)) {
            server_close_connection(server, server->connections[i]);
            server->metrics.timed_out++;
        }
    }
}

/* How long the loop may sleep, in ms. */
static int sleep_ms(const struct server *server)
{
    uint64_t step = server->timeout_ns / 4000000;
    if (server->accept_ns == 1)
        return 0;
    if (server->live_count)
        return LIVE_TICK_MS;
    if (server->accept_ns)
        return ACCEPT_PAUSE_NS / 1000000;
    return server->connection_count == 0 ? -1 : step > 1000 ? 1000 : step < 5 ? 5 : (int)step;
}

/* --- the server --- */

static int make_token(struct server *server, const char *file, struct error *err)
{
    int status = token_choose(server->token, file, err);
    snprintf(server->cookie, sizeof server->cookie, "opscope_%u", server->socket.port);
    snprintf(server->url, sizeof server->url, "%s?token=%s", server->socket.url, server->token);
    return status;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#define IS_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define IS_SANITIZED 0
#endif

/* A ceiling for all that is allocated: whatever asks for more is told that there is none, and says so. Sanitizers need
 * more than it for themselves. */
static void limit_memory(uint64_t wanted)
{
#if IS_SANITIZED
    (void)wanted;
#else
    struct rlimit limit;
    uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) / 2 * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t most = wanted ? wanted : half > SERVER_USUAL_MEMORY ? half : SERVER_USUAL_MEMORY;
    if (getrlimit(RLIMIT_DATA, &limit) != 0 || most >= limit.rlim_cur)
        return;
    limit.rlim_cur = most;
    setrlimit(RLIMIT_DATA, &limit);
#endif
}

static int start_answerers(struct server *server, struct error *err)
{
    int status = 0;
    for (unsigned kind = 0; kind < ANSWERERS && !status; kind++)
        status = answerer_start(&server->answerers[kind], err);
    return status;
}

static int make_loop(struct server *server, struct error *err)
{
    struct epoll_event accepts = {.events = EPOLLIN, .data.ptr = &server->socket};
    struct epoll_event ends = {.events = EPOLLIN, .data.ptr = &server->ending};
    struct epoll_event done = {.events = EPOLLIN, .data.ptr = server->answerers};
    server->epoll = epoll_create1(EPOLL_CLOEXEC);
    bool is_made = server->epoll >= 0 &&
                   epoll_ctl(server->epoll, EPOLL_CTL_ADD, server->socket.fd, &accepts) == 0 &&
                   epoll_ctl(server->epoll, EPOLL_CTL_ADD, ending_fd(server->ending), &ends) == 0;
    for (unsigned kind = 0; kind < ANSWERERS && is_made; kind++)
        is_made = epoll_ctl(server->epoll, EPOLL_CTL_ADD, answerer_fd(server->answerers[kind]), &done) == 0;
    return is_made ? 0 : error_set_errno(err, errno, "epoll");
}

int server_open(struct server **out, const struct server_options *options, struct error *err)
{
    struct server *server = *out = calloc(1, sizeof *server);
    if (!server)
        return error_no_memory(err, "the server");
    server->epoll = server->socket.fd = -1;
    server->timeout_ns = options->timeout_ns ? options->timeout_ns : SERVER_TIMEOUT_NS;
    server->connections = calloc(SERVER_CONNECTIONS, sizeof(struct connection *));
    int status = server->connections ? 0 : error_no_memory(err, "the server");
    server->traces.source_folders = options->source_folders;
    if (!status)
        status = traces_open(&server->traces, options->paths, options->path_count, err);
    if (!status)
        status = listen_open(&server->socket, options->listen, options->port, err);
    if (!status)
        status = make_token(server, options->token_file, err);
    if (!status) /* first, since it blocks the signals: other threads must not get them */
        status = ending_start(&server->ending, options->until_eof, err);
    if (!status)
        status = start_answerers(server, err);
    if (!status)
        status = make_loop(server, err);
    if (!status)
        limit_memory(options->memory_bytes);
    if (status) {
        server_close(server);
        *out = NULL;
    }
    return status;
}

void server_close(struct server *server)
{
    if (!server)
        return;
    for (unsigned kind = 0; kind < ANSWERERS; kind++)
        answerer_stop(server->answerers[kind]);
    for (size_t i = 0; i < server->connection_count; i++)
        server->connections[i]->job = NULL;
    while (server->connection_count)
        server_close_connection(server, server->connections[0]);
    free_closed(server);
    free(server->connections);
    traces_free(&server->traces);
    if (server->epoll >= 0)
        close(server->epoll);
    if (server->socket.fd >= 0)
        close(server->socket.fd);
    ending_stop(server->ending);
    free(server);
}

const char *server_url(const struct server *server)
{
    return server->url;
}

static bool handle_event(struct server *server, const struct epoll_event *event)
{
    if (event->data.ptr == &server->ending)
        return false;
    if (event->data.ptr == &server->socket) {
        accept_connections(server);
        return true;
    }
    if (event->data.ptr == server->answerers) {
        take_jobs(server);
        return true;
    }
    struct connection *c = event->data.ptr;
    if (c->fd < 0)
        return true;
    if (event->events & (EPOLLERR | EPOLLHUP))
        server_close_connection(server, c);
    else if (c->job)
        ask_whether_gone(server, c);
    else if (c->live && event->events & EPOLLOUT && !live_may_send(server, c))
        return true;
    else if (c->live && !(event->events & (EPOLLIN | EPOLLRDHUP)))
        return true;
    else if (c->is_sending)
        answer_requests(server, c);
    else
        read_requests(server, c);
    return true;
}

int server_run(struct server *server, struct error *err)
{
    struct epoll_event events[EVENTS];
    for (;;) {
        int count = epoll_wait(server->epoll, events, EVENTS, sleep_ms(server));
        if (count < 0 && errno != EINTR)
            return error_set_errno(err, errno, "epoll");
        for (int i = 0; i < count; i++) {
            if (!handle_event(server, &events[i]))
                return 0;
        }
        close_late(server);
        if (server->accept_ns && now_ns() >= server->accept_ns)
            accept_again(server);
        live_tick(server);
        free_closed(server);
    }
}
