/* SPDX-License-Identifier: Apache-2.0 */
/* Host dispatch times: ops by their names, a row each. Where both files have the interval of the median, a change
 * counts when the intervals do not touch; files without them have no spread, and figures that a file holds rounded must
 * differ by more than rounding can make. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/diff.h"

static int compare_calls(const void *left, const void *right)
{
    const struct diff_call *a = left, *b = right;
    return (a->name > b->name) - (a->name < b->name);
}

void diff_sort_calls(struct diff_run *run)
{
    if (run->calls)
        qsort(run->calls, run->call_count, sizeof *run->calls, compare_calls);
}

/* What is compared: the median where both have it, else the mean, else the least. */
static void choose_figures(const struct diff_call *a, const struct diff_call *b, double *x, double *y)
{
    if (!isnan(a->p50_ns) && !isnan(b->p50_ns)) {
        *x = a->p50_ns;
        *y = b->p50_ns;
    } else if (!isnan(a->mean_ns) && !isnan(b->mean_ns)) {
        *x = a->mean_ns;
        *y = b->mean_ns;
    } else {
        *x = a->min_ns;
        *y = b->min_ns;
    }
}

static int add_row(struct diff *diff, const struct diff_call *a, const struct diff_call *b, struct error *err)
{
    struct diff_row *row = diff_add_row(diff);
    double x, y;
    bool agree = false;
    if (!row)
        return error_no_memory(err, "rows");
    choose_figures(a ? a : b, b ? b : a, &x, &y);
    row->kind = DIFF_CALL_ROW;
    row->name = (b ? b : a)->name;
    row->group = (b ? b : a)->group;
    row->counts[DIFF_A] = a ? (a->count ? a->count : 1) : 0;
    row->counts[DIFF_B] = b ? (b->count ? b->count : 1) : 0;
    row->matched = a && b;
    row->total_ns[DIFF_A] = a ? x : 0;
    row->total_ns[DIFF_B] = b ? y : 0;
    row->typical_ns[DIFF_A] = a ? x : NAN;
    row->typical_ns[DIFF_B] = b ? y : NAN;
    row->change_ns = row->total_ns[DIFF_B] - row->total_ns[DIFF_A];
    row->evidence = DIFF_NO_SPREAD;
    if (a && b) {
        row->change_percent = row->typical_percent = x > 0 ? (y - x) / x * 100 : y > 0 ? NAN : 0;
        if (!isnan(a->low_ns) && !isnan(a->high_ns) && !isnan(b->low_ns) && !isnan(b->high_ns)) {
            row->evidence = DIFF_INTERVALS;
            agree = b->low_ns > a->high_ns || b->high_ns < a->low_ns;
        } else if (a->rounding_ns + b->rounding_ns > 0) {
            row->evidence = DIFF_ROUNDED;
            agree = fabs(y - x) > a->rounding_ns + b->rounding_ns;
        }
        struct diff_total *total = &diff->totals[DIFF_DISPATCH];
        total->is_there = total->is_time = true;
        total->values[DIFF_A] += x;
        total->values[DIFF_B] += y;
    }
    diff_judge(diff, row, agree);
    return 0;
}

int diff_compare_calls(struct diff *diff, struct error *err)
{
    const struct diff_run *a = &diff->runs[DIFF_A], *b = &diff->runs[DIFF_B];
    size_t i = 0, k = 0;
    int status = 0;
    while ((i < a->call_count || k < b->call_count) && !status) {
        const struct diff_call *left = i < a->call_count ? &a->calls[i] : NULL;
        const struct diff_call *right = k < b->call_count ? &b->calls[k] : NULL;
        if (left && !left->is_measured) {
            i++;
            continue;
        }
        if (right && !right->is_measured) {
            k++;
            continue;
        }
        if (left && right && left->name != right->name) {
            if (left->name < right->name)
                right = NULL;
            else
                left = NULL;
        }
        status = add_row(diff, left, right, err);
        i += left != NULL;
        k += right != NULL;
    }
    struct diff_total *total = &diff->totals[DIFF_DISPATCH];
    total->change = total->values[DIFF_B] - total->values[DIFF_A];
    total->change_percent = total->values[DIFF_A] > 0 ? total->change / total->values[DIFF_A] * 100 : NAN;
    if (total->is_there && !diff->totals[DIFF_TOTAL].is_there)
        diff->totals[DIFF_TOTAL] = *total;
    return status;
}
