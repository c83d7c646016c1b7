/* SPDX-License-Identifier: Apache-2.0 */
/* Recording that the program starts itself (opscope.record): the process joins a session that came after its start, and
 * leaves it again. What is decided once per code object, and the filters, are those of one recording. */
#include <errno.h>

#include "python/src/native.h"

static PyObject *join(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    filters_reset();
    stack_max_depth = UINT32_MAX;
    code_sites_decide_again();
    hook_ask_again();
    int failed = opscope_session_join_();
    if (failed) {
        errno = failed;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    Py_RETURN_NONE;
}

static PyObject *leave(PyObject *self, PyObject *unused)
{
    (void)self;
    (void)unused;
    Py_BEGIN_ALLOW_THREADS /* what is under way on a device may be waited for */
    opscope_session_leave_();
    Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"join", join, METH_NOARGS, "join(): the session that OPSCOPE_SESSION names now; forgets filters"},
    {"leave", leave, METH_NOARGS, "leave(): record nothing until the next join()"},
    {NULL, NULL, 0, NULL},
};

int session_add_to(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
