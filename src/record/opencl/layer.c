/* SPDX-License-Identifier: Apache-2.0 */
/* libopscope_opencl.so: a layer of OpenCL's loader (OPENCL_LAYERS), which hands over the functions below and calls
 * those that it gets back; or, for programs that do not go through a loader that knows layers, a library that is
 * loaded before OpenCL (LD_PRELOAD) and finds the next functions of the same names. */
#include "record/opencl/layer.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "session/devices.h"

static struct opencl_next next;
static int is_ready;
static int is_child;     /* of the process that has OpenCL: it has none */
static bool is_left_out; /* by OPSCOPE_DEVICES */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ISO C has no cast from an object to a function pointer. */
static void set_function(void *place, const void *symbol)
{
    memcpy(place, &symbol, sizeof symbol);
}

/* The adapter's thread calls OpenCL as long as it holds commands, and once more when the program ends: also after a
 * program that opened OpenCL by itself has closed it. */
static void keep_loaded(const void *function)
{
    Dl_info found;
    if (function && dladdr(function, &found) && found.dli_fname)
        dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static void after_fork(void)
{
    is_child = 1;
}

static void find_next(void)
{
    pthread_mutex_lock(&lock);
    if (!is_ready) {
        is_left_out = !session_wants_device("opencl");
#define FUNCTION(place, result, name, parameters) set_function(&next.name, dlsym(RTLD_NEXT, #name));
        OPENCL_CALLED(FUNCTION)
        OPENCL_WRAPPED(FUNCTION)
#undef FUNCTION
        pthread_atfork(NULL, NULL, after_fork);
        __atomic_store_n(&is_ready, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
}

const struct opencl_next *opencl_next(void)
{
    if (!__atomic_load_n(&is_ready, __ATOMIC_ACQUIRE))
        find_next();
    return &next;
}

bool opencl_is_child(void)
{
    return is_child;
}

bool opencl_has_session(void)
{
    return opscope_has_session() && !is_child && !is_left_out;
}

bool opencl_is_heard(void)
{
    return opscope_is_recording() && !is_child && !is_left_out;
}

bool opencl_is_recording(void)
{
    return opencl_is_heard() && !opscope_is_paused_();
}

/* --- as a layer --- */

OPSCOPE_API int32_t clGetLayerInfo(uint32_t what, size_t size, void *value, size_t *size_ret);
OPSCOPE_API int32_t clInitLayer(uint32_t count, const void *const *target, uint32_t *layer_count,
                                const void *const **layer);

OPSCOPE_API int32_t clGetLayerInfo(uint32_t what, size_t size, void *value, size_t *size_ret)
{
    static const char name[] = "opscope";
    const uint32_t version = OPENCL_LAYER_API_VERSION_100;
    const void *from = what == OPENCL_LAYER_API_VERSION ? (const void *)&version : name;
    size_t bytes = what == OPENCL_LAYER_API_VERSION ? sizeof version : sizeof name;
    if ((what != OPENCL_LAYER_API_VERSION && what != OPENCL_LAYER_NAME) || (value && size < bytes))
        return OPENCL_INVALID_VALUE;
    if (value)
        memcpy(value, from, bytes);
    if (size_ret)
        *size_ret = bytes;
    return OPENCL_SUCCESS;
}

OPSCOPE_API int32_t clInitLayer(uint32_t count, const void *const *target, uint32_t *layer_count,
                                const void *const **layer)
{
    static const void *table[OPENCL_TABLE_MAX];
    if (!target || !layer_count || !layer)
        return OPENCL_INVALID_VALUE;
    count = count < OPENCL_TABLE_MAX ? count : OPENCL_TABLE_MAX;
    pthread_mutex_lock(&lock);
    is_left_out = !session_wants_device("opencl");
    memcpy(table, target, count * sizeof *table);
#define FUNCTION(place, result, name, parameters)                                                            \
    set_function(&next.name, (place) < count ? target[place] : NULL);
    OPENCL_CALLED(FUNCTION)
    OPENCL_WRAPPED(FUNCTION)
#undef FUNCTION
#define FUNCTION(place, result, name, parameters) keep_loaded((place) < count ? target[place] : NULL);
    OPENCL_CALLED(FUNCTION)
#undef FUNCTION
#define FUNCTION(place, result, name, parameters)                                                            \
    if (next.name) {                                                                                         \
        result(*own) parameters = name;                                                                      \
        memcpy(&table[place], &own, sizeof own);                                                             \
    }
    OPENCL_WRAPPED(FUNCTION)
#undef FUNCTION
    pthread_atfork(NULL, NULL, after_fork);
    __atomic_store_n(&is_ready, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    *layer_count = count;
    *layer = table;
    return OPENCL_SUCCESS;
}
