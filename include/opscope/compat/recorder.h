/* SPDX-License-Identifier: Apache-2.0 */
/* What tracy/TracyC.h and the C++ headers beside it share: Tracy's events in opscope's calls. Not to be included
 * directly. Every function may be called without a session and does nothing then. */
#ifndef OPSCOPE_COMPAT_RECORDER_H
#define OPSCOPE_COMPAT_RECORDER_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../opscope.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The macros' default for the function is the standard's __func__. Define these before the first include to have
 * others, as in Tracy. */
#ifndef TracyFunction
#define TracyFunction __func__
#endif
#ifndef TracyFile
#define TracyFile __FILE__
#endif
#ifndef TracyLine
#define TracyLine __LINE__
#endif

static inline size_t opscope_tracy_length_(const char *text)
{
    return text ? strlen(text) : 0;
}

static inline struct opscope_site opscope_tracy_site_(uint32_t line, const char *file, const char *function,
                                                      const char *name, uint32_t colour)
{
    struct opscope_site site;
    memset(&site, 0, sizeof site);
    site.struct_size = (uint32_t)sizeof site;
    site.line = line;
    site.name = name;
    site.function = function;
    site.file = file;
    site.colour = colour;
    return site;
}

/* A zone of a place whose texts need not stay: they are looked up by what they say, each time. */
static inline int opscope_tracy_zone_begin_(uint32_t line, const char *file, const char *function,
                                            const char *name, uint32_t colour)
{
    if (!opscope_is_recording())
        return 0;
    struct opscope_site site = opscope_tracy_site_(line, file, function, name, colour);
    return opscope_zone_begin_(&site);
}

/* A copy of such a place, to be freed; NULL: no memory. */
static inline struct opscope_site *opscope_tracy_copy_site_(uint32_t line, const char *file,
                                                            size_t file_length, const char *function,
                                                            size_t function_length, const char *name,
                                                            size_t name_length, uint32_t colour)
{
    struct opscope_site *site =
        (struct opscope_site *)malloc(sizeof *site + file_length + function_length + name_length + 3);
    if (!site)
        return NULL;
    char *text = (char *)(site + 1);
    const char *from[3] = {file, function, name};
    const size_t length[3] = {file_length, function_length, name_length};
    char *to[3];
    for (int i = 0; i < 3; i++) {
        to[i] = text;
        if (length[i])
            memcpy(text, from[i], length[i]);
        text[length[i]] = '\0';
        text += length[i] + 1;
    }
    *site = opscope_tracy_site_(line, to[0], to[1], name_length ? to[2] : NULL, colour);
    return site;
}

static inline int opscope_tracy_zone_begin_copy_(uint32_t line, const char *file, size_t file_length,
                                                 const char *function, size_t function_length,
                                                 const char *name, size_t name_length, uint32_t colour)
{
    if (!opscope_is_recording())
        return 0;
    struct opscope_site *site = opscope_tracy_copy_site_(line, file, file_length, function, function_length,
                                                         name, name_length, colour);
    int is_open = site ? opscope_zone_begin_(site) : 0;
    free(site);
    return is_open;
}

__attribute__((format(printf, 1, 0))) static inline void opscope_tracy_zone_format_(const char *format,
                                                                                    va_list values)
{
    char text[512];
    va_list again;
    va_copy(again, values);
    int length = vsnprintf(text, sizeof text, format, values);
    if (length >= 0 && (size_t)length < sizeof text) {
        opscope_zone_text_(text, (size_t)length);
    } else if (length >= 0) {
        char *longer = (char *)malloc((size_t)length + 1);
        if (longer) {
            vsnprintf(longer, (size_t)length + 1, format, again);
            opscope_zone_text_(longer, (size_t)length);
            free(longer);
        }
    }
    va_end(again);
}

static inline void opscope_tracy_message_(const char *text, size_t length)
{
    OPSCOPE_IF_RECORDING_(opscope_message_(text, length));
}

static inline void opscope_tracy_app_info_(const char *text, size_t length)
{
    if (!opscope_is_recording())
        return;
    static const char head[] = "application: ";
    char *whole = (char *)malloc(sizeof head + length);
    if (!whole)
        return;
    memcpy(whole, head, sizeof head - 1);
    if (length)
        memcpy(whole + sizeof head - 1, text, length);
    opscope_message_(whole, sizeof head - 1 + length);
    free(whole);
}

/* A plot goes by the address of its name, which stays as it is: what the recorder learned of the first one that a place
 * gave is kept there. */
