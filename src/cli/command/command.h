/* SPDX-License-Identifier: Apache-2.0 */
/* A sub-command, declared once. The parser, --help, the man page, docs/commands/ and the completion of three shells
 * all read this one table, so that they cannot disagree.
 *
 * A command is a `const struct command command_NAME` in src/cli/NAME.c, listed in commands.c. Its run function
 * fills an options struct with defaults, calls command_parse, and continues when that returns COMMAND_CONTINUE:
 *
 *     static int run(const struct command *command, int argc, char **argv)
 *     {
 *         struct zones_options options = {.top = 0};
 *         struct command_line line;
 *         int status = command_parse(command, argc, argv, &options, &line);
 *         if (status != COMMAND_CONTINUE)
 *             return status;
 *
 * An option names its field by offset. OPTION_FIELD checks nothing: the comment above each type says what the field
 * must be. */
#ifndef OPSCOPE_CLI_COMMAND_COMMAND_H
#define OPSCOPE_CLI_COMMAND_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/filter.h"
#include "base/error.h"
#include "base/text_list.h"
#include "present/output.h"

enum {
    COMMAND_CONTINUE = -1, /* command_parse: go on */
    EXIT_OK = 0,
    EXIT_NEGATIVE = 1, /* it worked, and the answer is no */
    EXIT_USAGE = 2,    /* bad input or usage */
    EXIT_RUN_FAILED = 125,
};

/* What an option takes, and what its field must be. */
enum option_type {
    /* bool */
    OPTION_FLAG,
    /* const char * */
    OPTION_TEXT,
    /* uint64_t; checked against min and max unless both are 0 */
    OPTION_NUMBER,
    /* uint64_t bytes: 4096, 64K, 1.5M, 2GiB (powers of 1024) */
    OPTION_SIZE,
    /* uint64_t ns: 1.5s, 200ms, 10us, 5ns, 2min, 1h; a bare number is seconds */
    OPTION_DURATION,
    /* struct trace_time: a duration since the start of the trace, or 50% */
    OPTION_TIME,
    /* unsigned: the index in `choices` */
    OPTION_CHOICE,
    /* struct text_list: may be given many times */
    OPTION_LIST,
    /* double: 1.5 or 1.5% */
    OPTION_PERCENT,
    /* bool, and a const char * at `file_offset`: --csv, or --csv=FILE, which also names the output */
    OPTION_FORMAT,
};

struct command_option {
    const char *name; /* long name without the dashes; NULL ends a table */
    char letter;      /* short form, or 0 */
    enum option_type type;
    const char *argument; /* how --help calls the value: "FILE" */
    size_t offset;        /* of the field in the command's options struct */
    size_t file_offset;   /* OPTION_FORMAT: of the output's name, in the same struct */
    /* OPTION_CHOICE: NULL-terminated; also offered by completion for OPTION_TEXT */
    const char *const *choices;
    const char *bare_choice; /* OPTION_CHOICE: what the option means without a value; NULL: it needs one */
    uint64_t min, max;
    bool is_hidden;
    bool is_file; /* its argument is a file though it is not called FILE: option_names_file */
    /* The file is written, which must not be one that is read. With `endings` (NULL-terminated), these files are:
     * the value with each ending after it. */
    bool is_output;
    const char *const *endings;
    const char *help; /* a sentence; --help, man page and docs print it */
};

/* Options that belong together under one heading. */
struct option_table {
    const char *title; /* "Options", "Filters", "Output" */
    const struct command_option *options;
};

/* Which options a command takes, and where in its struct the fields of that table begin. */
struct option_use {
    const struct option_table *table;
    size_t offset;
};

enum argument_kind {
    ARGUMENT_TRACE,
    ARGUMENT_FILE,
    ARGUMENT_FOLDER,
    ARGUMENT_PROGRAM,
    ARGUMENT_COMMAND,
    ARGUMENT_CHOICE,
};

