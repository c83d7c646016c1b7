/* SPDX-License-Identifier: Apache-2.0 */
/* The driver loads this library when it is initialised and calls InitializeInjection. What goes wrong is said in the
 * trace, as a message of the process, and the program goes on without us. */
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/count_of.h"
#include "record/cuda/cuda.h"
#include "session/devices.h"

struct cuda_state cuda;

static const int activity_kinds[] = {CUDA_KIND_KERNEL, CUDA_KIND_MEMCPY, CUDA_KIND_MEMSET,
                                     CUDA_KIND_PEER_COPY};

void cuda_say(const char *format, ...)
{
    char text[1024] = "opscope: CUDA is not recorded: ";
    size_t at = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + at, sizeof text - at, format, arguments);
    va_end(arguments);
    if (opscope_has_session())
        opscope_message_(text, strlen(text));
}

static pthread_mutex_t switching = PTHREAD_MUTEX_INITIALIZER;

/* Disabled, what is under way still gets its times; enabled, only what is launched from then on is recorded. */
static void enable(bool is_active)
{
    pthread_mutex_lock(&switching);
    if (cuda.subscriber && cuda.is_active != is_active) {
        for (size_t i = 0; i < COUNT_OF(activity_kinds); i++) {
            if (is_active)
                cuda.cupti.cuptiActivityEnable(activity_kinds[i]);
            else
                cuda.cupti.cuptiActivityDisable(activity_kinds[i]);
        }
        __atomic_store_n(&cuda.is_active, is_active, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&switching);
}

void cuda_set_active(bool is_active)
{
    __atomic_store_n(&cuda.is_off, !is_active, __ATOMIC_RELAXED);
    enable(is_active);
}

void cuda_pause(void)
{
    if (__atomic_load_n(&cuda.is_active, __ATOMIC_RELAXED))
        enable(false);
}

bool cuda_resume(void)
{
    if (__atomic_load_n(&cuda.is_off, __ATOMIC_RELAXED))
        return false;
    enable(true);
    return true;
}

/* With --capture cuda-profiler-api recording begins and ends with these calls. */
void cuda_profiler_called(bool is_start)
{
    if (opscope_has_session())
        opscope_capture_(is_start);
    if (opscope_is_recording())
        cuda_resume();
}

static void set_attribute(int attribute, size_t size, void *value)
{
    if (cuda.cupti.cuptiActivitySetAttribute)
        cuda.cupti.cuptiActivitySetAttribute(attribute, &size, value);
}

/* 320 KB of times on the device instead of 3 MB take 2 MB of its memory instead of 15, and there may be ten times as
 * many of them; pinned host memory keeps the times of kernels before one that faults. */
static void set_attributes(void)
{
    size_t device_bytes = 320 << 10, most_buffers = 2500;
    uint8_t on = 1;
    set_attribute(CUPTI_ATTRIBUTE_DEVICE_BUFFER_SIZE, sizeof device_bytes, &device_bytes);
    set_attribute(CUPTI_ATTRIBUTE_DEVICE_BUFFER_LIMIT, sizeof most_buffers, &most_buffers);
    set_attribute(CUPTI_ATTRIBUTE_ZEROED_BUFFERS, sizeof on, &on);
    set_attribute(CUPTI_ATTRIBUTE_HOST_PINNED, sizeof on, &on);
}

/* CUPTI 13.0 refuses every length but its own, and later ones have a longer struct. */
static int subscribe_by_any_name(char *holder, size_t holder_size)
{
    const size_t lengths[] = {offsetof(struct cupti_subscriber_names, allows_others),
                              sizeof(struct cupti_subscriber_names)};
    struct cupti_subscriber_names names = {.name = "opscope", .holder = holder, .holder_size = holder_size};
    for (size_t i = 0; cuda.cupti.cuptiSubscribe_v2 && i < COUNT_OF(lengths); i++) {
        names.struct_size = lengths[i];
        int result = cuda.cupti.cuptiSubscribe_v2(&cuda.subscriber, call_back, NULL, &names);
        if (result != CUPTI_INVALID_PARAMETER)
            return result;
    }
    return cuda.cupti.cuptiSubscribe(&cuda.subscriber, call_back, NULL);
}

static bool subscribe(void)
{
    char holder[128] = "";
    int result = subscribe_by_any_name(holder, sizeof holder);
    if (result == CUPTI_OK)
        return true;
    cuda.subscriber = NULL;
    const char *text = NULL;
    if (result == CUPTI_HAS_SUBSCRIBER)
        cuda_say(
            "%s has CUDA's profiling interface, which takes one tool at a time; run without that tool, or with "
            "--devices none",
            holder[0] ? holder : "another tool");
    else if (cuda.cupti.cuptiGetResultString(result, &text) == CUPTI_OK && text)
        cuda_say("CUPTI refuses: %s (%d)", text, result);
    else
        cuda_say("CUPTI refuses with error %d", result);
    return false;
}

static void at_exit(void)
{
    if (cuda.owner_pid != getpid() || __atomic_load_n(&cuda.is_over, __ATOMIC_RELAXED))
        return;
    flush_finish();
}

/* A forked child has no CUDA, and none of the threads. */
static void in_child(void)
{
    __atomic_store_n(&cuda.is_over, true, __ATOMIC_RELAXED);
}

/* For measurements inside a program (examples/cuda), and for tools that switch recording. */
OPSCOPE_API void opscope_cuda_set_active_(int is_active);
OPSCOPE_API void opscope_cuda_set_active_(int is_active)
{
    cuda_set_active(is_active != 0);
}

OPSCOPE_API uint64_t opscope_cuda_delivered_(void);
OPSCOPE_API uint64_t opscope_cuda_delivered_(void)
{
    return cuda.header ? __atomic_load_n(&cuda.header->delivered, __ATOMIC_ACQUIRE) : 0;
}

OPSCOPE_API int InitializeInjection(void);
OPSCOPE_API int InitializeInjection(void)
{
    char trouble[512];
    if (cuda.owner_pid || !session_wants_device("cuda") || !opscope_has_session() || !opscope_now_())
        return 1;
    cuda.owner_pid = getpid();
    if (!library_load(&cuda, trouble, sizeof trouble) || !file_open(&cuda, trouble, sizeof trouble)) {
        cuda_say("%s", trouble);
        return 1;
    }
    if (!subscribe())
        return 1;
    if (cuda.cupti.cuptiActivityRegisterTimestampCallback(clock_raw_ns) != CUPTI_OK ||
        cuda.cupti.cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed) != CUPTI_OK) {
        cuda.cupti.cuptiUnsubscribe(cuda.subscriber);
        cuda.subscriber = NULL;
        cuda_say("CUPTI %u takes no buffers", cuda.cupti.version);
        return 1;
    }
    set_attributes();
    calls_enable();
    cuda_set_active(true);
    flush_start();
    pthread_atfork(NULL, NULL, in_child);
    atexit(at_exit);
    opscope_on_leave_(flush_on_leave);
    return 1;
}
