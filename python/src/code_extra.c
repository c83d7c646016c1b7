/* SPDX-License-Identifier: Apache-2.0 */
/* Python 3.9 to 3.13: the site of a code object lies in that itself, among its extra attributes (co_extra), and is
 * freed with it. code_table.c says why that is not so later. */
#include "python/src/native.h"

#ifndef HAVE_CODE_TABLE

#if PY_VERSION_HEX >= 0x030c0000
#define REQUEST_EXTRA_INDEX PyUnstable_Eval_RequestCodeExtraIndex
#define SET_EXTRA PyUnstable_Code_SetExtra
#define GET_EXTRA PyUnstable_Code_GetExtra
#else
#define REQUEST_EXTRA_INDEX _PyEval_RequestCodeExtraIndex
#define SET_EXTRA _PyCode_SetExtra
#define GET_EXTRA _PyCode_GetExtra
#endif

Py_ssize_t code_extra_index = -1;

bool code_sites_init(void)
{
    if (code_extra_index < 0)
        code_extra_index = REQUEST_EXTRA_INDEX(code_site_free);
    if (code_extra_index < 0)
        PyErr_SetString(PyExc_RuntimeError, "no room for another code object attribute");
    return code_extra_index >= 0;
}

/* Room for ours alone where the code object has none: SET_EXTRA would make room for all users of this interpreter, and
 * the code object's end would then call the free functions of all of them, which other tools do not outlive. */
bool code_site_put(PyCodeObject *code, struct code_site *site)
{
    if (!code->co_extra) {
        size_t bytes = sizeof(struct code_extra) + (size_t)code_extra_index * sizeof(void *);
        struct code_extra *extra = PyMem_Calloc(1, bytes);
        if (!extra)
            return false;
        extra->size = code_extra_index + 1;
        extra->extras[code_extra_index] = site;
        code->co_extra = (void *)extra;
        return true;
    }
    return SET_EXTRA((PyObject *)code, code_extra_index, site) == 0;
}

struct code_site *code_site_look(PyCodeObject *code)
{
    void *found = NULL;
    return GET_EXTRA((PyObject *)code, code_extra_index, &found) == 0 ? found : NULL;
}

#endif
