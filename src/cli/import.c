/* SPDX-License-Identifier: Apache-2.0 */
/* opscope import: a trace out of what another tool recorded. */
#include <string.h>

#include "cli/command/command.h"
#include "import/open.h"
#include "present/format.h"

struct command_options {
    const char *output;
    unsigned device_source;
    bool device_only;
};

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
    if (strcmp(line.values[0], "tenstorrent") != 0)
        return command_usage_error(command, "'%s' is not a kind of source: tenstorrent", line.values[0]);
    if (line.count != 2)
        return command_usage_error(
            command, "no source given: a folder, a device log or an ops CSV follows '%s'", line.values[0]);
    if (!options.output)
        return command_usage_error(command, "no output given: -o FILE");
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
static const char *const kinds[] = {"tenstorrent", NULL};

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
    {0},
};

static const struct option_table import_table = {"Options", import_options};

static const struct command_argument import_arguments[] = {
    {.name = "KIND", .kind = ARGUMENT_CHOICE, .choices = kinds, .help = "Whose files: tenstorrent."},
    {.name = "PATH",
     .kind = ARGUMENT_FILE,
     .help =
         "A folder of logs or the one above its .logs, a profile_log_device.csv, or an ops CSV of any version."},
    {0},
};

static const struct command_example examples[] = {
    {"opscope import tenstorrent generated/profiler -o run.opscope", "A run's logs as one trace."},
    {"opscope ops run.opscope --csv=ops.csv", "Its op table, as the vendor's tool writes it."},
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
