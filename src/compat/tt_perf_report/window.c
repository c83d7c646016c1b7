/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows make the table, and in which order: host start, signposts, devices merged, numbers asked for. The table is
 * perf->order, indices into perf->rows. */
#include "compat/tt_perf_report/ttpr.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/report/merge.h"
#include "analyze/report/range.h"
#include "compat/tt_perf_report/order.h"

static const char *first_path(const struct ttpr *perf)
{
    return perf->file_count ? ttpr_text(perf, perf->paths[0]) : "no file";
}

static int compare_start(const void *a, const void *b, void *context)
{
    const struct ttpr *perf = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    int64_t first = perf->rows[left].host_start_ns, second = perf->rows[right].host_start_ns;
    if (first != second)
        return first < second ? -1 : 1;
    return left < right ? -1 : left > right;
}

static bool has_equal_starts(const struct ttpr *perf)
{
    for (size_t i = 1; i < perf->count; i++) {
        int64_t start = ttpr_at(perf, i)->host_start_ns;
        if (start != INT64_MAX && start == ttpr_at(perf, i - 1)->host_start_ns)
            return true;
    }
    return false;
}

/* Rows that start at the same time, in the original's order; those without a start stay last. */
static int order_equal_starts(struct ttpr *perf, struct error *err)
{
    size_t count = 0, missing = 0;
    int64_t *keys = malloc((perf->row_count ? perf->row_count : 1) * sizeof *keys);
    if (!keys)
        return error_set(err, ENOMEM, "no memory to sort %zu ops", perf->row_count);
    for (size_t i = 0; i < perf->row_count; i++) {
        keys[i] = perf->rows[i].host_start_ns;
        missing += keys[i] == INT64_MAX;
        if (keys[i] != INT64_MAX)
            perf->order[count++] = (uint32_t)i;
    }
    ttpr_order_sort(keys, perf->order, count);
    for (size_t i = 0; i < perf->row_count && missing; i++) {
        if (keys[i] == INT64_MAX)
            perf->order[count++] = (uint32_t)i;
    }
    free(keys);
    return 0;
}

/* Where some ops have a start, those without one move after all others. */
static void note_missing_starts(struct ttpr *perf)
{
    const struct ttpr_row *first = NULL;
    size_t missing = 0;
    for (size_t i = 0; i < perf->row_count; i++) {
        const struct ttpr_row *row = &perf->rows[i];
        if (row->host_start_ns != INT64_MAX || row->kind == TTPR_SIGNPOST || row->line == 0)
            continue;
        first = first ? first : row;
        missing++;
    }
    if (missing && missing < perf->row_count)
        ttpr_note(perf, PERF_NOTE_WARN, NULL,
                  "%s:%" PRIu64
                  ": column 'HOST START TS' has no time; the op counts as started last (%zu in all)",
                  ttpr_text(perf, perf->paths[first->file]), first->line, missing);
}

int ttpr_sort_rows(struct ttpr *perf, struct error *err)
{
    bool is_sorted = true;
    perf->order = malloc((perf->row_count ? perf->row_count : 1) * sizeof *perf->order);
    if (!perf->order)
        return error_set(err, ENOMEM, "no memory for %zu ops", perf->row_count);
    perf->count = perf->row_count;
    for (size_t i = 0; i < perf->row_count; i++) {
        perf->order[i] = (uint32_t)i;
        if (i > 0 && perf->rows[i].host_start_ns < perf->rows[i - 1].host_start_ns)
            is_sorted = false;
    }
    if (!perf->has_host_start)
        ttpr_note(perf, PERF_NOTE_INFO, NULL,
                  "%s: ops stay in the order of the file, which does not say when they started",
                  first_path(perf));
    else if (perf->request->tracing_mode)
        ttpr_note(perf, PERF_NOTE_INFO, NULL, "tracing mode: ops stay in the order of the file");
    else {
        note_missing_starts(perf);
        if (!is_sorted)
            qsort_r(perf->order, perf->count, sizeof *perf->order, compare_start, perf);
        if (has_equal_starts(perf))
            return order_equal_starts(perf, err);
    }
    return 0;
}

