/* SPDX-License-Identifier: Apache-2.0 */
/* Which names are one row of a view. */
#include "analyze/names.h"
#include "test_trace_support.h"

static const struct {
    const char *name, *function, *file;
    uint32_t line;
} made[] = {
    {"run", "run", "a.py", 1},    {"run", "run", "b.py", 1},     {"load", "main", "a.c", 5},
    {"load", "other", "b.c", 9},  {"run:2", "run", "a.py", 2},   {"run:2", "run", "b.py", 2},
    {"runner", "run", "a.py", 3}, {"runner", "walk", "b.py", 8}, {"bare", "", "", 0},
};
enum { NAMES = sizeof made / sizeof made[0] };

static size_t groups_of(struct trace *trace, enum name_grouping grouping, uint32_t *group_of)
{
    struct name_groups groups;
    struct error err = {0};
    assert_int_equal(name_groups_make(&groups, trace, NULL, grouping, &err), 0);
    for (uint32_t i = 0; i < trace_name_count(trace); i++) {
        for (size_t k = 0; k < NAMES; k++) {
            const struct trace_name *name = trace_get_name(trace, i);
            if (strcmp(name->name, made[k].name) == 0 && strcmp(name->file, made[k].file) == 0)
                group_of[k] = name_group(&groups, i);
        }
    }
    size_t count = 0;
    for (size_t k = 0; k < NAMES; k++) {
        size_t first = 0;
        while (group_of[first] != group_of[k])
            first++;
        count += first == k;
    }
    name_groups_free(&groups);
    return count;
}

static void test_functions_are_apart(void **state)
{
    struct trace_writer *w = NULL;
    struct trace *trace = NULL;
    struct error err = {0};
    uint32_t group[NAMES];
    (void)state;
    assert_int_equal(
        trace_writer_open(&w, test_path("names.opscope"), &(struct trace_writer_options){0}, &err), 0);
    for (size_t k = 0; k < NAMES; k++)
        assert_int_not_equal(
            trace_writer_name(w, made[k].name, made[k].function, made[k].file, made[k].line, 0), TRACE_NONE);
    assert_int_equal(trace_writer_finish(w, &err), 0);
    assert_int_equal(trace_open(&trace, test_path("names.opscope"), 0, &err), 0);
    assert_int_equal(groups_of(trace, NAMES_BY_TEXT, group), 5);
    assert_int_equal(groups_of(trace, NAMES_BY_PLACE, group), NAMES);
    assert_int_equal(groups_of(trace, NAMES_BY_ZONE, group), 7);
    assert_int_not_equal(group[0], group[1]); /* functions */
    assert_int_equal(group[2], group[3]);     /* a name of the program's own */
    assert_int_not_equal(group[4], group[5]); /* lines */
    assert_int_equal(group[6], group[7]);     /* only begins as its function does */
    trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions_are_apart)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
