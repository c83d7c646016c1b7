/* SPDX-License-Identifier: Apache-2.0 */
/* A hash map from 64-bit keys to 32-bit values (indices, ids): open addressing with linear probing, at most half
 * full. Any key may be used; the value MAP_NONE stands for "not there" and cannot be stored. {0} is an empty map. */
#ifndef OPSCOPE_BASE_MAP_H
#define OPSCOPE_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT32_MAX

struct map {
    struct map_slot *slots;
    size_t slot_count; /* a power of two, or 0 */
    size_t count;
};

void map_free(struct map *map);

/* Sets the value of a key, new or not. False when there is no memory; the map is as it was then. */
bool map_put(struct map *map, uint64_t key, uint32_t value);

/* The value of a key; MAP_NONE when it is not there. */
uint32_t map_get(const struct map *map, uint64_t key);

/* Takes a key out and returns its value; MAP_NONE when it was not there. */
uint32_t map_remove(struct map *map, uint64_t key);

/* One value after the other, in no order, of a map that is not changed meanwhile: *at is 0 first. MAP_NONE: no more. */
uint32_t map_next(const struct map *map, size_t *at);

#endif
