/* SPDX-License-Identifier: Apache-2.0 */
/* --gc: each run of the garbage collector is a zone "GC gen N" with what it found as its text, in the thread whose
 * allocation set it off. A C function among gc.callbacks. */
#include "python/src/native.h"

static struct opscope_site sites[3] = {
    {.struct_size = sizeof sites[0], .name = "GC gen 0", .function = "gc.collect", .file = "(C)"},
    {.struct_size = sizeof sites[0], .name = "GC gen 1", .function = "gc.collect", .file = "(C)"},
    {.struct_size = sizeof sites[0], .name = "GC gen 2", .function = "gc.collect", .file = "(C)"},
};

static long number_of(PyObject *info, const char *key)
{
    PyObject *value = PyDict_Check(info) ? PyDict_GetItemString(info, key) : NULL;
    long number = value && PyLong_Check(value) ? PyLong_AsLong(value) : 0;
    PyErr_Clear();
    return number;
}

static void collection_starts(PyObject *info)
{
    struct thread_stack *t = &thread_stack;
    long generation = number_of(info, "generation");
    if (!hook_is_active || !opscope_is_recording() || generation < 0 || generation > 2)
        return;
    if (opscope_zone_begin_(&sites[generation])) {
        t->gc_scope = stack_push_scope(t->depth, NULL);
        t->depth++;
    }
}

static void collection_stops(PyObject *info)
{
    struct thread_stack *t = &thread_stack;
    char text[96];
    if (!t->gc_scope)
        return;
    snprintf(text, sizeof text, "collected %ld, uncollectable %ld", number_of(info, "collected"),
             number_of(info, "uncollectable"));
    opscope_zone_text(text);
    stack_end_scope(t->gc_scope);
    t->gc_scope = 0;
}

static PyObject *on_collection(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *phase, *info;
    if (!PyArg_ParseTuple(arguments, "UO:on_collection", &phase, &info))
        return NULL;
    if (PyUnicode_CompareWithASCIIString(phase, "start") == 0)
        collection_starts(info);
    else
        collection_stops(info);
    Py_RETURN_NONE;
}

static PyMethodDef method = {"on_collection", on_collection, METH_VARARGS, NULL};

bool gc_zones_set(bool is_on)
{
    static PyObject *callback; /* kept: a list that the program has copied may still call it */
    if (!callback && !(callback = PyCFunction_New(&method, NULL)))
        return false;
    PyObject *gc = PyImport_ImportModule("gc");
    PyObject *list = gc ? PyObject_GetAttrString(gc, "callbacks") : NULL;
    int found = list ? PySequence_Contains(list, callback) : -1;
    PyObject *done = NULL;
    if (found >= 0 && found != (int)is_on)
        done = PyObject_CallMethod(list, is_on ? "append" : "remove", "O", callback);
    bool is_good = found >= 0 && (found == (int)is_on || done);
    Py_XDECREF(done);
    Py_XDECREF(list);
    Py_XDECREF(gc);
    return is_good;
}
