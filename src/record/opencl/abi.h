/* SPDX-License-Identifier: Apache-2.0 */
/* What is used of OpenCL's interface: places in the loader's dispatch table, signatures, and values of its queries.
 * Written down from the specification, so that the adapter is built without OpenCL's headers;
 * tests/system/abi/opencl.c compares it with them where they are. */
#ifndef OPSCOPE_RECORD_OPENCL_ABI_H
#define OPSCOPE_RECORD_OPENCL_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef struct opencl_object *handle; /* every kind of object of OpenCL */
typedef uint64_t bits;

enum opencl_value {
    OPENCL_SUCCESS = 0,
    OPENCL_PROFILING_NOT_AVAILABLE = -7,
    OPENCL_INVALID_VALUE = -30,
    OPENCL_COMPLETE = 0,
    OPENCL_QUEUE_OUT_OF_ORDER = 1,
    OPENCL_QUEUE_PROFILING = 2,
    OPENCL_QUEUE_ON_DEVICE = 4,
    OPENCL_DEVICE_NAME = 0x102b,
    OPENCL_QUEUE_DEVICE = 0x1091,
    OPENCL_QUEUE_PROPERTIES = 0x1093,
    OPENCL_QUEUE_PROPERTIES_ARRAY = 0x1098,
    OPENCL_MEM_SIZE = 0x1102,
    OPENCL_KERNEL_FUNCTION_NAME = 0x1190,
    OPENCL_EVENT_COMMAND_QUEUE = 0x11d0,
    OPENCL_EVENT_REFERENCE_COUNT = 0x11d2,
    OPENCL_EVENT_STATUS = 0x11d3,
    OPENCL_PROFILING_QUEUED = 0x1280,
    OPENCL_PROFILING_SUBMIT = 0x1281,
    OPENCL_PROFILING_START = 0x1282,
    OPENCL_PROFILING_END = 0x1283,
    OPENCL_LAYER_API_VERSION = 0x4240,
    OPENCL_LAYER_NAME = 0x4241,
    OPENCL_LAYER_API_VERSION_100 = 100,
};

#define OPENCL_QUERY (handle object, uint32_t what, size_t size, void *value, size_t *size_ret)
#define OPENCL_WAIT uint32_t wait_count, const handle *wait

/* F(place in the table, result, name, parameters) of functions that are called. */
#define OPENCL_CALLED(F)                                                                                     \
    F(3, int32_t, clGetDeviceInfo, OPENCL_QUERY)                                                             \
    F(20, int32_t, clGetMemObjectInfo, OPENCL_QUERY)                                                         \
    F(39, int32_t, clGetKernelInfo, OPENCL_QUERY)                                                            \
    F(43, int32_t, clRetainEvent, (handle event))                                                            \
    F(44, int32_t, clReleaseEvent, (handle event))                                                           \
    F(140, int32_t, clGetDeviceAndHostTimer, (handle device, uint64_t * device_ns, uint64_t * host_ns))

