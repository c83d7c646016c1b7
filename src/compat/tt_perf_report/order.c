/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/tt_perf_report/order.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LANES 4u
#define BLOCK (4u * LANES) /* elements that a partition takes at a time */
#define NETWORK_MAX 256u

struct entry {
    int64_t key;
    uint32_t index;
};

static void exchange(struct entry *low, struct entry *high)
{
    if (high->key < low->key) {
        struct entry other = *low;
        *low = *high;
        *high = other;
    }
}

/* A bitonic network over a power of two; what is missing is filled up with the largest key. */
static void sort_by_network(const int64_t *keys, uint32_t *order, size_t count)
{
    struct entry entries[NETWORK_MAX];
    size_t size = LANES;
    while (size < count)
        size *= 2;
    for (size_t i = 0; i < size; i++) {
        bool is_there = i < count;
        entries[i] = (struct entry){is_there ? keys[order[i]] : INT64_MAX, is_there ? order[i] : UINT32_MAX};
    }
    for (size_t part = 2; part <= size; part *= 2) {
        for (size_t base = 0; base < size; base += part) { /* each half against the other, mirrored */
            for (size_t i = 0; i < part / 2; i++)
                exchange(&entries[base + i], &entries[base + part - 1 - i]);
        }
        for (size_t distance = part / 4; distance > 0; distance /= 2) {
            for (size_t i = 0; i < size; i++) {
                if (!(i & distance))
                    exchange(&entries[i], &entries[i + distance]);
            }
        }
    }
    for (size_t i = 0; i < count; i++)
        order[i] = entries[i].index;
}

/* The third smallest of four samples. */
static int64_t choose_pivot(const int64_t *keys, const uint32_t *order, size_t count)
{
    size_t step = (count - 1) / 4;
    struct entry samples[4];
    for (size_t i = 0; i < 4; i++)
        samples[i].key = keys[order[(i + 1) * step]];
    for (size_t i = 1; i < 4; i++) {
        for (size_t k = i; k > 0; k--)
            exchange(&samples[k - 1], &samples[k]);
    }
    return samples[2].key;
}

struct partition {
    const int64_t *keys;
    uint32_t *order;
    int64_t pivot, smallest, largest;
    size_t left_store, right_store; /* the right vector's first place */
};

static void look_at(struct partition *p, int64_t key)
{
    p->smallest = key < p->smallest ? key : p->smallest;
    p->largest = key > p->largest ? key : p->largest;
}

/* Puts four elements to the two ends: those below the pivot to the left, in order, the others to the right, the
 * first of them outermost. */
static void store_vector(struct partition *p, const uint32_t *vector)
{
    size_t above = 0;
    for (size_t i = 0; i < LANES; i++)
        above += p->keys[vector[i]] >= p->pivot;
    size_t right = p->right_store + LANES;
    for (size_t i = 0; i < LANES; i++) {
        look_at(p, p->keys[vector[i]]);
        if (p->keys[vector[i]] >= p->pivot)
            p->order[--right] = vector[i];
        else
            p->order[p->left_store++] = vector[i];
    }
    p->right_store -= above;
}

static void store_block(struct partition *p, const uint32_t *block)
{
    for (size_t i = 0; i < BLOCK; i += LANES)
        store_vector(p, block + i);
}

/* Returns how many are below the pivot; they come first. */
static size_t split(struct partition *p, size_t count)
{
    size_t left = 0, right = count;
    uint32_t first[BLOCK], last[BLOCK], block[BLOCK];
    for (size_t i = count % BLOCK; i > 0; i--) {
        look_at(p, p->keys[p->order[left]]);
        if (p->keys[p->order[left]] < p->pivot) {
            left++;
        } else {
            uint32_t other = p->order[--right];
            p->order[right] = p->order[left];
            p->order[left] = other;
        }
    }
    memcpy(first, p->order + left, sizeof first);
    memcpy(last, p->order + right - BLOCK, sizeof last);
    p->left_store = left;
    p->right_store = right - LANES;
    left += BLOCK;
    right -= BLOCK;
    while (left != right) {
        /* From the end where more room is free. */
        if (p->right_store + LANES - right < left - p->left_store) {
            right -= BLOCK;
            memcpy(block, p->order + right, sizeof block);
        } else {
            memcpy(block, p->order + left, sizeof block);
            left += BLOCK;
        }
        store_block(p, block);
    }
    store_block(p, first);
    store_block(p, last);
    return p->left_store;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

/* Where partitions do not get on. */
static void sort_plainly(const int64_t *keys, uint32_t *order, size_t count)
{
    struct entry *entries = malloc(count * sizeof *entries);
    if (!entries)
        return; /* the order stays what it is: a permutation all the same */
    for (size_t i = 0; i < count; i++)
        entries[i] = (struct entry){keys[order[i]], order[i]};
    qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < count; i++)
        order[i] = entries[i].index;
    free(entries);
}

static void sort_part(const int64_t *keys, uint32_t *order, size_t count, unsigned rounds_left)
{
    if (count <= NETWORK_MAX) {
        if (count > 1)
            sort_by_network(keys, order, count);
        return;
    }
    if (rounds_left == 0) {
        sort_plainly(keys, order, count);
        return;
    }
    struct partition p = {.keys = keys,
                          .order = order,
                          .pivot = choose_pivot(keys, order, count),
                          .smallest = INT64_MAX,
                          .largest = INT64_MIN};
    size_t below = split(&p, count);
    if (p.pivot != p.smallest)
        sort_part(keys, order, below, rounds_left - 1);
    if (p.pivot != p.largest)
        sort_part(keys, order + below, count - below, rounds_left - 1);
}

void ttpr_order_sort(const int64_t *keys, uint32_t *order, size_t count)
{
    unsigned rounds = 0;
    for (size_t size = count; size > 1; size /= 2)
        rounds += 2;
    sort_part(keys, order, count, rounds);
}

int64_t ttpr_order_key(double value)
{
    int64_t bits;
    value = value == 0 ? 0 : value; /* -0 is 0 */
    memcpy(&bits, &value, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits;
}
