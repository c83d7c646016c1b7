/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/clockquality.h"

/* How far b is off the line from a to c, in ns. 0 when the line cannot be drawn. */
static uint64_t residual(const struct trace_clock_point *a, const struct trace_clock_point *b,
                         const struct trace_clock_point *c)
{
    if (b->is_break || c->is_break || c->ticks <= a->ticks || b->ticks < a->ticks || b->ticks > c->ticks ||
        c->host_ns < a->host_ns)
        return 0;
    uint64_t expected = a->host_ns + (uint64_t)((__uint128_t)(b->ticks - a->ticks) *
                                                (c->host_ns - a->host_ns) / (c->ticks - a->ticks));
    return expected > b->host_ns ? expected - b->host_ns : b->host_ns - expected;
}

void clock_quality_make(struct clock_quality *quality, const struct trace *trace, uint32_t clock)
{
    size_t count = 0;
    const struct trace_clock_point *points = trace_get_clock_points(trace, &count);
    const struct trace_clock_point *first = NULL, *before = NULL, *last = NULL;
    *quality = (struct clock_quality){0};
    for (size_t i = 0; i < count; i++) {
        const struct trace_clock_point *point = &points[i];
        if (point->clock != clock)
            continue;
        quality->points++;
        quality->breaks += point->is_break;
        if (point->uncertainty_ns > quality->max_uncertainty_ns)
            quality->max_uncertainty_ns = point->uncertainty_ns;
        if (before) {
            uint64_t off = residual(before, last, point);
            quality->max_residual_ns = off > quality->max_residual_ns ? off : quality->max_residual_ns;
        }
        first = first ? first : point;
        before = last;
        last = point;
    }
    if (first && last->ticks > first->ticks && last->host_ns > first->host_ns)
        quality->ticks_per_second =
            (double)(last->ticks - first->ticks) / (double)(last->host_ns - first->host_ns) * 1e9;
}

uint64_t clock_quality_realtime(const struct trace *trace, uint64_t host_ns)
{
    size_t count = 0;
    const struct trace_clock_point *points = trace_get_clock_points(trace, &count);
    uint64_t best_distance = UINT64_MAX, realtime = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t at = points[i].host_ns;
        uint64_t distance = at > host_ns ? at - host_ns : host_ns - at;
        if (points[i].realtime_ns == 0 || distance >= best_distance)
            continue;
        best_distance = distance;
        realtime = points[i].realtime_ns + (host_ns - at); /* wraps rightly when the point is later */
    }
    return realtime;
}
