/* SPDX-License-Identifier: Apache-2.0 */
/* The loop around the collector. Signals arrive through a descriptor, so no handler of ours runs anywhere; the
 * command gets the signal mask we were started with and stays in our process group, so that the terminal's signals
 * reach it by themselves. What somebody sends to us alone is passed on.
 *
 * The run ends when the command does: its exit status must not wait for what it left behind. */
#include "collect/launch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/count_of.h"
#include "collect/clock_map.h"
#include "collect/gpu/metrics.h"
#include "collect/tracy/live.h"
#include "session/cgroup.h"

#define BUSY_MS 1
#define IDLE_MS 20
#define PROGRESS_NS UINT64_C(500000000)
#define RESCAN_NS UINT64_C(10000000) /* without inotify */
#define LET_GO_MS 100                /* between two looks for clients of Tracy when recording is over */
#define WATCH_AFTER_NS UINT64_C(50000000)
#define URGENT_PRIORITY (-5)
#define GATHER_MS 1 /* what Tracy clients send meanwhile is read in one go */

extern char **environ;

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/* What we set for ourselves: a trace over the file size limit is an error and not our death, and with SIGCHLD ignored,
 * as some callers leave it, the command's status would be lost. */
static const struct {
    int number;
    bool is_ignored;
} own_signals[] = {{SIGXFSZ, true}, {SIGCHLD, false}};

struct run {
    const struct launch_options *options;
    struct launch_result *result;
    struct session_folder folder;
    struct trace_writer *writer;
    struct collector *collector; /* NULL once recording is over */
    struct tracy_live *tracy;    /* NULL: programs built with Tracy are left alone */
    struct strangers strangers;
    struct gpu_metrics *gpu; /* NULL: no counters of GPUs, or no longer */
    sigset_t original_mask;
    bool was_ignored[COUNT_OF(own_signals)];
    int signal_fd, inotify_fd;
    int watched_fd; /* a pidfd of options->watched_pid; -1: none, or the kernel has none */
    pid_t child;
    bool has_exited;
    bool is_stop_closed; /* or there is none */
    bool has_tried_to_watch;
    uint64_t alive_ns; /* when the command was last seen alive */
    uint64_t start_ns, next_progress_ns, next_rescan_ns;
    int idle_ms;
    int own_priority; /* as we were started */
    bool is_urgent;
};

static void notice(const struct run *r, const char *text)
{
    if (r->options->notice)
        r->options->notice(r->options->context, text);
}

/* --- set-up --- */

static int make_session(struct run *r, struct error *err)
{
    const struct launch_options *o = r->options;
    struct session_control *control = &r->folder.control;
    struct clock_map map;
    struct clock_sample first;
    *control = (struct session_control){.clock_source = clock_map_choose_source(),
                                        .on_full = o->on_full,
                                        .buffer_bytes = o->buffer_bytes,
                                        .max_size_bytes = o->max_size_bytes,
                                        .min_duration_ns = o->min_duration_ns,
                                        .is_paused = o->is_paused,
                                        .capture = o->capture};
    clock_map_init(&map, control->clock_source);
    clock_map_sample(&map, &first);
    clock_map_free(&map);
    control->cgroup_signature = cgroup_unlimited_signature();
    control->start_ticks = first.ticks;
    control->start_raw_ns = first.raw_ns;
    control->session_id =
        first.ticks * UINT64_C(0x9e3779b97f4a7c15) ^ first.realtime_ns ^ (uint64_t)getpid() << 40;
    char *absolute = o->output[0] == '/' ? NULL : getcwd(NULL, 0);
    snprintf(r->folder.output, sizeof r->folder.output, "%s%s%s", absolute ? absolute : "",
             absolute ? "/" : "", o->output);
    free(absolute);
    snprintf(r->folder.command, sizeof r->folder.command, "%s", o->command);
    return session_folder_create(&r->folder, err);
}

static int open_signals(struct run *r)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < COUNT_OF(passed_on); i++)
        sigaddset(&set, passed_on[i]);
    sigprocmask(SIG_BLOCK, &set, &r->original_mask);
    r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return r->signal_fd < 0 ? errno : 0;
}

#define SESSION_TEXT_BYTES sizeof(((struct launch_result *)0)->session)

/* OPSCOPE_SESSION=... */
static void session_text(const struct run *r, char *out)
{
    size_t prefix = strlen(SESSION_VARIABLE "=");
    memcpy(out, SESSION_VARIABLE "=", prefix);
    session_folder_variable(&r->folder, out + prefix, SESSION_TEXT_BYTES - prefix);
}

