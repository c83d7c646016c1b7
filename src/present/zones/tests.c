/* SPDX-License-Identifier: Apache-2.0 */
/* One row for each test that ran, and where a folder is given a trace for each of them. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "analyze/labels.h"
#include "analyze/zones/testsplit.h"
#include "base/count_of.h"
#include "present/zones/zones.h"
#include "present/format.h"

enum {
    COLUMN_OUTCOME,
    COLUMN_TEST,
    COLUMN_LOCATION,
    COLUMN_FILE,
    COLUMN_LINE,
    COLUMN_PID,
    COLUMN_THREAD,
    COLUMN_START,
    COLUMN_SETUP,
    COLUMN_CALL,
    COLUMN_TEARDOWN,
    COLUMN_TOTAL,
    COLUMN_TRACE,
    COLUMNS
};

static const struct table_column columns[COLUMNS] = {
    [COLUMN_OUTCOME] = {.key = "outcome", .title = "outcome"},
    [COLUMN_TEST] = {.key = "name", .title = "test", .shrink = 36},
    [COLUMN_LOCATION] =
        {.key = "location", .title = "location", .shown = TABLE_TERMINAL_ONLY, .shrink = 12, .drop = 3},
    [COLUMN_FILE] = {.key = "file", .shown = TABLE_DATA_ONLY},
    [COLUMN_LINE] = {.key = "line", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [COLUMN_PID] = {.key = "pid", .type = TABLE_IDENTIFIER, .shown = TABLE_DATA_ONLY},
    [COLUMN_THREAD] = {.key = "thread", .title = "thread", .shrink = 10, .drop = 4},
    [COLUMN_START] = {.key = "start", .title = "start", .type = TABLE_INSTANT, .drop = 2},
    [COLUMN_SETUP] = {.key = "setup", .title = "setup", .type = TABLE_TIME, .drop = 1},
    [COLUMN_CALL] = {.key = "call", .title = "call", .type = TABLE_TIME},
    [COLUMN_TEARDOWN] = {.key = "teardown", .title = "teardown", .type = TABLE_TIME, .drop = 1},
    [COLUMN_TOTAL] = {.key = "total", .title = "total", .type = TABLE_TIME},
    [COLUMN_TRACE] = {.key = "trace", .shown = TABLE_DATA_ONLY},
};

static const struct outcome {
    const char *word;
    enum table_style style;
    const char *key; /* in JSON */
} outcomes[] = {
    {"passed", TABLE_GOOD, "passed"},      {"failed", TABLE_BAD, "failed"},
    {"error", TABLE_BAD, "error"},         {"skipped", TABLE_DIM, "skipped"},
    {"xfailed", TABLE_NORMAL, "xfailed"},  {"xpassed", TABLE_WARN, "xpassed"},
    {"not ended", TABLE_BAD, "not_ended"},
};
#define OUTCOMES COUNT_OF(outcomes)

static const char *outcome_text(const struct test_list *list, const struct test_entry *entry)
{
    const char *text = test_list_outcome(list, entry);
    return !entry->has_ended ? "not ended" : *text ? text : "unknown";
}

static void add_row(struct view *view, struct table *table, const struct test_list *list,
                    const struct test_entry *entry, const char *trace)
{
    static const size_t phase_columns[TEST_PHASES] = {COLUMN_SETUP, COLUMN_CALL, COLUMN_TEARDOWN};
    const struct trace_name *name = trace_get_name(view->trace, entry->name);
    const struct trace_process *process = view_process_of(view, entry->track);
    const char *outcome = outcome_text(list, entry);
    char text[PATH_MAX + 16];
    table_add_row(table);
    table_set_text(table, COLUMN_OUTCOME, outcome);
    for (size_t i = 0; i < OUTCOMES; i++)
        if (strcmp(outcomes[i].word, outcome) == 0)
            table_set_style(table, COLUMN_OUTCOME, outcomes[i].style);
    table_set_text(table, COLUMN_TEST, name->name);
    const char *place = label_location(name, text, sizeof text), *slash = strrchr(place, '/');
    table_set_text(table, COLUMN_LOCATION, slash ? slash + 1 : place);
    table_set_text(table, COLUMN_FILE, name->file);
    table_set_unsigned(table, COLUMN_LINE, name->line);
    if (process)
        table_set_integer(table, COLUMN_PID, process->pid);
    view_set_track(view, table, COLUMN_THREAD, entry->track);
    table_set_unsigned(table, COLUMN_START, view_since_start(view, entry->start_ns));
    for (size_t i = 0; i < TEST_PHASES; i++)
        if (entry->has_phase[i])
            table_set_unsigned(table, phase_columns[i], entry->phase_ns[i]);
    table_set_unsigned(table, COLUMN_TOTAL, entry->end_ns - entry->start_ns);
    table_set_text(table, COLUMN_TRACE, trace);
}

