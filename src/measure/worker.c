/* SPDX-License-Identifier: Apache-2.0 */
/* Starting, asking and ending a worker process.
 *
 * The worker gets a process group of its own, so that what an op left behind can be killed with it; that also keeps the
 * terminal's Ctrl-C from it. When we die, its question pipe ends and it quits; should an op hang then, the kernel kills
 * it (PR_SET_PDEATHSIG). */
#include "measure/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define LONGEST_ANSWER ((size_t)256 << 20)
#define DEATH_GRACE_NS UINT64_C(20000000000) /* opscope run finishing its trace */

static void set_python_path(const char *package)
{
    const char *old = getenv("PYTHONPATH");
    struct bytes value = {0};
    bytes_append_text(&value, package);
    if (old && *old) {
        bytes_append_u8(&value, ':');
        bytes_append_text(&value, old);
    }
    bytes_append_u8(&value, 0);
    if (!value.failed)
        setenv("PYTHONPATH", (const char *)value.data, 1);
    bytes_free(&value);
}

/* In the child. Writes errno to `failure` when the program cannot be run. */
static void become_worker(const struct worker_options *o, char **argv, int read_fd, int write_fd, int failure)
{
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, o->is_recorded ? SIGTERM : SIGKILL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    if (o->cpu >= 0) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET((size_t)o->cpu, &set);
        sched_setaffinity(0, sizeof set, &set); /* was possible a moment ago, else it runs where it may */
    }
    if (o->package)
        set_python_path(o->package);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    dup2(STDERR_FILENO,
         STDOUT_FILENO); /* ours holds the table, or JSON; what ops print is not part of that */
    fcntl(read_fd, F_SETFD, 0);
    fcntl(write_fd, F_SETFD, 0);
    execvp(argv[0], argv);
    int code = errno;
    ssize_t unused = write(failure, &code, sizeof code);
    (void)unused;
    _exit(127);
}

/* argv with "{fds}" filled in; the caller frees the array. `fds` must outlive it. */
static char **fill_arguments(char *const *argv, char *fds)
{
    size_t count = 0;
    while (argv[count])
        count++;
    char **filled = calloc(count + 1, sizeof *filled);
    for (size_t i = 0; filled && i < count; i++)
        filled[i] = strcmp(argv[i], "{fds}") == 0 ? fds : argv[i];
    return filled;
}

static void close_pair(int *pair)
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

int worker_start(struct worker *w, const struct worker_options *options, struct error *err)
{
    *w = (struct worker){.pid = -1, .to = -1, .from = -1};
    int down[2] = {-1, -1}, up[2] = {-1, -1}, failure[2] = {-1, -1}, code = 0, status = 0;
    char fds[32];
    char **argv = NULL;
    if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0 || pipe2(failure, O_CLOEXEC) != 0) {
        status = error_set_errno(err, errno, "cannot make a pipe");
        goto out;
    }
    snprintf(fds, sizeof fds, "%d,%d", down[0], up[1]);
    argv = fill_arguments(options->argv, fds);
    fflush(NULL);
    w->pid = argv ? fork() : -1;
    if (w->pid < 0) {
        status = error_set_errno(err, argv ? errno : ENOMEM, "cannot start a worker process");
        goto out;
    }
    if (w->pid == 0)
        become_worker(options, argv, down[0], up[1], failure[1]);
    w->is_running = true;
    close(failure[1]);
    failure[1] = -1;
    ssize_t got;
    do
        got = read(failure[0], &code, sizeof code);
    while (got < 0 && errno == EINTR);
    if (got == (ssize_t)sizeof code) {
        waitpid(w->pid, &w->wait_status, 0);
        w->is_running = false;
        status = error_set_errno(err, code, "cannot run %s", argv[0]);
        goto out;
    }
    w->to = down[1];
    w->from = up[0];
    down[1] = up[0] = -1;
    fcntl(w->from, F_SETFL, O_NONBLOCK);
out:
    close_pair(down);
    close_pair(up);
    close_pair(failure);
    free(argv);
    return status;
}

/* Waits for the end of the process we started: true when it came in time. */
static bool wait_for_end(struct worker *w, uint64_t limit_ns)
{
    uint64_t end = clock_raw_ns() + limit_ns;
    for (unsigned pause_us = 200; w->is_running; pause_us = pause_us < 20000 ? pause_us * 2 : pause_us) {
        pid_t got = waitpid(w->pid, &w->wait_status, WNOHANG);
        if (got == w->pid || (got < 0 && errno != EINTR)) {
            w->is_running = false;
            break;
        }
        if (clock_raw_ns() >= end)
            return false;
        usleep(pause_us);
    }
    return true;
}

/* Kills the worker, and what it started. `opscope run` around it ends by itself, with its trace whole. */
static void kill_worker(struct worker *w)
{
    if (!w->is_running)
        return;
    if (w->inner_pid > 0 && w->inner_pid != w->pid)
        kill(w->inner_pid, SIGKILL);
    else
        kill(-w->pid, SIGKILL);
    if (!wait_for_end(w, DEATH_GRACE_NS)) {
        kill(-w->pid, SIGKILL);
        wait_for_end(w, DEATH_GRACE_NS);
    }
}

