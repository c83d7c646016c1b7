/* SPDX-License-Identifier: Apache-2.0 */
#include "present/export/order.h"

#include <errno.h>
#include <stdlib.h>

#include "base/checked.h"
#include "present/export/spill.h"

#define STACK_BYTES ((size_t)32 << 20)
/* Zones that wait at the same time. A thread cannot have more than its depth; only a track whose rows are
 * stored in no order at all gets here, and would take 300 MB. */
#define WAITING_MAX ((size_t)6 << 20)
#define NO_GROUP UINT32_MAX

struct zone_list {
    struct export_zone *zones;
    size_t count, capacity;
};

struct open_zone {
    struct export_zone zone;
    uint64_t child_ns;
    struct export_tag tag; /* the visitor's */
};

struct lane {
    struct open_zone *open;
    size_t count, capacity;
    uint64_t last_ns; /* of what was reported last */
};

struct track_state {
    uint64_t hi;
    uint64_t epoch;           /* of the block for which first_group holds */
    uint32_t first_group;     /* linked by next_group */
    struct zone_list waiting; /* pass 2: a heap, the last in order on top; pass 3: a queue in order */
    struct lane *lanes;
    size_t lane_count, lane_capacity;
};

struct window { /* of one track in one block */
    uint64_t lo, hi;
    uint32_t track;
    bool has_early;
};

struct late_zone {
    struct export_zone zone;
    uint32_t after_block;
};

struct source { /* one row after the other of a group, or of the queue of waiting zones */
    struct export_zone zone;
    uint32_t group; /* NO_GROUP: the queue */
    uint32_t next, end;
};

struct order {
    struct export_job *job;
    const struct export_visitor *visitor;
    const struct trace_block **blocks;
    size_t block_count, block_capacity;
    size_t *window_first; /* by block; one more at the end */
    struct window *windows;
    size_t window_count, window_capacity;
    struct track_state *tracks;
    uint64_t epoch;
    struct export_stack late;
    size_t waiting_count;
    struct zone_rows rows;
    uint32_t rows_block;
    struct zone_rows other; /* extras of a block that is not the current one */
    uint32_t other_block;
    uint32_t *next_group;
    size_t next_group_capacity;
    uint32_t *block_tracks; /* tracks of the current block, in order of their first group */
    size_t block_track_count, block_track_capacity;
    struct source *sources;
    size_t source_count, source_capacity;
    uint32_t *heap; /* of sources, the next in order on top */
    size_t heap_count, heap_capacity;
};

/* The order of begins on a track. Of two that begin together the outer comes first; at the same depth an empty
 * zone comes before the one that follows it, and where a source gave one depth to all, the longer is outside. */
static bool comes_before(const struct export_zone *a, const struct export_zone *b)
{
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    if (a->depth != b->depth)
        return a->depth < b->depth;
    bool a_is_empty = a->end_ns == a->start_ns, b_is_empty = b->end_ns == b->start_ns;
    if (a_is_empty != b_is_empty)
        return a_is_empty;
    if (a->end_ns != b->end_ns)
        return a->end_ns > b->end_ns;
    return a->block != b->block ? a->block < b->block : a->row < b->row;
}

/* --- the groups of the current block, by track --- */

static int index_groups(struct order *order)
{
    const struct zone_rows *rows = &order->rows;
    order->epoch++;
    order->block_track_count = 0;
    if (!array_reserve(&order->next_group, &order->next_group_capacity, rows->group_count,
                       sizeof *order->next_group) ||
        !array_reserve(&order->block_tracks, &order->block_track_capacity, rows->group_count,
                       sizeof *order->block_tracks))
        return export_no_memory(order->job);
    for (uint32_t g = 0; g < rows->group_count; g++) {
        uint32_t track = rows->groups[g].track;
        if (track >= order->job->track_count || !trace_filter_wants_track(order->job->filter, track))
            continue;
        struct track_state *state = &order->tracks[track];
        if (state->epoch != order->epoch) {
            state->epoch = order->epoch;
            state->first_group = NO_GROUP;
            order->block_tracks[order->block_track_count++] = track;
        }
        order->next_group[g] = state->first_group;
        state->first_group = g;
    }
    return 0;
}

