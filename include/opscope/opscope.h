/* SPDX-License-Identifier: Apache-2.0 */
/* opscope: mark up a program so that `opscope run PROGRAM` shows where its time goes.
 *
 *     #include <opscope/opscope.h>
 *
 *     void step(void)
 *     {
 *         OPSCOPE_FUNCTION();              // a zone until the end of the block
 *         {
 *             OPSCOPE_ZONE("load batch");  // a zone with a name of its own
 *             ...
 *         }
 *         OPSCOPE_COUNTER("queue length", n);
 *     }
 *
 * Without a session (no `opscope run` around the program), and while it is paused, a zone is one load and one branch.
 * Every function may be called from any thread, from signal handlers, before main, in atexit handlers and after
 * fork. None of them fails: what cannot be recorded is counted as lost and shown with the trace.
 *
 * Compile with -DOPSCOPE_DISABLE to turn everything into nothing. */
#ifndef OPSCOPE_OPSCOPE_H
#define OPSCOPE_OPSCOPE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OPSCOPE_ABI 1 /* of the functions below; `opscope --version` prints it */

#if defined(__GNUC__)
#define OPSCOPE_API __attribute__((visibility("default")))
#else
#define OPSCOPE_API
#endif

/* Where a zone, counter or frame is in the source. One static object per call site; the library keeps what it
 * learned about the site in `id`. struct_size lets the struct grow. */
struct opscope_site {
    uint32_t struct_size;
    uint32_t line;
    const char *name;
    const char *function;
    const char *file;
    uint32_t colour; /* 0xRRGGBB; 0 = chosen by the viewer */
    uint32_t id;     /* the library's */
};

/* CPU: what the host itself computed by the time the call returned. Its run is the call, less the ops inside it, where
 * no device ran anything. */
enum opscope_op_type {
    OPSCOPE_OP_DEVICE = 0,
    OPSCOPE_OP_HOST = 1,
    OPSCOPE_OP_FALLBACK = 2,
    OPSCOPE_OP_CPU = 3
};

struct opscope_tensor {
    uint32_t struct_size;
    uint32_t rank;               /* up to 16 */
    const int64_t *shape;        /* logical */
    const int64_t *padded_shape; /* NULL = same as shape */
    const char *dtype;           /* "BFLOAT16"; texts may be NULL */
    const char *layout;          /* "TILE", "ROW_MAJOR" */
    const char *memory;          /* "DEV_1_DRAM_INTERLEAVED" */
};

/* What opscope_device_open_as takes. A machine file is chosen by the architecture, so name the chip as its vendor
 * does: "sm_90", "gfx942". */
struct opscope_device {
    uint32_t struct_size;
    uint32_t number;
    const char *name;         /* texts may be NULL: unknown */
    const char *architecture; /* what kind of device this is */
    double ticks_per_second;  /* of the times that are recorded for it */
    const char *identity;     /* its serial number, where processes count devices differently */
};

enum opscope_track_kind {
    OPSCOPE_TRACK_QUEUE = 3,
    OPSCOPE_TRACK_CORE = 4,
    OPSCOPE_TRACK_PROCESSOR = 5,
    OPSCOPE_TRACK_DMA = 6,
    OPSCOPE_TRACK_OTHER = 7
};

struct opscope_run_part { /* time of one processor in a run, in device ticks */
    const char *name;
    uint64_t ticks;
};

/* What is known of a run beyond times of processors: memory traffic, counters, a utilisation. */
enum opscope_figure_kind {
    OPSCOPE_FIGURE_TICKS = 0, /* of the device's clock */
    OPSCOPE_FIGURE_NS = 1,
    OPSCOPE_FIGURE_COUNT = 2,
    OPSCOPE_FIGURE_BYTES = 3,
    OPSCOPE_FIGURE_REAL = 4,
    OPSCOPE_FIGURE_PERCENT = 5, /* real, 100 is all */
    OPSCOPE_FIGURE_TEXT = 6
};

struct opscope_figure {
    const char *name;
    uint32_t kind; /* enum opscope_figure_kind */
    uint32_t reserved;
    union {
        uint64_t whole;
        double real;      /* OPSCOPE_FIGURE_REAL, OPSCOPE_FIGURE_PERCENT */
        const char *text; /* OPSCOPE_FIGURE_TEXT */
    } value;
};