/* "6 tests: 4 passed, 1 failed, 1 skipped; 32 ms of 556 ms". */
static void add_summary(struct view *view, const struct test_list *list)
{
    struct bytes text = {0};
    struct number_text number, inside, wall;
    uint64_t sum_ns = 0;
    bytes_append_text(&text, format_things(&number, list->count, "test"));
    for (size_t o = 0, shown = 0; o < OUTCOMES; o++) {
        size_t count = 0;
        for (size_t i = 0; i < list->count; i++)
            count += strcmp(outcome_text(list, &list->entries[i]), outcomes[o].word) == 0;
        if (count)
            bytes_append_format(&text, "%s%s %s", shown++ ? ", " : ": ", format_count(&number, count),
                                outcomes[o].word);
        report_number(&view->report, outcomes[o].key, NULL, TABLE_INTEGER, count);
    }
    for (size_t i = 0; i < list->count; i++)
        sum_ns += list->entries[i].end_ns - list->entries[i].start_ns;
    report_number(&view->report, "tests", NULL, TABLE_INTEGER, list->count);
    report_number(&view->report, "wall", NULL, TABLE_TIME, view->filter.until_ns - view->filter.since_ns);
    if (view->output.format == OUTPUT_TERMINAL && list->count && !text.failed)
        report_note(&view->report, TABLE_DIM, "%.*s; %s in tests, %s in all", (int)text.length,
                    (const char *)text.data, format_time(&inside, sum_ns),
                    format_time(&wall, view->filter.until_ns - view->filter.since_ns));
    bytes_free(&text);
}

int zones_show_tests(struct view *view, const struct zones_choice *choice, const char *split_folder,
                     struct error *err)
{
    struct test_list list;
    struct table table;
    struct bytes paths = {0};
    struct number_text number;
    table_init(&table, "tests", columns, COLUMNS);
    const char *key = choice->sort ? choice->sort : "total";
    size_t column = table_find_column(&table, key);
    if (column == SIZE_MAX)
        return error_set(err, EINVAL, "tests can be sorted by total or name, not by %s", key);
    int result = test_list_make(&list, view->trace, &view->filter, err);
    if (result == 0 && split_folder)
        result = test_split(view->trace, strcmp(view->path, "-") == 0 ? "/dev/stdin" : view->path, &list,
                            split_folder, &paths, err);
    if (result == 0) {
        size_t at = 0;
        for (size_t i = 0; i < list.count; i++) {
            const char *trace = split_folder ? (const char *)paths.data + at : NULL;
            add_row(view, &table, &list, &list.entries[i], trace);
            at += trace ? strlen(trace) + 1 : 0;
        }
        table_sort(&table, column, (strcmp(key, "name") != 0) != choice->reverse);
        if (choice->top)
            table_truncate(&table, choice->top);
        view_add_table(view, &table, "tests");
        add_summary(view, &list);
        if (split_folder && list.count)
            report_note(&view->report, TABLE_DIM, "%s in %s", format_things(&number, list.count, "trace"),
                        split_folder);
        view_add_state(view);
        test_list_free(&list);
    }
    bytes_free(&paths);
    table_free(&table);
    return result;
}
