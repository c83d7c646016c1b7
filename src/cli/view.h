/* SPDX-License-Identifier: Apache-2.0 */
/* What every command that reads a trace does before and after its own work: open the file (or stdin), resolve
 * the filters, open the output, and say at the end what the trace does not hold. */
#ifndef OPSCOPE_CLI_VIEW_H
#define OPSCOPE_CLI_VIEW_H

#include "analyze/labels.h"
#include "base/bytes.h"
#include "cli/command/command.h"
#include "present/document.h"
#include "trace/reader.h"

struct view {
    const struct command *command;
    const char *path; /* as given; "-" is stdin */
    struct trace *trace;
    struct bytes stdin_data;
    struct trace_filter_options options; /* of the filter */
    struct trace_filter filter;
    char *folder; /* of --mine */
    struct output output;
    struct report report;
    uint64_t origin_ns;    /* times are shown since then: the start of the trace */
    bool *has_shared_name; /* by track: another track of the process has its name; made when first needed */
    bool is_wide;          /* --wide */
    bool has_places;
    struct place_labels places; /* made when first needed */
};

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
/* For people, where not all rows are shown: how many are, and how to see the rest. */
void view_note_rows(struct view *view, size_t shown, size_t count);

/* Opens a trace; "-" reads it from stdin into *stdin_data, which must live as long as the trace. */
int view_open_trace(struct trace **trace, struct bytes *stdin_data, const char *path, bool salvage,
                    struct error *err);

/* Folders of logs and ops CSVs, which are imported on the way: view_open_trace does it by itself. */
bool view_is_import(const char *path);
int view_open_import(struct trace **trace, const char *path, struct error *err);

/* COMMAND_CONTINUE, or the exit status after the error was printed. */
int view_open(struct view *view, const struct command *command, const char *path,
              const struct trace_filter_options *filter, const struct output_options *output,
              const char *table);

/* The table of a command; for people a line instead of an empty one: "no zones in this trace". */
void view_add_table(struct view *view, const struct table *table, const char *what);
/* Zones still open: a note for people, a member in JSON. */
void view_add_open_zones(struct view *view);
/* Losses, unfinished and damaged traces: likewise. */
void view_add_state(struct view *view);

/* Writes the output unless `status` says that something failed, frees everything, returns the exit status. */
int view_close(struct view *view, int status);
/* Prints the error and closes. */
int view_fail(struct view *view, const struct error *err);

/* Time since the start of the trace; 0 for what was before. */
uint64_t view_since_start(const struct view *view, uint64_t ns);
/* "4711 loader": pid and program. */
void view_set_process(struct view *view, struct table *table, size_t column, uint32_t process);
/* "main"; "worker 4711" where several tracks of the process are called so. In CSV and JSON the name alone. */
const char *view_track_name(struct view *view, uint32_t track, char *buffer, size_t size);
void view_set_track(struct view *view, struct table *table, size_t column, uint32_t track);
/* Where zones of this name are in the source: for people "train.py:37", with as much of the path as tells it from
 * other files (all of it with --wide), for programs file and line. Nothing of it where `place_count` places have the
 * name, but for people how many. */
void view_set_place(struct view *view, struct table *table, size_t location, size_t file, size_t line,
                    uint32_t name, uint32_t place_count);
/* The process of a track; NULL when the trace does not have it. */
const struct trace_process *view_process_of(const struct view *view, uint32_t track);

extern const struct command_argument view_arguments[]; /* FILE */
extern const struct command_exit view_exits[];

#endif
