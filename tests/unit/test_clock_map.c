/* SPDX-License-Identifier: Apache-2.0 */
/* The map from ticks to nanoseconds, fed with samples of clocks that are made up: steady, drifting, noisy, jumping.
 * What must hold whatever comes: it never runs backwards, it is continuous except at a break forwards, and it is as
 * exact as its samples are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collect/clock_map.h"

#define SECOND UINT64_C(1000000000)

/* A clock that counts `hz` ticks a second, starting from `first` ticks at `start` ns. */
struct made_up_clock {
    double hz;
    uint64_t first_ticks, start_ns;
};

static uint64_t ticks_at(const struct made_up_clock *clock, uint64_t ns)
{
    return clock->first_ticks + (uint64_t)((double)(ns - clock->start_ns) * clock->hz / 1e9);
}

static uint64_t noise_state = UINT64_C(88172645463325252);

static int64_t noise(int64_t most)
{
    noise_state ^= noise_state << 13;
    noise_state ^= noise_state >> 7;
    noise_state ^= noise_state << 17;
    return most ? (int64_t)(noise_state % (uint64_t)(2 * most + 1)) - most : 0;
}

/* As clock_map_sample does: often at first, then once per second. */
static bool feed(struct clock_map *map, uint64_t ticks, uint64_t ns)
{
    struct clock_sample sample = {.ticks = ticks, .raw_ns = ns};
    assert_true(clock_map_add(map, &sample));
    map->next_sample_ns = ns + map->interval_ns;
    if (map->interval_ns < SECOND)
        map->interval_ns = map->interval_ns * 2 < SECOND ? map->interval_ns * 2 : SECOND;
    return sample.is_break;
}

static void check_monotone(const struct clock_map *map, uint64_t from, uint64_t to, unsigned steps)
{
    uint64_t last = 0;
    for (unsigned i = 0; i <= steps; i++) {
        uint64_t ns = clock_map_ns(map, from + (to - from) / steps * i);
        assert_true(ns >= last);
        last = ns;
    }
}

/* Each piece begins where the one before it ends. */
static void check_continuous(const struct clock_map *map)
{
    for (size_t i = 1; i < map->piece_count; i++) {
        const struct clock_piece *before = &map->pieces[i - 1], *piece = &map->pieces[i];
        assert_true(piece->ticks > before->ticks);
        assert_true(before->end_ticks == piece->ticks);
        uint64_t there = clock_piece_ns(before, piece->ticks);
        assert_true(piece->ns >= there);
        assert_true(piece->ns - there <= 1 || piece->ns - there > 1000); /* rounding, or a break forwards */
    }
    assert_true(map->pieces[map->piece_count - 1].end_ticks == UINT64_MAX);
}

/* Samples the clock as the collector would and returns the largest error seen between samples after `settle` ns. */
static uint64_t follow(struct clock_map *map, const struct made_up_clock *clock, uint64_t from_ns,
                       uint64_t until_ns, int64_t jitter, uint64_t settle_ns)
{
    uint64_t worst = 0;
    for (uint64_t ns = from_ns; ns < until_ns;) {
        assert_false(feed(map, ticks_at(clock, ns), ns + (uint64_t)noise(jitter)));
        uint64_t next = ns + map->interval_ns;
        for (int i = 1; i < 8 && ns >= settle_ns; i++) {
            uint64_t at = ns + (next - ns) / 8 * (uint64_t)i;
            uint64_t got = clock_map_ns(map, ticks_at(clock, at));
            uint64_t error = got > at ? got - at : at - got;
            worst = error > worst ? error : worst;
        }
        ns = next;
    }
    return worst;
}

static void test_raw_is_itself(void **state)
{
    struct clock_map map;
    (void)state;
    clock_map_init(&map, CLOCK_SOURCE_RAW);
    feed(&map, 1000, 1000);
    feed(&map, 5 * SECOND, 5 * SECOND);
    assert_true(clock_map_ns(&map, 0) == 0);
    assert_true(clock_map_ns(&map, 123456789) == 123456789);
    assert_true(clock_map_ns(&map, UINT64_C(1) << 62) == UINT64_C(1) << 62);
    clock_map_free(&map);
}

