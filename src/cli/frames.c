/* SPDX-License-Identifier: Apache-2.0 */
/* opscope frames: times from one frame mark to the next, and the slowest frames with what ran in them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/events/frames.h"
#include "analyze/labels.h"
#include "analyze/zones/stats.h"
#include "analyze/zones/waiting.h"
#include "cli/view.h"
#include "present/format.h"
#include "text/utf8.h"

#define DEFAULT_SLOWEST 5u
#define NAMED_ZONES 3u
#define NAME_COLUMNS 30u

struct frames_options {
    struct trace_filter_options filter;
    struct output_options output;
    struct row_options rows;
    bool list;
};

enum {
    ROW_NAME,
    ROW_PROCESS,
    ROW_PID,
    ROW_PROGRAM,
    ROW_COUNT,
    ROW_FPS,
    ROW_MEAN,
    ROW_MIN,
    ROW_P50,
    ROW_P95,
    ROW_P99,
    ROW_MAX,
    ROW_TOTAL,
    ROW_COLUMNS
};

static const struct table_column row_columns[ROW_COLUMNS] = {
    [ROW_NAME] = {.key = "name", .title = "frame", .shrink = 12},
    [ROW_PROCESS] =
        {.key = "process", .title = "process", .shown = TABLE_TERMINAL_ONLY, .shrink = 12, .drop = 4},
    [ROW_PID] = {.key = "pid", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [ROW_PROGRAM] = {.key = "program", .shown = TABLE_DATA_ONLY},
    [ROW_COUNT] = {.key = "count", .title = "count", .type = TABLE_INTEGER},
    [ROW_FPS] = {.key = "fps", .title = "per s", .type = TABLE_REAL, .decimals = 1, .drop = 1},
    [ROW_MEAN] = {.key = "mean", .title = "mean", .type = TABLE_TIME},
    [ROW_MIN] = {.key = "min", .title = "min", .type = TABLE_TIME, .drop = 5},
    [ROW_P50] = {.key = "p50", .title = "p50", .type = TABLE_TIME, .drop = 2},
    [ROW_P95] = {.key = "p95", .title = "p95", .type = TABLE_TIME, .drop = 3},
    [ROW_P99] = {.key = "p99", .title = "p99", .type = TABLE_TIME},
    [ROW_MAX] = {.key = "max", .title = "max", .type = TABLE_TIME},
    [ROW_TOTAL] = {.key = "total", .type = TABLE_TIME, .shown = TABLE_DATA_ONLY},
};

enum {
    FRAME_NAME,
    FRAME_NUMBER,
    FRAME_PID,
    FRAME_THREAD,
    FRAME_START,
    FRAME_DURATION,
    FRAME_ZONES,
    FRAME_COLUMNS
};

static const struct table_column frame_columns[FRAME_COLUMNS] = {
    [FRAME_NAME] = {.key = "name", .title = "frame", .shrink = 12},
    [FRAME_NUMBER] = {.key = "number", .title = "number", .type = TABLE_IDENTIFIER},
    [FRAME_PID] = {.key = "pid", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [FRAME_THREAD] = {.key = "thread", .title = "thread", .shrink = 10, .drop = 1},
    [FRAME_START] = {.key = "start", .title = "start", .type = TABLE_INSTANT},
    [FRAME_DURATION] = {.key = "duration", .title = "time", .type = TABLE_TIME},
    [FRAME_ZONES] = {.key = "ran", .title = "what ran, by its own time", .shrink = 24},
};

static void add_row(struct view *view, struct table *table, const struct frame_stats *stats,
                    const struct frame_row *row)
{
    const struct trace_process *process =
        row->process == TRACE_NONE ? NULL : trace_get_process(view->trace, row->process);
    char program[64];
    table_add_row(table);
    table_set_text(table, ROW_NAME, frame_row_name(stats, row));
    if (process) {
        view_set_process(view, table, ROW_PROCESS, row->process);
        table_set_integer(table, ROW_PID, process->pid);
        table_set_text(table, ROW_PROGRAM, label_program(process, program, sizeof program));
    }
    table_set_unsigned(table, ROW_COUNT, row->count);
    if (row->count == 0) /* a single mark: no frame is known from its start to its end */
        return;
    double mean = (double)row->total_ns / (double)row->count;
    if (row->total_ns)
        table_set_real(table, ROW_FPS, 1e9 / mean);
    table_set_real(table, ROW_MEAN, mean);
    table_set_unsigned(table, ROW_MIN, row->min_ns);
    table_set_unsigned(table, ROW_P50, row->p50_ns);
    table_set_unsigned(table, ROW_P95, row->p95_ns);
    table_set_unsigned(table, ROW_P99, row->p99_ns);
    table_set_unsigned(table, ROW_MAX, row->max_ns);
    table_set_unsigned(table, ROW_TOTAL, row->total_ns);
}

