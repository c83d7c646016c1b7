/* SPDX-License-Identifier: Apache-2.0 */
/* Python 3.12 and later: sys.monitoring with C callbacks. Frame evaluation would do as well, but there each call then
 * counts twice against the C recursion limit: 3.12.1 stops at 750 frames, below Python's own limit of 1,000.
 *
 * The tool id is 4 or 3, which are nobody's, and only else the profiler's, 2, without which cProfile refuses to start.
 * Event numbers are read from sys.monitoring.events: they are not the same in all versions. */
#include "native.h"

#if PY_VERSION_HEX >= 0x030c0000

bool hook_is_active;
unsigned hook_active_flags;

static int tool_id = -1;

const char *hook_name(void)
{
    return "sys.monitoring";
}

static PyObject *on_start(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count >= 1 && hook_is_active && opscope_is_recording()) {
        struct thread_stack *t = &thread_stack;
        stack_started();
        struct code_site *site = code_site_of((PyCodeObject *)args[0]);
        if (UNLIKELY(site->is_hidden | t->is_muted) && !framework_shows(site)) {
            stack_push_hidden_call(args[0]);
            t->is_muted |= framework_mutes(site);
        } else if (opscope_zone_begin_(&site->site)) {
            stack_push_call(args[0], t->depth++);
            t->is_muted = false;
        }
    }
    Py_RETURN_NONE;
}

static PyObject *on_end(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count >= 1)
        stack_end_call(args[0]);
    Py_RETURN_NONE;
}

/* PY_THROW resumes a suspended frame with an exception; so does PY_RESUME without. */
static PyObject *on_line(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    struct thread_stack *t = &thread_stack;
    if (count >= 2 && t->call_count && t->calls[t->call_count - 1].key == args[0] &&
        t->calls[t->call_count - 1].is_shown && opscope_is_recording()) {
        long line = PyLong_AsLong(args[1]);
        stack_pop_to(t->calls[t->call_count - 1].depth + 1);
        if (line > 0 && code_site_begin_line(code_site_of((PyCodeObject *)args[0]), (uint32_t)line))
            t->depth++;
    }
    Py_RETURN_NONE;
}

static bool is_python_callable(PyObject *callable)
{
    if (PyMethod_Check(callable))
        callable = PyMethod_GET_FUNCTION(callable);
    return PyFunction_Check(callable);
}

static PyObject *on_call(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count >= 3 && hook_is_active && opscope_is_recording() && !is_python_callable(args[2])) {
        struct thread_stack *t = &thread_stack;
        if (UNLIKELY(t->is_muted))
            stack_push_hidden_call(args[2]);
        else if (c_call_begin(args[2]))
            stack_push_call(args[2], t->depth++);
    }
    Py_RETURN_NONE;
}

static PyObject *on_c_end(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    (void)self;
    if (count >= 3)
        stack_end_call(args[2]);
    Py_RETURN_NONE;
}

#define CALLBACK(function)                                                                                   \
    {                                                                                                        \
#function, (PyCFunction)(void (*)(void))function, METH_FASTCALL, NULL                                \
    }
static PyMethodDef start_method = CALLBACK(on_start), end_method = CALLBACK(on_end),
                   line_method = CALLBACK(on_line), call_method = CALLBACK(on_call),
                   c_end_method = CALLBACK(on_c_end);

static const struct subscription {
    const char *event;
    PyMethodDef *method;
    unsigned only_with; /* 0: always */
    bool has_event_bit; /* C_RETURN and C_RAISE come with CALL */
} subscriptions[] = {
    {"PY_START", &start_method, 0, true},
    {"PY_RESUME", &start_method, 0, true},
    {"PY_THROW", &start_method, 0, true},
    {"PY_RETURN", &end_method, 0, true},
    {"PY_YIELD", &end_method, 0, true},
    {"PY_UNWIND", &end_method, 0, true},
    {"LINE", &line_method, HOOK_LINES, true},
    {"CALL", &call_method, HOOK_C_CALLS, true},
    {"C_RETURN", &c_end_method, HOOK_C_CALLS, false},
    {"C_RAISE", &c_end_method, HOOK_C_CALLS, false},
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
        PyErr_SetString(PyExc_RuntimeError,
                        "opscope: sys.monitoring has no free tool id (2, 3 and 4 are taken)");
    return tool_id >= 0;
}

/* Registers a callback, and adds the event's number to *events. */
static bool subscribe(PyObject *module, PyObject *numbers, const struct subscription *s, long *events)
{
    PyObject *number = PyObject_GetAttrString(numbers, s->event);
    PyObject *callback = number ? PyCFunction_New(s->method, NULL) : NULL;
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

bool hook_start(unsigned flags)
{
    PyObject *module = monitoring();
    if (!module) {
        PyErr_SetString(PyExc_RuntimeError, "opscope: this Python has no sys.monitoring");
        return false;
    }
    if (hook_is_active)
        return true;
    if (!take_tool_id(module))
        return false;
    PyObject *numbers = PyObject_GetAttrString(module, "events");
    long events = 0;
    bool is_good = numbers != NULL;
    for (size_t i = 0; is_good && i < sizeof subscriptions / sizeof subscriptions[0]; i++) {
        const struct subscription *s = &subscriptions[i];
        if (!s->only_with || (flags & s->only_with))
            is_good = subscribe(module, numbers, s, &events);
    }
    Py_XDECREF(numbers);
    hook_is_active = is_good;
    hook_active_flags = flags;
    if (is_good && !set_events(events))
        hook_is_active = is_good = false;
    return is_good;
}

/* The calling thread's open calls end here. Another thread's end when it next ends one that was begun later, or with
 * the thread. */
void hook_stop(void)
{
    if (!hook_is_active)
        return;
    hook_is_active = false;
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
