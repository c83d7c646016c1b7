/* SPDX-License-Identifier: Apache-2.0 */
/* The calling loop of `opscope overhead`: calls a Python callable again and again from C, so that no bytecode lies
 * between the calls, and takes the time around the burst. The result of a call is dropped in the loop, as in a program
 * that does not keep it. Also the calibration ops, and a call of nothing that says what the loop itself costs. */
#include "python/src/time_calls.h"

#include "base/clock.h"
#include "base/calibration.h"
#include "base/run_delay.h"

#define MOST_ARGUMENTS 64

struct
    vector_call { /* arguments as the interpreter would pass them; borrowed from the caller's tuple and dict */
    PyObject
        *slots[MOST_ARGUMENTS + 1]; /* the first belongs to the callee (PY_VECTORCALL_ARGUMENTS_OFFSET) */
    size_t positional;
    PyObject *names; /* tuple of keywords, or NULL */
};

static bool make_vector(struct vector_call *call, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t count = PyTuple_GET_SIZE(args), more = kwargs == Py_None ? 0 : PyDict_GET_SIZE(kwargs);
    call->names = NULL;
    call->slots[0] = NULL;
    call->positional = (size_t)count;
    if (count + more > MOST_ARGUMENTS) {
        PyErr_SetString(PyExc_ValueError, "opscope: an op has at most 64 arguments");
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        call->slots[1 + i] = PyTuple_GET_ITEM(args, i);
    if (!more)
        return true;
    call->names = PyTuple_New(more);
    if (!call->names)
        return false;
    PyObject *key, *value;
    Py_ssize_t position = 0, at = 0;
    while (PyDict_Next(kwargs, &position, &key, &value)) {
        Py_INCREF(key);
        PyTuple_SET_ITEM(call->names, at, key);
        call->slots[1 + count + at] = value;
        at++;
    }
    return true;
}

static PyObject *time_calls(PyObject *self, PyObject *arguments)
{
    (void)self;
    static int run_delay = -2; /* of the main thread, which is the only one to measure */
    PyObject *callable, *args, *kwargs, *synchronize;
    unsigned long long calls;
    struct vector_call call;
    if (!PyArg_ParseTuple(arguments, "OO!OKO:time_calls", &callable, &PyTuple_Type, &args, &kwargs, &calls,
                          &synchronize))
        return NULL;
    if (kwargs != Py_None && !PyDict_Check(kwargs)) {
        PyErr_SetString(PyExc_TypeError, "opscope: keyword arguments are a dict or None");
        return NULL;
    }
    if (!make_vector(&call, args, kwargs))
        return NULL;
    bool has_failed = false;
    if (run_delay == -2)
        run_delay = run_delay_open();
    uint64_t asked_ns = clock_raw_ns();
    int64_t before_ns = run_delay_ns(run_delay);
    uint64_t start_ns = clock_raw_ns();
    for (unsigned long long i = 0; i < calls; i++) {
        PyObject *result = PyObject_Vectorcall(callable, call.slots + 1,
                                               call.positional | PY_VECTORCALL_ARGUMENTS_OFFSET, call.names);
        if (UNLIKELY(!result)) {
            has_failed = true;
            break;
        }
        Py_DECREF(result);
    }
    uint64_t called_ns = clock_raw_ns();
    int64_t between_ns = run_delay_ns(run_delay);
    Py_XDECREF(call.names);
    if (has_failed)
        return NULL;
    uint64_t resumed_ns = clock_raw_ns();
    if (synchronize != Py_None) {
        PyObject *result = PyObject_CallNoArgs(synchronize);
        if (!result)
            return NULL;
        Py_DECREF(result);
    }
    uint64_t end_ns = clock_raw_ns();
    int64_t after_ns = run_delay_ns(run_delay);
    uint64_t done_ns = clock_raw_ns(), gap_ns = resumed_ns - called_ns;
    uint64_t dispatch_ns =
        run_delay_less(called_ns - start_ns, between_ns - before_ns, start_ns - asked_ns + gap_ns);
    uint64_t total_ns =
        dispatch_ns + run_delay_less(end_ns - resumed_ns, after_ns - between_ns, gap_ns + done_ns - end_ns);
    return Py_BuildValue("KKKKK", (unsigned long long)start_ns, (unsigned long long)called_ns,
                         (unsigned long long)end_ns, (unsigned long long)dispatch_ns,
                         (unsigned long long)total_ns);
}

static PyObject *nothing(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    (void)self;
    (void)arguments;
    (void)count;
    (void)names;
    Py_RETURN_NONE;
}

static PyObject *calibrate_integer(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    if (calibration_integer() == 0)
        Py_RETURN_FALSE;
    Py_RETURN_NONE;
}

static PyObject *calibrate_memory(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    if (calibration_memory() >= CALIBRATION_CELLS)
        Py_RETURN_FALSE;
    Py_RETURN_NONE;
}

static PyObject *calibrate_throughput(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    if (calibration_throughput() == 0)
        Py_RETURN_FALSE;
    Py_RETURN_NONE;
}

static PyObject *calibrate_allocate(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    calibration_allocate();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"time_calls", time_calls, METH_VARARGS,
     "time_calls(callable, args, kwargs or None, calls, synchronize or None) -> (start, called, end, dispatch, "
     "total) in ns; the last two without what other processes had the CPU for"},
    {"nothing", (PyCFunction)(void (*)(void))nothing, METH_FASTCALL | METH_KEYWORDS,
     "does nothing with its arguments"},
    {"calibrate_integer", calibrate_integer, METH_NOARGS, "a chain of multiplications"},
    {"calibrate_memory", calibrate_memory, METH_NOARGS, "a chain of loads"},
    {"calibrate_throughput", calibrate_throughput, METH_NOARGS, "four chains at once"},
    {"calibrate_allocate", calibrate_allocate, METH_NOARGS, "the allocator"},
    {NULL, NULL, 0, NULL},
};

int time_calls_add_to(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
