/* SPDX-License-Identifier: Apache-2.0 */
/* opscope import: a trace out of what another tool recorded. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/count_of.h"
#include "cli/command/command.h"
#include "cli/run/reported.h"
#include "collect/tracy/recorded.h"
#include "import/open.h"
#include "import/timeline_csv.h"
#include "load/estimate.h"
#include "load/profile.h"
#include "ops/timeline_trace.h"
#include "present/format.h"
#include "text/json/writer.h"
#include "trace/writer.h"

struct command_options {
    const char *output, *target, *protocol, *device_logs;
    unsigned device_source;
    bool device_only, is_json;
};

static int write_profile(const struct device_profile *profile, const char *path, const char *output,
                         struct error *err)
{
    struct trace_writer *writer;
    int status = trace_writer_open(&writer, output, &(struct trace_writer_options){.command = path}, err);
    if (status)
        return status;
    status = device_profile_to_trace(profile, path, NULL, writer, err);
    if (status) {
        trace_writer_discard(writer);
        return status;
    }
    return trace_writer_finish(writer, err);
}

/* What a runtime measured: IREE's device profile, or a runtime profile of Torq. */
static int import_profile(const struct command *command, const char *path, const char *output, bool is_iree)
{
    struct device_profile profile;
    struct error err = {0};
    struct number_text dispatches, operations, lost;
    uint64_t runs = 0;
    int status = device_profile_open(&profile, path, &err);
    if (status == 0 && profile.is_iree != is_iree)
        status = error_set(&err, EINVAL, "%s is a profile of %s: opscope import %s %s -o FILE", path,
                           is_iree ? "Torq" : "IREE", is_iree ? "torq" : "iree", path);
    if (status == 0)
        status = write_profile(&profile, path, output, &err);
    if (status == 0) {
        const struct timeline *blocks = &profile.blocks;
        for (size_t i = 0; i < blocks->unit_count; i++)
            runs += blocks->lanes[blocks->units[i].lane].kind == TIMELINE_PROGRAM;
        command_say("opscope import: %s: %s, %s", output, format_things(&dispatches, runs, "device run"),
                    format_things(&operations,
                                  (is_iree ? profile.iree.event_count : blocks->unit_count) - runs,
                                  "other operation"));
        if (profile.damaged)
            command_say("opscope import: %s of the profile not read: damaged, or dropped by the runtime",
                        format_things(&lost, profile.damaged, "record"));
    }
    device_profile_free(&profile);
    return status ? command_fail(command, &err) : EXIT_OK;
}

static int write_timeline(const struct timeline *timeline, const char *source, const char *output,
                          const struct machine *machine, struct error *err)
{
    struct trace_writer *writer;
    char device[100];
    snprintf(device, sizeof device, "%s (estimated)", machine->name);
    int status = trace_writer_open(&writer, output, &(struct trace_writer_options){.command = source}, err);
    if (status)
        return status;
    status = timeline_to_trace(
        timeline, &(struct timeline_trace){.source = source, .device = device, .architecture = machine->name},
        writer, err);
    if (status) {
        trace_writer_discard(writer);
        return status;
    }
    return trace_writer_finish(writer, err);
}

/* A timeline of an estimate, in cycles of the target's clock. */
static int import_timeline(const struct command *command, const char *path,
                           const struct command_options *options)
{
    struct timeline timeline = {0};
    struct timeline_csv_faults faults;
    struct machine_set machines = {0};
    const struct machine *machine;
    struct error err = {0};
    struct number_text units, lanes, rows;
    int status = load_target(&machines, options->target ? options->target : "sl2610", &machine, &err);
    if (status == 0)
        status = timeline_csv_read(&timeline, path, &faults, &err);
    if (status == 0) {
        if (timeline.clock_mhz <= 0)
            timeline.clock_mhz = machine->estimate.clock_mhz;
        status = write_timeline(&timeline, path, options->output, machine, &err);
    }
    if (status == 0) {
        command_say("opscope import: %s: %s on %s", options->output,
                    format_things(&units, timeline.unit_count, "zone"),
                    format_things(&lanes, timeline.lane_count, "track"));
        if (faults.rows)
            command_say("opscope import: %s of %s cannot be read, the first in line %" PRIu64,
                        format_things(&rows, faults.rows, "row"), path, faults.first_line);
    }
    timeline_free(&timeline);
    machine_set_free(&machines);
    return status ? command_fail(command, &err) : EXIT_OK;
}

