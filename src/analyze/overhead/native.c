/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the zone blocks picks the zones of the windows; then they are sorted and swept window by window. Some
 * hundred ops of some hundred recorded calls each make about a million zones, kept in memory at 40 bytes each. */
#include "analyze/overhead/native.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

void overhead_zones_free(struct overhead_zones *zones)
{
    free(zones->items);
    intern_free(&zones->names);
    memset(zones, 0, sizeof *zones);
}

/* --- picking --- */

struct span { /* the windows of one trace */
    const struct overhead_window *windows;
    size_t first, count;
};

/* The window that holds [start, end], or SIZE_MAX. */
static size_t find_window(const struct span *span, uint64_t start_ns, uint64_t end_ns)
{
    size_t low = span->first, high = span->first + span->count; /* the first that begins behind `start` */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (span->windows[middle].start_ns > start_ns + OVERHEAD_WINDOW_SLACK_NS)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == span->first)
        return SIZE_MAX;
    return end_ns <= span->windows[low - 1].end_ns + OVERHEAD_WINDOW_SLACK_NS ? low - 1 : SIZE_MAX;
}

static bool is_thread_of(const struct trace *trace, uint32_t track, const struct overhead_window *window)
{
    const struct trace_track *t = trace_get_track(trace, track);
    const struct trace_process *p = t ? trace_get_process(trace, t->process) : NULL;
    return p && t->kind == TRACE_TRACK_THREAD && t->number == window->tid && p->pid == window->pid;
}

static bool add_zone(struct overhead_zones *zones, const struct trace *trace, const struct zone_rows *rows,
                     size_t i, size_t window)
{
    const char *name = trace_get_name(trace, rows->name[i])->name;
    uint32_t id = intern_add(&zones->names, name, strlen(name));
    if (id == INTERN_NONE ||
        !array_reserve(&zones->items, &zones->capacity, zones->count + 1, sizeof *zones->items))
        return false;
    zones->items[zones->count++] =
        (struct overhead_zone){window, rows->start[i], rows->duration[i], rows->child[i], id};
    return true;
}

static int collect_block(struct overhead_zones *zones, struct trace *trace, const struct zone_rows *rows,
                         const struct span *span, struct error *err)
{
    for (size_t g = 0; g < rows->group_count; g++) {
        const struct zone_rows_group *group = &rows->groups[g];
        if (!is_thread_of(trace, group->track, &span->windows[span->first]))
            continue;
        for (size_t i = group->first; i < (size_t)group->first + group->count; i++) {
            size_t window = find_window(span, rows->start[i], rows->start[i] + rows->duration[i]);
            if (window != SIZE_MAX && !add_zone(zones, trace, rows, i, window))
                return error_no_memory(err, "the zones of the measured calls");
        }
    }
    return 0;
}

int overhead_zones_collect(struct overhead_zones *zones, struct trace *trace, size_t number,
                           const struct overhead_window *windows, size_t window_count, struct error *err)
{
    struct span span = {.windows = windows};
    while (span.first < window_count && windows[span.first].trace != number)
        span.first++;
    while (span.first + span.count < window_count && windows[span.first + span.count].trace == number)
        span.count++;
    if (!span.count)
        return 0;
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    struct zone_rows rows = {0};
    const struct trace_block *block;
    size_t position = 0;
    int status = 0;
    unsigned columns = TRACE_COLUMN_START | TRACE_COLUMN_DURATION | TRACE_COLUMN_CHILD | TRACE_COLUMN_NAME;
    while (!status && (block = trace_next_block(trace, &filter, &position))) {
        status = trace_decode_zones(trace, block, columns, &rows, err);
        if (!status)
            status = collect_block(zones, trace, &rows, &span, err);
    }
    zone_rows_free(&rows);
    return status;
}

/* --- summing --- */

static int compare_zones(const void *a, const void *b)
{
    const struct overhead_zone *x = a, *y = b;
    if (x->window != y->window)
        return x->window < y->window ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return (x->duration_ns < y->duration_ns) - (x->duration_ns > y->duration_ns); /* the outer one first */
}

