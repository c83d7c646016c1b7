/* SPDX-License-Identifier: Apache-2.0 */
/* Every unit is of one kind. A sweep over the merged intervals of all kinds gives how long each combination of kinds
 * lasted, and every metric is a sum over combinations. */
#include "analyze/estimate/metrics.h"

#include <stdlib.h>

#include "base/bytes.h"

struct interval {
    uint64_t start, end;
};

struct intervals { /* after merge: disjoint, in order, none touching the next */
    struct interval *items;
    size_t count, capacity;
    bool is_unsorted, failed;
};

static void add(struct intervals *set, struct interval next)
{
    struct interval *last = set->count ? &set->items[set->count - 1] : NULL;
    if (next.end <= next.start)
        return;
    if (last && next.start >= last->start && next.start <= last->end) {
        last->end = next.end > last->end ? next.end : last->end;
        return;
    }
    if (!array_reserve(&set->items, &set->capacity, set->count + 1, sizeof set->items[0])) {
        set->failed = true;
        return;
    }
    set->is_unsorted |= set->count && next.start < set->items[set->count - 1].start;
    set->items[set->count++] = next;
}

static int compare(const void *left, const void *right)
{
    const struct interval *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

static void merge(struct intervals *set)
{
    size_t count = set->count;
    if (!set->is_unsorted) /* units come in the order of their starts, mostly */
        return;
    qsort(set->items, count, sizeof set->items[0], compare);
    set->count = 0;
    for (size_t i = 0; i < count; i++)
        add(set, set->items[i]);
}

enum kind {
    KIND_IN,
    KIND_OUT,
    KIND_COPY,
    KIND_SLICE_0,
    KIND_SLICE_1,
    KIND_SLICE, /* any other */
    KIND_CORE,
    KIND_DRIVER,
    KIND_HOST,
    KIND_HOST_COPY,
    KIND_OTHER,
    KINDS
};

#define BIT(kind) (1u << (kind))
#define DMA (BIT(KIND_IN) | BIT(KIND_OUT))
#define MOVE (DMA | BIT(KIND_COPY))
#define SLICES (BIT(KIND_SLICE_0) | BIT(KIND_SLICE_1) | BIT(KIND_SLICE))
#define COMPUTE (SLICES | BIT(KIND_CORE))
#define HOSTS (BIT(KIND_HOST) | BIT(KIND_HOST_COPY))
#define CHIP (MOVE | COMPUTE | BIT(KIND_DRIVER)) /* what keeps the host's work from counting */
#define BUSY (CHIP | HOSTS)
#define ALL (BUSY | BIT(KIND_OTHER))
#define OWN (ALL & ~BIT(KIND_DRIVER))

static unsigned kind_of(const struct timeline_lane *lane)
{
    switch (lane->kind) {
    case TIMELINE_DMA_IN:
        return KIND_IN;
    case TIMELINE_DMA_OUT:
        return KIND_OUT;
    case TIMELINE_COPY:
        return KIND_COPY;
    case TIMELINE_SLICE:
        return lane->number == 0 ? KIND_SLICE_0 : lane->number == 1 ? KIND_SLICE_1 : KIND_SLICE;
    case TIMELINE_CORE:
        return KIND_CORE;
    case TIMELINE_HOST:
        return KIND_HOST;
    case TIMELINE_HOST_COPY:
        return KIND_HOST_COPY;
    case TIMELINE_DRIVER:
        return KIND_DRIVER;
    default:
        return KIND_OTHER;
    }
}

/* From the start of its task to the end of who waited for it. */
static struct interval interval_of(const struct timeline *timeline, const struct timeline_unit *unit)
{
    uint64_t start = unit->task < timeline->task_count ? timeline->tasks[unit->task].start : unit->start;
    return (struct interval){start, unit->ready ? unit->ready : unit->end};
}

struct sweep {
    uint64_t lasted[1u << KINDS]; /* by the kinds that were active, as bits */
    struct interval span[KINDS];  /* first start and last end; {0, 0}: none */
};

static void sweep_all(struct sweep *sweep, const struct intervals *sets)
{
    size_t at[KINDS] = {0};
    unsigned active = 0, left = 0;
    uint64_t now = 0;
    for (unsigned k = 0; k < KINDS; k++) {
        if (!sets[k].count)
            continue;
        left |= BIT(k);
        sweep->span[k] = (struct interval){sets[k].items[0].start, sets[k].items[sets[k].count - 1].end};
    }
    while (left) {
        uint64_t next = UINT64_MAX;
        for (unsigned k = 0; k < KINDS; k++) {
            if (!(left & BIT(k)))
                continue;
            const struct interval *item = &sets[k].items[at[k]];
            uint64_t change = active & BIT(k) ? item->end : item->start;
            next = change < next ? change : next;
        }
        sweep->lasted[active] += next - now;
        now = next;
        for (unsigned k = 0; k < KINDS; k++) {
            if (!(left & BIT(k)))
                continue;
            const struct interval *item = &sets[k].items[at[k]];
            if ((active & BIT(k) ? item->end : item->start) != now)
                continue;
            if (active & BIT(k) && ++at[k] == sets[k].count)
                left &= ~BIT(k);
            active ^= BIT(k);
        }
    }
}

/* How long any of `kinds` was active while any of `also` was too. */
static uint64_t both(const struct sweep *sweep, unsigned kinds, unsigned also)
{
    uint64_t sum = 0;
    for (unsigned mask = 1; mask < BIT(KINDS); mask++)
        sum += mask & kinds && mask & also ? sweep->lasted[mask] : 0;
    return sum;
}

static uint64_t length(const struct sweep *sweep, unsigned kinds)
{
    return both(sweep, kinds, kinds);
}

static uint64_t span(const struct sweep *sweep, unsigned kinds)
{
    struct interval whole = {UINT64_MAX, 0};
    for (unsigned k = 0; k < KINDS; k++) {
        if (!(kinds & BIT(k)) || !sweep->span[k].end)
            continue;
        whole.start = sweep->span[k].start < whole.start ? sweep->span[k].start : whole.start;
        whole.end = sweep->span[k].end > whole.end ? sweep->span[k].end : whole.end;
    }
    return whole.end > whole.start ? whole.end - whole.start : 0;
}

static void take_metrics(const struct sweep *sweep, struct timeline_metrics *metrics)
{
    uint64_t *cycles = metrics->cycles;
    cycles[TIMELINE_METRIC_DMA] = length(sweep, DMA);
    cycles[TIMELINE_METRIC_DMA_IN] = length(sweep, BIT(KIND_IN));
    cycles[TIMELINE_METRIC_DMA_OUT] = length(sweep, BIT(KIND_OUT));
    cycles[TIMELINE_METRIC_CDMA] = length(sweep, BIT(KIND_COPY));
    cycles[TIMELINE_METRIC_DMA_COMBINED] = length(sweep, MOVE);
    cycles[TIMELINE_METRIC_SLICE] = length(sweep, SLICES);
    cycles[TIMELINE_METRIC_CSS] = length(sweep, BIT(KIND_CORE));
    cycles[TIMELINE_METRIC_COMPUTE_COMBINED] = length(sweep, COMPUTE);
    cycles[TIMELINE_METRIC_OVERLAP] = both(sweep, MOVE, COMPUTE);
    cycles[TIMELINE_METRIC_DMA_ONLY] = cycles[TIMELINE_METRIC_DMA_COMBINED] - cycles[TIMELINE_METRIC_OVERLAP];
    cycles[TIMELINE_METRIC_COMPUTE_ONLY] =
        cycles[TIMELINE_METRIC_COMPUTE_COMBINED] - cycles[TIMELINE_METRIC_OVERLAP];
    cycles[TIMELINE_METRIC_SLICE_0] = length(sweep, BIT(KIND_SLICE_0));
    cycles[TIMELINE_METRIC_SLICE_1] = length(sweep, BIT(KIND_SLICE_1));
    cycles[TIMELINE_METRIC_HAL] = length(sweep, BIT(KIND_DRIVER));
    cycles[TIMELINE_METRIC_HOST] = length(sweep, BIT(KIND_HOST));
    cycles[TIMELINE_METRIC_HOST_COPY] = length(sweep, BIT(KIND_HOST_COPY));
    cycles[TIMELINE_METRIC_OVERALL] = span(sweep, ALL);
    cycles[TIMELINE_METRIC_NPU] = span(sweep, OWN) - (length(sweep, HOSTS) - both(sweep, HOSTS, CHIP));
    cycles[TIMELINE_METRIC_IDLE] = cycles[TIMELINE_METRIC_OVERALL] - length(sweep, BUSY);
}

int timeline_measure(const struct timeline *timeline, uint32_t dispatch, struct timeline_metrics *metrics,
                     struct error *err)
{
    struct intervals sets[KINDS] = {0};
    bool failed = false;
    *metrics = (struct timeline_metrics){0};
    for (size_t i = 0; i < timeline->unit_count; i++) {
        const struct timeline_unit *unit = &timeline->units[i];
        if (unit->lane < timeline->lane_count && (dispatch == TIMELINE_NONE || unit->dispatch == dispatch))
            add(&sets[kind_of(&timeline->lanes[unit->lane])], interval_of(timeline, unit));
    }
    for (unsigned kind = 0; kind < KINDS; kind++) {
        failed |= sets[kind].failed;
        merge(&sets[kind]);
    }
    if (!failed) {
        struct sweep sweep = {0};
        sweep_all(&sweep, sets);
        take_metrics(&sweep, metrics);
    }
    for (unsigned kind = 0; kind < KINDS; kind++)
        free(sets[kind].items);
    return failed ? error_no_memory(err, "the timeline's intervals") : 0;
}

static const struct {
    const char *key, *run_key, *what;
} texts[] = {
#define X(id, key, run_key, what) {key, run_key, what},
    TIMELINE_METRICS(X)
#undef X
};

const char *timeline_metric_key(unsigned metric)
{
    return metric < TIMELINE_METRIC_COUNT ? texts[metric].key : "";
}

const char *timeline_metric_text(unsigned metric)
{
    return metric < TIMELINE_METRIC_COUNT ? texts[metric].what : "";
}

const char *timeline_metric_run_key(unsigned metric)
{
    return metric < TIMELINE_METRIC_COUNT ? texts[metric].run_key : "";
}
