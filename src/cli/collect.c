/* SPDX-License-Identifier: Apache-2.0 */
/* opscope collect: a session without a command. Programs join it by the environment variable that it prints, as
 * opscope.record() of the Python package does for the process that it is called in. The work is in collect/launch.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command/command.h"
#include "cli/run/output.h"
#include "collect/launch.h"
#include "present/format.h"
#include "present/loss_text.h"
#include "text/json/writer.h"

struct collect_options {
    const char *output;
    uint64_t pid;
    uint64_t buffer_bytes;
    uint64_t max_size_bytes;
    uint64_t min_duration_ns;
    unsigned on_full;
    bool is_json;
    bool is_quiet;
    bool is_detached;
    bool no_source;
};

static const char *const on_full_choices[] = {"drop", "wait", NULL};

#define FIELD(name) OPTION_FIELD(struct collect_options, name)
static const struct command_option options_table[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_TEXT,
     .argument = "FILE",
     .offset = FIELD(output),
     .is_file = true,
     .help = "Where the trace goes (required)."},
    {.name = "pid",
     .type = OPTION_NUMBER,
     .argument = "PID",
     .offset = FIELD(pid),
     .min = 1,
     .max = INT32_MAX,
     .help = "Stop when this process has ended, too, however it ended."},
    {.name = "buffer-size",
     .type = OPTION_SIZE,
     .argument = "SIZE",
     .offset = FIELD(buffer_bytes),
     .help = "Most memory that a recorded process may use for records not yet collected (default 32M)."},
    {.name = "on-full",
     .type = OPTION_CHOICE,
     .argument = "WHAT",
     .choices = on_full_choices,
     .offset = FIELD(on_full),
     .help = "When that memory is full: drop zones, or let the program wait, as for opscope run."},
    OPTION_RECORD_NO_SOURCE(FIELD(no_source)),
    OPTION_MAX_SIZE(FIELD(max_size_bytes)),
    OPTION_MIN_DURATION(FIELD(min_duration_ns)),
    {.name = "detach",
     .type = OPTION_FLAG,
     .offset = FIELD(is_detached),
     .help =
         "Go on in the background, in a session and process group of its own. Standard output stays open until the "
         "trace is written."},
    OPTION_RESULT_JSON(FIELD(is_json)),
    OPTION_NO_SUMMARY(FIELD(is_quiet)),
    {.name = NULL},
};
static const struct option_table collect_table = {"Options", options_table};

static void print_session(void *unused, const char *session)
{
    (void)unused;
    printf(SESSION_VARIABLE "=%s\nOPSCOPE_COLLECTOR=%ld\n", session, (long)getpid());
    fflush(stdout);
}

static void print_json(const char *output, const struct launch_result *r)
{
    const struct collector_stats *s = &r->stats;
    struct json j = {.stream = stdout};
    json_object(&j, JSON_INLINE);
    json_member_text(&j, "trace", r->has_trace ? output : NULL);
    json_member_unsigned(&j, "zones", s->zones);
    json_member_unsigned(&j, "open_zones", s->open_zones);
    json_member_unsigned(&j, "other_records", s->other);
    json_member_unsigned(&j, "ops", s->ops);
    json_member_unsigned(&j, "lost_zones", s->lost_zones);
    json_member_unsigned(&j, "lost_records", s->lost_records);
    json_member_unsigned(&j, "short_zones", s->short_zones);
    json_member_unsigned(&j, "processes", s->processes);
    json_member_unsigned(&j, "threads", s->threads);
    json_member_unsigned(&j, "unrecorded_processes", s->refused);
    json_member_unsigned(&j, "elapsed_ns", r->elapsed_ns);
    json_member_unsigned(&j, "size_bytes", r->size_bytes);
    json_member_text(&j, "error", r->trace_error.code ? r->trace_error.message : NULL);
    json_end(&j);
    json_finish(&j);
}

static void print_summary(const char *output, const struct launch_result *r)
{
    const struct collector_stats *s = &r->stats;
    struct number_text zones, processes, size;
    struct loss_text lost;
    struct loss_sum sum = {.zones = s->lost_zones, .records = s->lost_records};
    if (sum.zones || sum.records)
        command_say("opscope: lost %s; `opscope info` says where and why", loss_sum_text(&lost, &sum));
    command_say("opscope: wrote %s: %s, %s, %s", output, format_things(&zones, s->zones, "zone"),
                format_things(&processes, s->processes, "process"), format_bytes(&size, r->size_bytes));
}

/* The caller's child ends at once; who goes on is nobody's child, so that no wait() of the caller meets it. */
static int detach(void)
{
    pid_t child = fork();
    if (child > 0)
        _exit(0);
    return child == 0 && setsid() >= 0 ? 0 : -errno;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct collect_options o = {.buffer_bytes = SESSION_DEFAULT_BUFFER};
    struct command_line line;
    struct launch_result result;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &o, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    if (!o.output)
        return command_usage_error(command, "no trace given: -o FILE.opscope");
    struct earlier_run earlier;
    if (run_output_check(o.output, &err) != 0 || run_output_keep_earlier(o.output, &earlier, &err) != 0)
        return command_fail(command, &err);
    if (o.is_detached && detach() != 0)
        return command_fail(command, (error_set_errno(&err, errno, "cannot go on in the background"), &err));
    struct launch_options options = {
        .command = "opscope collect",
        .output = o.output,
        .program = "opscope " OPSCOPE_VERSION,
        .buffer_bytes = o.buffer_bytes,
        .max_size_bytes = o.max_size_bytes,
        .min_duration_ns = o.min_duration_ns,
        .on_full = o.on_full,
        .no_source = o.no_source,
        .notice = command_say_notice,
        .stop_fd = STDIN_FILENO,
        .watched_pid = (int64_t)o.pid,
        .ready = print_session,
    };
    if (launch_run(&options, &result, &err) != 0)
        return command_fail(command, &err);
    if (o.is_json)
        print_json(o.output, &result);
    if (!o.is_quiet && result.has_trace)
        print_summary(o.output, &result);
    if (result.trace_error.code && !o.is_json)
        command_say("opscope: %s", result.trace_error.message);
    return result.has_trace && !result.trace_error.code ? EXIT_OK : EXIT_USAGE;
}

static const char *const usage[] = {"-o FILE [options]", NULL};
static const struct command_exit exits[] = {
    {0, "the trace was written"},
    {2, "usage error, no session could be made, or the trace could not be written"},
    {0, NULL},
};
static const struct command_example examples[] = {
    {"opscope collect -o t.opscope --pid $$", "prints OPSCOPE_SESSION=...; collects until this shell ends"},
    {NULL, NULL},
};
static const char *const see_also[] = {"run", "recover", "info", NULL};

const struct command command_collect = {
    .name = "collect",
    .group = COMMAND_GROUP_RECORD,
    .summary = "Record programs that join by themselves",
    .usage = usage,
    .description =
        "Makes a session and prints OPSCOPE_SESSION=VALUE as its first line, then OPSCOPE_COLLECTOR=PID. Programs "
        "that have that variable in their environment are recorded into FILE, with all their descendants, until "
        "standard input has a line or (without --pid) ends, process PID has ended, or SIGINT or SIGTERM comes.\n\n"
        "opscope run does all this for one command; this command is for programs that are running already or are "
        "started by something else. opscope.record() of the Python package uses it.\n\n"
        "While it grows, the trace is called FILE.partial, and can be read.",
    .options = {{&collect_table, 0}},
    .exits = exits,
    .examples = examples,
    .see_also = see_also,
    .run = run,
};
