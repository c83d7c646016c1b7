/* SPDX-License-Identifier: Apache-2.0 */
/* opscope pause, resume and status: whether a session that is running records. The work is the collector's
 * (collect/pause.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command/command.h"
#include "cli/command/session_table.h"
#include "present/document.h"
#include "present/format.h"
#include "session/folder.h"

struct pause_options {
    struct output_options out;
};

/* --- which session --- */

struct search {
    const char *path;   /* NULL: any */
    uint64_t collector; /* 0: any */
    unsigned count;
    char found[3072];
    struct table *table; /* NULL: do not list them */
};

static void look_at(void *context, const char *path)
{
    struct search *search = context;
    struct session_folder folder;
    bool is_alive = false;
    if ((search->path && strcmp(search->path, path) != 0) ||
        session_folder_open(&folder, path, &is_alive, NULL) != 0)
        return;
    if (is_alive && (!search->collector || folder.control.collector_pid == search->collector)) {
        search->count++;
        snprintf(search->found, sizeof search->found, "%s", path);
        if (search->table)
            session_table_add(search->table, path, folder.control.is_paused ? "paused" : "recording",
                              &folder);
    }
    session_folder_close(&folder);
}

/* The session that a process was started in: its environment says so. */
static bool session_of_process(const char *pid, char *out, size_t size)
{
    char path[64], *line = NULL;
    size_t capacity = 0;
    bool is_found = false;
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    FILE *file = fopen(path, "re");
    while (file && !is_found && getdelim(&line, &capacity, '\0', file) > 0) {
        const size_t prefix = strlen(SESSION_VARIABLE "=");
        char *colon = strrchr(line, ':');
        is_found = strncmp(line, SESSION_VARIABLE "=", prefix) == 0 && colon && colon > line + prefix;
        if (is_found)
            snprintf(out, size, "%.*s", (int)(colon - line - (long)prefix), line + prefix);
    }
    free(line);
    if (file)
        fclose(file);
    return is_found;
}

/* What the argument names: a session's folder, opscope itself, or a process that is recorded. */
static void search_for(struct search *search, const char *name, char *path, size_t size)
{
    bool is_pid = name && *name && strspn(name, "0123456789") == strlen(name);
    if (name && !is_pid) {
        size_t length = strlen(name);
        while (length > 1 && name[length - 1] == '/')
            length--;
        snprintf(path, size, "%.*s", (int)length, name);
        search->path = path;
        look_at(search, path);
        return;
    }
    search->collector = is_pid ? strtoull(name, NULL, 10) : 0;
    session_folder_each(look_at, search);
    if (is_pid && !search->count && session_of_process(name, path, size)) {
        search->collector = 0;
        search->path = path;
        look_at(search, path);
    }
}

