/* SPDX-License-Identifier: Apache-2.0 */
/* Traces that are served while they are written: what their state is when the writer ends between two calls of ours. */
#include "test_trace_support.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "serve/traces.h"

#define SECOND UINT64_C(1000000000)

/* A writer that is finished when the server opens its file the next time. */
static struct trace_writer *ends_at_open;
static unsigned opened;

/* In place of the C library's, for the reader: what another process does between stat() and open(). */
int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    struct trace_writer *w = ends_at_open;
    if (w && strstr(path, ".partial")) {
        struct error err = {0};
        ends_at_open = NULL;
        opened++;
        assert_int_equal(trace_writer_finish(w, &err), 0);
    }
    return openat(AT_FDCWD, path, flags, mode);
}

struct growing {
    struct trace_writer *writer;
    struct zone_sink *sink;
    uint32_t name;
    uint64_t zones, now_ns;
    char partial[200];
};

static void add_zones(struct growing *g, unsigned count)
{
    struct error err = {0};
    for (unsigned i = 0; i < count; i++, g->zones++)
        zone_sink_add_slow(g->sink, 0, SECOND + g->zones * 1000, SECOND + g->zones * 1000 + 500, 0, g->name);
    for (unsigned i = 0; i < 3; i++) /* blocks are written when they are old enough, then a checkpoint */
        assert_int_equal(trace_writer_tick(g->writer, g->now_ns += 20 * SECOND, &err), 0);
}

static void begin(struct growing *g, const char *name)
{
    struct error err = {0};
    struct trace_writer_options options = {.program = "test", .command = "x", .host = "h"};
    *g = (struct growing){0};
    assert_int_equal(trace_writer_open(&g->writer, test_path(name), &options, &err), 0);
    snprintf(g->partial, sizeof g->partial, "%s.partial", test_path(name));
    uint32_t process =
        trace_writer_process(g->writer, &(struct trace_process){.id = TRACE_NONE,
                                                                .parent = TRACE_NONE,
                                                                .pid = 1,
                                                                .exit_status = TRACE_STATUS_UNKNOWN,
                                                                .command = "x",
                                                                .host = "h"});
    uint32_t track = trace_writer_track(
        g->writer,
        &(struct trace_track){
            .id = TRACE_NONE, .process = process, .parent = TRACE_NONE, .number = 1, .name = "main"});
    g->sink = trace_writer_sink(g->writer, track);
    g->name = trace_writer_name(g->writer, "work", "work", "a.c", 1, 0);
    assert_non_null(g->sink);
}

/* Now, not only when the last look is long enough ago. */
static void look(struct traces *traces)
{
    traces->entries[0]->checked_ns = 0;
    traces_check(traces, traces->entries[0]);
}

static void open_growing(struct traces *traces, struct growing *g, const char *name)
{
    struct error err = {0};
    begin(g, name);
    add_zones(g, 3);
    const char *paths[] = {g->partial};
    assert_int_equal(traces_open(traces, paths, 1, &err), 0);
    assert_int_equal(traces->entries[0]->state, TRACE_GROWING);
    assert_int_equal(traces->entries[0]->zones, 3);
}

static void assert_complete(const struct traces_entry *entry, uint64_t zones)
{
    assert_int_equal(entry->state, TRACE_COMPLETE);
    assert_int_equal(entry->zones, zones);
    assert_null(entry->error);
    assert_null(strstr(entry->path, ".partial"));
    assert_true(trace_get_info(entry->trace.trace)->is_complete);
}

static void test_grows_and_ends(void **state)
{
    (void)state;
    struct traces traces = {0};
    struct growing g;
    struct error err = {0};
    open_growing(&traces, &g, "plain.opscope");
    add_zones(&g, 4);
    look(&traces);
    assert_int_equal(traces.entries[0]->state, TRACE_GROWING);
    assert_int_equal(traces.entries[0]->zones, 7);
    assert_int_equal(trace_writer_finish(g.writer, &err), 0);
    look(&traces);
    assert_complete(traces.entries[0], 7);
    traces_free(&traces);
}

/* The file has its last name before it is opened by the one that it had a moment ago. */
static void test_ends_while_it_is_opened(void **state)
{
    (void)state;
    struct traces traces = {0};
    struct growing g;
    open_growing(&traces, &g, "raced.opscope");
    add_zones(&g, 4);
    opened = 0;
    ends_at_open = g.writer;
    look(&traces);
    assert_int_equal(opened, 1);
    assert_int_not_equal(traces.entries[0]->state, TRACE_DAMAGED);
    assert_null(traces.entries[0]->error);
    look(&traces);
    assert_complete(traces.entries[0], 7);
    traces_free(&traces);
}

/* The same before anybody has looked at it. */
static void test_ends_while_it_is_listed(void **state)
{
    (void)state;
    struct traces traces = {0};
    struct growing g;
    char old[200];
    struct error err = {0};
    begin(&g, "listed.opscope");
    add_zones(&g, 3);
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(chdir(test_folder), 0);
    assert_int_equal(traces_open(&traces, NULL, 0, &err), 0);
    struct traces_entry *entry = NULL;
    for (size_t i = 0; i < traces.count; i++)
        if (strstr(traces.entries[i]->path, "listed.opscope"))
            entry = traces.entries[i];
    assert_non_null(entry);
    ends_at_open = g.writer;
    traces_describe(&traces);
    for (unsigned i = 0; i < 2; i++) {
        entry->checked_ns = 0;
        traces_refresh(&traces);
        traces_describe(&traces);
    }
    assert_int_equal(entry->state, TRACE_COMPLETE);
    assert_int_equal(entry->zones, 3);
    assert_null(entry->error);
    assert_int_equal(chdir(old), 0);
    traces_free(&traces);
}

static void test_is_deleted(void **state)
{
    (void)state;
    struct traces traces = {0};
    struct growing g;
    open_growing(&traces, &g, "deleted.opscope");
    trace_writer_discard(g.writer);
    look(&traces);
    assert_int_equal(traces.entries[0]->state, TRACE_DELETED);
    assert_int_equal(traces.entries[0]->zones, 3);
    traces_free(&traces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grows_and_ends),
        cmocka_unit_test(test_ends_while_it_is_opened),
        cmocka_unit_test(test_ends_while_it_is_listed),
        cmocka_unit_test(test_is_deleted),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
