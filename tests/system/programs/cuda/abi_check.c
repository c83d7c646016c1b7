/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled, not run, where the vendor's headers are (PyPI: nvidia-cuda-cupti, nvidia-cuda-runtime, nvidia-cuda-crt):
 * our declarations against theirs. Which structs are the newest depends on the version; it is named on the command
 * line, -DKERNEL=CUpti_ActivityKernel10 and so on. */
#include "record/cuda/abi.h"
#include "session/cuda_record.h"

#include <cupti.h> /* last: cuda.h renames functions of the driver by macros */
#include <stddef.h>

#define SAME(a, b) _Static_assert((long)(a) == (long)(b), #a " is not " #b)
#define AT(type, member, offset) SAME(offsetof(type, member), offset)

/* Records: session/cuda_record.h reads them at these places. */
SAME(sizeof(KERNEL), KERNEL_BYTES);
AT(KERNEL, registersPerThread, 6);
AT(KERNEL, start, 16);
AT(KERNEL, end, 24);
AT(KERNEL, deviceId, 40);
AT(KERNEL, contextId, 44);
AT(KERNEL, streamId, 48);
AT(KERNEL, gridX, 52);
AT(KERNEL, blockX, 64);
AT(KERNEL, staticSharedMemory, 76);
AT(KERNEL, dynamicSharedMemory, 80);
AT(KERNEL, correlationId, 92);
AT(KERNEL, name, 104);
AT(KERNEL, graphNodeId, 144);
SAME(sizeof(COPY), COPY_BYTES);
AT(COPY, copyKind, 4);
AT(COPY, bytes, 8);
AT(COPY, start, 16);
AT(COPY, deviceId, 32);
AT(COPY, contextId, 36);
AT(COPY, streamId, 40);
AT(COPY, correlationId, 44);
AT(COPY, graphNodeId, 64);
SAME(sizeof(SET), SET_BYTES);
AT(SET, bytes, 8);
AT(SET, start, 16);
AT(SET, deviceId, 32);
AT(SET, correlationId, 44);
AT(SET, graphNodeId, 64);
SAME(sizeof(CUpti_ActivityMemcpyPtoP4), 96);
AT(CUpti_ActivityMemcpyPtoP4, correlationId, 60);
AT(CUpti_ActivityMemcpyPtoP4, graphNodeId, 72);
SAME(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUDA_KIND_KERNEL);
SAME(CUPTI_ACTIVITY_KIND_MEMCPY, CUDA_KIND_MEMCPY);
SAME(CUPTI_ACTIVITY_KIND_MEMSET, CUDA_KIND_MEMSET);
SAME(CUPTI_ACTIVITY_KIND_MEMCPY2, CUDA_KIND_PEER_COPY);

/* Callbacks. */
SAME(CUPTI_SUCCESS, CUPTI_OK);
SAME(CUPTI_ERROR_INVALID_PARAMETER, CUPTI_INVALID_PARAMETER);
SAME(CUPTI_ERROR_MAX_LIMIT_REACHED, CUPTI_NO_MORE_RECORDS);
SAME(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, CUPTI_HAS_SUBSCRIBER);
SAME(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DOMAIN_DRIVER);
SAME(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_DOMAIN_RESOURCE);
SAME(CUPTI_API_ENTER, CUPTI_SITE_ENTER);
SAME(CUPTI_API_EXIT, CUPTI_SITE_EXIT);
SAME(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CONTEXT_CREATED);
SAME(CUPTI_CBID_RESOURCE_STREAM_CREATED, CUPTI_STREAM_CREATED);
SAME(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_NODE_CREATED);
SAME(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, CUPTI_NODE_CLONED);
SAME(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, CUPTI_ATTRIBUTE_DEVICE_BUFFER_SIZE);
SAME(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, CUPTI_ATTRIBUTE_DEVICE_BUFFER_LIMIT);
SAME(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, CUPTI_ATTRIBUTE_ZEROED_BUFFERS);
SAME(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, CUPTI_ATTRIBUTE_HOST_PINNED);
SAME(offsetof(CUpti_CallbackData, functionParams), offsetof(struct cupti_call, arguments));
SAME(offsetof(CUpti_CallbackData, functionReturnValue), offsetof(struct cupti_call, result));
SAME(offsetof(CUpti_CallbackData, symbolName), offsetof(struct cupti_call, symbol));
SAME(offsetof(CUpti_CallbackData, context), offsetof(struct cupti_call, context));
SAME(offsetof(CUpti_CallbackData, contextUid), offsetof(struct cupti_call, context_id));
SAME(offsetof(CUpti_CallbackData, correlationData), offsetof(struct cupti_call, data));
SAME(offsetof(CUpti_CallbackData, correlationId), offsetof(struct cupti_call, correlation));
SAME(offsetof(CUpti_ResourceData, resourceDescriptor), offsetof(struct cupti_resource_data, description));
SAME(offsetof(CUpti_GraphData, node), offsetof(struct cupti_graph_data, node));
SAME(offsetof(CUpti_GraphData, originalNode), offsetof(struct cupti_graph_data, original_node));
#ifdef CUpti_SubscriberParams_STRUCT_SIZE /* from CUDA 13 on */
#ifdef HAS_OTHER_SUBSCRIBERS
SAME(sizeof(CUpti_SubscriberParams), sizeof(struct cupti_subscriber_names));
SAME(offsetof(CUpti_SubscriberParams, allowMultipleSubscribers),
     offsetof(struct cupti_subscriber_names, allows_others));
#else
SAME(sizeof(CUpti_SubscriberParams), offsetof(struct cupti_subscriber_names, allows_others));
#endif
SAME(offsetof(CUpti_SubscriberParams, oldSubscriberName), offsetof(struct cupti_subscriber_names, holder));
#endif

/* The driver's calls, with a version that has all of them. */
#ifdef HAS_ALL_CALLS
#define CHECK_CALL_(id, function, kind, title) SAME(CUPTI_DRIVER_TRACE_CBID_##function, id);
CUDA_CALLS(CHECK_CALL_)
#endif
SAME(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, CUDA_ATTRIBUTE_MULTIPROCESSORS);
SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, CUDA_ATTRIBUTE_MAJOR);
SAME(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, CUDA_ATTRIBUTE_MINOR);
