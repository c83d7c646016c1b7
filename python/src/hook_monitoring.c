/* SPDX-License-Identifier: Apache-2.0 */
/* Python 3.12 and later: sys.monitoring with C callbacks. Frame evaluation would do as well, but there each call then
 * counts twice against the C recursion limit: 3.12.1 stops at 750 frames, below Python's own limit of 1,000.
 *
 * The callbacks are objects of a type of our own with a vectorcall slot: a built-in function would add its checks of
 * arguments and recursion to each event. Code that is not recorded (hidden, filtered out) answers DISABLE and costs
 * nothing from then on.
 *
 * The tool id is 4 or 3, which are nobody's, and only else the profiler's, 2, without which cProfile refuses to start.
 * Event numbers are read from sys.monitoring.events: they are not the same in all versions. */
#include "base/count_of.h"
#include "python/src/native.h"

#if PY_VERSION_HEX >= 0x030c0000

#include "python/src/fast.h"

bool hook_is_active, hook_is_fast;
unsigned hook_active_flags;

static int tool_id = -1;
static long active_events;
static PyObject *disable; /* sys.monitoring.DISABLE */

const char *hook_name(void)
{
    return "sys.monitoring";
}

/* --- events --- */

/* Hidden for good, and not a framework's, whose frames mute what is below them. */
static inline bool is_disabled(struct code_site *site)
{
    return (site->special & (SITE_HIDDEN | SITE_STALE)) == SITE_HIDDEN && !framework_shows(site) &&
           !framework_mutes(site);
}

/* The name that is being imported: the first argument of the frame that begins. */
static int begin_import(void)
{
    PyFrameObject *frame = PyEval_GetFrame();
    PyObject *name = frame ? PyFrame_GetVarString(frame, "name") : NULL;
    if (!name)
        PyErr_Clear();
    int is_open = import_begin(name);
    Py_XDECREF(name);
    return is_open;
}

/* True when the event may be switched off for this code. */
__attribute__((noinline)) static bool start_special(PyCodeObject *code)
{
    struct thread_stack *t = &thread_stack;
    if (!hook_records())
        return false;
    if (t->ready_run != hook_run)
        stack_set_up(t);
    struct code_site *site = code_site_of(code, PyEval_GetGlobals());
    if (is_disabled(site))
        return true;
    if (((site->special & SITE_HIDDEN) | t->is_muted) && !framework_shows(site)) {
        stack_push_call(code, t->depth, false, false);
        t->is_muted |= framework_mutes(site);
        return false;
    }
    if (stack_is_too_deep(t)) {
        stack_push_call(code, t->depth, false, false);
        return false;
    }
    uint32_t depth = t->depth;
    bool has_task = (site->special & SITE_COROUTINE) && task_begin(t);
    int is_open = site->special & SITE_IMPORT ? begin_import() : code_site_begin(site);
    t->depth += is_open != 0;
    stack_push_call(code, depth, is_open, has_task);
    t->is_muted = false;
    return false;
}

static inline bool start_call(PyCodeObject *code)
{
    return UNLIKELY(!fast_begin_call(&thread_stack, code)) && start_special(code);
}

#define EVENT(name)                                                                                          \
    static PyObject *name(PyObject *self, PyObject *const *args, size_t count, PyObject *names)

/* A C extension may fire events for code of its own (PyMonitoring_*, 3.13), of whatever type. */
static inline bool has_arguments(PyObject *const *args, size_t count, Py_ssize_t wanted)
{
    return PyVectorcall_NARGS(count) >= wanted && LIKELY(PyCode_Check(args[0]));
}

EVENT(on_start) /* PY_START, PY_RESUME */
{
    (void)self;
    (void)names;
    if (UNLIKELY(has_arguments(args, count, 1) && start_call((PyCodeObject *)args[0])))
        return Py_NewRef(disable);
    Py_RETURN_NONE;
}

EVENT(on_throw) /* resumes a suspended frame with an exception; cannot be switched off */
{
    (void)self;
    (void)names;
    if (has_arguments(args, count, 1))
        start_call((PyCodeObject *)args[0]);
    Py_RETURN_NONE;
}

__attribute__((noinline)) static PyObject *end_special(PyObject *const *args, size_t count)
{
    if (!has_arguments(args, count, 1))
        Py_RETURN_NONE;
    struct code_site *site = code_site_known((PyCodeObject *)args[0]);
    if (site && is_disabled(site))
        return Py_NewRef(disable);
    stack_end_call(args[0]);
    Py_RETURN_NONE;
}

