/* SPDX-License-Identifier: Apache-2.0 */
/* opscope zones: statistics per zone. */
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "analyze/labels.h"
#include "analyze/zones/waiting.h"
#include "analyze/zones/stats.h"
#include "cli/view.h"
#include "present/zones/zones.h"
#include "present/format.h"

struct zones_options {
    struct trace_filter_options filter;
    struct output_options output;
    unsigned by, sort;
    bool reverse, by_test, source;
    struct text_list source_folders;
    struct row_options rows;
    const char *split, *callers, *callees;
};

enum {
    COLUMN_NAME,
    COLUMN_LOCATION,
    COLUMN_FUNCTION,
    COLUMN_FILE,
    COLUMN_LINE,
    COLUMN_PROCESS,
    COLUMN_PID,
    COLUMN_PROGRAM,
    COLUMN_THREAD,
    COLUMN_TID,
    COLUMN_COUNT,
    COLUMN_TOTAL,
    COLUMN_WALL,
    COLUMN_SELF,
    COLUMN_WAITING,
    COLUMN_MEAN,
    COLUMN_MIN,
    COLUMN_P50,
    COLUMN_P90,
    COLUMN_P99,
    COLUMN_MAX,
    COLUMN_STD,
    COLUMN_OPEN,
    COLUMN_SUM,
    COLUMNS
};

