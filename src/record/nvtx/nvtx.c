/* SPDX-License-Identifier: Apache-2.0 */
/* libopscope_nvtx.so: the tool that NVTX's headers load into a program when NVTX_INJECTION64_PATH names it. No GPU and
 * no driver is needed, and any library in the program that uses NVTX (torch, cuDF, NCCL, a program's own marks) is
 * recorded. The headers call InitializeInjectionNvtx2 once, before the first call of NVTX, and it puts our functions
 * into their tables. */
#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count_of.h"
#include "opscope/opscope.h"
#include "record/nvtx/range.h"
#include "record/nvtx/text.h"
#include "session/devices.h"
#include "session/session.h"

#define TOOL_VERSION 3u

static struct nvtx_event ascii_event(const char *message)
{
    return (struct nvtx_event){.message_type = NVTX_TEXT_ASCII, .message = {.ascii = message ? message : ""}};
}

static struct nvtx_event wide_event(const wchar_t *message)
{
    return (struct nvtx_event){.message_type = NVTX_TEXT_WIDE, .message = {.wide = message}};
}

static const struct nvtx_event no_event;

/* --- core: the default domain --- */

static void mark_ex(const struct nvtx_event *event)
{
    nvtx_mark(NULL, event ? event : &no_event);
}
static void mark_a(const char *message)
{
    struct nvtx_event event = ascii_event(message);
    nvtx_mark(NULL, &event);
}
static void mark_w(const wchar_t *message)
{
    struct nvtx_event event = wide_event(message);
    nvtx_mark(NULL, &event);
}
static uint64_t range_start_ex(const struct nvtx_event *event)
{
    return nvtx_start(NULL, event ? event : &no_event);
}
static uint64_t range_start_a(const char *message)
{
    struct nvtx_event event = ascii_event(message);
    return nvtx_start(NULL, &event);
}
static uint64_t range_start_w(const wchar_t *message)
{
    struct nvtx_event event = wide_event(message);
    return nvtx_start(NULL, &event);
}
static int range_push_ex(const struct nvtx_event *event)
{
    return nvtx_push(NULL, event ? event : &no_event);
}
static int range_push_w(const wchar_t *message)
{
    struct nvtx_event event = wide_event(message);
    return nvtx_push(NULL, &event);
}
static int range_pop(void)
{
    return nvtx_pop(NULL);
}

/* --- names --- */

static void domain_name_category_a(const void *domain, uint32_t category, const char *name)
{
    struct nvtx_slice slice;
    nvtx_slice_ascii(&slice, name);
    nvtx_category_name(domain, category, &slice);
}
static void domain_name_category_w(const void *domain, uint32_t category, const wchar_t *name)
{
    struct nvtx_slice slice;
    nvtx_slice_wide(&slice, name);
    nvtx_category_name(domain, category, &slice);
}
static void name_category_a(uint32_t category, const char *name)
{
    domain_name_category_a(NULL, category, name);
}
static void name_category_w(uint32_t category, const wchar_t *name)
{
    domain_name_category_w(NULL, category, name);
}
static void name_thread_a(uint32_t tid, const char *name)
{
    nvtx_name_thread(tid, name ? name : "");
}
static void name_thread_w(uint32_t tid, const wchar_t *name)
{
    struct nvtx_slice slice;
    nvtx_slice_wide(&slice, name);
    nvtx_name_thread(tid, slice.data);
}