struct command_argument {
    const char *name; /* "FILE"; NULL ends the list */
    enum argument_kind kind;
    bool is_optional;
    bool is_repeated; /* takes all that follow */
    bool is_output;   /* written, not read */
    const char *const *choices;
    const char *help;
};

struct command_exit { /* ended by meaning == NULL */
    int code;
    const char *meaning;
};

struct command_example { /* ended by command == NULL */
    const char *command;
    const char *meaning;
};

struct command {
    const char *name;
    const char *group;        /* heading in `opscope --help`: one of the COMMAND_GROUP_ texts */
    const char *summary;      /* one line, no full stop */
    const char *const *usage; /* forms without "opscope NAME": "[options] FILE"; NULL-terminated */
    /* paragraphs, separated by an empty line; a line that starts with a space is kept */
    const char *description;
    struct option_use options[6];             /* ended by table == NULL */
    const struct command_argument *arguments; /* may be NULL */
    const struct command_exit *exits;         /* NULL: 0 and 2 as everywhere */
    const struct command_example *examples;
    const char *const *see_also; /* command names; NULL-terminated */
    bool stops_at_argument;      /* options end at the first argument, as for `run` */
    bool is_hidden;
    int usage_exit; /* status of a usage error; 0 = EXIT_USAGE */
    /* `--csv FILE` names the output where FILE cannot be meant as an argument (options.c). */
    bool takes_csv_word;
    /* With that: is this existing file something that the command reads? NULL: it may be. */
    bool (*is_source)(const char *path);
    int (*run)(const struct command *command, int argc, char **argv);
};

#define COMMAND_GROUP_RECORD "Record"
#define COMMAND_GROUP_LOOK "Look"
#define COMMAND_GROUP_HELP "Help"

#define OPTION_FIELD(type, field) offsetof(type, field)

/* --top N: the first N rows of what is shown; the uint64_t is 0 where it was not given. */
#define OPTION_TOP(field_offset, text)                                                                       \
    {                                                                                                        \
        .name = "top", .type = OPTION_NUMBER, .argument = "N", .offset = (field_offset), .min = 1,           \
        .help = (text)                                                                                       \
    }
/* Its older name in some commands. */
#define OPTION_LIMIT(field_offset)                                                                           \
    {                                                                                                        \
        .name = "limit", .type = OPTION_NUMBER, .argument = "N", .offset = (field_offset), .min = 1,         \
        .is_hidden = true, .help = "The older name of --top."                                                \
    }

/* Of what shows tables. */
#define OPTION_WIDE(field_offset)                                                                            \
    {                                                                                                        \
        .name = "wide", .letter = 'w', .type = OPTION_FLAG, .offset = (field_offset),                        \
        .help = "Show all columns and whole texts, however narrow the terminal."                             \
    }
extern const char *const command_color_choices[];
#define OPTION_COLOR(field_offset)                                                                           \
    {                                                                                                        \
        .name = "color", .type = OPTION_CHOICE, .argument = "WHEN", .offset = (field_offset),                \
        .choices = command_color_choices, .bare_choice = "always",                                           \
        .help = "Use colours. auto means on a terminal, unless NO_COLOR is set; --color alone means always." \
    }

/* Entries that several tables have; `field_offset` is of the field that the type asks for. */
#define OPTION_SALVAGE(field_offset)                                                                         \
    {                                                                                                        \
        .name = "salvage", .type = OPTION_FLAG, .offset = (field_offset),                                    \
        .help = "Read every whole block of a damaged trace and leave out the rest."                          \
    }
/* Of commands that write a page into a file (--html). */
#define OPTION_NO_SOURCE(field_offset)                                                                       \
    {                                                                                                        \
        .name = "no-source", .type = OPTION_FLAG, .offset = (field_offset),                                  \
        .help = "Leave source lines out of the file of --html: for somebody who is not to see the code."     \
    }
