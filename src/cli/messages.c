/* SPDX-License-Identifier: Apache-2.0 */
/* opscope messages: signposts, messages and frames. */
#include "analyze/labels.h"
#include "analyze/pointlist.h"
#include "cli/view.h"
#include "present/format.h"

struct messages_options {
    struct trace_filter_options filter;
    struct output_options output;
    unsigned kind;
    uint64_t limit;
};

enum {
    COLUMN_TIME,
    COLUMN_PROCESS,
    COLUMN_PID,
    COLUMN_PROGRAM,
    COLUMN_THREAD,
    COLUMN_TID,
    COLUMN_KIND,
    COLUMN_HEADER,
    COLUMN_TEXT,
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [COLUMN_TIME] = {.key = "time", .title = "time", .type = TABLE_INSTANT},
    [COLUMN_PROCESS] =
        {.key = "process", .title = "process", .shown = TABLE_TERMINAL_ONLY, .shrink = 12, .drop = 2},
    [COLUMN_PID] = {.key = "pid", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [COLUMN_PROGRAM] = {.key = "program", .shown = TABLE_DATA_ONLY},
    [COLUMN_THREAD] = {.key = "thread", .title = "thread", .shrink = 14, .drop = 1},
    [COLUMN_TID] = {.key = "tid", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [COLUMN_KIND] = {.key = "kind", .title = "kind", .drop = 3},
    [COLUMN_HEADER] = {.key = "header", .title = "header", .shrink = 12},
    [COLUMN_TEXT] = {.key = "text", .title = "text", .shrink = 24},
};

static const char *const kind_choices[] = {"all", "signpost", "message", "frame", NULL};
static const char *const kind_plurals[] = {"messages", "signposts", "messages", "frames"};

static void add_row(struct view *view, struct table *table, const struct point_list *list,
                    const struct point_entry *entry)
{
    const struct trace_track *track = trace_get_track(view->trace, entry->track);
    const struct trace_process *process = view_process_of(view, entry->track);
    char program[64];
    table_add_row(table);
    table_set_unsigned(table, COLUMN_TIME, view_since_start(view, entry->time_ns));
    if (process) {
        view_set_process(view, table, COLUMN_PROCESS, process->id);
        table_set_integer(table, COLUMN_PID, process->pid);
        table_set_text(table, COLUMN_PROGRAM, label_program(process, program, sizeof program));
    }
    if (track) {
        view_set_track(view, table, COLUMN_THREAD, entry->track);
        table_set_unsigned(table, COLUMN_TID, track->number);
    }
    table_set_text(table, COLUMN_KIND, trace_point_kind_text(entry->kind));
    if (entry->header_length)
        table_set_text_length(table, COLUMN_HEADER, point_list_text(list, entry->header),
                              entry->header_length);
    if (entry->text_length)
        table_set_text_length(table, COLUMN_TEXT, point_list_text(list, entry->text), entry->text_length);
}

static void show(struct view *view, const struct messages_options *options, const struct point_list *list)
{
    struct table table;
    struct number_text number;
    size_t shown = options->limit && options->limit < list->count ? (size_t)options->limit : list->count;
    table_init(&table, "messages", columns, COLUMNS);
    for (size_t i = 0; i < shown; i++)
        add_row(view, &table, list, &list->entries[i]);
    view_add_table(view, &table, kind_plurals[options->kind]);
    if (shown < list->count)
        report_note(&view->report, TABLE_DIM, "the first %zu of %s", shown,
                    format_count(&number, list->count));
    view_add_state(view);
    table_free(&table);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct messages_options options = {0};
    struct command_line line;
    struct view view;
    struct point_list list;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status == COMMAND_CONTINUE)
        status = view_open(&view, command, line.values[0], &options.filter, &options.output, "messages");
    if (status != COMMAND_CONTINUE)
        return status;
    /* The choices are in the order of enum trace_point_kind, after "all". */
    unsigned kinds = options.kind ? 1u << options.kind : 0;
    if (point_list_make(&list, view.trace, &view.filter, kinds, &err) != 0)
        return view_fail(&view, &err);
    show(&view, &options, &list);
    point_list_free(&list);
    return view_close(&view, EXIT_OK);
}

static const struct command_option messages_options[] = {
    {.name = "kind",
     .letter = 'k',
     .type = OPTION_CHOICE,
     .argument = "KIND",
     .offset = OPTION_FIELD(struct messages_options, kind),
     .choices = kind_choices,
     .help = "Only this kind of record."},
    OPTION_TOP(OPTION_FIELD(struct messages_options, limit), "Only the first N rows."),
    OPTION_LIMIT(OPTION_FIELD(struct messages_options, limit)),
    {0},
};

static const struct option_table messages_table = {"Options", messages_options};

static const struct command_example examples[] = {
    {"opscope messages t.opscope", "Everything the program said, in order."},
    {"opscope messages t.opscope --kind signpost --json", "The signposts, for a script."},
    {"opscope messages t.opscope --name '*error*' --wide", "Messages with the word error, whole."},
    {0},
};

const struct command command_messages = {
    .name = "messages",
    .group = COMMAND_GROUP_LOOK,
    .summary = "List signposts, messages and frames in the order of time",
    .usage = (const char *const[]){"[options] FILE", NULL},
    .description =
        "One row for each signpost, message and frame mark that the program recorded: when (since the start "
        "of the trace), in which process and thread, and what it said. --name looks at the header and at "
        "the text. Line breaks and control characters are shown as \\n and the like on a terminal, and are "
        "kept in CSV and JSON.",
    .options = {{&messages_table, 0},
                {&filter_option_table, OPTION_FIELD(struct messages_options, filter)},
                {&output_option_table, OPTION_FIELD(struct messages_options, output)}},
    .arguments = view_arguments,
    .exits = view_exits,
    .examples = examples,
    .see_also = (const char *const[]){"zones", "info", NULL},
    .run = run,
};
