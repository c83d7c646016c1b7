/* SPDX-License-Identifier: Apache-2.0 */
/* What we use of CUPTI and of the CUDA driver, as the binary interface is: numbers, structs that callbacks get, types
 * of functions. Written for this program; where the vendor's headers are, tests/system/test_cuda.py compares the two
 * (programs/cuda/abi_check.c). Records are read by offset (session/cuda_record.h). */
#ifndef OPSCOPE_RECORD_CUDA_ABI_H
#define OPSCOPE_RECORD_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

/* --- CUPTI --- */

enum { CUPTI_OK = 0, CUPTI_INVALID_PARAMETER = 1, CUPTI_NO_MORE_RECORDS = 12, CUPTI_HAS_SUBSCRIBER = 39 };
enum { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RESOURCE = 3 };
enum { CUPTI_SITE_ENTER = 0, CUPTI_SITE_EXIT = 1 };
enum cupti_resource {
    CUPTI_CONTEXT_CREATED = 1,
    CUPTI_CONTEXT_DESTROYED = 2,
    CUPTI_STREAM_CREATED = 3,
    CUPTI_NODE_CREATED = 13,
    CUPTI_NODE_CLONED = 20,
};
enum cupti_attribute {
    CUPTI_ATTRIBUTE_DEVICE_BUFFER_SIZE = 0,
    CUPTI_ATTRIBUTE_DEVICE_BUFFER_LIMIT = 2,
    CUPTI_ATTRIBUTE_ZEROED_BUFFERS = 5,
    CUPTI_ATTRIBUTE_HOST_PINNED = 8,
};

struct cupti_call { /* of the driver's functions */
    int site;
    const char *function;
    const void *arguments;
    const int *result;  /* valid at exit */
    const char *symbol; /* of launches; not valid any more after the callback */
    void *context;
    uint32_t context_id;
    uint64_t *data; /* ours, from enter to exit */
    uint32_t correlation;
};

struct cupti_resource_data {
    void *context;
    void *stream;
    const void *description; /* struct cupti_graph_data for nodes */
};

struct cupti_graph_data {
    void *graph, *original_graph, *node, *original_node;
    int node_type;
    void *dependency, *instance;
};

struct cupti_subscriber_names { /* cuptiSubscribe_v2 */
    size_t struct_size;
    const char *name;
    char *holder; /* filled with the name of who has subscribed before */
    size_t holder_size;
    uint8_t allows_others, reserved[7]; /* since CUDA 13.2 */
};

typedef void cupti_callback_fn(void *context, int domain, uint32_t id, const void *data);
typedef void cupti_request_fn(uint8_t **buffer, size_t *size, size_t *most_records);
typedef void cupti_complete_fn(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);
typedef uint64_t cupti_clock_fn(void);

/* name, type of the function, is it needed */
#define CUPTI_FUNCTIONS(_)                                                                                   \
    _(cuptiGetVersion, int, (uint32_t * version), 1)                                                         \
    _(cuptiSubscribe, int, (void **subscriber, cupti_callback_fn *, void *context), 1)                       \
    _(cuptiSubscribe_v2, int,                                                                                \
      (void **subscriber, cupti_callback_fn *, void *context, struct cupti_subscriber_names *), 0)           \
    _(cuptiUnsubscribe, int, (void *subscriber), 1)                                                          \
    _(cuptiEnableCallback, int, (uint32_t on, void *subscriber, int domain, uint32_t id), 1)                 \
    _(cuptiActivityEnable, int, (int kind), 1)                                                               \
    _(cuptiActivityDisable, int, (int kind), 1)                                                              \
    _(cuptiActivityRegisterCallbacks, int, (cupti_request_fn *, cupti_complete_fn *), 1)                     \
    _(cuptiActivityRegisterTimestampCallback, int, (cupti_clock_fn *), 1)                                    \
    _(cuptiActivityGetNextRecord, int, (uint8_t * buffer, size_t valid, void **record), 1)                   \
    _(cuptiActivityGetNumDroppedRecords, int, (void *context, uint32_t stream, size_t *dropped), 1)          \
    _(cuptiActivityFlushAll, int, (uint32_t flags), 1)                                                       \
    _(cuptiActivitySetAttribute, int, (int attribute, size_t *size, void *value), 0)                         \
    _(cuptiGetDeviceId, int, (void *context, uint32_t *device), 1)                                           \
    _(cuptiGetContextId, int, (void *context, uint32_t *id), 0)                                              \
    _(cuptiGetStreamIdEx, int, (void *context, void *stream, uint8_t per_thread, uint32_t *id), 0)           \
    _(cuptiGetGraphNodeId, int, (void *node, uint64_t *id), 0)                                               \
    _(cuptiGetResultString, int, (int result, const char **text), 1)