/* What waits comes last: idle threads of a pool would lead every frame. */
static int compare_self(const void *left, const void *right, void *context)
{
    const struct zone_stats_row *a = left, *b = right;
    bool a_waits = waiting_is_name(trace_get_name(context, a->name)->name);
    bool b_waits = waiting_is_name(trace_get_name(context, b->name)->name);
    if (a_waits != b_waits)
        return a_waits ? 1 : -1;
    if (a->self_ns != b->self_ns)
        return a->self_ns < b->self_ns ? 1 : -1;
    return (a->name > b->name) - (a->name < b->name);
}

/* "matmul 12.300 ms, load 1.100 ms": the zones of the frame's process during it, by their own time. */
static int append_zones(struct view *view, const struct frame *frame, struct bytes *text, struct error *err)
{
    const struct trace_process *process = view_process_of(view, frame->track);
    struct trace_filter filter = view->filter;
    struct text_list no_names = {0};
    struct zone_stats zones;
    filter.has_window = true;
    filter.since_ns = frame->start_ns;
    filter.until_ns = frame->start_ns + frame->duration_ns;
    filter.names = &no_names; /* --name chooses frames */
    filter.wants_all_names = true;
    filter.name_count = 0;
    filter.has_tracks = true;
    filter.track_wanted = calloc(filter.track_count + 1, sizeof(bool));
    if (!filter.track_wanted)
        return error_no_memory(err, "frames");
    for (uint32_t i = 0; i < filter.track_count; i++)
        filter.track_wanted[i] = process && trace_get_track(view->trace, i)->process == process->id;
    int result = zone_stats_make(&zones, view->trace, &filter, ZONE_STATS_BY_NAME, err);
    free(filter.track_wanted);
    if (result != 0)
        return result;
    qsort_r(zones.rows, zones.row_count, sizeof zones.rows[0], compare_self, view->trace);
    size_t named = 0;
    for (size_t i = 0; i < zones.row_count && named < NAMED_ZONES; i++) {
        const char *name = trace_get_name(view->trace, zones.rows[i].name)->name;
        struct number_text time;
        if (!zones.rows[i].self_ns) /* the last of those that work; some that wait may follow */
            continue;
        bytes_append_text(text, named++ ? ", " : "");
        utf8_append_shortened(text, name, strlen(name), NAME_COLUMNS, "..");
        bytes_append_format(text, " %s", format_time(&time, zones.rows[i].self_ns));
    }
    zone_stats_free(&zones);
    return 0;
}

static int add_frame(struct view *view, struct table *table, const struct frame_stats *stats,
                     const struct frame *frame, bool with_zones, struct error *err)
{
    const struct trace_process *process = view_process_of(view, frame->track);
    struct bytes text = {0};
    int result = with_zones ? append_zones(view, frame, &text, err) : 0;
    table_add_row(table);
    table_set_text(table, FRAME_NAME, frame_row_name(stats, &stats->rows[frame->row]));
    table_set_unsigned(table, FRAME_NUMBER, frame->number);
    if (process)
        table_set_integer(table, FRAME_PID, process->pid);
    view_set_track(view, table, FRAME_THREAD, frame->track);
    table_set_unsigned(table, FRAME_START, view_since_start(view, frame->start_ns));
    table_set_unsigned(table, FRAME_DURATION, frame->duration_ns);
    if (text.length && !text.failed)
        table_set_text_length(table, FRAME_ZONES, (const char *)text.data, text.length);
    bytes_free(&text);
    return result;
}

/* The slowest frames, below the statistics. */
static int add_slowest(struct view *view, const struct frame_stats *stats, size_t count, struct error *err)
{
    size_t *slowest = malloc((stats->frame_count + 1) * sizeof *slowest);
    struct table table;
    count = count < stats->frame_count ? count : stats->frame_count;
    if (!slowest || !frame_stats_slowest(stats, count, slowest)) {
        free(slowest);
        return error_no_memory(err, "frames");
    }
    int result = 0;
    table_init(&table, "slowest", frame_columns, FRAME_COLUMNS);
    for (size_t i = 0; i < count && result == 0; i++)
        result = add_frame(view, &table, stats, &stats->frames[slowest[i]], true, err);
    if (result == 0 && (count || report_is_json(&view->report))) {
        report_heading(&view->report, "Slowest");
        report_table(&view->report, "slowest", &table);
    }
    table_free(&table);
    free(slowest);
    return result;
}

