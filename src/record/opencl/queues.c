/* SPDX-License-Identifier: Apache-2.0 */
/* Queues are made with profiling on, and look to the program as it asked for them: what it asks about a queue has no
 * profiling in it, and events of such a queue have no times, as without us. What is hidden is a matter of the queue
 * alone, since it outlives a pause and the session. Kernels, arguments and memory are noted for the descriptions of
 * commands, also while paused. */
#include <string.h>

#include "base/count_of.h"
#include "record/opencl/objects.h"
#include "record/opencl/pending.h"

static void note_queue(handle queue, handle device, bits asked, const bits *properties, bool is_changed)
{
    if (!queue)
        return;
    opencl_queue_added(queue, device, asked, properties, is_changed);
    opencl_pending_start();
}

static handle unnoted(handle queue)
{
    opencl_queue_forget(queue);
    return queue;
}

handle clCreateCommandQueue(handle context, handle device, bits properties, int32_t *status)
{
    const struct opencl_next *next = opencl_next();
    if (!opencl_has_session())
        return unnoted(next->clCreateCommandQueue(context, device, properties, status));
    int32_t ignored;
    handle queue = NULL;
    if (opencl_queue_has_room())
        queue = next->clCreateCommandQueue(context, device, properties | OPENCL_QUEUE_PROFILING, &ignored);
    bool is_changed = queue != NULL;
    if (!queue) /* with the program's own properties: its own error, too */
        queue = next->clCreateCommandQueue(context, device, properties, status);
    else if (status)
        *status = OPENCL_SUCCESS;
    note_queue(queue, device, properties, NULL, is_changed);
    return queue;
}

/* The list with profiling in it; false: the queue is one of the device, or the list is too long to copy. */
static bool add_profiling(const bits *properties, bits *out, size_t room, bits *asked)
{
    size_t n = 0;
    bool has_flags = false;
    *asked = 0;
    for (; properties && properties[n]; n += 2) {
        if (n + 5 > room)
            return false;
        out[n] = properties[n];
        out[n + 1] = properties[n + 1];
        if (properties[n] == OPENCL_QUEUE_PROPERTIES) {
            *asked = properties[n + 1];
            out[n + 1] |= OPENCL_QUEUE_PROFILING;
            has_flags = true;
        }
    }
    if (!has_flags) {
        out[n++] = OPENCL_QUEUE_PROPERTIES;
        out[n++] = OPENCL_QUEUE_PROFILING;
    }
    out[n] = 0;
    return !(*asked & OPENCL_QUEUE_ON_DEVICE);
}

handle clCreateCommandQueueWithProperties(handle context, handle device, const bits *properties,
                                          int32_t *status)
{
    const struct opencl_next *next = opencl_next();
    bits changed[64], asked = 0;
    int32_t ignored;
    handle queue = NULL;
    if (!opencl_has_session())
        return unnoted(next->clCreateCommandQueueWithProperties(context, device, properties, status));
    if (add_profiling(properties, changed, COUNT_OF(changed), &asked) && opencl_queue_has_room())
        queue = next->clCreateCommandQueueWithProperties(context, device, changed, &ignored);
    bool is_changed = queue != NULL;
    if (!queue)
        queue = next->clCreateCommandQueueWithProperties(context, device, properties, status);
    else if (status)
        *status = OPENCL_SUCCESS;
    note_queue(queue, device, asked, properties, is_changed);
    return queue;
}

/* The list of properties as the program gave it. */
static int32_t answer_list(handle queue, const struct opencl_queue *q, size_t size, void *value,
                           size_t *size_ret)
{
    int32_t status =
        opencl_next()->clGetCommandQueueInfo(queue, OPENCL_QUEUE_PROPERTIES_ARRAY, 0, NULL, NULL);
    if (status != OPENCL_SUCCESS)
        return status; /* older than OpenCL 3.0 */
    size_t bytes = q->property_count * sizeof(bits);
    if (value && size < bytes)
        return OPENCL_INVALID_VALUE;
    if (value && bytes)
        memcpy(value, q->properties, bytes);
    if (size_ret)
        *size_ret = bytes;
    return OPENCL_SUCCESS;
}

int32_t clGetCommandQueueInfo(handle queue, uint32_t what, size_t size, void *value, size_t *size_ret)
{
    const struct opencl_next *next = opencl_next();
    bool is_flags = what == OPENCL_QUEUE_PROPERTIES, is_list = what == OPENCL_QUEUE_PROPERTIES_ARRAY;
    const struct opencl_queue *q = is_flags || is_list ? opencl_queue_known(queue) : NULL;
    if (q && is_list && q->is_changed)
        return answer_list(queue, q, size, value, size_ret);
    int32_t status = next->clGetCommandQueueInfo(queue, what, size, value, size_ret);
    if (q && is_flags && value && status == OPENCL_SUCCESS && !q->has_asked) {
        bits flags;
        memcpy(&flags, value, sizeof flags);
        flags &= ~(bits)OPENCL_QUEUE_PROFILING;
        memcpy(value, &flags, sizeof flags);
    }
    return status;
}

/* OpenCL 1.0: profiling switched on or off later on. It stays on, and the program sees what it wants. */
int32_t clSetCommandQueueProperty(handle queue, bits properties, uint32_t enable, bits *old)
{
    const struct opencl_next *next = opencl_next();
    struct opencl_queue *q = opencl_queue_known(queue);
    if (!q || !(properties & OPENCL_QUEUE_PROFILING))
        return next->clSetCommandQueueProperty(queue, properties, enable, old);
    int32_t status = next->clSetCommandQueueProperty(
        queue, enable ? properties : properties & ~(bits)OPENCL_QUEUE_PROFILING, enable, old);
    if (old && !q->has_asked)
        *old &= ~(bits)OPENCL_QUEUE_PROFILING;
    if (status == OPENCL_SUCCESS)
        q->has_asked = enable != 0;
    return status;
}

