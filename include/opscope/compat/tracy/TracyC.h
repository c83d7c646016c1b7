/* SPDX-License-Identifier: Apache-2.0 */
/* Tracy's macros for C, recorded by opscope: see Tracy.hpp. Link with -lopscope; no C++ is needed. */
#ifndef OPSCOPE_COMPAT_TRACY_C_H
#define OPSCOPE_COMPAT_TRACY_C_H

#include <stddef.h>
#include <stdint.h>

enum TracyPlotFormatEnum {
    TracyPlotFormatNumber,
    TracyPlotFormatMemory,
    TracyPlotFormatPercentage,
    TracyPlotFormatWatt
};

#if !defined(TRACY_ENABLE) || defined(OPSCOPE_DISABLE)

typedef const void *TracyCZoneCtx;
typedef const void *TracyCLockCtx;
typedef const void *TracyCSharedLockCtx;

#define TracyCZone(...)
#define TracyCZoneN(...)
#define TracyCZoneC(...)
#define TracyCZoneNC(...)
#define TracyCZoneS(...)
#define TracyCZoneNS(...)
#define TracyCZoneCS(...)
#define TracyCZoneNCS(...)
#define TracyCZoneEnd(...)
#define TracyCZoneText(...)
#define TracyCZoneName(...)
#define TracyCZoneColor(...)
#define TracyCZoneValue(...)

#define TracyCAlloc(...)
#define TracyCFree(...)
#define TracyCSecureAlloc(...)
#define TracyCSecureFree(...)
#define TracyCMemoryDiscard(...)
#define TracyCSecureMemoryDiscard(...)
#define TracyCAllocN(...)
#define TracyCFreeN(...)
#define TracyCSecureAllocN(...)
#define TracyCSecureFreeN(...)
#define TracyCAllocS(...)
#define TracyCFreeS(...)
#define TracyCSecureAllocS(...)
#define TracyCSecureFreeS(...)
#define TracyCMemoryDiscardS(...)
#define TracyCSecureMemoryDiscardS(...)
#define TracyCAllocNS(...)
#define TracyCFreeNS(...)
#define TracyCSecureAllocNS(...)
#define TracyCSecureFreeNS(...)

#define TracyCMessage(...)
#define TracyCMessageL(...)
#define TracyCMessageC(...)
#define TracyCMessageLC(...)
#define TracyCMessageS(...)
#define TracyCMessageLS(...)
#define TracyCMessageCS(...)
#define TracyCMessageLCS(...)
#define TracyCAppInfo(...)

#define TracyCFrameMark
#define TracyCFrameMarkNamed(...)
#define TracyCFrameMarkStart(...)
#define TracyCFrameMarkEnd(...)
#define TracyCFrameImage(...)
#define TracyCPlot(...)
#define TracyCPlotF(...)
#define TracyCPlotI(...)
#define TracyCPlotConfig(...)

#define TracyCLockAnnounce(...)
#define TracyCLockTerminate(...)
#define TracyCLockBeforeLock(...)
#define TracyCLockAfterLock(...)
#define TracyCLockAfterUnlock(...)
#define TracyCLockAfterTryLock(...)
#define TracyCLockMark(...)
#define TracyCLockCustomName(...)
#define TracyCSharedLockAnnounce(...)
#define TracyCSharedLockTerminate(...)
#define TracyCSharedLockBeforeLock(...)
#define TracyCSharedLockAfterLock(...)
#define TracyCSharedLockAfterUnlock(...)
#define TracyCSharedLockAfterTryLock(...)
#define TracyCSharedLockBeforeSharedLock(...)
#define TracyCSharedLockAfterSharedLock(...)
#define TracyCSharedLockAfterSharedUnlock(...)
#define TracyCSharedLockAfterTrySharedLock(...)
#define TracyCSharedLockMark(...)
#define TracyCSharedLockCustomName(...)

#define TracyCSetThreadName(...)
#define TracyCIsConnected 0
#define TracyCIsStarted 0
#define TracyCFiberEnter(...)
#define TracyCFiberLeave
#define TracyCBeginSamplingProfiling() 0
#define TracyCEndSamplingProfiling()

#else

