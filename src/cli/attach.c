/* SPDX-License-Identifier: Apache-2.0 */
/* opscope attach: records a program that is already running. The work is in collect/tracy/attach.c. */
#include <stdio.h>

#include "cli/command/command.h"
#include "cli/run/output.h"
#include "cli/run/reported.h"
#include "collect/tracy/attach.h"
#include "present/format.h"
#include "text/json/writer.h"

struct attach_options {
    const char *output, *tracy, *protocol, *device_logs;
    uint64_t duration_ns, max_size_bytes, min_duration_ns;
    bool is_json, is_quiet;
};

#define FIELD(name) OPTION_FIELD(struct attach_options, name)
static const struct command_option options_table[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_TEXT,
     .argument = "FILE",
     .offset = FIELD(output),
     .is_file = true,
     .help = "Where the trace goes (required)."},
    {.name = "tracy",
     .type = OPTION_TEXT,
     .argument = "HOST[:PORT]|PID",
     .offset = FIELD(tracy),
     .help =
         "A program built with Tracy: its process, or the machine and port where it listens (8086 unless given)."},
    {.name = "tracy-protocol",
     .type = OPTION_TEXT,
     .argument = "N",
     .offset = FIELD(protocol),
     .help =
         "Its protocol, 63 to 82, where it is not found by itself; tt66: 66 with the 16-bit GPU contexts of a fork."},
    OPTION_DEVICE_LOGS(FIELD(device_logs)),
    {.name = "duration",
     .type = OPTION_DURATION,
     .argument = "TIME",
     .offset = FIELD(duration_ns),
     .help = "Stop after TIME; the program goes on."},
    OPTION_MAX_SIZE(FIELD(max_size_bytes)),
    OPTION_MIN_DURATION(FIELD(min_duration_ns)),
    OPTION_RESULT_JSON(FIELD(is_json)),
    OPTION_NO_SUMMARY(FIELD(is_quiet)),
    {.name = NULL},
};
static const struct option_table attach_table = {"Options", options_table};

static void print_json(const char *output, const struct tracy_attach_result *r,
                       const struct import_counts *ops)
{
    const struct tracy_trace_stats *s = &r->stats.sum;
    struct json j = {.stream = stdout};
    json_object(&j, JSON_INLINE);
    json_member_text(&j, "trace", output);
    json_member_bool(&j, "whole", !r->stats.cut && !r->stats.failed);
    json_member_unsigned(&j, "zones", s->zones);
    json_member_unsigned(&j, "other_zones", s->gpu_zones + s->lock_zones + s->other_zones);
    json_member_unsigned(&j, "open_zones", s->open_zones);
    json_member_unsigned(&j, "other_records", s->records);
    json_member_unsigned(&j, "lost_zones", s->lost_zones);
    json_member_unsigned(&j, "lost_records", s->lost_records);
    json_member_unsigned(&j, "not_shown", s->unused);
    json_member_unsigned(&j, "unnamed", s->unnamed);
    json_member_unsigned(&j, "threads", s->threads);
    json_member_unsigned(&j, "ops", ops->ops);
    json_member_unsigned(&j, "device_runs", ops->runs);
    json_member_unsigned(&j, "size_bytes", r->size_bytes);
    json_member_text(&j, "error", r->trace_error.code ? r->trace_error.message : NULL);
    json_end(&j);
    json_finish(&j);
}

static void print_summary(const char *output, const struct tracy_attach_result *r)
{
    const struct tracy_trace_stats *s = &r->stats.sum;
    struct number_text zones, threads, size;
    command_say("opscope: wrote %s: %s, %s, %s", output,
                format_things(&zones, s->zones + s->gpu_zones + s->lock_zones + s->other_zones, "zone"),
                format_things(&threads, s->threads, "thread"), format_bytes(&size, r->size_bytes));
}

static int run(const struct command *command, int argc, char **argv)
{
    struct attach_options o = {0};
    struct command_line line;
    struct tracy_dialect dialect;
    struct tracy_attach_result result;
    struct error err = {0};
    struct run_reported reported;
    int status = command_parse(command, argc, argv, &o, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    if (!o.tracy)
        return command_usage_error(command, "no program given: --tracy HOST[:PORT] or --tracy PID");
    if (!o.output)
        return command_usage_error(command, "no trace given: -o FILE.opscope");
    if (o.protocol && !tracy_dialect_parse(o.protocol, &dialect))
        return command_usage_error(command, "--tracy-protocol: '%s' is not known: %u to %u are", o.protocol,
                                   TRACY_OLDEST, TRACY_NEWEST);
    struct earlier_run earlier;
    if (run_output_check(o.output, &err) != 0 || run_output_keep_earlier(o.output, &earlier, &err) != 0)
        return command_fail(command, &err);
    run_reported_begin(&reported, o.device_logs);
    struct tracy_attach_options options = {
        .target = o.tracy,
        .output = o.output,
        .program = "opscope " OPSCOPE_VERSION,
        .dialect = o.protocol ? &dialect : NULL,
        .duration_ns = o.duration_ns,
        .max_size_bytes = o.max_size_bytes,
        .min_duration_ns = o.min_duration_ns,
        .notice = command_say_notice,
        .listener = reported.reported ? &reported.listener : NULL,
        .before_finish = run_reported_add,
        .finish_context = &reported,
    };
    if (tracy_attach(&options, &result, &err) != 0) {
        run_reported_end(&reported);
        return command_fail(command, &err);
    }
    if (o.is_json)
        print_json(o.output, &result, &reported.counts);
    if (!o.is_quiet)
        print_summary(o.output, &result);
    run_reported_show(&reported, "opscope", o.output, o.is_quiet);
    run_reported_end(&reported);
    if (result.trace_error.code)
        command_say("opscope: %s", result.trace_error.message);
    return result.trace_error.code ? EXIT_USAGE : EXIT_OK;
}

static const char *const usage[] = {"--tracy HOST[:PORT]|PID -o FILE [options]", NULL};
static const struct command_exit exits[] = {
    {0, "the trace was written"},
    {2, "usage error, nobody to connect to, or the trace could not be written"},
    {0, NULL},
};
static const struct command_example examples[] = {
    {"opscope attach --tracy $(pidof server) -o server.opscope", "until the server ends, or Ctrl-C"},
    {"opscope attach --tracy board.local:8086 --duration 10s -o board.opscope",
     "ten seconds of another machine"},
    {NULL, NULL},
};
static const char *const see_also[] = {"run", "import", "info", NULL};

const struct command command_attach = {
    .name = "attach",
    .group = COMMAND_GROUP_RECORD,
    .summary = "Record a program that is already running",
    .usage = usage,
    .description =
        "Connects to a program that was built with Tracy, as Tracy's own capture tool would, and records it into FILE "
        "until it ends, TIME is over, or SIGINT or SIGTERM comes. Nothing of Tracy is needed, and nothing is rebuilt. "
        "The program ends as soon as everything was read.\n\n"
        "A program that was not built to record on demand keeps everything since its start in its memory until "
        "somebody connects, and takes one session only: what is not recorded then never is. opscope run finds and "
        "records such programs by itself. What is not read yet stays in the program's memory, which grows where the "
        "network is slower than the program: a line says so when it comes 5 s late.\n\n"
        "Times of a program on this machine are those of all other traces. Those of another machine are placed by its "
        "wall clock, to about a second.",
    .options = {{&attach_table, 0}},
    .exits = exits,
    .examples = examples,
    .see_also = see_also,
    .run = run,
};
