/* SPDX-License-Identifier: Apache-2.0 */
/* Every function that puts a command into a queue. The command belongs to the op that is open on the thread; where none
 * is, it is an op of its own for as long as the call takes, so that host and device are joined in either case. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "record/opencl/objects.h"
#include "record/opencl/pending.h"

#define LAUNCH_TEXT 640u

struct command {
    struct opencl_pending pending;
    struct opencl_launch launch; /* of a kernel */
    handle mine;                 /* the event, where the program does not want it */
    handle *event;               /* for OpenCL */
    bool is_own_op;              /* that is open */
};

/* The host's time, where it is wanted to place the device's. */
static void note_before(struct command *c)
{
    if (__atomic_load_n(&c->pending.queue->device->wants_pair, __ATOMIC_RELAXED))
        c->pending.before = opscope_now();
}

/* Where a zone is waited for (--capture zone:NAME) the command's own op may be it; one that is not is not recorded. */
static void begin(struct command *c, handle queue, const char *name, uint64_t bytes, handle *event)
{
    *c = (struct command){.event = event};
    struct opencl_queue *q = opencl_is_heard() ? opencl_queue_find(queue) : NULL;
    if (!q)
        return;
    c->event = event ? event : &c->mine;
    c->pending =
        (struct opencl_pending){.queue = q, .name = name, .bytes = bytes, .is_shared = event != NULL};
    c->pending.call = opscope_op_current_();
    if (!c->pending.call) {
        c->pending.call = opscope_op_begin(name, OPSCOPE_OP_DEVICE, q->device->number);
        c->is_own_op = true; /* also one that found no room: the recorder waits for its end */
    }
    if (opscope_is_paused_() && !(c->is_own_op && c->pending.call)) {
        c->pending.queue = NULL;
        c->event = event;
        return;
    }
    note_before(c);
}

static void begin_marker(struct command *c, handle queue, const char *name, handle *event)
{
    *c = (struct command){.event = event};
    struct opencl_queue *q = opencl_is_recording() ? opencl_queue_find(queue) : NULL;
    if (!q)
        return;
    c->event = event ? event : &c->mine;
    c->pending =
        (struct opencl_pending){.queue = q, .name = name, .is_shared = event != NULL, .is_marker = true};
    note_before(c);
}

/* Hands a command over that has been enqueued. One whose op was refused, since a pause came in between, is not
 * recorded; one whose op found no room is. */
static void hand_over(struct command *c)
{
    const struct opencl_next *next = opencl_next();
    bool is_refused = !c->pending.call && !c->pending.is_marker && opscope_is_paused_();
    c->pending.event = *c->event;
    if (is_refused && !c->pending.is_shared)
        next->clReleaseEvent(c->pending.event);
    else if (!is_refused &&
             (!c->pending.is_shared || next->clRetainEvent(c->pending.event) == OPENCL_SUCCESS))
        opencl_pending_add(&c->pending);
}

static int32_t end(struct command *c, int32_t status)
{
    if (c->pending.before)
        c->pending.after = opscope_now();
    if (c->pending.queue && status == OPENCL_SUCCESS && *c->event)
        hand_over(c);
    if (c->is_own_op)
        opscope_op_end_();
    return status;
}

/* --- descriptions --- */

static void describe_bytes(const struct command *c, uint64_t dram_bytes)
{
    char text[24];
    if (!c->is_own_op || !c->pending.queue)
        return;
    snprintf(text, sizeof text, "%llu", (unsigned long long)dram_bytes);
    opscope_op_attribute("opscope.dram_bytes", text);
}

__attribute__((format(printf, 3, 4))) static size_t append(char *out, size_t length, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(out + length, LAUNCH_TEXT - length, format, args);
    va_end(args);
    length += n > 0 ? (size_t)n : 0;
    return length < LAUNCH_TEXT ? length : LAUNCH_TEXT - 1;
}

static size_t append_sizes(char *out, size_t length, const size_t *sizes, uint32_t dimensions)
{
    for (uint32_t i = 0; i < dimensions; i++)
        length = append(out, length, "%s%zu", i ? "x" : "", sizes[i]);
    return length;
}

