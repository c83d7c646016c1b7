/* SPDX-License-Identifier: Apache-2.0 */
/* opscope info: what is in a trace, what is not, and how good its clocks are. */
#include "cli/view.h"
#include "import/open.h"
#include "present/info/info.h"

struct info_options {
    struct trace_filter_options filter;
    struct output_options output;
    unsigned show;
};

enum { SHOW_ALL, SHOW_PROCESSES, SHOW_TRACKS, SHOW_LOSSES, SHOW_CLOCKS, SHOW_OPEN };

static const char *const show_choices[] = {"all", "processes", "tracks", "losses", "clocks", "open", NULL};

/* What an import could not read or join; nothing for a trace that was recorded. */
struct notes {
    struct view *view;
    bool has_heading;
};

static void add_note(void *context, const char *text)
{
    struct notes *notes = context;
    if (!notes->has_heading)
        report_heading(&notes->view->report, "Import");
    notes->has_heading = true;
    report_note(&notes->view->report, TABLE_WARN, "%s", text);
}

static void add_import_notes(struct view *view)
{
    struct notes notes = {.view = view};
    struct error err = {0};
    if (import_trace_notes(view->trace, add_note, &notes, &err) != 0)
        report_note(&view->report, TABLE_BAD, "%s", err.message);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct info_options options = {0};
    struct command_line line;
    struct view view;
    int status = command_parse(command, argc, argv, &options, &line);
    if (status == COMMAND_CONTINUE && options.output.csv && options.show == SHOW_ALL)
        return command_usage_error(command, "--csv writes one table: choose it with --show");
    if (status == COMMAND_CONTINUE)
        status = view_open(&view, command, line.values[0], &options.filter, &options.output, "info");
    if (status != COMMAND_CONTINUE)
        return status;
    bool is_all = options.show == SHOW_ALL;
    if (is_all)
        info_add_facts(&view);
    if (is_all || options.show == SHOW_PROCESSES)
        info_add_processes(&view, !is_all);
    if (is_all || options.show == SHOW_TRACKS)
        info_add_tracks(&view, !is_all);
    if (is_all || options.show == SHOW_CLOCKS)
        info_add_clocks(&view, !is_all);
    if (is_all || options.show == SHOW_OPEN)
        info_add_open_zones(&view, !is_all);
    if (is_all || options.show == SHOW_LOSSES)
        info_add_losses(&view, !is_all);
    if (is_all)
        add_import_notes(&view);
    return view_close(&view, EXIT_OK);
}

static const struct command_option info_options[] = {
    {.name = "show",
     .type = OPTION_CHOICE,
     .argument = "TABLE",
     .offset = OPTION_FIELD(struct info_options, show),
     .choices = show_choices,
     .help = "Only this table, whole."},
    {0},
};

static const struct option_table info_table = {"Options", info_options};

static const struct command_example examples[] = {
    {"opscope info t.opscope", "An overview."},
    {"opscope info t.opscope --show losses --csv", "Every loss with its thread, times and reason."},
    {"opscope info damaged.opscope --salvage", "What can still be read of a damaged trace."},
    {0},
};

const struct command command_info = {
    .name = "info",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Show what a trace holds: processes, threads, losses, clocks",
    .usage = (const char *const[]){"[options] FILE", NULL},
    .description =
        "Says whether the trace is complete, what was run and on which host, how many records of each kind there "
        "are; lists the processes with their exit status, the threads and device tracks, the zones that had not ended "
        "and every loss: which thread, between which times, why and how much.\n\n"
        "The exit status is known of the command that was run. The system gives that of a child to its parent alone: "
        "of descendants the table says whether they ended.\n\n"
        "For each clock it says how many sync points there are, the largest uncertainty they state, and the largest "
        "residual: how far a point lies from the line through its neighbours.\n\n"
        "--process, --thread and --name restrict the tables; the counts above them are those of the whole trace.",
    .options = {{&info_table, 0},
                {&filter_option_table, OPTION_FIELD(struct info_options, filter)},
                {&output_option_table, OPTION_FIELD(struct info_options, output)}},
    .arguments = view_arguments,
    .exits = view_exits,
    .examples = examples,
    .see_also = (const char *const[]){"zones", "messages", "recover", "doctor", NULL},
    .run = run,
};