static struct overhead_native *find_native(struct overhead_op *op, const char *zone)
{
    for (size_t i = 0; i < op->native_count; i++)
        if (strcmp(op->native[i].zone, zone) == 0)
            return &op->native[i];
    struct overhead_native *grown = reallocarray(op->native, op->native_count + 1, sizeof *grown);
    if (!grown)
        return NULL;
    op->native = grown;
    struct overhead_native *made = &grown[op->native_count];
    *made = (struct overhead_native){.zone = strdup(zone)};
    if (!made->zone)
        return NULL;
    op->native_count++;
    return made;
}

/* Sums, not yet divided by the calls: native_ns of the op, mean_ns and self_ns of its parts. */
static bool add_window(struct overhead_op *op, const struct overhead_zones *zones, size_t first, size_t end,
                       double *native_ns)
{
    uint64_t outer_end_ns = 0, sum_ns = 0;
    for (size_t i = first; i < end; i++) {
        const struct overhead_zone *zone = &zones->items[i];
        struct overhead_native *part = find_native(op, intern_text(&zones->names, zone->name));
        if (!part)
            return false;
        part->count++;
        part->mean_ns += (double)zone->duration_ns;
        part->self_ns += (double)(zone->duration_ns - zone->child_ns);
        if (zone->start_ns >= outer_end_ns) {
            sum_ns += zone->duration_ns;
            outer_end_ns = zone->start_ns + zone->duration_ns;
        }
    }
    *native_ns = (double)sum_ns;
    return true;
}

/* What the bursts of one op add up to, over all its windows. */
struct op_sums {
    double native_ns;
    uint64_t calls;
};

struct rest { /* of one burst: what a call took outside native zones */
    size_t op;
    double ns;
};

static int compare_rests(const void *a, const void *b)
{
    const struct rest *x = a, *y = b;
    if (x->op != y->op)
        return x->op < y->op ? -1 : 1;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

static void finish_op(struct overhead_op *op, const struct op_sums *sums)
{
    double calls = (double)sums->calls;
    if (op->state != OVERHEAD_MEASURED || !sums->calls || !op->native_count)
        return;
    op->native_ns = sums->native_ns / calls;
    for (size_t i = 0; i < op->native_count; i++) {
        op->native[i].mean_ns /= calls;
        op->native[i].self_ns /= calls;
    }
}

/* The middle burst's: one that was interrupted outside a zone says nothing about calls. */
static void set_rests(struct overhead_run *run, struct rest *rests, size_t count)
{
    if (count)
        qsort(rests, count, sizeof *rests, compare_rests);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && rests[end].op == rests[first].op; end++) {
        }
        struct overhead_op *op = &run->ops[rests[first].op];
        if (!isnan(op->native_ns))
            op->call_ns = rests[first + (end - first) / 2].ns;
    }
}

/* False when there is no memory. */
static bool fill_windows(struct overhead_run *run, const struct overhead_window *windows, size_t window_count,
                         const struct overhead_zones *zones, struct op_sums *sums, struct rest *rests)
{
    size_t rest_count = 0;
    for (size_t w = 0, at = 0; w < window_count; w++) {
        const struct overhead_window *window = &windows[w];
        size_t first = at;
        while (at < zones->count && zones->items[at].window == w)
            at++;
        struct overhead_op *op = overhead_run_find(run, window->op);
        if (!op || op->is_calibration || !window->calls)
            continue;
        double native_ns = 0, length_ns = (double)(window->end_ns - window->start_ns);
        if (!add_window(op, zones, first, at, &native_ns))
            return false;
        size_t index = (size_t)(op - run->ops);
        sums[index].native_ns += native_ns;
        sums[index].calls += window->calls;
        rests[rest_count++] = (struct rest){index, (length_ns - native_ns) / (double)window->calls};
    }
    for (size_t i = 0; i < run->op_count; i++)
        finish_op(&run->ops[i], &sums[i]);
    set_rests(run, rests, rest_count);
    return true;
}

int overhead_native_fill(struct overhead_run *run, const struct overhead_window *windows, size_t window_count,
                         struct overhead_zones *zones, struct error *err)
{
    struct op_sums *sums = calloc(run->op_count + 1, sizeof *sums);
    struct rest *rests = calloc(window_count + 1, sizeof *rests);
    if (zones->count)
        qsort(zones->items, zones->count, sizeof *zones->items, compare_zones);
    bool has_room = sums && rests && fill_windows(run, windows, window_count, zones, sums, rests);
    free(sums);
    free(rests);
    return has_room ? 0 : error_no_memory(err, "the native times");
}
