/* SPDX-License-Identifier: Apache-2.0 */
/* One import is one zone, "import NAME". In Python's own import system that is a dozen frames of frozen code between
 * the statement and the module's code; the outermost of them has the name, the others are not recorded. */
#include "python/src/native.h"

#include <stdlib.h>

/* importlib's bootstrap and zipimport are frozen; so are modules of the library that are ordinary code (3.11). */
bool import_is_machinery(const char *file, const char *name, bool *is_entry)
{
    static const char importlib[] = "<frozen importlib", zip[] = "<frozen zipimport";
    if (strncmp(file, importlib, sizeof importlib - 1) != 0 && strncmp(file, zip, sizeof zip - 1) != 0)
        return false;
    *is_entry = strcmp(name, "_find_and_load") == 0;
    return true;
}

/* The interpreter looks for it at each start, after sitecustomize, where we begin. Few have one; its code is recorded
 * like any other. */
static bool is_of_the_start(const char *module)
{
    return strcmp(module, "usercustomize") == 0;
}

/* Without a name: a coroutine of the package itself, which is not a zone. */
int import_begin(PyObject *name)
{
    PyObject *owner, *type, *value, *traceback;
    char text[300] = "import ";
    PyErr_Fetch(&type, &value, &traceback);
    const char *module = utf8_of(name, &owner);
    size_t at = strlen(text), length = strnlen(module, sizeof text - at - 1);
    memcpy(text + at, module, length);
    bool is_wanted = length && !filters_hide_import(module) && !is_of_the_start(module);
    int is_open = is_wanted ? opscope_zone_begin_named_(text, at + length, 0) : 0;
    Py_XDECREF(owner);
    PyErr_Restore(type, value, traceback);
    return is_open;
}
