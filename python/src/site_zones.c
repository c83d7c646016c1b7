/* SPDX-License-Identifier: Apache-2.0 */
/* Zones whose place in the source is given by the caller: tests and fixtures, which are not the functions that begin
 * their zones. A place is kept for good, by name, function, file and line: there are as many as a session has tests. */
#include "python/src/native.h"

#include <stdlib.h>

static struct opscope_site *place_make(const char *name, const char *function, const char *file,
                                       uint32_t line)
{
    size_t name_bytes = strlen(name) + 1, function_bytes = strlen(function) + 1,
           file_bytes = strlen(file) + 1;
    struct opscope_site *site = calloc(1, sizeof *site + name_bytes + function_bytes + file_bytes);
    if (!site)
        return NULL;
    char *texts = (char *)(site + 1);
    memcpy(texts, name, name_bytes);
    memcpy(texts + name_bytes, function, function_bytes);
    memcpy(texts + name_bytes + function_bytes, file, file_bytes);
    site->struct_size = sizeof *site;
    site->line = line;
    site->name = texts;
    site->function = texts + name_bytes;
    site->file = texts + name_bytes + function_bytes;
    return site;
}

/* The place of these arguments, which are also its key; NULL with an exception. */
static struct opscope_site *place_find(PyObject *key)
{
    static PyObject *known; /* never freed: the recorder may look at a place until the process ends */
    const char *name, *function, *file;
    unsigned int line;
    if (!PyArg_ParseTuple(key, "sssI:zone_begin_at", &name, &function, &file, &line) ||
        (!known && !(known = PyDict_New())))
        return NULL;
    PyObject *pointer = PyDict_GetItemWithError(known, key);
    if (pointer || PyErr_Occurred())
        return pointer ? PyLong_AsVoidPtr(pointer) : NULL;
    struct opscope_site *site = place_make(name, function, file, line);
    if (!site)
        return (struct opscope_site *)(void *)PyErr_NoMemory();
    pointer = PyLong_FromVoidPtr(site);
    if (!pointer || PyDict_SetItem(known, key, pointer) != 0) {
        free(site);
        site = NULL;
    }
    Py_XDECREF(pointer);
    return site;
}

PyObject *zone_begin_at(PyObject *self, PyObject *arguments)
{
    (void)self;
    struct opscope_site *site = place_find(arguments);
    if (!site)
        return NULL;
    uint64_t serial = 0;
    if (opscope_is_recording() && opscope_zone_begin_(site)) {
        serial = stack_push_scope(thread_stack.depth, NULL);
        thread_stack.depth++;
    }
    return PyLong_FromUnsignedLongLong(serial);
}
