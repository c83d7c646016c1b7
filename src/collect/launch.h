/* SPDX-License-Identifier: Apache-2.0 */
/* `opscope run`: starts a command inside a new session, collects until it ends, finishes the trace. One process, no
 * daemon: the whole of it adds about 2 ms to a short command.
 *
 * `opscope collect`: the same without a command, for programs that join the session by themselves. */
#ifndef OPSCOPE_COLLECT_LAUNCH_H
#define OPSCOPE_COLLECT_LAUNCH_H

#include "base/error.h"
#include "collect/collector.h"
#include "collect/process/strangers.h"

struct tracy_dialect;
struct trace_listener;

struct launch_progress {
    uint64_t elapsed_ns;
    uint64_t size_bytes;
    struct collector_stats stats;
};

struct launch_options {
    char *const *argv;   /* what to run, searched for on the PATH; NULL: nothing, see below */
    const char *command; /* the same as one text, for the trace */
    const char *output;  /* path of the trace */
    const char *program; /* "opscope 0.1.0" */
    uint64_t buffer_bytes;
    uint64_t max_size_bytes;
    uint64_t min_duration_ns; /* leave out zones that are shorter */
    uint64_t duration_ns;     /* stop recording, not the program, after this; 0 = never */
    uint32_t on_full;         /* enum session_on_full */
    bool is_paused;           /* record nothing until somebody asks for it */
    struct session_capture capture;
    bool keep_session;
    bool no_source; /* no source lines in the trace */
    bool wait_all;
    bool records_tracy;                        /* also programs built with Tracy, as they are */
    const struct tracy_dialect *tracy_dialect; /* NULL: found by trying */
    const struct trace_listener *listener;     /* of such programs; NULL: none */
    bool reads_gpu_metrics;                    /* collect/gpu/metrics.h */
    uint64_t gpu_interval_ns;                  /* 0: the usual */
    const char *capture_tool, *capture_output; /* Tracy's own, as in struct tracy_hub_options; NULL: none */
    void (*progress)(void *context, const struct launch_progress *progress); /* may be NULL */
    void (*notice)(void *context, const char *text); /* a line for the user; may be NULL */
    /* All that was recorded is in the writer, and nothing is finished yet: the place to add what else belongs into the
     * trace; may be NULL. */
    void (*before_finish)(void *context, struct trace_writer *writer);
    void *finish_context;
    /* The trace is there (OUTPUT.partial) and nothing runs yet: the place to start whatever follows it. An error ends
     * the run before the command is started; may be NULL. */
    int (*opened)(void *context, struct error *err);
    void *opened_context;
    void *context;
    /* Without a command: collect until stop_fd has something to read or is closed, SIGINT or SIGTERM comes, or
     * watched_pid (0: none) has ended. ready() gets the value of OPSCOPE_SESSION for those who want to be recorded. */
    int stop_fd;
    int64_t watched_pid;
    void (*ready)(void *context, const char *session);
};

struct launch_result {
    bool was_started;
    int exec_error;           /* errno when it could not be started */
    int wait_status;          /* as from waitpid */
    bool is_to_end;           /* SIGTERM or SIGHUP came: nothing is wanted any more */
    bool has_trace;           /* output was written */
    struct error trace_error; /* what went wrong with writing it; code 0 = nothing */
    char session_path[SESSION_PATH_BYTES];
    char gpu_trouble[1200]; /* why counters of GPUs are missing; "" where they are not */
    uint64_t elapsed_ns;
    uint64_t size_bytes;
    struct collector_stats stats;
    struct stranger_counts strangers; /* processes that could not join */
    char session[SESSION_PATH_BYTES + sizeof SESSION_VARIABLE +
                 64]; /* OPSCOPE_SESSION=...: of its processes */
};

/* Fails only when nothing was started: the output cannot be made. A session that cannot be made is a notice, and the
 * command then runs unrecorded; without a command it is an error. */
int launch_run(const struct launch_options *options, struct launch_result *result, struct error *err);

#endif
