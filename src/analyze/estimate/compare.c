/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/estimate/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/map.h"

void compare_free(struct compare *compare)
{
    intern_free(&compare->texts);
    free(compare->pairs);
    free(compare->pair_of[0]);
    free(compare->pair_of[1]);
    *compare = (struct compare){0};
}

uint32_t compare_text(struct compare *compare, struct slice text)
{
    uint32_t id = intern_add(&compare->texts, text.data ? text.data : "", text.length);
    compare->failed |= id == INTERN_NONE;
    return id;
}

struct compare_pair *compare_add(struct compare *compare)
{
    if (!array_reserve(&compare->pairs, &compare->pair_capacity, compare->pair_count + 1,
                       sizeof compare->pairs[0])) {
        compare->failed = true;
        return NULL;
    }
    struct compare_pair *pair = &compare->pairs[compare->pair_count++];
    *pair = (struct compare_pair){0};
    return pair;
}

double compare_factor(double estimate_ns, double measured_ns)
{
    if (!(estimate_ns > 0) || !(measured_ns > 0))
        return NAN;
    return fmax(estimate_ns / measured_ns, measured_ns / estimate_ns);
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The value below which a share of them lies, in place sorted; NaN of none. */
static double quantile(double *values, size_t count, double share)
{
    if (!count)
        return NAN;
    qsort(values, count, sizeof values[0], by_value);
    double at = share * (double)(count - 1);
    size_t below = (size_t)at;
    double part = at - (double)below, above = below + 1 < count ? values[below + 1] : values[below];
    if (!(part > 0) || above == values[below]) /* also of two infinite ones */
        return values[below];
    return values[below] + (above - values[below]) * part;
}

static double miss(const struct compare_pair *pair)
{
    return pair->runs ? fabs(pair->estimate_ns - pair->measured_ns) : 0;
}

static int by_miss(const void *left, const void *right)
{
    const struct compare_group *a = left, *b = right;
    double first = fabs(a->estimate_ns - a->measured_ns), second = fabs(b->estimate_ns - b->measured_ns);
    if (first != second)
        return first > second ? -1 : 1;
    return (a->key > b->key) - (a->key < b->key);
}

/* The median factor of each group, from its pairs: `own` has room for all. */
static void take_factors(const struct compare *compare, const uint32_t *group_of,
                         struct compare_group *groups, size_t count, double *own, size_t *first)
{
    for (size_t i = 0; i < compare->pair_count; i++)
        first[group_of[i] + 1] += compare->pairs[i].runs != 0;
    for (size_t i = 0; i < count; i++)
        first[i + 1] += first[i];
    for (size_t i = 0; i < compare->pair_count; i++) {
        double factor = compare_factor(compare->pairs[i].estimate_ns, compare->pairs[i].measured_ns);
        if (compare->pairs[i].runs)
            own[first[group_of[i]]++] = isnan(factor) ? INFINITY : factor;
    }
    for (size_t i = 0; i < count; i++) { /* each has moved to the end of its group */
        size_t begin = i ? first[i - 1] : 0;
        groups[i].factor = quantile(own + begin, first[i] - begin, 0.5);
    }
}

int compare_group(const struct compare *compare, enum compare_by by, struct compare_group **out,
                  size_t *out_count, struct error *err)
{
    size_t count = 0, most = compare->pair_count;
    struct map by_key = {0};
    struct compare_group *groups = calloc(most + 1, sizeof groups[0]);
    uint32_t *group_of = calloc(most + 1, sizeof group_of[0]);
    double *factors = calloc(most + 1, sizeof factors[0]);
    size_t *first = calloc(most + 2, sizeof first[0]);
    bool failed = !groups || !group_of || !factors || !first;
    for (uint32_t i = 0; i < most && !failed; i++) {
        const struct compare_pair *pair = &compare->pairs[i];
        uint32_t key = by == COMPARE_BY_LOCATION ? pair->location : pair->type, at = map_get(&by_key, key);
        if (at == MAP_NONE) {
            at = (uint32_t)count++;
            groups[at] = (struct compare_group){.key = key, .worst = i};
            failed = !map_put(&by_key, key, at);
        }
        group_of[i] = at;
        if (!pair->runs)
            continue;
        groups[at].pairs++;
        groups[at].runs += pair->runs;
        groups[at].estimate_ns += pair->estimate_ns;
        groups[at].measured_ns += pair->measured_ns;
        groups[at].worst = miss(pair) > miss(&compare->pairs[groups[at].worst]) ? i : groups[at].worst;
    }
    if (!failed) {
        take_factors(compare, group_of, groups, count, factors, first);
        qsort(groups, count, sizeof groups[0], by_miss);
    }
    map_free(&by_key);
    free(group_of);
    free(factors);
    free(first);
    if (failed) {
        free(groups);
        groups = NULL;
        count = 0;
    }
    *out = groups;
    *out_count = count;
    return failed ? error_no_memory(err, "the groups of a comparison") : 0;
}

int compare_sum(const struct compare *compare, struct compare_total *total, struct error *err)
{
    double *factors = malloc((compare->pair_count + 1) * sizeof factors[0]);
    size_t count = 0;
    *total = (struct compare_total){0};
    if (!factors)
        return error_no_memory(err, "a comparison");
    for (size_t i = 0; i < compare->pair_count; i++) {
        const struct compare_pair *pair = &compare->pairs[i];
        if (!pair->runs)
            continue;
        double factor = compare_factor(pair->estimate_ns, pair->measured_ns);
        factors[count++] = isnan(factor) ? INFINITY : factor;
        total->estimate_ns += pair->estimate_ns;
        total->measured_ns += pair->measured_ns;
    }
    total->pairs = count;
    total->bias_percent =
        total->measured_ns > 0 ? 100 * (total->estimate_ns - total->measured_ns) / total->measured_ns : NAN;
    total->median = quantile(factors, count, 0.5);
    total->p90 = quantile(factors, count, 0.9);
    free(factors);
    return 0;
}
