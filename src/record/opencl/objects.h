/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the program's devices, queues, kernels and memory, by their handles. An object that is made at the
 * address of an older one takes its place; what commands that have not ended may still use (a queue, a kernel's name)
 * stays. There is room for OPENCL_OBJECTS of a kind that live at the same time; a message says when there were more. */
#ifndef OPSCOPE_RECORD_OPENCL_OBJECTS_H
#define OPSCOPE_RECORD_OPENCL_OBJECTS_H

#include <pthread.h>

#include "record/opencl/layer.h"

#define OPENCL_OBJECTS 65536u
#define OPENCL_LANES 32u
#define OPENCL_ARGUMENTS 32u /* of a kernel; further ones are not described */

struct opencl_device {
    handle object;
    uint32_t number; /* among the devices of this process */
    uint32_t id;     /* from opscope_device_open_as */
    bool has_timer;
    /* clock: the narrowest pair of times since the last sync point */
    uint64_t host_before, host_after, device_ns;
    uint64_t synced_ticks; /* the host's, of that point; 0: none yet */
    uint32_t rounds;       /* since that point in which no good pair came */
    bool wants_pair;       /* of a command: it has no timer, and a point is due */
    struct opencl_device *older;
};

/* Commands of one queue may overlap (out of order): each lane has one at a time. */
struct opencl_lane {
    uint32_t track;
    uint64_t end_ns;
};

struct opencl_queue {
    struct opencl_device *device;
    uint32_t number;
    bool is_in_order;
    bool has_asked;  /* for profiling: what the program sees of it */
    bool is_changed; /* was made by this layer, with profiling */
    uint32_t lane_count;
    struct opencl_lane lanes[OPENCL_LANES];
    bits *properties; /* as the program gave them, with the 0 at the end; NULL: none */
    size_t property_count;
    uint64_t round; /* of the last look at which a command of it had not ended */
};

struct opencl_argument {
    enum { ARGUMENT_UNSET, ARGUMENT_BUFFER, ARGUMENT_LOCAL, ARGUMENT_VALUE, ARGUMENT_POINTER } kind;
    uint64_t size, value;
};

/* How a kernel is launched, for the recorder. */
struct opencl_launch {
    uint32_t name_id, text_id;
};

struct opencl_kernel {
    pthread_mutex_t lock; /* of all below: several threads may launch one kernel */
    const char *name;     /* one text for all kernels of that name */
    uint32_t argument_count;
    struct opencl_argument arguments[OPENCL_ARGUMENTS];
    /* the last launch, and its ids, as long as no argument has changed */
    bool is_described;
    uint32_t dimensions;
    size_t global[3], local[3];
    struct opencl_launch launch;
};

/* All find or make what they return, which stays where it is; NULL: no memory. */
struct opencl_queue *opencl_queue_find(handle queue);
struct opencl_kernel *opencl_kernel_find(handle kernel);
struct opencl_device *opencl_devices(void); /* all, linked by `older` */

/* Would one that is made now be known? If not, it is to be made as the program asked. */
bool opencl_queue_has_room(void);
/* One that has been made or found before; NULL: no such queue, or this is a forked child. */
struct opencl_queue *opencl_queue_known(handle queue);
/* What is made without a session, perhaps at the address of what was made in the last one; kernels also where they get
 * an argument. */
void opencl_queue_forget(handle queue);
void opencl_kernel_forget(handle kernel);
void opencl_memory_forget(handle memory);

/* is_changed: profiling was switched on beside what was asked for. */
void opencl_queue_added(handle queue, handle device, bits asked, const bits *properties, bool is_changed);
void opencl_kernel_added(handle kernel, handle cloned_from);
void opencl_memory_added(handle memory);
void opencl_argument_set(handle kernel, uint32_t index, const struct opencl_argument *argument);
/* The bytes of a memory object; false: no such object. */
bool opencl_memory_size(handle memory, uint64_t *size);

#endif