static void test_empty_and_single(void **state)
{
    struct clock_map map;
    (void)state;
    clock_map_init(&map, CLOCK_SOURCE_COUNTER);
    assert_null(clock_map_find(&map, 7));
    assert_true(clock_map_ns(&map, 7) == 7);
    feed(&map, 100, 5000);
    assert_true(clock_map_ns(&map, 100) == 5000);
    assert_true(clock_map_ns(&map, 99) == 5000); /* no slope yet */
    feed(&map, 300, 5100);                       /* half a nanosecond a tick */
    assert_true(clock_map_ns(&map, 100) == 5000);
    assert_true(clock_map_ns(&map, 200) == 5050);
    assert_true(clock_map_ns(&map, 300) == 5100);
    assert_true(clock_map_ns(&map, 1300) == 5600);
    assert_true(clock_map_ns(&map, 60) == 4980); /* before the first sample: the same line */
    clock_map_free(&map);
}

static void test_steady_clocks(void **state)
{
    static const double speeds[] = {1e6, 24e6, 1e9, 2596134174.0, 5e9};
    (void)state;
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++) {
        struct made_up_clock clock = {speeds[i], UINT64_C(123456789012), 77 * SECOND};
        struct clock_map map;
        clock_map_init(&map, CLOCK_SOURCE_COUNTER);
        uint64_t worst = follow(&map, &clock, 77 * SECOND, 177 * SECOND, 0, 77 * SECOND + SECOND / 100);
        /* one tick of a slow clock, and some rounding */
        assert_true(worst <= (uint64_t)(2e9 / speeds[i]) + 3);
        check_continuous(&map);
        check_monotone(&map, clock.first_ticks, ticks_at(&clock, 180 * SECOND), 5000);
        clock_map_free(&map);
    }
}

static void test_noisy_samples(void **state)
{
    struct made_up_clock clock = {2.6e9, 1, SECOND};
    struct clock_map map;
    (void)state;
    clock_map_init(&map, CLOCK_SOURCE_COUNTER);
    /* samples are off by up to 20 ns: so may the map be, and a little more where it bends */
    uint64_t worst = follow(&map, &clock, SECOND, 300 * SECOND, 20, 5 * SECOND);
    assert_true(worst <= 60);
    check_continuous(&map);
    check_monotone(&map, 1, ticks_at(&clock, 301 * SECOND), 20000);
    clock_map_free(&map);
}

static void test_a_clock_that_changes_its_speed(void **state)
{
    struct made_up_clock slow = {2.6e9, 1, SECOND};
    struct clock_map map;
    (void)state;
    clock_map_init(&map, CLOCK_SOURCE_COUNTER);
    assert_true(follow(&map, &slow, SECOND, 60 * SECOND, 5, 5 * SECOND) <= 40);
    /* 0.2 ppm, ten times what was seen: no break, followed within the error of one interval */
    struct made_up_clock fast = {2.6e9 * (1 + 2e-7), ticks_at(&slow, 60 * SECOND), 60 * SECOND};
    assert_true(follow(&map, &fast, 60 * SECOND, 160 * SECOND, 5, 100 * SECOND) <= 400);
    check_continuous(&map);
    check_monotone(&map, 1, ticks_at(&fast, 161 * SECOND), 20000);
    clock_map_free(&map);
}

static void test_breaks(void **state)
{
    struct made_up_clock clock = {2e9, 1, SECOND};
    (void)state;
    for (int direction = -1; direction <= 1; direction += 2) {
        struct clock_map map;
        clock_map_init(&map, CLOCK_SOURCE_COUNTER);
        follow(&map, &clock, SECOND, 30 * SECOND, 5, SECOND);
        /* the counter jumps by 1 ms against the other clock, as at a migration or a resume */
        uint64_t jump = UINT64_C(1000000), at = 31 * SECOND;
        uint64_t raw = direction > 0 ? at + jump : at - jump;
        assert_true(feed(&map, ticks_at(&clock, at), raw));
        if (direction > 0)
            assert_true(clock_map_ns(&map, ticks_at(&clock, at)) == raw);
        for (uint64_t s = 1; s < 60; s++) { /* afterwards it is a good clock again */
            uint64_t ns = at + s * SECOND;
            feed(&map, ticks_at(&clock, ns), direction > 0 ? ns + jump : ns - jump);
        }
        uint64_t end = at + 59 * SECOND, got = clock_map_ns(&map, ticks_at(&clock, end));
        uint64_t want = direction > 0 ? end + jump : end - jump;
        assert_true((got > want ? got - want : want - got) <= 100);
        check_monotone(&map, 1, ticks_at(&clock, end + 5 * SECOND), 50000);
        clock_map_free(&map);
    }
}