/* The columns before the figures depend on what a row stands for; see choose_columns. */
static const struct table_column all_columns[COLUMNS] = {
    [COLUMN_NAME] = {.key = "name", .title = "zone", .shrink = 20},
    [COLUMN_LOCATION] = {.key = "location", .title = "location", .shown = TABLE_TERMINAL_ONLY, .shrink = 16},
    [COLUMN_FUNCTION] = {.key = "function", .shown = TABLE_DATA_ONLY},
    [COLUMN_FILE] = {.key = "file", .shown = TABLE_DATA_ONLY},
    [COLUMN_LINE] = {.key = "line", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [COLUMN_PROCESS] = {.key = "process", .title = "process", .shown = TABLE_TERMINAL_ONLY, .shrink = 12},
    [COLUMN_PID] = {.key = "pid", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [COLUMN_PROGRAM] = {.key = "program", .shown = TABLE_DATA_ONLY},
    [COLUMN_THREAD] = {.key = "thread", .title = "thread", .shrink = 14},
    [COLUMN_TID] = {.key = "tid", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [COLUMN_COUNT] = {.key = "count", .title = "count", .type = TABLE_INTEGER},
    [COLUMN_TOTAL] = {.key = "total", .title = "total", .type = TABLE_TIME},
    [COLUMN_WALL] = {.key = "wall", .title = "wall", .type = TABLE_PERCENT, .decimals = 1, .drop = 2},
    [COLUMN_SELF] = {.key = "self", .title = "self", .type = TABLE_TIME, .drop = 1},
    [COLUMN_WAITING] = {.key = "waiting", .title = "waiting", .type = TABLE_TIME, .drop = 3},
    [COLUMN_MEAN] = {.key = "mean", .title = "mean", .type = TABLE_TIME, .drop = 4},
    [COLUMN_MIN] = {.key = "min", .title = "min", .type = TABLE_TIME, .drop = 8},
    [COLUMN_P50] = {.key = "p50", .title = "p50", .type = TABLE_TIME, .drop = 7},
    [COLUMN_P90] = {.key = "p90", .title = "p90", .type = TABLE_TIME, .drop = 9},
    [COLUMN_P99] = {.key = "p99", .title = "p99", .type = TABLE_TIME, .drop = 6},
    [COLUMN_MAX] = {.key = "max", .title = "max", .type = TABLE_TIME, .drop = 5},
    [COLUMN_STD] = {.key = "std", .title = "std", .type = TABLE_TIME, .drop = 10},
    [COLUMN_OPEN] = {.key = "open", .type = TABLE_INTEGER, .shown = TABLE_DATA_ONLY},
    [COLUMN_SUM] = {.key = "sum", .title = "sum", .type = TABLE_TIME, .drop = 11},
};

static const char *const by_choices[] = {"name", "location", "thread", "process", NULL};
static const char *const sort_choices[] = {"total", "self", "count", "mean", "min",  "p50", "p90",
                                           "p99",   "max",  "std",   "sum",  "name", NULL};

/* Which of all_columns a table grouped so has, in order. `index` maps from them to the table's own. */
static size_t choose_columns(enum zone_stats_by by, const struct zone_stats *stats,
                             struct table_column *columns, size_t *index)
{
    size_t count = 0;
    bool has_nested = false, has_waiting = false;
    for (size_t i = 0; i < stats->row_count; i++) {
        has_nested |= stats->rows[i].sum_ns != stats->rows[i].total_ns;
        has_waiting |= stats->rows[i].waiting_ns > 0;
    }
    for (size_t c = 0; c < COLUMNS; c++) {
        bool is_process = c >= COLUMN_PROCESS && c <= COLUMN_PROGRAM;
        bool is_thread = c == COLUMN_THREAD || c == COLUMN_TID;
        index[c] = SIZE_MAX;
        if ((c == COLUMN_FUNCTION && by != ZONE_STATS_BY_LOCATION) ||
            (is_thread && by != ZONE_STATS_BY_THREAD) ||
            (is_process && by != ZONE_STATS_BY_THREAD && by != ZONE_STATS_BY_PROCESS))
            continue;
        index[c] = count;
        columns[count] = all_columns[c];
        if ((c == COLUMN_SUM && !has_nested) || (c == COLUMN_WAITING && !has_waiting))
            columns[count].shown = TABLE_DATA_ONLY; /* the total once more; nothing but 0 */
        count++;
    }
    return count;
}

static void add_row(struct view *view, struct table *table, const size_t *at,
                    const struct zone_stats_row *row)
{
    const struct trace_name *name = trace_get_name(view->trace, row->name);
    char text[PATH_MAX + 16];
    table_add_row(table);
    if (row->open_count && view->output.format == OUTPUT_TERMINAL)
        table_set_format(table, at[COLUMN_NAME], "%s (%" PRIu64 " not ended)", name->name, row->open_count);
    else
        table_set_text(table, at[COLUMN_NAME], name->name);
    view_set_place(view, table, at[COLUMN_LOCATION], at[COLUMN_FILE], at[COLUMN_LINE], row->name,
                   row->name_count);
    if (at[COLUMN_FUNCTION] != SIZE_MAX)
        table_set_text(table, at[COLUMN_FUNCTION], name->function);
    const struct trace_process *process =
        row->process == TRACE_NONE ? NULL : trace_get_process(view->trace, row->process);
    if (at[COLUMN_PROCESS] != SIZE_MAX && process) {
        view_set_process(view, table, at[COLUMN_PROCESS], row->process);
        table_set_integer(table, at[COLUMN_PID], process->pid);
        table_set_text(table, at[COLUMN_PROGRAM], label_program(process, text, sizeof text));
    }
    if (at[COLUMN_THREAD] != SIZE_MAX && row->track != TRACE_NONE) {
        view_set_track(view, table, at[COLUMN_THREAD], row->track);
        table_set_unsigned(table, at[COLUMN_TID], trace_get_track(view->trace, row->track)->number);
    }
    table_set_unsigned(table, at[COLUMN_COUNT], row->count);
    table_set_unsigned(table, at[COLUMN_TOTAL], row->total_ns);
    table_set_real(table, at[COLUMN_WALL], row->wall_percent);
    table_set_unsigned(table, at[COLUMN_SELF], row->self_ns);
    table_set_unsigned(table, at[COLUMN_WAITING], row->waiting_ns);
    table_set_real(table, at[COLUMN_MEAN], row->mean_ns);
    table_set_unsigned(table, at[COLUMN_MIN], row->min_ns);
    table_set_unsigned(table, at[COLUMN_P50], row->p50_ns);
    table_set_unsigned(table, at[COLUMN_P90], row->p90_ns);
    table_set_unsigned(table, at[COLUMN_P99], row->p99_ns);
    table_set_unsigned(table, at[COLUMN_MAX], row->max_ns);
    table_set_real(table, at[COLUMN_STD], row->std_ns);
    table_set_unsigned(table, at[COLUMN_OPEN], row->open_count);
    if (row->open_count)
        table_set_style(table, at[COLUMN_NAME], TABLE_WARN);
    table_set_unsigned(table, at[COLUMN_SUM], row->sum_ns);
}

static bool waits(const struct zone_stats_row *row)
{
    return waiting_is_all(row->waiting_ns, row->total_ns);
}

/* A line among the rows that says what those below it are. */
static void add_heading(struct table *table, const char *text)
{
    table_add_row(table);
    for (size_t c = 0; c < table->column_count; c++)
        table_set_text(table, c, "");
    table_set_text(table, 0, text);
    table_set_style(table, 0, TABLE_BOLD);
}

/* Rows in order of total. For people, those that only wait come after the others, and have a part of the room at
 * least. Returns how many rows are shown. */
static size_t add_rows(struct view *view, struct table *table, const size_t *index,
                       const struct zone_stats *stats, size_t limit)
{
    size_t waiting = 0, shown = 0;
    bool is_for_people = view->output.format == OUTPUT_TERMINAL;
    for (size_t i = 0; i < stats->row_count && is_for_people; i++)
        waiting += waits(&stats->rows[i]);
    size_t working = stats->row_count - waiting;
    if (waiting + working > limit) {
        size_t least = limit / 5 < waiting ? limit / 5 : waiting; /* of those that wait */
        working = working < limit - least ? working : limit - least;
        waiting = waiting < limit - working ? waiting : limit - working;
    }
    for (size_t i = 0; i < stats->row_count && shown < working; i++) {
        if (is_for_people && waits(&stats->rows[i]))
            continue;
        add_row(view, table, index, &stats->rows[i]);
        shown++;
    }
    if (waiting && working)
        add_heading(table, "waiting:");
    for (size_t i = 0; i < stats->row_count && shown < working + waiting; i++) {
        if (!waits(&stats->rows[i]))
            continue;
        add_row(view, table, index, &stats->rows[i]);
        shown++;
    }
    return shown;
}

static void add_notes(struct view *view, const struct zone_stats *stats, size_t shown)
{
    struct number_text zones, rows, wall;
    size_t shared_names = 0;
    if (view->output.format != OUTPUT_TERMINAL || stats->row_count == 0)
        return;
    for (size_t i = 0; i < stats->row_count; i++)
        shared_names += stats->rows[i].name_count > 1;
    format_things(&zones, stats->zone_count, "zone");
    format_time(&wall, stats->wall_ns);
    if (shown < stats->row_count)
        report_note(&view->report, TABLE_DIM, "%zu of %s rows (--all shows all); %s in %s", shown,
                    format_count(&rows, stats->row_count), zones.text, wall.text);
    else
        report_note(&view->report, TABLE_DIM, "%s in %s", zones.text, wall.text);
    if (shared_names)
        report_note(&view->report, TABLE_DIM,
                    "(names of several places are one row each; --by location shows the places apart)");
}

static void show(struct view *view, const struct zones_options *options, const struct zone_stats *stats)
{
    struct table_column columns[COLUMNS];
    size_t index[COLUMNS], limit = view_row_limit(view, &options->rows), shown;
    struct table table;
    table_init(&table, "zones", columns, choose_columns(options->by, stats, columns, index));
    const char *key = sort_choices[options->sort];
    if (strcmp(key, "total") == 0 && !options->reverse) { /* as they come */
        shown = add_rows(view, &table, index, stats, limit);
    } else {
        for (size_t i = 0; i < stats->row_count; i++)
            add_row(view, &table, index, &stats->rows[i]);
        table_sort(&table, table_find_column(&table, key), (strcmp(key, "name") != 0) != options->reverse);
        table_truncate(&table, limit);
        shown = table.row_count;
    }
    report_number(&view->report, "zones", NULL, TABLE_INTEGER, stats->zone_count);
    report_number(&view->report, "wall", NULL, TABLE_TIME, stats->wall_ns);
    view_add_table(view, &table, "zones");
    add_notes(view, stats, shown);
    view_add_open_zones(view);
    view_add_state(view);
    table_free(&table);
}

/* The option that asks for another table than the one of zones; NULL. */
static const char *other_table(const struct zones_options *options)
{
    return options->by_test   ? "--by-test"
           : options->source  ? "--source"
           : options->callers ? "--callers"
           : options->callees ? "--callees"
                              : NULL;
}

/* What goes with what; COMMAND_CONTINUE, or the exit status. */
static int check(const struct command *command, const struct zones_options *options)
{
    const char *other = other_table(options);
    if (options->by_test + options->source + !!options->callers + !!options->callees > 1)
        return command_usage_error(command,
                                   "--by-test, --source, --callers and --callees exclude each other");
    if (options->source_folders.count && !options->source)
        return command_usage_error(command, "--source-dir goes with --source");
    if (options->split && !options->by_test)
        return command_usage_error(command, "--split goes with --by-test");
    if (other && options->by)
        return command_usage_error(command, "--by does not go with %s", other);
    if (other && !options->by_test && (options->sort || options->reverse))
        return command_usage_error(command, "%s has its own order", other);
    return COMMAND_CONTINUE;
}

static int show_other(struct view *view, const struct zones_options *options, struct error *err)
{
    struct zones_choice choice = {.sort = sort_choices[options->sort],
                                  .reverse = options->reverse,
                                  .top = options->rows.top,
                                  .source_folders = &options->source_folders};
    if (options->by_test)
        return zones_show_tests(view, &choice, options->split, err);
    if (options->source)
        return zones_show_source(view, &choice, err);
    choice.top = view_row_limit(view, &options->rows);
    return zones_show_calls(view, &choice, options->callers ? options->callers : options->callees,
                            options->callers != NULL, err);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct zones_options options = {0};
    struct command_line line;
    struct view view;
    struct zone_stats stats;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status == COMMAND_CONTINUE)
        status = check(command, &options);
    if (status == COMMAND_CONTINUE)
        status = view_open(&view, command, line.values[0], &options.filter, &options.output,
                           options.by_test                      ? "tests"
                           : options.source                     ? "lines"
                           : options.callers || options.callees ? "calls"
                                                                : "zones");
    if (status != COMMAND_CONTINUE)
        return status;
    if (other_table(&options))
        return show_other(&view, &options, &err) == 0 ? view_close(&view, EXIT_OK) : view_fail(&view, &err);
    if (zone_stats_make(&stats, view.trace, &view.filter, options.by | ZONE_STATS_WAITING, &err) != 0)
        return view_fail(&view, &err);
    show(&view, &options, &stats);
    zone_stats_free(&stats);
    return view_close(&view, EXIT_OK);
}

static const struct command_option zones_options[] = {
    {.name = "by",
     .type = OPTION_CHOICE,
     .argument = "WHAT",
     .offset = OPTION_FIELD(struct zones_options, by),
     .choices = by_choices,
     .help =
         "What a row is: a zone name (the default; functions that share a name are rows of their own), a name at "
         "one place in the source, a name in one thread, a name in one process."},
    {.name = "sort",
     .letter = 's',
     .type = OPTION_CHOICE,
     .argument = "COLUMN",
     .offset = OPTION_FIELD(struct zones_options, sort),
     .choices = sort_choices,
     .help = "Sort by this column, largest first (names in alphabetical order). The default is total."},
    {.name = "reverse",
     .letter = 'r',
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct zones_options, reverse),
     .help = "Turn the order around."},
    {.name = "callers",
     .type = OPTION_TEXT,
     .argument = "PATTERN",
     .offset = OPTION_FIELD(struct zones_options, callers),
     .help = "Who calls the zones whose names match, how often, and how much of their time that makes."},
    {.name = "callees",
     .type = OPTION_TEXT,
     .argument = "PATTERN",
     .offset = OPTION_FIELD(struct zones_options, callees),
     .help = "What the zones whose names match call, how often, and how much of their time that takes."},
    {.name = "by-test",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct zones_options, by_test),
     .help = "One row for each test that pytest ran: outcome, times of setup, call and teardown, total."},
    {.name = "split",
     .type = OPTION_TEXT,
     .argument = "DIR",
     .offset = OPTION_FIELD(struct zones_options, split),
     .is_file = true,
     .help = "With --by-test: also write a trace for each of these tests into this folder."},
    {.name = "source",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct zones_options, source),
     .help = "Times of lines beside their text, for traces that were recorded line by line "
             "(run --python-trace lines, python3 -m opscope -l). --name chooses functions."},
    OPTION_SOURCE_FOLDER("source-dir", OPTION_FIELD(struct zones_options, source_folders)),
    {0},
};