enum opscope_run_flag { OPSCOPE_RUN_ESTIMATED = 1 }; /* from a model of the device, not measured on one */

struct opscope_run { /* one execution of an op on a device */
    uint32_t struct_size;
    uint32_t track;   /* from opscope_device_track */
    uint64_t op_call; /* from opscope_op_begin; 0 = unknown */
    const char *name;
    uint64_t start_ticks;
    uint64_t duration_ticks;
    uint32_t cores;
    uint32_t session;    /* trace replay session; 0 = none */
    uint32_t part_count; /* up to 32 */
    uint32_t flags;      /* enum opscope_run_flag */
    const struct opscope_run_part *parts;
    const struct opscope_figure *figures;
    uint32_t figure_count; /* up to 32 */
    uint32_t reserved;
};

#ifndef OPSCOPE_DISABLE

/* 0: this process is not recorded; 1: it is, or may be; 2: it is in a session that is paused. Read it only through the
 * two functions below. */
OPSCOPE_API extern int opscope_recording;

/* For programs that start recording themselves: joins the session that OPSCOPE_SESSION names now, whether this process
 * was in another before or in none. Returns 0 or an errno; nothing is recorded then. Not to be called by two threads at
 * once, nor by a signal handler. */
OPSCOPE_API int opscope_session_join_(void);
OPSCOPE_API void opscope_session_leave_(void); /* nothing is recorded any more until the next join */
/* For adapters of devices, four at most, that are never unloaded: function(0) is called before a session is left, and
 * may wait for what is under way on the device; function(1) after it. */
OPSCOPE_API void opscope_on_leave_(void (*function)(int is_over));

static inline int opscope_is_recording(void)
{
    return __atomic_load_n(&opscope_recording, __ATOMIC_RELAXED) == 1;
}
/* Also while paused: for what must stay in balance, and for what describes the process or its devices. */
static inline int opscope_has_session(void)
{
    return __atomic_load_n(&opscope_recording, __ATOMIC_RELAXED) != 0;
}

/* Called through the table of addresses directly, without a jump in between, where the compiler can. */
#define OPSCOPE_HOT_
#if defined(__x86_64__) && defined(__has_attribute)
#if __has_attribute(noplt)
#undef OPSCOPE_HOT_
#define OPSCOPE_HOT_ __attribute__((noplt))
#endif
#endif

/* The recorder's side of the calls below; use the macros and the inline functions. */
OPSCOPE_API int opscope_zone_begin_(struct opscope_site *site) OPSCOPE_HOT_;
OPSCOPE_API void opscope_zone_end_(void) OPSCOPE_HOT_;
OPSCOPE_API int opscope_zone_begin_named_(const char *name, size_t length, uint32_t colour);
/* A zone that was not begun because recording is paused will end: that end is not another zone's. */
OPSCOPE_API void opscope_zone_hide_(void);
OPSCOPE_API void opscope_pause_(int is_paused);
/* For whoever hears of a program's own calls that start and stop profilers (cudaProfilerStart): with
 * `opscope run --capture cuda-profiler-api` what is between them is recorded; else this does nothing. */
OPSCOPE_API void opscope_capture_(int is_on);
OPSCOPE_API int opscope_task_begin_(const char *name, size_t length, uint64_t number);
/* From here on the thread runs another stack (a fiber, a greenlet): what the one before has open stays open until it
 * goes on. NULL: the one that the thread began with. */
OPSCOPE_API void opscope_task_switch_(const char *name, size_t length, uint64_t number);
/* A span is a zone that may last over what its thread does in between: other tasks' turns. It has a number that its
 * process uses once. opscope_zone_suspend_: the innermost zone goes on as a span; its part up to its end, which
 * follows, is called `part`. */
OPSCOPE_API void opscope_span_begin_(const char *name, size_t length, uint64_t number);
OPSCOPE_API void opscope_span_end_(uint64_t number);
OPSCOPE_API void opscope_zone_suspend_(const char *part, size_t length, uint64_t number);
/* What a thread did with a lock, which has a number among those of its process: its address, say. Returns whether it is
 * now recorded as held, and its release is to be reported. */