/* The environment with OPSCOPE_SESSION set, and what clients of Tracy need; the caller frees the array and the first
 * entry. */
static char **make_environment(const struct run *r)
{
    size_t count = 0, n = 1;
    while (environ[count])
        count++;
    char **list = calloc(count + 2 + TRACY_LIVE_VARIABLES, sizeof *list);
    char *variable = malloc(SESSION_TEXT_BYTES);
    if (!list || !variable) {
        free(list);
        free(variable);
        return NULL;
    }
    session_text(r, variable);
    list[0] = variable;
    size_t prefix = strlen(SESSION_VARIABLE "=");
    for (size_t i = 0; i < count; i++) {
        if (strncmp(environ[i], SESSION_VARIABLE "=", prefix) != 0)
            list[n++] = environ[i];
    }
    if (r->tracy)
        tracy_live_environment(list, n);
    return list;
}

/* What we changed for ourselves, back to what the command would have found without us. */
static void restore_signals(const struct run *r)
{
    for (size_t i = 0; i < COUNT_OF(own_signals); i++)
        signal(own_signals[i].number, r->was_ignored[i] ? SIG_IGN : SIG_DFL);
    sigprocmask(SIG_SETMASK, &r->original_mask, NULL);
}

/* vfork rather than posix_spawn, which can make a signal the default in the child but not ignore it: ignored here, even
 * for a moment, SIGCHLD would take the command's status with it. The child shares our memory until it calls exec, and
 * touches nothing but its own signals. execvpe gives a script without an interpreter line to the shell. */
__attribute__((noinline)) static int fork_and_exec(struct run *r, char *const *environment)
{
    volatile int failed = 0;
    pid_t child = vfork();
    if (child == 0) {
        restore_signals(r);
        execvpe(r->options->argv[0], r->options->argv, environment);
        failed = errno;
        _exit(127);
    }
    r->child = child;
    if (child < 0)
        failed = errno;
    else if (failed)
        waitpid(child, NULL, 0);
    return failed;
}

static int start_command(struct run *r)
{
    char **environment = r->collector ? make_environment(r) : NULL;
    int failed = fork_and_exec(r, environment ? environment : environ);
    if (environment)
        free(environment[0]);
    free(environment);
    return failed;
}

/* --- the loop --- */