/* --- signposts --- */

static bool is_named_signpost(const struct ttpr *perf, size_t i, const char *name)
{
    const struct ttpr_row *row = ttpr_at(perf, i);
    return row->kind == TTPR_SIGNPOST && strcmp(ttpr_text(perf, row->op_code), name) == 0;
}

/* The n-th signpost of that name, as a position; SIZE_MAX when there are fewer. */
static size_t find_signpost(const struct ttpr *perf, const char *name, unsigned nth)
{
    for (size_t i = 0; i < perf->count; i++) {
        if (is_named_signpost(perf, i, name) && nth-- == 0)
            return i;
    }
    return SIZE_MAX;
}

static void keep(struct ttpr *perf, bool (*wanted)(const struct ttpr *, size_t, const void *),
                 const void *context)
{
    size_t kept = 0;
    for (size_t i = 0; i < perf->count; i++) {
        if (wanted(perf, i, context))
            perf->order[kept++] = perf->order[i];
    }
    perf->count = kept;
}

struct window {
    uint64_t after, before; /* row numbers, exclusive; UINT64_MAX in `after`: from the start */
    bool is_from_start;
};

static bool is_inside(const struct ttpr *perf, size_t i, const void *context)
{
    const struct window *window = context;
    const struct ttpr_row *row = ttpr_at(perf, i);
    return (window->is_from_start || row->source_index > window->after) && row->source_index < window->before;
}

static bool is_no_signpost(const struct ttpr *perf, size_t i, const void *context)
{
    (void)context;
    return ttpr_at(perf, i)->kind != TTPR_SIGNPOST;
}

/* The window that was asked for by name; false when neither name led to one. */
static bool named_window(struct ttpr *perf, struct window *window)
{
    const char *start = perf->request->start_signpost, *end = perf->request->end_signpost;
    bool is_found = false;
    *window = (struct window){.before = UINT64_MAX, .is_from_start = true};
    if (start) {
        size_t at = find_signpost(perf, start, 0);
        if (at == SIZE_MAX) {
            ttpr_note(perf, PERF_NOTE_WARN, NULL, "there is no signpost '%s' to start at", start);
        } else {
            window->after = ttpr_at(perf, at)->source_index;
            window->is_from_start = false;
            is_found = true;
        }
    }
    if (end) {
        bool is_same = start && strcmp(start, end) == 0;
        size_t at = find_signpost(perf, end, is_same ? 1 : 0);
        if (at != SIZE_MAX) {
            window->before = ttpr_at(perf, at)->source_index;
            is_found = true;
        } else {
            bool is_second = is_same && find_signpost(perf, end, 0) != SIZE_MAX;
            ttpr_note(perf, PERF_NOTE_WARN, NULL, "there is no %ssignpost '%s' to end at",
                      is_second ? "second " : "", end);
        }
        if (is_same && find_signpost(perf, end, 2) != SIZE_MAX)
            ttpr_note(perf, PERF_NOTE_INFO, NULL,
                      "signpost '%s' comes more than twice; the first two are used", end);
    }
    return is_found;
}

/* From the last signpost on, which is the first row of its name, whatever its kind. */
static void start_at_last(struct ttpr *perf)
{
    size_t last = perf->count - 1, start = 0;
    while (ttpr_at(perf, last)->kind != TTPR_SIGNPOST)
        last--;
    while (ttpr_at(perf, start)->op_code != ttpr_at(perf, last)->op_code)
        start++;
    ttpr_note(perf, PERF_NOTE_INFO, NULL,
              "starting at the last signpost, '%s' (--ignore-signposts takes all ops)",
              ttpr_text(perf, ttpr_at(perf, last)->op_code));
    perf->count -= start + 1;
    memmove(perf->order, perf->order + start + 1, perf->count * sizeof *perf->order);
}

