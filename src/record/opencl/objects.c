/* SPDX-License-Identifier: Apache-2.0 */
#include "record/opencl/objects.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "record/opencl/pending.h"

#define MAX_MEMORY (64 * OPENCL_OBJECTS)

/* Handles to indices of an array of pointers. */
struct table {
    struct map of;
    void **items;
    uint32_t count, capacity;
    const char *when_full; /* a message, once; NULL: it was written */
};

static struct table queues = {.when_full =
                                  "OpenCL: more queues than can be told apart; of those beyond the first "
                                  "65,536 nothing is recorded"},
                    kernels = {.when_full =
                                   "OpenCL: more kernels than can be told apart; those beyond the first "
                                   "65,536 have no name and no arguments"},
                    names; /* of kernels, by their hashes */
static struct map memory;  /* to indices of memory_sizes */
static uint64_t *memory_sizes;
static uint32_t memory_count, memory_capacity;
static struct opencl_device *newest_device;
static uint32_t device_count, queue_count;
static uint32_t generation = 1; /* of what handles stand for */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *table_get(const struct table *t, handle object)
{
    uint32_t i = map_get(&t->of, (uintptr_t)object);
    return i == MAP_NONE ? NULL : t->items[i];
}

/* What this thread has used last, without a lock. */
struct recent {
    handle object;
    uint32_t generation;
    void *item;
};
static __thread struct recent recent_queue __attribute__((tls_model("initial-exec"))),
    recent_kernel __attribute__((tls_model("initial-exec")));

static void *recent_get(const struct recent *r, handle object)
{
    return r->object == object && r->generation == __atomic_load_n(&generation, __ATOMIC_ACQUIRE) ? r->item
                                                                                                  : NULL;
}

/* Under the lock. */
static void recent_put(struct recent *r, handle object, void *item)
{
    *r = (struct recent){object, generation, item};
}

static bool has_room(struct table *t)
{
    if (t->count < t->capacity)
        return true;
    uint32_t capacity = t->capacity ? 2 * t->capacity : 64;
    void **more = capacity <= OPENCL_OBJECTS ? realloc(t->items, capacity * sizeof *more) : NULL;
    if (!more) {
        if (t->when_full)
            opscope_message(t->when_full);
        t->when_full = NULL;
        return false;
    }
    t->items = more;
    t->capacity = capacity;
    return true;
}

/* Puts the item in place of what the key stood for. */
static bool table_put(struct table *t, uint64_t key, void *item)
{
    uint32_t i = map_get(&t->of, key);
    if (i == MAP_NONE) {
        if (!has_room(t) || !map_put(&t->of, key, t->count))
            return false;
        i = t->count++;
    }
    t->items[i] = item;
    __atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
    return true;
}

/* A new item, all zeros, for a handle. */
static void *table_add(struct table *t, handle object, size_t size)
{
    void *item = calloc(1, size);
    if (item && table_put(t, (uintptr_t)object, item))
        return item;
    free(item);
    return NULL;
}

/* --- devices and queues --- */

struct opencl_device *opencl_devices(void)
{
    return __atomic_load_n(&newest_device, __ATOMIC_ACQUIRE);
}

static struct opencl_device *find_device(handle object)
{
    const struct opencl_next *next = opencl_next();
    for (struct opencl_device *d = newest_device; d; d = d->older)
        if (d->object == object)
            return d;
    struct opencl_device *device = calloc(1, sizeof *device);
    char name[256] = "";
    uint64_t device_ns, host_ns;
    if (!device)
        return NULL;
    next->clGetDeviceInfo(object, OPENCL_DEVICE_NAME, sizeof name - 1, name, NULL);
    device->object = object;
    device->number = device_count++;
    device->has_timer = next->clGetDeviceAndHostTimer &&
                        next->clGetDeviceAndHostTimer(object, &device_ns, &host_ns) == OPENCL_SUCCESS &&
                        device_ns;
    device->wants_pair = !device->has_timer;
    device->id = opscope_device_open_as(&(struct opscope_device){
        .struct_size = sizeof(struct opscope_device),
        .number = device->number,
        .name = name,
        .architecture = name,
        .ticks_per_second = 1e9,
    });
    device->older = newest_device;
    __atomic_store_n(&newest_device, device, __ATOMIC_RELEASE);
    return device;
}

