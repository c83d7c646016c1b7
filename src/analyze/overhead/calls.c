/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/overhead/calls.h"

#include <stdlib.h>

struct taken { /* a call */
    uint32_t name, call;
    uint64_t ns, own_ns, delay_ns; /* delay: UINT64_MAX where no run is known */
};

static bool has_times(const struct op_call *call)
{
    return !(call->faults & (OP_FAULT_NO_HOST_TIME | OP_FAULT_OPEN)) && call->end_ns >= call->start_ns;
}

static bool is_wanted(const struct op_call *call, uint64_t since_ns, uint64_t until_ns)
{
    return has_times(call) && call->start_ns >= since_ns && call->start_ns <= until_ns &&
           call->name != OPS_NONE;
}

/* --- own time --- */

struct nesting {
    const struct op_call *calls;
    uint32_t *order;  /* by thread and start, those around others before these */
    uint32_t *around; /* calls that are open there, the innermost last */
    uint64_t *own_ns; /* by call */
    size_t count;
};

static int compare_places(const void *left, const void *right, void *context)
{
    const struct op_call *calls = context;
    const struct op_call *a = &calls[*(const uint32_t *)left], *b = &calls[*(const uint32_t *)right];
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns ? -1 : 1;
    return (a > b) - (a < b);
}

static bool is_inside(const struct op_call *inner, const struct op_call *outer)
{
    return inner->process == outer->process && inner->track == outer->track && inner->end_ns <= outer->end_ns;
}

/* Also of calls that nobody asked for: they are no part of those around them either. */
static void take_out_inner(struct nesting *n)
{
    size_t depth = 0;
    if (n->count)
        qsort_r(n->order, n->count, sizeof n->order[0], compare_places, (void *)(uintptr_t)n->calls);
    for (size_t i = 0; i < n->count; i++) {
        uint32_t id = n->order[i];
        const struct op_call *call = &n->calls[id];
        while (depth && !is_inside(call, &n->calls[n->around[depth - 1]]))
            depth--;
        n->own_ns[id] = call->end_ns - call->start_ns;
        if (depth && call->track != OPS_NONE)
            n->own_ns[n->around[depth - 1]] -= n->own_ns[id];
        n->around[depth++] = id;
    }
}

/* By call: how long it took without those inside of it; the caller frees it. NULL: no memory. */
static uint64_t *find_own_times(const struct ops *ops)
{
    size_t room = ops->call_count + 1;
    struct nesting n = {.calls = ops->calls,
                        .order = malloc(room * sizeof n.order[0]),
                        .around = malloc(room * sizeof n.around[0]),
                        .own_ns = calloc(room, sizeof n.own_ns[0])};
    bool is_done = n.order && n.around && n.own_ns;
    for (size_t i = 0; i < ops->call_count && is_done; i++) {
        if (has_times(&ops->calls[i]))
            n.order[n.count++] = (uint32_t)i;
    }
    if (is_done)
        take_out_inner(&n);
    free(n.order);
    free(n.around);
    if (is_done)
        return n.own_ns;
    free(n.own_ns);
    return NULL;
}

/* --- rows --- */

/* The first of its runs on a device whose times are known: what the CPU computes it computes at once. */
static uint64_t delay_of(const struct ops *ops, const struct op_call *call)
{
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; i < call->runs; i++) {
        const struct op_run *run = &ops->runs[ops->run_order[call->first_run + i]];
        if (run->track != OPS_NONE && run->track != call->track && !(run->faults & OP_FAULT_STALE) &&
            run->start_ns < first)
            first = run->start_ns;
    }
    return first == UINT64_MAX ? UINT64_MAX : first > call->end_ns ? first - call->end_ns : 0;
}

static int compare_times(const void *left, const void *right)
{
    const struct taken *a = left, *b = right;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

static int compare_delays(const void *left, const void *right)
{
    const struct taken *a = left, *b = right;
    return (a->delay_ns > b->delay_ns) - (a->delay_ns < b->delay_ns);
}

static int compare_rows(const void *left, const void *right)
{
    const struct overhead_calls_row *a = left, *b = right;
    if (a->own_ns != b->own_ns)
        return a->own_ns < b->own_ns ? 1 : -1;
    return (a->name > b->name) - (a->name < b->name);
}

static size_t nearest_rank(size_t count, unsigned percent)
{
    return (count * percent + 99) / 100 - 1;
}

static double device_ns(const struct ops *ops, const struct op_call *call)
{
    double sum = 0;
    for (uint32_t i = 0; i < call->runs; i++) {
        const struct op_run *run = &ops->runs[ops->run_order[call->first_run + i]];
        if (run->duration_ns != OPS_NO_DURATION && !(run->faults & OP_FAULT_STALE))
            sum += (double)run->duration_ns;
    }
    return sum;
}

/* Calls of one name, the shortest first; they are put into another order. */
static struct overhead_calls_row make_row(const struct ops *ops, struct taken *taken, size_t count)
{
    struct overhead_calls_row row = {.name = taken->name,
                                     .count = count,
                                     .min_ns = taken[0].ns,
                                     .p50_ns = taken[nearest_rank(count, 50)].ns,
                                     .p99_ns = taken[nearest_rank(count, 99)].ns,
                                     .longest = taken[count - 1].call};
    for (size_t i = 0; i < count; i++) {
        row.own_ns += taken[i].own_ns;
        row.total_ns += taken[i].ns;
        row.delayed += taken[i].delay_ns != UINT64_MAX;
        row.device_ns += device_ns(ops, &ops->calls[taken[i].call]);
    }
    qsort(taken, count, sizeof taken[0], compare_delays);
    if (row.delayed)
        row.delay_p50_ns = taken[nearest_rank((size_t)row.delayed, 50)].delay_ns;
    return row;
}

int overhead_count_calls(struct overhead_calls *calls, const struct ops *ops, uint64_t since_ns,
                         uint64_t until_ns, struct error *err)
{
    struct taken *taken = malloc((ops->call_count + 1) * sizeof taken[0]);
    uint64_t *own_ns = find_own_times(ops);
    size_t count = 0, names = 0;
    *calls = (struct overhead_calls){0};
    for (size_t i = 0; taken && own_ns && i < ops->call_count; i++) {
        const struct op_call *call = &ops->calls[i];
        if (is_wanted(call, since_ns, until_ns))
            taken[count++] = (struct taken){call->name, (uint32_t)i, call->end_ns - call->start_ns, own_ns[i],
                                            delay_of(ops, call)};
    }
    bool is_done = taken && own_ns;
    free(own_ns);
    if (count)
        qsort(taken, count, sizeof taken[0], compare_times);
    for (size_t i = 0; i < count; i++)
        names += i == 0 || taken[i].name != taken[i - 1].name;
    calls->rows = is_done ? malloc((names + 1) * sizeof calls->rows[0]) : NULL;
    if (!calls->rows) {
        free(taken);
        return error_no_memory(err, "the calls of ops");
    }
    for (size_t first = 0, last; first < count; first = last) {
        for (last = first; last < count && taken[last].name == taken[first].name;)
            last++;
        struct overhead_calls_row row = make_row(ops, taken + first, last - first);
        calls->rows[calls->count++] = row;
        calls->calls += row.count;
        calls->own_ns += row.own_ns;
    }
    free(taken);
    if (calls->count)
        qsort(calls->rows, calls->count, sizeof calls->rows[0], compare_rows);
    return 0;
}

void overhead_calls_free(struct overhead_calls *calls)
{
    free(calls->rows);
    *calls = (struct overhead_calls){0};
}
