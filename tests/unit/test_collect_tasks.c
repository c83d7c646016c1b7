/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks, fibers and spans: what a thread records for one of them is on its track, whatever else the thread does in
 * between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "collected_rows.h"

static uint32_t info_tracks(void)
{
    uint32_t count = 0;
    while (trace_get_track(trace, count))
        count++;
    return count;
}

static const struct trace_track *track_of(const char *zone)
{
    const struct row *row = find_row(zone);
    assert_non_null(row);
    return trace_get_track(trace, row->track);
}

static void test_a_turn_of_a_task_is_on_its_track(void **state)
{
    (void)state;
    uint32_t a = image_name(&image, "a"), b = image_name(&image, "b"), c = image_name(&image, "c");
    uint32_t one = image_task(&image, "one", 7), two = image_task(&image, "two", 8);
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    image_record(&image, 0, 10, RECORD_ZONE_BEGIN, a, 0);
    image_record(&image, 0, 11, RECORD_TASK_BEGIN, one, 0);
    image_record(&image, 0, 12, RECORD_ZONE_BEGIN, b, 0);
    image_record(&image, 0, 13, RECORD_TASK_BEGIN, two, 0); /* inside the first */
    image_zone(&image, 0, 14, 20, c);
    image_chunk(&image, 1, 0, 1, CHUNK_SEALED)->depth_at_start = 4;
    image_record(&image, 1, 21, RECORD_ZONE_END, 0, 0);
    image_record(&image, 1, 22, RECORD_ZONE_END, 0, 0);
    image_record(&image, 1, 23, RECORD_ZONE_END, 0, 0);
    image_record(&image, 1, 30, RECORD_ZONE_END, 0, 0);
    image_record(&image, 1, 40, RECORD_TASK_BEGIN, one, 0); /* goes on, and never ends */
    image_record(&image, 1, 41, RECORD_ZONE_BEGIN, a, 0);
    finish();
    assert_int_equal(row_count, 5);
    assert_row("a", 10, 30, 12, 0);
    assert_row("one", 11, 23, 10, 1); /* on the thread; its time is that of the zones on the task's track */
    assert_row("b", 12, 22, 8, 0);
    assert_row("two", 13, 21, 6, 1);
    assert_row("c", 14, 20, 0, 0);
    assert_int_equal(track_of("a")->kind, TRACE_TRACK_THREAD);
    assert_ptr_equal(track_of("one"), track_of("a"));
    assert_int_equal(track_of("b")->kind, TRACE_TRACK_TASK);
    assert_int_equal(track_of("b")->parent, track_of("a")->id);
    assert_int_equal(track_of("b")->number, 7);
    assert_string_equal(track_of("b")->name, "one");
    assert_ptr_equal(track_of("two"), track_of("b"));
    assert_string_equal(track_of("c")->name, "two");
    size_t count;
    const struct trace_open_zone *open = trace_get_open_zones(trace, &count);
    assert_int_equal(count, 2);
    assert_int_equal(open[0].track, track_of("a")->id);
    assert_int_equal(open[0].depth, 0);
    assert_int_equal(open[1].track, track_of("b")->id);
    assert_int_equal(open[1].depth, 0);
    assert_int_equal(stats.threads, 1);
}

static void test_each_fiber_has_its_own_stack(void **state)
{
    (void)state;
    uint32_t a = image_name(&image, "a"), b = image_name(&image, "b"), c = image_name(&image, "c");
    uint32_t one = image_task(&image, "greenlet 1", 1);
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    image_record(&image, 0, 10, RECORD_ZONE_BEGIN, a, 0);
    image_record(&image, 0, 11, RECORD_TASK_SWITCH, one, 0);
    image_record(&image, 0, 12, RECORD_ZONE_BEGIN, b, 0); /* not inside the first */
    image_record(&image, 0, 13, RECORD_TASK_SWITCH, 0, 0);
    image_zone(&image, 0, 14, 20, c); /* inside the first */
    image_record(&image, 0, 21, RECORD_ZONE_END, 0, 0);
    image_record(&image, 0, 22, RECORD_TASK_SWITCH, one, 0);
    image_record(&image, 0, 30, RECORD_ZONE_END, 0, 0);
    image_record(&image, 0, 31, RECORD_ZONE_BEGIN, c, 0);  /* never ends, and another goes on */
    image_record(&image, 0, 32, RECORD_TASK_SWITCH, a, 0); /* is not a task: nothing is switched */
    image_record(&image, 0, 33, RECORD_TASK_SWITCH, 0, 0);
    finish();
    assert_int_equal(row_count, 3);
    assert_row("a", 10, 21, 6, 0);
    assert_row("b", 12, 30, 0, 0);
    assert_row("c", 14, 20, 0, 1);
    assert_int_equal(track_of("a")->kind, TRACE_TRACK_THREAD);
    assert_int_equal(track_of("b")->kind, TRACE_TRACK_TASK);
    assert_string_equal(track_of("b")->name, "greenlet 1");
    size_t count;
    const struct trace_open_zone *open = trace_get_open_zones(trace, &count);
    assert_int_equal(count, 1);
    assert_int_equal(open[0].track, track_of("b")->id);
    assert_int_equal(stats.lost_records, 1);
}

