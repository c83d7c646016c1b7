/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows make the table, and in which order: host start, signposts, devices merged, numbers asked for.
 *
 * The table is perf->order, indices into perf->rows. Merging walks the devices' ops side by side, as a program
 * that runs the same ops on every device leaves them: the lowest device that has ops left says which op comes
 * next, and every device whose next op has that name joins in. */
#include "analyze/report/internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/report/order.h"

/* Beyond this many, device numbers are nonsense, and walking them side by side would take for ever. */
#define DEVICES_MAX 4096u

static const char *first_path(const struct perf *perf)
{
    return perf->file_count ? perf_text(perf, perf->paths[0]) : "no file";
}

static int compare_start(const void *a, const void *b, void *context)
{
    const struct perf *perf = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    int64_t first = perf->rows[left].host_start_ns, second = perf->rows[right].host_start_ns;
    if (first != second)
        return first < second ? -1 : 1;
    return left < right ? -1 : left > right;
}

static bool has_equal_starts(const struct perf *perf)
{
    for (size_t i = 1; i < perf->count; i++) {
        int64_t start = perf_at(perf, i)->host_start_ns;
        if (start != INT64_MAX && start == perf_at(perf, i - 1)->host_start_ns)
            return true;
    }
    return false;
}

/* Rows that start at the same time, in the original's order; those without a start stay last. */
static int order_equal_starts(struct perf *perf, struct error *err)
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
    perf_order_sort(keys, perf->order, count);
    for (size_t i = 0; i < perf->row_count && missing; i++) {
        if (keys[i] == INT64_MAX)
            perf->order[count++] = (uint32_t)i;
    }
    free(keys);
    return 0;
}

/* Where some ops have a start, those without one move behind all others. */
static void note_missing_starts(struct perf *perf)
{
    const struct perf_row *first = NULL;
    size_t missing = 0;
    for (size_t i = 0; i < perf->row_count; i++) {
        const struct perf_row *row = &perf->rows[i];
        if (row->host_start_ns != INT64_MAX || row->kind == PERF_SIGNPOST || row->line == 0)
            continue;
        first = first ? first : row;
        missing++;
    }
    if (missing && missing < perf->row_count)
        perf_note(perf, PERF_NOTE_WARN, NULL,
                  "%s:%llu: column 'HOST START TS' has no time; the op counts as started last (%zu in all)",
                  perf_text(perf, perf->paths[first->file]), (unsigned long long)first->line, missing);
}

int perf_sort_rows(struct perf *perf, struct error *err)
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
        perf_note(perf, PERF_NOTE_INFO, NULL,
                  "%s: ops stay in the order of the file, which does not say when they started",
                  first_path(perf));
    else if (perf->options.tracing_mode)
        perf_note(perf, PERF_NOTE_INFO, NULL, "tracing mode: ops stay in the order of the file");
    else {
        note_missing_starts(perf);
        if (!is_sorted)
            qsort_r(perf->order, perf->count, sizeof *perf->order, compare_start, perf);
        if (perf->options.compat && has_equal_starts(perf))
            return order_equal_starts(perf, err);
    }
    return 0;
}

/* --- signposts --- */

static bool is_named_signpost(const struct perf *perf, size_t i, const char *name)
{
    const struct perf_row *row = perf_at(perf, i);
    return row->kind == PERF_SIGNPOST && strcmp(perf_text(perf, row->op_code), name) == 0;
}

/* The n-th signpost of that name, as a position; SIZE_MAX when there are fewer. */
static size_t find_signpost(const struct perf *perf, const char *name, unsigned nth)
{
    for (size_t i = 0; i < perf->count; i++) {
        if (is_named_signpost(perf, i, name) && nth-- == 0)
            return i;
    }
    return SIZE_MAX;
}