static int change(const struct command *command, int argc, char **argv, bool is_paused)
{
    struct command_line line;
    struct search search = {0};
    struct session_folder folder;
    struct error err = {0};
    char path[3072];
    bool is_alive = false;
    uint32_t unreachable = 0;
    int status = command_parse(command, argc, argv, NULL, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    const char *name = line.count ? line.values[0] : NULL;
    search_for(&search, name, path, sizeof path);
    if (search.count != 1) {
        if (name)
            error_set(&err, 1, "%s: no session is running there; opscope status lists those that are", name);
        else if (search.count)
            error_set(&err, 1, "%u sessions are running: name one (opscope status lists them)", search.count);
        else
            error_set(&err, 1, "no session is running");
        return command_fail(command, &err);
    }
    if (session_folder_open(&folder, search.found, &is_alive, &err) != 0)
        return command_fail(command, &err);
    if (!is_alive)
        error_set(&err, 1, "%s: its collector is gone (opscope recover finishes its trace)", search.found);
    else
        session_folder_pause(&folder, is_paused, &unreachable, &err);
    session_folder_close(&folder);
    if (err.code)
        return command_fail(command, &err);
    struct number_text number;
    if (unreachable)
        command_say(
            "opscope %s: %s could not be reached and %s on: /proc/PID/mem cannot be written (another user, a "
            "container, or kernel.yama.ptrace_scope)",
            command->name, format_things(&number, unreachable, "process"), unreachable == 1 ? "goes" : "go");
    return unreachable ? EXIT_NEGATIVE : EXIT_OK;
}

static int pause_run(const struct command *command, int argc, char **argv)
{
    return change(command, argc, argv, true);
}

static int resume_run(const struct command *command, int argc, char **argv)
{
    return change(command, argc, argv, false);
}

static int status_run(const struct command *command, int argc, char **argv)
{
    struct pause_options o = {0};
    struct command_line line;
    struct output output;
    struct report report;
    struct table table;
    struct error err = {0};
    char path[3072];
    int status = command_parse(command, argc, argv, &o, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    if (output_open(&output, &o.out, &err) != 0)
        return command_fail(command, &err);
    session_table_init(&table);
    struct search search = {.table = &table};
    search_for(&search, line.count ? line.values[0] : NULL, path, sizeof path);
    report_begin(&report, &output, "status");
    report_table(&report, "rows", &table);
    if (!table.row_count)
        report_note(&report, TABLE_NORMAL, "no session is running%s", line.count ? " there" : "");
    bool is_empty = !table.row_count;
    table_free(&table);
    if (report_close(&report, 0, NULL, &err) != 0)
        return command_fail(command, &err);
    return is_empty ? EXIT_NEGATIVE : EXIT_OK;
}

static const char *const usage[] = {"[SESSION|PID]", NULL};
static const char *const status_usage[] = {"[SESSION|PID] [options]", NULL};
static const struct command_argument arguments[] = {
    {.name = "SESSION|PID",
     .kind = ARGUMENT_FOLDER,
     .is_optional = true,
     .help =
         "The folder of a session, the process of opscope run, or one that it records. Default: the only session "
         "of this user that is running."},
    {.name = NULL},
};
static const struct command_exit exits[] = {
    {0, "done, in all processes of the session"},
    {1, "some processes could not be reached; they go on as they were"},
    {2, "usage error, or no such session"},
    {0, NULL},
};
static const struct command_exit status_exits[] = {
    {0, "a session is running"},
    {1, "none is"},
    {2, "usage error"},
    {0, NULL},
};
static const struct command_example pause_examples[] = {
    {"opscope pause", "the run that is going on in another terminal"},
    {"opscope pause 4711", "the session that records process 4711"},
    {NULL, NULL},
};
static const struct command_example resume_examples[] = {
    {"opscope run --paused ./server & sleep 60; opscope resume; sleep 5; opscope pause",
     "five seconds of a server that is warm"},
    {NULL, NULL},
};
static const struct command_example status_examples[] = {
    {"opscope status", "which sessions are running, and whether they record"},
    {NULL, NULL},
};
static const char *const pause_see_also[] = {"resume", "status", "run", NULL};
static const char *const resume_see_also[] = {"pause", "status", "run", NULL};
static const char *const status_see_also[] = {"pause", "resume", "recover", NULL};

const struct command command_pause = {
    .name = "pause",
    .group = COMMAND_GROUP_RECORD,
    .summary = "Stop recording for a while",
    .usage = usage,
    .description =
        "All processes of the session stop recording, also those that are started later; opscope resume lets them go "
        "on. Meanwhile a zone costs what it costs without opscope: one load and one branch. Python's hooks are taken "
        "out. Zones that are open end when they end; one that is begun while paused is not recorded, but what is "
        "recorded inside it after opscope resume is. What devices report is kept.\n\n"
        "The trace shows the time as paused, not as lost. A program can do the same itself: opscope_pause() and "
        "opscope_resume(), in Python opscope.pause() and opscope.resume(). Programs built with Tracy are not "
        "paused.",
    .arguments = arguments,
    .exits = exits,
    .examples = pause_examples,
    .see_also = pause_see_also,
    .run = pause_run,
};

const struct command command_resume = {
    .name = "resume",
    .group = COMMAND_GROUP_RECORD,
    .summary = "Go on recording after opscope pause, or run --paused",
    .usage = usage,
    .description = "All processes of the session record from now on: see opscope pause.",
    .arguments = arguments,
    .exits = exits,
    .examples = resume_examples,
    .see_also = resume_see_also,
    .run = resume_run,
};

const struct command command_status = {
    .name = "status",
    .group = COMMAND_GROUP_RECORD,
    .summary = "List the sessions that are running, and whether they record",
    .usage = status_usage,
    .description = "A session is paused, or it is recording.",
    .options = {{&output_option_table, OPTION_FIELD(struct pause_options, out)}},
    .arguments = arguments,
    .exits = status_exits,
    .examples = status_examples,
    .see_also = status_see_also,
    .run = status_run,
};