static void print_tracy_json(const struct tracy_recorded *r, const struct import_counts *ops,
                             const char *output)
{
    struct json j = {.stream = stdout};
    const struct {
        const char *name;
        uint64_t value;
    } members[] = {
        {"frames", r->counts.frames},
        {"decoded_bytes", r->counts.decoded_bytes},
        {"items", r->counts.items},
        {"zones", r->stats.zones},
        {"gpu_zones", r->stats.gpu_zones},
        {"lock_zones", r->stats.lock_zones},
        {"other_zones", r->stats.other_zones},
        {"open_zones", r->stats.open_zones},
        {"other_records", r->stats.records},
        {"threads", r->stats.threads},
        {"lost_zones", r->stats.lost_zones},
        {"lost_records", r->stats.lost_records},
        {"not_shown", r->stats.unused},
        {"own_messages", r->stats.own_messages},
        {"unnamed", r->stats.unnamed},
        {"ops", ops->ops},
        {"device_runs", ops->runs},
    };
    json_object(&j, JSON_INLINE);
    json_member_text(&j, "trace", output);
    json_member_text(&j, "program", r->program);
    json_member_unsigned(&j, "protocol", r->dialect.version);
    json_member_bool(&j, "wide_contexts", r->dialect.has_wide_contexts);
    json_member_bool(&j, "whole", !r->is_cut && !r->damage.code);
    json_member_text(&j, "error", r->damage.code ? r->damage.message : NULL);
    for (size_t i = 0; i < COUNT_OF(members); i++)
        json_member_unsigned(&j, members[i].name, members[i].value);
    json_key(&j, "records");
    json_object(&j, JSON_INLINE);
    for (unsigned i = 0; i < TRACY_RECORDS; i++) {
        if (r->counts.records[i])
            json_member_unsigned(&j, tracy_record_name(i), r->counts.records[i]);
    }
    json_end(&j);
    json_end(&j);
    json_finish(&j);
}

static void say_tracy(const struct tracy_recorded *r, const char *output)
{
    struct number_text zones, others, records, lost, unused;
    command_say("opscope import: %s: %s, protocol %s%u: %s, %s of devices, locks, frames and sections, %s",
                output, r->program, r->dialect.has_wide_contexts ? "tt" : "", r->dialect.version,
                format_things(&zones, r->stats.zones, "zone"),
                format_count(&others, r->stats.gpu_zones + r->stats.lock_zones + r->stats.other_zones),
                format_things(&records, r->stats.records, "other record"));
    if (r->stats.unused)
        command_say("opscope import: %s of kinds that a trace does not show: left out",
                    format_things(&unused, r->stats.unused, "record"));
    if (r->stats.lost_zones || r->stats.lost_records)
        command_say("opscope import: %s without a beginning or an end, or without room; see opscope info %s",
                    format_things(&lost, r->stats.lost_zones + r->stats.lost_records, "record"), output);
    if (r->damage.code)
        command_say("opscope import: %s; what came before is in the trace", r->damage.message);
    else if (r->is_cut)
        command_say("opscope import: the stream ends before its program did");
}