static void keep(struct perf *perf, bool (*wanted)(const struct perf *, size_t, const void *),
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

static bool is_inside(const struct perf *perf, size_t i, const void *context)
{
    const struct window *window = context;
    const struct perf_row *row = perf_at(perf, i);
    return (window->is_from_start || row->source_index > window->after) && row->source_index < window->before;
}

static bool is_no_signpost(const struct perf *perf, size_t i, const void *context)
{
    (void)context;
    return perf_at(perf, i)->kind != PERF_SIGNPOST;
}

/* A name that was asked for and is not there: an error that lists those that are. */
static int no_signpost(struct perf *perf, const char *name, const char *what, struct error *err)
{
    struct bytes *text = &perf->scratch;
    bytes_clear(text);
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        if (row->kind != PERF_SIGNPOST)
            continue;
        if (text->length > 400) {
            bytes_append_text(text, ", ...");
            break;
        }
        bytes_append_format(text, "%s'%.60s'", text->length ? ", " : "", perf_text(perf, row->op_code));
    }
    if (text->length)
        return error_set(err, EINVAL, "there is no %ssignpost '%s'; there are: %.*s", what, name,
                         (int)text->length, (const char *)text->data);
    return error_set(err, EINVAL, "there is no signpost '%s': the run has none", name);
}

/* A signpost that the original only warns of. */
static int missing_signpost(struct perf *perf, const char *name, bool is_start, bool is_second,
                            struct error *err)
{
    if (!perf->options.compat)
        return no_signpost(perf, name, is_second ? "second " : "", err);
    perf_note(perf, PERF_NOTE_WARN, NULL, "there is no %ssignpost '%s' to %s at", is_second ? "second " : "",
              name, is_start ? "start" : "end");
    return 0;
}

/* The window that was asked for by name; *is_found: at least one name led to one. */
static int named_window(struct perf *perf, struct window *window, bool *is_found, struct error *err)
{
    const char *start = perf->options.start_signpost, *end = perf->options.end_signpost;
    int status = 0;
    *is_found = false;
    *window = (struct window){.before = UINT64_MAX, .is_from_start = true};
    if (start) {
        size_t at = find_signpost(perf, start, 0);
        if (at == SIZE_MAX) {
            status = missing_signpost(perf, start, true, false, err);
        } else {
            window->after = perf_at(perf, at)->source_index;
            window->is_from_start = false;
            *is_found = true;
        }
    }
    if (end && !status) {
        bool is_same = start && strcmp(start, end) == 0;
        size_t at = find_signpost(perf, end, is_same ? 1 : 0);
        if (at != SIZE_MAX) {
            window->before = perf_at(perf, at)->source_index;
            *is_found = true;
        } else {
            bool is_second = is_same && find_signpost(perf, end, 0) != SIZE_MAX;
            status = missing_signpost(perf, end, false, is_second, err);
        }
        if (is_same && find_signpost(perf, end, 2) != SIZE_MAX)
            perf_note(perf, PERF_NOTE_INFO, NULL,
                      "signpost '%s' comes more than twice; the first two are used", end);
    }
    return status;
}

/* For the page, which shows no notes about what is as it should be. */
static void describe_window(struct perf *perf, const char *start, bool is_last, const char *end)
{
    struct bytes *text = &perf->scratch;
    bytes_clear(text);
    if (start)
        bytes_append_format(text, "after the %ssignpost '%s'", is_last ? "last " : "", start);
    if (end)
        bytes_append_format(text, "%sbefore the signpost '%s'", start ? " and " : "", end);
    perf->window = perf_intern(perf, text->data, text->length);
}

static void cut_before(struct perf *perf, size_t at)
{
    perf->count -= at + 1;
    memmove(perf->order, perf->order + at + 1, perf->count * sizeof *perf->order);
}