#include "../recorder.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ___tracy_source_location_data {
    const char *name;
    const char *function;
    const char *file;
    uint32_t line;
    uint32_t color;
};

struct ___tracy_c_zone_context {
    uint32_t id; /* without meaning here */
    int32_t active;
};
typedef struct ___tracy_c_zone_context TracyCZoneCtx;

/* --- zones --- */

static inline TracyCZoneCtx opscope_tracy_context_(int is_open)
{
    TracyCZoneCtx context;
    context.id = 0;
    context.active = is_open;
    return context;
}

static inline TracyCZoneCtx opscope_tracy_begin_(struct opscope_site *site, int is_active)
{
    return opscope_tracy_context_(is_active ? opscope_zone_enter_(site) : 0);
}

static inline TracyCZoneCtx ___tracy_emit_zone_begin(const struct ___tracy_source_location_data *place,
                                                     int is_active)
{
    return opscope_tracy_context_(
        is_active
            ? opscope_tracy_zone_begin_(place->line, place->file, place->function, place->name, place->color)
            : 0);
}
static inline TracyCZoneCtx
___tracy_emit_zone_begin_callstack(const struct ___tracy_source_location_data *place, int depth,
                                   int is_active)
{
    (void)depth;
    return ___tracy_emit_zone_begin(place, is_active);
}

/* The number of a copied place, which is used up by the zone that begins with it; 0: no memory. The colour, which is
 * the last argument, may be left out. */
#define ___tracy_alloc_srcloc(line, source, source_size, function, ...)                                      \
    opscope_tracy_alloc_site_(line, source, source_size, function, OPSCOPE_TRACY_1ST_(__VA_ARGS__, 0), "",   \
                              0, OPSCOPE_TRACY_2ND_(__VA_ARGS__, 0, 0))
#define ___tracy_alloc_srcloc_name(line, source, source_size, function, function_size, name, ...)            \
    opscope_tracy_alloc_site_(line, source, source_size, function, function_size, name,                      \
                              OPSCOPE_TRACY_1ST_(__VA_ARGS__, 0), OPSCOPE_TRACY_2ND_(__VA_ARGS__, 0, 0))
#define OPSCOPE_TRACY_1ST_(a, ...) (a)
#define OPSCOPE_TRACY_2ND_(a, b, ...) (b)

static inline uint64_t opscope_tracy_alloc_site_(uint32_t line, const char *source, size_t source_size,
                                                 const char *function, size_t function_size, const char *name,
                                                 size_t name_size, uint32_t color)
{
    return (uint64_t)(uintptr_t)opscope_tracy_copy_site_(line, source, source_size, function, function_size,
                                                         name, name_size, color);
}
static inline TracyCZoneCtx ___tracy_emit_zone_begin_alloc(uint64_t place, int is_active)
{
    struct opscope_site *site = (struct opscope_site *)(uintptr_t)place;
    TracyCZoneCtx context = opscope_tracy_begin_(site, is_active && site);
    free(site);
    return context;
}
static inline TracyCZoneCtx ___tracy_emit_zone_begin_alloc_callstack(uint64_t place, int depth, int is_active)
{
    (void)depth;
    return ___tracy_emit_zone_begin_alloc(place, is_active);
}

static inline void ___tracy_emit_zone_end(TracyCZoneCtx context)
{
    if (context.active)
        opscope_zone_leave_();
}
static inline void ___tracy_emit_zone_text(TracyCZoneCtx context, const char *text, size_t size)
{
    if (context.active)
        opscope_zone_text_(text, size);
}
/* A zone is called as its place is; a name of one call is kept as a text of that zone. */
static inline void ___tracy_emit_zone_name(TracyCZoneCtx context, const char *text, size_t size)
{
    ___tracy_emit_zone_text(context, text, size);
}
static inline void ___tracy_emit_zone_color(TracyCZoneCtx context, uint32_t color)
{
    if (context.active)
        opscope_zone_colour_(color);
}
static inline void ___tracy_emit_zone_value(TracyCZoneCtx context, uint64_t value)
{
    if (context.active)
        opscope_zone_value_(value);
}