static bits *copy_properties(const bits *from, size_t *count)
{
    size_t n = 0;
    while (from[n])
        n += 2;
    bits *copy = malloc((n + 1) * sizeof *copy);
    if (copy)
        memcpy(copy, from, (n + 1) * sizeof *copy);
    *count = copy ? n + 1 : 0;
    return copy;
}

static struct opencl_queue *add_queue(handle queue, handle device, bits asked, const bits *properties)
{
    struct opencl_queue *q = table_add(&queues, queue, sizeof *q);
    if (!q)
        return NULL;
    q->device = find_device(device);
    q->number = queue_count++;
    q->is_in_order = !(asked & OPENCL_QUEUE_OUT_OF_ORDER);
    q->has_asked = asked & OPENCL_QUEUE_PROFILING;
    if (properties)
        q->properties = copy_properties(properties, &q->property_count);
    return q->device ? q : NULL;
}

bool opencl_queue_has_room(void)
{
    pthread_mutex_lock(&lock);
    bool is_free = has_room(&queues);
    pthread_mutex_unlock(&lock);
    return is_free;
}

void opencl_queue_added(handle queue, handle device, bits asked, const bits *properties, bool is_changed)
{
    pthread_mutex_lock(&lock);
    struct opencl_queue *q = add_queue(queue, device, asked, properties);
    if (q) {
        q->is_changed = is_changed;
        q->has_asked |= !is_changed; /* nothing is to be hidden */
    }
    pthread_mutex_unlock(&lock);
}

struct opencl_queue *opencl_queue_known(handle queue)
{
    if (opencl_is_child())
        return NULL;
    pthread_mutex_lock(&lock);
    struct opencl_queue *q = table_get(&queues, queue);
    pthread_mutex_unlock(&lock);
    return q;
}

