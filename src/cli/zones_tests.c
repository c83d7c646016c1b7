/* SPDX-License-Identifier: Apache-2.0 */
/* opscope zones --by-test: one row for each test that ran, and with --split a trace for each of them. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/labels.h"
#include "analyze/testlist.h"
#include "base/count_of.h"
#include "cli/zones_views.h"
#include "present/format.h"
#include "trace/cut.h"

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
#define OUTCOMES (COUNT_OF(outcomes))

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
    bytes_append_format(&text, "%s test%s", format_count(&number, list->count), list->count == 1 ? "" : "s");
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

/* --- a trace for each test --- */

#define MOST_NAME_BYTES 180u

/* A file name for the trace of a test: its id with what a file name should not have as '_'. `number` tells apart
 * tests that would be called the same. */
static void trace_path(struct bytes *path, const char *folder, const char *id, unsigned number)
{
    bytes_clear(path);
    bytes_append_format(path, "%s/", folder);
    for (size_t i = 0; id[i] && i < MOST_NAME_BYTES; i++) {
        bool is_plain = (id[i] >= '0' && id[i] <= '9') || (id[i] >= 'a' && id[i] <= 'z') ||
                        (id[i] >= 'A' && id[i] <= 'Z') || (i > 0 && id[i] == '.') || id[i] == '-';
        if (id[i] == ':' && id[i + 1] == ':') {
            bytes_append_text(path, "..");
            i++;
        } else {
            bytes_append_u8(path, is_plain ? (uint8_t)id[i] : '_');
        }
    }
    if (number > 1)
        bytes_append_format(path, ".%u", number);
    bytes_append_text(path, ".opscope");
    bytes_append_u8(path, 0);
}

/* How many of the paths so far are this one but for their number. */
static bool is_taken(const struct bytes *paths, const struct bytes *path)
{
    for (size_t at = 0; at < paths->length; at += strlen((const char *)paths->data + at) + 1)
        if (strcmp((const char *)paths->data + at, (const char *)path->data) == 0)
            return true;
    return false;
}

/* Writes the traces; their paths are in `paths`, one after the other with a 0 behind each. */
static int split(struct view *view, const struct test_list *list, const char *folder, struct bytes *paths,
                 struct error *err)
{
    struct bytes path = {0};
    int result = 0;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return error_set_errno(err, errno, "%s", folder);
    for (size_t i = 0; i < list->count && result == 0; i++) {
        const struct test_entry *entry = &list->entries[i];
        const char *id = trace_get_name(view->trace, entry->name)->name;
        unsigned number = 1;
        trace_path(&path, folder, id, number);
        while (!path.failed && is_taken(paths, &path))
            trace_path(&path, folder, id, ++number);
        bytes_append(paths, path.data, path.length);
        if (path.failed || paths->failed)
            result = error_set_errno(err, ENOMEM, "%zu tests", list->count);
        else
            result = trace_cut(view->trace, (const char *)path.data,
                               &(struct trace_cut){.track = entry->track,
                                                   .depth = entry->depth,
                                                   .since_ns = entry->start_ns,
                                                   .until_ns = entry->end_ns,
                                                   .command = id},
                               err);
    }
    bytes_free(&path);
    return result;
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
        result = split(view, &list, split_folder, &paths, err);
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
            report_note(&view->report, TABLE_DIM, "%s trace%s in %s", format_count(&number, list.count),
                        list.count == 1 ? "" : "s", split_folder);
        view_add_state(view);
        test_list_free(&list);
    }
    bytes_free(&paths);
    table_free(&table);
    return result;
}
