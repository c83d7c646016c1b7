/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "collect/gpu/metric.h"
#include "collect/process/own_process.h"

#define READY_NS UINT64_C(10000000000) /* a GPU that sleeps takes seconds to come up */
#define STOP_NS UINT64_C(5000000000)   /* it needs 0.1 s, on a busy machine more */
#define PIPE_BYTES (1 << 20)           /* over a second of samples at 100 us */

struct lanes { /* of one device */
    uint32_t track;
    uint32_t metrics; /* one bit each */
    uint32_t names[GPU_METRICS];
    char *title;
    bool is_made;
};

struct gpu_metrics {
    pid_t pid;
    int go_fd, out_fd;
    struct bytes read; /* not yet taken */
    struct lanes devices[GPU_DEVICES];
    bool is_ready, is_over;
    bool was_killed;
    char trouble[1200];
};

static void note_trouble(struct gpu_metrics *g, const char *text, size_t length)
{
    size_t used = strlen(g->trouble);
    snprintf(g->trouble + used, sizeof g->trouble - used, "%s%.*s", used ? "; " : "", (int)length, text);
}

/* --- what is sent --- */

static void make_lanes(struct lanes *d, uint32_t number, struct trace_writer *w, uint32_t process)
{
    char name[64];
    d->is_made = true;
    d->track = trace_writer_track(w, &(struct trace_track){.id = TRACE_NONE,
                                                           .process = process,
                                                           .parent = TRACE_NONE,
                                                           .kind = TRACE_TRACK_OTHER,
                                                           .clock = TRACE_HOST_CLOCK,
                                                           .number = number,
                                                           .name = d->title ? d->title : "GPU"});
    for (uint32_t i = 0; i < GPU_METRICS; i++) {
        snprintf(name, sizeof name, "GPU %u %s", number, gpu_metrics_list[i].title);
        d->names[i] = trace_writer_name(w, name, "", "", 0, 0);
    }
}

static void take_sample(struct lanes *d, const struct gpu_message *m, struct trace_writer *w)
{
    for (uint32_t i = 0; i < GPU_METRICS; i++) {
        if (d->metrics & 1u << i)
            trace_writer_counter(
                w, &(struct trace_counter){
                       .track = d->track, .name = d->names[i], .time = m->start_ns, .value = m->u.values[i]});
    }
}

/* A message with its text; w is NULL while there is no trace to write into: then samples are not sent. */
static bool take_message(struct gpu_metrics *g, const struct gpu_message *m, const char *text,
                         struct trace_writer *w, uint32_t process)
{
    struct lanes *d = &g->devices[m->device % GPU_DEVICES];
    if (w && !d->is_made && (m->kind == GPU_MESSAGE_SAMPLE || m->kind == GPU_MESSAGE_LOST))
        make_lanes(d, m->device, w, process);
    switch (m->kind) {
    case GPU_MESSAGE_READY:
        g->is_ready = true;
        break;
    case GPU_MESSAGE_DEVICE:
        d->metrics = m->u.metrics;
        free(d->title);
        d->title = strndup(text, m->text_length);
        break;
    case GPU_MESSAGE_TROUBLE:
        note_trouble(g, text, m->text_length);
        break;
    case GPU_MESSAGE_LOST:
        if (w)
            trace_writer_loss(w, &(struct trace_loss){.process = process,
                                                      .track = d->track,
                                                      .reason = TRACE_LOSS_DEVICE,
                                                      .from_ns = m->start_ns,
                                                      .to_ns = m->end_ns,
                                                      .records = m->u.count});
        break;
    case GPU_MESSAGE_SAMPLE:
        if (w)
            take_sample(d, m, w);
        return true;
    default:
        break;
    }
    return false;
}

static uint64_t take_messages(struct gpu_metrics *g, struct trace_writer *w, uint32_t process)
{
    uint64_t samples = 0;
    size_t at = 0;
    struct gpu_message m;
    while (g->read.length - at >= sizeof m) {
        memcpy(&m, g->read.data + at, sizeof m);
        if (m.text_length > GPU_TEXT_BYTES) { /* no message of ours */
            note_trouble(g, "the process that reads them cannot be understood", 100);
            g->is_over = true;
            at = g->read.length;
            break;
        }
        if (g->read.length - at < sizeof m + m.text_length)
            break;
        samples += take_message(g, &m, (const char *)g->read.data + at + sizeof m, w, process);
        at += sizeof m + m.text_length;
    }
    if (at) {
        memmove(g->read.data, g->read.data + at, g->read.length - at);
        g->read.length -= at;
    }
    return samples;
}

