/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/device/stats.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "import/tenstorrent/device/marks.h"

enum analysis_kind { OF_SPAN, OF_SUM, OF_CORES, OF_GAPS, OF_TRACE_GAPS, OF_DISPATCH };

/* In the order of the vendor's list. */
static const struct {
    const char *name;
    enum analysis_kind kind;
    unsigned what; /* enum tt_span, enum tt_sum */
} analyses[] = {
    {"trace_fw_duration", OF_SPAN, TT_SPAN_TRACE_FW},
    {"trace_kernel_duration", OF_SPAN, TT_SPAN_TRACE_KERNEL},
    {"trace2trace - FW", OF_TRACE_GAPS, TT_SPAN_TRACE_FW},
    {"trace2trace - kernel", OF_TRACE_GAPS, TT_SPAN_TRACE_KERNEL},
    {"op2op", OF_GAPS, 0},
    {"device_kernel_first_to_last_start", OF_SPAN, TT_SPAN_FIRST_TO_LAST},
    {"device_kernel_duration_per_core", OF_CORES, 0},
    {"device_fw_duration", OF_SPAN, TT_SPAN_FW},
    {"device_kernel_duration", OF_SPAN, TT_SPAN_KERNEL},
    {"device_kernel_duration_dm_start", OF_SPAN, TT_SPAN_KERNEL_DM},
    {"device_brisc_kernel_duration", OF_SPAN, TT_SPAN_BRISC},
    {"device_ncrisc_kernel_duration", OF_SPAN, TT_SPAN_NCRISC},
    {"device_trisc0_kernel_duration", OF_SPAN, TT_SPAN_TRISC0},
    {"device_trisc1_kernel_duration", OF_SPAN, TT_SPAN_TRISC1},
    {"device_trisc2_kernel_duration", OF_SPAN, TT_SPAN_TRISC2},
    {"device_erisc_kernel_duration", OF_SPAN, TT_SPAN_ERISC},
    {"device_compute_cb_wait_front", OF_SUM, TT_SUM_WAIT_FRONT},
    {"device_compute_cb_reserve_back", OF_SUM, TT_SUM_RESERVE_BACK},
    {"dispatch_total_cq_cmd_op_time", OF_DISPATCH, TT_SPAN_DISPATCH_TOTAL},
    {"dispatch_go_send_wait_time", OF_DISPATCH, TT_SPAN_DISPATCH_GO},
};

struct series { /* what is added up for one device and analysis */
    uint64_t count, max, min, sum;
    double *medians; /* of the inner series */
    size_t median_count, median_capacity;
    bool failed;
};

static void add_values(struct series *s, uint64_t count, uint64_t min, uint64_t max, uint64_t sum,
                       double median)
{
    if (!array_reserve(&s->medians, &s->median_capacity, s->median_count + 1, sizeof s->medians[0])) {
        s->failed = true;
        return;
    }
    s->min = s->count == 0 || min < s->min ? min : s->min;
    s->max = max > s->max ? max : s->max;
    s->sum += sum;
    s->count += count;
    s->medians[s->median_count++] = median;
}

static void add_value(struct series *s, uint64_t value)
{
    add_values(s, 1, value, value, value, (double)value);
}

static int compare_doubles(const void *left, const void *right)
{
    double a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof values[0], compare_doubles);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Gaps of one core: an inner series of their own. */
static void add_core_gaps(struct series *s, const struct tt_core_gap *gaps, size_t count)
{
    double *values = malloc(count * sizeof values[0]);
    uint64_t min = UINT64_MAX, max = 0, sum = 0;
    if (!values) {
        s->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t gap = gaps[i].end - gaps[i].start;
        values[i] = (double)gap;
        min = gap < min ? gap : min;
        max = gap > max ? gap : max;
        sum += gap;
    }
    add_values(s, count, min, max, sum, median_of(values, count));
    free(values);
}

static void add_gaps(struct series *s, const struct tt_log *log, uint32_t device,
                     const struct tt_core_gaps *gaps)
{
    for (size_t i = 0; i < gaps->count && !s->failed;) {
        size_t from = i;
        while (i < gaps->count && gaps->items[i].core == gaps->items[from].core)
            i++;
        if (log->cores[gaps->items[from].core].device == device)
            add_core_gaps(s, gaps->items + from, i - from);
    }
}

/* From the end of a replay to the start of the next one: ops of whole traces, in time order. */
static void add_trace_gaps(struct series *s, const struct tt_log *log, uint32_t device, unsigned span)
{
    double *bounds = NULL; /* start, end of each */
    size_t count = 0, capacity = 0;
    struct series inner = {0};
    for (size_t i = 0; i < log->op_count; i++) {
        const struct tt_interval *interval = &log->ops[i].spans[span];
        if (log->ops[i].device != device || !interval->is_set)
            continue;
        if (!array_reserve(&bounds, &capacity, count + 2, sizeof bounds[0])) {
            s->failed = true;
            break;
        }
        bounds[count++] = (double)interval->start;
        bounds[count++] = (double)interval->end;
    }
    if (count)
        qsort(bounds, count / 2, 2 * sizeof bounds[0], compare_doubles);
    for (size_t i = 2; i + 1 < count; i += 2) {
        if (bounds[i] >= bounds[i - 1])
            add_value(&inner, (uint64_t)(bounds[i] - bounds[i - 1]));
    }
    if (inner.count)
        add_values(s, inner.count, inner.min, inner.max, inner.sum,
                   median_of(inner.medians, inner.median_count));
    s->failed |= inner.failed;
    free(inner.medians);
    free(bounds);
}