/* The same of functions that the adapter stands before. */
#define OPENCL_WRAPPED(F)                                                                                    \
    F(9, handle, clCreateCommandQueue, (handle context, handle device, bits properties, int32_t * status))   \
    F(12, int32_t, clGetCommandQueueInfo, OPENCL_QUERY)                                                      \
    F(13, int32_t, clSetCommandQueueProperty, (handle queue, bits properties, uint32_t enable, bits * old))  \
    F(14, handle, clCreateBuffer, (handle context, bits flags, size_t size, void *host, int32_t *status))    \
    F(15, handle, clCreateImage2D,                                                                           \
      (handle context, bits flags, const void *format, size_t width, size_t height, size_t row, void *host,  \
       int32_t *status))                                                                                     \
    F(16, handle, clCreateImage3D,                                                                           \
      (handle context, bits flags, const void *format, size_t width, size_t height, size_t depth,            \
       size_t row, size_t slice, void *host, int32_t *status))                                               \
    F(34, handle, clCreateKernel, (handle program, const char *name, int32_t *status))                       \
    F(35, int32_t, clCreateKernelsInProgram,                                                                 \
      (handle program, uint32_t room, handle * kernels, uint32_t * count))                                   \
    F(38, int32_t, clSetKernelArg, (handle kernel, uint32_t index, size_t size, const void *value))          \
    F(42, int32_t, clGetEventInfo, OPENCL_QUERY)                                                             \
    F(45, int32_t, clGetEventProfilingInfo, OPENCL_QUERY)                                                    \
    F(48, int32_t, clEnqueueReadBuffer,                                                                      \
      (handle queue, handle buffer, uint32_t blocking, size_t offset, size_t size, void *to, OPENCL_WAIT,    \
       handle *event))                                                                                       \
    F(49, int32_t, clEnqueueWriteBuffer,                                                                     \
      (handle queue, handle buffer, uint32_t blocking, size_t offset, size_t size, const void *from,         \
       OPENCL_WAIT, handle *event))                                                                          \
    F(50, int32_t, clEnqueueCopyBuffer,                                                                      \
      (handle queue, handle from, handle to, size_t from_offset, size_t to_offset, size_t size, OPENCL_WAIT, \
       handle * event))                                                                                      \
    F(51, int32_t, clEnqueueReadImage,                                                                       \
      (handle queue, handle image, uint32_t blocking, const size_t *origin, const size_t *region,            \
       size_t row, size_t slice, void *to, OPENCL_WAIT, handle *event))                                      \
    F(52, int32_t, clEnqueueWriteImage,                                                                      \
      (handle queue, handle image, uint32_t blocking, const size_t *origin, const size_t *region,            \
       size_t row, size_t slice, const void *from, OPENCL_WAIT, handle *event))                              \
    F(53, int32_t, clEnqueueCopyImage,                                                                       \
      (handle queue, handle from, handle to, const size_t *from_origin, const size_t *to_origin,             \
       const size_t *region, OPENCL_WAIT, handle *event))                                                    \
    F(54, int32_t, clEnqueueCopyImageToBuffer,                                                               \
      (handle queue, handle from, handle to, const size_t *origin, const size_t *region, size_t offset,      \
       OPENCL_WAIT, handle *event))                                                                          \
    F(55, int32_t, clEnqueueCopyBufferToImage,                                                               \
      (handle queue, handle from, handle to, size_t offset, const size_t *origin, const size_t *region,      \
       OPENCL_WAIT, handle *event))                                                                          \
    F(56, void *, clEnqueueMapBuffer,                                                                        \
      (handle queue, handle buffer, uint32_t blocking, bits flags, size_t offset, size_t size, OPENCL_WAIT,  \
       handle * event, int32_t * status))                                                                    \
    F(57, void *, clEnqueueMapImage,                                                                         \
      (handle queue, handle image, uint32_t blocking, bits flags, const size_t *origin,                      \
       const size_t *region, size_t *row, size_t *slice, OPENCL_WAIT, handle *event, int32_t *status))       \
    F(58, int32_t, clEnqueueUnmapMemObject,                                                                  \
      (handle queue, handle memory, void *mapped, OPENCL_WAIT, handle *event))                               \
    F(59, int32_t, clEnqueueNDRangeKernel,                                                                   \
      (handle queue, handle kernel, uint32_t dimensions, const size_t *offset, const size_t *global,         \
       const size_t *local, OPENCL_WAIT, handle *event))                                                     \
    F(60, int32_t, clEnqueueTask, (handle queue, handle kernel, OPENCL_WAIT, handle * event))                \
    F(61, int32_t, clEnqueueNativeKernel,                                                                    \
      (handle queue, void (*function)(void *), void *arguments, size_t size, uint32_t memory_count,          \
       const handle *memory, const void **places, OPENCL_WAIT, handle *event))                               \
    F(62, int32_t, clEnqueueMarker, (handle queue, handle * event))                                          \
    F(82, handle, clCreateSubBuffer,                                                                         \
      (handle buffer, bits flags, uint32_t type, const void *info, int32_t *status))                         \
    F(86, int32_t, clEnqueueReadBufferRect,                                                                  \
      (handle queue, handle buffer, uint32_t blocking, const size_t *origin, const size_t *host_origin,      \
       const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice, void *to,         \
       OPENCL_WAIT, handle *event))                                                                          \
    F(87, int32_t, clEnqueueWriteBufferRect,                                                                 \
      (handle queue, handle buffer, uint32_t blocking, const size_t *origin, const size_t *host_origin,      \
       const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice, const void *from, \
       OPENCL_WAIT, handle *event))                                                                          \
    F(88, int32_t, clEnqueueCopyBufferRect,                                                                  \
      (handle queue, handle from, handle to, const size_t *from_origin, const size_t *to_origin,             \
       const size_t *region, size_t from_row, size_t from_slice, size_t to_row, size_t to_slice,             \
       OPENCL_WAIT, handle *event))                                                                          \
    F(96, handle, clCreateImage,                                                                             \
      (handle context, bits flags, const void *format, const void *description, void *host,                  \
       int32_t *status))                                                                                     \
    F(102, int32_t, clEnqueueFillBuffer,                                                                     \
      (handle queue, handle buffer, const void *pattern, size_t pattern_size, size_t offset, size_t size,    \
       OPENCL_WAIT, handle *event))                                                                          \
    F(103, int32_t, clEnqueueFillImage,                                                                      \
      (handle queue, handle image, const void *colour, const size_t *origin, const size_t *region,           \
       OPENCL_WAIT, handle *event))                                                                          \
    F(104, int32_t, clEnqueueMigrateMemObjects,                                                              \
      (handle queue, uint32_t count, const handle *memory, bits flags, OPENCL_WAIT, handle *event))          \
    F(105, int32_t, clEnqueueMarkerWithWaitList, (handle queue, OPENCL_WAIT, handle * event))                \
    F(106, int32_t, clEnqueueBarrierWithWaitList, (handle queue, OPENCL_WAIT, handle * event))               \
    F(123, handle, clCreateCommandQueueWithProperties,                                                       \
      (handle context, handle device, const bits *properties, int32_t *status))                              \
    F(128, int32_t, clEnqueueSVMFree,                                                                        \
      (handle queue, uint32_t count, void **pointers, void (*freed)(handle, uint32_t, void **, void *),      \
       void *user, OPENCL_WAIT, handle *event))                                                              \
    F(129, int32_t, clEnqueueSVMMemcpy,                                                                      \
      (handle queue, uint32_t blocking, void *to, const void *from, size_t size, OPENCL_WAIT,                \
       handle *event))                                                                                       \
    F(130, int32_t, clEnqueueSVMMemFill,                                                                     \
      (handle queue, void *to, const void *pattern, size_t pattern_size, size_t size, OPENCL_WAIT,           \
       handle *event))                                                                                       \
    F(131, int32_t, clEnqueueSVMMap,                                                                         \
      (handle queue, uint32_t blocking, bits flags, void *pointer, size_t size, OPENCL_WAIT, handle *event)) \
    F(132, int32_t, clEnqueueSVMUnmap, (handle queue, void *pointer, OPENCL_WAIT, handle *event))            \
    F(134, int32_t, clSetKernelArgSVMPointer, (handle kernel, uint32_t index, const void *value))            \
    F(137, handle, clCloneKernel, (handle kernel, int32_t * status))                                         \
    F(139, int32_t, clEnqueueSVMMigrateMem,                                                                  \
      (handle queue, uint32_t count, const void **pointers, const size_t *sizes, bits flags, OPENCL_WAIT,    \
       handle *event))                                                                                       \
    F(146, handle, clCreateBufferWithProperties,                                                             \
      (handle context, const bits *properties, bits flags, size_t size, void *host, int32_t *status))        \
    F(147, handle, clCreateImageWithProperties,                                                              \
      (handle context, const bits *properties, bits flags, const void *format, const void *description,      \
       void *host, int32_t *status))

#define OPENCL_TABLE_MAX 256u /* places of a dispatch table; 149 of OpenCL 3.0 */

#endif