enum opscope_lock_step_ {
    OPSCOPE_LOCK_WAIT_ = 0,
    OPSCOPE_LOCK_OBTAINED_ = 1,
    OPSCOPE_LOCK_RELEASED_ = 2,
    OPSCOPE_LOCK_GAVE_UP_ = 3,
    OPSCOPE_LOCK_SHARED_ = 4 /* added to one of the others */
};
OPSCOPE_API int opscope_lock_(struct opscope_site *name, uint64_t number, int step);
OPSCOPE_API void opscope_zone_text_(const char *text, size_t length);
OPSCOPE_API void opscope_zone_value_(uint64_t value);
OPSCOPE_API void opscope_zone_colour_(uint32_t colour);
OPSCOPE_API void opscope_signpost_(const char *header, const char *message);
OPSCOPE_API void opscope_message_(const char *text, size_t length);
OPSCOPE_API void opscope_counter_(struct opscope_site *site, double value);
OPSCOPE_API void opscope_counter_named_(const char *name, double value);
OPSCOPE_API void opscope_frame_(struct opscope_site *site);
/* A frame that an observer of a framework sees; nothing in a program that marks frames itself. */
OPSCOPE_API void opscope_frame_observed_(struct opscope_site *site);
OPSCOPE_API void opscope_alloc_(const void *address, size_t size, const char *pool);
OPSCOPE_API void opscope_free_(const void *address, const char *pool);
OPSCOPE_API void opscope_free_all_(const char *pool);
OPSCOPE_API void opscope_thread_name_(const char *name);
OPSCOPE_API uint64_t opscope_op_begin_(const char *name, int type, uint32_t device);
OPSCOPE_API void opscope_op_tensor_(int is_output, const struct opscope_tensor *tensor);
OPSCOPE_API void opscope_op_attribute_(const char *key, const char *value);
OPSCOPE_API void opscope_op_kernel_(const char *name);
OPSCOPE_API void opscope_op_end_(void);
OPSCOPE_API uint64_t opscope_op_current_(void);
/* For observers that see every op of a framework, and keep the ids of its names and descriptions (opscope_name_):
 * a call that repeats costs a record and nothing else. Ids are 0 when nothing is recorded. A description is one text:
 * for each part a byte (1: input, 2: output, 3: attribute, 4: kernel), its text ("shape=2x3;dtype=FLOAT32",
 * "key=value") and a NUL. */
struct opscope_known_op {
    uint32_t name, parts; /* ids; 0: no parts */
    uint32_t type, device;
    uint64_t sequence; /* that the framework counts by, or OPSCOPE_NO_SEQUENCE */
    uint64_t forward;  /* of a backward op: the call that it belongs to; 0 */
};
#define OPSCOPE_NO_SEQUENCE UINT64_MAX
OPSCOPE_API uint64_t opscope_op_begin_known_(const struct opscope_known_op *op) OPSCOPE_HOT_;
OPSCOPE_API void opscope_op_end_known_(uint32_t parts) OPSCOPE_HOT_; /* those known at the end: outputs */
OPSCOPE_API uint64_t opscope_now_(void);
OPSCOPE_API uint32_t opscope_device_open_(const char *name, uint32_t number, double ticks_per_second);
OPSCOPE_API uint32_t opscope_device_open_as_(const struct opscope_device *device);
OPSCOPE_API uint32_t opscope_device_track_(uint32_t device, uint32_t parent, int kind, const char *name,
                                           uint64_t number);
OPSCOPE_API void opscope_device_zone_(uint32_t track, const char *name, uint64_t start_ticks,
                                      uint64_t duration_ticks);
OPSCOPE_API void opscope_device_run_(const struct opscope_run *run);
OPSCOPE_API void opscope_device_track_name_(uint32_t track, const char *name);
OPSCOPE_API void opscope_device_sync_(uint32_t device, uint64_t host_time, uint64_t device_ticks,
                                      uint64_t uncertainty_ns);
