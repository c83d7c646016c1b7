/* SPDX-License-Identifier: Apache-2.0 */
/* Of a device log, what is looked at core by core: hardware counters of an op, gaps between ops. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "import/tenstorrent/device/marks.h"

/* --- counters --- */

static int compare_samples(const void *left, const void *right)
{
    const struct tt_sample *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static int compare_doubles(const void *left, const void *right)
{
    double a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

/* The middle of grants / requests of the unpacker's L1 port over all cores of all runs. */
static double unpacker_grant_ratio(const struct tt_log *log)
{
    size_t count = 0;
    double middle = NAN;
    double *ratios = calloc(log->sample_count + 1, sizeof ratios[0]);
    if (!ratios)
        return NAN;
    for (size_t i = 0; i < log->sample_count;) {
        uint64_t asked = 0, granted = 0;
        bool has_asked = false, has_granted = false;
        const struct tt_sample *first = &log->samples[i];
        for (; i < log->sample_count && log->samples[i].key == first->key &&
               log->samples[i].core == first->core;
             i++) {
            has_asked |= log->samples[i].counter == TT_COUNTER_L1_0_UNPACKER_0;
            has_granted |= log->samples[i].counter == TT_COUNTER_L1_0_UNPACKER_0_GRANT;
            if (log->samples[i].counter == TT_COUNTER_L1_0_UNPACKER_0)
                asked = log->samples[i].value;
            if (log->samples[i].counter == TT_COUNTER_L1_0_UNPACKER_0_GRANT)
                granted = log->samples[i].value;
        }
        if (has_asked && has_granted && asked > 0)
            ratios[count++] = (double)granted / (double)asked;
    }
    qsort(ratios, count, sizeof ratios[0], compare_doubles);
    if (count)
        middle = count % 2 ? ratios[count / 2] : (ratios[count / 2 - 1] + ratios[count / 2]) / 2;
    free(ratios);
    return middle;
}

void tt_log_finish_counters(struct tt_log *log)
{
    /* The log has a core's counters one after the other: look at them before they are put in time order. */
    log->counter_sums.unpacker_grant_ratio = unpacker_grant_ratio(log);
    if (log->sample_count > 1)
        qsort(log->samples, log->sample_count, sizeof log->samples[0], compare_samples);
}

static struct tt_core_counters *counters_of(struct tt_op_counters *out, uint16_t core)
{
    struct tt_core_slot *slot = &out->slots[core];
    if (slot->stamp != out->stamp) {
        if (!array_reserve(&out->memory, &out->capacity, out->count + 1, sizeof out->memory[0]))
            return NULL;
        memset(&out->memory[out->count], 0, sizeof out->memory[0]);
        *slot = (struct tt_core_slot){out->stamp, (uint32_t)out->count++};
    }
    return &out->memory[slot->index];
}

bool tt_log_op_counters(const struct tt_log *log, const struct tt_device_op *op, struct tt_op_counters *out)
{
    size_t low = 0, high = log->sample_count;
    out->count = 0;
    out->stamp++;
    if (high == 0)
        return true;
    if (!out->slots && !(out->slots = calloc(UINT16_MAX + 1, sizeof out->slots[0])))
        return false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log->samples[middle].key < op->key)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < log->sample_count && log->samples[low].key == op->key; low++) {
        const struct tt_sample *sample = &log->samples[low];
        struct tt_core_counters *core = counters_of(out, sample->core);
        if (!core)
            return false;
        core->value[sample->counter] = sample->value;
        core->reference[sample->counter] = sample->reference;
        core->is_set[sample->counter] = true;
    }
    if (!array_reserve(&out->cores, &out->pointer_capacity, out->count + 1, sizeof out->cores[0]))
        return false;
    for (size_t i = 0; i < out->count; i++)
        out->cores[i] = &out->memory[i];
    return true;
}

void tt_op_counters_free(struct tt_op_counters *counters)
{
    free(counters->memory);
    free(counters->cores);
    free(counters->slots);
    *counters = (struct tt_op_counters){0};
}

/* --- gaps --- */

struct core_walk {
    bool has_mark, has_end;
    uint64_t mark; /* when the firmware of the newest run began */
    struct tt_core_gap gap;
};

static bool add_gap(struct tt_core_gaps *gaps, const struct tt_core_gap *gap)
{
    if (!array_reserve(&gaps->items, &gaps->capacity, gaps->count + 1, sizeof gaps->items[0]))
        return false;
    gaps->items[gaps->count++] = *gap;
    return true;
}

static bool walk_core(const struct tt_log *log, uint32_t core, const struct tt_mark *marks, size_t count,
                      struct tt_core_gaps *gaps)
{
    struct core_walk walk = {0};
    for (size_t i = 0; i < count; i++) {
        uint32_t class = log->signature_classes[marks[i].signature];
        uint64_t id = log->groups[log->keys[marks[i].key].group].id;
        if ((class & TT_CLASS_MASTER) && (class & TT_CLASS_START)) {
            walk.has_mark = true;
            walk.mark = marks[i].time;
        }
        if ((class & TT_CLASS_MOVER_KERNEL) && (class & TT_CLASS_START) && walk.has_end) {
            walk.gap.end = marks[i].time;
            walk.gap.to_id = id;
            walk.gap.to_mark = walk.mark;
            walk.has_end = false;
            if (!add_gap(gaps, &walk.gap))
                return false;
        }
        if ((class & TT_CLASS_KERNEL) && (class & TT_CLASS_END)) {
            walk.has_end = true;
            walk.gap = (struct tt_core_gap){.core = core,
                                            .start = marks[i].time,
                                            .from_id = id,
                                            .from_mark = walk.has_mark ? walk.mark : 0};
        }
    }
    return true;
}

int tt_log_core_gaps(struct tt_log *log, struct tt_core_gaps *gaps, struct error *err)
{
    size_t *starts = calloc(log->core_count + 1, sizeof starts[0]);
    struct tt_mark *by_core = malloc((log->mark_count ? log->mark_count : 1) * sizeof by_core[0]);
    struct tt_mark *spare = malloc((log->mark_count ? log->mark_count : 1) * sizeof spare[0]);
    bool is_fine = starts && by_core && spare;
    *gaps = (struct tt_core_gaps){0};
    for (size_t i = 0; is_fine && i < log->mark_count; i++)
        starts[log->marks[i].core + 1]++;
    for (size_t i = 0; is_fine && i < log->core_count; i++)
        starts[i + 1] += starts[i];
    for (size_t i = 0; is_fine && i < log->mark_count; i++)
        by_core[starts[log->marks[i].core]++] = log->marks[i];
    for (size_t core = 0, begin = 0; is_fine && core < log->core_count; core++) {
        size_t count = starts[core] - begin;
        is_fine = tt_marks_sort(by_core + begin, spare, count) &&
                  walk_core(log, (uint32_t)core, by_core + begin, count, gaps);
        begin = starts[core];
    }
    free(starts);
    free(by_core);
    free(spare);
    if (!is_fine)
        tt_core_gaps_free(gaps);
    return is_fine ? 0 : error_set_errno(err, ENOMEM, "%zu markers", log->mark_count);
}

void tt_core_gaps_free(struct tt_core_gaps *gaps)
{
    free(gaps->items);
    *gaps = (struct tt_core_gaps){0};
}