static inline void opscope_tracy_plot_(struct opscope_site *site, const char *name, double value)
{
    if (!opscope_is_recording())
        return;
    const char *known = __atomic_load_n(&site->name, __ATOMIC_RELAXED);
    if (!known && name)
        __atomic_compare_exchange_n(&site->name, &known, name, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (name && name == __atomic_load_n(&site->name, __ATOMIC_RELAXED))
        opscope_counter_(site, value);
    else
        opscope_counter_named_(name, value);
}

#define OPSCOPE_TRACY_PLOT_(name, value)                                                                     \
    do {                                                                                                     \
        static struct opscope_own_site_ opscope_site_here_ = {                                               \
            {sizeof(struct opscope_site), 0, NULL, NULL, NULL, 0, 0}};                                       \
        opscope_tracy_plot_(&opscope_site_here_.site, name, value);                                          \
    } while (0)

/* Frames of one name are one set, wherever they are marked; Tracy calls the nameless one so. */
static inline void opscope_tracy_frame_(const char *name)
{
    if (!opscope_is_recording())
        return;
    struct opscope_site site = opscope_tracy_site_(0, NULL, NULL, name ? name : "Frame", 0);
    opscope_frame_(&site);
}

/* Spans are told apart among the open ones of their thread; those of Python have small numbers. */
#define OPSCOPE_TRACY_SPAN_ (UINT64_C(1) << 63)

static inline uint64_t opscope_tracy_frame_number_(const char *name)
{
    uint64_t hash = 14695981039346656037u;
    for (; name && *name; name++)
        hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    return hash | OPSCOPE_TRACY_SPAN_;
}

/* Frames with pauses between them. Begin and end are on one thread. */
static inline void opscope_tracy_frame_start_(const char *name)
{
    OPSCOPE_IF_RECORDING_(
        opscope_span_begin_(name, opscope_tracy_length_(name), opscope_tracy_frame_number_(name)));
}
static inline void opscope_tracy_frame_end_(const char *name)
{
    OPSCOPE_IF_RECORDING_(opscope_span_end_(opscope_tracy_frame_number_(name)));
}

static inline void opscope_tracy_fiber_enter_(const char *name)
{
    OPSCOPE_IF_RECORDING_(opscope_task_switch_(name, opscope_tracy_length_(name), 0));
}
static inline void opscope_tracy_fiber_leave_(void)
{
    OPSCOPE_IF_RECORDING_(opscope_task_switch_(NULL, 0, 0));
}

/* --- locks: waiting for one is also a zone of the thread, "wait for NAME" --- */

struct opscope_tracy_lock_name { /* followed by the text */
    struct opscope_tracy_lock_name *before;
};

struct opscope_tracy_lock {
    struct opscope_site wait, own; /* names: of who waits for it, and of itself */
    /* those before it stay until the end: threads may be reading them */
    struct opscope_tracy_lock_name *name;
    uint32_t held; /* how often, as far as it is recorded */
};

#define OPSCOPE_TRACY_WAIT_ "wait for "

/* Waits of this thread whose zones are open. */
__attribute__((weak)) extern __thread uint32_t opscope_tracy_waits_;
__attribute__((weak)) __thread uint32_t opscope_tracy_waits_ = 0;

static inline void opscope_tracy_lock_name_(struct opscope_tracy_lock *lock, const char *text, size_t length)
{
    const size_t head = sizeof OPSCOPE_TRACY_WAIT_ - 1;
    struct opscope_tracy_lock_name *name =
        (struct opscope_tracy_lock_name *)malloc(sizeof *name + head + length + 1);
    if (!name)
        return;
    char *copy = (char *)(name + 1);
    memcpy(copy, OPSCOPE_TRACY_WAIT_, head);
    if (length)
        memcpy(copy + head, text, length);
    copy[head + length] = '\0';
    name->before = lock->name;
    lock->name = name;
    __atomic_store_n(&lock->wait.name, copy, __ATOMIC_RELEASE);
    __atomic_store_n(&lock->own.name, copy + head, __ATOMIC_RELEASE);
    __atomic_store_n(&lock->wait.id, 0, __ATOMIC_RELEASE); /* to be looked up again */
    __atomic_store_n(&lock->own.id, 0, __ATOMIC_RELEASE);
}

static inline void opscope_tracy_lock_init_(struct opscope_tracy_lock *lock, const char *name,
                                            const char *file, uint32_t line)
{
    lock->wait = opscope_tracy_site_(line, file, "lock", name, 0);
    lock->own = opscope_tracy_site_(0, NULL, NULL, name, 0);
    lock->name = NULL;
    lock->held = 0;
    opscope_tracy_lock_name_(lock, name, opscope_tracy_length_(name));
}

static inline void opscope_tracy_lock_destroy_(struct opscope_tracy_lock *lock)
{
    for (struct opscope_tracy_lock_name *name = lock->name; name;) {
        struct opscope_tracy_lock_name *before = name->before;
        free(name);
        name = before;
    }
    lock->name = NULL;
}

static inline int opscope_tracy_lock_step_(struct opscope_tracy_lock *lock, int step, int is_shared)
{
    return opscope_lock_(&lock->own, (uint64_t)(uintptr_t)lock,
                         is_shared ? step | OPSCOPE_LOCK_SHARED_ : step);
}

static inline void opscope_tracy_lock_wait_(struct opscope_tracy_lock *lock, int is_shared)
{
    if (opscope_zone_enter_(&lock->wait)) {
        opscope_tracy_waits_++;
        opscope_tracy_lock_step_(lock, OPSCOPE_LOCK_WAIT_, is_shared);
    }
}

/* The wait is over, if there was one: a lock that is only tried may be reported without its beginning. */
static inline void opscope_tracy_lock_waited_(struct opscope_tracy_lock *lock, int is_taken, int is_shared)
{
    const int had_wait = opscope_tracy_waits_ != 0;
    if (had_wait) {
        opscope_tracy_waits_--;
        opscope_zone_leave_();
    }
    if (had_wait ? !opscope_has_session() : !is_taken || !opscope_is_recording())
        return;
    if (opscope_tracy_lock_step_(lock, is_taken ? OPSCOPE_LOCK_OBTAINED_ : OPSCOPE_LOCK_GAVE_UP_, is_shared))
        __atomic_fetch_add(&lock->held, 1, __ATOMIC_RELAXED);
}

/* Of a hold that was recorded, also while paused. */
static inline void opscope_tracy_lock_released_(struct opscope_tracy_lock *lock, int is_shared)
{
    if (!opscope_has_session() || !__atomic_load_n(&lock->held, __ATOMIC_RELAXED))
        return;
    __atomic_fetch_sub(&lock->held, 1, __ATOMIC_RELAXED);
    opscope_tracy_lock_step_(lock, OPSCOPE_LOCK_RELEASED_, is_shared);
}

#ifdef __cplusplus
}
#endif

#endif