/* From the last signpost on; the newer rule skips signposts that no op follows. */
static void start_at_last(struct perf *perf)
{
    size_t last = SIZE_MAX, start = SIZE_MAX;
    bool has_ops = false;
    for (size_t i = perf->count; i-- > 0 && start == SIZE_MAX;) {
        if (perf_at(perf, i)->kind != PERF_SIGNPOST) {
            has_ops = true;
            continue;
        }
        if (last == SIZE_MAX)
            last = i;
        if (has_ops || perf->options.compat)
            start = i;
    }
    const char *name = perf_text(perf, perf_at(perf, last)->op_code);
    if (perf->options.compat) { /* the first row of that name, whatever its kind */
        for (start = 0; perf_at(perf, start)->op_code != perf_at(perf, last)->op_code; start++)
            continue;
    } else if (start == SIZE_MAX) {
        perf_note(perf, PERF_NOTE_WARN, NULL, "no ops follow any signpost; all ops are used");
        return;
    } else if (start != last) {
        perf_note(perf, PERF_NOTE_WARN, NULL, "no ops follow the last signpost '%s'", name);
        name = perf_text(perf, perf_at(perf, start)->op_code);
    }
    perf_note(perf, PERF_NOTE_INFO, NULL,
              "starting at the last signpost, '%s' (--ignore-signposts takes all ops)", name);
    describe_window(perf, name, true, NULL);
    cut_before(perf, start);
}

int perf_apply_signposts(struct perf *perf, struct error *err)
{
    const char *start = perf->options.start_signpost, *end = perf->options.end_signpost;
    size_t signposts = 0;
    struct window window;
    bool is_found;
    for (size_t i = 0; i < perf->count; i++)
        signposts += perf_at(perf, i)->kind == PERF_SIGNPOST;
    perf->read_op_count = perf->count - signposts;
    if (perf->options.ignore_signposts || signposts == 0) {
        if (signposts == 0 && (start || end) && !perf->options.compat)
            return no_signpost(perf, start ? start : end, "", err);
        if (signposts == 0 && (start || end))
            perf_note(perf, PERF_NOTE_WARN, NULL, "there are no signposts; all ops are used");
        return 0;
    }
    int status = named_window(perf, &window, &is_found, err);
    if (status)
        return status;
    if (is_found) {
        keep(perf, is_inside, &window);
        describe_window(perf, window.is_from_start ? NULL : start, false,
                        window.before < UINT64_MAX ? end : NULL);
    } else {
        start_at_last(perf);
    }
    if (!perf->options.print_signposts && perf->options.group_by != PERF_BY_SIGNPOST)
        keep(perf, is_no_signpost, NULL);
    return 0;
}

/* --- devices --- */

struct queue {
    int32_t device;
    size_t next, end; /* in the shared array of row indices */
};

struct merge {
    uint32_t *rows; /* device rows, by device, in table order */
    struct queue *queues;
    size_t queue_count;
    uint32_t *kept;
    size_t kept_count;
    uint64_t block_count;
};

static int compare_device(const void *a, const void *b)
{
    int32_t left = ((const struct queue *)a)->device, right = ((const struct queue *)b)->device;
    return left < right ? -1 : left > right;
}

static int compare_source(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

/* The distinct devices of the table, ascending, with how many device ops each has in `end`. */
static bool count_devices(const struct perf *perf, struct queue **queues, size_t *count)
{
    size_t capacity = 0;
    *queues = NULL;
    *count = 0;
    size_t recent = 0;
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        if (row->device == PERF_NO_NUMBER)
            continue;
        size_t q = recent;
        if (q >= *count || (*queues)[q].device != row->device)
            for (q = 0; q < *count && (*queues)[q].device != row->device; q++)
                continue;
        if (q == *count) {
            if (*count > DEVICES_MAX)
                return true;
            if (!array_reserve(queues, &capacity, *count + 1, sizeof **queues))
                return false;
            (*queues)[(*count)++] = (struct queue){.device = row->device};
        }
        (*queues)[q].end += row->is_device_type;
        recent = q;
    }
    if (*count)
        qsort(*queues, *count, sizeof **queues, compare_device);
    return true;
}

static const char kind_absent[] = "device lacks op", kind_different[] = "device has another op";

static bool is_averaged_name(const char *name)
{
    return strstr(name, "AllGather") || strstr(name, "ReduceScatter") || strstr(name, "AllReduce");
}

