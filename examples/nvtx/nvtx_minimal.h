/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for <nvtx3/nvToolsExt.h> (https://github.com/NVIDIA/NVTX), for machines without it: the part of NVTX's C
 * interface that this example and opscope's tests use. Like NVIDIA's header it does nothing until a tool asks for
 * calls: the library that NVTX_INJECTION64_PATH names is opened at the first call, and its InitializeInjectionNvtx2
 * puts its functions into the tables below. In a program of your own, use NVIDIA's header. */
#ifndef NVTX_MINIMAL_H
#define NVTX_MINIMAL_H

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define NVTX_VERSION 3
#define NVTX_COLOR_ARGB 1
enum { NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1, NVTX_PAYLOAD_TYPE_INT64, NVTX_PAYLOAD_TYPE_DOUBLE };
enum { NVTX_MESSAGE_TYPE_ASCII = 1, NVTX_MESSAGE_TYPE_UNICODE, NVTX_MESSAGE_TYPE_REGISTERED };
enum { NVTX_RESOURCE_TYPE_GENERIC_POINTER = 0x10001, NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE = 0x10003 };

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration_st *nvtxDomainHandle_t;
typedef struct nvtxStringRegistration_st *nvtxStringHandle_t;
typedef struct nvtxResourceHandle *nvtxResourceHandle_t;
typedef union {
    const char *ascii;
    const wchar_t *unicode;
    nvtxStringHandle_t registered;
} nvtxMessageValue_t;
typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    union {
        uint64_t ullValue;
        int64_t llValue;
        double dValue;
    } payload;
    int32_t messageType;
    nvtxMessageValue_t message;
} nvtxEventAttributes_t;
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))
typedef struct {
    uint16_t version, size;
    int32_t identifierType;
    union {
        const void *pValue;
        uint64_t ullValue;
    } identifier;
    int32_t messageType;
    nvtxMessageValue_t message;
} nvtxResourceAttributes_t;

typedef void (*nvtx_minimal_function)(void);
enum { NVTX_MINIMAL_CORE = 16, NVTX_MINIMAL_CORE2 = 16, NVTX_MINIMAL_CUDART = 7 };
static nvtx_minimal_function nvtx_minimal_core[NVTX_MINIMAL_CORE], nvtx_minimal_core2[NVTX_MINIMAL_CORE2],
    nvtx_minimal_cudart[NVTX_MINIMAL_CUDART];
static pthread_once_t nvtx_minimal_once = PTHREAD_ONCE_INIT;
static int nvtx_minimal_is_ready;

static int nvtx_minimal_module(uint32_t module, nvtx_minimal_function ***table, unsigned *size)
{
    static nvtx_minimal_function *core[NVTX_MINIMAL_CORE], *core2[NVTX_MINIMAL_CORE2],
        *cudart[NVTX_MINIMAL_CUDART];
    for (unsigned i = 1; i < NVTX_MINIMAL_CORE; i++) {
        core[i] = &nvtx_minimal_core[i];
        core2[i] = &nvtx_minimal_core2[i];
    }
    for (unsigned i = 1; i < NVTX_MINIMAL_CUDART; i++)
        cudart[i] = &nvtx_minimal_cudart[i];
    *table = module == 1 ? core : module == 5 ? core2 : module == 4 ? cudart : NULL;
    *size = module == 4 ? NVTX_MINIMAL_CUDART : NVTX_MINIMAL_CORE;
    return *table != NULL;
}

static const void *nvtx_minimal_table(uint32_t table)
{
    static const struct {
        size_t struct_size;
        int (*module)(uint32_t, nvtx_minimal_function ***, unsigned *);
    } callbacks = {sizeof callbacks, nvtx_minimal_module};
    return table == 1 ? &callbacks : NULL;
}

static void nvtx_minimal_load(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    void *symbol = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
    int (*initialize)(const void *(*)(uint32_t)) = NULL;
    memcpy(&initialize, &symbol, sizeof initialize);
    if (initialize && !initialize(nvtx_minimal_table)) {
        memset(nvtx_minimal_core, 0, sizeof nvtx_minimal_core);
        memset(nvtx_minimal_core2, 0, sizeof nvtx_minimal_core2);
    }
    __atomic_store_n(&nvtx_minimal_is_ready, 1, __ATOMIC_RELEASE);
}

