/* SPDX-License-Identifier: Apache-2.0 */
/* What we use of CUPTI's sampling of hardware counters (PM sampling), as the binary interface is. Written for this
 * program; where the vendor's headers are, tests/system/test_gpu_metrics.py compares the two
 * (programs/cuda/pm_abi_check.c). Each function takes one struct that begins with its length up to the last member that
 * its caller knows: later versions add members at the end. */
#ifndef OPSCOPE_COLLECT_GPU_ABI_H
#define OPSCOPE_COLLECT_GPU_ABI_H

#include <stddef.h>
#include <stdint.h>

enum pm_result {
    PM_OK = 0,
    PM_INVALID_PARAMETER = 1,
    PM_OUT_OF_MEMORY = 8, /* of decoding: the device's buffer was full */
    PM_NOT_INITIALIZED = 15,
    PM_HARDWARE_BUSY = 26,
    PM_NOT_SUPPORTED = 27,
    PM_NO_PRIVILEGES = 35,
    PM_NO_VIRTUAL_PRIVILEGES = 40,
    PM_UNKNOWN_CHIP = 46,
};

enum { PM_PROFILER_SAMPLING = 1 };                              /* struct pm_host_initialize */
enum { PM_TRIGGER_CLOCKS = 0, PM_TRIGGER_NS = 1 };              /* struct pm_set_config */
enum { PM_KEEP_OLDEST = 0 };                                    /* struct pm_set_config */
enum { PM_STOPPED_IMAGE_FULL = 1, PM_STOPPED_END_OF_DATA = 2 }; /* struct pm_decode */

#define PM_HEAD                                                                                              \
    size_t struct_size;                                                                                      \
    void *reserved
/* The length that a struct says it has: without the bytes after its last member. */
#define PM_SIZE(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

struct pm_nothing { /* cuptiProfilerInitialize */
    PM_HEAD;
};

struct pm_chip_name {
    PM_HEAD;
    size_t device;
    const char *name; /* out */
};

struct pm_host_initialize {
    PM_HEAD;
    int profiler;
    const char *chip;
    const uint8_t *availability; /* NULL: all counters of the chip */
    void *host;                  /* out */
};

struct pm_host {
    PM_HEAD;
    void *host;
};

struct pm_add_metrics {
    PM_HEAD;
    void *host;
    const char **names;
    size_t count;
};

struct pm_config_size {
    PM_HEAD;
    void *host;
    size_t size; /* out */
};

struct pm_config_image {
    PM_HEAD;
    void *host;
    size_t size;
    uint8_t *image;
};

struct pm_passes {
    PM_HEAD;
    size_t size;
    uint8_t *image;
    size_t passes; /* out */
};

struct pm_evaluate {
    PM_HEAD;
    void *host;
    const uint8_t *image;
    size_t size;
    size_t sample;
    const char **names;
    size_t count;
    double *values; /* filled */
};

struct pm_availability {
    PM_HEAD;
    size_t device;
    size_t size; /* out where image is NULL */
    uint8_t *image;
};

struct pm_enable {
    PM_HEAD;
    size_t device;
    void *object; /* out */
};

struct pm_object { /* of start, stop and disable */
    PM_HEAD;
    void *object;
};

struct pm_set_config {
    PM_HEAD;
    void *object;
    size_t size;
    const uint8_t *config;
    size_t hardware_bytes;
    uint64_t interval;
    int trigger;
    int append;
};

struct pm_image_size {
    PM_HEAD;
    void *object;
    const char **names;
    size_t count;
    uint32_t most_samples;
    size_t size; /* out */
};

struct pm_image_clear {
    PM_HEAD;
    void *object;
    size_t size;
    uint8_t *image;
};

struct pm_decode {
    PM_HEAD;
    void *object;
    uint8_t *image;
    size_t size;
    int stopped;      /* out: why it did */
    uint8_t overflow; /* out */
};

struct pm_image_info {
    PM_HEAD;
    const uint8_t *image;
    size_t size;
    size_t total, populated, completed; /* out: samples */
};

struct pm_sample_info {
    PM_HEAD;
    void *object;
    const uint8_t *image;
    size_t size;
    size_t sample;
    uint64_t start, end; /* out: ns of CLOCK_REALTIME */
};

/* name, what it takes, the last member of that */
#define PM_FUNCTIONS(_)                                                                                      \
    _(cuptiDeviceGetChipName, pm_chip_name, name)                                                            \
    _(cuptiProfilerInitialize, pm_nothing, reserved)                                                         \
    _(cuptiProfilerHostInitialize, pm_host_initialize, host)                                                 \
    _(cuptiProfilerHostDeinitialize, pm_host, host)                                                          \
    _(cuptiProfilerHostConfigAddMetrics, pm_add_metrics, count)                                              \
    _(cuptiProfilerHostGetConfigImageSize, pm_config_size, size)                                             \
    _(cuptiProfilerHostGetConfigImage, pm_config_image, image)                                               \
    _(cuptiProfilerHostGetNumOfPasses, pm_passes, passes)                                                    \
    _(cuptiProfilerHostEvaluateToGpuValues, pm_evaluate, values)                                             \
    _(cuptiPmSamplingGetCounterAvailability, pm_availability, image)                                         \
    _(cuptiPmSamplingEnable, pm_enable, object)                                                              \
    _(cuptiPmSamplingDisable, pm_object, object)                                                             \
    _(cuptiPmSamplingSetConfig, pm_set_config, append)                                                       \
    _(cuptiPmSamplingStart, pm_object, object)                                                               \
    _(cuptiPmSamplingStop, pm_object, object)                                                                \
    _(cuptiPmSamplingGetCounterDataSize, pm_image_size, size)                                                \
    _(cuptiPmSamplingCounterDataImageInitialize, pm_image_clear, image)                                      \
    _(cuptiPmSamplingDecodeData, pm_decode, overflow)                                                        \
    _(cuptiPmSamplingGetCounterDataInfo, pm_image_info, completed)                                           \
    _(cuptiPmSamplingCounterDataGetSampleInfo, pm_sample_info, end)

/* Sets the length and calls: PM_CALL(library, cuptiPmSamplingEnable, &enable). */
#define PM_CALL(library, function, arguments)                                                                \
    ((arguments)->struct_size = (library)->size_of.function, (library)->function(arguments))

#define PM_MEMBER_(name, type, last) int (*name)(struct type *);
#define PM_LENGTH_(name, type, last) size_t name;
struct pm_library {
    PM_FUNCTIONS(PM_MEMBER_)
    struct {
        PM_FUNCTIONS(PM_LENGTH_)
    } size_of;
    int (*cuptiGetResultString)(int result, const char **text);
    /* The driver's; NULL until pm_library_open_driver. */
    int (*cuInit)(unsigned flags);
    int (*cuDeviceGetCount)(int *count);
    int (*cuDeviceGet)(int *device, int ordinal);
    int (*cuDeviceGetName)(char *name, int length, int device);
    uint32_t version;
    char path[1400]; /* of libcupti */
};

#endif