/* The machine sleeps for an hour, in which the counter goes on and the other clock does not, or the other way round:
 * what lasts a second afterwards lasts a second, from the first one on. */
static void test_a_machine_that_sleeps(void **state)
{
    (void)state;
    for (int direction = -1; direction <= 1; direction += 2) {
        struct made_up_clock clock = {2e9, 1, SECOND};
        const uint64_t hour = 3600 * SECOND, at = 30 * SECOND;
        struct clock_map map;
        clock_map_init(&map, CLOCK_SOURCE_COUNTER);
        follow(&map, &clock, SECOND, at, 5, SECOND);
        for (uint64_t s = 1; s < 60; s++) {
            uint64_t ns = at + s * SECOND, ticks = ticks_at(&clock, direction < 0 ? ns + hour : ns);
            assert_true(feed(&map, ticks, direction < 0 ? ns : ns + hour) == (s == 1));
            uint64_t lasts = clock_map_ns(&map, ticks + 1800000000) - clock_map_ns(&map, ticks);
            assert_true(lasts > 899990000 && lasts < 900010000);
        }
        check_continuous(&map);
        clock_map_free(&map);
    }
}

/* The other clock loses a tenth of a second against the counter, and samples come late now and then: one break, and no
 * further ones of what the map does to meet it again. Then the counter goes on at another speed, as on another machine:
 * that is learnt, too. */
static void test_one_break_makes_no_others(void **state)
{
    (void)state;
    const uint64_t lost = SECOND / 10, at = 30 * SECOND;
    struct made_up_clock clock = {2e9, 1, SECOND};
    struct clock_map map;
    clock_map_init(&map, CLOCK_SOURCE_COUNTER);
    follow(&map, &clock, SECOND, at, 5, SECOND);
    unsigned breaks = 0;
    for (uint64_t s = 1; s < 60; s++) {
        uint64_t ns = at + s * SECOND + s % 3 * (SECOND / 50);
        breaks += feed(&map, ticks_at(&clock, ns), ns - lost);
        uint64_t ticks = ticks_at(&clock, ns);
        uint64_t lasts = clock_map_ns(&map, ticks + 1800000000) - clock_map_ns(&map, ticks);
        assert_true(s < 4 || (lasts > 899990000 && lasts < 900010000));
    }
    assert_true(breaks <= 2); /* the second one where the sample that was to meet it came late */
    uint64_t ticks = ticks_at(&clock, at + 59 * SECOND), ns = at + 59 * SECOND;
    for (uint64_t s = 1; s < 60; s++) {
        feed(&map, ticks + s * UINT64_C(3000000000), ns + s * SECOND);
        uint64_t begin = clock_map_ns(&map, ticks + s * UINT64_C(3000000000));
        uint64_t lasts = clock_map_ns(&map, ticks + s * UINT64_C(3000000000) + UINT64_C(2700000000)) - begin;
        assert_true(s < 4 || (lasts > 899990000 && lasts < 900010000));
    }
    clock_map_free(&map);
}

/* Pieces follow one another without a gap or an overlap, and the last one has no end. */
static void check_pieces(const struct clock_map *map)
{
    for (size_t i = 1; i < map->piece_count; i++) {
        assert_true(map->pieces[i].ticks > map->pieces[i - 1].ticks);
        assert_true(map->pieces[i - 1].end_ticks == map->pieces[i].ticks);
    }
    assert_true(map->piece_count == 0 || map->pieces[map->piece_count - 1].end_ticks == UINT64_MAX);
}