#define CUPTI_MEMBER_(name, type, arguments, is_needed) type(*name) arguments;
struct cupti {
    CUPTI_FUNCTIONS(CUPTI_MEMBER_)
    uint32_t version;
};

/* --- the driver --- */

enum cuda_device_attribute {
    CUDA_ATTRIBUTE_MULTIPROCESSORS = 16,
    CUDA_ATTRIBUTE_MAJOR = 75,
    CUDA_ATTRIBUTE_MINOR = 76,
};

#define CUDA_FUNCTIONS(_)                                                                                    \
    _(cuDeviceGet, int, (int *device, int ordinal), 0)                                                       \
    _(cuDeviceGetName, int, (char *name, int length, int device), 0)                                         \
    _(cuDeviceGetAttribute, int, (int *value, int attribute, int device), 0)                                 \
    _(cuDeviceGetUuid, int, (uint8_t uuid[16], int device), 0)                                               \
    _(cuDeviceGetUuid_v2, int, (uint8_t uuid[16], int device), 0)

struct cuda_driver {
    CUDA_FUNCTIONS(CUPTI_MEMBER_)
};

/* What a call of the driver is to us. */
enum cuda_call_kind {
    CUDA_CALL_LAUNCH = 1, /* arguments begin with the function */
    CUDA_CALL_LAUNCH_EX,  /* the function is the second argument */
    CUDA_CALL_GRAPH,
    CUDA_CALL_COPY,
    CUDA_CALL_SET,
    CUDA_CALL_WAIT,
    CUDA_CALL_ALLOCATE, /* address of the result, bytes, ... */
    CUDA_CALL_ALLOCATE_PITCH,
    CUDA_CALL_FREE, /* address, ... */
    CUDA_CALL_PROFILER_START,
    CUDA_CALL_PROFILER_STOP,
};

