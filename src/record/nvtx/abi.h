/* SPDX-License-Identifier: Apache-2.0 */
/* What an NVTX tool and the headers of a program agree on: the tables of callbacks and the structs that are handed
 * over. Written down from the documented interface; tests/system/abi/nvtx.c compares it with NVIDIA's headers
 * where they are. */
#ifndef OPSCOPE_RECORD_NVTX_ABI_H
#define OPSCOPE_RECORD_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { NVTX_TABLE_CALLBACKS = 1, NVTX_TABLE_VERSION = 3 };

enum nvtx_module {
    NVTX_MODULE_CORE = 1,
    NVTX_MODULE_CUDA = 2,
    NVTX_MODULE_OPENCL = 3,
    NVTX_MODULE_CUDART = 4,
    NVTX_MODULE_CORE2 = 5,
};

enum nvtx_core {
    NVTX_MARK_EX = 1,
    NVTX_MARK_A,
    NVTX_MARK_W,
    NVTX_RANGE_START_EX,
    NVTX_RANGE_START_A,
    NVTX_RANGE_START_W,
    NVTX_RANGE_END,
    NVTX_RANGE_PUSH_EX,
    NVTX_RANGE_PUSH_A,
    NVTX_RANGE_PUSH_W,
    NVTX_RANGE_POP,
    NVTX_NAME_CATEGORY_A,
    NVTX_NAME_CATEGORY_W,
    NVTX_NAME_THREAD_A,
    NVTX_NAME_THREAD_W,
    NVTX_CORE_COUNT,
};

enum nvtx_core2 {
    NVTX_DOMAIN_MARK_EX = 1,
    NVTX_DOMAIN_RANGE_START_EX,
    NVTX_DOMAIN_RANGE_END,
    NVTX_DOMAIN_RANGE_PUSH_EX,
    NVTX_DOMAIN_RANGE_POP,
    NVTX_DOMAIN_RESOURCE_CREATE,
    NVTX_DOMAIN_RESOURCE_DESTROY,
    NVTX_DOMAIN_NAME_CATEGORY_A,
    NVTX_DOMAIN_NAME_CATEGORY_W,
    NVTX_DOMAIN_REGISTER_STRING_A,
    NVTX_DOMAIN_REGISTER_STRING_W,
    NVTX_DOMAIN_CREATE_A,
    NVTX_DOMAIN_CREATE_W,
    NVTX_DOMAIN_DESTROY,
    NVTX_INITIALIZE,
    NVTX_CORE2_COUNT,
};

/* Of the modules that name objects of a runtime: ASCII and wide in turn, from 1 on. */
enum nvtx_cuda { NVTX_CU_DEVICE_A = 1, NVTX_CU_CONTEXT_A = 3, NVTX_CU_STREAM_A = 5, NVTX_CU_EVENT_A = 7 };
enum nvtx_cudart { NVTX_CUDA_DEVICE_A = 1, NVTX_CUDA_STREAM_A = 3, NVTX_CUDA_EVENT_A = 5 };
enum nvtx_opencl {
    NVTX_CL_DEVICE_A = 1,
    NVTX_CL_CONTEXT_A = 3,
    NVTX_CL_QUEUE_A = 5,
    NVTX_CL_MEMORY_A = 7,
    NVTX_CL_SAMPLER_A = 9,
    NVTX_CL_PROGRAM_A = 11,
    NVTX_CL_EVENT_A = 13,
};

enum nvtx_message_type { NVTX_TEXT_ASCII = 1, NVTX_TEXT_WIDE = 2, NVTX_TEXT_REGISTERED = 3 };
enum { NVTX_COLOUR_ARGB = 1 };
enum nvtx_payload_type {
    NVTX_PAYLOAD_U64 = 1,
    NVTX_PAYLOAD_I64,
    NVTX_PAYLOAD_DOUBLE,
    NVTX_PAYLOAD_U32,
    NVTX_PAYLOAD_I32,
    NVTX_PAYLOAD_FLOAT,
};
enum nvtx_resource_type {
    NVTX_RESOURCE_POINTER = 0x10001,
    NVTX_RESOURCE_HANDLE = 0x10002,
    NVTX_RESOURCE_THREAD = 0x10003,
    NVTX_RESOURCE_PTHREAD = 0x10004,
};

union nvtx_text {
    const char *ascii;
    const wchar_t *wide;
    const void *registered;
};

struct nvtx_event {
    uint16_t version, size;
    uint32_t category;
    int32_t colour_type;
    uint32_t colour;
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double real;
        uint32_t u32;
        int32_t i32;
        float single;
    } payload;
    int32_t message_type;
    union nvtx_text message;
};

struct nvtx_resource {
    uint16_t version, size;
    int32_t type;
    union {
        const void *pointer;
        uint64_t number;
    } identifier;
    int32_t message_type;
    union nvtx_text message;
};

typedef void (*nvtx_function)(void);
typedef const void *(*nvtx_get_table)(uint32_t table);

struct nvtx_callbacks {
    size_t struct_size;
    int (*get_module)(uint32_t module, nvtx_function ***table, unsigned *size);
};

struct nvtx_version_info {
    size_t struct_size;
    uint32_t version, reserved;
    void (*set_tool_version)(uint32_t version);
};

#endif
