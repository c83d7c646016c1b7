/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/recover.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/output_path.h"

#define LOCK_TRIES 2500u /* of 2 ms */

/* A child of a collector that was killed has its lock until it runs its own program: that is waited for. */
static bool stays_locked(const struct session_folder *folder)
{
    pid_t pid = (pid_t)folder->control.collector_pid;
    for (unsigned i = 0; i < LOCK_TRIES; i++) {
        if (flock(folder->control_fd, LOCK_EX | LOCK_NB) == 0)
            return false;
        if (pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH)
            return true;
        usleep(2000);
    }
    return true;
}

/* PATH.partial, or its segments when it is a flight recorder's. */
static bool has_partial(const char *path)
{
    char name[4300];
    snprintf(name, sizeof name, "%s.partial", path);
    if (access(name, F_OK) == 0)
        return true;
    for (int i = 0; i < 1000; i++) { /* numbered parts; the oldest may be gone */
        snprintf(name, sizeof name, "%s.partial.%03d", path, i);
        if (access(name, F_OK) == 0)
            return true;
    }
    return false;
}

static int open_writer(struct trace_writer **writer, const struct session_folder *folder, const char *output,
                       const char *program, struct recover_result *result, struct error *err)
{
    int status = output ? trace_path_check(output, err) : 0;
    if (status)
        return status;
    if (!output && output_path_is_null(folder->output))
        return error_set(err, EINVAL, "%s: its trace was thrown away (-o %s); name another file with -o",
                         folder->path, folder->output);
    /* A later run of the same output has put the unfinished file aside: -o names where. */
    bool is_aside = output && has_partial(output);
    result->had_trace = is_aside || has_partial(folder->output);
    snprintf(result->output, sizeof result->output, "%s", is_aside ? output : folder->output);
    if (result->had_trace)
        return trace_writer_resume(writer, result->output, err);
    /* No growing trace: never write over a finished one. */
    if (output)
        snprintf(result->output, sizeof result->output, "%s", output);
    else if (access(folder->output, F_OK) == 0)
        snprintf(result->output, sizeof result->output, "%s.recovered", folder->output);
    struct trace_writer_options options = {.max_size_bytes = folder->control.max_size_bytes,
                                           .program = program,
                                           .command = folder->command,
                                           .host = ""};
    return trace_writer_open(writer, result->output, &options, err);
}

int recover_session(const char *session, const char *output, bool keep_session, const char *program,
                    struct recover_result *result, struct error *err)
{
    struct session_folder folder;
    struct trace_writer *writer = NULL;
    struct collector *collector = NULL;
    bool is_alive = false;
    *result = (struct recover_result){0};
    int status = session_folder_open(&folder, session, &is_alive, err);
    if (status)
        return status;
    if (is_alive && stays_locked(&folder))
        status = error_set(err, EBUSY, "%s is in use by a running opscope (pid %" PRIu64 ")", folder.path,
                           folder.control.collector_pid);
    if (!status)
        status = open_writer(&writer, &folder, output, program, result, err);
    if (!status)
        status = collector_create(&collector, &folder, writer, COLLECTOR_RECOVER, err);
    if (!status) {
        collector_finish(collector);
        collector_take_sources(collector);
        result->stats = *collector_get_stats(collector);
        result->size_bytes = trace_writer_size_bytes(writer);
        status = trace_writer_finish(writer, err);
        writer = NULL;
    }
    if (!status && output && strcmp(output, result->output) != 0) {
        if (rename(result->output, output) != 0)
            status =
                error_set_errno(err, errno, "cannot move the trace to %s (it is %s)", output, result->output);
        else
            snprintf(result->output, sizeof result->output, "%s", output);
    }
    if (writer)
        trace_writer_abandon(writer);
    collector_free(collector);
    if (!status && !keep_session)
        status = session_folder_remove(folder.path, err);
    session_folder_close(&folder);
    return status;
}