/* id, the driver's function, what it is, the name of the op that it makes if it is in none. */
#define CUDA_CALLS(_)                                                                                        \
    _(307, cuLaunchKernel, LAUNCH, NULL)                                                                     \
    _(442, cuLaunchKernel_ptsz, LAUNCH, NULL)                                                                \
    _(477, cuLaunchCooperativeKernel, LAUNCH, NULL)                                                          \
    _(478, cuLaunchCooperativeKernel_ptsz, LAUNCH, NULL)                                                     \
    _(652, cuLaunchKernelEx, LAUNCH_EX, NULL)                                                                \
    _(653, cuLaunchKernelEx_ptsz, LAUNCH_EX, NULL)                                                           \
    _(514, cuGraphLaunch, GRAPH, NULL)                                                                       \
    _(515, cuGraphLaunch_ptsz, GRAPH, NULL)                                                                  \
    _(276, cuMemcpyHtoD_v2, COPY, "memcpy HtoD")                                                             \
    _(277, cuMemcpyHtoDAsync_v2, COPY, "memcpy HtoD")                                                        \
    _(278, cuMemcpyDtoH_v2, COPY, "memcpy DtoH")                                                             \
    _(279, cuMemcpyDtoHAsync_v2, COPY, "memcpy DtoH")                                                        \
    _(280, cuMemcpyDtoD_v2, COPY, "memcpy DtoD")                                                             \
    _(281, cuMemcpyDtoDAsync_v2, COPY, "memcpy DtoD")                                                        \
    _(282, cuMemcpyAtoH_v2, COPY, "memcpy AtoH")                                                             \
    _(283, cuMemcpyAtoHAsync_v2, COPY, "memcpy AtoH")                                                        \
    _(284, cuMemcpyAtoD_v2, COPY, "memcpy AtoD")                                                             \
    _(285, cuMemcpyDtoA_v2, COPY, "memcpy DtoA")                                                             \
    _(286, cuMemcpyAtoA_v2, COPY, "memcpy AtoA")                                                             \
    _(287, cuMemcpy2D_v2, COPY, "memcpy 2D")                                                                 \
    _(288, cuMemcpy2DUnaligned_v2, COPY, "memcpy 2D")                                                        \
    _(289, cuMemcpy2DAsync_v2, COPY, "memcpy 2D")                                                            \
    _(290, cuMemcpy3D_v2, COPY, "memcpy 3D")                                                                 \
    _(291, cuMemcpy3DAsync_v2, COPY, "memcpy 3D")                                                            \
    _(292, cuMemcpyHtoA_v2, COPY, "memcpy HtoA")                                                             \
    _(293, cuMemcpyHtoAAsync_v2, COPY, "memcpy HtoA")                                                        \
    _(305, cuMemcpy, COPY, "memcpy")                                                                         \
    _(306, cuMemcpyAsync, COPY, "memcpy")                                                                    \
    _(318, cuMemcpyPeer, COPY, "memcpy PtoP")                                                                \
    _(319, cuMemcpyPeerAsync, COPY, "memcpy PtoP")                                                           \
    _(320, cuMemcpy3DPeer, COPY, "memcpy PtoP")                                                              \
    _(321, cuMemcpy3DPeerAsync, COPY, "memcpy PtoP")                                                         \
    _(397, cuMemcpyHtoD_v2_ptds, COPY, "memcpy HtoD")                                                        \
    _(398, cuMemcpyDtoH_v2_ptds, COPY, "memcpy DtoH")                                                        \
    _(399, cuMemcpyDtoD_v2_ptds, COPY, "memcpy DtoD")                                                        \
    _(400, cuMemcpyDtoA_v2_ptds, COPY, "memcpy DtoA")                                                        \
    _(401, cuMemcpyAtoD_v2_ptds, COPY, "memcpy AtoD")                                                        \
    _(402, cuMemcpyHtoA_v2_ptds, COPY, "memcpy HtoA")                                                        \
    _(403, cuMemcpyAtoH_v2_ptds, COPY, "memcpy AtoH")                                                        \
    _(404, cuMemcpyAtoA_v2_ptds, COPY, "memcpy AtoA")                                                        \
    _(405, cuMemcpy2D_v2_ptds, COPY, "memcpy 2D")                                                            \
    _(406, cuMemcpy2DUnaligned_v2_ptds, COPY, "memcpy 2D")                                                   \
    _(407, cuMemcpy3D_v2_ptds, COPY, "memcpy 3D")                                                            \
    _(408, cuMemcpy_ptds, COPY, "memcpy")                                                                    \
    _(409, cuMemcpyPeer_ptds, COPY, "memcpy PtoP")                                                           \
    _(410, cuMemcpy3DPeer_ptds, COPY, "memcpy PtoP")                                                         \
    _(418, cuMemcpyAsync_ptsz, COPY, "memcpy")                                                               \
    _(419, cuMemcpyHtoAAsync_v2_ptsz, COPY, "memcpy HtoA")                                                   \
    _(420, cuMemcpyAtoHAsync_v2_ptsz, COPY, "memcpy AtoH")                                                   \
    _(421, cuMemcpyHtoDAsync_v2_ptsz, COPY, "memcpy HtoD")                                                   \
    _(422, cuMemcpyDtoHAsync_v2_ptsz, COPY, "memcpy DtoH")                                                   \
    _(423, cuMemcpyDtoDAsync_v2_ptsz, COPY, "memcpy DtoD")                                                   \
    _(424, cuMemcpy2DAsync_v2_ptsz, COPY, "memcpy 2D")                                                       \
    _(425, cuMemcpy3DAsync_v2_ptsz, COPY, "memcpy 3D")                                                       \
    _(426, cuMemcpyPeerAsync_ptsz, COPY, "memcpy PtoP")                                                      \
    _(427, cuMemcpy3DPeerAsync_ptsz, COPY, "memcpy PtoP")                                                    \
    _(776, cuMemcpyBatchAsync, COPY, "memcpy batch")                                                         \
    _(777, cuMemcpyBatchAsync_ptsz, COPY, "memcpy batch")                                                    \
    _(778, cuMemcpy3DBatchAsync, COPY, "memcpy batch")                                                       \
    _(779, cuMemcpy3DBatchAsync_ptsz, COPY, "memcpy batch")                                                  \
    _(796, cuMemcpyBatchAsync_v2, COPY, "memcpy batch")                                                      \
    _(797, cuMemcpyBatchAsync_v2_ptsz, COPY, "memcpy batch")                                                 \
    _(798, cuMemcpy3DBatchAsync_v2, COPY, "memcpy batch")                                                    \
    _(799, cuMemcpy3DBatchAsync_v2_ptsz, COPY, "memcpy batch")                                               \
    _(837, cuMemcpyWithAttributesAsync, COPY, "memcpy")                                                      \
    _(838, cuMemcpyWithAttributesAsync_ptsz, COPY, "memcpy")                                                 \
    _(839, cuMemcpy3DWithAttributesAsync, COPY, "memcpy 3D")                                                 \
    _(840, cuMemcpy3DWithAttributesAsync_ptsz, COPY, "memcpy 3D")                                            \
    _(249, cuMemsetD8_v2, SET, "memset")                                                                     \
    _(250, cuMemsetD16_v2, SET, "memset")                                                                    \
    _(251, cuMemsetD32_v2, SET, "memset")                                                                    \
    _(252, cuMemsetD2D8_v2, SET, "memset")                                                                   \
    _(253, cuMemsetD2D16_v2, SET, "memset")                                                                  \
    _(254, cuMemsetD2D32_v2, SET, "memset")                                                                  \
    _(216, cuMemsetD8Async, SET, "memset")                                                                   \
    _(218, cuMemsetD16Async, SET, "memset")                                                                  \
    _(220, cuMemsetD32Async, SET, "memset")                                                                  \
    _(222, cuMemsetD2D8Async, SET, "memset")                                                                 \
    _(224, cuMemsetD2D16Async, SET, "memset")                                                                \
    _(226, cuMemsetD2D32Async, SET, "memset")                                                                \
    _(428, cuMemsetD8Async_ptsz, SET, "memset")                                                              \
    _(429, cuMemsetD16Async_ptsz, SET, "memset")                                                             \
    _(430, cuMemsetD32Async_ptsz, SET, "memset")                                                             \
    _(431, cuMemsetD2D8Async_ptsz, SET, "memset")                                                            \
    _(432, cuMemsetD2D16Async_ptsz, SET, "memset")                                                           \
    _(433, cuMemsetD2D32Async_ptsz, SET, "memset")                                                           \
    _(411, cuMemsetD8_v2_ptds, SET, "memset")                                                                \
    _(412, cuMemsetD16_v2_ptds, SET, "memset")                                                               \
    _(413, cuMemsetD32_v2_ptds, SET, "memset")                                                               \
    _(414, cuMemsetD2D8_v2_ptds, SET, "memset")                                                              \
    _(415, cuMemsetD2D16_v2_ptds, SET, "memset")                                                             \
    _(416, cuMemsetD2D32_v2_ptds, SET, "memset")                                                             \
    _(17, cuCtxSynchronize, WAIT, "cuCtxSynchronize")                                                        \
    _(800, cuCtxSynchronize_v2, WAIT, "cuCtxSynchronize")                                                    \
    _(121, cuEventSynchronize, WAIT, "cuEventSynchronize")                                                   \
    _(126, cuStreamSynchronize, WAIT, "cuStreamSynchronize")                                                 \
    _(440, cuStreamSynchronize_ptsz, WAIT, "cuStreamSynchronize")                                            \
    _(243, cuMemAlloc_v2, ALLOCATE, NULL)                                                                    \
    _(244, cuMemAllocPitch_v2, ALLOCATE_PITCH, NULL)                                                         \
    _(371, cuMemAllocManaged, ALLOCATE, NULL)                                                                \
    _(598, cuMemAllocAsync, ALLOCATE, NULL)                                                                  \
    _(599, cuMemAllocAsync_ptsz, ALLOCATE, NULL)                                                             \
    _(611, cuMemAllocFromPoolAsync, ALLOCATE, NULL)                                                          \
    _(612, cuMemAllocFromPoolAsync_ptsz, ALLOCATE, NULL)                                                     \
    _(245, cuMemFree_v2, FREE, NULL)                                                                         \
    _(600, cuMemFreeAsync, FREE, NULL)                                                                       \
    _(601, cuMemFreeAsync_ptsz, FREE, NULL)                                                                  \
    _(308, cuProfilerStart, PROFILER_START, NULL)                                                            \
    _(309, cuProfilerStop, PROFILER_STOP, NULL)

struct cuda_allocation { /* arguments of CUDA_CALL_ALLOCATE */
    uint64_t *address;
    size_t bytes;
};

struct cuda_pitch_allocation {
    uint64_t *address;
    size_t *pitch;
    size_t width_bytes, height;
};

#define CUDA_CALL_IDS 1024u /* more than the largest above */

#endif
