/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a measurement and its statistics.
 *
 * A repeat can be long for many reasons and short for none, so the figures to trust are the low and the middle ones:
 * the median with an interval from order statistics, which assumes nothing about the distribution. The mean is there
 * because the vendor's column is one. Assumes some hundred ops and some hundred repeats of each: texts are allocated
 * one by one. */
#include "analyze/overhead/overhead.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/count_of.h"

#define FLOOR_REPEATS 5u

static void op_free(struct overhead_op *op)
{
    for (size_t i = 0; i < op->native_count; i++)
        free(op->native[i].zone);
    free(op->native);
    free(op->dispatch_ns);
    free(op->total_ns);
    free(op->name);
    free(op->group);
    free(op->reason);
}

void overhead_run_free(struct overhead_run *run)
{
    if (!run)
        return;
    for (size_t i = 0; i < run->op_count; i++)
        op_free(&run->ops[i]);
    free(run->ops);
    free(run->source);
    free(run->provider);
    free(run->provider_version);
    free(run->machine);
    memset(run, 0, sizeof *run);
}

static int compare_name_to_op(const void *name, const void *op)
{
    return strcmp((const char *)name, ((const struct overhead_op *)op)->name);
}

static int compare_ops(const void *a, const void *b)
{
    return strcmp(((const struct overhead_op *)a)->name, ((const struct overhead_op *)b)->name);
}

struct overhead_op *overhead_run_find(const struct overhead_run *run, const char *name)
{
    if (run->is_sorted)
        return run->op_count ? bsearch(name, run->ops, run->op_count, sizeof *run->ops, compare_name_to_op)
                             : NULL;
    for (size_t i = 0; i < run->op_count; i++)
        if (strcmp(run->ops[i].name, name) == 0)
            return &run->ops[i];
    return NULL;
}

bool overhead_set_text(char **field, const char *text)
{
    char *copy = strdup(text);
    if (!copy)
        return false;
    free(*field);
    *field = copy;
    return true;
}

static void set_unknown(struct overhead_op *op)
{
    op->min_ns = op->mean_ns = op->mean_total_ns = op->floor_ns = NAN;
    op->p50_ns = op->p99_ns = op->ci_low_ns = op->ci_high_ns = NAN;
}

struct overhead_op *overhead_run_add(struct overhead_run *run, const char *name, const char *group)
{
    if (!array_reserve(&run->ops, &run->op_capacity, run->op_count + 1, sizeof *run->ops))
        return NULL;
    struct overhead_op op = {.native_ns = NAN, .call_ns = NAN};
    set_unknown(&op);
    if (!overhead_set_text(&op.name, name) || !overhead_set_text(&op.group, group ? group : "") ||
        !overhead_set_text(&op.reason, "")) {
        op_free(&op);
        return NULL;
    }
    run->is_sorted = false;
    run->ops[run->op_count] = op;
    return &run->ops[run->op_count++];
}

void overhead_run_sort(struct overhead_run *run)
{
    if (run->op_count)
        qsort(run->ops, run->op_count, sizeof *run->ops, compare_ops);
    run->is_sorted = true;
}

bool overhead_op_add_repeat(struct overhead_op *op, double dispatch_ns, double total_ns)
{
    /* A power of two is full: the next one is made room for. */
    size_t count = op->repeat_count;
    if ((count & (count - 1)) == 0) {
        size_t room = count ? 2 * count : 1;
        double *dispatch = reallocarray(op->dispatch_ns, room, sizeof *dispatch);
        if (!dispatch)
            return false;
        op->dispatch_ns = dispatch;
        double *total = reallocarray(op->total_ns, room, sizeof *total);
        if (!total)
            return false;
        op->total_ns = total;
    }
    op->dispatch_ns[count] = dispatch_ns;
    op->total_ns[count] = total_ns;
    op->repeat_count++;
    return true;
}

const char *overhead_state_name(enum overhead_state state)
{
    static const char *const names[] = {"measured", "raised", "hung", "crashed", "out of memory", "left out"};
    return (size_t)state < COUNT_OF(names) ? names[state] : "unknown";
}

/* --- statistics --- */

static int compare_values(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void overhead_sort_values(double *values, size_t count)
{
    if (count)
        qsort(values, count, sizeof *values, compare_values);
}

double overhead_quantile(const double *sorted, size_t count, double p)
{
    if (!count)
        return NAN;
    double at = p * (double)(count - 1);
    size_t below = (size_t)at;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

void overhead_median_interval(const double *sorted, size_t count, double *low, double *high)
{
    *low = *high = NAN;
    if (!count)
        return;
    /* The largest rank k (from 1) with P(B < k) <= 2.5 %, B binomial with n and 1/2; the terms in logarithms, since
     * 2^-n has no double for the n of a long run. */
    double sum = 0, n = (double)count;
    size_t k = 0;
    for (size_t i = 0; i < count / 2; i++) {
        double x = (double)i;
        sum += exp(lgamma(n + 1) - lgamma(x + 1) - lgamma(n - x + 1) - n * log(2.0));
        if (sum > 0.025)
            break;
        k = i + 1;
    }
    if (k == 0)
        k = 1;
    *low = sorted[k - 1];
    *high = sorted[count - k];
}

/* The least of every few repeats, and of these the lower quartile: a disturbance that lasts does not raise it, unless
 * it is there most of the time, and a single repeat that was oddly short does not lower it (cores have states in which
 * a loop runs faster by a fifth, once in a thousand times). `scratch` has room for as many values as there are
 * repeats. */
static double floor_of(const double *values, size_t count, double *scratch)
{
    size_t least_count = 0;
    for (size_t i = 0; i < count; i += FLOOR_REPEATS) {
        double least = values[i];
        for (size_t j = i + 1; j < i + FLOOR_REPEATS && j < count; j++)
            least = values[j] < least ? values[j] : least;
        scratch[least_count++] = least;
    }
    overhead_sort_values(scratch, least_count);
    return overhead_quantile(scratch, least_count, 0.25);
}

static double mean_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

void overhead_op_summarise(struct overhead_op *op)
{
    set_unknown(op);
    size_t count = op->repeat_count;
    double *sorted = count ? malloc(count * sizeof *sorted) : NULL;
    if (!count)
        return;
    op->mean_ns = mean_of(op->dispatch_ns, count);
    op->mean_total_ns = mean_of(op->total_ns, count);
    op->min_ns = op->dispatch_ns[0];
    for (size_t i = 1; i < count; i++)
        if (op->dispatch_ns[i] < op->min_ns)
            op->min_ns = op->dispatch_ns[i];
    if (!sorted)
        return;
    op->floor_ns = floor_of(op->dispatch_ns, count, sorted);
    memcpy(sorted, op->dispatch_ns, count * sizeof *sorted);
    overhead_sort_values(sorted, count);
    op->p50_ns = overhead_quantile(sorted, count, 0.5);
    op->p99_ns = overhead_quantile(sorted, count, 0.99);
    overhead_median_interval(sorted, count, &op->ci_low_ns, &op->ci_high_ns);
    free(sorted);
}
