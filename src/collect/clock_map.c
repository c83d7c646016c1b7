/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/clock_map.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"

#define FIRST_INTERVAL_NS UINT64_C(1000000)   /* 1 ms, then doubling */
#define LAST_INTERVAL_NS UINT64_C(1000000000) /* 1 s */
#define BREAK_NS 1000
#define BRACKETS 20

#if defined(__x86_64__)
#include <cpuid.h>
static bool counter_is_invariant(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
}
#endif

uint32_t clock_map_choose_source(void)
{
#if defined(__x86_64__)
    char text[32] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    /* The kernel's watchdog has then vouched for the counters of all sockets. */
    return n >= 3 && strncmp(text, "tsc", 3) == 0 && counter_is_invariant() ? CLOCK_SOURCE_COUNTER
                                                                            : CLOCK_SOURCE_RAW;
#elif defined(__aarch64__)
    return CLOCK_SOURCE_COUNTER;
#else
    return CLOCK_SOURCE_RAW;
#endif
}

void clock_map_init(struct clock_map *map, uint32_t source)
{
    *map = (struct clock_map){.source = source, .interval_ns = FIRST_INTERVAL_NS};
}

void clock_map_free(struct clock_map *map)
{
    free(map->pieces);
    map->pieces = NULL;
    map->piece_count = map->piece_capacity = 0;
}

bool clock_map_is_due(const struct clock_map *map, uint64_t raw_ns)
{
    return raw_ns >= map->next_sample_ns;
}

static struct clock_sample take_sample(uint32_t source)
{
    struct clock_sample best = {.uncertainty_ns = UINT64_MAX};
    uint64_t best_width = UINT64_MAX;
    for (int i = 0; i < BRACKETS; i++) {
        uint64_t before = clock_ticks(source);
        uint64_t raw = clock_raw_ns();
        uint64_t after = clock_ticks(source);
        if (after >= before && after - before < best_width) {
            best_width = after - before;
            best.ticks = source == CLOCK_SOURCE_RAW ? raw : before + best_width / 2;
            best.raw_ns = raw;
        }
    }
    best.uncertainty_ns = best_width / 2; /* in ticks; the caller scales */
    best.realtime_ns = clock_ns(CLOCK_REALTIME);
    best.boottime_ns = clock_ns(CLOCK_BOOTTIME);
    return best;
}

static bool add_piece(struct clock_map *map, uint64_t ticks, uint64_t ns, uint64_t multiplier)
{
    if (!array_reserve(&map->pieces, &map->piece_capacity, map->piece_count + 1, sizeof *map->pieces))
        return false;
    if (map->piece_count)
        map->pieces[map->piece_count - 1].end_ticks = ticks;
    map->pieces[map->piece_count++] = (struct clock_piece){ticks, ns, multiplier, UINT64_MAX};
    return true;
}

/* ns per tick between two samples, 32 fractional bits. */
static uint64_t slope(const struct clock_sample *a, const struct clock_sample *b)
{
    __uint128_t ns_per_tick = ((__uint128_t)(b->raw_ns - a->raw_ns) << 32) / (b->ticks - a->ticks);
    return ns_per_tick < UINT64_MAX ? (uint64_t)ns_per_tick : UINT64_MAX;
}

static void remember(struct clock_map *map, const struct clock_sample *sample)
{
    const size_t most = sizeof map->recent / sizeof map->recent[0];
    if (map->recent_count == most) {
        memmove(map->recent, map->recent + 1, (most - 1) * sizeof map->recent[0]);
        map->recent_count--;
    }
    map->recent[map->recent_count++] = *sample;
}

