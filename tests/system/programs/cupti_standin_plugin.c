/* SPDX-License-Identifier: Apache-2.0 */
/* In place of libcupti, on machines without a GPU: the life cycle alone, as CUPTI 13.0 was seen to behave. Records are
 * written at launch, in place and marked open; FlushAll has the worker thread fill in the times of what has ended, and
 * hand over buffers that are complete. cuda_standin.c is the program, and the driver. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))
#define OPEN 0x80000000u
#define MOST_RECORDS 100000u

typedef void callback_fn(void *, int, uint32_t, const void *);
struct call {
    int site;
    const char *function;
    const void *arguments;
    const int *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *data;
    uint32_t correlation;
};
struct resource {
    void *context, *stream;
    const void *description;
};
struct graph {
    void *graph, *original_graph, *node, *original_node;
    int node_type;
    void *dependency, *instance;
};
struct names {
    size_t size;
    const char *name;
    char *holder;
    size_t holder_size;
};

static callback_fn *callback;
static void *callback_context;
static void (*request)(uint8_t **, size_t *, size_t *);
static void (*complete)(void *, uint32_t, uint8_t *, size_t, size_t);
static uint64_t (*host_clock)(void);
static int is_on[64], is_enabled[2048];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int has_worker;
static uint64_t flushes_asked, flushes_done;
static uint32_t last_correlation;
static uint32_t current_context = 1; /* of device 0; 2 is of device 1 */

static uint32_t setting(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);
    return text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

/* Lengths of records, and the version that says so: each version has its own. */
static uint32_t kernel_bytes(void)
{
    return setting("STANDIN_KERNEL_BYTES", 216);
}

static uint32_t copy_bytes(void)
{
    return setting("STANDIN_COPY_BYTES", 96);
}

static struct record {
    uint8_t *at;
    uint64_t start, end; /* on the device; 0: has not ended */
    int is_filled;
} records[MOST_RECORDS];
static uint32_t record_count, first_of_buffer;
static uint8_t *buffer;
static size_t buffer_size, buffer_used;
static size_t dropped;
static __thread int is_in_callback; /* handles are good there; later their object may be gone */

static void put32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

static void put64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

static uint32_t get32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Under the lock: what has ended gets its times; a buffer in which nothing is open goes back. */
static void fill_and_hand_over(void)
{
    int is_complete = buffer != NULL && buffer_used > 0;
    for (uint32_t i = first_of_buffer; i < record_count; i++) {
        struct record *r = &records[i];
        if (r->end && !r->is_filled) {
            if (!setting("STANDIN_NO_TIMES", 0)) { /* what CUPTI could not find out stays 0 */
                put64(r->at + 16, r->start);
                put64(r->at + 24, r->end);
            }
            put32(r->at, get32(r->at) & ~OPEN);
            r->is_filled = 1;
        }
        is_complete = is_complete && r->is_filled;
    }
    if (!is_complete)
        return;
    uint8_t *done = buffer;
    size_t size = buffer_size, used = buffer_used;
    buffer = NULL;
    first_of_buffer = record_count;
    pthread_mutex_unlock(&lock);
    complete(NULL, 0, done, size, used);
    pthread_mutex_lock(&lock);
}

static void *worker(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (flushes_done == flushes_asked)
            pthread_cond_wait(&changed, &lock);
        uint64_t asked = flushes_asked;
        fill_and_hand_over();
        flushes_done = asked;
        pthread_cond_broadcast(&changed);
    }
    return NULL;
}

EXPORT int cuptiGetVersion(uint32_t *version)
{
    *version = setting("STANDIN_VERSION", 130001);
    return 0;
}

EXPORT int cuptiGetResultString(int result, const char **text)
{
    (void)result;
    *text = "an error of the stand-in";
    return 0;
}

EXPORT int cuptiSubscribe(void **subscriber, callback_fn *function, void *context)
{
    static int handle;
    *subscriber = &handle;
    callback = function;
    callback_context = context;
    return 0;
}

EXPORT int cuptiSubscribe_v2(void **subscriber, callback_fn *function, void *context, struct names *names)
{
    const char *holder = getenv("STANDIN_HOLDER"), *length = getenv("STANDIN_NAMES_BYTES");
    if (length && names->size != strtoul(length, NULL, 10))
        return 1;
    if (holder) {
        strncpy(names->holder, holder, names->holder_size - 1);
        return 39;
    }
    return cuptiSubscribe(subscriber, function, context);
}

EXPORT int cuptiUnsubscribe(void *subscriber)
{
    (void)subscriber;
    callback = NULL;
    return 0;
}

EXPORT int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t id)
{
    (void)subscriber;
    is_enabled[(domain == 3 ? 1024u : 0u) + (id & 1023u)] = (int)on;
    return 0;
}