#define OPSCOPE_TRACY_C_ZONE_(context, name, color, active)                                                  \
    static struct opscope_own_site_ OPSCOPE_JOIN_(opscope_site_, context) = {                                \
        {(uint32_t)sizeof(struct opscope_site), (uint32_t)(TracyLine), name, TracyFunction, TracyFile,       \
         (uint32_t)(color), 0}};                                                                             \
    TracyCZoneCtx context = opscope_tracy_begin_(&OPSCOPE_JOIN_(opscope_site_, context).site, (active) != 0)

#define TracyCZone(context, active) OPSCOPE_TRACY_C_ZONE_(context, NULL, 0, active)
#define TracyCZoneN(context, name, active) OPSCOPE_TRACY_C_ZONE_(context, name, 0, active)
#define TracyCZoneC(context, color, active) OPSCOPE_TRACY_C_ZONE_(context, NULL, color, active)
#define TracyCZoneNC(context, name, color, active) OPSCOPE_TRACY_C_ZONE_(context, name, color, active)
#define TracyCZoneS(context, depth, active) TracyCZone(context, active)
#define TracyCZoneNS(context, name, depth, active) TracyCZoneN(context, name, active)
#define TracyCZoneCS(context, color, depth, active) TracyCZoneC(context, color, active)
#define TracyCZoneNCS(context, name, color, depth, active) TracyCZoneNC(context, name, color, active)
#define TracyCZoneEnd(context) ___tracy_emit_zone_end(context)
#define TracyCZoneText(context, text, size) ___tracy_emit_zone_text(context, text, size)
#define TracyCZoneName(context, text, size) ___tracy_emit_zone_name(context, text, size)
#define TracyCZoneColor(context, color) ___tracy_emit_zone_color(context, color)
#define TracyCZoneValue(context, value) ___tracy_emit_zone_value(context, value)

/* --- memory --- */

#define TracyCAlloc(address, size) opscope_alloc(address, size, NULL)
#define TracyCFree(address) opscope_free(address, NULL)
#define TracyCSecureAlloc(address, size) opscope_alloc(address, size, NULL)
#define TracyCSecureFree(address) opscope_free(address, NULL)
#define TracyCMemoryDiscard(name) opscope_free_all(name)
#define TracyCSecureMemoryDiscard(name) opscope_free_all(name)
#define TracyCAllocN(address, size, name) opscope_alloc(address, size, name)
#define TracyCFreeN(address, name) opscope_free(address, name)
#define TracyCSecureAllocN(address, size, name) opscope_alloc(address, size, name)
#define TracyCSecureFreeN(address, name) opscope_free(address, name)
#define TracyCAllocS(address, size, depth) opscope_alloc(address, size, NULL)
#define TracyCFreeS(address, depth) opscope_free(address, NULL)
#define TracyCSecureAllocS(address, size, depth) opscope_alloc(address, size, NULL)
#define TracyCSecureFreeS(address, depth) opscope_free(address, NULL)
#define TracyCMemoryDiscardS(name, depth) opscope_free_all(name)
#define TracyCSecureMemoryDiscardS(name, depth) opscope_free_all(name)
#define TracyCAllocNS(address, size, depth, name) opscope_alloc(address, size, name)
#define TracyCFreeNS(address, depth, name) opscope_free(address, name)
#define TracyCSecureAllocNS(address, size, depth, name) opscope_alloc(address, size, name)
#define TracyCSecureFreeNS(address, depth, name) opscope_free(address, name)

/* --- messages, frames, plots --- */

#define TracyCMessage(text, size) opscope_tracy_message_(text, size)
#define TracyCMessageL(text) opscope_message(text)
#define TracyCMessageC(text, size, color) opscope_tracy_message_(text, size)
#define TracyCMessageLC(text, color) opscope_message(text)
#define TracyCMessageS(text, size, depth) opscope_tracy_message_(text, size)
#define TracyCMessageLS(text, depth) opscope_message(text)
#define TracyCMessageCS(text, size, color, depth) opscope_tracy_message_(text, size)
#define TracyCMessageLCS(text, color, depth) opscope_message(text)
#define TracyCAppInfo(text, size) opscope_tracy_app_info_(text, size)

