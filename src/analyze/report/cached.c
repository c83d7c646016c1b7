/* SPDX-License-Identifier: Apache-2.0 */
/* Of which ops the data can have been in a cache of the machine: an op whose bytes fit there, and whose inputs are as
 * large as what was read or written on its device so shortly before that it can still be there. Which tensor it is, is
 * not recorded: one of as many bytes counts, since views of a tensor have other shapes. An op that was faster than
 * memory, and fits, was in the cache, whatever was before it. */
#include <math.h>
#include <stdlib.h>

#include "analyze/report/internal.h"
#include "text/csv/cell.h"

#define DEVICES 256u /* more share what they remember */

struct recent {
    struct perf *perf;
    struct map index; /* by bytes and device: in `touched` */
    double *touched;  /* the traffic of the device when something of this size was touched last */
    size_t count, capacity;
    double traffic[DEVICES];
    bool failed;
};

static bool has_caches(const struct machine *machine)
{
    bool is_any = false;
    for (unsigned i = 0; i < MACHINE_CACHES; i++)
        is_any |= machine->caches[i].bytes > 0 && machine->caches[i].gb_s > 0;
    return is_any;
}

static double bytes_of(const struct ops *ops, uint32_t id)
{
    const struct op_tensor *tensor = &ops->tensors[id];
    uint32_t sizes = tensor->padded != OPS_NONE ? tensor->padded : tensor->shape;
    struct slice type = ops_get_slice(ops, tensor->dtype);
    double count = type.length && sizes != OPS_NONE ? cell_type_bytes(type) : NAN;
    for (uint32_t i = 0; i < tensor->rank && sizes != OPS_NONE; i++)
        count *= (double)ops->sizes[sizes + i];
    return count;
}

static unsigned device_of(const struct perf *perf, const struct perf_row *row)
{
    int32_t device = perf_device(perf, row);
    return device == PERF_NO_NUMBER ? 0 : (unsigned)device % DEVICES;
}

/* Where the last touch of so many bytes is kept; NULL: nothing of that size yet, or nothing to keep. */
static double *touch_of(struct recent *recent, unsigned device, double bytes, bool is_kept)
{
    if (!(bytes > 0 && bytes < 1e15))
        return NULL;
    uint64_t key = (uint64_t)bytes << 8 | device;
    uint32_t at = map_get(&recent->index, key);
    if (at == MAP_NONE && is_kept) {
        at = (uint32_t)recent->count;
        if (!array_reserve(&recent->touched, &recent->capacity, recent->count + 1, sizeof *recent->touched) ||
            !map_put(&recent->index, key, at)) {
            recent->failed = true;
            return NULL;
        }
        recent->count++;
    }
    return at == MAP_NONE ? NULL : &recent->touched[at];
}

/* How much was moved since the input was touched that was not for longest; infinite where one never was. */
static double oldest_input(struct recent *recent, const struct op_description *d, unsigned device)
{
    const struct ops *ops = recent->perf->ops;
    double oldest = 0;
    for (uint32_t i = 0; i < d->inputs; i++) {
        double bytes = bytes_of(ops, ops_inputs(ops, d)[i]);
        if (isnan(bytes) || bytes <= 0)
            continue;
        const double *touched = touch_of(recent, device, bytes, false);
        oldest = touched ? fmax(oldest, recent->traffic[device] - *touched) : INFINITY;
        if (!touched)
            break;
    }
    return oldest;
}

static void touch(struct recent *recent, const struct op_description *d, unsigned device)
{
    const struct ops *ops = recent->perf->ops;
    const uint32_t *lists[] = {ops_inputs(ops, d), ops_outputs(ops, d)};
    const uint32_t counts[] = {d->inputs, d->outputs};
    for (unsigned list = 0; list < 2; list++) {
        for (uint32_t i = 0; i < counts[list]; i++) {
            double *touched = touch_of(recent, device, bytes_of(ops, lists[list][i]), true);
            if (touched)
                *touched = recent->traffic[device];
        }
    }
}

static void look_at(struct recent *recent, struct perf_row *row)
{
    const struct perf *perf = recent->perf;
    const struct perf_work *work = perf_work_of(perf, row);
    const struct op_description *d = perf_description(perf, row);
    unsigned device = device_of(perf, row);
    if (!(work->dram_bytes > 0))
        return;
    double oldest = oldest_input(recent, d, device);
    bool is_faster = perf_figures(perf, row).dram_percent > 100;
    for (unsigned i = 0; i < MACHINE_CACHES && !row->cache_plus_1; i++) {
        const struct machine_cache *cache = &perf->machine->caches[i];
        bool is_there = is_faster || oldest + work->dram_bytes <= cache->bytes;
        if (cache->gb_s > 0 && work->dram_bytes <= cache->bytes && is_there)
            row->cache_plus_1 = (uint8_t)(i + 1);
    }
    recent->traffic[device] += work->dram_bytes;
    touch(recent, d, device);
}

int perf_find_cached(struct perf *perf, struct error *err)
{
    struct recent recent = {.perf = perf};
    if (!perf->has_machine || !has_caches(perf->machine))
        return 0;
    for (size_t i = 0; i < perf->count && !recent.failed; i++) {
        if (perf_at(perf, i)->kind == PERF_DEVICE_OP)
            look_at(&recent, perf_at(perf, i));
    }
    map_free(&recent.index);
    free(recent.touched);
    return recent.failed ? error_no_memory(err, "what is in caches") : 0;
}
