/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Beyond this many, device numbers are nonsense, and walking them side by side would take for ever. */
#define DEVICES_MAX 4096u
#define DEVICES_NAMED 8u /* by number, in the note */

struct queue {
    int32_t device;
    size_t next, end; /* in the shared array of row indices */
};

/* A row that stays, and what it is sorted by. */
struct kept {
    uint32_t row;
    size_t place;
};

struct walk {
    const struct perf_merge *merge;
    uint32_t *rows; /* device rows, by device, in table order */
    struct queue *queues;
    size_t queue_count;
    struct kept *kept;
    size_t kept_count;
    size_t *places; /* of `rows`: where each stood in the table */
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

static int compare_places(const void *a, const void *b)
{
    size_t left = ((const struct kept *)a)->place, right = ((const struct kept *)b)->place;
    return left < right ? -1 : left > right;
}

static struct perf_merge_row row_at(const struct perf_merge *merge, uint32_t row)
{
    return merge->row(merge->context, row);
}

/* The distinct devices of the table, ascending, with how many device ops each has in `end`. */
static bool count_devices(const struct perf_merge *merge, const uint32_t *order, size_t row_count,
                          struct queue **queues, size_t *count)
{
    size_t capacity = 0, recent = 0;
    *queues = NULL;
    *count = 0;
    for (size_t i = 0; i < row_count; i++) {
        struct perf_merge_row row = row_at(merge, order[i]);
        if (row.device == PERF_NO_NUMBER)
            continue;
        size_t q = recent;
        if (q >= *count || (*queues)[q].device != row.device)
            for (q = 0; q < *count && (*queues)[q].device != row.device; q++)
                continue;
        if (q == *count) {
            if (*count > DEVICES_MAX)
                return true;
            if (!array_reserve(queues, &capacity, *count + 1, sizeof **queues))
                return false;
            (*queues)[(*count)++] = (struct queue){.device = row.device};
        }
        (*queues)[q].end += row.takes_part;
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

static void take_mean(const struct perf_merge *merge, const uint32_t *block, size_t count)
{
    double sum = 0;
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        double duration = row_at(merge, block[i]).duration_ns;
        if (!isnan(duration)) {
            sum += duration;
            known++;
        }
    }
    merge->set_mean(merge->context, block[0], known ? sum / (double)known : NAN, count);
}

/* Chooses the row that stands for a block of equal ops. */
static void close_block(struct walk *walk, const uint32_t *block, size_t count, size_t place)
{
    const struct perf_merge *merge = walk->merge;
    struct perf_merge_row chosen = row_at(merge, block[0]);
    uint32_t chosen_index = block[0];
    if (is_averaged_name(merge->name(merge->context, chosen.name))) {
        take_mean(merge, block, count);
    } else {
        for (size_t i = 1; i < count; i++) {
            struct perf_merge_row row = row_at(merge, block[i]);
            bool is_longer =
                row.duration_ns > chosen.duration_ns ||
                (merge->prefers_known_times && isnan(chosen.duration_ns) && !isnan(row.duration_ns));
            if (is_longer) {
                chosen = row;
                chosen_index = block[i];
            }
        }
    }
    walk->kept[walk->kept_count++] = (struct kept){chosen_index, merge->keeps_order ? place : chosen_index};
}

/* Takes the next block off the queues; false when they are empty. */
static bool next_block(struct walk *walk, uint32_t *block)
{
    const struct perf_merge *merge = walk->merge;
    size_t count = 0, place = SIZE_MAX;
    uint32_t name = UINT32_MAX;
    for (size_t q = 0; q < walk->queue_count; q++) {
        struct queue *queue = &walk->queues[q];
        if (queue->next == queue->end) {
            if (count > 0)
                perf_notes_add(merge->notes, PERF_NOTE_WARN, kind_absent,
                               "device %d has no op left to go with %s (block %" PRIu64 ")", queue->device,
                               merge->name(merge->context, name), walk->block_count);
            continue;
        }
        uint32_t head = walk->rows[queue->next], head_name = row_at(merge, head).name;
        if (count == 0)
            name = head_name;
        if (head_name == name) {
            block[count++] = head;
            if (walk->places[queue->next] < place)
                place = walk->places[queue->next];
            queue->next++;
        } else {
            perf_notes_add(merge->notes, PERF_NOTE_WARN, kind_different,
                           "device %d has %s where others have %s (block %" PRIu64
                           "): do not trust these two ops' times",
                           queue->device, merge->name(merge->context, head_name),
                           merge->name(merge->context, name), walk->block_count);
        }
    }
    if (count == 0)
        return false;
    close_block(walk, block, count, place);
    walk->block_count++;
    return true;
}

/* Deals the device rows into one array, queue after queue; the others are kept as they are. */
static void deal_rows(struct walk *walk, const uint32_t *order, size_t count)
{
    const struct perf_merge *merge = walk->merge;
    size_t at = 0, recent = 0;
    for (size_t q = 0; q < walk->queue_count; q++) {
        size_t rows = walk->queues[q].end;
        walk->queues[q].next = walk->queues[q].end = at;
        at += rows;
    }
    for (size_t i = 0; i < count; i++) {
        struct perf_merge_row row = row_at(merge, order[i]);
        if (!row.takes_part || row.device == PERF_NO_NUMBER) {
            if (row.takes_part)
                merge->no_device(merge->context, order[i]);
            walk->kept[walk->kept_count++] = (struct kept){order[i], merge->keeps_order ? i : order[i]};
            continue;
        }
        size_t q = recent;
        if (walk->queues[q].device != row.device)
            for (q = 0; walk->queues[q].device != row.device; q++)
                continue;
        walk->places[walk->queues[q].end] = i;
        walk->rows[walk->queues[q].end++] = order[i];
        recent = q;
    }
}

static void back_to_source_order(uint32_t *order, size_t count)
{
    bool is_sorted = true;
    for (size_t i = 1; i < count && is_sorted; i++)
        is_sorted = order[i - 1] < order[i];
    if (!is_sorted)
        qsort(order, count, sizeof *order, compare_source);
}

const char perf_note_devices[] = "devices";

/* "ops of 8 devices (0 to 7) merged". */
static void note_devices(const struct walk *walk, const char *how)
{
    const struct queue *queues = walk->queues;
    size_t count = walk->queue_count;
    bool is_range = count > 2 && (int64_t)queues[count - 1].device - queues[0].device + 1 == (int64_t)count;
    struct bytes numbers = {0};
    for (size_t i = 0; i < count && i < DEVICES_NAMED && !is_range; i++)
        bytes_append_format(&numbers, "%s%" PRId32, i ? ", " : "", queues[i].device);
    if (is_range)
        bytes_append_format(&numbers, "%" PRId32 " to %" PRId32, queues[0].device, queues[count - 1].device);
    else if (count > DEVICES_NAMED)
        bytes_append_text(&numbers, ", ...");
    perf_notes_add(walk->merge->notes, PERF_NOTE_INFO, perf_note_devices, "ops of %zu devices (%s)%s", count,
                   bytes_text(&numbers), how);
    bytes_free(&numbers);
}

static int walk_devices(struct walk *walk, uint32_t *order, size_t *count, struct error *err)
{
    uint32_t *block = malloc(walk->queue_count * sizeof *block);
    walk->rows = malloc(*count * sizeof *walk->rows);
    walk->kept = malloc(*count * sizeof *walk->kept);
    walk->places = malloc(*count * sizeof *walk->places);
    if (!walk->rows || !walk->places || !walk->kept || !block) {
        free(block);
        return error_set(err, ENOMEM, "no memory to merge devices");
    }
    deal_rows(walk, order, *count);
    while (next_block(walk, block))
        continue;
    *count = walk->kept_count;
    qsort(walk->kept, *count, sizeof *walk->kept, compare_places);
    for (size_t i = 0; i < *count; i++)
        order[i] = walk->kept[i].row;
    note_devices(walk, " merged: the slowest's time, the mean of collectives");
    free(block);
    return 0;
}

int perf_merge_devices(const struct perf_merge *merge, uint32_t *order, size_t *count, struct error *err)
{
    struct walk walk = {.merge = merge};
    int status = 0;
    if (!count_devices(merge, order, *count, &walk.queues, &walk.queue_count))
        status = error_set(err, ENOMEM, "no memory to merge devices");
    else if (walk.queue_count > DEVICES_MAX)
        perf_notes_add(merge->notes, PERF_NOTE_WARN, perf_note_devices,
                       "%s: column 'DEVICE ID': more than %u different DEVICE IDs; devices are not merged",
                       merge->path, DEVICES_MAX);
    else if (merge->is_off && walk.queue_count > 1)
        note_devices(&walk, ", each by itself");
    else if (walk.queue_count == 1 && !merge->keeps_order)
        back_to_source_order(order, *count);
    else if (walk.queue_count > 1)
        status = walk_devices(&walk, order, count, err);
    free(walk.rows);
    free(walk.kept);
    free(walk.places);
    free(walk.queues);
    return status;
}