/* The recorded stream of a program built with Tracy. */
static int import_tracy(const struct command *command, const char *path,
                        const struct command_options *options)
{
    struct tracy_dialect dialect;
    struct tracy_recorded r;
    struct error err = {0};
    struct run_reported reported;
    if (options->protocol && !tracy_dialect_parse(options->protocol, &dialect))
        return command_usage_error(
            command, "--protocol: '%s' is not known: %u to %u are, tt66 is 66 with 16-bit contexts",
            options->protocol, TRACY_OLDEST, TRACY_NEWEST);
    run_reported_begin(&reported, options->device_logs);
    const struct tracy_recorded_options how = {.dialect = options->protocol ? &dialect : NULL,
                                               .listener = reported.reported ? &reported.listener : NULL,
                                               .before_finish = run_reported_add,
                                               .finish_context = &reported};
    if (tracy_recorded_import(path, options->output, &how, &r, &err) != 0) {
        run_reported_end(&reported);
        return command_fail(command, &err);
    }
    if (options->is_json)
        print_tracy_json(&r, &reported.counts, options->output);
    else
        say_tracy(&r, options->output);
    run_reported_show(&reported, "opscope import", options->output, options->is_json);
    run_reported_end(&reported);
    return EXIT_OK;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct command_options options = {0};
    struct command_line line;
    struct import_counts counts;
    struct error err = {0};
    struct number_text ops, runs, zones, signposts, lost;
    int status = command_parse(command, argc, argv, &options, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    bool is_iree = strcmp(line.values[0], "iree") == 0, is_torq = strcmp(line.values[0], "torq") == 0;
    bool is_timeline = strcmp(line.values[0], "timeline") == 0,
         is_tracy = strcmp(line.values[0], "tracy") == 0;
    if (!is_iree && !is_torq && !is_timeline && !is_tracy && strcmp(line.values[0], "tenstorrent") != 0)
        return command_usage_error(command,
                                   "'%s' is not a kind of source: tenstorrent, iree, torq, tracy, timeline",
                                   line.values[0]);
    if (line.count != 2)
        return command_usage_error(command,
                                   is_iree || is_torq ? "no source given: a profile follows '%s'"
                                   : is_tracy         ? "no source given: a recorded stream follows '%s'"
                                   : is_timeline
                                       ? "no source given: a CSV follows '%s'"
                                       : "no source given: a folder, a device log or an ops CSV follows '%s'",
                                   line.values[0]);
    if (!options.output)
        return command_usage_error(command, "no output given: -o FILE");
    if (is_tracy)
        return import_tracy(command, line.values[1], &options);
    if (options.protocol || options.is_json || options.device_logs)
        return command_usage_error(command, "--protocol, --device-logs and --json are for tracy");
    if (is_iree || is_torq)
        return import_profile(command, line.values[1], options.output, is_iree);
    if (is_timeline)
        return import_timeline(command, line.values[1], &options);
    if (import_path_has_table(line.values[1]))
        return command_usage_error(command, "%s is a trace already", line.values[1]);
    struct import_options how = {.source = (enum import_device_source)options.device_source,
                                 .is_device_only = options.device_only};
    if (import_to_trace(line.values[1], options.output, &how, &counts, &err) != 0)
        return command_fail(command, &err);
    command_say("opscope import: %s: %s, %s, %s, %s", options.output, format_things(&ops, counts.ops, "op"),
                format_things(&runs, counts.runs, "device run"), format_things(&zones, counts.zones, "zone"),
                format_things(&signposts, counts.signposts, "signpost"));
    if (counts.faults)
        command_say("opscope import: %s could not be read or joined; see opscope info %s",
                    format_things(&lost, counts.faults, "thing"), options.output);
    return EXIT_OK;
}

static const char *const device_sources[] = {"auto", "report", "log", NULL};
static const char *const kinds[] = {"tenstorrent", "iree", "torq", "tracy", "timeline", NULL};

static const struct command_option import_options[] = {
    {.name = "output",
     .letter = 'o',
     .type = OPTION_TEXT,
     .argument = "FILE",
     .offset = OPTION_FIELD(struct command_options, output),
     .is_file = true,
     .is_output = true,
     .help = "The trace to write; it appears only when it is whole."},
    {.name = "device-source",
     .type = OPTION_CHOICE,
     .argument = "FILE",
     .offset = OPTION_FIELD(struct command_options, device_source),
     .choices = device_sources,
     .help =
         "Where device times come from: report (cpp_device_perf_report.csv), log (profile_log_device.csv), "
         "auto (the report where there is one)."},
    {.name = "device-only",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct command_options, device_only),
     .help = "Leave the host's ops out."},
    {.name = "target",
     .type = OPTION_TEXT,
     .argument = "NAME|FILE",
     .offset = OPTION_FIELD(struct command_options, target),
     .help = "The machine whose cycles a timeline is in: sl2610 unless given."},
    {.name = "protocol",
     .type = OPTION_TEXT,
     .argument = "N",
     .offset = OPTION_FIELD(struct command_options, protocol),
     .help =
         "The protocol of a stream of Tracy, 63 to 82, where it is not found by itself; tt66: 66 with the 16-bit GPU "
         "contexts of Tenstorrent's fork."},
    OPTION_DEVICE_LOGS(OPTION_FIELD(struct command_options, device_logs)),
    {.name = "json",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct command_options, is_json),
     .help = "Of a stream of Tracy: print what was read to standard output, as one line of JSON."},
    {0},
};

static const struct option_table import_table = {"Options", import_options};

static const struct command_argument import_arguments[] = {
    {.name = "KIND",
     .kind = ARGUMENT_CHOICE,
     .choices = kinds,
     .help = "Whose files: tenstorrent, iree, torq, tracy; or timeline."},
    {.name = "PATH",
     .kind = ARGUMENT_FILE,
     .help =
         "tenstorrent: a folder of logs or the one above its .logs, a profile_log_device.csv, or an ops CSV of any "
         "version. iree: a device profile, .ireeprof or its export as JSON lines. torq: a runtime profile in any "
         "of its forms. tracy: all bytes that a program built with Tracy sent over one connection. timeline: a CSV of "
         "an estimate, as opscope estimate --csv or Torq's compiler writes it."},
    {0},
};

static const struct command_example examples[] = {
    {"opscope import tenstorrent generated/profiler -o run.opscope", "A run's logs as one trace."},
    {"opscope ops run.opscope --csv=ops.csv", "Its op table, as the vendor's tool writes it."},
    {"opscope import timeline timeline.csv -o model.opscope", "The timeline of an estimate, read back."},
    {"opscope import torq runtime.csv -o run.opscope", "The programs of a run of Torq."},
    {"opscope import tracy stream.bin -o run.opscope",
     "What a program built with Tracy sent, recorded by a relay."},
    {"opscope import iree mlp.ireeprof -o mlp.opscope", "The dispatches of a run of IREE."},
    {0},
};

const struct command command_import = {
    .name = "import",
    .group = COMMAND_GROUP_RECORD,
    .summary = "Make a trace of what another tool recorded",
    .usage = (const char *const[]){"KIND PATH -o FILE", NULL},
    .description =
        "Reads logs of another tool into a trace: ops with their tensors and kernels, device runs, device tracks with "
        "zones, signposts, clocks. Every other command takes such logs directly as well; a trace is smaller, opens "
        "at once, and holds everything in one file.\n\n"
        "What cannot be read or joined (a cut message, an op without device data, markers that were dropped) does not "
        "stop the import: it is kept as far as it goes, counted, and listed by opscope info.",
    .options = {{&import_table, 0}},
    .arguments = import_arguments,
    .examples = examples,
    .see_also = (const char *const[]){"ops", "info", "export", NULL},
    .run = run,
};
