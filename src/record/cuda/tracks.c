/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and their streams as tracks. They are made on our own thread, some milliseconds after the driver has said
 * that there is one, since a callback is not a place to ask the driver questions; a record of a stream that has no
 * track yet makes it. Numbers are CUPTI's: of contexts from 1, of streams within the process. They are asked for at
 * once: a stream may be destroyed by the time that our thread comes to it (cuBLAS makes such), and CUPTI reads the
 * memory behind its handle. For the same reason the handles of streams are kept: NVTX names streams by these. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "record/cuda/cuda.h"

#define EXPECTED_MOST 256u
#define CONTEXT_IDS 1024u
#define HANDLES_MOST 1024u /* of the streams that were created last */
#define NAMED_MOST 256u
#define SYNC_LEAST_NS UINT64_C(100000000)

struct device_facts {
    uint32_t id;              /* in the segment; 0: not opened yet */
    uint32_t multiprocessors; /* 0: not known */
    uint32_t first_context;
};

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* never in a callback: its holder may ask the driver */
static pthread_mutex_t expected_lock = PTHREAD_MUTEX_INITIALIZER;
static struct device_facts devices[CUDA_DEVICES];
static struct expected {
    uint32_t device, context, stream;
} expected[EXPECTED_MOST];
static uint32_t expected_count;
static uint32_t context_devices[CONTEXT_IDS]; /* + 1 */
static struct handle {
    void *handle;
    uint32_t stream;
} handles[HANDLES_MOST];
static uint32_t handle_count; /* how many were created */
static struct named {
    uint32_t stream;
    char name[64];
} names[NAMED_MOST];
static uint32_t named_count;

/* Under expected_lock. An address may be used again. */
static void keep_handle(void *handle, uint32_t stream)
{
    uint32_t i = 0, filled = handle_count < HANDLES_MOST ? handle_count : HANDLES_MOST;
    while (i < filled && handles[i].handle != handle)
        i++;
    if (i == filled)
        i = handle_count++ % HANDLES_MOST;
    handles[i] = (struct handle){handle, stream};
}

void tracks_expect_stream(void *context, void *stream)
{
    const struct cupti *cupti = &cuda.cupti;
    struct expected e;
    if (!cupti->cuptiGetStreamIdEx || !cupti->cuptiGetContextId ||
        cupti->cuptiGetDeviceId(context, &e.device) != CUPTI_OK ||
        cupti->cuptiGetContextId(context, &e.context) != CUPTI_OK ||
        cupti->cuptiGetStreamIdEx(context, stream, 0, &e.stream) != CUPTI_OK)
        return; /* its first record makes it */
    pthread_mutex_lock(&expected_lock);
    if (expected_count < EXPECTED_MOST)
        expected[expected_count++] = e;
    if (stream)
        keep_handle(stream, e.stream);
    pthread_mutex_unlock(&expected_lock);
}

void tracks_expect_context(void *context)
{
    tracks_expect_stream(context, NULL);
}

uint32_t device_of_context(void *context, uint32_t context_id)
{
    uint32_t known =
        context_id < CONTEXT_IDS ? __atomic_load_n(&context_devices[context_id], __ATOMIC_RELAXED) : 0;
    if (known)
        return known - 1;
    uint32_t device = 0;
    if (!context || cuda.cupti.cuptiGetDeviceId(context, &device) != CUPTI_OK)
        return 0;
    if (context_id < CONTEXT_IDS)
        __atomic_store_n(&context_devices[context_id], device + 1, __ATOMIC_RELAXED);
    return device;
}

static int attribute(int device, int attribute)
{
    int value = 0;
    return cuda.driver.cuDeviceGetAttribute &&
                   cuda.driver.cuDeviceGetAttribute(&value, attribute, device) == 0
               ? value
               : 0;
}

/* As hexadecimal digits: of a part of a GPU (MIG) it is the part's own. "" where it cannot be had. */
static void write_identity(int device, char identity[40])
{
    const struct cuda_driver *driver = &cuda.driver;
    uint8_t uuid[16];
    identity[0] = '\0';
    if (!(driver->cuDeviceGetUuid_v2 && driver->cuDeviceGetUuid_v2(uuid, device) == 0) &&
        !(driver->cuDeviceGetUuid && driver->cuDeviceGetUuid(uuid, device) == 0))
        return;
    for (size_t i = 0; i < sizeof uuid; i++)
        snprintf(identity + 2 * i, 3, "%02x", uuid[i]);
}

/* Under the lock. */
static struct device_facts *open_device(uint32_t number)
{
    struct device_facts *facts = &devices[number % CUDA_DEVICES];
    char name[256] = "", architecture[32] = "", identity[40] = "";
    int device;
    if (facts->id)
        return facts;
    if (cuda.driver.cuDeviceGet && cuda.driver.cuDeviceGet(&device, (int)number) == 0) {
        if (!cuda.driver.cuDeviceGetName || cuda.driver.cuDeviceGetName(name, sizeof name - 1, device) != 0)
            name[0] = '\0';
        int major = attribute(device, CUDA_ATTRIBUTE_MAJOR), minor = attribute(device, CUDA_ATTRIBUTE_MINOR);
        int multiprocessors = attribute(device, CUDA_ATTRIBUTE_MULTIPROCESSORS);
        if (major)
            snprintf(architecture, sizeof architecture, "sm_%d%d", major, minor);
        write_identity(device, identity);
        facts->multiprocessors = multiprocessors > 0 ? (uint32_t)multiprocessors : 0;
    }
    if (!name[0])
        snprintf(name, sizeof name, "CUDA device %u", number);
    facts->id = opscope_device_open_as_(&(struct opscope_device){.struct_size = sizeof(struct opscope_device),
                                                                 .number = number,
                                                                 .name = name,
                                                                 .architecture = architecture,
                                                                 .identity = identity,
                                                                 .ticks_per_second = CUDA_NANOSECONDS});
    return facts;
}