static inline nvtx_minimal_function nvtx_minimal_find(const nvtx_minimal_function *table, unsigned number)
{
    if (!__atomic_load_n(&nvtx_minimal_is_ready, __ATOMIC_ACQUIRE))
        pthread_once(&nvtx_minimal_once, nvtx_minimal_load);
    return table[number];
}

#define NVTX_MINIMAL_CALL(result, name, table, number, none, parameters, arguments)                          \
    static inline result name parameters                                                                     \
    {                                                                                                        \
        nvtx_minimal_function function = nvtx_minimal_find(nvtx_minimal_##table, number);                    \
        return function ? ((result(*) parameters)function)arguments : none;                                  \
    }
#define NVTX_MINIMAL_ORDER(name, table, number, parameters, arguments)                                       \
    static inline void name parameters                                                                       \
    {                                                                                                        \
        nvtx_minimal_function function = nvtx_minimal_find(nvtx_minimal_##table, number);                    \
        if (function)                                                                                        \
            ((void(*) parameters)function) arguments;                                                        \
    }

NVTX_MINIMAL_ORDER(nvtxMarkA, core, 2, (const char *message), (message))
NVTX_MINIMAL_CALL(nvtxRangeId_t, nvtxRangeStartA, core, 5, 0, (const char *message), (message))
NVTX_MINIMAL_ORDER(nvtxRangeEnd, core, 7, (nvtxRangeId_t id), (id))
NVTX_MINIMAL_CALL(int, nvtxRangePushEx, core, 8, -2, (const nvtxEventAttributes_t *event), (event))
NVTX_MINIMAL_CALL(int, nvtxRangePushA, core, 9, -2, (const char *message), (message))
NVTX_MINIMAL_CALL(int, nvtxRangePushW, core, 10, -2, (const wchar_t *message), (message))
NVTX_MINIMAL_CALL(int, nvtxRangePop, core, 11, -2, (void), ())
NVTX_MINIMAL_ORDER(nvtxNameCategoryA, core, 12, (uint32_t category, const char *name), (category, name))
NVTX_MINIMAL_ORDER(nvtxNameOsThreadA, core, 14, (uint32_t id, const char *name), (id, name))
NVTX_MINIMAL_ORDER(nvtxDomainMarkEx, core2, 1,
                   (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event), (domain, event))
NVTX_MINIMAL_CALL(nvtxRangeId_t, nvtxDomainRangeStartEx, core2, 2, 0,
                  (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event), (domain, event))
NVTX_MINIMAL_ORDER(nvtxDomainRangeEnd, core2, 3, (nvtxDomainHandle_t domain, nvtxRangeId_t id), (domain, id))
NVTX_MINIMAL_CALL(int, nvtxDomainRangePushEx, core2, 4, -2,
                  (nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event), (domain, event))
NVTX_MINIMAL_CALL(int, nvtxDomainRangePop, core2, 5, -2, (nvtxDomainHandle_t domain), (domain))
NVTX_MINIMAL_CALL(nvtxResourceHandle_t, nvtxDomainResourceCreate, core2, 6, NULL,
                  (nvtxDomainHandle_t domain, nvtxResourceAttributes_t *resource), (domain, resource))
NVTX_MINIMAL_ORDER(nvtxDomainNameCategoryA, core2, 8,
                   (nvtxDomainHandle_t domain, uint32_t category, const char *name), (domain, category, name))
NVTX_MINIMAL_CALL(nvtxStringHandle_t, nvtxDomainRegisterStringA, core2, 10, NULL,
                  (nvtxDomainHandle_t domain, const char *text), (domain, text))
NVTX_MINIMAL_CALL(nvtxDomainHandle_t, nvtxDomainCreateA, core2, 12, NULL, (const char *name), (name))
NVTX_MINIMAL_ORDER(nvtxDomainDestroy, core2, 14, (nvtxDomainHandle_t domain), (domain))
NVTX_MINIMAL_ORDER(nvtxNameCudaStreamA, cudart, 3, (void *stream, const char *name), (stream, name))

#endif
