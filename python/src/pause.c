/* SPDX-License-Identifier: Apache-2.0 */
/* While recording is paused the hook is taken out, so that calls cost what they cost without it. Whoever meets the
 * pause does that: an event that takes the slow path, or the package's own call that paused. Nothing of ours runs then
 * when recording goes on, so that a thread waits for it, a native one that Python knows nothing of. It ends with the
 * pause.
 *
 * A fork is made without it: Python 3.12 and later warn when a process that forks has several threads. */
#include "base/count_of.h"
#include "python/src/native.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#define LOOK_NS 1000000 /* between two looks */

static bool is_out;        /* the hook, because of a pause */
static bool has_waiter;    /* to be joined */
static bool is_registered; /* what a fork and the end of the interpreter call */
static uint32_t cancelled; /* atomic */
static pthread_t waiter;

static bool is_paused(void)
{
    return opscope_has_session() && !opscope_is_recording();
}

static void *wait_for_end(void *unused)
{
    (void)unused;
    bool is_over = false;
    while (!is_over) {
        while (is_paused() && !__atomic_load_n(&cancelled, __ATOMIC_RELAXED))
            nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
        if (__atomic_load_n(&cancelled, __ATOMIC_ACQUIRE))
            return NULL;
        PyGILState_STATE state = PyGILState_Ensure();
        pause_settle();
        is_over = !is_out || !hook_is_active; /* else paused again meanwhile */
        PyGILState_Release(state);
    }
    return NULL;
}

static void stop_waiter(void)
{
    if (!has_waiter)
        return;
    __atomic_store_n(&cancelled, 1, __ATOMIC_RELEASE);
    Py_BEGIN_ALLOW_THREADS /* it may be waiting for the GIL */
        pthread_join(waiter, NULL);
    Py_END_ALLOW_THREADS has_waiter = false;
    __atomic_store_n(&cancelled, 0, __ATOMIC_RELEASE);
}

static void start_waiter(void)
{
    sigset_t all, saved;
    stop_waiter();
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &saved);
    has_waiter = pthread_create(&waiter, NULL, wait_for_end, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &saved, NULL);
}

static PyObject *before_fork(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    stop_waiter();
    Py_RETURN_NONE;
}

static PyObject *after_fork(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    if (is_out && is_paused())
        start_waiter();
    else
        pause_settle(); /* a child looks for itself: record/capture.c */
    Py_RETURN_NONE;
}

static PyMethodDef before_method = {"pause_before_fork", before_fork, METH_NOARGS, NULL};
static PyMethodDef after_method = {"pause_after_fork", after_fork, METH_NOARGS, NULL};

static bool register_all(void)
{
    PyObject *os = PyImport_ImportModule("os"), *atexit = PyImport_ImportModule("atexit");
    PyObject *before = PyCFunction_New(&before_method, NULL), *after = PyCFunction_New(&after_method, NULL);
    PyObject *at_fork = os ? PyObject_GetAttrString(os, "register_at_fork") : NULL;
    PyObject *none = PyTuple_New(0);
    PyObject *named = before && after ? Py_BuildValue("{sOsOsO}", "before", before, "after_in_parent", after,
                                                      "after_in_child", after)
                                      : NULL;
    PyObject *done = at_fork && none && named ? PyObject_Call(at_fork, none, named) : NULL;
    PyObject *at_end = done && atexit ? PyObject_CallMethod(atexit, "register", "O", before) : NULL;
    bool is_done = at_end != NULL;
    PyObject *const all[] = {os, atexit, before, after, at_fork, none, named, done, at_end};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        Py_XDECREF(all[i]);
    return is_done;
}

void pause_settle(void)
{
    if (!hook_is_active || is_out == is_paused())
        return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (is_out) {
        is_out = false;
        hook_put_back();
    } else {
        is_out = true; /* first: the rest runs Python code, whose events come here */
        is_registered = is_registered || register_all();
        hook_take_out();
        start_waiter();
    }
    if (PyErr_Occurred())
        PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

static PyObject *change(int wants_pause)
{
    if (opscope_has_session())
        opscope_pause_(wants_pause);
    pause_settle();
    Py_RETURN_NONE;
}

static PyObject *pause_(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return change(1);
}

static PyObject *resume(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return change(0);
}

static PyObject *is_installed(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    return PyBool_FromLong(hook_is_active && !is_out);
}

static PyMethodDef methods[] = {
    {"is_installed", is_installed, METH_NOARGS, "is the hook active, and not taken out for a pause?"},
    {"pause", pause_, METH_NOARGS, "pause(): all processes of the session stop recording"},
    {"resume", resume, METH_NOARGS, "resume(): and go on"},
    {NULL, NULL, 0, NULL},
};

int pause_add_to(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
