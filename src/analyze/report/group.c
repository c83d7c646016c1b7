/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of ops: the stacked report. A group's key is the op's name, its name and where input 0 lies, its
 * category, the signpost before it, its place in the source or its layer.
 *
 * Times are summed with Kahan's compensation: they are whole nanoseconds divided by 1000, so that sums often
 * end in exactly half of the last shown digit, and a plain sum would round the other way. */
#include "analyze/report/internal.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/report/order.h"

struct member {
    uint32_t key;
    int32_t device;
    uint32_t row;
};

struct kahan {
    double sum, compensation;
};

static void kahan_add(struct kahan *k, double value)
{
    double y = value - k->compensation;
    double t = k->sum + y;
    k->compensation = t - k->sum - y;
    k->sum = t;
}

/* "DEV_0_DRAM_INTERLEAVED" -> "dram_interleaved": the last two parts. */
static void append_memory(struct bytes *out, const char *memory)
{
    size_t length = strlen(memory), from = 0;
    unsigned seen = 0;
    for (size_t i = length; i-- > 0;) {
        if (memory[i] == '_' && ++seen == 2) {
            from = i + 1;
            break;
        }
    }
    bytes_append_text(out, " (in0:");
    for (size_t i = from; i < length; i++)
        bytes_append_u8(out, (uint8_t)tolower((unsigned char)memory[i]));
    bytes_append_text(out, ")");
}

static uint32_t text_key(struct perf *perf, const char *text)
{
    return perf_intern(perf, text, strlen(text));
}

static uint32_t key_of(struct perf *perf, const struct perf_row *row, uint32_t signpost)
{
    const char *name = perf_text(perf, row->op_code);
    struct bytes *text = &perf->scratch;
    switch (perf->options.group_by) {
    case PERF_BY_CATEGORY:
        return text_key(perf, perf_category_text(row->category));
    case PERF_BY_SIGNPOST:
        return signpost == PERF_NO_TEXT ? text_key(perf, "(before the first signpost)") : signpost;
    case PERF_BY_LOCATION:
        return row->location == PERF_NO_TEXT ? text_key(perf, "(no location)") : row->location;
    case PERF_BY_LAYER:
        return row->layer == PERF_NO_TEXT ? text_key(perf, "(no layer)") : row->layer;
    case PERF_BY_OP:
    case PERF_BY_MEMORY:
        break;
    }
    uint32_t memory = perf->options.group_by == PERF_BY_MEMORY ? row->in0_memory : PERF_NO_TEXT;
    struct perf_made_text *made = perf_find_made(perf, (const uint64_t[6]){4, row->op_code, memory, 0, 0, 0});
    if (!made->is_used) {
        bytes_clear(text);
        bytes_append(text, name, strcspn(name, " \t\n\r\f\v"));
        if (memory != PERF_NO_TEXT)
            append_memory(text, perf_text(perf, memory));
        made->text = perf_intern(perf, text->data, text->length);
        made->is_used = true;
    }
    return made->text;
}

static int compare_devices(const void *a, const void *b)
{
    const struct member *left = a, *right = b;
    if (left->device != right->device)
        return left->device < right->device ? -1 : 1;
    return left->row < right->row ? -1 : left->row > right->row;
}

/* Members of one key behind each other, rows in order: a counting sort by the key's id. */
static struct member *sorted_members(const struct perf *perf, const struct member *members, size_t count)
{
    size_t ids = perf->texts.count;
    struct member *sorted = malloc((count ? count : 1) * sizeof *sorted);
    size_t *places = calloc(ids + 1, sizeof *places);
    if (sorted && places) {
        for (size_t i = 0; i < count; i++)
            places[members[i].key + 1]++;
        for (size_t i = 1; i <= ids; i++)
            places[i] += places[i - 1];
        for (size_t i = 0; i < count; i++)
            sorted[places[members[i].key]++] = members[i];
    } else {
        free(sorted);
        sorted = NULL;
    }
    free(places);
    return sorted;
}

/* Mean, deviation and the rest over the rows of a group that have a FLOPs figure. */
static void fill_flops(const struct perf *perf, struct perf_group *group, const struct member *members,
                       size_t count)
{
    struct kahan sum = {0};
    size_t known = 0;
    double mean = 0, square = 0;
    group->flops_min = group->flops_max = group->flops_mean = group->flops_std = group->flops_weighted = NAN;
    for (size_t i = 0; i < count; i++) {
        double percent = perf_at(perf, members[i].row)->flops_percent;
        if (isnan(percent))
            continue;
        known++;
        kahan_add(&sum, percent);
        group->flops_min = known == 1 || percent < group->flops_min ? percent : group->flops_min;
        group->flops_max = known == 1 || percent > group->flops_max ? percent : group->flops_max;
        double delta = percent - mean;
        mean += delta / (double)known;
        square += delta * (percent - mean);
    }
    if (known == 0)
        return;
    group->flops_mean = sum.sum / (double)known;
    if (known > 1)
        group->flops_std = sqrt(square / (double)(known - 1));
}

static double weighted_flops(const struct perf *perf, const struct member *members, size_t count)
{
    double weighted = 0, time = 0;
    bool is_known = false;
    for (size_t i = 0; i < count; i++) {
        const struct perf_row *row = perf_at(perf, members[i].row);
        if (isnan(row->flops_percent))
            continue;
        is_known = true;
        weighted += row->flops_percent * (isnan(row->time_us) ? 0 : row->time_us);
        time += isnan(row->time_us) ? 0 : row->time_us;
    }
    return is_known && time != 0 ? weighted / time : NAN;
}

