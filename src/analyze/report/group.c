/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/group.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* --- keys --- */

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

void perf_append_group_key(struct bytes *out, const char *name, const char *memory)
{
    bytes_append(out, name, strcspn(name, " \t\n\r\f\v"));
    if (*memory)
        append_memory(out, memory);
}

/* --- sums --- */

static int compare_devices(const void *a, const void *b)
{
    const struct perf_group_member *left = a, *right = b;
    if (left->device != right->device)
        return left->device < right->device ? -1 : 1;
    return left->row < right->row ? -1 : left->row > right->row;
}

/* Members of one key next to each other, rows in order: a counting sort by the key's id. */
static struct perf_group_member *sorted_members(const struct perf_group_rows *rows, size_t key_count)
{
    struct perf_group_member *sorted = malloc((rows->count ? rows->count : 1) * sizeof *sorted);
    size_t *places = calloc(key_count + 1, sizeof *places);
    if (sorted && places) {
        for (size_t i = 0; i < rows->count; i++)
            places[rows->members[i].key + 1]++;
        for (size_t i = 1; i <= key_count; i++)
            places[i] += places[i - 1];
        for (size_t i = 0; i < rows->count; i++)
            sorted[places[rows->members[i].key]++] = rows->members[i];
    } else {
        free(sorted);
        sorted = NULL;
    }
    free(places);
    return sorted;
}

/* Over the rows that have a FLOPs figure. */
struct flops {
    struct kahan sum;
    size_t known;
    double min, max, mean, square;
};

static void flops_add(struct flops *flops, double percent)
{
    bool is_first = flops->known++ == 0;
    kahan_add(&flops->sum, percent);
    flops->min = is_first || percent < flops->min ? percent : flops->min;
    flops->max = is_first || percent > flops->max ? percent : flops->max;
    double delta = percent - flops->mean;
    flops->mean += delta / (double)flops->known;
    flops->square += delta * (percent - flops->mean);
}

static void fill_flops(const struct flops *flops, struct perf_group *group)
{
    group->flops_min = group->flops_max = group->flops_mean = group->flops_std = group->flops_weighted = NAN;
    if (flops->known == 0)
        return;
    group->flops_min = flops->min;
    group->flops_max = flops->max;
    group->flops_mean = flops->sum.sum / (double)flops->known;
    if (flops->known > 1)
        group->flops_std = sqrt(flops->square / (double)(flops->known - 1));
}

/* FLOPs figures by time, over all devices of a key. */
struct weighted {
    double flops, time;
    bool is_known;
};

static bool add_group(struct perf_groups *groups, const struct perf_group_rows *rows,
                      const struct perf_group_member *members, size_t count, struct weighted *weighted)
{
    struct kahan time = {0}, gap = {0}, ideal = {0};
    struct flops flops = {0};
    if (!array_reserve(&groups->items, &groups->capacity, groups->count + 1, sizeof *groups->items))
        return false;
    struct perf_group *group = &groups->items[groups->count++];
    *group = (struct perf_group){.key = members[0].key, .device = members[0].device, .count = count};
    for (size_t i = 0; i < count; i++) {
        struct perf_group_values values = rows->values(rows->context, members[i].row);
        double time_us = isnan(values.time_us) ? 0 : values.time_us;
        if (i == 0)
            group->category = values.category;
        kahan_add(&time, time_us);
        kahan_add(&gap, values.gap_us > 0 ? values.gap_us : 0);
        kahan_add(&ideal, isnan(values.ideal_us) ? 0 : values.ideal_us);
        if (isnan(values.flops_percent))
            continue;
        flops_add(&flops, values.flops_percent);
        weighted->is_known = true;
        weighted->flops += values.flops_percent * time_us;
        weighted->time += time_us;
    }
    group->time_us = time.sum;
    group->gap_us = gap.sum;
    group->ideal_us = ideal.sum;
    fill_flops(&flops, group);
    return true;
}

static bool cut_into_groups(struct perf_groups *groups, const struct perf_group_rows *rows,
                            struct perf_group_member *members)
{
    for (size_t i = 0; i < rows->count;) {
        size_t all = i, first_group = groups->count;
        while (all < rows->count && members[all].key == members[i].key)
            all++;
        if (rows->is_by_device)
            qsort(members + i, all - i, sizeof *members, compare_devices);
        struct weighted weighted = {0};
        for (size_t end = i; i < all; i = end) {
            while (end < all && members[end].device == members[i].device)
                end++;
            if (!add_group(groups, rows, members + i, end - i, &weighted))
                return false;
        }
        for (size_t g = first_group; g < groups->count; g++) {
            if (!isnan(groups->items[g].flops_mean))
                groups->items[g].flops_weighted =
                    weighted.is_known && weighted.time != 0 ? weighted.flops / weighted.time : NAN;
        }
    }
    return true;
}

int perf_groups_make(struct perf_groups *groups, const struct perf_group_rows *rows, struct error *err)
{
    struct perf_group_member *sorted = sorted_members(rows, groups->texts->count);
    bool is_done = sorted && cut_into_groups(groups, rows, sorted);
    free(sorted);
    return is_done ? 0 : error_set(err, ENOMEM, "no memory to group %zu ops", rows->count);
}

/* --- order and shares --- */

int perf_groups_compare_keys(const void *a, const void *b, void *context)
{
    const struct perf_groups *groups = context;
    const struct perf_group *left = a, *right = b;
    int order = strcmp(intern_text(groups->texts, left->key), intern_text(groups->texts, right->key));
    return order ? order : left->device < right->device ? -1 : left->device > right->device;
}

static int compare_time(const void *a, const void *b, void *context)
{
    const struct perf_group *left = a, *right = b;
    if (left->time_us != right->time_us)
        return left->time_us > right->time_us ? -1 : 1;
    return perf_groups_compare_keys(a, b, context);
}

void perf_groups_sort(struct perf_groups *groups)
{
    if (groups->count)
        qsort_r(groups->items, groups->count, sizeof *groups->items, compare_time, groups);
}

void perf_groups_fill_percent(struct perf_groups *groups, bool is_by_device)
{
    for (size_t i = 0; i < groups->count; i++) {
        struct perf_group *group = &groups->items[i];
        double total = 0;
        for (size_t k = 0; k < groups->count; k++) {
            if (!is_by_device || groups->items[k].device == group->device)
                total += groups->items[k].time_us;
        }
        group->percent = total != 0 ? group->time_us / total * 100 : 0;
        if (!is_by_device) { /* the same for all */
            for (; i < groups->count; i++)
                groups->items[i].percent = total != 0 ? groups->items[i].time_us / total * 100 : 0;
        }
    }
}

void perf_groups_free(struct perf_groups *groups)
{
    free(groups->items);
    groups->items = NULL;
    groups->count = groups->capacity = 0;
}