EVENT(on_end) /* PY_RETURN, PY_YIELD */
{
    (void)self;
    (void)names;
    if (UNLIKELY(PyVectorcall_NARGS(count) < 1 || !fast_end_call(&thread_stack, args[0])))
        return end_special(args, count);
    Py_RETURN_NONE;
}

EVENT(on_unwind) /* cannot be switched off */
{
    (void)self;
    (void)names;
    struct code_site *site = has_arguments(args, count, 1) ? code_site_known((PyCodeObject *)args[0]) : NULL;
    if (site && !is_disabled(site) && !fast_end_call(&thread_stack, args[0]))
        stack_end_call(args[0]);
    Py_RETURN_NONE;
}

/* 0: none that could be recorded. */
static inline uint32_t line_of(PyObject *number)
{
    PyLongObject *value = (PyLongObject *)number;
    Py_ssize_t line = PyLong_Check(number) && LIKELY(PyUnstable_Long_IsCompact(value))
                          ? PyUnstable_Long_CompactValue(value)
                          : 0;
    return line > 0 ? (uint32_t)line : 0;
}

__attribute__((noinline)) static PyObject *line_special(PyObject *const *args, size_t count)
{
    struct thread_stack *t = &thread_stack;
    struct code_site *site = has_arguments(args, count, 2) ? code_site_known((PyCodeObject *)args[0]) : NULL;
    if (site && is_disabled(site))
        return Py_NewRef(disable);
    const struct open_call *call = innermost_call(t, args[0]);
    uint32_t line = site && call && opscope_is_recording() ? line_of(args[1]) : 0;
    if (line)
        code_site_line_begins(site, call->depth + call->has_task + 1, line);
    Py_RETURN_NONE;
}

EVENT(on_line)
{
    (void)self;
    (void)names;
    struct thread_stack *t = &thread_stack;
    const struct open_call *call = LIKELY(PyVectorcall_NARGS(count) >= 2) ? innermost_call(t, args[0]) : NULL;
    const struct code_site *site = LIKELY(call) ? code_site_known((PyCodeObject *)args[0]) : NULL;
    if (UNLIKELY(!site || !fast_line(t, site, call->depth + call->has_task + 1, line_of(args[1]))))
        return line_special(args, count);
    Py_RETURN_NONE;
}

static bool is_python_callable(PyObject *callable)
{
    if (PyMethod_Check(callable))
        callable = PyMethod_GET_FUNCTION(callable);
    return PyFunction_Check(callable);
}

/* Of code that is not recorded itself, C calls are not either. */
EVENT(on_call)
{
    (void)self;
    (void)names;
    if (!has_arguments(args, count, 3) || !hook_is_active || !opscope_is_recording() ||
        is_python_callable(args[2]))
        Py_RETURN_NONE;
    struct thread_stack *t = &thread_stack;
    struct code_site *site = code_site_known((PyCodeObject *)args[0]);
    if (t->is_muted || (site && (site->special & SITE_HIDDEN)) || stack_is_too_deep(t))
        stack_push_call(args[2], t->depth, false, false);
    else if (c_call_begin(args[2]))
        stack_push_call(args[2], t->depth++, true, false);
    Py_RETURN_NONE;
}

EVENT(on_c_end)
{
    (void)self;
    (void)names;
    if (has_arguments(args, count, 3))
        stack_end_call(args[2]);
    Py_RETURN_NONE;
}

/* --- callbacks --- */

struct callback {
    PyObject_HEAD vectorcallfunc call;
};

static PyTypeObject callback_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "opscope._native.callback",
    .tp_basicsize = sizeof(struct callback),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_vectorcall_offset = offsetof(struct callback, call),
    .tp_call = PyVectorcall_Call,
};

static PyObject *callback_new(vectorcallfunc function)
{
    if (PyType_Ready(&callback_type) != 0)
        return NULL;
    struct callback *made = PyObject_New(struct callback, &callback_type);
    if (made)
        made->call = function;
    return (PyObject *)made;
}

static const struct subscription {
    const char *event;
    vectorcallfunc function;
    unsigned only_with; /* 0: always */
    bool has_event_bit; /* C_RETURN and C_RAISE come with CALL */
} subscriptions[] = {
    {"PY_START", on_start, 0, true},
    {"PY_RESUME", on_start, 0, true},
    {"PY_THROW", on_throw, 0, true},
    {"PY_RETURN", on_end, 0, true},
    {"PY_YIELD", on_end, 0, true},
    {"PY_UNWIND", on_unwind, 0, true},
    {"LINE", on_line, HOOK_LINES, true},
    {"CALL", on_call, HOOK_C_CALLS, true},
    {"C_RETURN", on_c_end, HOOK_C_CALLS, false},
    {"C_RAISE", on_c_end, HOOK_C_CALLS, false},
};

