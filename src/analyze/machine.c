/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/count_of.h"

static const struct {
    const char *key;
    size_t offset;
    bool is_required;
} fields[] = {
    {"worker_cores", offsetof(struct machine, worker_cores), true},
    {"dram_sharded_cores", offsetof(struct machine, dram_sharded_cores), false},
    {"dram_gb_s", offsetof(struct machine, dram_gb_s), true},
    {"l2_bytes", offsetof(struct machine, caches[0].bytes), false},
    {"l2_gb_s", offsetof(struct machine, caches[0].gb_s), false},
    {"l3_bytes", offsetof(struct machine, caches[1].bytes), false},
    {"l3_gb_s", offsetof(struct machine, caches[1].gb_s), false},
    {"tflops_per_core_lofi", offsetof(struct machine, tflops_per_core[MACHINE_LOFI]), true},
    {"tflops_per_core_hifi2", offsetof(struct machine, tflops_per_core[MACHINE_HIFI2]), true},
    {"tflops_per_core_hifi3", offsetof(struct machine, tflops_per_core[MACHINE_HIFI3]), true},
    {"tflops_per_core_hifi4", offsetof(struct machine, tflops_per_core[MACHINE_HIFI4]), true},
    {"vector_tflops_per_core", offsetof(struct machine, vector_tflops_per_core), true},
    {"fp64_tflops_per_core", offsetof(struct machine, fp64_tflops_per_core), false},
    {"fp16_tflops_per_core", offsetof(struct machine, fp16_tflops_per_core), false},
    {"link_gb_s", offsetof(struct machine, link_gb_s), false},
    {"link_count", offsetof(struct machine, link_count), true}, /* 1 and 65 where a file says nothing */
    {"target_percent", offsetof(struct machine, target_percent), true},
    {"gap_mark_us", offsetof(struct machine, gap_mark_us), false},
    {"gap_floor_us", offsetof(struct machine, gap_floor_us), false},
    {"few_cores", offsetof(struct machine, few_cores), false},
};

static double *field_at(struct machine *machine, size_t i)
{
    return (double *)(void *)((char *)machine + fields[i].offset);
}

bool machine_take(struct machine *machine, const char *key, double value)
{
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (strcmp(fields[i].key, key) == 0) {
            *field_at(machine, i) = value;
            return true;
        }
    }
    return false;
}

const char *machine_missing(const struct machine *machine)
{
    struct machine copy = *machine;
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (fields[i].is_required && !(*field_at(&copy, i) > 0))
            return fields[i].key;
    }
    return NULL;
}

const char *machine_cache_text(unsigned level)
{
    static const char *const names[MACHINE_CACHES] = {"L2", "L3"};
    return level < MACHINE_CACHES ? names[level] : "";
}

const struct machine machine_unknown = {
    .target_percent = 65, .gap_mark_us = 6.5, .gap_floor_us = 6, .few_cores = 10, .link_count = 1};

void machine_defaults(struct machine *machine)
{
    *machine = machine_unknown;
    estimate_target_defaults(&machine->estimate);
}

static char folded(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c == '-' || c == ' ' ? '_' : c;
}

static bool is_name(const char *name, const char *typed, size_t length)
{
    if (strlen(name) != length)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (folded(name[i]) != folded(typed[i]))
            return false;
    }
    return true;
}

/* Names go before other names: a file of the user's that is called what a device calls itself is meant for it. Of equal
 * ones the last counts, which is the user's. */
const struct machine *machine_find(const struct machine_set *set, const char *name, size_t length)
{
    for (size_t i = 0; set && i < set->count; i++) {
        if (is_name(set->machines[i].name, name, length))
            return &set->machines[i];
    }
    for (size_t i = set ? set->count : 0; i--;) {
        const struct machine *machine = &set->machines[i];
        for (size_t k = 0; k < machine->alias_count; k++) {
            if (is_name(machine->aliases[k], name, length))
                return machine;
        }
    }
    return NULL;
}

bool machine_add(struct machine_set *set, const struct machine *machine)
{
    for (size_t i = 0; i < set->count; i++) {
        if (is_name(set->machines[i].name, machine->name, strlen(machine->name))) {
            set->machines[i] = *machine;
            set->newest = i;
            return true;
        }
    }
    if (!array_reserve(&set->machines, &set->capacity, set->count + 1, sizeof *set->machines))
        return false;
    set->newest = set->count;
    set->machines[set->count++] = *machine;
    return true;
}

void machine_set_free(struct machine_set *set)
{
    free(set->machines);
    *set = (struct machine_set){0};
}
