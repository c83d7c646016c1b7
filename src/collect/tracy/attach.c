/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tracy/attach.h"

#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/slice.h"

#define POLL_MS 50

struct attaching {
    const struct tracy_attach_options *options;
    struct tracy_hub *hub;
    struct trace_writer *writer;
    int signal_fd;
    char last_notice[700];
};

/* A failure of the only client is what the command says; it is not said twice. */
static void keep_notice(void *context, const char *text)
{
    struct attaching *a = context;
    snprintf(a->last_notice, sizeof a->last_notice, "%s", text);
}

/* --- where --- */

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static int find_host(const char *host, const char *port, struct tracy_place *places, size_t *count,
                     struct error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    int status = getaddrinfo(host, port, &hints, &list);
    if (status)
        return error_set(err, ENOENT, "%s: %s", host, gai_strerror(status));
    for (const struct addrinfo *at = list; at && *count < TRACY_MAX_PLACES; at = at->ai_next) {
        struct tracy_place *place = &places[*count];
        if (at->ai_addrlen > sizeof place->address)
            continue;
        *place = (struct tracy_place){.length = at->ai_addrlen, .is_local = is_loopback(at->ai_addr)};
        memcpy(&place->address, at->ai_addr, at->ai_addrlen);
        (*count)++;
    }
    freeaddrinfo(list);
    return *count ? 0 : error_set(err, ENOENT, "%s has no address", host);
}

/* A PID; or HOST, HOST:PORT, [ADDRESS]:PORT. A name of this machine may have only one of its two addresses. */
static int find_target(const char *target, struct tracy_place *places, size_t *count, struct error *err)
{
    char host[256], port[16];
    uint64_t pid;
    *count = 0;
    if (slice_unsigned(slice_of(target), &pid)) {
        if (pid > INT32_MAX || kill((pid_t)pid, 0) != 0)
            return error_set(err, ESRCH, "there is no process %s, or it is another user's", target);
        if (!tracy_find_in_process((int64_t)pid, &places[0]))
            return error_set(err, ENOENT,
                             "process %s has no Tracy client that listens: was it built with Tracy?", target);
        *count = 1;
        return 0;
    }
    const char *colon = strrchr(target, ':'), *bracket = strrchr(target, ']');
    bool has_port =
        colon && (target[0] == '[' ? bracket && colon == bracket + 1 : strchr(target, ':') == colon);
    size_t length = has_port ? (size_t)(colon - target) : strlen(target), skip = target[0] == '[';
    if (skip && bracket)
        length = (size_t)(bracket - target) - 1;
    snprintf(host, sizeof host, "%.*s", (int)(length < 255 ? length : 255), target + skip);
    snprintf(port, sizeof port, "%u", TRACY_FIRST_PORT);
    if (has_port)
        snprintf(port, sizeof port, "%s", colon + 1);
    int status = find_host(host, port, places, count, err);
    if (status == 0 && strcmp(host, "localhost") == 0 && *count + 2 <= TRACY_MAX_PLACES) {
        find_host("::1", port, places, count, NULL);
        find_host("127.0.0.1", port, places, count, NULL);
    }
    return status;
}

/* --- the loop --- */

static void list_open(void *context, struct trace_writer *w)
{
    tracy_hub_list_open(context, w);
}

static bool was_asked_to_stop(const struct attaching *a)
{
    struct signalfd_siginfo info;
    return read(a->signal_fd, &info, sizeof info) == (ssize_t)sizeof info;
}

static void loop(struct attaching *a, struct tracy_attach_result *result)
{
    uint64_t start_ns = clock_raw_ns();
    struct pollfd fds[] = {{.fd = tracy_hub_fd(a->hub), .events = POLLIN},
                           {.fd = a->signal_fd, .events = POLLIN}};
    while (!tracy_hub_is_idle(a->hub)) {
        struct error err = {0};
        if (poll(fds, 2, POLL_MS) < 0 && errno != EINTR)
            break;
        uint64_t now_ns = clock_raw_ns();
        bool is_last =
            was_asked_to_stop(a) || (a->options->duration_ns && now_ns - start_ns >= a->options->duration_ns);
        tracy_hub_poll(a->hub); /* after that: what was sent before the signal is in the trace */
        if (trace_writer_tick(a->writer, now_ns, &err) != 0 && !result->trace_error.code)
            result->trace_error = err;
        if (is_last)
            break;
    }
    tracy_hub_stop(a->hub);
}

static int record(struct attaching *a, const struct tracy_place *places, size_t count,
                  struct tracy_attach_result *result, struct error *err)
{
    const struct tracy_attach_options *o = a->options;
    struct tracy_hub_options hub = {.writer = a->writer,
                                    .dialect = o->dialect,
                                    .min_duration_ns = o->min_duration_ns,
                                    .notice = keep_notice,
                                    .listener = o->listener,
                                    .context = a};
    struct stat st;
    int status = tracy_hub_new(&a->hub, &hub, err);
    if (status) {
        trace_writer_discard(a->writer);
        return status;
    }
    trace_writer_set_open_zones(a->writer, list_open, a->hub);
    tracy_hub_connect(a->hub, places, count);
    loop(a, result);
    tracy_hub_get_stats(a->hub, &result->stats);
    if (!result->stats.clients) {
        trace_writer_discard(a->writer);
        return error_set(err, ENOTCONN, "%s: %s", o->target,
                         a->last_notice[0] ? a->last_notice : "stopped before the client answered");
    }
    if (a->last_notice[0])
        o->notice(o->context, a->last_notice);
    if (o->before_finish)
        o->before_finish(o->finish_context, a->writer);
    status = trace_writer_finish(a->writer, err);
    result->size_bytes = stat(o->output, &st) == 0 ? (uint64_t)st.st_size : 0;
    return status;
}

int tracy_attach(const struct tracy_attach_options *options, struct tracy_attach_result *result,
                 struct error *err)
{
    struct attaching a = {.options = options, .signal_fd = -1};
    struct tracy_place places[TRACY_MAX_PLACES];
    size_t count;
    sigset_t stopping, before;
    *result = (struct tracy_attach_result){0};
    int status = find_target(options->target, places, &count, err);
    if (status)
        return status;
    char host[256] = "", command[400];
    gethostname(host, sizeof host - 1);
    snprintf(command, sizeof command, "opscope attach --tracy %s", options->target);
    struct trace_writer_options writer = {.max_size_bytes = options->max_size_bytes,
                                          .program = options->program,
                                          .command = command,
                                          .host = host};
    status = trace_writer_open(&a.writer, options->output, &writer, err);
    if (status)
        return status;
    sigemptyset(&stopping);
    sigaddset(&stopping, SIGINT);
    sigaddset(&stopping, SIGTERM);
    sigprocmask(SIG_BLOCK, &stopping, &before);
    a.signal_fd = signalfd(-1, &stopping, SFD_CLOEXEC | SFD_NONBLOCK);
    status = record(&a, places, count, result, err);
    tracy_hub_free(a.hub);
    if (a.signal_fd >= 0)
        close(a.signal_fd);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}