OPSCOPE_API void opscope_device_lost_(uint32_t device, uint64_t count, uint64_t start_ticks,
                                      uint64_t end_ticks);
OPSCOPE_API const char *opscope_recorder_version(void);
/* For adapters of device runtimes (docs/internals/cuda.md): the id of a name in what the collector reads, an op of that
 * name, and the path of a file of this process that the collector takes over when the process has ended; 0 or an
 * errno. */
OPSCOPE_API uint32_t opscope_name_(const char *text, size_t length);
OPSCOPE_API uint64_t opscope_op_begin_id_(uint32_t name, int type, uint32_t device);
/* An op of a device that began at `start` (opscope_now) and is over, by the ids of its name and of an attribute, "KEY",
 * NUL, "VALUE" (0: none). Returns the call, as opscope_op_begin. */
OPSCOPE_API uint64_t opscope_op_done_(uint32_t name, uint32_t attribute, uint32_t device, uint64_t start);
/* Also while a process waits for a zone (--capture zone:NAME), where opscope_is_recording says yes, so that it hears of
 * the zone. Tells an op that was refused for it from one that found no room. */
OPSCOPE_API int opscope_is_paused_(void);
OPSCOPE_API int opscope_session_file_(const char *suffix, char *out, size_t size);

#ifdef __cplusplus
}
#endif
#include "zone.h"
#ifdef __cplusplus
extern "C" {
#endif

#define OPSCOPE_IF_RECORDING_(call)                                                                          \
    do {                                                                                                     \
        if (opscope_is_recording())                                                                          \
            call;                                                                                            \
    } while (0)

#define OPSCOPE_IF_SESSION_(call)                                                                            \
    do {                                                                                                     \
        if (opscope_has_session())                                                                           \
            call;                                                                                            \
    } while (0)

#define OPSCOPE_JOIN2_(a, b) a##b
#define OPSCOPE_JOIN_(a, b) OPSCOPE_JOIN2_(a, b)

/* In C++ a static object of an inline function is one for the whole process, and a plug-in that has such a one is never
 * unloaded (STB_GNU_UNIQUE), unless its type is hidden. Each library then has its own, which costs nothing. */
#if defined(__cplusplus) && defined(__GNUC__)
#define OPSCOPE_HIDDEN_ __attribute__((visibility("hidden")))
#else
#define OPSCOPE_HIDDEN_
#endif
struct OPSCOPE_HIDDEN_ opscope_own_site_ {
    struct opscope_site site;
};

#define OPSCOPE_SITE_(variable, name_, colour_)                                                              \
    static struct opscope_own_site_ variable = {{(uint32_t)sizeof(struct opscope_site), (uint32_t)__LINE__,  \
                                                 (name_), __func__, __FILE__, (uint32_t)(colour_), 0}}

static inline void opscope_scope_end_(const int *is_open)
{
    if (*is_open)
        opscope_zone_leave_();
}

#define OPSCOPE_ZONE_AT2_(unique, name, colour) OPSCOPE_ZONE_AT_(unique, name, colour)
#define OPSCOPE_ZONE_AT_(unique, name, colour)                                                               \
    OPSCOPE_SITE_(OPSCOPE_JOIN_(opscope_site_, unique), name, colour);                                       \
    const int OPSCOPE_JOIN_(opscope_scope_, unique) __attribute__((cleanup(opscope_scope_end_), unused)) =   \
        opscope_zone_enter_(&OPSCOPE_JOIN_(opscope_site_, unique).site)

/* A zone until the end of the block. The name must be a string literal. */
#define OPSCOPE_ZONE(name) OPSCOPE_ZONE_AT2_(__COUNTER__, "" name, 0)
#define OPSCOPE_ZONE_COLOUR(name, colour) OPSCOPE_ZONE_AT2_(__COUNTER__, "" name, colour)
/* A zone named as the function it is in. */
#define OPSCOPE_FUNCTION() OPSCOPE_ZONE_AT2_(__COUNTER__, NULL, 0)

/* For code that cannot scope. Ends pair with begins on the same thread, innermost first. */
#define OPSCOPE_BEGIN(name)                                                                                  \
    do {                                                                                                     \
        OPSCOPE_SITE_(opscope_site_here_, "" name, 0);                                                       \
        if (!opscope_zone_enter_(&opscope_site_here_.site) && opscope_has_session())                         \
            opscope_zone_hide_();                                                                            \
    } while (0)
#define OPSCOPE_END() OPSCOPE_IF_SESSION_(opscope_zone_leave_())

#define OPSCOPE_COUNTER(name, value)                                                                         \
    do {                                                                                                     \
        if (opscope_is_recording()) {                                                                        \
            OPSCOPE_SITE_(opscope_site_here_, "" name, 0);                                                   \
            opscope_counter_(&opscope_site_here_.site, (double)(value));                                     \
        }                                                                                                    \
    } while (0)
/* The end of one frame, step or iteration of that name. */
#define OPSCOPE_FRAME(name)                                                                                  \
    do {                                                                                                     \
        if (opscope_has_session()) {                                                                         \
            OPSCOPE_SITE_(opscope_site_here_, "" name, 0);                                                   \
            opscope_frame_(&opscope_site_here_.site);                                                        \
        }                                                                                                    \
    } while (0)

/* A zone whose name is known only at run time: pair with opscope_zone_end. The name is copied. */
static inline void opscope_zone_begin(const char *name)
{
    if (opscope_is_recording() ? !opscope_zone_begin_named_(name, name ? strlen(name) : 0, 0)
                               : opscope_has_session())
        opscope_zone_hide_();
}
static inline void opscope_zone_end(void)
{
    OPSCOPE_IF_SESSION_(opscope_zone_leave_());
}
/* One turn of a coroutine, fiber or task: a zone on the thread's track of the task's name; until its end
 * (opscope_task_end) all that the thread records is on the track of that task. Tasks of one thread are told apart by
 * name and number together. */
static inline void opscope_task_begin(const char *name, uint64_t number)
{
    if (opscope_is_recording() ? !opscope_task_begin_(name, name ? strlen(name) : 0, number)
                               : opscope_has_session())
        opscope_zone_hide_();
}
static inline void opscope_task_end(void)
{
    OPSCOPE_IF_SESSION_(opscope_zone_leave_());
}
/* These three belong to the innermost open zone of this thread. Text: up to 1 MiB. */
static inline void opscope_zone_text(const char *text)
{
    OPSCOPE_IF_RECORDING_(opscope_zone_text_(text, text ? strlen(text) : 0));
}
static inline void opscope_zone_value(uint64_t value)
{
    OPSCOPE_IF_RECORDING_(opscope_zone_value_(value));
}
static inline void opscope_zone_colour(uint32_t rgb)
{
    OPSCOPE_IF_RECORDING_(opscope_zone_colour_(rgb));
}
/* A named moment that reports can start or stop at; message may be NULL. */
static inline void opscope_signpost(const char *header, const char *message)
{
    OPSCOPE_IF_SESSION_(opscope_signpost_(header, message));
}
/* Stops recording in all processes of the session, and goes on with it: in this process at once, in the others some
 * milliseconds later. What a device reports meanwhile is kept: it may be about the time before. */
static inline void opscope_pause(void)
{
    OPSCOPE_IF_SESSION_(opscope_pause_(1));
}
static inline void opscope_resume(void)
{
    OPSCOPE_IF_SESSION_(opscope_pause_(0));
}
static inline void opscope_message(const char *text)
{
    OPSCOPE_IF_RECORDING_(opscope_message_(text, text ? strlen(text) : 0));
}
static inline void opscope_counter(const char *name, double value)
{
    OPSCOPE_IF_RECORDING_(opscope_counter_named_(name, value));
}
static inline void opscope_alloc(const void *address, size_t size, const char *pool)
{
    OPSCOPE_IF_RECORDING_(opscope_alloc_(address, size, pool));
}
static inline void opscope_free(const void *address, const char *pool)
{
    OPSCOPE_IF_RECORDING_(opscope_free_(address, pool));
}
/* All that was allocated from the pool is free again: an arena that is emptied. */
static inline void opscope_free_all(const char *pool)
{
    OPSCOPE_IF_RECORDING_(opscope_free_all_(pool));
}
static inline void opscope_thread_name(const char *name)
{
    OPSCOPE_IF_SESSION_(opscope_thread_name_(name));
}

/* One call of an accelerator operation. Returns the call's id (0 when nothing is recorded), which
 * opscope_device_run takes. Inputs, outputs and attributes belong to the innermost open op of the thread. */
static inline uint64_t opscope_op_begin(const char *name, enum opscope_op_type type, uint32_t device)
{
    return opscope_has_session() ? opscope_op_begin_(name, (int)type, device) : 0;
}
static inline void opscope_op_input(const struct opscope_tensor *tensor)
{
    OPSCOPE_IF_RECORDING_(opscope_op_tensor_(0, tensor));
}
static inline void opscope_op_output(const struct opscope_tensor *tensor)
{
    OPSCOPE_IF_RECORDING_(opscope_op_tensor_(1, tensor));
}
static inline void opscope_op_attribute(const char *key, const char *value)
{
    OPSCOPE_IF_RECORDING_(opscope_op_attribute_(key, value));
}
static inline void opscope_op_kernel(const char *name)
{
    OPSCOPE_IF_RECORDING_(opscope_op_kernel_(name));
}
static inline void opscope_op_end(void)
{
    OPSCOPE_IF_SESSION_(opscope_op_end_());
}
/* The innermost op that this thread has open, or 0: what launches a kernel asks for it and gives it to
 * opscope_device_run. */
static inline uint64_t opscope_op_current(void)
{
    return opscope_is_recording() ? opscope_op_current_() : 0;
}

/* --- device feed: the runtime of a chip hands over what it measured, in the device's own ticks --- */

/* Host time in the session's ticks, to be paired with a device time in opscope_device_sync. */
static inline uint64_t opscope_now(void)
{
    return opscope_has_session() ? opscope_now_() : 0;
}
/* All return 0 when nothing is recorded; 0 is accepted everywhere and means "nowhere". */
static inline uint32_t opscope_device_open(const char *name, uint32_t number, double ticks_per_second)
{
    return opscope_has_session() ? opscope_device_open_(name, number, ticks_per_second) : 0;
}
/* The same for a device that says what it is, so that reports can compare it with what such a chip can do. */
static inline uint32_t opscope_device_open_as(const struct opscope_device *device)
{
    return opscope_has_session() ? opscope_device_open_as_(device) : 0;
}
/* parent: another track of the device, or 0 for the device itself. */
static inline uint32_t opscope_device_track(uint32_t device, uint32_t parent, enum opscope_track_kind kind,
                                            const char *name, uint64_t number)
{
    return opscope_has_session() ? opscope_device_track_(device, parent, (int)kind, name, number) : 0;
}
/* Another name for the track from now on; all of it is shown by the last one. */
static inline void opscope_device_track_name(uint32_t track, const char *name)
{
    OPSCOPE_IF_SESSION_(opscope_device_track_name_(track, name));
}
static inline void opscope_device_zone(uint32_t track, const char *name, uint64_t start_ticks,
                                       uint64_t duration_ticks)
{
    OPSCOPE_IF_SESSION_(opscope_device_zone_(track, name, start_ticks, duration_ticks));
}
static inline void opscope_device_run(const struct opscope_run *run)
{
    OPSCOPE_IF_SESSION_(opscope_device_run_(run));
}
static inline void opscope_device_sync(uint32_t device, uint64_t host_time, uint64_t device_ticks,
                                       uint64_t uncertainty_ns)
{
    OPSCOPE_IF_SESSION_(opscope_device_sync_(device, host_time, device_ticks, uncertainty_ns));
}
/* So many events of a device (or of one of its tracks) were lost before they could be read: its buffer was full.
 * Between two times of its clock; both 0: it is not known when. They are shown with all else that the trace lacks. */
static inline void opscope_device_lost(uint32_t device, uint64_t count, uint64_t start_ticks,
                                       uint64_t end_ticks)
{
    OPSCOPE_IF_SESSION_(opscope_device_lost_(device, count, start_ticks, end_ticks));
}

#else /* OPSCOPE_DISABLE: the same names, which do nothing */

#define OPSCOPE_ZONE(name) ((void)0)
#define OPSCOPE_ZONE_COLOUR(name, colour) ((void)0)
#define OPSCOPE_FUNCTION() ((void)0)
#define OPSCOPE_BEGIN(name) ((void)0)
#define OPSCOPE_END() ((void)0)
#define OPSCOPE_COUNTER(name, value) ((void)sizeof(value))
#define OPSCOPE_FRAME(name) ((void)0)
#define OPSCOPE_NOTHING_(declaration)                                                                        \
    static inline declaration                                                                                \
    {                                                                                                        \
    }
#define OPSCOPE_ZERO_(declaration)                                                                           \
    static inline declaration                                                                                \
    {                                                                                                        \
        return 0;                                                                                            \
    }
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
OPSCOPE_ZERO_(int opscope_is_recording(void))
OPSCOPE_ZERO_(int opscope_has_session(void))
OPSCOPE_NOTHING_(void opscope_pause(void))
OPSCOPE_NOTHING_(void opscope_resume(void))
OPSCOPE_NOTHING_(void opscope_zone_begin(const char *name))
OPSCOPE_NOTHING_(void opscope_zone_end(void))
OPSCOPE_NOTHING_(void opscope_task_begin(const char *name, uint64_t number))
OPSCOPE_NOTHING_(void opscope_task_end(void))
OPSCOPE_NOTHING_(void opscope_zone_text(const char *text))
OPSCOPE_NOTHING_(void opscope_zone_value(uint64_t value))
OPSCOPE_NOTHING_(void opscope_zone_colour(uint32_t rgb))
OPSCOPE_NOTHING_(void opscope_signpost(const char *header, const char *message))
OPSCOPE_NOTHING_(void opscope_message(const char *text))
OPSCOPE_NOTHING_(void opscope_counter(const char *name, double value))
OPSCOPE_NOTHING_(void opscope_alloc(const void *address, size_t size, const char *pool))
OPSCOPE_NOTHING_(void opscope_free(const void *address, const char *pool))
OPSCOPE_NOTHING_(void opscope_free_all(const char *pool))
OPSCOPE_NOTHING_(void opscope_thread_name(const char *name))
OPSCOPE_ZERO_(uint64_t opscope_op_begin(const char *name, enum opscope_op_type type, uint32_t device))
OPSCOPE_NOTHING_(void opscope_op_input(const struct opscope_tensor *tensor))
OPSCOPE_NOTHING_(void opscope_op_output(const struct opscope_tensor *tensor))
OPSCOPE_NOTHING_(void opscope_op_attribute(const char *key, const char *value))
OPSCOPE_NOTHING_(void opscope_op_kernel(const char *name))
OPSCOPE_NOTHING_(void opscope_op_end(void))
OPSCOPE_ZERO_(uint64_t opscope_op_current(void))
OPSCOPE_ZERO_(uint64_t opscope_now(void))
OPSCOPE_ZERO_(uint32_t opscope_device_open(const char *name, uint32_t number, double ticks_per_second))
OPSCOPE_ZERO_(uint32_t opscope_device_open_as(const struct opscope_device *device))
OPSCOPE_ZERO_(uint32_t opscope_device_track(uint32_t device, uint32_t parent, enum opscope_track_kind kind,
                                            const char *name, uint64_t number))
OPSCOPE_NOTHING_(void opscope_device_track_name(uint32_t track, const char *name))
OPSCOPE_NOTHING_(void opscope_device_zone(uint32_t track, const char *name, uint64_t start_ticks,
                                          uint64_t duration_ticks))
OPSCOPE_NOTHING_(void opscope_device_run(const struct opscope_run *run))
OPSCOPE_NOTHING_(void opscope_device_sync(uint32_t device, uint64_t host_time, uint64_t device_ticks,
                                          uint64_t uncertainty_ns))
OPSCOPE_NOTHING_(void opscope_device_lost(uint32_t device, uint64_t count, uint64_t start_ticks,
                                          uint64_t end_ticks))
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif /* OPSCOPE_DISABLE */

#ifdef __cplusplus
}
#endif

#endif