EXPORT int cuptiActivityEnable(int kind)
{
    is_on[kind] = 1;
    return 0;
}

EXPORT int cuptiActivityDisable(int kind)
{
    is_on[kind] = 0;
    return 0;
}

EXPORT int cuptiActivityRegisterCallbacks(void (*on_request)(uint8_t **, size_t *, size_t *),
                                          void (*on_complete)(void *, uint32_t, uint8_t *, size_t, size_t))
{
    request = on_request;
    complete = on_complete;
    return 0;
}

EXPORT int cuptiActivityRegisterTimestampCallback(uint64_t (*function)(void))
{
    host_clock = function;
    return 0;
}

EXPORT int cuptiActivityGetNextRecord(uint8_t *bytes, size_t valid, void **record)
{
    uint8_t *at = *record;
    if (setting("STANDIN_VERSION", 0) > 130101 && !record_count)
        return 999; /* it says nothing before it works */
    at = at ? at + (get32(at) == 10 ? kernel_bytes() : copy_bytes()) : bytes;
    if ((size_t)(at - bytes) >= valid)
        return 12;
    *record = at;
    return 0;
}

EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
    (void)context;
    (void)stream;
    *count = dropped;
    dropped = 0;
    return 0;
}

EXPORT int cuptiActivityFlushAll(uint32_t flags)
{
    (void)flags;
    pthread_mutex_lock(&lock);
    if (!has_worker) {
        pthread_t thread;
        has_worker = pthread_create(&thread, NULL, worker, NULL) == 0;
    }
    uint64_t mine = ++flushes_asked;
    pthread_cond_broadcast(&changed);
    while (flushes_done < mine)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return 0;
}

EXPORT int cuptiActivitySetAttribute(int attribute, size_t *size, void *value)
{
    (void)attribute;
    (void)size;
    (void)value;
    return 0;
}

EXPORT int cuptiGetDeviceId(void *context, uint32_t *device)
{
    *device = (uint32_t)(uintptr_t)context - 1;
    return 0;
}

EXPORT int cuptiGetContextId(void *context, uint32_t *id)
{
    (void)context;
    *id = 1;
    return 0;
}

EXPORT int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id)
{
    (void)context;
    (void)per_thread;
    if (!is_in_callback)
        abort(); /* CUPTI reads the stream's memory: of one that was destroyed it dies */
    *id = stream ? (uint32_t)(uintptr_t)stream : 7;
    return 0;
}

EXPORT int cuptiGetGraphNodeId(void *node, uint64_t *id)
{
    *id = (uint64_t)(uintptr_t)node;
    return 0;
}

/* --- for `opscope doctor`, as libcuda.so.1 --- */

EXPORT int cuDriverGetVersion(int *version)
{
    *version = (int)setting("STANDIN_DRIVER", 13020);
    return 0;
}

/* 3: CUDA is not initialised */
EXPORT int cuCtxGetCurrent(void **context)
{
    *context = NULL;
    return (int)setting("STANDIN_CONTEXT", 0);
}

/* --- for the program --- */

/* Under the lock. */
static uint8_t *new_record(size_t bytes)
{
    size_t most = 0;
    if (buffer && buffer_used + bytes > buffer_size)
        fill_and_hand_over();
    if (buffer && buffer_used + bytes > buffer_size)
        abort(); /* the programs that use it end kernels before that */
    if (!buffer) {
        request(&buffer, &buffer_size, &most);
        buffer_used = 0;
        first_of_buffer = record_count;
    }
    if (!buffer || record_count == MOST_RECORDS) {
        dropped++;
        return NULL;
    }
    uint8_t *at = buffer + buffer_used;
    buffer_used += bytes;
    records[record_count++] = (struct record){.at = at};
    return at;
}

static void write_kernel(const char *symbol, uint32_t stream, uint32_t correlation, uint64_t node)
{
    uint8_t *at = is_on[10] ? new_record(kernel_bytes()) : NULL;
    if (!at)
        return;
    put32(at + 4, 32u << 16);
    put32(at + 44, 1);
    put32(at + 48, stream);
    for (int i = 0; i < 3; i++) {
        put32(at + 52 + 4 * i, i ? 1 : 64);
        put32(at + 64 + 4 * i, i ? 1 : 128);
    }
    put32(at + 80, 1024);
    put32(at + 92, correlation);
    put64(at + 104, (uint64_t)(uintptr_t)symbol);
    put64(at + 144, node);
    put32(at, 10 | OPEN);
}

static void call(int site, uint32_t id, const void *arguments, const char *symbol, uint64_t *data,
                 uint32_t correlation)
{
    static const int success;
    struct call c = {
        site, "",         arguments, &success, symbol, (void *)(uintptr_t)current_context, current_context,
        data, correlation};
    if (callback && is_enabled[id])
        callback(callback_context, 1, id, &c);
}

