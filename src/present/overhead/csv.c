/* SPDX-License-Identifier: Apache-2.0 */
/* The writer of dispatch times. Figures that are not known are empty cells. */
#include "present/overhead/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/overhead_columns.h"
#include "text/csv/writer.h"
#include "present/report/number.h"

static void append_ms(struct bytes *out, double ns)
{
    char text[400]; /* the largest double has 309 digits */
    if (isnan(ns))
        return;
    snprintf(text, sizeof text, "%.3f",
             ns / 1e6); /* the decimal nearest to the exact value, as Python rounds */
    python_append_float(out, strtod(text, NULL));
}

static void append_ns(struct bytes *out, double ns)
{
    bytes_append_u8(out, ',');
    if (!isnan(ns))
        bytes_append_format(out, "%.1f", ns);
}

static int compare_self(const void *a, const void *b)
{
    double x = ((const struct overhead_native *)a)->self_ns, y = ((const struct overhead_native *)b)->self_ns;
    return (x < y) - (x > y);
}

static void append_parts(struct bytes *out, const struct overhead_op *op)
{
    struct bytes text = {0};
    struct overhead_native *parts = op->native_count ? malloc(op->native_count * sizeof *parts) : NULL;
    bytes_append_u8(out, ',');
    if (!parts)
        return;
    memcpy(parts, op->native, op->native_count * sizeof *parts);
    qsort(parts, op->native_count, sizeof *parts, compare_self);
    for (size_t i = 0; i < op->native_count; i++)
        bytes_append_format(&text, "%s%s %.1f ns", i ? "; " : "", parts[i].zone, parts[i].self_ns);
    if (text.failed)
        out->failed = true;
    else
        csv_append_exact_text(out, bytes_text(&text));
    bytes_free(&text);
    free(parts);
}

static void append_extended(struct bytes *out, const struct overhead_op *op)
{
    bytes_append_u8(out, ',');
    csv_append_exact_text(out, op->group);
    bytes_append_format(out, ",%s,", overhead_state_name(op->state));
    csv_append_exact_text(out, op->reason);
    bytes_append_format(out, ",%zu", op->repeat_count);
    append_ns(out, op->min_ns);
    append_ns(out, op->floor_ns);
    append_ns(out, op->mean_ns);
    append_ns(out, op->mean_total_ns);
    append_ns(out, op->p50_ns);
    append_ns(out, op->p99_ns);
    append_ns(out, op->ci_low_ns);
    append_ns(out, op->ci_high_ns);
    append_ns(out, op->native_ns);
    append_parts(out, op);
}

void overhead_append_csv(const struct overhead_run *run, unsigned flags, struct bytes *out)
{
    bytes_append_text(out, OVERHEAD_COLUMN_OP "," OVERHEAD_COLUMN_COUNT "," OVERHEAD_COLUMN_MIN
                                              "," OVERHEAD_COLUMN_MEAN "," OVERHEAD_COLUMN_TOTAL);
    if (flags & OVERHEAD_CSV_NATIVE)
        bytes_append_text(out, "," OVERHEAD_COLUMN_NATIVE);
    if (flags & OVERHEAD_CSV_EXTENDED)
        bytes_append_text(
            out, "," OVERHEAD_COLUMN_GROUP "," OVERHEAD_COLUMN_STATE "," OVERHEAD_COLUMN_REASON
                 "," OVERHEAD_COLUMN_REPEATS "," OVERHEAD_COLUMN_MIN_NS "," OVERHEAD_COLUMN_FLOOR_NS
                 "," OVERHEAD_COLUMN_MEAN_NS "," OVERHEAD_COLUMN_TOTAL_NS "," OVERHEAD_COLUMN_P50_NS
                 "," OVERHEAD_COLUMN_P99_NS "," OVERHEAD_COLUMN_CI_LOW_NS "," OVERHEAD_COLUMN_CI_HIGH_NS
                 "," OVERHEAD_COLUMN_NATIVE_NS "," OVERHEAD_COLUMN_NATIVE_PARTS);
    bytes_append_u8(out, '\n');
    for (size_t i = 0; i < run->op_count; i++) {
        const struct overhead_op *op = &run->ops[i];
        if ((op->is_calibration && !(flags & OVERHEAD_CSV_CALIBRATION)) ||
            (op->state != OVERHEAD_MEASURED && !(flags & OVERHEAD_CSV_EXTENDED)))
            continue;
        csv_append_exact_text(out, op->name);
        bytes_append_format(out, ",%" PRIu64 ",", op->count);
        append_ms(out, op->min_ns);
        bytes_append_u8(out, ',');
        append_ms(out, op->mean_ns);
        bytes_append_u8(out, ',');
        append_ms(out, op->mean_total_ns);
        if (flags & OVERHEAD_CSV_NATIVE) {
            bytes_append_u8(out, ',');
            append_ms(out, op->native_ns);
        }
        if (flags & OVERHEAD_CSV_EXTENDED)
            append_extended(out, op);
        bytes_append_u8(out, '\n');
    }
}
