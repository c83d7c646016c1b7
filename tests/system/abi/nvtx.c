/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled by test_nvtx.py where NVIDIA's headers are: what opscope writes down of NVTX is what they say. */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>

#include "record/nvtx/abi.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)
#define SAME_PLACE(type, member, other, other_member)                                                        \
    _Static_assert(offsetof(type, member) == offsetof(other, other_member) &&                                \
                       sizeof(((type *)0)->member) == sizeof(((other *)0)->other_member),                    \
                   #member)

SAME(NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(NVTX_TABLE_VERSION, NVTX_ETID_VERSIONINFO);
SAME(NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME(NVTX_MODULE_CUDA, NVTX_CB_MODULE_CUDA);
SAME(NVTX_MODULE_OPENCL, NVTX_CB_MODULE_OPENCL);
SAME(NVTX_MODULE_CUDART, NVTX_CB_MODULE_CUDART);
SAME(NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
SAME(NVTX_MARK_EX, NVTX_CBID_CORE_MarkEx);
SAME(NVTX_RANGE_START_A, NVTX_CBID_CORE_RangeStartA);
SAME(NVTX_RANGE_END, NVTX_CBID_CORE_RangeEnd);
SAME(NVTX_RANGE_PUSH_EX, NVTX_CBID_CORE_RangePushEx);
SAME(NVTX_RANGE_PUSH_A, NVTX_CBID_CORE_RangePushA);
SAME(NVTX_RANGE_PUSH_W, NVTX_CBID_CORE_RangePushW);
SAME(NVTX_RANGE_POP, NVTX_CBID_CORE_RangePop);
SAME(NVTX_NAME_CATEGORY_A, NVTX_CBID_CORE_NameCategoryA);
SAME(NVTX_NAME_THREAD_W, NVTX_CBID_CORE_NameOsThreadW);
SAME(NVTX_CORE_COUNT, NVTX_CBID_CORE_SIZE);
SAME(NVTX_DOMAIN_MARK_EX, NVTX_CBID_CORE2_DomainMarkEx);
SAME(NVTX_DOMAIN_RANGE_END, NVTX_CBID_CORE2_DomainRangeEnd);
SAME(NVTX_DOMAIN_RANGE_PUSH_EX, NVTX_CBID_CORE2_DomainRangePushEx);
SAME(NVTX_DOMAIN_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(NVTX_DOMAIN_RESOURCE_CREATE, NVTX_CBID_CORE2_DomainResourceCreate);
SAME(NVTX_DOMAIN_NAME_CATEGORY_W, NVTX_CBID_CORE2_DomainNameCategoryW);
SAME(NVTX_DOMAIN_REGISTER_STRING_A, NVTX_CBID_CORE2_DomainRegisterStringA);
SAME(NVTX_DOMAIN_CREATE_A, NVTX_CBID_CORE2_DomainCreateA);
SAME(NVTX_DOMAIN_DESTROY, NVTX_CBID_CORE2_DomainDestroy);
SAME(NVTX_INITIALIZE, NVTX_CBID_CORE2_Initialize);
SAME(NVTX_CORE2_COUNT, NVTX_CBID_CORE2_SIZE);
SAME(NVTX_CU_DEVICE_A, NVTX_CBID_CUDA_NameCuDeviceA);
SAME(NVTX_CU_CONTEXT_A, NVTX_CBID_CUDA_NameCuContextA);
SAME(NVTX_CU_STREAM_A, NVTX_CBID_CUDA_NameCuStreamA);
SAME(NVTX_CU_EVENT_A, NVTX_CBID_CUDA_NameCuEventA);
SAME(NVTX_CUDA_DEVICE_A, NVTX_CBID_CUDART_NameCudaDeviceA);
SAME(NVTX_CUDA_STREAM_A, NVTX_CBID_CUDART_NameCudaStreamA);
SAME(NVTX_CUDA_EVENT_A, NVTX_CBID_CUDART_NameCudaEventA);
SAME(NVTX_CL_DEVICE_A, NVTX_CBID_OPENCL_NameClDeviceA);
SAME(NVTX_CL_CONTEXT_A, NVTX_CBID_OPENCL_NameClContextA);
SAME(NVTX_CL_QUEUE_A, NVTX_CBID_OPENCL_NameClCommandQueueA);
SAME(NVTX_CL_MEMORY_A, NVTX_CBID_OPENCL_NameClMemObjectA);
SAME(NVTX_CL_SAMPLER_A, NVTX_CBID_OPENCL_NameClSamplerA);
SAME(NVTX_CL_PROGRAM_A, NVTX_CBID_OPENCL_NameClProgramA);
SAME(NVTX_CL_EVENT_A, NVTX_CBID_OPENCL_NameClEventA);
SAME(NVTX_TEXT_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(NVTX_TEXT_WIDE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(NVTX_TEXT_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(NVTX_COLOUR_ARGB, NVTX_COLOR_ARGB);
SAME(NVTX_PAYLOAD_U64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
SAME(NVTX_PAYLOAD_I64, NVTX_PAYLOAD_TYPE_INT64);
SAME(NVTX_PAYLOAD_DOUBLE, NVTX_PAYLOAD_TYPE_DOUBLE);
SAME(NVTX_PAYLOAD_U32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
SAME(NVTX_PAYLOAD_I32, NVTX_PAYLOAD_TYPE_INT32);
SAME(NVTX_PAYLOAD_FLOAT, NVTX_PAYLOAD_TYPE_FLOAT);
SAME(NVTX_RESOURCE_POINTER, NVTX_RESOURCE_TYPE_GENERIC_POINTER);
SAME(NVTX_RESOURCE_HANDLE, NVTX_RESOURCE_TYPE_GENERIC_HANDLE);
SAME(NVTX_RESOURCE_THREAD, NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE);
SAME(NVTX_RESOURCE_PTHREAD, NVTX_RESOURCE_TYPE_GENERIC_THREAD_POSIX);

SAME(sizeof(struct nvtx_event), sizeof(nvtxEventAttributes_t));
SAME_PLACE(struct nvtx_event, category, nvtxEventAttributes_t, category);
SAME_PLACE(struct nvtx_event, colour_type, nvtxEventAttributes_t, colorType);
SAME_PLACE(struct nvtx_event, colour, nvtxEventAttributes_t, color);
SAME_PLACE(struct nvtx_event, payload_type, nvtxEventAttributes_t, payloadType);
SAME_PLACE(struct nvtx_event, payload, nvtxEventAttributes_t, payload);
SAME_PLACE(struct nvtx_event, message_type, nvtxEventAttributes_t, messageType);
SAME_PLACE(struct nvtx_event, message, nvtxEventAttributes_t, message);
SAME(sizeof(struct nvtx_resource), sizeof(nvtxResourceAttributes_t));
SAME_PLACE(struct nvtx_resource, type, nvtxResourceAttributes_t, identifierType);
SAME_PLACE(struct nvtx_resource, identifier, nvtxResourceAttributes_t, identifier);
SAME_PLACE(struct nvtx_resource, message_type, nvtxResourceAttributes_t, messageType);
SAME_PLACE(struct nvtx_resource, message, nvtxResourceAttributes_t, message);
SAME_PLACE(struct nvtx_callbacks, get_module, NvtxExportTableCallbacks, GetModuleFunctionTable);
SAME_PLACE(struct nvtx_version_info, set_tool_version, NvtxExportTableVersionInfo, SetInjectionNvtxVersion);

int main(void)
{
    return 0;
}