static size_t append_argument(char *out, size_t length, const struct opencl_argument *a)
{
    unsigned long long size = a->size, value = a->value;
    if (a->kind == ARGUMENT_BUFFER)
        return append(out, length, "buffer of %llu B", size);
    if (a->kind == ARGUMENT_LOCAL)
        return append(out, length, "local memory of %llu B", size);
    if (a->kind == ARGUMENT_POINTER)
        return append(out, length, "shared pointer");
    return a->size <= sizeof a->value ? append(out, length, "0x%llx", value)
                                      : append(out, length, "%llu B", size);
}

static const char *name_or_kernel(const char *name)
{
    return name ? name : "kernel";
}

static const char *kernel_name(const struct opencl_kernel *k)
{
    return name_or_kernel(k ? k->name : NULL);
}

/* "128x128, local 8x8: buffer of 65536 B, 0x80". Buffers are not tensors: neither shape nor type of what they hold is
 * known. */
static size_t launch_text(char *text, const struct opencl_kernel *k, uint32_t dimensions,
                          const size_t *global, const size_t *local)
{
    size_t length = append_sizes(text, append(text, 0, "launch%c", 0), global, dimensions);
    if (local)
        length = append_sizes(text, append(text, length, ", local "), local, dimensions);
    for (uint32_t i = 0; i < k->argument_count; i++)
        length = append_argument(text, append(text, length, i ? ", " : ": "), &k->arguments[i]);
    return length;
}

/* Made again where something has changed since the last launch, of this thread or another. */
static void describe_launch(struct command *c, struct opencl_kernel *k, uint32_t dimensions,
                            const size_t *global, const size_t *local)
{
    static const size_t none[3] = {0};
    dimensions = dimensions < 3 ? dimensions : 3;
    size_t bytes = dimensions * sizeof *global;
    const size_t *own = local ? local : none;
    char text[LAUNCH_TEXT];
    pthread_mutex_lock(&k->lock);
    c->pending.name = name_or_kernel(k->name);
    if (!k->is_described || k->dimensions != dimensions || memcmp(k->global, global, bytes) != 0 ||
        memcmp(k->local, own, bytes) != 0) {
        memcpy(k->global, global, bytes);
        memcpy(k->local, own, bytes);
        k->dimensions = dimensions;
        k->launch.name_id = opscope_name_(c->pending.name, strlen(c->pending.name));
        k->launch.text_id = opscope_name_(text, launch_text(text, k, dimensions, global, local));
        k->is_described = true;
    }
    c->launch = k->launch;
    pthread_mutex_unlock(&k->lock);
}

/* The same of an op that was begun before the call. */
static void describe_own_op(const struct command *c, struct opencl_kernel *k, uint32_t dimensions,
                            const size_t *global, const size_t *local)
{
    char text[LAUNCH_TEXT];
    if (!c->is_own_op || !c->pending.queue || !k || !global)
        return;
    pthread_mutex_lock(&k->lock);
    launch_text(text, k, dimensions < 3 ? dimensions : 3, global, local);
    pthread_mutex_unlock(&k->lock);
    opscope_op_attribute("launch", text + sizeof "launch");
}

static size_t area(const size_t *region)
{
    return region ? region[0] * region[1] * region[2] : 0;
}

/* --- kernels --- */

/* A kernel that is launched outside any op: the op is recorded when the call is over, which costs less than a begin and
 * an end around it. */
static int32_t launched(struct command *c, uint64_t start, int32_t status)
{
    if (status != OPENCL_SUCCESS || !*c->event)
        return status;
    c->pending.call =
        opscope_op_done_(c->launch.name_id, c->launch.text_id, c->pending.queue->device->number, start);
    return end(c, status);
}

/* Where the op is to be recorded that way: is true, and `c` is ready. */
static bool begin_launch(struct command *c, handle queue, struct opencl_kernel *k, uint32_t dimensions,
                         const size_t *global, const size_t *local, handle *event)
{
    struct opencl_queue *q = k && global && dimensions ? opencl_queue_find(queue) : NULL;
    if (!q || opscope_op_current_())
        return false;
    *c = (struct command){.pending = {.queue = q, .is_shared = event != NULL}};
    describe_launch(c, k, dimensions, global, local);
    c->event = event ? event : &c->mine;
    note_before(c);
    return true;
}

