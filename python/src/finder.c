/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in sys.meta_path is asked at every import of the program. A find_spec in Python would be a frame that the
 * program's own trace function sees: coverage would count its lines, a debugger would step into it. This one is a
 * built-in function; it asks the Python function only for the few names that it is there for. */
#include "python/src/native.h"

/* self: (names, function) */
static PyObject *find_spec(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    int is_ours = count >= 1 ? PySequence_Contains(PyTuple_GET_ITEM(self, 0), args[0]) : 0;
    if (is_ours < 0)
        return NULL;
    if (is_ours)
        return PyObject_Vectorcall(PyTuple_GET_ITEM(self, 1), args, (size_t)count, keywords);
    Py_RETURN_NONE;
}

static PyMethodDef find_spec_method = {"find_spec", (PyCFunction)(void (*)(void))find_spec,
                                       METH_FASTCALL | METH_KEYWORDS, NULL};

static PyObject *find_spec_for(PyObject *module, PyObject *arguments)
{
    (void)module;
    PyObject *names, *function;
    if (!PyArg_ParseTuple(arguments, "O!O", &PyTuple_Type, &names, &function))
        return NULL;
    return PyCFunction_New(&find_spec_method, arguments);
}

static PyMethodDef methods[] = {
    {"find_spec_for", find_spec_for, METH_VARARGS,
     "find_spec_for(names, function) -> function that is called for these modules only"},
    {NULL, NULL, 0, NULL},
};

int finder_add_to(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