static int show_statistics(struct view *view, const struct frames_options *options,
                           const struct frame_stats *stats, struct error *err)
{
    struct table table;
    int result = 0;
    table_init(&table, "frames", row_columns, ROW_COLUMNS);
    for (size_t i = 0; i < stats->row_count; i++)
        add_row(view, &table, stats, &stats->rows[i]);
    view_add_table(view, &table, "frames");
    if (view->output.format != OUTPUT_CSV)
        result =
            add_slowest(view, stats, options->rows.top ? (size_t)options->rows.top : DEFAULT_SLOWEST, err);
    table_free(&table);
    return result;
}

/* Every frame, in the order of time. */
static int show_list(struct view *view, const struct frames_options *options, const struct frame_stats *stats,
                     struct error *err)
{
    struct table table;
    size_t limit = view_row_limit(view, &options->rows);
    int result = 0;
    table_init(&table, "frames", frame_columns, FRAME_ZONES);
    for (size_t i = 0; i < stats->frame_count && i < limit && result == 0; i++)
        result = add_frame(view, &table, stats, &stats->frames[i], false, err);
    view_add_table(view, &table, "frames");
    view_note_rows(view, table.row_count, stats->frame_count);
    table_free(&table);
    return result;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct frames_options options = {0};
    struct command_line line;
    struct view view;
    struct frame_stats stats;
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status == COMMAND_CONTINUE)
        status = view_open(&view, command, line.values[0], &options.filter, &options.output, "frames");
    if (status != COMMAND_CONTINUE)
        return status;
    if (frame_stats_make(&stats, view.trace, &view.filter, &err) != 0)
        return view_fail(&view, &err);
    int result = options.list ? show_list(&view, &options, &stats, &err)
                              : show_statistics(&view, &options, &stats, &err);
    frame_stats_free(&stats);
    if (result != 0)
        return view_fail(&view, &err);
    view_add_state(&view);
    return view_close(&view, EXIT_OK);
}

static const struct command_option frames_options[] = {
    {.name = "list",
     .letter = 'l',
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct frames_options, list),
     .help = "One row for each frame, in the order of time, instead of the statistics."},
    {0},
};

static const struct option_table frames_table = {"Options", frames_options};

static const struct command_example examples[] = {
    {"opscope frames t.opscope", "How long frames take, and the slowest five with what ran in them."},
    {"opscope frames t.opscope --list --csv", "Every frame with its start and duration."},
    {"opscope frames t.opscope --name step --top 20", "The 20 slowest training steps."},
    {0},
};

const struct command command_frames = {
    .name = "frames",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Show frame times: mean, percentiles, rate, and the slowest frames",
    .usage = (const char *const[]){"[options] FILE", NULL},
    .description =
        "A frame is the time from one frame mark (OPSCOPE_FRAME, opscope.frame) to the next of the same name on the "
        "same thread: a picture, a training step, a request. One row for each name in each process: how many frames, "
        "how many per second, the mean, the durations that 50, 95 and 99 % of them do not exceed, and the longest. "
        "What came before the first mark of a thread has no known start and does not count as a frame; nor does what a "
        "pause of the recording is in.\n\n"
        "Below it are the slowest frames (5, or as many as --top says), with their number on their thread, when they "
        "began, and the zones of their process that ran in them, by their own time, those that wait last. The number "
        "is that of the mark which begins the frame, as opscope run --capture steps: counts, so the first frame from "
        "mark to mark is number 1. Marks are counted in the trace: those that came while recording was paused are not "
        "in it, so after --capture steps:20-25 the frames are 1 to 6. CSV has the statistics alone, or with --list the "
        "frames.",
    .options = {{&frames_table, 0},
                {&row_option_table, OPTION_FIELD(struct frames_options, rows)},
                {&filter_option_table, OPTION_FIELD(struct frames_options, filter)},
                {&output_option_table, OPTION_FIELD(struct frames_options, output)}},
    .arguments = view_arguments,
    .exits = view_exits,
    .examples = examples,
    .see_also = (const char *const[]){"messages", "zones", "counters", NULL},
    .run = run,
};