int32_t clEnqueueNDRangeKernel(handle queue, handle kernel, uint32_t dimensions, const size_t *offset,
                               const size_t *global, const size_t *local, OPENCL_WAIT, handle *event)
{
    struct command c;
    const struct opencl_next *next = opencl_next();
    struct opencl_kernel *k = opencl_is_heard() ? opencl_kernel_find(kernel) : NULL;
    if (opencl_is_recording() && begin_launch(&c, queue, k, dimensions, global, local, event)) {
        uint64_t start = opscope_now_();
        return launched(&c, start,
                        next->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local,
                                                     wait_count, wait, c.event));
    }
    begin(&c, queue, kernel_name(k), 0, event);
    describe_own_op(&c, k, dimensions, global, local);
    return end(&c, next->clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, wait_count,
                                                wait, c.event));
}

int32_t clEnqueueTask(handle queue, handle kernel, OPENCL_WAIT, handle *event)
{
    static const size_t one[] = {1};
    struct command c;
    const struct opencl_next *next = opencl_next();
    struct opencl_kernel *k = opencl_is_heard() ? opencl_kernel_find(kernel) : NULL;
    if (opencl_is_recording() && begin_launch(&c, queue, k, 1, one, NULL, event)) {
        uint64_t start = opscope_now_();
        return launched(&c, start, next->clEnqueueTask(queue, kernel, wait_count, wait, c.event));
    }
    begin(&c, queue, kernel_name(k), 0, event);
    return end(&c, next->clEnqueueTask(queue, kernel, wait_count, wait, c.event));
}

int32_t clEnqueueNativeKernel(handle queue, void (*function)(void *), void *arguments, size_t size,
                              uint32_t memory_count, const handle *memory, const void **places, OPENCL_WAIT,
                              handle *event)
{
    struct command c;
    begin(&c, queue, "native kernel", 0, event);
    return end(&c, opencl_next()->clEnqueueNativeKernel(queue, function, arguments, size, memory_count,
                                                        memory, places, wait_count, wait, c.event));
}

/* --- buffers --- */

int32_t clEnqueueReadBuffer(handle queue, handle buffer, uint32_t blocking, size_t offset, size_t size,
                            void *to, OPENCL_WAIT, handle *event)
{
    struct command c;
    begin(&c, queue, "read buffer", size, event);
    describe_bytes(&c, size);
    return end(&c, opencl_next()->clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, wait_count,
                                                      wait, c.event));
}

int32_t clEnqueueWriteBuffer(handle queue, handle buffer, uint32_t blocking, size_t offset, size_t size,
                             const void *from, OPENCL_WAIT, handle *event)
{
    struct command c;
    begin(&c, queue, "write buffer", size, event);
    describe_bytes(&c, size);
    return end(&c, opencl_next()->clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, from,
                                                       wait_count, wait, c.event));
}

int32_t clEnqueueCopyBuffer(handle queue, handle from, handle to, size_t from_offset, size_t to_offset,
                            size_t size, OPENCL_WAIT, handle *event)
{
    struct command c;
    begin(&c, queue, "copy buffer", size, event);
    describe_bytes(&c, 2 * (uint64_t)size);
    return end(&c, opencl_next()->clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset, size,
                                                      wait_count, wait, c.event));
}

int32_t clEnqueueReadBufferRect(handle queue, handle buffer, uint32_t blocking, const size_t *origin,
                                const size_t *host_origin, const size_t *region, size_t row, size_t slice,
                                size_t host_row, size_t host_slice, void *to, OPENCL_WAIT, handle *event)
{
    struct command c;
    begin(&c, queue, "read buffer", area(region), event);
    describe_bytes(&c, area(region));
    return end(&c, opencl_next()->clEnqueueReadBufferRect(queue, buffer, blocking, origin, host_origin,
                                                          region, row, slice, host_row, host_slice, to,
                                                          wait_count, wait, c.event));
}

int32_t clEnqueueWriteBufferRect(handle queue, handle buffer, uint32_t blocking, const size_t *origin,
                                 const size_t *host_origin, const size_t *region, size_t row, size_t slice,
                                 size_t host_row, size_t host_slice, const void *from, OPENCL_WAIT,
                                 handle *event)
{
    struct command c;
    begin(&c, queue, "write buffer", area(region), event);
    describe_bytes(&c, area(region));
    return end(&c, opencl_next()->clEnqueueWriteBufferRect(queue, buffer, blocking, origin, host_origin,
                                                           region, row, slice, host_row, host_slice, from,
                                                           wait_count, wait, c.event));
}

