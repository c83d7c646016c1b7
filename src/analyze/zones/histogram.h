/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of durations in logarithmic buckets: 128 to an octave, found with a count of leading zeros and a
 * shift. Values below 256 have a bucket each; above, a bucket is at most 1/128 of its value wide, so that its
 * middle is within 0.4 % of every value in it. Octaves get memory (1 KiB) when they are first used. */
#ifndef OPSCOPE_ANALYZE_ZONES_HISTOGRAM_H
#define OPSCOPE_ANALYZE_ZONES_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_SUB 128u
#define HISTOGRAM_OCTAVES 58u /* values below 128, then one for each further bit */

struct histogram { /* zero-initialise */
    uint64_t *octaves[HISTOGRAM_OCTAVES];
};

/* Slow path: makes the octave. False when there is no memory. */
bool histogram_add_octave(struct histogram *h, unsigned octave);
void histogram_free(struct histogram *h);

/* The value of 1-based rank `rank` in ascending order: the middle of its bucket. 0 when there are fewer. */
uint64_t histogram_value_at(const struct histogram *h, uint64_t rank);

/* The next bucket that is not empty: values from *low to before *high. *position starts at 0; false at the end. */
bool histogram_next(const struct histogram *h, size_t *position, uint64_t *low, uint64_t *high,
                    uint64_t *count);

static inline bool histogram_add(struct histogram *h, uint64_t value)
{
    /* 7 bits below the leading one choose the bucket, its position the octave. */
    unsigned shift = (unsigned)(63 - __builtin_clzll(value | HISTOGRAM_SUB)) - 7;
    unsigned octave = shift + (value >= HISTOGRAM_SUB);
    unsigned sub = (unsigned)(value >> shift) & (HISTOGRAM_SUB - 1);
    uint64_t *counts = h->octaves[octave];
    if (__builtin_expect(!counts, 0)) {
        if (!histogram_add_octave(h, octave))
            return false;
        counts = h->octaves[octave];
    }
    counts[sub]++;
    return true;
}

#endif