void ttpr_apply_signposts(struct ttpr *perf)
{
    const struct ttpr_request *request = perf->request;
    size_t signposts = 0;
    struct window window;
    for (size_t i = 0; i < perf->count; i++)
        signposts += ttpr_at(perf, i)->kind == TTPR_SIGNPOST;
    if (request->ignore_signposts || signposts == 0) {
        if (signposts == 0 && (request->start_signpost || request->end_signpost))
            ttpr_note(perf, PERF_NOTE_WARN, NULL, "there are no signposts; all ops are used");
        return;
    }
    if (named_window(perf, &window))
        keep(perf, is_inside, &window);
    else
        start_at_last(perf);
    if (!request->print_signposts)
        keep(perf, is_no_signpost, NULL);
}

/* --- devices --- */

static struct perf_merge_row merge_row(const void *context, uint32_t index)
{
    const struct ttpr_row *row = &((const struct ttpr *)context)->rows[index];
    double duration = ttpr_is_1_4(context) ? ttpr_usable_duration(row) : row->duration_ns;
    return (struct perf_merge_row){row->device, row->op_code, duration, row->is_device_type};
}

static const char *merge_name(const void *context, uint32_t name)
{
    return ttpr_text(context, name);
}

static void merge_set_mean(void *context, uint32_t index, double duration_ns, size_t count)
{
    struct ttpr_row *row = &((struct ttpr *)context)->rows[index];
    (void)count;
    row->duration_ns = duration_ns;
    row->is_duration_missing = isnan(duration_ns);
}

static void merge_no_device(void *context, uint32_t index)
{
    static const char kind_no_device[] = "no device";
    struct ttpr *perf = context;
    const struct ttpr_row *row = &perf->rows[index];
    ttpr_note(perf, PERF_NOTE_WARN, kind_no_device,
              "%s:%" PRIu64 ": a device op without DEVICE ID: not merged",
              ttpr_text(perf, perf->paths[row->file]), row->line);
}

int ttpr_merge(struct ttpr *perf, struct error *err)
{
    const struct perf_merge merge = {.context = perf,
                                     .row = merge_row,
                                     .name = merge_name,
                                     .set_mean = merge_set_mean,
                                     .no_device = merge_no_device,
                                     .path = first_path(perf),
                                     .notes = perf->notes,
                                     .is_off = perf->request->no_merge_devices,
                                     .prefers_known_times = ttpr_is_1_4(perf),
                                     .keeps_order = ttpr_is_1_4(perf)};
    return perf_merge_devices(&merge, perf->order, &perf->count, err);
}

/* --- numbers --- */

static bool is_in_range(const struct ttpr *perf, size_t i, const void *context)
{
    const struct perf_range *range = context;
    uint64_t id = ttpr_at(perf, i)->id;
    return id >= range->first && id <= range->last;
}

int ttpr_apply_id_range(struct ttpr *perf, struct error *err)
{
    struct perf_range range;
    if (!perf->request->id_range)
        return 0;
    int status = perf_range_parse(&range, perf->request->id_range, err);
    if (status)
        return status;
    size_t count = perf->count;
    uint64_t last = count ? ttpr_at(perf, count - 1)->id : 0;
    keep(perf, is_in_range, &range);
    if (perf->count == 0 && count)
        ttpr_note(perf, PERF_NOTE_WARN, NULL,
                  "--id-range '%s' takes none of %zu ops (the last has ID %" PRIu64 ")",
                  perf->request->id_range, count, last);
    if (perf->count)
        ttpr_at(perf, 0)->shown_gap_us = NAN;
    return 0;
}

static bool is_no_host_op(const struct ttpr *perf, size_t i, const void *context)
{
    (void)context;
    return ttpr_at(perf, i)->kind != TTPR_HOST_OP;
}

void ttpr_drop_host_ops(struct ttpr *perf)
{
    if (perf->request->no_host_ops)
        keep(perf, is_no_host_op, NULL);
}