int32_t clEnqueueCopyBufferRect(handle queue, handle from, handle to, const size_t *from_origin,
                                const size_t *to_origin, const size_t *region, size_t from_row,
                                size_t from_slice, size_t to_row, size_t to_slice, OPENCL_WAIT, handle *event)
{
    struct command c;
    begin(&c, queue, "copy buffer", area(region), event);
    describe_bytes(&c, 2 * (uint64_t)area(region));
    return end(&c, opencl_next()->clEnqueueCopyBufferRect(queue, from, to, from_origin, to_origin, region,
                                                          from_row, from_slice, to_row, to_slice, wait_count,
                                                          wait, c.event));
}

int32_t clEnqueueFillBuffer(handle queue, handle buffer, const void *pattern, size_t pattern_size,
                            size_t offset, size_t size, OPENCL_WAIT, handle *event)
{
    struct command c;
    begin(&c, queue, "fill buffer", size, event);
    describe_bytes(&c, size);
    return end(&c, opencl_next()->clEnqueueFillBuffer(queue, buffer, pattern, pattern_size, offset, size,
                                                      wait_count, wait, c.event));
}

void *clEnqueueMapBuffer(handle queue, handle buffer, uint32_t blocking, bits flags, size_t offset,
                         size_t size, OPENCL_WAIT, handle *event, int32_t *status)
{
    struct command c;
    int32_t own = OPENCL_SUCCESS;
    begin(&c, queue, "map buffer", size, event);
    void *mapped = opencl_next()->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, wait_count,
                                                     wait, c.event, &own);
    end(&c, own);
    if (status)
        *status = own;
    return mapped;
}

int32_t clEnqueueUnmapMemObject(handle queue, handle memory, void *mapped, OPENCL_WAIT, handle *event)
{
    struct command c;
    begin(&c, queue, "unmap", 0, event);
    return end(&c, opencl_next()->clEnqueueUnmapMemObject(queue, memory, mapped, wait_count, wait, c.event));
}

int32_t clEnqueueMigrateMemObjects(handle queue, uint32_t count, const handle *memory, bits flags,
                                   OPENCL_WAIT, handle *event)
{
    struct command c;
    begin(&c, queue, "migrate", 0, event);
    return end(&c, opencl_next()->clEnqueueMigrateMemObjects(queue, count, memory, flags, wait_count, wait,
                                                             c.event));
}

/* --- images: how many bytes a pixel has is not asked for --- */

int32_t clEnqueueReadImage(handle queue, handle image, uint32_t blocking, const size_t *origin,
                           const size_t *region, size_t row, size_t slice, void *to, OPENCL_WAIT,
                           handle *event)
{
    struct command c;
    begin(&c, queue, "read image", 0, event);
    return end(&c, opencl_next()->clEnqueueReadImage(queue, image, blocking, origin, region, row, slice, to,
                                                     wait_count, wait, c.event));
}

int32_t clEnqueueWriteImage(handle queue, handle image, uint32_t blocking, const size_t *origin,
                            const size_t *region, size_t row, size_t slice, const void *from, OPENCL_WAIT,
                            handle *event)
{
    struct command c;
    begin(&c, queue, "write image", 0, event);
    return end(&c, opencl_next()->clEnqueueWriteImage(queue, image, blocking, origin, region, row, slice,
                                                      from, wait_count, wait, c.event));
}

int32_t clEnqueueCopyImage(handle queue, handle from, handle to, const size_t *from_origin,
                           const size_t *to_origin, const size_t *region, OPENCL_WAIT, handle *event)
{
    struct command c;
    begin(&c, queue, "copy image", 0, event);
    return end(&c, opencl_next()->clEnqueueCopyImage(queue, from, to, from_origin, to_origin, region,
                                                     wait_count, wait, c.event));
}

int32_t clEnqueueCopyImageToBuffer(handle queue, handle from, handle to, const size_t *origin,
                                   const size_t *region, size_t offset, OPENCL_WAIT, handle *event)
{
    struct command c;
    begin(&c, queue, "copy image to buffer", 0, event);
    return end(&c, opencl_next()->clEnqueueCopyImageToBuffer(queue, from, to, origin, region, offset,
                                                             wait_count, wait, c.event));
}

int32_t clEnqueueCopyBufferToImage(handle queue, handle from, handle to, size_t offset, const size_t *origin,
                                   const size_t *region, OPENCL_WAIT, handle *event)
{
    struct command c;
    begin(&c, queue, "copy buffer to image", 0, event);
    return end(&c, opencl_next()->clEnqueueCopyBufferToImage(queue, from, to, offset, origin, region,
                                                             wait_count, wait, c.event));
}

