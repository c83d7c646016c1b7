/* SPDX-License-Identifier: Apache-2.0 */
/* Which elements of two sequences belong together: a common subsequence as long as can be found in near-linear time
 * and linear memory, so that what was inserted or removed does not shift the rest.
 *
 *     align_begin(&align, a_count, b_count, &err);
 *     align_by(&align, a_keys, b_keys, key_count, &err);      equal keys may be matched
 *     align_by(&align, coarser_a, coarser_b, count, &err);    the same for what is left between the matches
 *     align.b_of_a[i] is the place in b of element i of a, or ALIGN_NONE; always ascending
 *     align_free(&align);
 *
 * How: equal ends are taken off. Elements whose key the other side lacks are put aside. Keys (and, where there are
 * none, stretches of 16 keys) that come exactly once on both sides are anchors, as many of them as can be in order;
 * between them the same again. What has no anchors goes through Myers' algorithm in linear space: exact for short
 * stretches, and for long ones up to ALIGN_COST differences at a time, after which the way that came furthest is
 * taken as good. `cut_count` tells how often that was, `missed_most` what it cost at most. bench/suite_diff.py
 * measures it at its best and at its worst. */
#ifndef OPSCOPE_ANALYZE_DIFF_ALIGN_H
#define OPSCOPE_ANALYZE_DIFF_ALIGN_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define ALIGN_NONE UINT32_MAX
#define ALIGN_SHORT 512u /* elements of both sides together: always exact */
#define ALIGN_COST 128u

struct align {
    uint32_t *b_of_a;
    size_t a_count, b_count;
    size_t matched;
    uint64_t cut_count; /* how often the effort was cut short */
    size_t missed_most; /* where it was: this many elements more might have been matched at best; else 0 */
};

/* At most UINT32_MAX - 1 elements a side. */
int align_begin(struct align *align, size_t a_count, size_t b_count, struct error *err);
/* Keys are below key_count; may be called again with others: matches stay. */
int align_by(struct align *align, const uint32_t *a_keys, const uint32_t *b_keys, size_t key_count,
             struct error *err);
void align_free(struct align *align);

#endif