static void read_signals(struct run *r)
{
    struct signalfd_siginfo info;
    while (read(r->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        r->result->is_to_end |= info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP;
        /* ssi_code > 0: from the kernel, that is from the terminal, which signals the command as well. Only when it is
         * closed does it signal the leader of the session alone. */
        bool is_ours = info.ssi_code <= 0 || (info.ssi_signo == SIGHUP && getsid(0) == getpid());
        if (!r->options->argv && (info.ssi_signo == SIGINT || info.ssi_signo == SIGTERM))
            r->has_exited = true;
        else if (!r->options->argv)
            continue;
        else if (info.ssi_signo != SIGCHLD && is_ours && !r->has_exited)
            kill(r->child, (int)info.ssi_signo);
    }
    if (r->has_exited)
        return;
    int status;
    uint64_t now_ns = clock_raw_ns();
    pid_t ended = r->options->argv ? waitpid(r->child, &status, WNOHANG) : 0;
    if (ended == 0)
        r->alive_ns = now_ns;
    if (ended > 0) {
        r->has_exited = true;
        r->result->wait_status = status;
        if (r->collector)
            collector_root_exited(r->collector, status);
    }
}

static void read_folder_events(struct run *r)
{
    char buffer[16 * 1024] __attribute__((aligned(8)));
    ssize_t n;
    while (r->inotify_fd >= 0 && (n = read(r->inotify_fd, buffer, sizeof buffer)) > 0) {
        for (ssize_t at = 0; at + (ssize_t)sizeof(struct inotify_event) <= n;) {
            const struct inotify_event *event = (const struct inotify_event *)(void *)(buffer + at);
            if (event->mask & IN_Q_OVERFLOW)
                collector_scan_folder(r->collector);
            else if (event->len && event->mask & IN_CLOSE_WRITE)
                collector_file_closed(r->collector, event->name);
            else if (event->len)
                collector_file_appeared(r->collector, event->name);
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
}

/* Watching costs nothing until it ends: giving an inotify descriptor back waits for other CPUs, 5 to 15 ms. So a
 * command that is over at once is never watched; the folder is listed at each poll instead. */
static void watch_folder(struct run *r)
{
    r->has_tried_to_watch = true;
    r->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (r->inotify_fd >= 0 &&
        inotify_add_watch(r->inotify_fd, r->folder.path, IN_MOVED_TO | IN_CREATE | IN_CLOSE_WRITE) < 0) {
        close(r->inotify_fd);
        r->inotify_fd = -1;
    }
}

static uint32_t root_process(const struct run *r)
{
    return collector_process(r->collector, r->child, r->start_ns);
}

static void end_gpu_metrics(struct run *r)
{
    if (!r->gpu)
        return;
    if (r->collector)
        gpu_metrics_stop(r->gpu, r->writer, root_process(r));
    snprintf(r->result->gpu_trouble, sizeof r->result->gpu_trouble, "%s", gpu_metrics_trouble(r->gpu));
    gpu_metrics_free(r->gpu);
    r->gpu = NULL;
}

/* Shared memory that nobody empties is full soon, so that taking from it comes before what the machine does besides.
 * What a Tracy client has not sent waits in its own memory: reading it need not keep its program from the processor
 * (an IREE program ran 1.08 x as long as under its own capture tool, 1.00 x without). */
static void set_urgent(struct run *r, bool is_urgent)
{
    if (is_urgent != r->is_urgent)
        setpriority(PRIO_PROCESS, 0, is_urgent ? URGENT_PRIORITY : r->own_priority);
    r->is_urgent = is_urgent;
}

static void collect(struct run *r)
{
    struct error err = {0};
    uint64_t now = clock_raw_ns();
    if (!r->has_tried_to_watch && now - r->start_ns >= WATCH_AFTER_NS) {
        watch_folder(r);
        collector_scan_folder(r->collector); /* what came before the watch */
    }
    read_folder_events(r);
    if (r->inotify_fd < 0 && (!r->has_tried_to_watch || now >= r->next_rescan_ns)) {
        collector_scan_folder(r->collector);
        r->next_rescan_ns = now + RESCAN_NS;
    }
    if (!r->has_exited)
        collector_root_alive(r->collector, r->alive_ns);
    if (r->options->argv && !r->has_exited)
        strangers_look(&r->strangers, now);
    uint64_t taken = collector_poll(r->collector, &err), sent = r->tracy ? tracy_live_poll(r->tracy, now) : 0;
    if (taken || sent)
        set_urgent(r, taken != 0);
    taken += sent;
    if (r->gpu)
        taken += gpu_metrics_poll(r->gpu, r->writer, root_process(r));
    if (err.code && !r->result->trace_error.code) {
        r->result->trace_error = err;
        char text[600];
        snprintf(text, sizeof text, "%s; the program goes on, further zones are counted as lost",
                 err.message);
        notice(r, text);
    }
    r->idle_ms = taken ? BUSY_MS : (r->idle_ms * 2 < IDLE_MS ? r->idle_ms * 2 : IDLE_MS);
    if (r->options->progress && now >= r->next_progress_ns) {
        struct launch_progress p = {now - r->start_ns, trace_writer_size_bytes(r->writer),
                                    *collector_get_stats(r->collector)};
        r->options->progress(r->options->context, &p);
        r->next_progress_ns = now + PROGRESS_NS;
    }
}

/* Not even the end of the trace could be written: it never got its name. */
static bool has_partial(const char *output)
{
    char *partial;
    if (asprintf(&partial, "%s.partial", output) < 0)
        return false;
    bool is_there = access(partial, F_OK) == 0;
    free(partial);
    return is_there;
}

static void stop_recording(struct run *r)
{
    struct error err = {0};
    struct stat st;
    if (!r->collector)
        return;
    read_folder_events(r);
    if (r->tracy)
        tracy_live_stop(r->tracy);
    end_gpu_metrics(r);
    collector_finish(r->collector);
    r->result->stats = *collector_get_stats(r->collector);
    r->result->strangers = r->strangers.counts;
    session_text(r, r->result->session);
    if (r->tracy)
        r->result->stats.threads += tracy_live_threads(r->tracy);
    r->result->elapsed_ns = clock_raw_ns() - r->start_ns;
    collector_take_sources(r->collector); /* before that: what is imported may name anybody's files */
    if (r->options->before_finish)
        r->options->before_finish(r->options->finish_context, r->writer);
    int status = trace_writer_finish(r->writer, &err);
    r->result->size_bytes = stat(r->options->output, &st) == 0 ? (uint64_t)st.st_size : 0;
    bool is_cut_short = err.code == ENOSPC || err.code == EDQUOT || err.code == EFBIG;
    r->result->has_trace = status == 0 || (is_cut_short && !has_partial(r->options->output));
    if (status && !r->result->trace_error.code)
        r->result->trace_error = err;
    collector_free(r->collector);
    r->collector = NULL;
    r->writer = NULL;
    if (status == 0 && r->folder.ledger)
        __atomic_store_n(&r->folder.ledger->ledger_state, SESSION_LEDGER_CLOSED, __ATOMIC_RELEASE);
    if (!r->options->keep_session)
        session_folder_remove(r->folder.path, NULL);
    session_folder_close(&r->folder);
}

static bool is_over(const struct run *r)
{
    if (!r->has_exited)
        return false;
    if (!r->collector || !r->options->wait_all)
        return true;
    return collector_is_idle(r->collector) && (!r->tracy || tracy_live_is_idle(r->tracy));
}

/* Without a command: has somebody asked us to stop, or has the process that we are there for ended? */
static bool is_asked_to_stop(struct run *r, const struct pollfd *stop, const struct pollfd *watched)
{
    const struct launch_options *o = r->options;
    char byte;
    if (o->argv)
        return false;
    if (watched->revents)
        return true;
    if (stop->revents) {
        if (!o->watched_pid || read(o->stop_fd, &byte, 1) == 1)
            return true;
        /* By a program that closes all descriptors: its end, or a signal, is left. */
        r->is_stop_closed = true;
    }
    return o->watched_pid && r->watched_fd < 0 && kill((pid_t)o->watched_pid, 0) != 0 && errno == ESRCH;
}

static void note_stranger(void *context, int64_t pid, bool is_other_user)
{
    const struct run *r = context;
    if (r->collector)
        collector_note_unrecorded(r->collector, pid,
                                  is_other_user ? "ran as another user" : "ran under another root");
}

/* Waits for something to do. A wake-up for each packet of a Tracy client costs its program more than one a
 * millisecond. */
static int wait_for_work(const struct run *r, struct pollfd *fds, nfds_t count, int timeout_ms)
{
    int ready = poll(fds, count, timeout_ms);
    if (ready == 1 && r->collector && fds[count - 1].revents)
        ready += poll(fds, count - 1, GATHER_MS);
    return ready;
}

static void loop(struct run *r)
{
    uint64_t deadline = r->options->duration_ns ? r->start_ns + r->options->duration_ns : 0;
    while (!is_over(r)) {
        struct pollfd fds[] = {{.fd = r->signal_fd, .events = POLLIN},
                               {.fd = r->is_stop_closed ? -1 : r->options->stop_fd, .events = POLLIN},
                               {.fd = r->watched_fd, .events = POLLIN},
                               {.fd = r->collector ? r->inotify_fd : -1, .events = POLLIN},
                               {.fd = r->tracy ? tracy_live_fd(r->tracy) : -1, .events = POLLIN}};
        int timeout = r->collector ? r->idle_ms : r->tracy ? LET_GO_MS : -1;
        if (wait_for_work(r, fds, COUNT_OF(fds), timeout) < 0 && errno != EINTR)
            break;
        read_signals(r);
        r->has_exited |= is_asked_to_stop(r, &fds[1], &fds[2]);
        if (r->collector)
            collect(r);
        else if (r->tracy) /* their programs would wait for somebody when they end */
            tracy_live_poll(r->tracy, clock_raw_ns());
        if (r->collector && deadline && clock_raw_ns() >= deadline)
            stop_recording(r);
    }
}

static void set_up_collection(struct run *r, struct error *err)
{
    int status = make_session(r, err);
    if (!status)
        status = collector_create(&r->collector, &r->folder, r->writer, 0, err);
    if (status) {
        char text[600];
        snprintf(text, sizeof text, "%s; running the program without recording", err->message);
        if (r->options->argv)
            notice(r, text);
        r->collector = NULL;
        return;
    }
    const char *no_source = getenv("OPSCOPE_NO_SOURCE");
    if (r->options->no_source || (no_source && *no_source && strcmp(no_source, "0") != 0))
        session_folder_leave_sources_out(&r->folder);
    snprintf(r->result->session_path, sizeof r->result->session_path, "%s", r->folder.path);
    if (r->options->wait_all)
        watch_folder(r);
    if (r->options->records_tracy) {
        char session[SESSION_TEXT_BYTES];
        session_text(r, session);
        r->tracy = tracy_live_new(&(struct tracy_live_options){.session = session,
                                                               .collector = r->collector,
                                                               .writer = r->writer,
                                                               .dialect = r->options->tracy_dialect,
                                                               .min_duration_ns = r->options->min_duration_ns,
                                                               .notice = r->options->notice,
                                                               .listener = r->options->listener,
                                                               .capture_tool = r->options->capture_tool,
                                                               .capture_output = r->options->capture_output,
                                                               .context = r->options->context});
    }
}

/* The command, or whoever waits for the session. */
static int begin(struct run *r, const struct error *session_error, struct error *err)
{
    const struct launch_options *o = r->options;
    char variable[sizeof r->folder.path + 64];
    if (o->argv) {
        r->result->exec_error = start_command(r);
        r->result->was_started = r->result->exec_error == 0;
        return 0;
    }
    if (!r->collector) {
        *err = *session_error;
        return err->code;
    }
#ifdef SYS_pidfd_open
    if (o->watched_pid)
        r->watched_fd = (int)syscall(SYS_pidfd_open, (pid_t)o->watched_pid, 0);
#endif
    session_folder_variable(&r->folder, variable, sizeof variable);
    o->ready(o->context, variable);
    r->child = (pid_t)o->watched_pid;
    r->result->was_started = true;
    return 0;
}

/* A disk that is full, or a limit of the size of files, is no reason not to run a program. */
static bool can_do_without(struct run *r, int status, const struct error *err)
{
    bool has_no_room = status == -EFBIG || status == -ENOSPC || status == -EDQUOT;
    char text[600];
    if (!has_no_room || !r->options->argv || r->options->opened)
        return false;
    snprintf(text, sizeof text, "%s; running the program without recording", err->message);
    notice(r, text);
    return true;
}

int launch_run(const struct launch_options *options, struct launch_result *result, struct error *err)
{
    struct run r = {.options = options,
                    .is_stop_closed = options->argv != NULL,
                    .result = result,
                    .signal_fd = -1,
                    .inotify_fd = -1,
                    .watched_fd = -1,
                    .idle_ms = BUSY_MS,
                    .folder = {.fd = -1, .control_fd = -1}};
    *result = (struct launch_result){0};
    struct trace_writer_options writer_options = {
        .max_size_bytes = options->max_size_bytes, .program = options->program, .command = options->command};
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    writer_options.host = host;
    for (size_t i = 0; i < COUNT_OF(own_signals); i++)
        r.was_ignored[i] =
            signal(own_signals[i].number, own_signals[i].is_ignored ? SIG_IGN : SIG_DFL) == SIG_IGN;
    int status = trace_writer_open(&r.writer, options->output, &writer_options, err);
    if (status && !can_do_without(&r, status, err))
        return status;
    if (r.writer && options->opened && (status = options->opened(options->opened_context, err)) != 0) {
        trace_writer_discard(r.writer);
        return status;
    }
    if (r.writer && options->reads_gpu_metrics)
        r.gpu = gpu_metrics_start(options->gpu_interval_ns, options->argv ? options->argv[0] : NULL);
    struct error session_error = {0};
    if (r.writer)
        set_up_collection(&r, &session_error);
    if (open_signals(&r) != 0)
        notice(&r, "cannot watch signals: they will not be passed on");
    r.start_ns = clock_raw_ns();
    if (r.gpu)
        gpu_metrics_begin(r.gpu);
    r.next_progress_ns = r.start_ns + 2 * PROGRESS_NS;
    status = begin(&r, &session_error, err);
    if (result->was_started) {
        if (r.collector && r.child)
            collector_set_root(r.collector, r.child, options->command, r.start_ns);
        r.own_priority = getpriority(PRIO_PROCESS, 0);
        r.strangers = (struct strangers){
            .folder = r.folder.path, .root = r.child, .has_recorder = note_stranger, .context = &r};
        set_urgent(&r, true); /* after the start: the command must not inherit it */
        loop(&r);
        if (r.tracy)
            tracy_live_leave(r.tracy, r.child);
        stop_recording(&r);
    } else if (r.collector) {
        collector_free(r.collector);
        session_folder_remove(r.folder.path, NULL);
        session_folder_close(&r.folder);
    }
    strangers_free(&r.strangers);
    tracy_live_free(r.tracy);
    gpu_metrics_free(r.gpu);
    if (r.writer) { /* nothing was recorded: leave nothing behind */
        trace_writer_discard(r.writer);
        r.writer = NULL;
    }
    if (r.signal_fd >= 0)
        close(r.signal_fd);
    if (r.inotify_fd >= 0)
        close(r.inotify_fd);
    if (r.watched_fd >= 0)
        close(r.watched_fd);
    sigprocmask(SIG_SETMASK, &r.original_mask, NULL);
    return status;
}