int32_t clEnqueueFillImage(handle queue, handle image, const void *colour, const size_t *origin,
                           const size_t *region, OPENCL_WAIT, handle *event)
{
    struct command c;
    begin(&c, queue, "fill image", 0, event);
    return end(&c, opencl_next()->clEnqueueFillImage(queue, image, colour, origin, region, wait_count, wait,
                                                     c.event));
}

void *clEnqueueMapImage(handle queue, handle image, uint32_t blocking, bits flags, const size_t *origin,
                        const size_t *region, size_t *row, size_t *slice, OPENCL_WAIT, handle *event,
                        int32_t *status)
{
    struct command c;
    int32_t own = OPENCL_SUCCESS;
    begin(&c, queue, "map image", 0, event);
    void *mapped = opencl_next()->clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice,
                                                    wait_count, wait, c.event, &own);
    end(&c, own);
    if (status)
        *status = own;
    return mapped;
}

/* --- shared virtual memory --- */

int32_t clEnqueueSVMFree(handle queue, uint32_t count, void **pointers,
                         void (*freed)(handle, uint32_t, void **, void *), void *user, OPENCL_WAIT,
                         handle *event)
{
    struct command c;
    begin(&c, queue, "free shared memory", 0, event);
    return end(
        &c, opencl_next()->clEnqueueSVMFree(queue, count, pointers, freed, user, wait_count, wait, c.event));
}

int32_t clEnqueueSVMMemcpy(handle queue, uint32_t blocking, void *to, const void *from, size_t size,
                           OPENCL_WAIT, handle *event)
{
    struct command c;
    begin(&c, queue, "copy shared memory", size, event);
    describe_bytes(&c, 2 * (uint64_t)size);
    return end(&c,
               opencl_next()->clEnqueueSVMMemcpy(queue, blocking, to, from, size, wait_count, wait, c.event));
}

int32_t clEnqueueSVMMemFill(handle queue, void *to, const void *pattern, size_t pattern_size, size_t size,
                            OPENCL_WAIT, handle *event)
{
    struct command c;
    begin(&c, queue, "fill shared memory", size, event);
    describe_bytes(&c, size);
    return end(&c, opencl_next()->clEnqueueSVMMemFill(queue, to, pattern, pattern_size, size, wait_count,
                                                      wait, c.event));
}

int32_t clEnqueueSVMMap(handle queue, uint32_t blocking, bits flags, void *pointer, size_t size, OPENCL_WAIT,
                        handle *event)
{
    struct command c;
    begin(&c, queue, "map shared memory", size, event);
    return end(
        &c, opencl_next()->clEnqueueSVMMap(queue, blocking, flags, pointer, size, wait_count, wait, c.event));
}

int32_t clEnqueueSVMUnmap(handle queue, void *pointer, OPENCL_WAIT, handle *event)
{
    struct command c;
    begin(&c, queue, "unmap shared memory", 0, event);
    return end(&c, opencl_next()->clEnqueueSVMUnmap(queue, pointer, wait_count, wait, c.event));
}

int32_t clEnqueueSVMMigrateMem(handle queue, uint32_t count, const void **pointers, const size_t *sizes,
                               bits flags, OPENCL_WAIT, handle *event)
{
    struct command c;
    begin(&c, queue, "migrate shared memory", 0, event);
    return end(&c, opencl_next()->clEnqueueSVMMigrateMem(queue, count, pointers, sizes, flags, wait_count,
                                                         wait, c.event));
}

/* --- markers --- */

/* One without an event is an error, which it must stay. */
int32_t clEnqueueMarker(handle queue, handle *event)
{
    struct command c;
    if (!event)
        return opencl_next()->clEnqueueMarker(queue, NULL);
    begin_marker(&c, queue, "marker", event);
    return end(&c, opencl_next()->clEnqueueMarker(queue, c.event));
}

int32_t clEnqueueMarkerWithWaitList(handle queue, OPENCL_WAIT, handle *event)
{
    struct command c;
    begin_marker(&c, queue, "marker", event);
    return end(&c, opencl_next()->clEnqueueMarkerWithWaitList(queue, wait_count, wait, c.event));
}

int32_t clEnqueueBarrierWithWaitList(handle queue, OPENCL_WAIT, handle *event)
{
    struct command c;
    begin_marker(&c, queue, "barrier", event);
    return end(&c, opencl_next()->clEnqueueBarrierWithWaitList(queue, wait_count, wait, c.event));
}