/* Chooses the row that stands for a block of equal ops and gives it the block's time. */
static void close_block(struct perf *perf, struct merge *merge, const uint32_t *block, size_t count)
{
    struct perf_row *chosen = &perf->rows[block[0]];
    uint32_t chosen_index = block[0];
    if (is_averaged_name(perf_text(perf, chosen->op_code))) {
        double sum = 0;
        size_t known = 0;
        for (size_t i = 0; i < count; i++) {
            double duration = perf->rows[block[i]].duration_ns;
            if (!isnan(duration)) {
                sum += duration;
                known++;
            }
        }
        chosen->duration_ns = known ? sum / (double)known : NAN;
        chosen->is_duration_missing = known == 0;
        chosen->is_averaged = count > 1;
    } else {
        for (size_t i = 1; i < count; i++) {
            struct perf_row *row = &perf->rows[block[i]];
            bool is_longer =
                row->duration_ns > chosen->duration_ns ||
                (!perf->options.compat && isnan(chosen->duration_ns) && !isnan(row->duration_ns));
            if (is_longer) {
                chosen = row;
                chosen_index = block[i];
            }
        }
    }
    merge->kept[merge->kept_count++] = chosen_index;
}

/* Takes the next block off the queues; false when they are empty. */
static bool next_block(struct perf *perf, struct merge *merge, uint32_t *block)
{
    size_t count = 0;
    uint32_t name = PERF_NO_TEXT;
    for (size_t q = 0; q < merge->queue_count; q++) {
        struct queue *queue = &merge->queues[q];
        if (queue->next == queue->end) {
            if (count > 0)
                perf_note(perf, PERF_NOTE_WARN, kind_absent,
                          "device %d has no op left to go with %s (block %llu)", queue->device,
                          perf_text(perf, name), (unsigned long long)merge->block_count);
            continue;
        }
        uint32_t head = merge->rows[queue->next];
        if (count == 0)
            name = perf->rows[head].op_code;
        if (perf->rows[head].op_code == name) {
            block[count++] = head;
            queue->next++;
        } else {
            perf_note(perf, PERF_NOTE_WARN, kind_different,
                      "device %d has %s where others have %s (block %llu): do not trust these two ops' times",
                      queue->device, perf_text(perf, perf->rows[head].op_code), perf_text(perf, name),
                      (unsigned long long)merge->block_count);
        }
    }
    if (count == 0)
        return false;
    close_block(perf, merge, block, count);
    merge->block_count++;
    return true;
}

/* Deals the device rows into one array, queue after queue; the others are kept as they are. */
static void deal_rows(struct perf *perf, struct merge *merge)
{
    size_t at = 0, recent = 0;
    static const char kind_no_device[] = "no device";
    for (size_t q = 0; q < merge->queue_count; q++) {
        size_t count = merge->queues[q].end;
        merge->queues[q].next = merge->queues[q].end = at;
        at += count;
    }
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        if (!row->is_device_type || row->device == PERF_NO_NUMBER) {
            if (row->is_device_type)
                perf_note(perf, PERF_NOTE_WARN, kind_no_device,
                          "%s:%llu: a device op without DEVICE ID: not merged",
                          perf_text(perf, perf->paths[row->file]), (unsigned long long)row->line);
            merge->kept[merge->kept_count++] = perf->order[i];
            continue;
        }
        size_t q = recent;
        if (merge->queues[q].device != row->device)
            for (q = 0; merge->queues[q].device != row->device; q++)
                continue;
        merge->rows[merge->queues[q].end++] = perf->order[i];
        recent = q;
    }
}

static void back_to_file_order(struct perf *perf)
{
    bool is_sorted = true;
    for (size_t i = 1; i < perf->count && is_sorted; i++)
        is_sorted = perf->order[i - 1] < perf->order[i];
    if (!is_sorted)
        qsort(perf->order, perf->count, sizeof *perf->order, compare_source);
}

