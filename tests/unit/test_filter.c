/* SPDX-License-Identifier: Apache-2.0 */
/* Filters: what was typed against what a trace has. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/filter.h"
#include "zone_program.h"

/* Processes 100 "/bin/parent x" and 101 "/usr/bin/child --flag"; threads 200 "main", 201, 202, 203 without a
 * name, of the two processes in turn. */
static struct zone_program program = {
    .seed = 7, .thread_count = 4, .name_count = 9, .max_depth = 3, .longest_ns = 1000};
static struct trace *trace;

static int set_up(void **state)
{
    struct error err = {0};
    (void)state;
    return made_program(&program, 100) ? trace_open(&trace, program.path, 0, &err) : -1;
}

static int tear_down(void **state)
{
    (void)state;
    trace_close(trace);
    made_free(&program);
    return 0;
}

/* The wanted tracks as a bit set by thread. */
static unsigned tracks(const char *process, const char *thread)
{
    struct trace_filter_options options = {0};
    struct trace_filter filter;
    struct error err = {0};
    unsigned set = 0;
    if (process)
        text_list_add(&options.processes, process);
    if (thread)
        text_list_add(&options.threads, thread);
    if (trace_filter_resolve(&filter, trace, &options, &err) != 0)
        return 0;
    for (unsigned i = 0; i < 4; i++)
        set |= (unsigned)trace_filter_wants_track(&filter, program.tracks[i]) << i;
    trace_filter_free(&filter);
    return set;
}

static void test_processes_and_threads(void **state)
{
    (void)state;
    assert_int_equal(tracks(NULL, NULL), 15);
    assert_int_equal(tracks("100", NULL), 5);
    assert_int_equal(tracks("child", NULL), 10);
    assert_int_equal(tracks("--flag", NULL), 10);
    assert_int_equal(tracks("/bin/*", NULL), 5);
    assert_int_equal(tracks("*bin*", NULL), 15);
    assert_int_equal(tracks("10", NULL), 0); /* neither a pid nor a word of a command */
    assert_int_equal(tracks(NULL, "202"), 4);
    assert_int_equal(tracks(NULL, "main"), 1);
    assert_int_equal(tracks(NULL, "mai"), 0);
    assert_int_equal(tracks(NULL, "thread 20?"), 14);
    assert_int_equal(tracks("child", "201"), 2);
    assert_int_equal(tracks("child", "main"), 0);
}

static void assert_error(const struct trace_filter_options *options, const char *message)
{
    struct trace_filter filter;
    struct error err = {0};
    assert_int_equal(trace_filter_resolve(&filter, trace, options, &err), -EINVAL);
    assert_string_equal(err.message, message);
}

static void test_errors_say_what_there_is(void **state)
{
    struct trace_filter_options options = {0};
    (void)state;
    text_list_add(&options.processes, "nobody");
    assert_error(&options, "no process matches 'nobody'; the trace has 100 (parent), 101 (child)");
    options = (struct trace_filter_options){0};
    text_list_add(&options.threads, "9");
    assert_error(&options,
                 "no thread matches '9'; the trace has 200 (main), 201 (thread 201), 202 (thread 202), "
                 "203 (thread 203)");
}

static void test_window(void **state)
{
    const struct trace_info *info = trace_get_info(trace);
    uint64_t length = info->end_ns - info->start_ns;
    struct trace_filter filter;
    struct error err = {0};
    (void)state;
    struct trace_filter_options none = {0};
    assert_int_equal(trace_filter_resolve(&filter, trace, &none, &err), 0);
    assert_true(filter.is_everything && !filter.has_window);
    assert_int_equal(filter.since_ns, info->start_ns);
    assert_int_equal(filter.until_ns, info->end_ns);
    trace_filter_free(&filter);

    struct trace_filter_options part = {.since = {TRACE_TIME_NS, 10, 0},
                                        .until = {TRACE_TIME_PERCENT, 0, 50}};
    assert_int_equal(trace_filter_resolve(&filter, trace, &part, &err), 0);
    assert_true(filter.has_window && !filter.is_everything);
    assert_int_equal(filter.since_ns, info->start_ns + 10);
    assert_int_equal(filter.until_ns, info->start_ns + length / 2);
    assert_true(trace_filter_wants_span(&filter, filter.since_ns - 5, filter.since_ns));
    assert_false(trace_filter_wants_span(&filter, filter.since_ns - 5, filter.since_ns - 1));
    assert_true(trace_filter_wants_span(&filter, filter.until_ns, filter.until_ns + 9));
    assert_false(trace_filter_wants_span(&filter, filter.until_ns + 1, filter.until_ns + 9));
    trace_filter_free(&filter);

    struct trace_filter_options turned = {.since = {TRACE_TIME_NS, 10, 0}, .until = {TRACE_TIME_NS, 10, 0}};
    assert_int_equal(trace_filter_resolve(&filter, trace, &turned, &err), -EINVAL);
    struct trace_filter_options after = {.since = {TRACE_TIME_NS, UINT64_MAX, 0}};
    assert_int_equal(trace_filter_resolve(&filter, trace, &after, &err), -EINVAL);
    assert_non_null(strstr(err.message, "after the end of the trace"));
}

static void test_names(void **state)
{
    struct trace_filter_options options = {0};
    struct trace_filter filter;
    struct error err = {0};
    (void)state;
    text_list_add(&options.names, "[lm]*d*"); /* load, load_8 */
    text_list_add(&options.names, "wait");
    assert_int_equal(trace_filter_resolve(&filter, trace, &options, &err), 0);
    for (uint32_t i = 0; i < program.name_count; i++)
        assert_int_equal(trace_filter_wants_name(&filter, program.names[i]), i == 0 || i == 8 || i == 5);
    assert_false(trace_filter_wants_name(&filter, TRACE_NONE));
    assert_true(trace_filter_text_matches(&filter, "lead"));
    assert_false(trace_filter_text_matches(&filter, "waiting"));
    trace_filter_free(&filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes_and_threads),
        cmocka_unit_test(test_errors_say_what_there_is),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
