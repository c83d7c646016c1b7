/* SPDX-License-Identifier: Apache-2.0 */
/* Device ticks to host nanoseconds: straight lines between a clock's sync points, extended at both ends,
 * never drawn across a break. Integer arithmetic throughout: a 128-bit product, never a double, which would
 * lose nanoseconds after 104 days. */
#include "trace/reader/internal.h"

#include <errno.h>
#include <stdlib.h>

#define NOMINAL_NS UINT64_C(1000000000)

static int compare_points(const void *left, const void *right)
{
    const struct trace_clock_point *a = left, *b = right;
    if (a->clock != b->clock)
        return a->clock < b->clock ? -1 : 1;
    if (a->ticks != b->ticks)
        return a->ticks < b->ticks ? -1 : 1;
    return a->host_ns < b->host_ns ? -1 : a->host_ns > b->host_ns;
}

static bool add_piece(struct clock_map *map, struct clock_piece piece)
{
    if (!array_reserve(&map->pieces, &map->capacity, map->count + 1, sizeof *map->pieces))
        return false;
    map->pieces[map->count++] = piece;
    return true;
}

/* The clock's nominal rate as a fraction; 1 tick = 1 ns when it has none that makes sense. */
static void nominal_rate(const struct trace_clock *clock, struct clock_piece *piece)
{
    piece->run_ns = NOMINAL_NS;
    piece->run_ticks = NOMINAL_NS;
    if (clock->ticks_per_second >= 1.0 && clock->ticks_per_second <= 1e15)
        piece->run_ticks = (uint64_t)clock->ticks_per_second;
}

static bool is_line(const struct trace_clock_point *a, const struct trace_clock_point *b)
{
    return !b->is_break && b->ticks > a->ticks && b->host_ns > a->host_ns;
}

/* One piece from each point to the next one; the last point continues the line before it. */
static bool build_map(const struct trace_clock *clock, const struct trace_clock_point *points, size_t count,
                      struct clock_map *map)
{
    struct clock_piece slope = {0};
    nominal_rate(clock, &slope);
    if (count == 0)
        return add_piece(map, slope);
    for (size_t i = 0; i < count; i++) {
        bool has_next = i + 1 < count && is_line(&points[i], &points[i + 1]);
        if (has_next) {
            slope.run_ticks = points[i + 1].ticks - points[i].ticks;
            slope.run_ns = points[i + 1].host_ns - points[i].host_ns;
        }
        slope.ticks = points[i].ticks;
        slope.host_ns = points[i].host_ns;
        if (map->count && map->pieces[map->count - 1].ticks == slope.ticks)
            map->count--; /* two points at the same tick: the later one */
        if (!add_piece(map, slope))
            return false;
    }
    return true;
}

int clocks_prepare(struct trace *t)
{
    t->clock_maps = calloc(t->clock_count ? t->clock_count : 1, sizeof *t->clock_maps);
    if (!t->clock_maps)
        return -ENOMEM;
    if (t->point_count)
        qsort(t->points, t->point_count, sizeof *t->points, compare_points);
    size_t kept = 0; /* points are restated in each segment */
    for (size_t i = 0; i < t->point_count; i++)
        if (kept == 0 || compare_points(&t->points[kept - 1], &t->points[i]) != 0)
            t->points[kept++] = t->points[i];
    t->point_count = kept;
    for (size_t clock = 0, at = 0; clock < t->clock_count; clock++) {
        size_t first = at;
        while (at < t->point_count && t->points[at].clock == clock)
            at++;
        if (!build_map(&t->clocks[clock], t->points + first, at - first, &t->clock_maps[clock]))
            return -ENOMEM;
    }
    return 0;
}

void clocks_free(struct trace *t)
{
    for (size_t i = 0; t->clock_maps && i < t->clock_count; i++)
        free(t->clock_maps[i].pieces);
    free(t->clock_maps);
}

uint64_t trace_host_ns(const struct trace *t, uint32_t clock, uint64_t ticks)
{
    if (clock == TRACE_HOST_CLOCK || clock >= t->clock_count || !t->clock_maps)
        return ticks;
    const struct clock_map *map = &t->clock_maps[clock];
    size_t low = 0, high = map->count; /* the last piece that begins at or before ticks; else the first */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (map->pieces[middle].ticks <= ticks)
            low = middle;
        else
            high = middle;
    }
    const struct clock_piece *piece = &map->pieces[low];
    bool is_before = ticks < piece->ticks;
    uint64_t distance = is_before ? piece->ticks - ticks : ticks - piece->ticks;
    __uint128_t ns = (__uint128_t)distance * piece->run_ns / piece->run_ticks;
    if (is_before)
        return ns > piece->host_ns ? 0 : piece->host_ns - (uint64_t)ns;
    return ns > UINT64_MAX - piece->host_ns ? UINT64_MAX : piece->host_ns + (uint64_t)ns;
}

uint64_t trace_track_host_ns(const struct trace *t, uint32_t track, uint64_t ticks)
{
    return track < t->track_count ? trace_host_ns(t, t->tracks[track].clock, ticks) : ticks;
}
