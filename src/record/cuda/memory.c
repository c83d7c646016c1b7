/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the program takes and gives back, by device. A release says an address alone, and the context that is
 * current then may be another device's (an allocator that empties its cache for all devices): hence the map. */
#include <pthread.h>
#include <stdio.h>

#include "base/map.h"
#include "record/cuda/cuda.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct map devices; /* of what is allocated, by address */

static const char *pool_of(uint32_t device, char pool[32])
{
    snprintf(pool, 32, "cuda:%u", device);
    return pool;
}

static void take(const struct cupti_call *call, uint64_t address, uint64_t bytes)
{
    char pool[32];
    uint32_t device = device_of_context(call->context, call->context_id);
    pthread_mutex_lock(&lock);
    map_put(&devices, address, device);
    pthread_mutex_unlock(&lock);
    opscope_alloc_((const void *)(uintptr_t)address, bytes, pool_of(device, pool));
}

/* Before the driver has it: once it has, another thread may be given the same memory. What is not known here may be no
 * memory: that shows when the call is over. */
bool memory_releases(const struct cupti_call *call)
{
    char pool[32];
    const uint64_t *address = call->arguments;
    if (!address || !*address)
        return false;
    pthread_mutex_lock(&lock);
    uint32_t device = map_remove(&devices, *address);
    pthread_mutex_unlock(&lock);
    if (device != MAP_NONE)
        opscope_free_((const void *)(uintptr_t)*address, pool_of(device, pool));
    return device != MAP_NONE;
}

static void released_unknown(const struct cupti_call *call, uint64_t address)
{
    char pool[32];
    uint32_t device = device_of_context(call->context, call->context_id);
    opscope_free_((const void *)(uintptr_t)address, pool_of(device, pool));
}

void memory_called(const struct cupti_call *call, unsigned kind)
{
    if (kind == CUDA_CALL_ALLOCATE) {
        const struct cuda_allocation *a = call->arguments;
        take(call, *a->address, a->bytes);
    } else if (kind == CUDA_CALL_ALLOCATE_PITCH) {
        const struct cuda_pitch_allocation *a = call->arguments;
        take(call, *a->address, *a->pitch * a->height);
    } else if (kind == CUDA_CALL_FREE && *(const uint64_t *)call->arguments && !memory_releases(call)) {
        released_unknown(call, *(const uint64_t *)call->arguments);
    }
}