/* Of commands that show source lines; a list. */
#define OPTION_SOURCE_FOLDER(word, field_offset)                                                             \
    {                                                                                                        \
        .name = (word), .type = OPTION_LIST, .argument = "DIR", .offset = (field_offset), .is_file = true,   \
        .help = "Read source lines that the trace does not hold from files inside this folder whose paths "  \
                "end as those of the trace. Without it no source file is opened. May be given again."        \
    }
/* Of recordings. */
#define OPTION_RECORD_NO_SOURCE(field_offset)                                                                \
    {                                                                                                        \
        .name = "no-source", .type = OPTION_FLAG, .offset = (field_offset),                                  \
        .help = "Take no source lines into the trace. Without this it gets those around the places that "    \
                "zones and ops name. OPSCOPE_NO_SOURCE=1 in the environment is the same."                    \
    }
#define OPTION_MAX_SIZE(field_offset)                                                                        \
    {                                                                                                        \
        .name = "max-size", .type = OPTION_SIZE, .argument = "SIZE", .offset = (field_offset),               \
        .help = "Flight recorder: keep the newest data within SIZE, drop the oldest."                        \
    }
#define OPTION_MIN_DURATION(field_offset)                                                                    \
    {                                                                                                        \
        .name = "min-duration", .type = OPTION_DURATION, .argument = "TIME", .offset = (field_offset),       \
        .help = "Leave zones shorter than TIME out of the trace; their time is their parents'."              \
    }
#define OPTION_DEVICE_LOGS(field_offset)                                                                     \
    {                                                                                                        \
        .name = "device-logs", .type = OPTION_TEXT, .argument = "DIR", .offset = (field_offset),             \
        .is_file = true,                                                                                     \
        .help =                                                                                              \
            "The folder with the devices' files of a program that reports its ops through Tracy "            \
            "(cpp_device_perf_report.csv, profile_log_device.csv; here or in .logs). Default: where the "    \
            "runtime puts them, and only what was written meanwhile."                                        \
    }
#define OPTION_RESULT_JSON(field_offset)                                                                     \
    {                                                                                                        \
        .name = "json", .type = OPTION_FLAG, .offset = (field_offset),                                       \
        .help = "At the end, print what was recorded to standard output, as one line of JSON."               \
    }
#define OPTION_NO_SUMMARY(field_offset)                                                                      \
    {                                                                                                        \
        .name = "quiet", .letter = 'q', .type = OPTION_FLAG, .offset = (field_offset),                       \
        .help = "No summary; warnings stay."                                                                 \
    }
#define OPTION_INCLUDE_WARM_UP(field_offset)                                                                 \
    {                                                                                                        \
        .name = "include-warm-up", .type = OPTION_FLAG, .offset = (field_offset),                            \
        .help = "Compare all of both runs. Otherwise start-up, first steps that are slower than the others " \
                "and all but the last part between signposts with 5 % of the device time are left out, as "  \
                "in opscope summary."                                                                        \
    }
#define OPTION_START_SIGNPOST(field_offset)                                                                  \
    {                                                                                                        \
        .name = "start-signpost", .type = OPTION_TEXT, .argument = "NAME", .offset = (field_offset),         \
        .help = "Only what comes after the first signpost of this name."                                     \
    }
#define OPTION_END_SIGNPOST(field_offset)                                                                    \
    {                                                                                                        \
        .name = "end-signpost", .type = OPTION_TEXT, .argument = "NAME", .offset = (field_offset),           \
        .help = "Only what comes before the first signpost of this name (after the start, where both are "   \
                "given)."                                                                                    \
    }
#define OPTION_IGNORE_LOCATION(field_offset)                                                                 \
    {                                                                                                        \
        .name = "ignore-location", .type = OPTION_FLAG, .offset = (field_offset),                            \
        .help = "Match ops without looking at their place in the source."                                    \
    }
#define OPTION_IGNORE_SHAPE(field_offset)                                                                    \
    {                                                                                                        \
        .name = "ignore-shape", .type = OPTION_FLAG, .offset = (field_offset),                               \
        .help = "Match ops by their names alone: another batch size, another data type."                     \
    }