/* Samples that make no sense (recover takes them from files) neither divide by zero nor turn time back. */
static void test_nonsense(void **state)
{
    static const uint64_t pairs[][2] = {{100, 100},
                                        {100, 100},
                                        {100, 99},
                                        {50, 200},
                                        {80, 300},
                                        {UINT64_MAX, 301},
                                        {UINT64_MAX, UINT64_MAX},
                                        {0, 0},
                                        {5, UINT64_MAX}};
    (void)state;
    for (size_t first = 0; first < sizeof pairs / sizeof pairs[0]; first++) {
        struct clock_map map;
        clock_map_init(&map, CLOCK_SOURCE_COUNTER);
        for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
            const uint64_t *pair = pairs[(first + i) % (sizeof pairs / sizeof pairs[0])];
            struct clock_sample sample = {.ticks = pair[0], .raw_ns = pair[1]};
            clock_map_add(&map, &sample);
        }
        check_pieces(&map);
        check_monotone(&map, 0, 1000, 1000);
        check_monotone(&map, 0, UINT64_MAX, 1000);
        clock_map_free(&map);
    }
    struct clock_map map;
    clock_map_init(&map, CLOCK_SOURCE_COUNTER);
    for (int i = 0; i < 20000; i++) {
        struct clock_sample sample = {.ticks = noise_state >> (noise_state % 61), .raw_ns = noise_state >> 3};
        noise(1);
        clock_map_add(&map, &sample);
        check_pieces(&map);
    }
    assert_true(map.piece_count > 1);
    clock_map_free(&map);
}

/* The real clocks of this machine: the map agrees with them where it was sampled. */
static void test_real_clocks(void **state)
{
    struct clock_map map;
    struct clock_sample sample = {0};
    (void)state;
    clock_map_init(&map, clock_map_choose_source());
    assert_true(clock_map_is_due(&map, clock_raw_ns()));
    uint64_t last_ticks = 0, last_ns = 0;
    for (int i = 0; i < 50; i++) {
        assert_true(clock_map_sample(&map, &sample));
        assert_true(sample.raw_ns >= last_ns && sample.ticks >= last_ticks);
        assert_true(sample.realtime_ns > SECOND);
        last_ticks = sample.ticks;
        last_ns = sample.raw_ns;
    }
    assert_true(map.sample_count == 50);
    assert_false(clock_map_is_due(&map, sample.raw_ns));
    assert_true(clock_map_is_due(&map, sample.raw_ns + 2 * SECOND));
    for (uint64_t ticks = last_ticks - 1000, before = 0; ticks < last_ticks; ticks += 10) {
        uint64_t ns = clock_map_ns(&map, ticks);
        assert_true(ns >= before);
        before = ns;
    }
    clock_map_free(&map);
}

/* 56-bit times and uptimes of years do not overflow. */
static void test_far_from_zero(void **state)
{
    uint64_t year = UINT64_C(365) * 86400 * SECOND;
    struct made_up_clock clock = {5e9, UINT64_C(1) << 60, 20 * year};
    struct clock_map map;
    (void)state;
    clock_map_init(&map, CLOCK_SOURCE_COUNTER);
    feed(&map, clock.first_ticks, clock.start_ns);
    feed(&map, clock.first_ticks + UINT64_C(5000000000), clock.start_ns + SECOND);
    uint64_t later = clock_map_ns(&map, clock.first_ticks + UINT64_C(5000000000) * 86400 * 365);
    uint64_t want = clock.start_ns + year;
    assert_true((later > want ? later - want : want - later) < 100 * 1000 * 1000);
    clock_map_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_raw_is_itself),
        cmocka_unit_test(test_empty_and_single),
        cmocka_unit_test(test_steady_clocks),
        cmocka_unit_test(test_noisy_samples),
        cmocka_unit_test(test_a_clock_that_changes_its_speed),
        cmocka_unit_test(test_breaks),
        cmocka_unit_test(test_a_machine_that_sleeps),
        cmocka_unit_test(test_one_break_makes_no_others),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_real_clocks),
        cmocka_unit_test(test_far_from_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