#define TracyCFrameMark opscope_tracy_frame_(NULL)
#define TracyCFrameMarkNamed(name) opscope_tracy_frame_(name)
#define TracyCFrameMarkStart(name) opscope_tracy_frame_start_(name)
#define TracyCFrameMarkEnd(name) opscope_tracy_frame_end_(name)
#define TracyCFrameImage(image, width, height, offset, flip)                                                 \
    ((void)(image), (void)(width), (void)(height), (void)(offset), (void)(flip))
#define TracyCPlot(name, value) OPSCOPE_TRACY_PLOT_(name, value)
#define TracyCPlotF(name, value) OPSCOPE_TRACY_PLOT_(name, (double)(value))
#define TracyCPlotI(name, value) OPSCOPE_TRACY_PLOT_(name, (double)(value))
#define TracyCPlotConfig(name, type, step, fill, color)                                                      \
    ((void)(name), (void)(type), (void)(step), (void)(fill), (void)(color))

/* The functions behind these, for bindings. */
static inline void ___tracy_emit_memory_alloc(const void *address, size_t size, int is_secure)
{
    (void)is_secure;
    opscope_alloc(address, size, NULL);
}
static inline void ___tracy_emit_memory_free(const void *address, int is_secure)
{
    (void)is_secure;
    opscope_free(address, NULL);
}
static inline void ___tracy_emit_memory_alloc_named(const void *address, size_t size, int is_secure,
                                                    const char *name)
{
    (void)is_secure;
    opscope_alloc(address, size, name);
}
static inline void ___tracy_emit_memory_free_named(const void *address, int is_secure, const char *name)
{
    (void)is_secure;
    opscope_free(address, name);
}
static inline void ___tracy_emit_message(const char *text, size_t size, int depth)
{
    (void)depth;
    opscope_tracy_message_(text, size);
}
static inline void ___tracy_emit_messageL(const char *text, int depth)
{
    (void)depth;
    opscope_message(text);
}
static inline void ___tracy_emit_messageC(const char *text, size_t size, uint32_t color, int depth)
{
    (void)color;
    ___tracy_emit_message(text, size, depth);
}
static inline void ___tracy_emit_messageLC(const char *text, uint32_t color, int depth)
{
    (void)color;
    ___tracy_emit_messageL(text, depth);
}
static inline void ___tracy_emit_message_appinfo(const char *text, size_t size)
{
    opscope_tracy_app_info_(text, size);
}
static inline void ___tracy_emit_frame_mark(const char *name)
{
    opscope_tracy_frame_(name);
}
static inline void ___tracy_emit_frame_mark_start(const char *name)
{
    opscope_tracy_frame_start_(name);
}
static inline void ___tracy_emit_frame_mark_end(const char *name)
{
    opscope_tracy_frame_end_(name);
}
static inline void ___tracy_emit_plot(const char *name, double value)
{
    opscope_counter(name, value);
}
static inline void ___tracy_emit_plot_float(const char *name, float value)
{
    opscope_counter(name, (double)value);
}
static inline void ___tracy_emit_plot_int(const char *name, int64_t value)
{
    opscope_counter(name, (double)value);
}

/* --- locks --- */

typedef struct opscope_tracy_lock *TracyCLockCtx;
typedef struct opscope_tracy_lock *TracyCSharedLockCtx;

static inline struct opscope_tracy_lock *opscope_tracy_lock_new_(const char *name, const char *file,
                                                                 uint32_t line)
{
    struct opscope_tracy_lock *lock = (struct opscope_tracy_lock *)malloc(sizeof *lock);
    if (lock)
        opscope_tracy_lock_init_(lock, name, file, line);
    return lock;
}
static inline void opscope_tracy_lock_delete_(struct opscope_tracy_lock *lock)
{
    if (lock)
        opscope_tracy_lock_destroy_(lock);
    free(lock);
}
#define OPSCOPE_TRACY_WITH_(lock, call)                                                                      \
    do {                                                                                                     \
        if (lock)                                                                                            \
            call;                                                                                            \
    } while (0)

