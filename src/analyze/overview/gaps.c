/* SPDX-License-Identifier: Apache-2.0 */
/* How long the gaps are: the sum of each length, on a logarithmic scale, the short ones as well. */
#include <math.h>
#include <stdlib.h>

#include "analyze/overview/internal.h"

void overview_make_bins(struct overview *o, const uint64_t *durations, size_t count)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < count; i++) {
        least = durations[i] && durations[i] < least ? durations[i] : least;
        most = durations[i] > most ? durations[i] : most;
    }
    if (!most)
        return;
    double step = log((double)most / (double)least) / OVERVIEW_BINS;
    uint64_t from = least;
    for (unsigned i = 0; i < OVERVIEW_BINS && from <= most; i++) {
        double edge = (double)least * exp(step * (i + 1));
        uint64_t to = i + 1 == OVERVIEW_BINS || edge >= (double)most ? most + 1 : (uint64_t)edge;
        if (to <= from)
            continue; /* narrower than 1 ns */
        o->bins[o->bin_count++] = (struct overview_bin){.from_ns = from, .to_ns = to};
        from = to;
    }
    for (size_t i = 0; i < count; i++) {
        size_t low = 0, high = o->bin_count;
        while (low + 1 < high) {
            size_t middle = low + (high - low) / 2;
            if (o->bins[middle].from_ns <= durations[i])
                low = middle;
            else
                high = middle;
        }
        if (durations[i]) {
            o->bins[low].count++;
            o->bins[low].sum_ns += durations[i];
        }
    }
}