static PyObject *monitoring(void)
{
    return PySys_GetObject("monitoring"); /* borrowed */
}

static bool take_tool_id(PyObject *module)
{
    for (int id = 4; id >= 2 && tool_id < 0; id--) {
        PyObject *done = PyObject_CallMethod(module, "use_tool_id", "is", id, "opscope");
        if (done)
            tool_id = id;
        else
            PyErr_Clear();
        Py_XDECREF(done);
    }
    if (tool_id < 0)
        PyErr_SetString(PyExc_RuntimeError, "sys.monitoring has no free tool id (2, 3 and 4 are taken)");
    return tool_id >= 0;
}

/* Registers a callback, and adds the event's number to *events. */
static bool subscribe(PyObject *module, PyObject *numbers, const struct subscription *s, long *events)
{
    PyObject *number = PyObject_GetAttrString(numbers, s->event);
    PyObject *callback = number ? callback_new(s->function) : NULL;
    PyObject *old =
        callback ? PyObject_CallMethod(module, "register_callback", "iOO", tool_id, number, callback) : NULL;
    if (old && s->has_event_bit)
        *events |= PyLong_AsLong(number);
    Py_XDECREF(number);
    Py_XDECREF(callback);
    Py_XDECREF(old);
    return old != NULL;
}

static bool set_events(long events)
{
    PyObject *done = PyObject_CallMethod(monitoring(), "set_events", "il", tool_id, events);
    Py_XDECREF(done);
    return done != NULL;
}

static bool subscribe_all(PyObject *module, unsigned flags, long *events)
{
    PyObject *numbers = PyObject_GetAttrString(module, "events");
    bool is_good = numbers != NULL;
    for (size_t i = 0; is_good && i < COUNT_OF(subscriptions); i++) {
        const struct subscription *s = &subscriptions[i];
        if (!s->only_with || (flags & s->only_with))
            is_good = subscribe(module, numbers, s, events);
    }
    Py_XDECREF(numbers);
    return is_good;
}

static bool asks_again;

void hook_ask_again(void)
{
    asks_again = true;
}

/* Of all tools: an event that comes once too often does no harm. */
static bool restart_events(PyObject *module)
{
    PyObject *done = asks_again ? PyObject_CallMethod(module, "restart_events", NULL) : Py_NewRef(Py_None);
    asks_again = asks_again && !done;
    Py_XDECREF(done);
    return done != NULL;
}

bool hook_start(unsigned flags)
{
    PyObject *module = monitoring();
    long events = 0;
    if (!module) {
        PyErr_SetString(PyExc_RuntimeError, "this Python has no sys.monitoring");
        return false;
    }
    if (hook_is_active)
        return true;
    if (!disable && !(disable = PyObject_GetAttrString(module, "DISABLE")))
        return false;
    if (!take_tool_id(module) || !subscribe_all(module, flags, &events) || !restart_events(module) ||
        ((flags & HOOK_GC) && !gc_zones_set(true)))
        return false;
    hook_active_flags = flags;
    hook_is_active = true;
    hook_run++;
    hook_is_fast = stack_max_depth == UINT32_MAX && fast_is_possible();
    active_events = events;
    if (!set_events(events))
        hook_is_active = hook_is_fast = false;
    return hook_is_active;
}

static bool
    was_fast; /* when it was taken out: not to be asked in the thread that puts it back, which has no track */

void hook_take_out(void)
{
    was_fast = hook_is_fast;
    hook_is_fast = false;
    set_events(0);
    stack_drop_calls();
}

void hook_put_back(void)
{
    hook_run++;
    hook_is_fast = was_fast;
    set_events(active_events);
}

/* The calling thread's open calls end here; another thread's when it next begins one (stack_set_up), or with the
 * thread: nobody else can write into its track. */
void hook_stop(void)
{
    if (!hook_is_active)
        return;
    hook_is_active = hook_is_fast = false;
    if ((hook_active_flags & HOOK_GC) && !gc_zones_set(false))
        PyErr_Clear();
    if (!set_events(0))
        PyErr_Clear();
    stack_drop_calls();
    PyObject *done = PyObject_CallMethod(monitoring(), "free_tool_id", "i", tool_id);
    if (!done)
        PyErr_Clear();
    Py_XDECREF(done);
    tool_id = -1;
}

#endif