static struct cuda_stream *streams(void)
{
    return (struct cuda_stream *)(void *)(cuda.file + cuda.layout.streams);
}

/* Under the lock. */
static void write_name(char *out, size_t size, const struct cuda_stream *s, bool is_of_first_context)
{
    int at = snprintf(out, size, "stream %u", s->stream);
    if (!is_of_first_context)
        at += snprintf(out + at, size - (size_t)at, " of context %u", s->context);
    for (uint32_t i = 0; i < named_count; i++) {
        if (names[i].stream == s->stream)
            snprintf(out + at, size - (size_t)at, " (%s)", names[i].name);
    }
}

/* Under the lock. The rows are in the order in which they came: few programs have many. */
static uint32_t find_or_make(uint32_t device, uint32_t context, uint32_t stream)
{
    uint32_t count = cuda.header->stream_count;
    char name[128];
    for (uint32_t i = 0; i < count; i++) {
        const struct cuda_stream *s = &streams()[i];
        if (s->device == device && s->context == context && s->stream == stream)
            return s->track;
    }
    struct device_facts *facts = open_device(device);
    if (!facts->id)
        return 0;
    if (!facts->first_context)
        facts->first_context = context;
    bool is_first = facts->first_context == context;
    write_name(name, sizeof name, &(struct cuda_stream){device, context, stream, 0}, is_first);
    uint32_t track = opscope_device_track_(facts->id, 0, OPSCOPE_TRACK_QUEUE, name,
                                           is_first ? stream : (uint64_t)context << 32 | stream);
    if (track && count < CUDA_STREAMS) {
        streams()[count] = (struct cuda_stream){device, context, stream, track};
        __atomic_store_n(&cuda.header->stream_count, count + 1, __ATOMIC_RELEASE);
    }
    return track;
}

/* Under the lock. */
static void rename_tracks(uint32_t stream)
{
    char text[128];
    for (uint32_t i = 0; i < cuda.header->stream_count; i++) {
        const struct cuda_stream *s = &streams()[i];
        if (s->stream != stream)
            continue;
        write_name(text, sizeof text, s, devices[s->device % CUDA_DEVICES].first_context == s->context);
        opscope_device_track_name_(s->track, text);
    }
}

/* Called by the adapter for NVTX, on the program's threads. */
OPSCOPE_API int opscope_cuda_name_stream_(void *handle, const char *name)
{
    uint32_t stream = 0, i = 0;
    if (!cuda.header || __atomic_load_n(&cuda.is_over, __ATOMIC_RELAXED))
        return 0;
    pthread_mutex_lock(&expected_lock);
    for (uint32_t j = 0; handle && j < HANDLES_MOST; j++) {
        if (handles[j].handle == handle)
            stream = handles[j].stream;
    }
    pthread_mutex_unlock(&expected_lock);
    if (!stream)
        return 0;
    pthread_mutex_lock(&lock);
    while (i < named_count && names[i].stream != stream)
        i++;
    bool has_room = i < NAMED_MOST;
    if (has_room) {
        names[i].stream = stream;
        snprintf(names[i].name, sizeof names[i].name, "%s", name);
        named_count += i == named_count;
        rename_tracks(stream);
    }
    pthread_mutex_unlock(&lock);
    return has_room;
}

/* Called for each record, on CUPTI's thread alone: most are of the stream of the one before. */
uint32_t tracks_of(uint32_t device, uint32_t context, uint32_t stream)
{
    static struct cuda_stream last;
    if (last.track && last.device == device && last.context == context && last.stream == stream)
        return last.track;
    pthread_mutex_lock(&lock);
    uint32_t track = find_or_make(device, context, stream);
    pthread_mutex_unlock(&lock);
    last = (struct cuda_stream){device, context, stream, track};
    return track;
}

uint32_t tracks_multiprocessors(uint32_t device)
{
    return __atomic_load_n(&devices[device % CUDA_DEVICES].multiprocessors, __ATOMIC_RELAXED);
}

void tracks_make_expected(void)
{
    struct expected list[EXPECTED_MOST];
    pthread_mutex_lock(&expected_lock);
    uint32_t count = expected_count;
    memcpy(list, expected, count * sizeof list[0]);
    expected_count = 0;
    pthread_mutex_unlock(&expected_lock);
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < count; i++)
        find_or_make(list[i].device, list[i].context, list[i].stream);
    pthread_mutex_unlock(&lock);
}

/* One point of each device's clock, which is CLOCK_MONOTONIC_RAW: CUPTI converts, and follows the drift by itself. The
 * best of some tries; and no two points close to each other, since the line through them would be steep. */
void tracks_sync_clocks(void)
{
    static uint64_t last_ns;
    uint64_t host = 0, ticks = 0, best = UINT64_MAX;
    for (int i = 0; i < 8; i++) {
        uint64_t before = clock_raw_ns(), now = opscope_now_(), after = clock_raw_ns();
        if (after - before < best) {
            best = after - before;
            host = now;
            ticks = before + best / 2;
        }
    }
    bool has_device = false;
    for (uint32_t i = 0; i < CUDA_DEVICES && ticks - last_ns >= SYNC_LEAST_NS; i++) {
        uint32_t id = __atomic_load_n(&devices[i].id, __ATOMIC_RELAXED);
        if (id)
            opscope_device_sync_(id, host, ticks, best / 2 + 1);
        has_device |= id != 0;
    }
    if (has_device)
        last_ns = ticks;
}