static int decode(struct order *order, uint32_t block, unsigned columns)
{
    order->rows_block = EXPORT_NO_BLOCK;
    int result =
        trace_decode_zones(order->job->trace, order->blocks[block], columns, &order->rows, order->job->err);
    if (result == 0) {
        order->rows_block = block;
        result = index_groups(order);
    }
    return result;
}

static unsigned row_columns(const struct order *order)
{
    unsigned columns = TRACE_COLUMN_START | TRACE_COLUMN_DURATION | TRACE_COLUMN_NAME;
    return order->visitor->extras ? columns | TRACE_COLUMN_EXTRA : columns;
}

static uint64_t row_end(const struct zone_rows *rows, uint32_t row)
{
    return saturating_add_u64(rows->start[row], rows->duration[row]);
}

/* --- pass 1: windows --- */

static int measure_block(struct order *order, uint32_t block)
{
    int result = decode(order, block, TRACE_COLUMN_START | TRACE_COLUMN_DURATION);
    if (result != 0)
        return result;
    if (!array_reserve(&order->windows, &order->window_capacity,
                       order->window_count + order->block_track_count, sizeof *order->windows))
        return export_no_memory(order->job);
    for (size_t i = 0; i < order->block_track_count; i++) {
        struct track_state *state = &order->tracks[order->block_tracks[i]];
        struct window window = {.lo = state->hi, .hi = state->hi, .track = order->block_tracks[i]};
        for (uint32_t g = state->first_group; g != NO_GROUP; g = order->next_group[g]) {
            const struct zone_rows_group *group = &order->rows.groups[g];
            for (uint32_t row = group->first; row < group->first + group->count; row++) {
                uint64_t end = row_end(&order->rows, row);
                window.hi = end > window.hi ? end : window.hi;
                window.has_early |= order->rows.start[row] < window.lo;
            }
        }
        state->hi = window.hi;
        order->windows[order->window_count++] = window;
    }
    return 0;
}

/* --- pass 2: early rows wait for the block after which they begin --- */

