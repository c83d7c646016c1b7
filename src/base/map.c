/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <assert.h>
#include <stdlib.h>

#include "base/hash.h"

struct map_slot {
    uint64_t key;
    uint32_t value; /* MAP_NONE: empty */
};

void map_free(struct map *map)
{
    if (!map)
        return;
    free(map->slots);
    *map = (struct map){0};
}

static size_t home_of(const struct map *map, uint64_t key)
{
    return (size_t)hash_mix(key ^ UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xd6e8feb86659fd93)) &
           (map->slot_count - 1);
}

/* The slot that holds this key, or the empty one where it belongs. */
static struct map_slot *find(const struct map *map, uint64_t key)
{
    size_t at = home_of(map, key);
    while (map->slots[at].value != MAP_NONE && map->slots[at].key != key)
        at = (at + 1) & (map->slot_count - 1);
    return &map->slots[at];
}

static bool grow(struct map *map)
{
    struct map larger = {.slot_count = map->slot_count ? map->slot_count * 2 : 64, .count = map->count};
    if (larger.slot_count > SIZE_MAX / sizeof larger.slots[0])
        return false;
    larger.slots = malloc(larger.slot_count * sizeof larger.slots[0]);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < larger.slot_count; i++)
        larger.slots[i] = (struct map_slot){.value = MAP_NONE};
    for (size_t i = 0; i < map->slot_count; i++) {
        if (map->slots[i].value != MAP_NONE)
            *find(&larger, map->slots[i].key) = map->slots[i];
    }
    free(map->slots);
    *map = larger;
    return true;
}

bool map_put(struct map *map, uint64_t key, uint32_t value)
{
    assert(value != MAP_NONE);
    if (map->slot_count) {
        struct map_slot *slot = find(map, key);
        if (slot->value != MAP_NONE) {
            slot->value = value;
            return true;
        }
    }
    if (2 * (map->count + 1) > map->slot_count && !grow(map))
        return false;
    *find(map, key) = (struct map_slot){key, value};
    map->count++;
    return true;
}

uint32_t map_get(const struct map *map, uint64_t key)
{
    return map->slot_count ? find(map, key)->value : MAP_NONE;
}

/* What follows the hole in its run of slots moves up where its home allows, so that no search ends too early. */
uint32_t map_remove(struct map *map, uint64_t key)
{
    if (!map->slot_count)
        return MAP_NONE;
    size_t mask = map->slot_count - 1;
    size_t hole = (size_t)(find(map, key) - map->slots);
    uint32_t value = map->slots[hole].value;
    if (value == MAP_NONE)
        return MAP_NONE;
    for (size_t at = (hole + 1) & mask; map->slots[at].value != MAP_NONE; at = (at + 1) & mask) {
        size_t home = home_of(map, map->slots[at].key);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole].value = MAP_NONE;
    map->count--;
    return value;
}

uint32_t map_next(const struct map *map, size_t *at)
{
    while (*at < map->slot_count) {
        uint32_t value = map->slots[(*at)++].value;
        if (value != MAP_NONE)
            return value;
    }
    return MAP_NONE;
}
