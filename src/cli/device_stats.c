/* SPDX-License-Identifier: Apache-2.0 */
/* opscope device-stats: statistics of a device log. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/command/command.h"
#include "text/file_map.h"
#include "import/tenstorrent/tenstorrent.h"
#include "import/tenstorrent/device/stats.h"
#include "present/document.h"

struct device_stats_options {
    struct output_options output;
    bool text;
};

enum {
    COLUMN_DEVICE,
    COLUMN_ANALYSIS,
    COLUMN_COUNT,
    COLUMN_AVERAGE,
    COLUMN_MEDIAN,
    COLUMN_MIN,
    COLUMN_MAX,
    COLUMN_RANGE,
    COLUMN_SUM,
    COLUMN_AVERAGE_TIME,
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [COLUMN_DEVICE] = {.key = "device", .title = "device", .type = TABLE_IDENTIFIER},
    [COLUMN_ANALYSIS] = {.key = "analysis", .title = "analysis", .shrink = 20},
    [COLUMN_COUNT] = {.key = "count", .title = "count", .type = TABLE_INTEGER},
    [COLUMN_AVERAGE] = {.key = "average_cycles", .title = "avg cycles", .type = TABLE_REAL},
    [COLUMN_MEDIAN] = {.key = "median_cycles", .title = "median", .type = TABLE_REAL, .drop = 1},
    [COLUMN_MIN] = {.key = "min_cycles", .title = "min", .type = TABLE_INTEGER, .drop = 2},
    [COLUMN_MAX] = {.key = "max_cycles", .title = "max", .type = TABLE_INTEGER, .drop = 3},
    [COLUMN_RANGE] = {.key = "range_cycles", .title = "range", .type = TABLE_INTEGER, .drop = 5},
    [COLUMN_SUM] = {.key = "sum_cycles", .title = "sum", .type = TABLE_INTEGER, .drop = 4},
    [COLUMN_AVERAGE_TIME] = {.key = "average", .title = "avg", .type = TABLE_TIME},
};

static int show(const struct tt_stats *stats, const struct tt_log *log, struct tt_model *notes,
                const char *path, struct output *output, struct error *err)
{
    struct table table;
    struct report report;
    table_init(&table, "device-stats", columns, COLUMNS);
    for (size_t i = 0; i < stats->count; i++) {
        const struct tt_stat *stat = &stats->items[i];
        table_add_row(&table);
        table_set_unsigned(&table, COLUMN_DEVICE, stat->device);
        table_set_text(&table, COLUMN_ANALYSIS, stat->analysis);
        table_set_unsigned(&table, COLUMN_COUNT, stat->count);
        table_set_real(&table, COLUMN_AVERAGE, stat->average);
        table_set_real(&table, COLUMN_MEDIAN, stat->median);
        table_set_unsigned(&table, COLUMN_MIN, stat->min);
        table_set_unsigned(&table, COLUMN_MAX, stat->max);
        table_set_unsigned(&table, COLUMN_RANGE, stat->max - stat->min);
        table_set_unsigned(&table, COLUMN_SUM, stat->sum);
        if (log->header.frequency_mhz)
            table_set_unsigned(&table, COLUMN_AVERAGE_TIME,
                               (uint64_t)(stat->average * 1000 / log->header.frequency_mhz + 0.5));
    }
    report_begin(&report, output, "device-stats");
    report_text(&report, "file", NULL, path);
    report_number(&report, "frequency_mhz", NULL, TABLE_INTEGER, log->header.frequency_mhz);
    report_table(&report, "rows", &table);
    if (stats->count == 0)
        report_note(&report, TABLE_NORMAL, "no ops in this log");
    for (size_t i = 0; i < notes->note_count; i++)
        report_note(&report, TABLE_WARN, "%s (%" PRIu64 ")", notes->notes[i].text ? notes->notes[i].text : "",
                    notes->notes[i].count);
    bool is_csv = output->format == OUTPUT_CSV;
    int result = report_finish(&report, err);
    if (result == 0 && is_csv && report.notes.length)
        fprintf(stderr, "%.*s", (int)report.notes.length, (const char *)report.notes.data);
    report_free(&report);
    table_free(&table);
    return result;
}

static int show_text(const struct tt_stats *stats, struct output *output, struct error *err)
{
    struct bytes text = {0};
    tt_stats_append_text(stats, &text);
    int result = text.failed ? error_set_errno(err, ENOMEM, "statistics") : 0;
    if (result == 0 && text.length)
        fwrite(text.data, 1, text.length, output->stream);
    bytes_free(&text);
    return result;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct device_stats_options options = {0};
    struct command_line line;
    struct tt_files files = {0};
    struct tt_model notes;
    struct tt_log log = {0};
    struct tt_stats stats = {0};
    struct file_map map = {0};
    struct output output = {0};
    struct error err = {0};
    int status = command_parse(command, argc, argv, &options, &line);
    if (status != COMMAND_CONTINUE)
        return status;
    tt_model_init(&notes);
    int result = tt_files_find(&files, line.values[0], &err);
    if (result == 0 && files.log.length == 0)
        result = error_set(&err, ENOENT, "%s: profile_log_device.csv is not there", line.values[0]);
    if (result == 0)
        result = file_map_open(&map, (const char *)files.log.data, &err);
    if (result == 0)
        result = tt_log_read(&log, &notes, map.data, map.length, &err);
    if (result == 0)
        result = tt_stats_make(&stats, &log, &err);
    if (result == 0)
        result = output_open(&output, &options.output, &err);
    if (result == 0)
        result = options.text ? show_text(&stats, &output, &err)
                              : show(&stats, &log, &notes, line.values[0], &output, &err);
    if (result == 0)
        result = output_finish(&output, &err);
    else if (output.stream)
        output_abandon(&output);
    tt_stats_free(&stats);
    tt_log_free(&log);
    file_map_close(&map);
    tt_files_free(&files);
    tt_model_free(&notes);
    return result == 0 ? EXIT_OK : command_fail(command, &err);
}

static const struct command_option device_stats_options[] = {
    {.name = "text",
     .type = OPTION_FLAG,
     .offset = OPTION_FIELD(struct device_stats_options, text),
     .help = "The layout of the vendor's device_stats.txt."},
    {0},
};

static const struct option_table device_stats_table = {"Options", device_stats_options};

static const struct command_argument device_stats_arguments[] = {
    {.name = "PATH",
     .kind = ARGUMENT_FILE,
     .help = "A folder of Tenstorrent logs or the one above its .logs, or a profile_log_device.csv."},
    {0},
};

static const struct command_example examples[] = {
    {"opscope device-stats generated/profiler", "Durations of firmware and kernels on each device."},
    {"opscope device-stats profile_log_device.csv --text", "The same as device_stats.txt has it."},
    {0},
};

const struct command command_device_stats = {
    .name = "device-stats",
    .group = COMMAND_GROUP_LOOK,
    .summary = "Show statistics of a device log: firmware, kernels, gaps, in cycles",
    .usage = (const char *const[]){"[options] PATH", NULL},
    .description =
        "One row for each device and analysis: how long firmware and kernels of an op took from the first core's "
        "start to the last one's end, on each core and on each processor, the gaps between ops on a core (op2op), and "
        "the sums of waiting for circular buffers. Values are cycles; avg is also given as time at the log's "
        "frequency. Medians are medians over ops (over cores for op2op).",
    .options = {{&device_stats_table, 0},
                {&output_option_table, OPTION_FIELD(struct device_stats_options, output)}},
    .arguments = device_stats_arguments,
    .examples = examples,
    .see_also = (const char *const[]){"ops", "report", NULL},
    .run = run,
};
