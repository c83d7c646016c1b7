/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/estimate/metrics.h"

#include <stdlib.h>

#include "base/bytes.h"

struct interval {
    uint64_t start, end;
};

struct intervals { /* after merge: disjoint, in order, none touching the next */
    struct interval *items;
    size_t count, capacity;
    bool failed;
};

static void add(struct intervals *set, uint64_t start, uint64_t end)
{
    if (end <= start)
        return;
    if (!array_reserve(&set->items, &set->capacity, set->count + 1, sizeof set->items[0])) {
        set->failed = true;
        return;
    }
    set->items[set->count++] = (struct interval){start, end};
}

static int compare(const void *left, const void *right)
{
    const struct interval *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

static bool is_sorted(const struct intervals *set)
{
    for (size_t i = 1; i < set->count; i++) {
        if (compare(&set->items[i - 1], &set->items[i]) > 0)
            return false;
    }
    return true;
}

static void merge(struct intervals *set)
{
    size_t kept = 0;
    if (!is_sorted(set)) /* units come in the order of their starts, mostly */
        qsort(set->items, set->count, sizeof set->items[0], compare);
    for (size_t i = 0; i < set->count; i++) {
        struct interval next = set->items[i];
        if (kept && next.start <= set->items[kept - 1].end) {
            if (next.end > set->items[kept - 1].end)
                set->items[kept - 1].end = next.end;
        } else {
            set->items[kept++] = next;
        }
    }
    set->count = kept;
}

static uint64_t length(const struct intervals *set)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < set->count; i++)
        sum += set->items[i].end - set->items[i].start;
    return sum;
}

static uint64_t span(const struct intervals *set)
{
    return set->count ? set->items[set->count - 1].end - set->items[0].start : 0;
}

/* How long both last, of two merged sets. */
static uint64_t overlap(const struct intervals *a, const struct intervals *b)
{
    uint64_t sum = 0;
    for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
        uint64_t start = a->items[i].start > b->items[k].start ? a->items[i].start : b->items[k].start;
        uint64_t end = a->items[i].end < b->items[k].end ? a->items[i].end : b->items[k].end;
        if (end > start)
            sum += end - start;
        if (a->items[i].end < b->items[k].end)
            i++;
        else
            k++;
    }
    return sum;
}

enum set {
    SET_DMA,
    SET_IN,
    SET_OUT,
    SET_COPY,
    SET_MOVE,
    SET_SLICE,
    SET_SLICE_0,
    SET_SLICE_1,
    SET_CORE,
    SET_COMPUTE,
    SET_DRIVER,
    SET_HOST,
    SET_HOST_COPY,
    SET_HOSTS, /* programs and copies */
    SET_CHIP,  /* all that keeps the host's work from counting: engines, transfers, the driver */
    SET_BUSY,
    SET_OWN, /* all but the driver */
    SET_ALL,
    SETS
};

#define IN(set) (1u << (set))

/* Which sets a lane's units belong to, as bits. */
static unsigned sets_of(const struct timeline_lane *lane)
{
    const unsigned move = IN(SET_MOVE) | IN(SET_CHIP) | IN(SET_BUSY) | IN(SET_OWN) | IN(SET_ALL);
    const unsigned compute = IN(SET_COMPUTE) | IN(SET_CHIP) | IN(SET_BUSY) | IN(SET_OWN) | IN(SET_ALL);
    const unsigned host = IN(SET_HOSTS) | IN(SET_BUSY) | IN(SET_OWN) | IN(SET_ALL);
    switch (lane->kind) {
    case TIMELINE_DMA_IN:
        return IN(SET_DMA) | IN(SET_IN) | move;
    case TIMELINE_DMA_OUT:
        return IN(SET_DMA) | IN(SET_OUT) | move;
    case TIMELINE_COPY:
        return IN(SET_COPY) | move;
    case TIMELINE_SLICE:
        return IN(SET_SLICE) | (lane->number < 2 ? IN(SET_SLICE_0 + lane->number) : 0) | compute;
    case TIMELINE_CORE:
        return IN(SET_CORE) | compute;
    case TIMELINE_HOST:
        return IN(SET_HOST) | host;
    case TIMELINE_HOST_COPY:
        return IN(SET_HOST_COPY) | host;
    case TIMELINE_DRIVER:
        return IN(SET_DRIVER) | IN(SET_CHIP) | IN(SET_BUSY) | IN(SET_ALL);
    default:
        return IN(SET_OWN) | IN(SET_ALL);
    }
}