static void add_ops(struct series *s, const struct tt_log *log, uint32_t device, size_t which)
{
    for (size_t i = 0; i < log->op_count && !s->failed; i++) {
        const struct tt_device_op *op = &log->ops[i];
        unsigned what = analyses[which].what;
        if (op->device != device || op->is_incomplete)
            continue;
        if (analyses[which].kind == OF_SPAN && op->spans[what].is_set)
            add_value(s, op->spans[what].end - op->spans[what].start);
        if (analyses[which].kind == OF_SUM && op->has_sum[what])
            add_value(s, op->sums[what]);
        if (analyses[which].kind == OF_CORES && op->core_spans)
            add_values(s, op->core_spans, op->core_min, op->core_max, op->core_sum, op->core_median);
    }
}

/* All that were dispatched, also those of which no core recorded the run. */
static void add_dispatches(struct series *s, const struct tt_log *log, uint32_t device, unsigned span)
{
    for (size_t i = 0; i < log->dispatch_op_count && !s->failed; i++) {
        const struct tt_dispatch_op *op = &log->dispatch_ops[i];
        const struct tt_interval *interval = span == TT_SPAN_DISPATCH_GO ? &op->go : &op->total;
        if (op->device == device && interval->is_set)
            add_value(s, interval->end - interval->start);
    }
}

static bool add_device(struct tt_stats *stats, const struct tt_log *log, uint32_t device,
                       const struct tt_core_gaps *gaps)
{
    for (size_t i = 0; i < COUNT_OF(analyses); i++) {
        struct series s = {0};
        if (analyses[i].kind == OF_GAPS)
            add_gaps(&s, log, device, gaps);
        else if (analyses[i].kind == OF_TRACE_GAPS)
            add_trace_gaps(&s, log, device, analyses[i].what);
        else if (analyses[i].kind == OF_DISPATCH)
            add_dispatches(&s, log, device, analyses[i].what);
        else
            add_ops(&s, log, device, i);
        bool is_fine = !s.failed;
        if (is_fine && s.count) {
            is_fine =
                array_reserve(&stats->items, &stats->capacity, stats->count + 1, sizeof stats->items[0]);
            if (is_fine)
                stats->items[stats->count++] =
                    (struct tt_stat){.device = device,
                                     .analysis = analyses[i].name,
                                     .count = s.count,
                                     .max = s.max,
                                     .min = s.min,
                                     .sum = s.sum,
                                     .average = (double)s.sum / (double)s.count,
                                     .median = median_of(s.medians, s.median_count)};
        }
        free(s.medians);
        if (!is_fine)
            return false;
    }
    return true;
}

static int compare_devices(const void *left, const void *right)
{
    uint32_t a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

int tt_stats_make(struct tt_stats *stats, struct tt_log *log, struct error *err)
{
    struct tt_core_gaps gaps = {0};
    uint32_t *devices = calloc(log->core_count + 1, sizeof devices[0]);
    *stats = (struct tt_stats){0};
    int result = devices ? tt_log_core_gaps(log, &gaps, err) : error_set_errno(err, ENOMEM, "statistics");
    for (size_t i = 0; i < log->core_count && result == 0; i++)
        devices[i] = log->cores[i].device;
    if (result == 0)
        qsort(devices, log->core_count, sizeof devices[0], compare_devices);
    for (size_t i = 0; i < log->core_count && result == 0; i++) {
        if ((i == 0 || devices[i] != devices[i - 1]) && !add_device(stats, log, devices[i], &gaps))
            result = error_set_errno(err, ENOMEM, "statistics");
    }
    tt_core_gaps_free(&gaps);
    free(devices);
    if (result != 0)
        tt_stats_free(stats);
    return result;
}

void tt_stats_free(struct tt_stats *stats)
{
    free(stats->items);
    *stats = (struct tt_stats){0};
}

/* "%10,.0f": to even where it lies between two, with commas. */
static void append_grouped(struct bytes *out, double value)
{
    char digits[64], text[96];
    int n = snprintf(digits, sizeof digits, "%.0f", nearbyint(value));
    size_t at = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0 && digits[i - 1] != '-')
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = 0;
    bytes_append_format(out, "%10s\n", text);
}

void tt_stats_append_text(const struct tt_stats *stats, struct bytes *out)
{
    for (size_t i = 0; i < stats->count; i++) {
        const struct tt_stat *stat = &stats->items[i];
        const struct {
            const char *name;
            double value;
        } lines[] = {
            {"Average", stat->average}, {"Max", (double)stat->max},
            {"Median", stat->median},   {"Min", (double)stat->min},
            {"Sum", (double)stat->sum}, {"Range", (double)(stat->max - stat->min)},
        };
        bytes_append_format(out, "\n=================== %s ===================\n", stat->analysis);
        if (stat->count == 1) {
            bytes_append_format(out, "%12s [cycles] = ", "Duration");
            append_grouped(out, stat->average);
        } else {
            bytes_append_format(out, "%12s          = ", "Count");
            append_grouped(out, (double)stat->count);
            for (size_t k = 0; k < COUNT_OF(lines); k++) {
                bytes_append_format(out, "%12s [cycles] = ", lines[k].name);
                append_grouped(out, lines[k].value);
            }
        }
        bytes_append_text(out, "\n");
    }
}