static void forget(struct map *known, handle object)
{
    if (!object || opencl_is_child())
        return;
    pthread_mutex_lock(&lock);
    if (map_remove(known, (uintptr_t)object) != MAP_NONE)
        __atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

void opencl_queue_forget(handle queue)
{
    forget(&queues.of, queue);
}

void opencl_kernel_forget(handle kernel)
{
    forget(&kernels.of, kernel);
}

void opencl_memory_forget(handle object)
{
    forget(&memory, object);
}

/* One that was made by an extension, or without a session. */
static struct opencl_queue *add_queue_of_others(handle queue)
{
    const struct opencl_next *next = opencl_next();
    handle device = NULL;
    bits properties = 0;
    if (!queue || !has_room(&queues) ||
        next->clGetCommandQueueInfo(queue, OPENCL_QUEUE_DEVICE, sizeof device, &device, NULL) !=
            OPENCL_SUCCESS ||
        next->clGetCommandQueueInfo(queue, OPENCL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL) !=
            OPENCL_SUCCESS)
        return NULL;
    return add_queue(queue, device, properties, NULL);
}

struct opencl_queue *opencl_queue_find(handle queue)
{
    bool is_new = false;
    struct opencl_queue *q = recent_get(&recent_queue, queue);
    if (q)
        return q;
    pthread_mutex_lock(&lock);
    q = table_get(&queues, queue);
    if (!q) {
        q = add_queue_of_others(queue);
        is_new = q != NULL;
    }
    if (q && q->device)
        recent_put(&recent_queue, queue, q);
    pthread_mutex_unlock(&lock);
    if (is_new)
        opencl_pending_start();
    return q && q->device ? q : NULL;
}

/* --- kernels and memory --- */

/* The one copy of a name, which stays: pending commands have it, and programs have few names, however many kernels they
 * make. */
static const char *keep_name(char *name)
{
    uint64_t hash = hash_bytes(name, strlen(name), 0);
    uint32_t i = map_get(&names.of, hash);
    if (i != MAP_NONE && strcmp(names.items[i], name) == 0) {
        free(name);
        return names.items[i];
    }
    table_put(&names, hash, name);
    return name;
}

static const char *name_of(handle kernel)
{
    const struct opencl_next *next = opencl_next();
    size_t size = 0;
    if (next->clGetKernelInfo(kernel, OPENCL_KERNEL_FUNCTION_NAME, 0, NULL, &size) != OPENCL_SUCCESS)
        return NULL;
    char *name = calloc(1, size + 1);
    if (name)
        next->clGetKernelInfo(kernel, OPENCL_KERNEL_FUNCTION_NAME, size, name, NULL);
    return name ? keep_name(name) : NULL;
}

/* What is known of a kernel that is made at the address of an older one, and may have been cloned. */
static void renew_kernel(struct opencl_kernel *k, const char *name, const struct opencl_kernel *from)
{
    pthread_mutex_lock(&k->lock);
    k->name = name;
    k->is_described = false;
    k->argument_count = from ? from->argument_count : 0;
    if (from)
        memcpy(k->arguments, from->arguments, sizeof k->arguments);
    else
        memset(k->arguments, 0, sizeof k->arguments);
    pthread_mutex_unlock(&k->lock);
}

/* One at the address of an older one is the same struct: programs that make a kernel for each launch make millions. */
static struct opencl_kernel *add_kernel(handle kernel, const struct opencl_kernel *from)
{
    struct opencl_kernel *k = table_get(&kernels, kernel);
    if (!k) {
        k = table_add(&kernels, kernel, sizeof *k);
        if (k)
            pthread_mutex_init(&k->lock, NULL);
    }
    if (k)
        renew_kernel(k, name_of(kernel), from);
    return k;
}

void opencl_kernel_added(handle kernel, handle cloned_from)
{
    pthread_mutex_lock(&lock);
    add_kernel(kernel, cloned_from ? table_get(&kernels, cloned_from) : NULL);
    pthread_mutex_unlock(&lock);
}

struct opencl_kernel *opencl_kernel_find(handle kernel)
{
    struct opencl_kernel *k = recent_get(&recent_kernel, kernel);
    if (k)
        return k;
    pthread_mutex_lock(&lock);
    k = table_get(&kernels, kernel);
    if (!k)
        k = add_kernel(kernel, NULL);
    if (k)
        recent_put(&recent_kernel, kernel, k);
    pthread_mutex_unlock(&lock);
    return k;
}

void opencl_argument_set(handle kernel, uint32_t index, const struct opencl_argument *argument)
{
    struct opencl_kernel *k = opencl_kernel_find(kernel);
    if (!k || index >= OPENCL_ARGUMENTS)
        return;
    pthread_mutex_lock(&k->lock);
    const struct opencl_argument *old = &k->arguments[index];
    if (old->kind != argument->kind || old->size != argument->size || old->value != argument->value)
        k->is_described = false;
    k->arguments[index] = *argument;
    if (index >= k->argument_count)
        k->argument_count = index + 1;
    pthread_mutex_unlock(&k->lock);
}

void opencl_memory_added(handle object)
{
    const struct opencl_next *next = opencl_next();
    size_t size = 0;
    next->clGetMemObjectInfo(object, OPENCL_MEM_SIZE, sizeof size, &size, NULL);
    pthread_mutex_lock(&lock);
    uint32_t i = map_get(&memory, (uintptr_t)object);
    if (i == MAP_NONE && memory_count == memory_capacity) {
        uint32_t capacity = memory_capacity ? 2 * memory_capacity : 256;
        uint64_t *more = capacity <= MAX_MEMORY ? realloc(memory_sizes, capacity * sizeof *more) : NULL;
        memory_sizes = more ? more : memory_sizes;
        memory_capacity = more ? capacity : memory_capacity;
    }
    if (i == MAP_NONE && memory_count < memory_capacity && map_put(&memory, (uintptr_t)object, memory_count))
        i = memory_count++;
    if (i != MAP_NONE)
        memory_sizes[i] = size;
    pthread_mutex_unlock(&lock);
}

bool opencl_memory_size(handle object, uint64_t *size)
{
    pthread_mutex_lock(&lock);
    uint32_t i = map_get(&memory, (uintptr_t)object);
    *size = i == MAP_NONE ? 0 : memory_sizes[i];
    pthread_mutex_unlock(&lock);
    return i != MAP_NONE;
}