static int heap_push(struct order *order, struct zone_list *list, const struct export_zone *zone)
{
    if (order->waiting_count == WAITING_MAX)
        return error_set(order->job->err, EFBIG,
                         "track \"%s\" has over %zu zones out of order; this format needs them in order "
                         "(export a part with --since and --until, or use --format csv)",
                         export_track_label(order->job, zone->track), WAITING_MAX);
    if (!array_reserve(&list->zones, &list->capacity, list->count + 1, sizeof *list->zones))
        return export_no_memory(order->job);
    size_t at = list->count++;
    while (at > 0 && comes_before(&list->zones[(at - 1) / 2], zone)) {
        list->zones[at] = list->zones[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    list->zones[at] = *zone;
    order->waiting_count++;
    return 0;
}

static void heap_pop(struct order *order, struct zone_list *list)
{
    struct export_zone last = list->zones[--list->count];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < list->count) {
        if (child + 1 < list->count && comes_before(&list->zones[child], &list->zones[child + 1]))
            child++;
        if (!comes_before(&last, &list->zones[child]))
            break;
        list->zones[at] = list->zones[child];
        at = child;
    }
    if (list->count)
        list->zones[at] = last;
    order->waiting_count--;
}

static struct export_zone row_zone(const struct order *order, const struct zone_rows_group *group,
                                   uint32_t row)
{
    return (struct export_zone){
        .start_ns = order->rows.start[row],
        .end_ns = row_end(&order->rows, row),
        .track = group->track,
        .name = order->rows.name[row],
        .depth = group->depth,
        .block = order->rows_block,
        .row = row,
    };
}

static bool wants(const struct order *order, const struct export_zone *zone)
{
    return export_wants_zone(order->job, zone->track, zone->name, zone->start_ns, zone->end_ns);
}

static int hold_early_rows(struct order *order, const struct window *window)
{
    struct track_state *state = &order->tracks[window->track];
    for (uint32_t g = state->first_group; g != NO_GROUP; g = order->next_group[g]) {
        const struct zone_rows_group *group = &order->rows.groups[g];
        for (uint32_t row = group->first; row < group->first + group->count; row++) {
            if (order->rows.start[row] >= window->lo)
                continue;
            struct export_zone zone = row_zone(order, group, row);
            if (!wants(order, &zone))
                continue;
            const struct trace_extra *extras;
            zone.has_extras = zone_rows_find_extras(&order->rows, row, &extras) > 0;
            int result = heap_push(order, &state->waiting, &zone);
            if (result != 0)
                return result;
        }
    }
    return 0;
}

/* What begins when this window is over is put on the stack, the last in order first. */
static int release_waiting(struct order *order, uint32_t block, const struct window *window)
{
    struct zone_list *waiting = &order->tracks[window->track].waiting;
    while (waiting->count && waiting->zones[0].start_ns >= window->hi) {
        struct late_zone late = {.zone = waiting->zones[0], .after_block = block};
        int result = export_stack_push(&order->late, &late, order->job->err);
        if (result != 0)
            return result;
        heap_pop(order, waiting);
    }
    return 0;
}

static int look_back(struct order *order, uint32_t block)
{
    size_t first = order->window_first[block], end = order->window_first[block + 1];
    bool has_early = false;
    int result = 0;
    for (size_t i = first; i < end && result == 0; i++) {
        has_early |= order->windows[i].has_early;
        result = release_waiting(order, block, &order->windows[i]);
    }
    if (result == 0 && has_early) {
        result = decode(order, block, row_columns(order));
        for (size_t i = first; i < end && result == 0; i++)
            result = order->windows[i].has_early ? hold_early_rows(order, &order->windows[i]) : 0;
    }
    return result;
}

/* Zones that never ended wait from the end of the file on. */
static int hold_open_zones(struct order *order)
{
    size_t count;
    const struct trace_open_zone *open = trace_get_open_zones(order->job->trace, &count);
    for (size_t i = 0; i < count; i++) {
        if (open[i].track >= order->job->track_count)
            continue;
        struct track_state *state = &order->tracks[open[i].track];
        struct export_zone zone = {
            .start_ns = open[i].start,
            .end_ns = open[i].seen,
            .track = open[i].track,
            .name = open[i].name,
            .depth = open[i].depth,
            .block = EXPORT_NO_BLOCK,
            .row = (uint32_t)i,
            .is_open = true,
        };
        zone.end_ns = state->hi > zone.end_ns ? state->hi : zone.end_ns;
        int result = wants(order, &zone) ? heap_push(order, &state->waiting, &zone) : 0;
        if (result != 0)
            return result;
    }
    return 0;
}

static int compare_zones(const void *a, const void *b)
{
    const struct export_zone *left = a, *right = b;
    return comes_before(left, right) ? -1 : comes_before(right, left) ? 1 : 0;
}

/* --- pass 3: begins and ends --- */

static uint64_t clipped(const struct order *order, uint64_t ns)
{
    const struct trace_filter *filter = order->job->filter;
    if (!filter->has_window)
        return ns;
    return ns < filter->since_ns ? filter->since_ns : ns > filter->until_ns ? filter->until_ns : ns;
}

static struct export_zone clipped_zone(const struct order *order, const struct export_zone *zone)
{
    struct export_zone cut = *zone;
    cut.start_ns = clipped(order, zone->start_ns);
    cut.end_ns = clipped(order, zone->end_ns);
    cut.is_cut = cut.start_ns != zone->start_ns || cut.end_ns != zone->end_ns;
    return cut;
}

static int load_extras(struct order *order, const struct export_zone *zone, struct export_zone_rest *rest)
{
    if (zone->block == EXPORT_NO_BLOCK)
        return 0;
    if (zone->block == order->rows_block) {
        rest->extra_count = zone_rows_find_extras(&order->rows, zone->row, &rest->extras);
        return 0;
    }
    if (!zone->has_extras)
        return 0;
    if (zone->block != order->other_block) {
        order->other_block = EXPORT_NO_BLOCK;
        int result = trace_decode_zones(order->job->trace, order->blocks[zone->block], TRACE_COLUMN_EXTRA,
                                        &order->other, order->job->err);
        if (result != 0)
            return result;
        order->other_block = zone->block;
    }
    rest->extra_count = zone_rows_find_extras(&order->other, zone->row, &rest->extras);
    return 0;
}

static int close_top(struct order *order, struct track_state *state, uint32_t lane_number)
{
    struct lane *lane = &state->lanes[lane_number];
    struct open_zone *top = &lane->open[--lane->count];
    struct export_zone zone = clipped_zone(order, &top->zone);
    struct export_zone_rest rest = {.child_ns = top->child_ns, .tag = &top->tag};
    if (lane->count)
        lane->open[lane->count - 1].child_ns += zone.end_ns - zone.start_ns;
    lane->last_ns = top->zone.end_ns;
    int result = 0;
    if (order->visitor->extras == EXPORT_EXTRAS_AT_END)
        result = load_extras(order, &top->zone, &rest);
    if (result == 0 && order->visitor->end)
        result = order->visitor->end(order->visitor->context, &zone, lane_number, &rest);
    return result == 0 ? export_flush(order->job, false) : result;
}

static int close_until(struct order *order, struct track_state *state, uint64_t ns)
{
    for (uint32_t i = 0; i < state->lane_count; i++) {
        while (state->lanes[i].count && state->lanes[i].open[state->lanes[i].count - 1].zone.end_ns <= ns) {
            int result = close_top(order, state, i);
            if (result != 0)
                return result;
        }
    }
    return 0;
}

/* Inside it; an empty zone at its very end only if it is deeper. */
static bool fits_inside(const struct export_zone *outer, const struct export_zone *zone)
{
    if (zone->end_ns > outer->end_ns)
        return false;
    return outer->depth < zone->depth || zone->start_ns < outer->end_ns;
}

/* Ends what has ended on a lane and says whether the zone can begin there. */
static int lane_accepts(struct order *order, struct track_state *state, uint32_t number,
                        const struct export_zone *zone, bool *accepts)
{
    struct lane *lane = &state->lanes[number];
    *accepts = false;
    while (lane->count) {
        const struct export_zone *top = &lane->open[lane->count - 1].zone;
        if (fits_inside(top, zone))
            break;
        if (top->end_ns > zone->start_ns)
            return 0;
        int result = close_top(order, state, number);
        if (result != 0)
            return result;
    }
    *accepts = zone->start_ns >= lane->last_ns;
    return 0;
}

/* Of the zone that lies on top of its lane. */
static int tell_begin(struct order *order, struct lane *lane, uint32_t lane_number)
{
    struct open_zone *top = &lane->open[lane->count - 1], *outer = lane->count > 1 ? top - 1 : NULL;
    struct export_zone cut = clipped_zone(order, &top->zone);
    struct export_zone_rest rest = {.tag = &top->tag, .parent_tag = outer ? &outer->tag : NULL};
    int result = 0;
    if (!order->visitor->begin)
        return 0;
    if (outer)
        rest.parent_end_ns = clipped(order, outer->zone.end_ns);
    if (order->visitor->extras == EXPORT_EXTRAS_AT_BEGIN)
        result = load_extras(order, &top->zone, &rest);
    if (result == 0)
        result = order->visitor->begin(order->visitor->context, &cut, lane_number, &rest);
    return result == 0 ? export_flush(order->job, false) : result;
}

static int begin_zone(struct order *order, struct track_state *state, const struct export_zone *zone)
{
    bool accepts = false;
    uint32_t number = 0;
    for (;; number++) {
        if (number == state->lane_count) {
            if (!array_reserve(&state->lanes, &state->lane_capacity, state->lane_count + 1,
                               sizeof *state->lanes))
                return export_no_memory(order->job);
            state->lanes[state->lane_count++] = (struct lane){0};
        }
        int result = lane_accepts(order, state, number, zone, &accepts);
        if (result != 0)
            return result;
        if (accepts)
            break;
    }
    struct lane *lane = &state->lanes[number];
    if (!array_reserve(&lane->open, &lane->capacity, lane->count + 1, sizeof *lane->open))
        return export_no_memory(order->job);
    lane->open[lane->count++] = (struct open_zone){.zone = *zone};
    lane->last_ns = zone->start_ns;
    if (zone->is_open)
        order->job->counts->open_zones++;
    else
        order->job->counts->zones++;
    return tell_begin(order, lane, number);
}

/* Loads the source's next wanted row; false when it has no more. */
static bool source_advance(struct order *order, struct source *source, const struct window *window)
{
    while (source->next < source->end) {
        uint32_t row = source->next++;
        if (source->group == NO_GROUP) {
            source->zone = order->tracks[window->track].waiting.zones[row];
            return true;
        }
        if (order->rows.start[row] < window->lo)
            continue; /* it came by way of the stack */
        source->zone = row_zone(order, &order->rows.groups[source->group], row);
        if (wants(order, &source->zone))
            return true;
    }
    return false;
}

static void sift_down(struct order *order)
{
    uint32_t *heap = order->heap, moved = heap[0];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < order->heap_count) {
        if (child + 1 < order->heap_count &&
            comes_before(&order->sources[heap[child + 1]].zone, &order->sources[heap[child]].zone))
            child++;
        if (!comes_before(&order->sources[heap[child]].zone, &order->sources[moved].zone))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static int add_source(struct order *order, uint32_t group, uint32_t first, uint32_t end,
                      const struct window *window)
{
    if (!array_reserve(&order->sources, &order->source_capacity, order->source_count + 1,
                       sizeof *order->sources) ||
        !array_reserve(&order->heap, &order->heap_capacity, order->heap_count + 1, sizeof *order->heap))
        return export_no_memory(order->job);
    struct source *source = &order->sources[order->source_count];
    *source = (struct source){.group = group, .next = first, .end = end};
    if (!source_advance(order, source, window))
        return 0;
    size_t at = order->heap_count++;
    while (at > 0 && comes_before(&source->zone, &order->sources[order->heap[(at - 1) / 2]].zone)) {
        order->heap[at] = order->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    order->heap[at] = (uint32_t)order->source_count++;
    return 0;
}

/* Merges the rows of one track in the current block with those that waited for this window. */
static int tell_window(struct order *order, const struct window *window, bool has_rows)
{
    struct track_state *state = &order->tracks[window->track];
    order->source_count = 0;
    order->heap_count = 0;
    int result = add_source(order, NO_GROUP, 0, (uint32_t)state->waiting.count, window);
    for (uint32_t g = has_rows ? state->first_group : NO_GROUP; g != NO_GROUP && result == 0;
         g = order->next_group[g]) {
        const struct zone_rows_group *group = &order->rows.groups[g];
        result = add_source(order, g, group->first, group->first + group->count, window);
    }
    while (result == 0 && order->heap_count) {
        struct source *source = &order->sources[order->heap[0]];
        result = begin_zone(order, state, &source->zone);
        if (!source_advance(order, source, window))
            order->heap[0] = order->heap[--order->heap_count];
        if (order->heap_count)
            sift_down(order);
    }
    state->waiting.count = 0;
    return result == 0 ? close_until(order, state, window->hi) : result;
}

/* Hands over what begins after this block. */
static int take_from_stack(struct order *order, uint32_t block)
{
    const struct late_zone *late;
    int result;
    while ((late = export_stack_top(&order->late, &result, order->job->err)) && late->after_block == block) {
        struct zone_list *waiting = &order->tracks[late->zone.track].waiting;
        if (!array_reserve(&waiting->zones, &waiting->capacity, waiting->count + 1, sizeof *waiting->zones))
            return export_no_memory(order->job);
        waiting->zones[waiting->count++] = late->zone;
        export_stack_drop(&order->late);
    }
    return result;
}

static int tell_block(struct order *order, uint32_t block)
{
    int result = decode(order, block, row_columns(order));
    for (size_t i = order->window_first[block]; i < order->window_first[block + 1] && result == 0; i++)
        result = tell_window(order, &order->windows[i], true);
    return result == 0 ? take_from_stack(order, block) : result;
}

/* --- all of it --- */

static int list_blocks(struct order *order)
{
    const struct trace_filter *wanted = order->job->filter;
    struct trace_block_filter filter = {.type = TRACE_BLOCK_ZONES};
    const struct trace_block *block;
    size_t position = 0;
    if (wanted->has_window) {
        filter.since_ns = wanted->since_ns;
        filter.until_ns = wanted->until_ns;
    }
    while ((block = trace_next_block(order->job->trace, &filter, &position))) {
        if (!array_reserve(&order->blocks, &order->block_capacity, order->block_count + 1,
                           sizeof *order->blocks))
            return export_no_memory(order->job);
        order->blocks[order->block_count++] = block;
    }
    order->window_first = calloc(order->block_count + 1, sizeof *order->window_first);
    order->tracks = calloc(order->job->track_count + 1, sizeof *order->tracks);
    return order->window_first && order->tracks ? 0 : export_no_memory(order->job);
}

static int run_passes(struct order *order)
{
    uint32_t count = (uint32_t)order->block_count;
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; i++) {
        result = measure_block(order, i);
        order->window_first[i + 1] = order->window_count;
        export_progress(order->job);
    }
    if (result == 0)
        result = hold_open_zones(order);
    for (uint32_t i = count; i-- > 0 && result == 0;) {
        result = look_back(order, i);
        export_progress(order->job);
    }
    for (size_t t = 0; t < order->job->track_count && result == 0; t++) {
        struct zone_list *waiting = &order->tracks[t].waiting;
        if (waiting->count)
            qsort(waiting->zones, waiting->count, sizeof *waiting->zones, compare_zones);
    }
    for (uint32_t i = 0; i < count && result == 0; i++) {
        result = tell_block(order, i);
        export_progress(order->job);
    }
    for (uint32_t t = 0; t < order->job->track_count && result == 0; t++) {
        struct window rest = {.lo = UINT64_MAX, .hi = UINT64_MAX, .track = t};
        result = tell_window(order, &rest, false);
    }
    return result;
}

static void free_order(struct order *order)
{
    for (size_t t = 0; order->tracks && t < order->job->track_count; t++) {
        for (size_t i = 0; i < order->tracks[t].lane_count; i++)
            free(order->tracks[t].lanes[i].open);
        free(order->tracks[t].lanes);
        free(order->tracks[t].waiting.zones);
    }
    free(order->tracks);
    free(order->blocks);
    free(order->window_first);
    free(order->windows);
    free(order->next_group);
    free(order->block_tracks);
    free(order->sources);
    free(order->heap);
    zone_rows_free(&order->rows);
    zone_rows_free(&order->other);
    export_stack_close(&order->late);
}

int export_order_zones(struct export_job *job, const struct export_visitor *visitor)
{
    struct order order = {
        .job = job, .visitor = visitor, .rows_block = EXPORT_NO_BLOCK, .other_block = EXPORT_NO_BLOCK};
    int result = export_stack_open(&order.late, sizeof(struct late_zone), STACK_BYTES, job->err);
    if (result == 0)
        result = list_blocks(&order);
    if (result == 0)
        result = run_passes(&order);
    free_order(&order);
    return result;
}
