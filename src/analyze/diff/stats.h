/* SPDX-License-Identifier: Apache-2.0 */
/* Is a change more than noise? Rank tests, which care for the order of times and not for their size, so that a few
 * times that are far off (a page fault, a clock that fell) decide nothing.
 *
 * Both are two-sided and give the chance of a difference at least this large if nothing had changed: exact, ties
 * included, for few values, else by the normal distribution with the variance corrected for ties. */
#ifndef OPSCOPE_ANALYZE_DIFF_STATS_H
#define OPSCOPE_ANALYZE_DIFF_STATS_H

#include <stddef.h>

/* Wilcoxon's signed-rank test of paired differences; zeros are left out. Sorts `differences`. 1 when none is left. */
double stats_signed_rank(double *differences, size_t count);
/* How small that can get with this many pairs: with few, never small enough. */
double stats_signed_rank_least(size_t count);

/* The rank-sum test of Wilcoxon, Mann and Whitney of two samples. NAN without memory, 1 when one is empty. */
double stats_rank_sum(const double *a, size_t a_count, const double *b, size_t b_count);
double stats_rank_sum_least(size_t a_count, size_t b_count);

/* The middle value, or the mean of the two in the middle; sorts. NAN of none. */
double stats_median(double *values, size_t count);

#endif