#define TracyCLockAnnounce(lock) ((lock) = opscope_tracy_lock_new_(#lock, TracyFile, (uint32_t)(TracyLine)))
#define TracyCLockTerminate(lock) opscope_tracy_lock_delete_(lock)
#define TracyCLockBeforeLock(lock) OPSCOPE_TRACY_WITH_(lock, opscope_tracy_lock_wait_(lock, 0))
#define TracyCLockAfterLock(lock) OPSCOPE_TRACY_WITH_(lock, opscope_tracy_lock_waited_(lock, 1, 0))
#define TracyCLockAfterUnlock(lock) OPSCOPE_TRACY_WITH_(lock, opscope_tracy_lock_released_(lock, 0))
#define TracyCLockAfterTryLock(lock, acquired)                                                               \
    OPSCOPE_TRACY_WITH_(lock, opscope_tracy_lock_waited_(lock, (acquired) != 0, 0))
#define TracyCLockMark(lock) ((void)(lock))
#define TracyCLockCustomName(lock, name, size)                                                               \
    OPSCOPE_TRACY_WITH_(lock, opscope_tracy_lock_name_(lock, name, size))
#define TracyCSharedLockAnnounce(lock) TracyCLockAnnounce(lock)
#define TracyCSharedLockTerminate(lock) TracyCLockTerminate(lock)
#define TracyCSharedLockBeforeLock(lock) TracyCLockBeforeLock(lock)
#define TracyCSharedLockAfterLock(lock) TracyCLockAfterLock(lock)
#define TracyCSharedLockAfterUnlock(lock) TracyCLockAfterUnlock(lock)
#define TracyCSharedLockAfterTryLock(lock, acquired) TracyCLockAfterTryLock(lock, acquired)
#define TracyCSharedLockBeforeSharedLock(lock) OPSCOPE_TRACY_WITH_(lock, opscope_tracy_lock_wait_(lock, 1))
#define TracyCSharedLockAfterSharedLock(lock)                                                                \
    OPSCOPE_TRACY_WITH_(lock, opscope_tracy_lock_waited_(lock, 1, 1))
#define TracyCSharedLockAfterSharedUnlock(lock)                                                              \
    OPSCOPE_TRACY_WITH_(lock, opscope_tracy_lock_released_(lock, 1))
#define TracyCSharedLockAfterTrySharedLock(lock, acquired)                                                   \
    OPSCOPE_TRACY_WITH_(lock, opscope_tracy_lock_waited_(lock, (acquired) != 0, 1))
#define TracyCSharedLockMark(lock) TracyCLockMark(lock)
#define TracyCSharedLockCustomName(lock, name, size) TracyCLockCustomName(lock, name, size)

/* --- the rest --- */

static inline void ___tracy_set_thread_name(const char *name)
{
    opscope_thread_name(name);
}
static inline int32_t ___tracy_connected(void)
{
    return opscope_is_recording() != 0;
}
static inline int32_t ___tracy_profiler_started(void)
{
    return 1;
}
static inline void ___tracy_startup_profiler(void)
{
}
static inline void ___tracy_shutdown_profiler(void)
{
}
static inline int64_t ___tracy_get_time(void)
{
    return (int64_t)opscope_now();
}
static inline int32_t ___tracy_begin_sampling_profiling(void)
{
    return 0;
}
static inline void ___tracy_end_sampling_profiling(void)
{
}
#ifdef TRACY_FIBERS
static inline void ___tracy_fiber_enter(const char *fiber)
{
    opscope_tracy_fiber_enter_(fiber);
}
static inline void ___tracy_fiber_leave(void)
{
    opscope_tracy_fiber_leave_();
}
#define TracyCFiberEnter(fiber) ___tracy_fiber_enter(fiber)
#define TracyCFiberLeave ___tracy_fiber_leave()
#else
#define TracyCFiberEnter(fiber)
#define TracyCFiberLeave
#endif

#define TracyCSetThreadName(name) ___tracy_set_thread_name(name)
#define TracyCIsConnected ___tracy_connected()
#define TracyCIsStarted ___tracy_profiler_started()
#define TracyCBeginSamplingProfiling() ___tracy_begin_sampling_profiling()
#define TracyCEndSamplingProfiling() ___tracy_end_sampling_profiling()

#ifdef __cplusplus
}
#endif

#include "../gpu.h"

#endif /* TRACY_ENABLE */

#endif