static bool send_line(struct worker *w, const char *question)
{
    struct bytes line = {0};
    bytes_append_text(&line, question);
    bytes_append_u8(&line, '\n');
    size_t sent = 0;
    /* A worker that died must not be our death; questions fit a pipe's buffer. */
    void (*old)(int) = signal(SIGPIPE, SIG_IGN);
    while (!line.failed && sent < line.length) {
        ssize_t n = write(w->to, line.data + sent, line.length - sent);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        sent += (size_t)n;
    }
    bool is_sent = !line.failed && sent == line.length;
    signal(SIGPIPE, old);
    bytes_free(&line);
    return is_sent;
}

/* How long a worker has waited for its CPU while other processes had it: the wait of its main thread, which makes the
 * calls, less what threads of its own ran. Of use only as the difference of two readings. */
static int64_t waited_ns(const struct worker *w)
{
    char path[64];
    clockid_t clock;
    unsigned long long own_ns = 0, wait_ns = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)w->inner_pid);
    FILE *file = w->inner_pid > 0 ? fopen(path, "re") : NULL;
    if (!file)
        return 0;
    bool is_read = fscanf(file, "%llu %llu", &own_ns, &wait_ns) == 2;
    fclose(file);
    if (!is_read || clock_getcpuclockid(w->inner_pid, &clock) != 0)
        return 0;
    return (int64_t)wait_ns - ((int64_t)clock_ns(clock) - (int64_t)own_ns);
}

struct deadline {
    uint64_t end_ns, limit_end_ns; /* with and without what the worker waited for its CPU */
    int64_t waited_ns;             /* the first reading */
};

/* Is the time over? A limit is about the op, so the time that other processes had the CPU for is not part of it: on a
 * busy machine an op takes longer, and has not hung. */
static bool is_over(const struct worker *w, struct deadline *deadline, uint64_t now_ns)
{
    if (now_ns < deadline->end_ns)
        return false;
    int64_t more_ns = waited_ns(w) - deadline->waited_ns;
    deadline->end_ns = deadline->limit_end_ns + (more_ns > 0 ? (uint64_t)more_ns : 0);
    return now_ns >= deadline->end_ns;
}

/* Reads until there is a whole line. */
static int read_line(struct worker *w, uint64_t limit_ns, size_t *length)
{
    uint64_t limit_end_ns = clock_raw_ns() + limit_ns;
    struct deadline deadline = {limit_end_ns, limit_end_ns, waited_ns(w)};
    size_t seen = 0;
    for (;;) {
        const uint8_t *found =
            w->buffer.length > seen ? memchr(w->buffer.data + seen, '\n', w->buffer.length - seen) : NULL;
        if (found) {
            *length = (size_t)(found - w->buffer.data);
            return WORKER_ANSWERED;
        }
        seen = w->buffer.length;
        uint64_t now = clock_raw_ns();
        if (is_over(w, &deadline, now))
            return WORKER_SILENT;
        if (w->buffer.length > LONGEST_ANSWER || !bytes_reserve(&w->buffer, 65536))
            return -ENOMEM;
        uint64_t left_ms = (deadline.end_ns - now) / 1000000 + 1;
        struct pollfd fd = {.fd = w->from, .events = POLLIN};
        if (poll(&fd, 1, left_ms > 1000 ? 1000 : (int)left_ms) <= 0)
            continue;
        ssize_t n = read(w->from, w->buffer.data + w->buffer.length, 65536);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return WORKER_DIED;
        if (n > 0)
            w->buffer.length += (size_t)n;
    }
}

int worker_ask(struct worker *w, const char *question, uint64_t limit_ns, struct json_document *document,
               struct error *err)
{
    if (w->line_length) {
        memmove(w->buffer.data, w->buffer.data + w->line_length, w->buffer.length - w->line_length);
        w->buffer.length -= w->line_length;
        w->line_length = 0;
    }
    size_t length = 0;
    int status = WORKER_DIED;
    if (w->is_running && send_line(w, question))
        status = read_line(w, limit_ns, &length);
    if (status == WORKER_ANSWERED) {
        status = json_read(document, (const char *)w->buffer.data, length, err);
        w->line_length = length + 1;
        if (status == 0)
            return WORKER_ANSWERED;
        error_prefix(err, "the worker's answer");
    } else if (status == -ENOMEM) {
        error_no_memory(err, "a worker's answer");
    }
    /* Its end of the pipe is gone, so it is dying; it may have closed the pipe and live on. */
    if (status == WORKER_DIED && wait_for_end(w, w->inner_pid == w->pid ? 2000000000 : DEATH_GRACE_NS))
        return status;
    kill_worker(w);
    return status;
}

void worker_end(struct worker *w, uint64_t grace_ns)
{
    if (w->is_running) {
        send_line(w, "{\"do\":\"quit\"}");
        if (!wait_for_end(w, grace_ns))
            kill_worker(w);
    }
    if (w->pid > 0)
        kill(-w->pid, SIGKILL); /* what an op left behind */
    if (w->to >= 0)
        close(w->to);
    if (w->from >= 0)
        close(w->from);
    bytes_free(&w->buffer);
    *w = (struct worker){.pid = -1, .to = -1, .from = -1};
}
