/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "load/trace.h"

const struct command_argument view_arguments[] = {
    {.name = "FILE",
     .kind = ARGUMENT_TRACE,
     .help =
         "The trace: a finished .opscope file, a .partial one that is still being written, or - for standard "
         "input. A folder of device logs or an ops CSV is imported first (see opscope import)."},
    {0},
};

const struct command_exit view_exits[] = {
    {EXIT_OK, "the trace was read (also when it reports losses)"},
    {EXIT_USAGE, "the trace cannot be read, or bad usage"},
    {0, NULL},
};

static const struct command_option row_options[] = {
    OPTION_TOP(OPTION_FIELD(struct row_options, top), "Show only the first N rows."),
    {.name = "all",
     .letter = 'a',
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct row_options, all),
     .help =
         "Show all rows. The default on a terminal is as many as fit its height; in a pipe, a file, CSV and JSON it "
         "is all."},
    {0},
};

const struct option_table row_option_table = {"Rows", row_options};

#define FILTER(field) OPTION_FIELD(struct trace_filter_options, field)

static const struct command_option source_options[] = {
    {.name = "file",
     .type = OPTION_LIST,
     .argument = "PATTERN",
     .offset = FILTER(files),
     .help =
         "Only zones of source files whose path, or the end of it, matches: train.py, 'models/*'. May be given "
         "again."},
    {.name = "module",
     .type = OPTION_LIST,
     .argument = "NAME",
     .offset = FILTER(modules),
     .help = "Only zones of this module and those below it: torch.nn. May be given again."},
    {.name = "mine",
     .type = OPTION_FLAG,
     .offset = FILTER(mine),
     .help =
         "Only zones of files below the folder in which opscope is run, without installed packages and the "
         "standard library."},
    OPTION_START_SIGNPOST(FILTER(start_signpost)),
    OPTION_END_SIGNPOST(FILTER(end_signpost)),
    {0},
};

const struct option_table source_option_table = {"Source and signposts", source_options};

#define LINES_AROUND 8u /* header, notes and the next prompt */
#define LEAST_ROWS 8u

static unsigned terminal_height(int descriptor)
{
    struct winsize size = {0};
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

size_t view_row_limit(const struct view *view, const struct row_options *options)
{
    if (options->top)
        return (size_t)options->top;
    if (options->all || view->output.format != OUTPUT_TERMINAL || !view->output.is_terminal)
        return SIZE_MAX;
    unsigned height = terminal_height(fileno(view->output.stream));
    return height > LINES_AROUND + LEAST_ROWS ? height - LINES_AROUND : LEAST_ROWS;
}

int view_open_trace(struct view *view, const struct command *command, const char *path, struct trace *opened,
                    const struct trace_filter_options *filter, const struct output_options *output,
                    const char *table)
{
    struct error err = {0};
    int result = 0;
    *view = (struct view){.command = command, .path = path, .trace = opened, .is_wide = output->wide};
    if (output->json && output->csv) {
        view_free(view);
        return command_usage_error(command, "--json and --csv exclude each other");
    }
    view->options = *filter;
    if (filter->mine && !(view->options.folder = view->folder = getcwd(NULL, 0)))
        result = error_set_errno(&err, errno, "--mine: the working folder");
    if (result == 0 && !opened)
        result = load_trace(&view->trace, &view->stdin_data, path, filter->salvage, &err);
    if (result == 0)
        result = trace_filter_resolve(&view->filter, view->trace, &view->options, &err);
    if (result == 0)
        result = output_open(&view->output, output, &err);
    if (result != 0) {
        view_free(view);
        return command_fail(command, &err);
    }
    view->origin_ns = trace_get_info(view->trace)->start_ns;
    report_begin(&view->report, &view->output, table);
    report_text(&view->report, "file", NULL, path);
    return COMMAND_CONTINUE;
}

int view_open(struct view *view, const struct command *command, const char *path,
              const struct trace_filter_options *filter, const struct output_options *output,
              const char *table)
{
    return view_open_trace(view, command, path, NULL, filter, output, table);
}

int view_close(struct view *view, int status)
{
    struct error err = {0};
    if (status != EXIT_OK && status != EXIT_NEGATIVE) {
        output_abandon(&view->output);
        view_free(view);
        return status;
    }
    int result = report_close(&view->report, 0, stderr, &err);
    view_free(view);
    return result == 0 ? status : command_fail(view->command, &err);
}

int view_fail(struct view *view, const struct error *err)
{
    return view_close(view, command_fail(view->command, err));
}
