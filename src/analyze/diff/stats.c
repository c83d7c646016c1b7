/* SPDX-License-Identifier: Apache-2.0 */
/* See stats.h. Exact distributions count in how many of all cases a rank sum is reached: ranks are doubled, so
 * that the half ranks of ties are whole numbers too. */
#include "analyze/diff/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_PAIRS 30u  /* signed rank: up to this many differences */
#define EXACT_VALUES 40u /* rank sum: values of both samples together */

static int compare_values(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static int compare_sizes(const void *left, const void *right)
{
    double a = fabs(*(const double *)left), b = fabs(*(const double *)right);
    return (a > b) - (a < b);
}

double stats_median(double *values, size_t count)
{
    if (count == 0)
        return NAN;
    qsort(values, count, sizeof *values, compare_values);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double two_sided(double distance, double variance)
{
    if (!(variance > 0))
        return 1;
    double z = fmax(0, fabs(distance) - 0.5) / sqrt(variance);
    return erfc(z / sqrt(2));
}

/* --- signed rank --- */

/* The share of all 2^count choices of signs whose doubled rank sum is at least as far from the middle. */
static double exact_signed_rank(const unsigned *ranks, size_t count, unsigned sum)
{
    double ways[EXACT_PAIRS * (EXACT_PAIRS + 1) + 1] = {1};
    unsigned total = 0;
    for (size_t i = 0; i < count; i++) {
        total += ranks[i];
        for (unsigned s = total; s >= ranks[i]; s--)
            ways[s] += ways[s - ranks[i]];
    }
    unsigned low = sum < total - sum ? sum : total - sum;
    double extreme = 0;
    for (unsigned s = 0; s <= low; s++)
        extreme += ways[s];
    return fmin(1, 2 * extreme / ldexp(1, (int)count));
}

double stats_signed_rank(double *differences, size_t count)
{
    unsigned ranks[EXACT_PAIRS], positive_exact = 0;
    double positive = 0, total = 0, squares = 0;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (differences[i] != 0)
            differences[kept++] = differences[i];
    }
    if (kept == 0)
        return 1;
    qsort(differences, kept, sizeof *differences, compare_sizes);
    for (size_t i = 0; i < kept;) {
        size_t end = i + 1;
        while (end < kept && fabs(differences[end]) == fabs(differences[i]))
            end++;
        double rank = (double)(i + 1 + end) / 2;
        for (; i < end; i++) {
            bool is_positive = differences[i] > 0;
            positive += is_positive ? rank : 0;
            total += rank;
            squares += rank * rank;
            if (kept <= EXACT_PAIRS) {
                ranks[i] = (unsigned)(2 * rank);
                positive_exact += is_positive ? ranks[i] : 0;
            }
        }
    }
    return kept <= EXACT_PAIRS ? exact_signed_rank(ranks, kept, positive_exact)
                               : two_sided(positive - total / 2, squares / 4);
}

double stats_signed_rank_least(size_t count)
{
    return count == 0 ? 1 : fmin(1, ldexp(1, count > 1000 ? -999 : 1 - (int)count));
}

/* --- rank sum --- */

struct ranked {
    double value;
    unsigned rank; /* doubled */
    bool is_a;
};

static int compare_ranked(const void *left, const void *right)
{
    return compare_values(&((const struct ranked *)left)->value, &((const struct ranked *)right)->value);
}

/* The share of all choices of a_count values whose doubled rank sum is at least as far from the mean. */
static double exact_rank_sum(const struct ranked *all, size_t count, size_t a_count, unsigned sum)
{
    static const size_t sums = EXACT_VALUES * (EXACT_VALUES + 1) + 1;
    double *ways = calloc((EXACT_VALUES + 1) * sums, sizeof *ways), extreme = 0, every = 0;
    if (!ways)
        return NAN;
    ways[0] = 1;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = a_count; k > 0; k--) {
            for (size_t s = all[i].rank; s < sums; s++)
                ways[k * sums + s] += ways[(k - 1) * sums + s - all[i].rank];
        }
    }
    double mean = (double)a_count * (double)(count + 1), distance = fabs((double)sum - mean);
    for (size_t s = 0; s < sums; s++) {
        double here = ways[a_count * sums + s];
        every += here;
        extreme += fabs((double)s - mean) >= distance - 1e-9 ? here : 0;
    }
    free(ways);
    return extreme / every;
}

double stats_rank_sum(const double *a, size_t a_count, const double *b, size_t b_count)
{
    size_t count = a_count + b_count;
    double sum = 0, ties = 0;
    if (a_count == 0 || b_count == 0)
        return 1;
    struct ranked *all = malloc(count * sizeof *all);
    if (!all)
        return NAN;
    for (size_t i = 0; i < count; i++)
        all[i] = (struct ranked){.value = i < a_count ? a[i] : b[i - a_count], .is_a = i < a_count};
    qsort(all, count, sizeof *all, compare_ranked);
    for (size_t i = 0; i < count;) {
        size_t first = i, end = i + 1;
        while (end < count && all[end].value == all[i].value)
            end++;
        for (; i < end; i++) {
            all[i].rank = (unsigned)(first + 1 + end);
            sum += all[i].is_a ? (double)all[i].rank / 2 : 0;
        }
        double tied = (double)(end - first);
        ties += tied * tied * tied - tied;
    }
    double p, n = (double)count, na = (double)a_count, nb = (double)b_count;
    if (count <= EXACT_VALUES)
        p = exact_rank_sum(all, count, a_count, (unsigned)lround(2 * sum));
    else
        p = two_sided(sum - na * (n + 1) / 2, na * nb / 12 * (n + 1 - ties / (n * (n - 1))));
    free(all);
    return p;
}

double stats_rank_sum_least(size_t a_count, size_t b_count)
{
    double ways = 1; /* to choose a_count out of both */
    for (size_t i = 1; i <= a_count && ways < 1e12; i++)
        ways = ways * (double)(b_count + i) / (double)i;
    return fmin(1, 2 / ways);
}