/* From the start of its task to the end of who waited for it. */
static struct interval interval_of(const struct timeline *timeline, const struct timeline_unit *unit)
{
    uint64_t start = unit->task < timeline->task_count ? timeline->tasks[unit->task].start : unit->start;
    return (struct interval){start, unit->ready ? unit->ready : unit->end};
}

static void take_metrics(struct intervals *sets, struct timeline_metrics *metrics)
{
    uint64_t *cycles = metrics->cycles;
    cycles[TIMELINE_METRIC_DMA] = length(&sets[SET_DMA]);
    cycles[TIMELINE_METRIC_DMA_IN] = length(&sets[SET_IN]);
    cycles[TIMELINE_METRIC_DMA_OUT] = length(&sets[SET_OUT]);
    cycles[TIMELINE_METRIC_CDMA] = length(&sets[SET_COPY]);
    cycles[TIMELINE_METRIC_DMA_COMBINED] = length(&sets[SET_MOVE]);
    cycles[TIMELINE_METRIC_SLICE] = length(&sets[SET_SLICE]);
    cycles[TIMELINE_METRIC_CSS] = length(&sets[SET_CORE]);
    cycles[TIMELINE_METRIC_COMPUTE_COMBINED] = length(&sets[SET_COMPUTE]);
    cycles[TIMELINE_METRIC_OVERLAP] = overlap(&sets[SET_MOVE], &sets[SET_COMPUTE]);
    cycles[TIMELINE_METRIC_DMA_ONLY] = cycles[TIMELINE_METRIC_DMA_COMBINED] - cycles[TIMELINE_METRIC_OVERLAP];
    cycles[TIMELINE_METRIC_COMPUTE_ONLY] =
        cycles[TIMELINE_METRIC_COMPUTE_COMBINED] - cycles[TIMELINE_METRIC_OVERLAP];
    cycles[TIMELINE_METRIC_SLICE_0] = length(&sets[SET_SLICE_0]);
    cycles[TIMELINE_METRIC_SLICE_1] = length(&sets[SET_SLICE_1]);
    cycles[TIMELINE_METRIC_HAL] = length(&sets[SET_DRIVER]);
    cycles[TIMELINE_METRIC_HOST] = length(&sets[SET_HOST]);
    cycles[TIMELINE_METRIC_HOST_COPY] = length(&sets[SET_HOST_COPY]);
    cycles[TIMELINE_METRIC_OVERALL] = span(&sets[SET_ALL]);
    cycles[TIMELINE_METRIC_NPU] =
        span(&sets[SET_OWN]) - (length(&sets[SET_HOSTS]) - overlap(&sets[SET_HOSTS], &sets[SET_CHIP]));
    cycles[TIMELINE_METRIC_IDLE] = cycles[TIMELINE_METRIC_OVERALL] - length(&sets[SET_BUSY]);
}

int timeline_measure(const struct timeline *timeline, uint32_t dispatch, struct timeline_metrics *metrics,
                     struct error *err)
{
    struct intervals sets[SETS] = {0};
    bool failed = false;
    *metrics = (struct timeline_metrics){0};
    for (size_t i = 0; i < timeline->unit_count; i++) {
        const struct timeline_unit *unit = &timeline->units[i];
        if (unit->lane >= timeline->lane_count || (dispatch != TIMELINE_NONE && unit->dispatch != dispatch))
            continue;
        unsigned wanted = sets_of(&timeline->lanes[unit->lane]);
        struct interval interval = interval_of(timeline, unit);
        for (unsigned set = 0; set < SETS; set++) {
            if (wanted >> set & 1u)
                add(&sets[set], interval.start, interval.end);
        }
    }
    for (unsigned set = 0; set < SETS; set++) {
        failed |= sets[set].failed;
        merge(&sets[set]);
    }
    if (!failed)
        take_metrics(sets, metrics);
    for (unsigned set = 0; set < SETS; set++)
        free(sets[set].items);
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
