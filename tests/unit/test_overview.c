/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that an overview is made of, against counting by hand; its words for times and shares. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/overview/internal.h"
#include "present/format.h"
#include "present/overview/overview.h"
#include "test_trace_support.h"
#include "text/shell_word.h"

#define LENGTH 400u
#define PLACES 3u

static void spans_are_what_a_count_by_hand_says(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        struct time_spans spans = {0}, rest = {0};
        bool is_in[LENGTH] = {0};
        uint64_t inside = 0, outside = 0, from = random_below(LENGTH / 4);
        for (uint64_t i = random_below(30); i > 0; i--) {
            uint64_t start = random_below(LENGTH), end = start + random_below(LENGTH - start);
            assert_true(time_spans_add(&spans, start, end));
            for (uint64_t k = start; k < end; k++)
                is_in[k] = true;
        }
        time_spans_join(&spans);
        assert_true(time_spans_invert(&rest, &spans, from, LENGTH));
        for (size_t k = 0; k < LENGTH; k++) {
            inside += is_in[k];
            outside += k >= from && !is_in[k];
        }
        assert_int_equal(time_spans_total(&spans), inside);
        assert_int_equal(time_spans_total(&rest), outside);
        for (size_t i = 1; i < spans.count; i++)
            assert_true(spans.items[i - 1].end < spans.items[i].start);
        time_spans_free(&spans);
        time_spans_free(&rest);
    }
}

static void alone_is_when_nothing_else_is_there(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        struct placed_span spans[20];
        uint64_t alone[20] = {0};
        size_t count = random_below(20);
        for (uint32_t i = 0; i < count; i++) {
            bool is_in_order = round % 4 == 0 && i > 0;
            uint64_t start = is_in_order ? spans[i - 1].end : random_below(LENGTH);
            spans[i] = (struct placed_span){start, start + random_below(LENGTH - start + 1),
                                            round % 2 ? (uint32_t)random_below(PLACES) : 0, i};
        }
        assert_true(time_spans_alone(spans, count, alone));
        for (size_t i = 0; i < count; i++) {
            uint64_t expected = 0;
            for (uint64_t k = spans[i].start; k < spans[i].end; k++) {
                size_t there = 0;
                for (size_t j = 0; j < count; j++)
                    there += spans[j].place == spans[i].place && spans[j].start <= k && k < spans[j].end;
                expected += there == 1;
            }
            assert_int_equal(alone[i], expected);
        }
    }
}

static void gaps_are_in_the_bin_of_their_length(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 300; round++) {
        struct overview overview = {0};
        uint64_t durations[200], sum = 0, count = 0;
        size_t length = random_below(200);
        for (size_t i = 0; i < length; i++) {
            durations[i] = round % 3 == 0 ? random_below(40) : random_below(1000) * random_below(1u << 30);
            sum += durations[i];
            count += durations[i] > 0;
        }
        overview_make_bins(&overview, durations, length);
        assert_true(overview.bin_count <= OVERVIEW_BINS && (count == 0) == (overview.bin_count == 0));
        for (size_t b = 0; b < overview.bin_count; b++) {
            const struct overview_bin *bin = &overview.bins[b];
            uint64_t inside = 0, inside_ns = 0;
            assert_true(bin->from_ns < bin->to_ns && (b == 0 || overview.bins[b - 1].to_ns == bin->from_ns));
            for (size_t i = 0; i < length; i++) {
                bool is_in = durations[i] >= bin->from_ns && durations[i] < bin->to_ns;
                inside += is_in;
                inside_ns += is_in ? durations[i] : 0;
            }
            assert_int_equal(bin->count, inside);
            assert_int_equal(bin->sum_ns, inside_ns);
            count -= inside;
            sum -= inside_ns;
        }
        assert_true(count == 0 && sum == 0);
    }
}

static void shares_add_up(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 1000; round++) {
        struct overview overview = {.part_count = 1 + random_below(OVERVIEW_PARTS)};
        unsigned tenths[OVERVIEW_PARTS], sum = 0;
        for (size_t i = 0; i < overview.part_count; i++) {
            overview.parts[i].ns = random_below(1000) * random_below(1000) + (i == 0);
            overview.total_ns += overview.parts[i].ns;
        }
        overview_tenths(&overview, tenths);
        for (size_t i = 0; i < overview.part_count; i++) {
            double exact = (double)overview.parts[i].ns / (double)overview.total_ns * 1000;
            assert_true((double)tenths[i] > exact - 1 && (double)tenths[i] < exact + 1);
            sum += tenths[i];
        }
        assert_int_equal(sum, 1000);
    }
}

static void durations_have_three_digits(void **state)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } cases[] = {{0, "0 ns"},
                 {812, "812 ns"},
                 {1000, "1.00 \xc2\xb5s"},
                 {9994, "9.99 \xc2\xb5s"},
                 {9995, "10.0 \xc2\xb5s"},
                 {999499, "999 \xc2\xb5s"},
                 {999500, "1.00 ms"},
                 {4218337, "4.22 ms"},
                 {12400000000, "12.4 s"},
                 {59949999999, "59.9 s"},
                 {59950000000, "1 min 0 s"},
                 {192000000000, "3 min 12 s"},
                 {7500000000000, "2 h 05 min"},
                 {183600000000000, "2 d 3 h"},
                 {UINT64_MAX, "213503 d 23 h"}};
    struct number_text text;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_string_equal(format_duration(&text, cases[i].ns), cases[i].text);
    assert_string_equal(format_share(&text, 0.81), "81%");
    assert_string_equal(format_share(&text, 0.094), "9.4%");
    assert_string_equal(format_share(&text, 0.988), "98.8%");
    assert_string_equal(format_share(&text, 0.0001), "<0.1%");
    assert_string_equal(format_share(&text, 0), "0%");
    assert_string_equal(format_share(&text, 1), "100%");
}

static void names_without_noise(void **state)
{
    static const char *const cases[][2] = {
        {"MatmulDeviceOperation 32 x 64", "Matmul 32 x 64"},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::Add<float>>(int)",
         "vectorized_elementwise_kernel(int)"},
        {"operator<", "operator<"},
        {"a < b", "a < b"},
        {"<module>", "<module>"},
        {"DeviceOperation", "DeviceOperation"},
        {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes out = {0};
        overview_append_short(&out, cases[i][0]);
        assert_string_equal(bytes_text(&out), cases[i][1]);
        bytes_free(&out);
    }
}

static void words_for_the_shell(void **state)
{
    static const char *const cases[][2] = {
        {"a/b.opscope", "a/b.opscope"}, {"a b", "'a b'"}, {"it's", "'it'\\''s'"}, {"", "''"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes out = {0};
        shell_append_word(&out, cases[i][0]);
        assert_string_equal(bytes_text(&out), cases[i][1]);
        bytes_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_what_a_count_by_hand_says),
        cmocka_unit_test(alone_is_when_nothing_else_is_there),
        cmocka_unit_test(gaps_are_in_the_bin_of_their_length),
        cmocka_unit_test(shares_add_up),
        cmocka_unit_test(durations_have_three_digits),
        cmocka_unit_test(names_without_noise),
        cmocka_unit_test(words_for_the_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