static const struct option_table zones_table = {"Options", zones_options};

static const struct command_example examples[] = {
    {"opscope zones t.opscope", "Where the time went, by zone name."},
    {"opscope zones t.opscope --by thread --sort self --top 20",
     "The 20 zones that worked longest themselves."},
    {"opscope zones t.opscope --name 'load*' --since 1s --until 2s --csv",
     "Loading in the second second, as CSV."},
    {"opscope zones t.opscope --mine --top 10", "The ten longest functions of this project."},
    {"opscope zones t.opscope --callers json.dumps", "Who calls json.dumps, and what that costs."},
    {"opscope zones t.opscope --by-test", "Which test of a pytest session took how long."},
    {"opscope zones t.opscope --source --name 'Model.*'",
     "The lines of the methods of Model, with their times."},
    {"ssh host cat t.opscope | opscope zones -", "A trace from elsewhere."},
    {0},
};

const struct command command_zones = {
    .name = "zones",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Show statistics of the zones: count, total, self, mean, percentiles",
    .usage = (const char *const[]){"[options] FILE", NULL},
    .description =
        "One row for each zone name: where it is in the source (location), how often it ran (count), its time "
        "with (total) and without (self) the zones inside it, its total as a share of the wall clock time from "
        "the start to the end of the trace (wall; over 100 % when several threads run it at once), mean, "
        "smallest, largest and standard deviation of its duration, and the durations that 50, 90 and 99 % of its "
        "zones do not exceed.\n\n"
        "Percentiles are exact for rows of up to 512 zones and for durations below 256 ns, and otherwise within "
        "1 % (0.4 % by construction of the buckets). All other figures are exact.\n\n"
        "Time inside an outer zone of the same row and thread, as in a recursive function, counts once in total and "
        "wall; sum adds up all durations, and count, mean and the percentiles are of all zones.\n\n"
        "Rows whose time is all spent in calls that block (locks, queues, select, sleep, join and the like, known by "
        "their names) come after the others; waiting is that time in any row.\n\n"
        "With --since and --until, zones that reach out of the window count with the part inside it, and wall is "
        "the length of the window. Zones that had not ended when their process died or the recording stopped count "
        "with the time until their thread was last seen; a line below the table names them. When records were lost, "
        "a line says how many and why.\n\n"
        "--by-test and --source show other tables. A line's total is the time from when it was reached until the "
        "next line of its function was, calls included; self is without the zones inside, and share is of the "
        "lines of its function. The text of a line is in the trace, unless that was recorded with "
        "--no-source.",
    .options = {{&zones_table, 0},
                {&row_option_table, OPTION_FIELD(struct zones_options, rows)},
                {&filter_option_table, OPTION_FIELD(struct zones_options, filter)},
                {&source_option_table, OPTION_FIELD(struct zones_options, filter)},
                {&output_option_table, OPTION_FIELD(struct zones_options, output)}},
    .arguments = view_arguments,
    .exits = view_exits,
    .examples = examples,
    .see_also = (const char *const[]){"tree", "info", "export", NULL},
    .run = run,
};