/* Of commands that estimate a model; the fields are lists. */
#define OPTION_TARGET_OPTION(field_offset)                                                                   \
    {                                                                                                        \
        .name = "target-option", .type = OPTION_LIST, .argument = "KEY=VALUE", .offset = (field_offset),     \
        .help = "Another value for a figure of the target, as engines=1 for a run on one core; may be "      \
                "given again."                                                                               \
    }
#define OPTION_DIM(field_offset)                                                                             \
    {                                                                                                        \
        .name = "dim", .type = OPTION_LIST, .argument = "[ARG:DIM=]SIZE", .offset = (field_offset),          \
        .help = "The size of dynamic dimensions: 16 for all of them, 0:1=16 for dimension 1 of argument 0; " \
                "may be given again."                                                                        \
    }
/* A further file that is written: --html, --junit. */
#define OPTION_FILE(word, field_offset, text)                                                                \
    {                                                                                                        \
        .name = (word), .type = OPTION_TEXT, .argument = "FILE", .offset = (field_offset), .is_file = true,  \
        .is_output = true, .help = (text)                                                                    \
    }

/* The arguments that are not options, in order. */
struct command_line {
    int count;
    char **values;
    bool had_separator; /* "--" was given */
};

/* Parses argv[1..]; argv[0] is the command's name. Returns COMMAND_CONTINUE, or the exit status when there is
 * nothing left to do: help was printed, or an error was (to stderr). The order of argv changes; the texts in
 * the options point into it. */
int command_parse(const struct command *command, int argc, char **argv, void *options,
                  struct command_line *line);

/* The same without printing: 0, -EINVAL with a sentence in err, or 1 when help was asked for. */
int command_parse_quiet(const struct command *command, int argc, char **argv, void *options,
                        struct command_line *line, struct error *err);

/* The first file that would be both read and written, or written twice: -EINVAL with a sentence in err. Compares the
 * command's output options with its arguments and with the files that its other options read. command_parse has done
 * it; a command that finds further inputs by itself asks again, with those in `found` (else NULL). */
int command_check_files(const struct command *command, const void *options, const struct command_line *line,
                        const struct text_list *found, struct error *err);
bool option_names_file(const struct command_option *option);

/* Prints a line on stderr; control characters of what it quotes become visible. */
void command_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same as a callback of a recording. */
void command_say_notice(void *unused, const char *text);
/* The same for each line of a text, after "opscope NAME: ". */
void command_say_lines(const struct command *command, const char *lines);

/* Prints "opscope NAME: message (see opscope NAME --help)" and returns the command's status for usage errors. */
int command_usage_error(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints "opscope NAME: message" and returns EXIT_USAGE. */
int command_fail(const struct command *command, const struct error *err);

/* --- option tables that many commands share --- */
extern const struct option_table filter_option_table;        /* fields of struct trace_filter_options */
extern const struct option_table output_option_table;        /* fields of struct output_options */
extern const struct option_table format_option_table;        /* the same without --output */
extern const struct option_table export_output_option_table; /* --output alone, same struct */

/* --- all commands --- */
const struct command *command_at(size_t i); /* in the order of `opscope --help`; NULL past the end */
const struct command *command_find(const char *name);

/* A duration since the start of the trace, or 50%; -EINVAL with what was expected in err. */
int value_parse_time(const char *text, struct trace_time *time, struct error *err);

/* --- documents made from the tables --- */
struct bytes;
void command_help_text(const struct command *command, unsigned width, bool is_coloured, struct bytes *out);
void command_man_page(const struct command *command, struct bytes *out);
void command_markdown(const struct command *command, struct bytes *out);
void program_help_text(unsigned width, bool is_coloured, struct bytes *out);
void program_man_page(struct bytes *out);
void program_markdown(struct bytes *out);
int completion_script(const char *shell, struct bytes *out); /* bash, zsh, fish; -EINVAL */

#endif
