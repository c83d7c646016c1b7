/* SPDX-License-Identifier: Apache-2.0 */
/* In place of libcupti and libcuda.so.1, on machines without a GPU: two GPUs whose counters have known values. Sample i
 * (from 0) of PM_STANDIN_SAMPLES lasts 100 us and has the value 1000 (metric + 1) + i; of the second GPU, half of it.
 * When the last one was taken and the images were cleared, the file PM_STANDIN_DONE is made.
 *
 * PM_STANDIN: "privileges", "busy", "chip" and "helpers" are errors that CUPTI returns; "overflow": the device's buffer
 * is full once, after the first samples; "crash": the process dies in the middle of sampling, after the file was made;
 * "hang": at the end; "fewer": a chip without counters of PCIe; "no gpu". */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/gpu/abi.h"

#define EXPORT __attribute__((visibility("default")))
#define GPUS 2
#define IMAGE_BYTES 64u
#define AT_ONCE 4u /* samples in an image */
#define MAGIC 0x5a
#define SAMPLE_NS 100000u

static struct gpu {
    uint32_t made, given, first, in_image; /* samples */
    uint64_t start_ns;
    int is_enabled, is_started, has_overflowed;
} gpus[GPUS];

static int is_case(const char *name)
{
    const char *value = getenv("PM_STANDIN");
    return value && strcmp(value, name) == 0;
}

static uint32_t number_of(const char *variable, uint32_t otherwise)
{
    const char *value = getenv(variable);
    return value ? (uint32_t)strtoul(value, NULL, 10) : otherwise;
}

static void make_file(void)
{
    const char *path = getenv("PM_STANDIN_DONE");
    if (path)
        close(open(path, O_CREAT | O_WRONLY, 0600));
}

/* --- the driver --- */

EXPORT int cuInit(unsigned flags)
{
    return is_case("no gpu") ? 100 : (int)flags;
}

EXPORT int cuDriverGetVersion(int *version)
{
    *version = 13020;
    return 0;
}

EXPORT int cuDeviceGetCount(int *count)
{
    *count = (int)number_of("PM_STANDIN_GPUS", 1);
    return 0;
}

EXPORT int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return 0;
}

EXPORT int cuDeviceGetName(char *name, int length, int device)
{
    snprintf(name, (size_t)length, "Stand-in %d", device);
    return 0;
}

/* --- what opscope's adapter for CUDA looks for in a libcupti --- */

#define UNUSED_FUNCTION(name)                                                                                \
    EXPORT int name(void);                                                                                   \
    EXPORT int name(void)                                                                                    \
    {                                                                                                        \
        return 999;                                                                                          \
    }
UNUSED_FUNCTION(cuptiSubscribe)
UNUSED_FUNCTION(cuptiUnsubscribe)
UNUSED_FUNCTION(cuptiEnableCallback)
UNUSED_FUNCTION(cuptiActivityEnable)
UNUSED_FUNCTION(cuptiActivityDisable)
UNUSED_FUNCTION(cuptiActivityRegisterCallbacks)
UNUSED_FUNCTION(cuptiActivityRegisterTimestampCallback)
UNUSED_FUNCTION(cuptiActivityGetNextRecord)
UNUSED_FUNCTION(cuptiActivityGetNumDroppedRecords)
UNUSED_FUNCTION(cuptiActivityFlushAll)
UNUSED_FUNCTION(cuptiGetDeviceId)

EXPORT int cuptiGetVersion(uint32_t *version)
{
    *version = 130001;
    return 0;
}

EXPORT int cuptiGetResultString(int result, const char **text)
{
    *text = result == 35   ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
            : result == 26 ? "CUPTI_ERROR_HARDWARE_BUSY"
            : result == 46 ? "CUPTI_ERROR_INVALID_CHIP_NAME"
                           : "an error of the stand-in";
    return 0;
}

/* --- the host's side --- */

EXPORT int cuptiProfilerInitialize(struct pm_nothing *p)
{
    return p->struct_size == 16 ? 0 : 1;
}

EXPORT int cuptiDeviceGetChipName(struct pm_chip_name *p)
{
    p->name = is_case("chip") ? "ZZ100" : "GH100";
    return p->struct_size == sizeof *p ? 0 : 1;
}

EXPORT int cuptiProfilerHostInitialize(struct pm_host_initialize *p)
{
    static int host;
    if (p->struct_size != sizeof *p || p->profiler != 1 || !p->availability || *p->availability != MAGIC)
        return 1;
    if (is_case("helpers"))
        return 15;
    if (strcmp(p->chip, "GH100") != 0)
        return 46;
    p->host = &host;
    return 0;
}

EXPORT int cuptiProfilerHostDeinitialize(struct pm_host *p)
{
    return p->host ? 0 : 1;
}

EXPORT int cuptiProfilerHostConfigAddMetrics(struct pm_add_metrics *p)
{
    for (size_t i = 0; i < p->count; i++) { /* this GPU has no PCIe, as those on a board of their own */
        if (is_case("fewer") && strstr(p->names[i], "pcie"))
            return 1;
    }
    return 0;
}