EXPORT void standin_resource(uint32_t id, void *stream, const void *description)
{
    struct resource r = {(void *)1, stream, description};
    is_in_callback = 1;
    if (callback && is_enabled[1024 + id])
        callback(callback_context, 3, id, &r);
    is_in_callback = 0;
}

EXPORT void standin_context(uint32_t id)
{
    current_context = id;
}

/* A call of the driver that makes no record. */
EXPORT void standin_call(uint32_t id, const void *arguments)
{
    uint64_t data = 0;
    uint32_t correlation = __atomic_add_fetch(&last_correlation, 1, __ATOMIC_RELAXED);
    call(0, id, arguments, NULL, &data, correlation);
    call(1, id, arguments, NULL, &data, correlation);
}

/* The same, with something in between: what another thread does before this one comes back from the driver. */
EXPORT void standin_call_while(uint32_t id, const void *arguments, void (*meanwhile)(void))
{
    uint64_t data = 0;
    uint32_t correlation = __atomic_add_fetch(&last_correlation, 1, __ATOMIC_RELAXED);
    call(0, id, arguments, NULL, &data, correlation);
    meanwhile();
    call(1, id, arguments, NULL, &data, correlation);
}

EXPORT void standin_launch(const char *symbol, uint32_t stream)
{
    uint64_t data = 0;
    const void *arguments[] = {symbol};
    uint32_t correlation = __atomic_add_fetch(&last_correlation, 1, __ATOMIC_RELAXED);
    call(0, 307, arguments, symbol, &data, correlation);
    pthread_mutex_lock(&lock);
    write_kernel(symbol, stream, correlation, 0);
    pthread_mutex_unlock(&lock);
    call(1, 307, arguments, symbol, &data, correlation);
}

EXPORT void standin_copy(uint64_t bytes)
{
    uint64_t data = 0;
    const uint64_t arguments[] = {4096, 8192, bytes, 0};
    uint32_t correlation = __atomic_add_fetch(&last_correlation, 1, __ATOMIC_RELAXED);
    call(0, 277, arguments, NULL, &data, correlation);
    pthread_mutex_lock(&lock);
    uint8_t *at = is_on[1] ? new_record(copy_bytes()) : NULL;
    if (at) {
        at[4] = 1;
        put64(at + 8, bytes);
        put32(at + 36, 1);
        put32(at + 40, 7);
        put32(at + 44, correlation);
        put32(at, 1 | OPEN);
    }
    pthread_mutex_unlock(&lock);
    call(1, 277, arguments, NULL, &data, correlation);
}

/* A launch inside a capture: a node, and no record. */
EXPORT void standin_capture(const char *symbol, uint64_t node)
{
    uint64_t data = 0;
    const void *arguments[] = {symbol};
    struct graph g = {.node = (void *)(uintptr_t)node};
    uint32_t correlation = __atomic_add_fetch(&last_correlation, 1, __ATOMIC_RELAXED);
    call(0, 307, arguments, symbol, &data, correlation);
    standin_resource(13, NULL, &g);
    call(1, 307, arguments, symbol, &data, correlation);
}

/* A node that is made without a launch. */
EXPORT void standin_add_node(uint64_t node)
{
    struct graph g = {.node = (void *)(uintptr_t)node};
    standin_resource(13, NULL, &g);
}

EXPORT void standin_clone(uint64_t original, uint64_t node)
{
    struct graph g = {.node = (void *)(uintptr_t)node, .original_node = (void *)(uintptr_t)original};
    standin_resource(20, NULL, &g);
}

EXPORT void standin_replay(const char *const *symbols, const uint64_t *nodes, uint32_t count)
{
    uint64_t data = 0;
    uint32_t correlation = __atomic_add_fetch(&last_correlation, 1, __ATOMIC_RELAXED);
    call(0, 514, NULL, NULL, &data, correlation);
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < count; i++)
        write_kernel(symbols[i], 7, correlation, nodes[i]);
    pthread_mutex_unlock(&lock);
    call(1, 514, NULL, NULL, &data, correlation);
}

/* So many more have ended on the device, 3 us each, the oldest first. */
EXPORT void standin_end(uint32_t count)
{
    static uint32_t ended;
    static uint64_t last_end;
    pthread_mutex_lock(&lock);
    for (; count && ended < record_count; count--, ended++) {
        uint64_t now = host_clock();
        records[ended].start = now > last_end ? now : last_end;
        records[ended].end = last_end = records[ended].start + 3000;
    }
    pthread_mutex_unlock(&lock);
}

/* How many have their times. */
EXPORT uint32_t standin_filled(void)
{
    uint32_t count = 0;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < record_count; i++)
        count += (uint32_t)records[i].is_filled;
    pthread_mutex_unlock(&lock);
    return count;
}