/* An object of a runtime has a name now: a message says so. */
static void name_object(const char *kind, uint64_t object, const char *name)
{
    char text[NVTX_SHORT_TEXT + 64];
    int length = snprintf(text, sizeof text, "%s 0x%" PRIx64 " is called %s", kind, object, name ? name : "");
    if (length > 0 && opscope_has_session())
        opscope_message_(text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

/* Streams are tracks of the adapter for CUDA, which lies beside this one. */
static bool name_track_of_stream(uintptr_t stream, const char *name)
{
    static const char adapter[] = "libopscope_cuda.so";
    char path[PATH_MAX];
    Dl_info own;
    int (*name_stream)(void *stream, const char *name) = NULL;
    const char *slash =
        dladdr((const void *)&no_event, &own) && own.dli_fname ? strrchr(own.dli_fname, '/') : NULL;
    int n = slash ? snprintf(path, sizeof path, "%.*s%s", (int)(slash + 1 - own.dli_fname), own.dli_fname,
                             adapter)
                  : -1;
    void *library = n > 0 && (size_t)n < sizeof path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!library)
        return false;
    void *symbol = dlsym(library, "opscope_cuda_name_stream_");
    memcpy(&name_stream, &symbol, sizeof symbol);
    bool is_named = name_stream && name_stream((void *)stream, name ? name : "");
    dlclose(library);
    return is_named;
}

static void name_cuda_stream_a(uintptr_t stream, const char *name)
{
    if (!name_track_of_stream(stream, name))
        name_object("CUDA stream", stream, name);
}
static void name_cuda_stream_w(uintptr_t stream, const wchar_t *name)
{
    struct nvtx_slice slice;
    nvtx_slice_wide(&slice, name);
    name_cuda_stream_a(stream, slice.data);
}

#define NAMER(function, kind, type)                                                                          \
    static void function##_a(type object, const char *name)                                                  \
    {                                                                                                        \
        name_object(kind, (uint64_t)object, name);                                                           \
    }                                                                                                        \
    static void function##_w(type object, const wchar_t *name)                                               \
    {                                                                                                        \
        struct nvtx_slice slice;                                                                             \
        nvtx_slice_wide(&slice, name);                                                                       \
        name_object(kind, (uint64_t)object, slice.data);                                                     \
    }
NAMER(name_cuda_device, "CUDA device", uint32_t)
NAMER(name_cuda_context, "CUDA context", uintptr_t)
NAMER(name_cuda_event, "CUDA event", uintptr_t)
NAMER(name_cl_device, "OpenCL device", uintptr_t)
NAMER(name_cl_context, "OpenCL context", uintptr_t)
NAMER(name_cl_queue, "OpenCL queue", uintptr_t)
NAMER(name_cl_memory, "OpenCL memory", uintptr_t)
NAMER(name_cl_sampler, "OpenCL sampler", uintptr_t)
NAMER(name_cl_program, "OpenCL program", uintptr_t)
NAMER(name_cl_event, "OpenCL event", uintptr_t)

/* --- core 2: domains --- */

static void domain_mark_ex(const void *domain, const struct nvtx_event *event)
{
    nvtx_mark(domain, event ? event : &no_event);
}
static uint64_t domain_range_start_ex(const void *domain, const struct nvtx_event *event)
{
    return nvtx_start(domain, event ? event : &no_event);
}
static void domain_range_end(const void *domain, uint64_t number)
{
    (void)domain;
    nvtx_end(number);
}
static int domain_range_push_ex(const void *domain, const struct nvtx_event *event)
{
    return nvtx_push(domain, event ? event : &no_event);
}
static const void *domain_register_a(const void *domain, const char *text)
{
    struct nvtx_slice slice;
    (void)domain;
    nvtx_slice_ascii(&slice, text);
    return nvtx_handle_add(&slice);
}
static const void *domain_register_w(const void *domain, const wchar_t *text)
{
    struct nvtx_slice slice;
    (void)domain;
    nvtx_slice_wide(&slice, text);
    return nvtx_handle_add(&slice);
}
static const void *domain_create_a(const char *name)
{
    return domain_register_a(NULL, name);
}
static const void *domain_create_w(const wchar_t *name)
{
    return domain_register_w(NULL, name);
}
static const void *domain_resource_create(const void *domain, const struct nvtx_resource *resource)
{
    struct nvtx_slice slice;
    size_t length;
    (void)domain;
    if (!resource)
        return NULL;
    if (resource->message_type == NVTX_TEXT_WIDE)
        nvtx_slice_wide(&slice, resource->message.wide);
    else if (resource->message_type == NVTX_TEXT_REGISTERED)
        nvtx_slice_ascii(&slice, nvtx_handle_text(resource->message.registered, &length));
    else
        nvtx_slice_ascii(&slice, resource->message_type == NVTX_TEXT_ASCII ? resource->message.ascii : "");
    if (resource->type == NVTX_RESOURCE_THREAD)
        nvtx_name_thread(resource->identifier.number, slice.data);
    else if (resource->type == NVTX_RESOURCE_PTHREAD &&
             pthread_equal((pthread_t)resource->identifier.number, pthread_self()))
        opscope_thread_name(slice.data);
    else
        name_object("resource", resource->identifier.number, slice.data);
    return nvtx_handle_add(&slice);
}
static void nothing(const void *handle)
{
    (void)handle;
}

/* --- the tables --- */

struct entry {
    uint32_t module, number;
    nvtx_function function;
};
#define ENTRY(module, number, function)                                                                      \
    {                                                                                                        \
        (module), (number), (nvtx_function)(function)                                                        \
    }
#define NAMED(module, number, function)                                                                      \
    ENTRY(module, number, function##_a), ENTRY(module, (number) + 1, function##_w)

static const struct entry entries[] = {
    ENTRY(NVTX_MODULE_CORE, NVTX_MARK_EX, mark_ex),
    ENTRY(NVTX_MODULE_CORE, NVTX_MARK_A, mark_a),
    ENTRY(NVTX_MODULE_CORE, NVTX_MARK_W, mark_w),
    ENTRY(NVTX_MODULE_CORE, NVTX_RANGE_START_EX, range_start_ex),
    ENTRY(NVTX_MODULE_CORE, NVTX_RANGE_START_A, range_start_a),
    ENTRY(NVTX_MODULE_CORE, NVTX_RANGE_START_W, range_start_w),
    ENTRY(NVTX_MODULE_CORE, NVTX_RANGE_END, nvtx_end),
    ENTRY(NVTX_MODULE_CORE, NVTX_RANGE_PUSH_EX, range_push_ex),
    ENTRY(NVTX_MODULE_CORE, NVTX_RANGE_PUSH_A, nvtx_push_ascii),
    ENTRY(NVTX_MODULE_CORE, NVTX_RANGE_PUSH_W, range_push_w),
    ENTRY(NVTX_MODULE_CORE, NVTX_RANGE_POP, range_pop),
    NAMED(NVTX_MODULE_CORE, NVTX_NAME_CATEGORY_A, name_category),
    NAMED(NVTX_MODULE_CORE, NVTX_NAME_THREAD_A, name_thread),
    ENTRY(NVTX_MODULE_CORE2, NVTX_DOMAIN_MARK_EX, domain_mark_ex),
    ENTRY(NVTX_MODULE_CORE2, NVTX_DOMAIN_RANGE_START_EX, domain_range_start_ex),
    ENTRY(NVTX_MODULE_CORE2, NVTX_DOMAIN_RANGE_END, domain_range_end),
    ENTRY(NVTX_MODULE_CORE2, NVTX_DOMAIN_RANGE_PUSH_EX, domain_range_push_ex),
    ENTRY(NVTX_MODULE_CORE2, NVTX_DOMAIN_RANGE_POP, nvtx_pop),
    ENTRY(NVTX_MODULE_CORE2, NVTX_DOMAIN_RESOURCE_CREATE, domain_resource_create),
    ENTRY(NVTX_MODULE_CORE2, NVTX_DOMAIN_RESOURCE_DESTROY, nothing),
    NAMED(NVTX_MODULE_CORE2, NVTX_DOMAIN_NAME_CATEGORY_A, domain_name_category),
    NAMED(NVTX_MODULE_CORE2, NVTX_DOMAIN_REGISTER_STRING_A, domain_register),
    NAMED(NVTX_MODULE_CORE2, NVTX_DOMAIN_CREATE_A, domain_create),
    ENTRY(NVTX_MODULE_CORE2, NVTX_DOMAIN_DESTROY, nothing),
    ENTRY(NVTX_MODULE_CORE2, NVTX_INITIALIZE, nothing),
    NAMED(NVTX_MODULE_CUDA, NVTX_CU_DEVICE_A, name_cuda_device),
    NAMED(NVTX_MODULE_CUDA, NVTX_CU_CONTEXT_A, name_cuda_context),
    NAMED(NVTX_MODULE_CUDA, NVTX_CU_STREAM_A, name_cuda_stream),
    NAMED(NVTX_MODULE_CUDA, NVTX_CU_EVENT_A, name_cuda_event),
    NAMED(NVTX_MODULE_CUDART, NVTX_CUDA_DEVICE_A, name_cuda_device),
    NAMED(NVTX_MODULE_CUDART, NVTX_CUDA_STREAM_A, name_cuda_stream),
    NAMED(NVTX_MODULE_CUDART, NVTX_CUDA_EVENT_A, name_cuda_event),
    NAMED(NVTX_MODULE_OPENCL, NVTX_CL_DEVICE_A, name_cl_device),
    NAMED(NVTX_MODULE_OPENCL, NVTX_CL_CONTEXT_A, name_cl_context),
    NAMED(NVTX_MODULE_OPENCL, NVTX_CL_QUEUE_A, name_cl_queue),
    NAMED(NVTX_MODULE_OPENCL, NVTX_CL_MEMORY_A, name_cl_memory),
    NAMED(NVTX_MODULE_OPENCL, NVTX_CL_SAMPLER_A, name_cl_sampler),
    NAMED(NVTX_MODULE_OPENCL, NVTX_CL_PROGRAM_A, name_cl_program),
    NAMED(NVTX_MODULE_OPENCL, NVTX_CL_EVENT_A, name_cl_event),
};

static void after_fork(void)
{
    nvtx_text_forked();
    nvtx_range_forked();
}

/* Called by NVTX's headers. 0: this tool wants nothing, and NVTX's calls stay empty. */
OPSCOPE_API int InitializeInjectionNvtx2(nvtx_get_table get_table);

OPSCOPE_API int InitializeInjectionNvtx2(nvtx_get_table get_table)
{
    const struct nvtx_callbacks *callbacks = get_table ? get_table(NVTX_TABLE_CALLBACKS) : NULL;
    if (!secure_getenv(SESSION_VARIABLE) || !session_wants_device("nvtx") || !callbacks ||
        callbacks->struct_size < sizeof *callbacks || !callbacks->get_module)
        return 0;
    const struct nvtx_version_info *version = get_table(NVTX_TABLE_VERSION);
    if (version && version->struct_size >= sizeof *version && version->set_tool_version)
        version->set_tool_version(TOOL_VERSION);
    pthread_atfork(NULL, NULL, after_fork);
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        nvtx_function **table = NULL;
        unsigned size = 0;
        const struct entry *entry = &entries[i];
        if (callbacks->get_module(entry->module, &table, &size) && table && entry->number < size &&
            table[entry->number])
            *table[entry->number] = entry->function;
    }
    return 1;
}
