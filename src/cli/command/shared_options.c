/* SPDX-License-Identifier: Apache-2.0 */
/* Options that many commands take, declared once: which part of a trace, and how the result is written. */
#include "cli/command/command.h"

#define FILTER(field) OPTION_FIELD(struct trace_filter_options, field)
#define OUTPUT(field) OPTION_FIELD(struct output_options, field)

static const struct command_option filter_options[] = {
    {.name = "process",
     .type = OPTION_LIST,
     .argument = "PID|NAME",
     .offset = FILTER(processes),
     .help = "Only this process: its pid, a word of its command, or a pattern with * and ? over the whole "
             "command. May be given again for more."},
    {.name = "thread",
     .type = OPTION_LIST,
     .argument = "TID|NAME",
     .offset = FILTER(threads),
     .help = "Only this thread or track: its number, its name, or a pattern. May be given again."},
    {.name = "name",
     .letter = 'n',
     .type = OPTION_LIST,
     .argument = "PATTERN",
     .offset = FILTER(names),
     .help = "Only names that match: * stands for any text, ? for one character, [ab] for one of several. "
             "May be given again."},
    {.name = "since",
     .type = OPTION_TIME,
     .argument = "TIME",
     .offset = FILTER(since),
     .help = "Only what happened after this time since the start of the trace: 1.5s, 200ms, 50%."},
    {.name = "until",
     .type = OPTION_TIME,
     .argument = "TIME",
     .offset = FILTER(until),
     .help = "Only what happened before this time since the start of the trace."},
    OPTION_SALVAGE(FILTER(salvage)),
    {0},
};

const struct option_table filter_option_table = {"Filters", filter_options};

/* In two tables: with the formats, and alone. */
#define OUTPUT_FILE_OPTION                                                                                   \
    {                                                                                                        \
        .name = "output", .letter = 'o', .type = OPTION_TEXT, .argument = "FILE", .offset = OUTPUT(output),  \
        .is_file = true, .is_output = true,                                                                  \
        .help = "Write to FILE, which appears only when it is whole; - is standard output."                  \
    }

const char *const command_color_choices[] = {"auto", "always", "never", NULL};

static const struct command_option output_options[] = {
    OUTPUT_FILE_OPTION,
    {.name = "json",
     .type = OPTION_FORMAT,
     .offset = OUTPUT(json),
     .file_offset = OUTPUT(output),
     .argument = "FILE",
     .is_file = true,
     .is_output = true,
     .help = "Write JSON with exact numbers, to FILE or where the output goes."},
    {.name = "csv",
     .type = OPTION_FORMAT,
     .offset = OUTPUT(csv),
     .file_offset = OUTPUT(output),
     .argument = "FILE",
     .is_file = true,
     .is_output = true,
     .help =
         "Write CSV (RFC 4180) with exact numbers, to FILE or where the output goes; the header names the unit."},
    OPTION_WIDE(OUTPUT(wide)),
    OPTION_COLOR(OUTPUT(color)),
    {0},
};

const struct option_table output_option_table = {"Output", output_options};
const struct option_table format_option_table = {"Format", output_options + 1};

static const struct command_option export_output_options[] = {
    OUTPUT_FILE_OPTION,
    {0},
};

const struct option_table export_output_option_table = {"Output", export_output_options};