int perf_merge_devices(struct perf *perf, struct error *err)
{
    struct merge merge = {0};
    uint32_t *block = NULL;
    int status = 0;
    if (!count_devices(perf, &merge.queues, &merge.queue_count))
        return error_set(err, ENOMEM, "no memory to merge devices");
    if (merge.queue_count > DEVICES_MAX) {
        perf_note(perf, PERF_NOTE_WARN, NULL,
                  "%s: column 'DEVICE ID': more than %u different DEVICE IDs; devices are not merged",
                  first_path(perf), DEVICES_MAX);
    } else if (perf->options.no_merge_devices && merge.queue_count > 1) {
        perf_note(perf, PERF_NOTE_INFO, NULL, "ops of %zu devices, each by itself", merge.queue_count);
    } else if (merge.queue_count == 1) {
        back_to_file_order(perf);
    } else if (merge.queue_count > 1) {
        merge.rows = malloc(perf->count * sizeof *merge.rows);
        merge.kept = malloc(perf->count * sizeof *merge.kept);
        block = malloc(merge.queue_count * sizeof *block);
        if (merge.rows && merge.kept && block) {
            deal_rows(perf, &merge);
            while (next_block(perf, &merge, block))
                continue;
            memcpy(perf->order, merge.kept, merge.kept_count * sizeof *perf->order);
            perf->count = merge.kept_count;
            back_to_file_order(perf);
            perf_note(perf, PERF_NOTE_INFO, NULL,
                      "ops of %zu devices merged: the slowest device's time, the mean for "
                      "collectives",
                      merge.queue_count);
        } else {
            status = error_set(err, ENOMEM, "no memory to merge devices");
        }
    }
    free(merge.rows);
    free(merge.kept);
    free(merge.queues);
    free(block);
    return status;
}

/* --- numbers --- */

/* "A-B", "A-", "-B"; commas inside numbers are left out. */
static int parse_range(const char *text, uint64_t *first, uint64_t *last, struct error *err)
{
    uint64_t numbers[2] = {0, 0};
    size_t digits[2] = {0, 0}, part = 0;
    bool is_good = true;
    for (const char *at = text; *at && is_good; at++) {
        if (*at == '-' && part == 0) {
            part = 1;
        } else if (*at >= '0' && *at <= '9' && digits[part] < 18) {
            numbers[part] = numbers[part] * 10 + (uint64_t)(*at - '0');
            digits[part]++;
        } else if (*at != ',' && *at != ' ') {
            is_good = false;
        }
    }
    if (!is_good || part == 0 || (digits[0] == 0 && digits[1] == 0))
        return error_set(err, EINVAL, "--id-range '%s': give A-B, A- or -B", text);
    *first = digits[0] ? numbers[0] : 0;
    *last = digits[1] ? numbers[1] : UINT64_MAX;
    return 0;
}

struct id_range {
    uint64_t first, last;
};

static bool is_in_range(const struct perf *perf, size_t i, const void *context)
{
    const struct id_range *range = context;
    uint64_t id = perf_at(perf, i)->id;
    return id >= range->first && id <= range->last;
}

int perf_apply_id_range(struct perf *perf, struct error *err)
{
    struct id_range range = {0};
    if (!perf->options.id_range)
        return 0;
    int status = parse_range(perf->options.id_range, &range.first, &range.last, err);
    if (status)
        return status;
    size_t count = perf->count;
    uint64_t last = count ? perf_at(perf, count - 1)->id : 0;
    keep(perf, is_in_range, &range);
    if (perf->count == 0 && count)
        perf_note(perf, PERF_NOTE_WARN, NULL, "--id-range '%s' takes none of %zu ops (the last has ID %llu)",
                  perf->options.id_range, count, (unsigned long long)last);
    if (perf->count)
        perf_at(perf, 0)->shown_gap_us = NAN;
    return 0;
}

static bool is_no_host_op(const struct perf *perf, size_t i, const void *context)
{
    (void)context;
    return perf_at(perf, i)->kind != PERF_HOST_OP;
}

void perf_drop_host_ops(struct perf *perf)
{
    if (perf->options.no_host_ops)
        keep(perf, is_no_host_op, NULL);
}
