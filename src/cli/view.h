/* SPDX-License-Identifier: Apache-2.0 */
/* What every command that reads a trace does before and after its own work: open the file (or stdin), resolve
 * the filters, open the output, and say at the end what the trace does not hold. */
#ifndef OPSCOPE_CLI_VIEW_H
#define OPSCOPE_CLI_VIEW_H

#include "cli/command/command.h"
#include "present/view.h"

/* How many rows to show: --top, --all. */
struct row_options {
    uint64_t top;
    bool all;
};
extern const struct option_table row_option_table;
/* Filters by source and signposts, for views of zones: fields of struct trace_filter_options. */
extern const struct option_table source_option_table;
/* SIZE_MAX: all of them. On a terminal, as many as fit its height, unless something else was asked for. */
size_t view_row_limit(const struct view *view, const struct row_options *options);

/* COMMAND_CONTINUE, or the exit status after the error was printed. `opened` is the path, where it is a trace that is
 * open already, and is taken over; else NULL. */
int view_open(struct view *view, const struct command *command, const char *path,
              const struct trace_filter_options *filter, const struct output_options *output,
              const char *table);
int view_open_trace(struct view *view, const struct command *command, const char *path, struct trace *opened,
                    const struct trace_filter_options *filter, const struct output_options *output,
                    const char *table);
/* Writes the output unless `status` says that something failed, frees everything, returns the exit status. */
int view_close(struct view *view, int status);
/* Prints the error and closes. */
int view_fail(struct view *view, const struct error *err);

extern const struct command_argument view_arguments[]; /* FILE */
extern const struct command_exit view_exits[];

#endif
