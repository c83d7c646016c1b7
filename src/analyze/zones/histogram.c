/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/zones/histogram.h"

#include <stdlib.h>

bool histogram_add_octave(struct histogram *h, unsigned octave)
{
    h->octaves[octave] = calloc(HISTOGRAM_SUB, sizeof(uint64_t));
    return h->octaves[octave] != NULL;
}

void histogram_free(struct histogram *h)
{
    for (size_t i = 0; i < HISTOGRAM_OCTAVES; i++)
        free(h->octaves[i]);
    *h = (struct histogram){0};
}

uint64_t histogram_value_at(const struct histogram *h, uint64_t rank)
{
    uint64_t seen = 0;
    for (unsigned octave = 0; octave < HISTOGRAM_OCTAVES; octave++) {
        for (unsigned sub = 0; h->octaves[octave] && sub < HISTOGRAM_SUB; sub++) {
            seen += h->octaves[octave][sub];
            if (seen < rank)
                continue;
            if (octave == 0)
                return sub;
            unsigned shift = octave - 1;
            uint64_t low = (uint64_t)(HISTOGRAM_SUB + sub) << shift;
            return low + ((UINT64_C(1) << shift) - 1) / 2;
        }
    }
    return 0;
}

bool histogram_next(const struct histogram *h, size_t *position, uint64_t *low, uint64_t *high,
                    uint64_t *count)
{
    for (; *position < (size_t)HISTOGRAM_OCTAVES * HISTOGRAM_SUB; ++*position) {
        unsigned octave = (unsigned)(*position / HISTOGRAM_SUB), sub = (unsigned)(*position % HISTOGRAM_SUB);
        unsigned shift = octave ? octave - 1 : 0;
        if (!h->octaves[octave] || !h->octaves[octave][sub])
            continue;
        *low = octave ? (uint64_t)(HISTOGRAM_SUB + sub) << shift : sub;
        *high = *low + (UINT64_C(1) << shift);
        *count = h->octaves[octave][sub];
        ++*position;
        return true;
    }
    return false;
}