/* The new piece starts where the map stands and meets the true line one interval later. */
static bool bend(struct clock_map *map, struct clock_sample *sample)
{
    const struct clock_sample *oldest = &map->recent[0];
    if (sample->ticks <= map->recent[map->recent_count - 1].ticks || sample->raw_ns <= oldest->raw_ns)
        return true; /* nothing to learn */
    if (sample->ticks <= oldest->ticks)
        return true;
    uint64_t true_slope = slope(oldest, sample);
    if (!true_slope)
        return true; /* pairs that no clock of ours has made */
    struct clock_piece *last = &map->pieces[map->piece_count - 1];
    if (sample->ticks <= last->ticks)
        return true; /* samples in between went back: pieces never do */
    if (map->recent_count == 1 && map->piece_count == 1 && last->multiplier == 0) {
        last->multiplier = true_slope; /* the second sample of all: the first piece gets its slope */
        return true;
    }
    uint64_t here = clock_piece_ns(last, sample->ticks), there = sample->raw_ns + map->ahead_ns;
    int64_t error = (int64_t)(there - here);
    /* More than the clock can slow down for until the next sample. */
    bool is_far_ahead = error < -(int64_t)(map->interval_ns / 2);
    if (error > BREAK_NS || error < -BREAK_NS) {
        /* Early samples are close together and their slope is coarse: that is not a break. */
        sample->is_break = is_far_ahead || map->interval_ns >= LAST_INTERVAL_NS;
        /* That of both sides of a break together is nobody's. With a break just before, the one that was taken for the
         * clock's may be what is wrong: a piece that was bent, or the speed before it changed. */
        if (sample->is_break && last->multiplier && map->recent_count > 1)
            true_slope = last->multiplier;
        if (is_far_ahead)
            map->ahead_ns = here - sample->raw_ns;
        if (is_far_ahead || error > 0)
            return add_piece(map, sample->ticks, is_far_ahead ? here : there, true_slope);
    }
    uint64_t ahead =
        (uint64_t)(((__uint128_t)map->interval_ns << 32) / true_slope); /* ticks until the next sample */
    __int128_t bent =
        (__int128_t)true_slope + ((__int128_t)error * (INT64_C(1) << 32) / (__int128_t)(ahead ? ahead : 1));
    if (bent < (__int128_t)(true_slope / 2))
        bent = (__int128_t)(true_slope / 2); /* slow down, never back */
    if (bent > (__int128_t)UINT64_MAX)
        bent = (__int128_t)UINT64_MAX;
    return add_piece(map, sample->ticks, here, (uint64_t)bent);
}

bool clock_map_add(struct clock_map *map, struct clock_sample *sample)
{
    bool ok = true;
    if (map->source == CLOCK_SOURCE_RAW) {
        if (!map->piece_count)
            ok = add_piece(map, 0, 0, UINT64_C(1) << 32);
    } else if (!map->piece_count) {
        ok = add_piece(map, sample->ticks, sample->raw_ns, 0);
    } else {
        ok = bend(map, sample);
    }
    if (sample->is_break)
        map->recent_count = 0;
    remember(map, sample);
    map->sample_count++;
    return ok;
}

bool clock_map_sample(struct clock_map *map, struct clock_sample *out)
{
    struct clock_sample sample = take_sample(map->source);
    const struct clock_piece *last = map->piece_count ? &map->pieces[map->piece_count - 1] : NULL;
    uint64_t multiplier = last && last->multiplier ? last->multiplier : UINT64_C(1) << 32;
    sample.uncertainty_ns = (uint64_t)(((__uint128_t)sample.uncertainty_ns * multiplier) >> 32);
    bool ok = clock_map_add(map, &sample);
    map->next_sample_ns = sample.raw_ns + map->interval_ns;
    if (map->interval_ns < LAST_INTERVAL_NS)
        map->interval_ns = map->interval_ns * 2 < LAST_INTERVAL_NS ? map->interval_ns * 2 : LAST_INTERVAL_NS;
    *out = sample;
    return ok;
}

const struct clock_piece *clock_map_find(const struct clock_map *map, uint64_t ticks)
{
    if (!map->piece_count)
        return NULL;
    size_t low = 0, high = map->piece_count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (map->pieces[middle].ticks <= ticks)
            low = middle;
        else
            high = middle;
    }
    return &map->pieces[low];
}