static bool add_group(struct perf *perf, const struct member *members, size_t count)
{
    struct kahan time = {0}, gap = {0}, ideal = {0};
    if (!array_reserve(&perf->groups, &perf->group_capacity, perf->group_count + 1, sizeof *perf->groups))
        return false;
    struct perf_group *group = &perf->groups[perf->group_count++];
    *group = (struct perf_group){.key = members[0].key, .device = members[0].device, .count = count};
    group->category = perf_at(perf, members[0].row)->category;
    for (size_t i = 0; i < count; i++) {
        const struct perf_row *row = perf_at(perf, members[i].row);
        kahan_add(&time, isnan(row->time_us) ? 0 : row->time_us);
        kahan_add(&gap, row->shown_gap_us > 0 ? row->shown_gap_us : 0);
        kahan_add(&ideal, isnan(row->ideal_us) ? 0 : row->ideal_us);
    }
    group->time_us = time.sum;
    group->gap_us = gap.sum;
    group->ideal_us = ideal.sum;
    fill_flops(perf, group, members, count);
    return true;
}

static int compare_keys(const void *a, const void *b, void *context)
{
    const struct perf *perf = context;
    const struct perf_group *left = a, *right = b;
    int order = strcmp(perf_text(perf, left->key), perf_text(perf, right->key));
    return order ? order : left->device < right->device ? -1 : left->device > right->device;
}

static int compare_time(const void *a, const void *b, void *context)
{
    const struct perf_group *left = a, *right = b;
    if (left->time_us != right->time_us)
        return left->time_us > right->time_us ? -1 : 1;
    return compare_keys(a, b, context);
}

/* By time, the longest first; equal ones in the original's order, which sorts the reversed list upwards. */
static bool sort_as_original(struct perf *perf)
{
    size_t count = perf->group_count;
    int64_t *keys = malloc(count * sizeof *keys);
    uint32_t *order = malloc(count * sizeof *order);
    struct perf_group *sorted = malloc(count * sizeof *sorted);
    bool is_done = keys && order && sorted;
    if (is_done) {
        qsort_r(perf->groups, count, sizeof *perf->groups, compare_keys, perf);
        for (size_t i = 0; i < count; i++) {
            keys[i] = perf_order_key(perf->groups[count - 1 - i].time_us);
            order[i] = (uint32_t)i;
        }
        perf_order_sort(keys, order, count);
        for (size_t i = 0; i < count; i++)
            sorted[i] = perf->groups[count - 1 - order[count - 1 - i]];
        memcpy(perf->groups, sorted, count * sizeof *sorted);
    }
    free(keys);
    free(order);
    free(sorted);
    return is_done;
}

/* Shares of the whole, or of each device's own time. */
static void fill_percent(struct perf *perf, bool is_by_device)
{
    for (size_t i = 0; i < perf->group_count; i++) {
        struct perf_group *group = &perf->groups[i];
        double total = 0;
        for (size_t k = 0; k < perf->group_count; k++) {
            if (!is_by_device || perf->groups[k].device == group->device)
                total += perf->groups[k].time_us;
        }
        group->percent = total != 0 ? group->time_us / total * 100 : 0;
        if (!is_by_device) { /* the same for all */
            for (; i < perf->group_count; i++)
                perf->groups[i].percent = total != 0 ? perf->groups[i].time_us / total * 100 : 0;
        }
    }
}

static size_t collect_members(struct perf *perf, struct member *members, bool is_by_device)
{
    uint32_t signpost = PERF_NO_TEXT;
    size_t count = 0;
    for (size_t i = 0; i < perf->count; i++) {
        const struct perf_row *row = perf_at(perf, i);
        if (row->kind == PERF_SIGNPOST) {
            signpost = row->op_code;
            continue;
        }
        if (is_by_device && row->device == PERF_NO_NUMBER)
            continue;
        members[count++] = (struct member){key_of(perf, row, signpost),
                                           is_by_device ? row->device : PERF_NO_NUMBER, (uint32_t)i};
    }
    return count;
}

static bool cut_into_groups(struct perf *perf, struct member *members, size_t count)
{
    for (size_t i = 0; i < count;) {
        size_t all = i, first_group = perf->group_count;
        while (all < count && members[all].key == members[i].key)
            all++;
        if (perf->options.no_merge_devices)
            qsort(members + i, all - i, sizeof *members, compare_devices);
        double weighted = weighted_flops(perf, members + i, all - i);
        for (size_t end = i; i < all; i = end) {
            while (end < all && members[end].device == members[i].device)
                end++;
            if (!add_group(perf, members + i, end - i))
                return false;
        }
        for (size_t g = first_group; g < perf->group_count; g++) {
            if (!isnan(perf->groups[g].flops_mean))
                perf->groups[g].flops_weighted = weighted;
        }
    }
    return true;
}

int perf_make_groups(struct perf *perf, struct error *err)
{
    bool is_by_device = perf->options.no_merge_devices;
    struct member *members = malloc((perf->count ? perf->count : 1) * sizeof *members);
    if (!members)
        return error_set(err, ENOMEM, "no memory to group %zu ops", perf->count);
    size_t count = collect_members(perf, members, is_by_device);
    struct member *sorted = perf->failed ? NULL : sorted_members(perf, members, count);
    bool is_done = sorted && cut_into_groups(perf, sorted, count);
    free(members);
    free(sorted);
    if (!is_done)
        return error_set(err, ENOMEM, "no memory to group %zu ops", perf->count);
    if (perf->group_count && perf->options.compat) {
        if (!sort_as_original(perf))
            return error_set(err, ENOMEM, "no memory to sort %zu groups", perf->group_count);
    } else if (perf->group_count) {
        qsort_r(perf->groups, perf->group_count, sizeof *perf->groups, compare_time, perf);
    }
    fill_percent(perf, is_by_device);
    return 0;
}
