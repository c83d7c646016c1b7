/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks of the session's clock to nanoseconds of CLOCK_MONOTONIC_RAW.
 *
 * The collector samples both clocks often at first, then once per second, best of 20 brackets. The map is piecewise
 * linear and continuous, so that time never runs backwards within a track: each new piece starts where the old one
 * stands and is bent so that it meets the new estimate one interval later (errors seen: 15 ns). A jump of over a
 * microsecond starts afresh and is marked as a break: forwards the map jumps with RAW; where RAW has stood still while
 * the counter went on (a machine that slept), the map stays ahead of it from then on. Integer arithmetic throughout:
 * ticks x multiplier would not fit a double after hours. */
#ifndef OPSCOPE_COLLECT_CLOCK_MAP_H
#define OPSCOPE_COLLECT_CLOCK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock_piece {
    uint64_t ticks, ns;  /* where it starts */
    uint64_t multiplier; /* ns per tick, 32 fractional bits */
    uint64_t end_ticks;  /* start of the next piece; UINT64_MAX for the last */
};

struct clock_sample {
    uint64_t ticks, raw_ns, uncertainty_ns, realtime_ns, boottime_ns;
    bool is_break;
};

struct clock_map {
    uint32_t source; /* enum clock_source */
    struct clock_piece *pieces;
    size_t piece_count, piece_capacity;
    struct clock_sample recent[32]; /* newest last */
    size_t recent_count;
    uint64_t ahead_ns; /* of RAW, since breaks that it cannot follow back */
    uint64_t next_sample_ns;
    uint64_t interval_ns;
    uint64_t sample_count;
};

/* The counter where the kernel itself trusts it (clocksource tsc, or any aarch64), else RAW. */
uint32_t clock_map_choose_source(void);

void clock_map_init(struct clock_map *map, uint32_t source);
void clock_map_free(struct clock_map *map);

bool clock_map_is_due(const struct clock_map *map, uint64_t raw_ns);
/* Takes a sample and bends the map; false when there is no memory (the map goes on as it was). */
bool clock_map_sample(struct clock_map *map, struct clock_sample *out);
/* Feeds a sample taken elsewhere (recover: the pairs in chunk descriptors), in order of ticks. */
bool clock_map_add(struct clock_map *map, struct clock_sample *sample);

/* The piece that holds `ticks`; before the first one, the first. */
const struct clock_piece *clock_map_find(const struct clock_map *map, uint64_t ticks);

/* Ticks that nobody's counter has reached are at the end of time, and not at its start once more. */
static inline uint64_t clock_piece_ns(const struct clock_piece *piece, uint64_t ticks)
{
    if (__builtin_expect(ticks >= piece->ticks, 1)) {
        __uint128_t ns = piece->ns + ((__uint128_t)(ticks - piece->ticks) * piece->multiplier >> 32);
        return __builtin_expect(ns > UINT64_MAX, 0) ? UINT64_MAX : (uint64_t)ns;
    }
    __uint128_t back = (__uint128_t)(piece->ticks - ticks) * piece->multiplier >> 32;
    return piece->ns > back ? piece->ns - (uint64_t)back : 0;
}

static inline uint64_t clock_map_ns(const struct clock_map *map, uint64_t ticks)
{
    const struct clock_piece *piece = clock_map_find(map, ticks);
    return piece ? clock_piece_ns(piece, ticks) : ticks;
}

#endif