/* What there is now. */
static uint64_t read_messages(struct gpu_metrics *g, struct trace_writer *w, uint32_t process)
{
    uint8_t piece[64 * 1024];
    uint64_t samples = 0;
    for (int i = 0; i < 64 && !g->is_over; i++) {
        ssize_t n = read(g->out_fd, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0) {
            g->is_over = true;
            break;
        }
        bytes_append(&g->read, piece, (size_t)n);
        samples += take_messages(g, w, process);
    }
    return samples;
}

uint64_t gpu_metrics_poll(struct gpu_metrics *g, struct trace_writer *writer, uint32_t process)
{
    return read_messages(g, writer, process);
}

/* Until `until_ns`, or there is nothing to wait for. */
static void wait_for_more(struct gpu_metrics *g, uint64_t until_ns)
{
    uint64_t now_ns = clock_raw_ns();
    if (!g->is_over && now_ns < until_ns)
        poll(&(struct pollfd){.fd = g->out_fd, .events = POLLIN}, 1,
             (int)((until_ns - now_ns) / 1000000) + 1);
}

/* --- its life --- */

struct gpu_metrics *gpu_metrics_of(int out_fd)
{
    struct gpu_metrics *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->go_fd = -1;
    g->out_fd = out_fd;
    return g;
}

struct gpu_metrics *gpu_metrics_start(uint64_t interval_ns, const char *command)
{
    struct gpu_metrics *g = gpu_metrics_of(-1);
    char interval[32];
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    if (!g)
        return NULL;
    snprintf(interval, sizeof interval, "%" PRIu64, interval_ns);
    char *const arguments[] = {"opscope", "gpu-sampler", interval, (char *)(uintptr_t)command, NULL};
    int failed = pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0
                     ? errno
                     : own_process_spawn(&g->pid, arguments, in[0], out[1]);
    if (in[0] >= 0)
        close(in[0]);
    if (out[1] >= 0)
        close(out[1]);
    g->go_fd = in[1];
    g->out_fd = out[0];
    if (failed) {
        g->pid = 0;
        g->is_over = true;
        snprintf(g->trouble, sizeof g->trouble, "the process that reads them cannot be started: %s",
                 strerror(failed));
        return g;
    }
    fcntl(g->out_fd, F_SETPIPE_SZ, PIPE_BYTES); /* where it may not be so large, it is smaller */
    fcntl(g->out_fd, F_SETFL, O_NONBLOCK);
    uint64_t until_ns = clock_raw_ns() + READY_NS;
    while (!g->is_ready && !g->is_over && clock_raw_ns() < until_ns) {
        wait_for_more(g, until_ns);
        read_messages(g, NULL, TRACE_NONE);
    }
    return g;
}

void gpu_metrics_begin(struct gpu_metrics *g)
{
    /* Where it is gone, SIGPIPE would end us. */
    if (g->is_over || g->go_fd < 0)
        return;
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGPIPE, &ignore, &before);
    if (write(g->go_fd, "g", 1) != 1)
        g->is_over = true;
    sigaction(SIGPIPE, &before, NULL);
}

/* Ends the process, if need be by force, and says how it ended. */
static void end_process(struct gpu_metrics *g, uint64_t until_ns)
{
    int status = 0;
    if (g->pid <= 0)
        return;
    while (waitpid(g->pid, &status, WNOHANG) == 0) {
        if (clock_raw_ns() >= until_ns) {
            g->was_killed = true;
            kill(g->pid, SIGKILL);
            waitpid(g->pid, &status, 0);
            break;
        }
        usleep(500);
    }
    g->pid = 0;
    if (g->was_killed && !g->is_ready)
        note_trouble(g, "the process that reads them was not ready in time", 100);
    else if (g->was_killed)
        note_trouble(g, "the process that reads them did not end in time: the last samples may be missing",
                     100);
    else if (WIFSIGNALED(status) && !g->trouble[0])
        snprintf(g->trouble, sizeof g->trouble, "the process that reads them was ended by signal %d",
                 WTERMSIG(status));
}

void gpu_metrics_stop(struct gpu_metrics *g, struct trace_writer *writer, uint32_t process)
{
    uint64_t until_ns = clock_raw_ns() + (g->is_ready ? STOP_NS : 0);
    if (g->go_fd >= 0)
        close(g->go_fd);
    g->go_fd = -1;
    do {
        wait_for_more(g, until_ns);
        read_messages(g, writer, process);
    } while (!g->is_over && clock_raw_ns() < until_ns);
    end_process(g, until_ns);
    read_messages(g, writer, process);
}

const char *gpu_metrics_trouble(const struct gpu_metrics *g)
{
    return g->trouble;
}

void gpu_metrics_free(struct gpu_metrics *g)
{
    if (!g)
        return;
    if (g->go_fd >= 0)
        close(g->go_fd);
    end_process(g, 0);
    if (g->out_fd >= 0)
        close(g->out_fd);
    for (size_t i = 0; i < GPU_DEVICES; i++)
        free(g->devices[i].title);
    bytes_free(&g->read);
    free(g);
}
