/* SPDX-License-Identifier: Apache-2.0 */
/* The least that a Python hook can do: read the clock and store 16 bytes, in each of the ways CPython has of telling of
 * calls and lines. bench/suite_python.py compiles it for the interpreter it measures and sets opscope's times beside
 * it; what is above is the profiler's, what is below is CPython's.
 *
 *   start_calls()  3.9 to 3.11: frame evaluation (PEP 523); later: sys.monitoring, a C callback for each kind of event
 *                  that begins or ends a call
 *   start_lines()  3.9 to 3.11: a C trace function; later: the LINE event beside those of calls
 *   start_lines_only()  later than 3.11: LINE alone
 *   count()        events so far, so that the bench can see that the hook was there
 *
 * The store goes round in a buffer of 64 KiB, so it stays in the cache: nobody collects it. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <frameobject.h>
#include <stdint.h>
#include <time.h>

#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#endif

#define RECORDS 4096u

struct record {
    uint64_t time;
    uint32_t id;
    uint32_t kind;
};
static struct record records[RECORDS];
static uint64_t record_count;

static inline uint64_t clock_read(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

static inline void store(const void *what, uint32_t kind)
{
    struct record *r = &records[record_count++ & (RECORDS - 1)];
    r->time = clock_read();
    r->id = (uint32_t)((uintptr_t)what >> 4);
    r->kind = kind;
}

#if PY_VERSION_HEX < 0x030c0000

#if PY_VERSION_HEX >= 0x030b0000
typedef _PyInterpreterFrame frame_type;
#else
typedef PyFrameObject frame_type;
#endif

static PyObject *evaluate(PyThreadState *thread, frame_type *frame, int throwflag)
{
    const void *code = frame->f_code;
    store(code, 0);
    PyObject *result = _PyEval_EvalFrameDefault(thread, frame, throwflag);
    store(code, 1);
    return result;
}

static PyObject *start_calls(PyObject *self, PyObject *arguments)
{
    (void)self;
    (void)arguments;
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), evaluate);
    Py_RETURN_NONE;
}

static int on_event(PyObject *self, PyFrameObject *frame, int what, PyObject *argument)
{
    (void)self;
    (void)argument;
    store((const void *)(uintptr_t)((unsigned)PyFrame_GetLineNumber(frame) << 4), (uint32_t)what);
    return 0;
}

static PyObject *start_lines(PyObject *self, PyObject *arguments)
{
    (void)self;
    (void)arguments;
    PyEval_SetTrace(on_event, NULL);
    Py_RETURN_NONE;
}

#else

static PyObject *on_begin(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self;
    (void)count;
    store(arguments[0], 0);
    Py_RETURN_NONE;
}

static PyObject *on_end(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self;
    (void)count;
    store(arguments[0], 1);
    Py_RETURN_NONE;
}

static PyObject *on_line(PyObject *self, PyObject *const *arguments, Py_ssize_t count)
{
    (void)self;
    (void)count;
    store((const void *)(uintptr_t)((unsigned long)PyLong_AsLong(arguments[1]) << 4), 2);
    Py_RETURN_NONE;
}

static PyMethodDef begin_method = {"on_begin", (PyCFunction)(void (*)(void))on_begin, METH_FASTCALL, NULL};
static PyMethodDef end_method = {"on_end", (PyCFunction)(void (*)(void))on_end, METH_FASTCALL, NULL};
static PyMethodDef line_method = {"on_line", (PyCFunction)(void (*)(void))on_line, METH_FASTCALL, NULL};

static const struct event {
    const char *name;
    PyMethodDef *method;
} events[] = {
    {"PY_START", &begin_method}, {"PY_RESUME", &begin_method}, {"PY_THROW", &begin_method},
    {"PY_RETURN", &end_method},  {"PY_YIELD", &end_method},    {"PY_UNWIND", &end_method},
    {"LINE", &line_method},
};
enum { EVENT_COUNT = sizeof events / sizeof events[0], LINE_INDEX = EVENT_COUNT - 1, TOOL = 3 };

/* Events first to last - 1 of the table. */
static PyObject *subscribe(int first, int last)
{
    PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
    PyObject *numbers = monitoring ? PyObject_GetAttrString(monitoring, "events") : NULL;
    PyObject *done = numbers ? PyObject_CallMethod(monitoring, "use_tool_id", "is", TOOL, "floor") : NULL;
    long set = 0;
    for (int i = first; done && i < last; i++) {
        PyObject *number = PyObject_GetAttrString(numbers, events[i].name);
        PyObject *callback = PyCFunction_New(events[i].method, NULL);
        Py_DECREF(done);
        done = PyObject_CallMethod(monitoring, "register_callback", "iOO", TOOL, number, callback);
        set |= number ? PyLong_AsLong(number) : 0;
        Py_XDECREF(number);
        Py_XDECREF(callback);
    }
    Py_XDECREF(numbers);
    Py_XDECREF(done);
    return done ? PyObject_CallMethod(monitoring, "set_events", "il", TOOL, set) : NULL;
}

static PyObject *start_calls(PyObject *self, PyObject *arguments)
{
    (void)self;
    (void)arguments;
    return subscribe(0, LINE_INDEX);
}

static PyObject *start_lines(PyObject *self, PyObject *arguments)
{
    (void)self;
    (void)arguments;
    return subscribe(0, EVENT_COUNT);
}

static PyObject *start_lines_only(PyObject *self, PyObject *arguments)
{
    (void)self;
    (void)arguments;
    return subscribe(LINE_INDEX, EVENT_COUNT);
}

#endif

static PyObject *count_events(PyObject *self, PyObject *arguments)
{
    (void)self;
    (void)arguments;
    return PyLong_FromUnsignedLongLong(record_count);
}

static PyMethodDef methods[] = {
    {"start_calls", start_calls, METH_NOARGS, NULL},
    {"start_lines", start_lines, METH_NOARGS, NULL},
#if PY_VERSION_HEX >= 0x030c0000
    {"start_lines_only", start_lines_only, METH_NOARGS, NULL},
#endif
    {"count", count_events, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "python_floor", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit_python_floor(void);
PyMODINIT_FUNC PyInit_python_floor(void)
{
    return PyModule_Create(&module);
}
