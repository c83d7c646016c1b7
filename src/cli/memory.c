/* SPDX-License-Identifier: Apache-2.0 */
/* opscope memory: allocations, peaks and leaks by pool. */
#include <inttypes.h>

#include "analyze/labels.h"
#include "analyze/events/memory.h"
#include "cli/view.h"
#include "present/format.h"

#define SHOWN_LEAKS 10u
#define LINES_BETWEEN 4u /* of the second table: a blank line, its heading, its columns, its note */
#define LEAST_ROWS 2u    /* of either table */

struct memory_options {
    struct trace_filter_options filter;
    struct output_options output;
    struct row_options rows;
    bool leaks;
};

enum {
    POOL_NAME,
    POOL_PROCESS,
    POOL_PID,
    POOL_PROGRAM,
    POOL_ALLOCATIONS,
    POOL_RELEASES,
    POOL_ALLOCATED,
    POOL_PEAK,
    POOL_PEAK_AT,
    POOL_LIVE,
    POOL_LIVE_COUNT,
    POOL_UNMATCHED,
    POOL_REPLACED,
    POOL_COLUMNS
};

static const struct table_column pool_columns[POOL_COLUMNS] = {
    [POOL_NAME] = {.key = "pool", .title = "pool", .shrink = 12},
    [POOL_PROCESS] =
        {.key = "process", .title = "process", .shown = TABLE_TERMINAL_ONLY, .shrink = 12, .drop = 6},
    [POOL_PID] = {.key = "pid", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [POOL_PROGRAM] = {.key = "program", .shown = TABLE_DATA_ONLY},
    [POOL_ALLOCATIONS] = {.key = "allocations", .title = "allocs", .type = TABLE_INTEGER, .drop = 2},
    [POOL_RELEASES] = {.key = "releases", .title = "releases", .type = TABLE_INTEGER, .drop = 3},
    [POOL_ALLOCATED] = {.key = "allocated", .title = "allocated", .type = TABLE_BYTES, .drop = 5},
    [POOL_PEAK] = {.key = "peak", .title = "peak", .type = TABLE_BYTES},
    [POOL_PEAK_AT] = {.key = "peak_at", .title = "peak at", .type = TABLE_INSTANT, .drop = 1},
    [POOL_LIVE] = {.key = "live", .title = "not released", .type = TABLE_BYTES},
    [POOL_LIVE_COUNT] = {.key = "live_count", .title = "in", .type = TABLE_INTEGER, .drop = 4},
    [POOL_UNMATCHED] = {.key = "unmatched_releases", .type = TABLE_INTEGER, .shown = TABLE_DATA_ONLY},
    [POOL_REPLACED] = {.key = "lost_releases", .type = TABLE_INTEGER, .shown = TABLE_DATA_ONLY},
};

enum {
    LEAK_POOL,
    LEAK_PID,
    LEAK_ZONE,
    LEAK_LOCATION,
    LEAK_FILE,
    LEAK_LINE,
    LEAK_COUNT,
    LEAK_BYTES,
    LEAK_FIRST,
    LEAK_COLUMNS
};

static const struct table_column leak_columns[LEAK_COLUMNS] = {
    [LEAK_POOL] = {.key = "pool", .title = "pool", .shrink = 12},
    [LEAK_PID] = {.key = "pid", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [LEAK_ZONE] = {.key = "zone", .title = "allocated in", .shrink = 20},
    [LEAK_LOCATION] =
        {.key = "location", .title = "location", .shown = TABLE_TERMINAL_ONLY, .shrink = 16, .drop = 2},
    [LEAK_FILE] = {.key = "file", .shown = TABLE_DATA_ONLY},
    [LEAK_LINE] = {.key = "line", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [LEAK_COUNT] = {.key = "count", .title = "count", .type = TABLE_INTEGER},
    [LEAK_BYTES] = {.key = "size", .title = "bytes", .type = TABLE_BYTES},
    [LEAK_FIRST] = {.key = "first", .title = "first at", .type = TABLE_INSTANT, .drop = 1},
};

/* The default pool has no name; people need something to read. */
static void set_pool_name(struct view *view, struct table *table, size_t column, const char *name)
{
    bool is_for_people = view->output.format == OUTPUT_TERMINAL;
    table_set_text(table, column, *name || !is_for_people ? name : "(default)");
}

static void add_pool(struct view *view, struct table *table, const struct memory_stats *stats,
                     const struct memory_pool *pool)
{
    const struct trace_process *process =
        pool->process == TRACE_NONE ? NULL : trace_get_process(view->trace, pool->process);
    char program[64];
    table_add_row(table);
    set_pool_name(view, table, POOL_NAME, memory_pool_name(stats, pool));
    if (process) {
        view_set_process(view, table, POOL_PROCESS, pool->process);
        table_set_integer(table, POOL_PID, process->pid);
        table_set_text(table, POOL_PROGRAM, label_program(process, program, sizeof program));
    }
    table_set_unsigned(table, POOL_ALLOCATIONS, pool->allocations);
    table_set_unsigned(table, POOL_RELEASES, pool->releases);
    table_set_unsigned(table, POOL_ALLOCATED, pool->allocated_bytes);
    table_set_unsigned(table, POOL_PEAK, pool->peak_bytes);
    if (pool->peak_bytes)
        table_set_unsigned(table, POOL_PEAK_AT, view_since_start(view, pool->peak_ns));
    table_set_unsigned(table, POOL_LIVE, pool->live_bytes);
    table_set_unsigned(table, POOL_LIVE_COUNT, pool->live_count);
    table_set_unsigned(table, POOL_UNMATCHED, pool->unmatched);
    table_set_unsigned(table, POOL_REPLACED, pool->replaced);
    if (pool->live_bytes)
        table_set_style(table, POOL_LIVE, TABLE_WARN);
}

static void add_leak(struct view *view, struct table *table, const struct memory_stats *stats,
                     const struct memory_leak *leak)
{
    const struct memory_pool *pool = &stats->pools[leak->pool];
    const struct trace_process *process =
        pool->process == TRACE_NONE ? NULL : trace_get_process(view->trace, pool->process);
    table_add_row(table);
    set_pool_name(view, table, LEAK_POOL, memory_pool_name(stats, pool));
    if (process)
        table_set_integer(table, LEAK_PID, process->pid);
    if (leak->name != TRACE_NONE) {
        table_set_text(table, LEAK_ZONE, trace_get_name(view->trace, leak->name)->name);
        view_set_place(view, table, LEAK_LOCATION, LEAK_FILE, LEAK_LINE, leak->name, 1);
    }
    table_set_unsigned(table, LEAK_COUNT, leak->count);
    table_set_unsigned(table, LEAK_BYTES, leak->bytes);
    table_set_unsigned(table, LEAK_FIRST, view_since_start(view, leak->first_ns));
}

/* How many rows of each table: on a terminal both share its height. */
struct limits {
    size_t pools, leaks;
};

static struct limits find_limits(const struct view *view, const struct memory_options *options,
                                 const struct memory_stats *stats)
{
    size_t limit = view_row_limit(view, &options->rows), leaks = stats->leak_count;
    struct limits limits = {limit, limit};
    if (options->leaks || options->rows.top || options->rows.all || view->output.format != OUTPUT_TERMINAL)
        return limits;
    limits.leaks = SHOWN_LEAKS;
    if (!leaks || limit == SIZE_MAX)
        return limits;
    leaks = leaks < SHOWN_LEAKS ? leaks : SHOWN_LEAKS;
    limit = limit > LINES_BETWEEN + 2 * LEAST_ROWS ? limit - LINES_BETWEEN : 2 * LEAST_ROWS;
    limits.pools = limit - (leaks < limit / 2 ? leaks : limit / 2);
    if (stats->pool_count < limits.pools)
        limits.pools = stats->pool_count;
    limits.leaks = limit - limits.pools < SHOWN_LEAKS ? limit - limits.pools : SHOWN_LEAKS;
    return limits;
}

static void add_leaks(struct view *view, const struct memory_options *options,
                      const struct memory_stats *stats, size_t limit)
{
    struct table table;
    bool is_alone = options->leaks;
    table_init(&table, "leaks", leak_columns, LEAK_COLUMNS);
    for (size_t i = 0; i < stats->leak_count && i < limit; i++)
        add_leak(view, &table, stats, &stats->leaks[i]);
    if (is_alone) {
        view_add_table(view, &table, "leaks");
    } else if (stats->leak_count || report_is_json(&view->report)) {
        report_heading(&view->report, "Not released, by the zone that allocated it");
        report_table(&view->report, "leaks", &table);
    }
    view_note_rows(view, table.row_count, stats->leak_count);
    table_free(&table);
}

static void show(struct view *view, const struct memory_options *options, const struct memory_stats *stats)
{
    struct table table;
    struct limits limits = find_limits(view, options, stats);
    uint64_t unmatched = 0, replaced = 0;
    for (size_t i = 0; i < stats->pool_count; i++) {
        unmatched += stats->pools[i].unmatched;
        replaced += stats->pools[i].replaced;
    }
    table_init(&table, "pools", pool_columns, POOL_COLUMNS);
    for (size_t i = 0; i < stats->pool_count && i < limits.pools && !options->leaks; i++)
        add_pool(view, &table, stats, &stats->pools[i]);
    if (!options->leaks) {
        view_add_table(view, &table, "memory events");
        view_note_rows(view, table.row_count, stats->pool_count);
    }
    if (options->leaks || view->output.format != OUTPUT_CSV)
        add_leaks(view, options, stats, limits.leaks);
    if (unmatched)
        report_note(&view->report, TABLE_WARN,
                    "%" PRIu64
                    " release%s of what was allocated before the recording, or whose record was lost",
                    unmatched, unmatched == 1 ? "" : "s");
    if (replaced)
        report_note(&view->report, TABLE_WARN,
                    "%" PRIu64 " allocation%s at an address in use: the release before is not in the trace",
                    replaced, replaced == 1 ? "" : "s");
    view_add_state(view);
    table_free(&table);
}

static int run(const struct command *command, int argc, char **argv)
{
    struct memory_options options = {0};
    struct command_line line;
    struct view view;
    struct memory_stats stats;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status == COMMAND_CONTINUE)
        status = view_open(&view, command, line.values[0], &options.filter, &options.output,
                           options.leaks ? "leaks" : "memory");
    if (status != COMMAND_CONTINUE)
        return status;
    if (memory_stats_make(&stats, view.trace, &view.filter, &err) != 0)
        return view_fail(&view, &err);
    show(&view, &options, &stats);
    memory_stats_free(&stats);
    return view_close(&view, EXIT_OK);
}

static const struct command_option memory_options[] = {
    {.name = "leaks",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct memory_options, leaks),
     .help = "Only what was not released, by pool and by the zone that allocated it; as CSV, too."},
    {0},
};

static const struct option_table memory_table = {"Options", memory_options};

static const struct command_example examples[] = {
    {"opscope memory t.opscope", "Peaks by pool, and what was never released."},
    {"opscope memory t.opscope --name 'gpu*' --leaks --csv", "All leaks of some pools, for a script."},
    {0},
};

const struct command command_memory = {
    .name = "memory",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Show memory by pool: allocations, peaks, and what was not released",
    .usage = (const char *const[]){"[options] FILE", NULL},
    .description =
        "One row for each memory pool of each process that the program reported (opscope_alloc, opscope_free): "
        "allocations and releases, the bytes allocated in all, the most that were in use at once and when (peak at, "
        "since the start of the trace), and what was not released, in how many allocations. Below it, what was not "
        "released is added up by the innermost zone that was running on the thread when it was allocated, largest "
        "first; a zone of an allocator (malloc, calloc, ... in its name) stands for itself only where nothing called "
        "it.\n\n"
        "Releases of what was allocated before the recording are counted and otherwise have no effect. With --since "
        "and --until, allocations and releases are those in the window, and not released means at its end. --process "
        "chooses processes and --name pools; a pool belongs to its whole process, so that --thread has no effect.",
    .options = {{&memory_table, 0},
                {&row_option_table, OPTION_FIELD(struct memory_options, rows)},
                {&filter_option_table, OPTION_FIELD(struct memory_options, filter)},
                {&output_option_table, OPTION_FIELD(struct memory_options, output)}},
    .arguments = view_arguments,
    .exits = view_exits,
    .examples = examples,
    .see_also = (const char *const[]){"zones", "counters", NULL},
    .run = run,
};
