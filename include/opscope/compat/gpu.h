/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU calls of Tracy's C interface. They are there so that programs compile; nothing is recorded: use
 * opscope_device_open, opscope_device_track and opscope_device_zone of opscope.h. Included by tracy/TracyC.h. */
#ifndef OPSCOPE_COMPAT_GPU_H
#define OPSCOPE_COMPAT_GPU_H

#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ___tracy_gpu_zone_begin_data {
    uint64_t srcloc;
    uint16_t queryId;
    uint8_t context;
};
struct ___tracy_gpu_zone_begin_callstack_data {
    uint64_t srcloc;
    int depth;
    uint16_t queryId;
    uint8_t context;
};
struct ___tracy_gpu_zone_end_data {
    uint16_t queryId;
    uint8_t context;
};
struct ___tracy_gpu_time_data {
    int64_t gpuTime;
    uint16_t queryId;
    uint8_t context;
};
struct ___tracy_gpu_new_context_data {
    int64_t gpuTime;
    float period;
    uint8_t context;
    uint8_t flags;
    uint8_t type;
};
struct ___tracy_gpu_context_name_data {
    uint8_t context;
    const char *name;
    uint16_t len;
};
struct ___tracy_gpu_calibration_data {
    int64_t gpuTime;
    int64_t cpuDelta;
    uint8_t context;
};
struct ___tracy_gpu_time_sync_data {
    int64_t gpuTime;
    uint8_t context;
};

#define OPSCOPE_TRACY_GPU_(call, data)                                                                       \
    static inline void ___tracy_emit_gpu_##call(const struct ___tracy_gpu_##data##_data event)               \
    {                                                                                                        \
        (void)event;                                                                                         \
    }                                                                                                        \
    static inline void ___tracy_emit_gpu_##call##_serial(const struct ___tracy_gpu_##data##_data event)      \
    {                                                                                                        \
        (void)event;                                                                                         \
    }
/* These use up the copied place that they get. */
#define OPSCOPE_TRACY_GPU_ALLOC_(call, data)                                                                 \
    static inline void ___tracy_emit_gpu_##call(const struct ___tracy_gpu_##data##_data event)               \
    {                                                                                                        \
        free((void *)(uintptr_t)event.srcloc);                                                               \
    }                                                                                                        \
    static inline void ___tracy_emit_gpu_##call##_serial(const struct ___tracy_gpu_##data##_data event)      \
    {                                                                                                        \
        free((void *)(uintptr_t)event.srcloc);                                                               \
    }

OPSCOPE_TRACY_GPU_(zone_begin, zone_begin)
OPSCOPE_TRACY_GPU_(zone_begin_callstack, zone_begin_callstack)
OPSCOPE_TRACY_GPU_ALLOC_(zone_begin_alloc, zone_begin)
OPSCOPE_TRACY_GPU_ALLOC_(zone_begin_alloc_callstack, zone_begin_callstack)
OPSCOPE_TRACY_GPU_(zone_end, zone_end)
OPSCOPE_TRACY_GPU_(time, time)
OPSCOPE_TRACY_GPU_(new_context, new_context)
OPSCOPE_TRACY_GPU_(context_name, context_name)
OPSCOPE_TRACY_GPU_(calibration, calibration)
OPSCOPE_TRACY_GPU_(time_sync, time_sync)

#undef OPSCOPE_TRACY_GPU_
#undef OPSCOPE_TRACY_GPU_ALLOC_

#ifdef __cplusplus
}
#endif

#endif
