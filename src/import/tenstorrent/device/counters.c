/* SPDX-License-Identifier: Apache-2.0 */
#include "import/tenstorrent/device/counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"

static const char *const counter_names[TT_COUNTER_COUNT] = {
#define X(name) #name,
    TT_COUNTERS(X)
#undef X
};

enum form {
    FORM_UTIL,         /* a / its reference */
    FORM_RATIO,        /* a / b */
    FORM_MEAN_OF_TWO,  /* (a + b) / (2 * reference of a) */
    FORM_MISSING,      /* (b - a) / b */
    FORM_MISSING_FROM, /* the same, not below 0 */
    FORM_BACKPRESSURE, /* ((a - b) + (c - d)) / (a + c), not below 0 */
    FORM_SPECIAL,
};

struct rule {
    enum form form;
    enum tt_counter counters[4];
};

#define C(name) TT_COUNTER_##name
#define UTIL(metric, a) [OP_METRIC_##metric] = {FORM_UTIL, {C(a)}}
#define RATIO(metric, a, b) [OP_METRIC_##metric] = {FORM_RATIO, {C(a), C(b)}}
#define MEAN(metric, a, b) [OP_METRIC_##metric] = {FORM_MEAN_OF_TWO, {C(a), C(b)}}
#define MISSING(metric, a, b) [OP_METRIC_##metric] = {FORM_MISSING, {C(a), C(b)}}
#define MISSING_FROM(metric, a, b) [OP_METRIC_##metric] = {FORM_MISSING_FROM, {C(a), C(b)}}
#define PRESSURE(metric, a)                                                                                  \
    [OP_METRIC_##metric] = {FORM_BACKPRESSURE, {C(a##_0), C(a##_0_GRANT), C(a##_1), C(a##_1_GRANT)}}
#define SPECIAL(metric) [OP_METRIC_##metric] = {FORM_SPECIAL, {0}}

static const struct rule rules[OP_METRIC_COUNT] = {
    UTIL(SFPU_UTIL, SFPU_COUNTER),
    UTIL(FPU_UTIL, FPU_COUNTER),
    UTIL(MATH_UTIL, MATH_COUNTER),
    RATIO(UNPACKER0_WRITE_EFFICIENCY, SRCA_WRITE_ACTUAL, UNPACK0_BUSY_THREAD0),
    RATIO(UNPACKER1_WRITE_EFFICIENCY, SRCB_WRITE_NOT_BLOCKED_PORT, UNPACK1_BUSY_THREAD0),
    SPECIAL(UNPACKER_WRITE_EFFICIENCY),
    SPECIAL(PACKER_EFFICIENCY),
    RATIO(FPU_EXECUTION_EFFICIENCY, FPU_COUNTER, FPU_INSTRN_AVAILABLE_1),
    RATIO(MATH_PIPELINE_UTILIZATION, MATH_INSTRN_STARTED, MATH_INSTRN_AVAILABLE),
    SPECIAL(MATH_TO_PACK_HANDOFF_EFFICIENCY),
    SPECIAL(UNPACKER_TO_MATH_DATA_FLOW),
    UTIL(THREAD_0_STALL_RATE, THREAD_STALLS_0),
    UTIL(THREAD_1_STALL_RATE, THREAD_STALLS_1),
    UTIL(THREAD_2_STALL_RATE, THREAD_STALLS_2),
    UTIL(SRCA_VALID_WAIT, WAITING_FOR_SRCA_VALID),
    UTIL(SRCB_VALID_WAIT, WAITING_FOR_SRCB_VALID),
    UTIL(SRCA_CLEAR_WAIT, WAITING_FOR_SRCA_CLEAR),
    UTIL(SRCB_CLEAR_WAIT, WAITING_FOR_SRCB_CLEAR),
    UTIL(MATH_IDLE_WAIT_T1, WAITING_FOR_MATH_IDLE_1),
    UTIL(PACK_IDLE_WAIT_T2, WAITING_FOR_PACK_IDLE_2),
    UTIL(UNPACK_IDLE_WAIT_T0, WAITING_FOR_UNPACK_IDLE_0),
    UTIL(SEMAPHORE_ZERO_WAIT_T0, WAITING_FOR_NONZERO_SEM_0),
    UTIL(SEMAPHORE_ZERO_WAIT_T1, WAITING_FOR_NONZERO_SEM_1),
    UTIL(SEMAPHORE_ZERO_WAIT_T2, WAITING_FOR_NONZERO_SEM_2),
    UTIL(SEMAPHORE_FULL_WAIT_T0, WAITING_FOR_NONFULL_SEM_0),
    UTIL(SEMAPHORE_FULL_WAIT_T1, WAITING_FOR_NONFULL_SEM_1),
    UTIL(SEMAPHORE_FULL_WAIT_T2, WAITING_FOR_NONFULL_SEM_2),
    MISSING_FROM(DATA_HAZARD_STALL_RATE, DATA_HAZARD_STALLS_MOVD2A, MATH_INSTRN_AVAILABLE),
    RATIO(FIDELITY_STALL_RATE, MATH_FIDELITY_STALL, MATH_INSTRN_AVAILABLE),
    SPECIAL(HIFI_FRACTION),
    SPECIAL(AVG_HF_CYCLES_PER_INSTRN),
    UTIL(L1_UNPACKER_PORT_UTIL, L1_0_UNPACKER_0),
    MEAN(L1_TDMA_BUNDLE_UTIL, L1_0_TDMA_BUNDLE_0_RISC, L1_0_TDMA_BUNDLE_1_TRISC),
    MEAN(NOC_RING_0_OUTGOING_UTIL, L1_0_NOC_RING0_OUTGOING_0, L1_0_NOC_RING0_OUTGOING_1),
    MEAN(NOC_RING_0_INCOMING_UTIL, L1_0_NOC_RING0_INCOMING_0, L1_0_NOC_RING0_INCOMING_1),
    MEAN(NOC_RING_1_OUTGOING_UTIL, L1_1_NOC_RING1_OUTGOING_0, L1_1_NOC_RING1_OUTGOING_1),
    MEAN(NOC_RING_1_INCOMING_UTIL, L1_1_NOC_RING1_INCOMING_0, L1_1_NOC_RING1_INCOMING_1),
    SPECIAL(L1_PACKER_PORT_UTIL),
    PRESSURE(NOC_RING_0_OUTGOING_BACKPRESSURE, L1_0_NOC_RING0_OUTGOING),
    PRESSURE(NOC_RING_0_INCOMING_BACKPRESSURE, L1_0_NOC_RING0_INCOMING),
    PRESSURE(NOC_RING_1_OUTGOING_BACKPRESSURE, L1_1_NOC_RING1_OUTGOING),
    PRESSURE(NOC_RING_1_INCOMING_BACKPRESSURE, L1_1_NOC_RING1_INCOMING),
    SPECIAL(L1_UNPACKER_BACKPRESSURE),
    SPECIAL(L1_PACKER_PORT_BACKPRESSURE),
    MISSING_FROM(SRCA_WRITE_PORT_BLOCKED_RATE, SRCA_WRITE_ACTUAL, SRCA_WRITE_AVAILABLE),
    MISSING_FROM(SRCA_WRITE_OVERWRITE_BLOCKED_RATE, SRCA_WRITE_NOT_BLOCKED_OVR, SRCA_WRITE_AVAILABLE),
    MISSING_FROM(SRCB_WRITE_OVERWRITE_BLOCKED_RATE, SRCB_WRITE_ACTUAL, SRCB_WRITE_AVAILABLE),
    MISSING_FROM(DEST_READ_BACKPRESSURE, DEST_READ_GRANTED_0, PACKER_DEST_READ_AVAILABLE),
    SPECIAL(MATH_DEST_WRITE_PORT_STALL_RATE),
    MISSING(MATH_SCOREBOARD_STALL_RATE, AVAILABLE_MATH, MATH_INSTRN_AVAILABLE),
    SPECIAL(T0_INSTRN_ISSUE_RATE),
    SPECIAL(T1_INSTRN_ISSUE_RATE),
    SPECIAL(T2_INSTRN_ISSUE_RATE),
    UTIL(CFG_INSTRN_AVAIL_RATE_T0, CFG_INSTRN_AVAILABLE_0),
    UTIL(SYNC_INSTRN_AVAIL_RATE_T0, SYNC_INSTRN_AVAILABLE_0),
    UTIL(THCON_INSTRN_AVAIL_RATE_T0, THCON_INSTRN_AVAILABLE_0),
    UTIL(MOVE_INSTRN_AVAIL_RATE_T0, MOVE_INSTRN_AVAILABLE_0),
    UTIL(MATH_INSTRN_AVAIL_RATE_T1, FPU_INSTRN_AVAILABLE_1),
    UTIL(UNPACK_INSTRN_AVAIL_RATE_T0, UNPACK_INSTRN_AVAILABLE_0),
    UTIL(PACK_INSTRN_AVAIL_RATE_T2, PACK_INSTRN_AVAILABLE_2),
    MISSING_FROM(SRCB_WRITE_PORT_BLOCKED_RATE, SRCB_WRITE_NOT_BLOCKED_PORT, SRCB_WRITE_AVAILABLE),
    RATIO(SRCA_WRITE_ACTUAL_EFFICIENCY, SRCA_WRITE_ACTUAL, SRCA_WRITE_AVAILABLE),
    RATIO(SRCB_WRITE_ACTUAL_EFFICIENCY, SRCB_WRITE_NOT_BLOCKED_PORT, SRCB_WRITE_AVAILABLE),
    UTIL(PACKER_ENGINE_0_UTIL, PACKER_BUSY_0),
    UTIL(PACKER_ENGINE_1_UTIL, PACKER_BUSY_1),
    UTIL(PACKER_ENGINE_2_UTIL, PACKER_BUSY_2),
    UTIL(MMIO_IDLE_WAIT_T0, WAITING_FOR_MMIO_IDLE_0),
    UTIL(SFPU_IDLE_WAIT_T1, WAITING_FOR_SFPU_IDLE_1),
    UTIL(THCON_IDLE_WAIT_T0, WAITING_FOR_THCON_IDLE_0),
    UTIL(MOVE_IDLE_WAIT_T0, WAITING_FOR_MOVE_IDLE_0),
    UTIL(RISC_CORE_L1_UTIL, L1_1_RISC_CORE),
    SPECIAL(L1_TOTAL_BANDWIDTH_UTIL),
    SPECIAL(L1_READ_VS_WRITE_RATIO),
    SPECIAL(NOC_RING_0_ASYMMETRY),
    SPECIAL(L1_CONTENTION_INDEX),
    RATIO(UNPACKER_L1_EFFICIENCY, L1_0_UNPACKER_0_GRANT, UNPACK0_BUSY_THREAD0),
    RATIO(PACKER_L1_EFFICIENCY, L1_0_PORT1_GRANT, PACKER_BUSY),
    SPECIAL(NOC_VS_COMPUTE_BALANCE),
    SPECIAL(TDMA_VS_NOC_L1_SHARE),
    SPECIAL(STALL_OVERLAP_T0),
    SPECIAL(STALL_OVERLAP_T1),
    SPECIAL(STALL_OVERLAP_T2),
    SPECIAL(PACKER_LOAD_IMBALANCE),
    SPECIAL(COMPUTE_TO_UNPACK_RATIO),
};

enum tt_counter tt_counter_find(const char *name, size_t length)
{
    for (unsigned i = 0; i < TT_COUNTER_COUNT; i++) {
        if (strlen(counter_names[i]) == length && memcmp(counter_names[i], name, length) == 0)
            return (enum tt_counter)i;
    }
    return TT_COUNTER_COUNT;
}

/* A core's counter, exact in a double up to 2^53; NaN when it was not counted, which every sum then is. */
static double value_of(const struct tt_core_counters *core, enum tt_counter counter)
{
    return core->is_set[counter] ? (double)core->value[counter] : NAN;
}

static double reference_of(const struct tt_core_counters *core, enum tt_counter counter)
{
    return core->is_set[counter] ? (double)core->reference[counter] : NAN;
}

static double percent(double part, double whole)
{
    return part / whole * 100;
}

static double not_below_0(double value)
{
    return value < 0 ? 0.0 : value;
}

/* The packer's port has one of two names, by chip. */
static enum tt_counter packer_port(const struct tt_core_counters *core)
{
    return core->is_set[C(L1_0_UNIFIED_PACKER)] ? C(L1_0_UNIFIED_PACKER) : C(L1_0_UNPACKER_1_ECC_PACK1);
}

static double sum_of(const struct tt_core_counters *core, const enum tt_counter *counters, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += value_of(core, counters[i]);
    return sum;
}

#define SUM(core, ...)                                                                                       \
    sum_of(core, (const enum tt_counter[]){__VA_ARGS__},                                                     \
           sizeof((const enum tt_counter[]){__VA_ARGS__}) / sizeof(enum tt_counter))

static double noc_out(const struct tt_core_counters *core)
{
    return SUM(core, C(L1_0_NOC_RING0_OUTGOING_0), C(L1_0_NOC_RING0_OUTGOING_1));
}

static double noc_in(const struct tt_core_counters *core)
{
    return SUM(core, C(L1_0_NOC_RING0_INCOMING_0), C(L1_0_NOC_RING0_INCOMING_1));
}

static double tdma(const struct tt_core_counters *core)
{
    return SUM(core, C(L1_0_TDMA_BUNDLE_0_RISC), C(L1_0_TDMA_BUNDLE_1_TRISC));
}

static double contention(const struct tt_core_counters *core)
{
    static const enum tt_counter ports[][2] = {
        {C(L1_0_UNPACKER_0), C(L1_0_UNPACKER_0_GRANT)},
        {C(L1_0_NOC_RING0_OUTGOING_0), C(L1_0_NOC_RING0_OUTGOING_0_GRANT)},
        {C(L1_0_NOC_RING0_OUTGOING_1), C(L1_0_NOC_RING0_OUTGOING_1_GRANT)},
        {C(L1_0_NOC_RING0_INCOMING_0), C(L1_0_NOC_RING0_INCOMING_0_GRANT)},
        {C(L1_0_NOC_RING0_INCOMING_1), C(L1_0_NOC_RING0_INCOMING_1_GRANT)},
    };
    double sum = 0;
    for (size_t i = 0; i < COUNT_OF(ports); i++) {
        double asked = value_of(core, ports[i][0]), granted = value_of(core, ports[i][1]);
        sum += not_below_0(percent(asked - granted, asked));
    }
    return sum / 5;
}

static double stall_overlap(const struct tt_core_counters *core, unsigned thread)
{
    static const enum tt_counter reasons[] = {
        C(WAITING_FOR_THCON_IDLE_0), C(WAITING_FOR_UNPACK_IDLE_0), C(WAITING_FOR_PACK_IDLE_0),
        C(WAITING_FOR_MATH_IDLE_0),  C(WAITING_FOR_NONZERO_SEM_0), C(WAITING_FOR_NONFULL_SEM_0),
        C(WAITING_FOR_MOVE_IDLE_0),  C(WAITING_FOR_MMIO_IDLE_0),   C(WAITING_FOR_SFPU_IDLE_0),
    };
    double sum = 0;
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        sum += value_of(core, (enum tt_counter)(reasons[i] + thread));
    return percent(sum, value_of(core, (enum tt_counter)(C(THREAD_STALLS_0) + thread)));
}

static double packer_imbalance(const struct tt_core_counters *core)
{
    static const enum tt_counter engines[] = {C(PACKER_BUSY), C(PACKER_BUSY_0), C(PACKER_BUSY_1),
                                              C(PACKER_BUSY_2)};
    double least = value_of(core, engines[0]), most = least;
    for (size_t i = 1; i < 4; i++) {
        double value = value_of(core, engines[i]);
        if (isnan(value))
            return NAN;
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    return percent(most - least, most);
}

static double of_hifi(const struct tt_core_counters *core, bool is_fraction)
{
    double one = value_of(core, C(MATH_INSTRN_HF_1_CYCLE)), two = value_of(core, C(MATH_INSTRN_HF_2_CYCLE)),
           four = value_of(core, C(MATH_INSTRN_HF_4_CYCLE));
    return is_fraction ? percent(two + four, one + two + four)
                       : (one + 2 * two + 4 * four) / (one + two + four);
}

/* Ports of the L1, their shares and how they are kept waiting. */
static double of_l1(enum op_counter_metric metric, const struct tt_core_counters *core,
                    const struct tt_counter_sums *sums)
{
    enum tt_counter port = packer_port(core);
    double packer = value_of(core, port), unpacker = value_of(core, C(L1_0_UNPACKER_0));
    double out = noc_out(core), in = noc_in(core), bundles = tdma(core);
    switch (metric) {
    case OP_METRIC_L1_PACKER_PORT_UTIL:
        return percent(packer, reference_of(core, port));
    case OP_METRIC_L1_UNPACKER_BACKPRESSURE:
        if (!(sums->unpacker_grant_ratio > 0.1))
            return NAN;
        return not_below_0(percent(unpacker - value_of(core, C(L1_0_UNPACKER_0_GRANT)), unpacker));
    case OP_METRIC_L1_PACKER_PORT_BACKPRESSURE:
        return not_below_0(percent(packer - value_of(core, C(L1_0_PORT1_GRANT)), packer));
    case OP_METRIC_L1_TOTAL_BANDWIDTH_UTIL:
        return percent(unpacker + packer + bundles + out + in, 8 * reference_of(core, C(L1_0_UNPACKER_0)));
    case OP_METRIC_L1_READ_VS_WRITE_RATIO:
        return percent(unpacker + out, unpacker + out + packer + in);
    case OP_METRIC_NOC_RING_0_ASYMMETRY:
        return percent(out, out + in);
    case OP_METRIC_L1_CONTENTION_INDEX:
        return contention(core);
    case OP_METRIC_NOC_VS_COMPUTE_BALANCE:
        return percent(out + in, value_of(core, C(FPU_COUNTER)) + out + in);
    case OP_METRIC_TDMA_VS_NOC_L1_SHARE:
        return percent(bundles, bundles + out + in);
    default:
        return NAN;
    }
}

static double of_special(enum op_counter_metric metric, const struct tt_core_counters *core,
                         const struct tt_counter_sums *sums)
{
    double unpackers = SUM(core, C(UNPACK0_BUSY_THREAD0), C(UNPACK1_BUSY_THREAD0));
    double busy = value_of(core, C(PACKER_BUSY));
    bool was_busy = sums->value[C(PACKER_BUSY)] != 0;
    switch (metric) {
    case OP_METRIC_UNPACKER_WRITE_EFFICIENCY:
        return (percent(value_of(core, C(SRCA_WRITE_ACTUAL)), value_of(core, C(UNPACK0_BUSY_THREAD0))) +
                percent(value_of(core, C(SRCB_WRITE_NOT_BLOCKED_PORT)),
                        value_of(core, C(UNPACK1_BUSY_THREAD0)))) /
               2;
    case OP_METRIC_PACKER_EFFICIENCY:
        return was_busy ? percent(value_of(core, C(PACKER_DEST_READ_AVAILABLE)), busy)
                        : percent(value_of(core, C(DEST_READ_GRANTED_0)),
                                  value_of(core, C(PACKER_DEST_READ_AVAILABLE)));
    case OP_METRIC_MATH_TO_PACK_HANDOFF_EFFICIENCY:
        return percent(value_of(core, C(AVAILABLE_MATH)),
                       was_busy ? busy : reference_of(core, C(AVAILABLE_MATH)));
    case OP_METRIC_UNPACKER_TO_MATH_DATA_FLOW:
        return percent(SUM(core, C(SRCA_WRITE_AVAILABLE), C(SRCB_WRITE_AVAILABLE)), unpackers);
    case OP_METRIC_HIFI_FRACTION:
    case OP_METRIC_AVG_HF_CYCLES_PER_INSTRN:
        return of_hifi(core, metric == OP_METRIC_HIFI_FRACTION);
    case OP_METRIC_MATH_DEST_WRITE_PORT_STALL_RATE:
        if (sums->value[C(MATH_NOT_STALLED_DEST_WR_PORT)] == 0)
            return NAN;
        return percent(value_of(core, C(MATH_INSTRN_AVAILABLE)) -
                           value_of(core, C(MATH_NOT_STALLED_DEST_WR_PORT)),
                       value_of(core, C(MATH_INSTRN_AVAILABLE)));
    case OP_METRIC_T0_INSTRN_ISSUE_RATE:
    case OP_METRIC_T1_INSTRN_ISSUE_RATE:
    case OP_METRIC_T2_INSTRN_ISSUE_RATE: {
        enum tt_counter issued =
            (enum tt_counter)(C(THREAD_INSTRUCTIONS_0) + (metric - OP_METRIC_T0_INSTRN_ISSUE_RATE));
        return value_of(core, issued) / reference_of(core, issued);
    }
    case OP_METRIC_STALL_OVERLAP_T0:
    case OP_METRIC_STALL_OVERLAP_T1:
    case OP_METRIC_STALL_OVERLAP_T2:
        return stall_overlap(core, metric - OP_METRIC_STALL_OVERLAP_T0);
    case OP_METRIC_PACKER_LOAD_IMBALANCE:
        return packer_imbalance(core);
    case OP_METRIC_COMPUTE_TO_UNPACK_RATIO:
        return percent(value_of(core, C(MATH_COUNTER)), unpackers);
    default:
        return of_l1(metric, core, sums);
    }
}

static double of_core(enum op_counter_metric metric, const struct tt_core_counters *core,
                      const struct tt_counter_sums *sums)
{
    const struct rule *rule = &rules[metric];
    double a = value_of(core, rule->counters[0]), b = value_of(core, rule->counters[1]);
    switch (rule->form) {
    case FORM_UTIL:
        return percent(a, reference_of(core, rule->counters[0]));
    case FORM_RATIO:
        return percent(a, b);
    case FORM_MEAN_OF_TWO:
        return percent(a + b, 2 * reference_of(core, rule->counters[0]));
    case FORM_MISSING:
        return percent(b - a, b);
    case FORM_MISSING_FROM:
        return not_below_0(percent(b - a, b));
    case FORM_BACKPRESSURE: {
        double c = value_of(core, rule->counters[2]), d = value_of(core, rule->counters[3]);
        return not_below_0(percent((a - b) + (c - d), a + c));
    }
    default:
        return of_special(metric, core, sums);
    }
}

static int compare_doubles(const void *left, const void *right)
{
    double a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

/* Kahan's sum, in this order: the reference's last digit depends on it. */
static double mean_of(const double *values, size_t count)
{
    double sum = 0, lost = 0;
    for (size_t i = 0; i < count; i++) {
        double y = values[i] - lost, t = sum + y;
        lost = (t - sum) - y;
        sum = t;
    }
    return sum / (double)count;
}

/* Of the three units that a chip has on its whole grid: the cores that ran nothing count as well. */
static double on_full_grid(enum op_counter_metric metric, const struct tt_metric_input *input)
{
    double sum = 0;
    if (input->max_compute_cores == 0 || input->kernel_duration_cycles == 0)
        return NAN;
    for (size_t i = 0; i < input->core_count; i++) {
        const struct tt_core_counters *core = input->cores[i];
        if (core->is_set[rules[metric].counters[0]])
            sum += (double)core->value[rules[metric].counters[0]];
    }
    return sum / input->max_compute_cores / (double)input->kernel_duration_cycles * 100;
}

bool tt_metric(enum op_counter_metric metric, const struct tt_metric_input *input, double *scratch,
               double out[OP_METRIC_STATISTICS])
{
    size_t count = 0;
    if (metric >= OP_METRIC_STALL_OVERLAP_T0 && !input->is_device_only)
        return false;
    for (size_t i = 0; i < input->core_count; i++) {
        double value = of_core(metric, input->cores[i], input->sums);
        if (isfinite(value))
            scratch[count++] = value;
    }
    if (count == 0)
        return false;
    out[OP_METRIC_AVG] =
        metric <= OP_METRIC_MATH_UTIL ? on_full_grid(metric, input) : mean_of(scratch, count);
    qsort(scratch, count, sizeof scratch[0], compare_doubles);
    out[OP_METRIC_MIN] = scratch[0];
    out[OP_METRIC_MAX] = scratch[count - 1];
    out[OP_METRIC_MEDIAN] =
        count % 2 ? scratch[count / 2] : (scratch[count / 2 - 1] + scratch[count / 2]) / 2;
    return true;
}