static void test_spans_last_over_everything(void **state)
{
    (void)state;
    uint32_t a = image_name(&image, "a"), b = image_name(&image, "b"), c = image_name(&image, "c"),
             part = image_name(&image, "a (to its first wait)");
    struct slot first = {1, 0}, second = {2, 0}, third = {3, 0}, unknown = {9, 0};
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    image_record(&image, 0, 10, RECORD_ZONE_BEGIN, a, 0);
    image_long_record(&image, 0, 12, RECORD_ZONE_SUSPEND, part, 0, &first, 1);
    image_record(&image, 0, 13, RECORD_ZONE_END, 0, 0);
    image_long_record(&image, 0, 14, RECORD_SPAN_BEGIN, b, 0, &second, 1);
    image_long_record(&image, 0, 20, RECORD_SPAN_END, 0, 0, &first, 1);
    image_long_record(&image, 0, 21, RECORD_SPAN_BEGIN, c, 0, &third, 1); /* where the first was */
    image_long_record(&image, 0, 22, RECORD_SPAN_END, 0, 0, &unknown, 1);
    image_long_record(&image, 0, 23, RECORD_ZONE_SUSPEND, part, 0, &unknown, 1); /* nothing is open */
    image_long_record(&image, 0, 30, RECORD_SPAN_END, 0, 0, &second, 1);
    finish();
    assert_int_equal(row_count, 3);
    assert_row("a", 10, 20, 0, 0);
    assert_row("a (to its first wait)", 10, 13, 0, 0);
    assert_row("b", 14, 30, 0, 0);
    assert_int_equal(track_of("a")->kind, TRACE_TRACK_SPAN);
    assert_int_equal(track_of("a")->parent, track_of("a (to its first wait)")->id);
    assert_ptr_not_equal(track_of("b"), track_of("a"));
    size_t count;
    const struct trace_open_zone *open = trace_get_open_zones(trace, &count);
    assert_int_equal(count, 1);
    assert_int_equal(open[0].track, track_of("a")->id);
    assert_int_equal(open[0].start % 1000, 21);
    assert_int_equal(stats.lost_zones, 0);
}

static void test_tasks_that_make_no_sense(void **state)
{
    (void)state;
    uint32_t a = image_name(&image, "a");
    image_chunk(&image, 0, 0, 0, CHUNK_SEALED);
    image_record(&image, 0, 1, RECORD_TASK_BEGIN, a, 0); /* no task, nothing, and 40 inside one another */
    image_record(&image, 0, 2, RECORD_TASK_BEGIN, UINT32_MAX, 0);
    for (uint64_t i = 0; i < 40; i++)
        image_record(&image, 0, 3, RECORD_TASK_BEGIN, image_task(&image, "task", i), 0);
    image_zone(&image, 0, 4, 5, a);
    for (uint32_t i = 0; i < 42; i++)
        image_record(&image, 0, 6, RECORD_ZONE_END, 0, 0);
    assert_int_equal(finish()->zones, 43);
    assert_int_equal(info_tracks(), 17); /* the thread, and as many as may be inside one another */
    assert_int_equal(lost(TRACE_LOSS_UNMATCHED, true), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        COLLECTED_TEST(test_a_turn_of_a_task_is_on_its_track),
        COLLECTED_TEST(test_each_fiber_has_its_own_stack),
        COLLECTED_TEST(test_spans_last_over_everything),
        COLLECTED_TEST(test_tasks_that_make_no_sense),
    };
    return cmocka_run_group_tests(tests, set_up_group, tear_down_group);
}