EXPORT int cuptiProfilerHostGetConfigImageSize(struct pm_config_size *p)
{
    p->size = 8;
    return 0;
}

EXPORT int cuptiProfilerHostGetConfigImage(struct pm_config_image *p)
{
    memset(p->image, MAGIC, p->size);
    return 0;
}

EXPORT int cuptiProfilerHostGetNumOfPasses(struct pm_passes *p)
{
    p->passes = 1;
    return p->image[0] == MAGIC ? 0 : 1;
}

/* --- sampling --- */

EXPORT int cuptiPmSamplingGetCounterAvailability(struct pm_availability *p)
{
    if (p->image)
        *p->image = MAGIC;
    p->size = 1;
    return 0;
}

EXPORT int cuptiPmSamplingEnable(struct pm_enable *p)
{
    if (is_case("privileges"))
        return 35;
    if (is_case("busy") || p->device >= GPUS || gpus[p->device].is_enabled)
        return 26;
    gpus[p->device].is_enabled = 1;
    p->object = &gpus[p->device];
    return 0;
}

EXPORT int cuptiPmSamplingDisable(struct pm_object *p)
{
    struct gpu *gpu = p->object;
    if (is_case("hang"))
        sleep(1000);
    gpu->is_enabled = gpu->is_started = 0;
    return 0;
}

EXPORT int cuptiPmSamplingSetConfig(struct pm_set_config *p)
{
    size_t size = is_case("12.6") ? offsetof(struct pm_set_config, append) : sizeof *p;
    return p->struct_size == size && p->config[7] == MAGIC && p->trigger == 1 &&
                   p->interval == number_of("PM_STANDIN_INTERVAL", 100000)
               ? 0
               : 1;
}

EXPORT int cuptiPmSamplingStart(struct pm_object *p)
{
    struct gpu *gpu = p->object;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    gpu->start_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    gpu->first = gpu->given;
    gpu->made = number_of("PM_STANDIN_SAMPLES", 10);
    gpu->is_started = 1;
    return 0;
}

EXPORT int cuptiPmSamplingStop(struct pm_object *p)
{
    struct gpu *gpu = p->object;
    return gpu->is_started ? 0 : 1;
}

EXPORT int cuptiPmSamplingGetCounterDataSize(struct pm_image_size *p)
{
    p->size = IMAGE_BYTES;
    return p->count ? 0 : 1;
}

EXPORT int cuptiPmSamplingCounterDataImageInitialize(struct pm_image_clear *p)
{
    struct gpu *gpu = p->object;
    uint32_t finished = 0;
    gpu->given += gpu->in_image;
    gpu->in_image = 0;
    for (int i = 0; i < GPUS; i++)
        finished += gpus[i].is_started && gpus[i].given == gpus[i].made;
    if (finished == number_of("PM_STANDIN_GPUS", 1))
        make_file();
    return 0;
}

EXPORT int cuptiPmSamplingDecodeData(struct pm_decode *p)
{
    struct gpu *gpu = p->object;
    if (p->struct_size != PM_SIZE(struct pm_decode, overflow) || p->size != IMAGE_BYTES || gpu->in_image)
        return 1;
    if (is_case("crash") && gpu->given) {
        make_file();
        raise(SIGKILL);
    }
    if (is_case("overflow") && gpu->given && !gpu->has_overflowed) {
        gpu->has_overflowed = 1;
        return 8;
    }
    gpu->in_image = gpu->made - gpu->given < AT_ONCE ? gpu->made - gpu->given : AT_ONCE;
    p->stopped = gpu->given + gpu->in_image < gpu->made ? 1 : 2;
    memcpy(p->image, &gpu, sizeof gpu);
    return 0;
}

static struct gpu *gpu_of(const uint8_t *image)
{
    struct gpu *gpu;
    memcpy(&gpu, image, sizeof gpu);
    return gpu;
}

EXPORT int cuptiPmSamplingGetCounterDataInfo(struct pm_image_info *p)
{
    const struct gpu *gpu = gpu_of(p->image);
    p->completed = gpu ? gpu->in_image : 0;
    return 0;
}

EXPORT int cuptiPmSamplingCounterDataGetSampleInfo(struct pm_sample_info *p)
{
    const struct gpu *gpu = gpu_of(p->image);
    p->start = gpu->start_ns + (gpu->given - gpu->first + p->sample) * SAMPLE_NS;
    p->end = p->start + SAMPLE_NS;
    return 0;
}

EXPORT int cuptiProfilerHostEvaluateToGpuValues(struct pm_evaluate *p)
{
    const struct gpu *gpu = gpu_of(p->image);
    for (size_t i = 0; i < p->count; i++) {
        double value = 1000. * (double)(i + 1) + gpu->given + (double)p->sample;
        p->values[i] = gpu == &gpus[0] ? value : value / 2;
        if (strstr(p->names[i], "bytes"))
            p->values[i] *= SAMPLE_NS; /* that many GB/s */
    }
    return 0;
}