int32_t clGetEventProfilingInfo(handle event, uint32_t what, size_t size, void *value, size_t *size_ret)
{
    const struct opencl_next *next = opencl_next();
    handle queue = NULL;
    if (next->clGetEventInfo(event, OPENCL_EVENT_COMMAND_QUEUE, sizeof queue, &queue, NULL) ==
        OPENCL_SUCCESS) {
        const struct opencl_queue *q = queue ? opencl_queue_known(queue) : NULL;
        if (q && !q->has_asked)
            return OPENCL_PROFILING_NOT_AVAILABLE;
    }
    return next->clGetEventProfilingInfo(event, what, size, value, size_ret);
}

int32_t clGetEventInfo(handle event, uint32_t what, size_t size, void *value, size_t *size_ret)
{
    int32_t status = opencl_next()->clGetEventInfo(event, what, size, value, size_ret);
    uint32_t count;
    if (what != OPENCL_EVENT_REFERENCE_COUNT || status != OPENCL_SUCCESS || !value || opencl_is_child() ||
        !opencl_pending_holds(event))
        return status;
    memcpy(&count, value, sizeof count);
    count -= count > 1;
    memcpy(value, &count, sizeof count);
    return status;
}

/* --- memory --- */

static handle noted(handle memory)
{
    if (memory && opencl_has_session())
        opencl_memory_added(memory);
    else
        opencl_memory_forget(memory);
    return memory;
}

static void note_kernel(handle kernel, handle cloned_from)
{
    if (kernel && opencl_has_session())
        opencl_kernel_added(kernel, cloned_from);
    else
        opencl_kernel_forget(kernel);
}

handle clCreateBuffer(handle context, bits flags, size_t size, void *host, int32_t *status)
{
    return noted(opencl_next()->clCreateBuffer(context, flags, size, host, status));
}

handle clCreateBufferWithProperties(handle context, const bits *properties, bits flags, size_t size,
                                    void *host, int32_t *status)
{
    return noted(opencl_next()->clCreateBufferWithProperties(context, properties, flags, size, host, status));
}

handle clCreateSubBuffer(handle buffer, bits flags, uint32_t type, const void *info, int32_t *status)
{
    return noted(opencl_next()->clCreateSubBuffer(buffer, flags, type, info, status));
}

handle clCreateImage2D(handle context, bits flags, const void *format, size_t width, size_t height,
                       size_t row, void *host, int32_t *status)
{
    return noted(opencl_next()->clCreateImage2D(context, flags, format, width, height, row, host, status));
}

handle clCreateImage3D(handle context, bits flags, const void *format, size_t width, size_t height,
                       size_t depth, size_t row, size_t slice, void *host, int32_t *status)
{
    return noted(opencl_next()->clCreateImage3D(context, flags, format, width, height, depth, row, slice,
                                                host, status));
}

handle clCreateImage(handle context, bits flags, const void *format, const void *description, void *host,
                     int32_t *status)
{
    return noted(opencl_next()->clCreateImage(context, flags, format, description, host, status));
}

handle clCreateImageWithProperties(handle context, const bits *properties, bits flags, const void *format,
                                   const void *description, void *host, int32_t *status)
{
    return noted(opencl_next()->clCreateImageWithProperties(context, properties, flags, format, description,
                                                            host, status));
}

/* --- kernels --- */

handle clCreateKernel(handle program, const char *name, int32_t *status)
{
    handle kernel = opencl_next()->clCreateKernel(program, name, status);
    note_kernel(kernel, NULL);
    return kernel;
}

int32_t clCreateKernelsInProgram(handle program, uint32_t room, handle *kernels, uint32_t *count)
{
    uint32_t own = 0, *made = count ? count : &own;
    int32_t status = opencl_next()->clCreateKernelsInProgram(program, room, kernels, made);
    for (uint32_t i = 0; status == OPENCL_SUCCESS && kernels && i < *made && i < room; i++)
        note_kernel(kernels[i], NULL);
    return status;
}

handle clCloneKernel(handle kernel, int32_t *status)
{
    handle clone = opencl_next()->clCloneKernel(kernel, status);
    note_kernel(clone, kernel);
    return clone;
}

int32_t clSetKernelArg(handle kernel, uint32_t index, size_t size, const void *value)
{
    int32_t status = opencl_next()->clSetKernelArg(kernel, index, size, value);
    if (!opencl_has_session())
        opencl_kernel_forget(kernel);
    if (status != OPENCL_SUCCESS || !opencl_has_session())
        return status;
    struct opencl_argument argument = {.kind = value ? ARGUMENT_VALUE : ARGUMENT_LOCAL, .size = size};
    handle memory = NULL;
    if (value && size == sizeof memory) {
        memcpy(&memory, value, sizeof memory);
        if (memory && opencl_memory_size(memory, &argument.size))
            argument.kind = ARGUMENT_BUFFER;
        else
            argument.size = size;
    }
    if (argument.kind == ARGUMENT_VALUE && size <= sizeof argument.value)
        memcpy(&argument.value, value, size);
    opencl_argument_set(kernel, index, &argument);
    return status;
}

int32_t clSetKernelArgSVMPointer(handle kernel, uint32_t index, const void *value)
{
    int32_t status = opencl_next()->clSetKernelArgSVMPointer(kernel, index, value);
    if (!opencl_has_session())
        opencl_kernel_forget(kernel);
    else if (status == OPENCL_SUCCESS)
        opencl_argument_set(kernel, index,
                            &(struct opencl_argument){.kind = ARGUMENT_POINTER, .size = sizeof value});
    return status;
}
