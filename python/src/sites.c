/* SPDX-License-Identifier: Apache-2.0 */
/* A site for each code object, each line of it, each C function and each frame name. Sites are made under the GIL, at
 * the first event; none of this runs Python code, since a frame-evaluation hook must not. */
#include "python/src/native.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LINES 1000000u /* of one code object: a table of 40 MB */

static struct code_site unknown_site = {
    .special = SITE_NEW,
    .site = {.struct_size = sizeof(struct opscope_site), .name = "(unknown)", .file = ""}};

static struct code_site *all_sites;

void code_site_free(void *pointer)
{
    struct code_site *site = pointer;
    if (!site)
        return;
    if (site->previous)
        site->previous->next = site->next;
    else if (all_sites == site)
        all_sites = site->next;
    if (site->next)
        site->next->previous = site->previous;
    free(site->lines);
    free(site);
}

static char **hidden_folders; /* each with a slash at its end */
static size_t hidden_count;

bool code_sites_hide(const char *folder)
{
    size_t length = strlen(folder);
    for (size_t i = 0; i < hidden_count; i++)
        if (strncmp(hidden_folders[i], folder, length) == 0 && strcmp(hidden_folders[i] + length, "/") == 0)
            return true;
    char *text = malloc(length + 2);
    char **larger = realloc(hidden_folders, (hidden_count + 1) * sizeof *larger);
    if (larger)
        hidden_folders = larger;
    if (!text || !larger) {
        free(text);
        return false;
    }
    memcpy(text, folder, length);
    text[length] = '/';
    text[length + 1] = '\0';
    hidden_folders[hidden_count++] = text;
    return true;
}

static bool is_in_hidden_folder(const char *file)
{
    for (size_t i = 0; i < hidden_count; i++)
        if (strncmp(file, hidden_folders[i], strlen(hidden_folders[i])) == 0)
            return true;
    return false;
}

/* UTF-8 of a text; one with lone surrogates gets them escaped. */
const char *utf8_of(PyObject *text, PyObject **owner)
{
    *owner = NULL;
    if (!text || !PyUnicode_Check(text))
        return "";
    const char *plain = PyUnicode_AsUTF8(text);
    if (plain)
        return plain;
    PyErr_Clear();
    *owner = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
    if (*owner)
        return PyBytes_AS_STRING(*owner);
    PyErr_Clear();
    return "";
}

static struct code_site *site_allocate(const char *name, const char *file, uint32_t line)
{
    size_t name_bytes = strlen(name) + 1, file_bytes = strlen(file) + 1;
    struct code_site *site = calloc(1, sizeof *site + name_bytes + file_bytes);
    if (!site)
        return NULL;
    char *texts = (char *)(site + 1);
    memcpy(texts, name, name_bytes);
    memcpy(texts + name_bytes, file, file_bytes);
    site->site.struct_size = sizeof site->site;
    site->site.line = line;
    site->site.name = texts;
    site->site.function = texts;
    site->site.file = texts + name_bytes;
    return site;
}

/* How a code object's frames are recorded. Whatever is decided here holds until code_sites_decide_again(). */
static uint8_t special_of(const PyCodeObject *code, const char *name, const char *file, const char *module)
{
    bool is_import = false;
    if (is_in_hidden_folder(file) && (code->co_flags & CO_COROUTINE) && (hook_active_flags & HOOK_TASKS))
        return SITE_COROUTINE | SITE_IMPORT; /* begins its task, and is not a zone itself: imports.c */
    if (is_in_hidden_folder(file) || framework_has_file(file))
        return SITE_HIDDEN;
    if (!(hook_active_flags & HOOK_IMPORT_FRAMES) && import_is_machinery(file, name, &is_import))
        return is_import ? SITE_IMPORT : SITE_HIDDEN;
    if (!(hook_active_flags & HOOK_IMPORT_FRAMES) &&
        strcmp(module, "site") == 0) /* still starting the interpreter */
        return SITE_HIDDEN;
    if (filters_hide(file, module))
        return SITE_HIDDEN;
    uint8_t special = SITE_NEW;
    if ((code->co_flags & CO_COROUTINE) && (hook_active_flags & HOOK_TASKS))
        special |= SITE_COROUTINE;
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
    if (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR))
        special |= SITE_GENERATOR;
#endif
    return special;
}

void code_sites_decide_again(void)
{
    for (struct code_site *site = all_sites; site; site = site->next)
        site->special |= SITE_STALE;
}

static PyObject *module_name(PyObject *globals)
{
    PyObject *name = globals && PyDict_Check(globals) ? PyDict_GetItemString(globals, "__name__") : NULL;
    return name && PyUnicode_Check(name) ? name : NULL;
}

struct code_site *code_site_make(PyCodeObject *code, PyObject *globals)
{
    struct code_site *found = code_site_look(code);
    if (found && !(found->special & SITE_STALE))
        return found;
    PyObject *type, *value, *traceback, *name_owner, *file_owner, *module_owner;
    PyErr_Fetch(&type, &value, &traceback); /* generator.throw() enters a frame with an exception set */
    const char *module = utf8_of(module_name(globals), &module_owner);
#if PY_VERSION_HEX >= 0x030b0000
    const char *name = utf8_of(code->co_qualname, &name_owner);
#else
    const char *name = utf8_of(code->co_name, &name_owner);
#endif
    const char *file = utf8_of(code->co_filename, &file_owner);
    uint32_t line = code->co_firstlineno > 0 ? (uint32_t)code->co_firstlineno : 0;
    struct code_site *site = found ? found : site_allocate(name, file, line);
    if (site) {
        site->special = special_of(code, name, file, module);
        site->place = PLACE_UNKNOWN;
        if (site->site.id)
            site->special &= (uint8_t)~SITE_NEW;
    }
    if (site && !found && !code_site_put(code, site)) {
        free(site);
        site = NULL;
    }
    if (site && !found) {
        site->next = all_sites;
        if (all_sites)
            all_sites->previous = site;
        all_sites = site;
    }
    Py_XDECREF(module_owner);
    Py_XDECREF(name_owner);
    Py_XDECREF(file_owner);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return site ? site : &unknown_site;
}

/* The place of one of its lines; NULL when it gets none. */
static struct opscope_site *line_of_site(struct code_site *site, uint32_t line)
{
    uint32_t index = line - site->site.line;
    if (line < site->site.line || index >= MOST_LINES || site == &unknown_site)
        return NULL;
    if (index < site->line_count)
        return &site->lines[index];
    uint32_t count = index + 1 + index / 2;
    struct opscope_site *larger = realloc(site->lines, count * sizeof *larger);
    if (!larger)
        return NULL;
    memset(larger + site->line_count, 0, (count - site->line_count) * sizeof *larger);
    site->lines = larger;
    site->line_count = count;
    return &larger[index];
}

/* A line's zone is called FUNCTION:LINE; its text is needed only until the recorder has given it an id. */
static int begin_line(struct code_site *site, struct opscope_site *at, uint32_t line)
{
    if (LIKELY(at->id))
        return opscope_zone_begin_(at);
    char name[600];
    snprintf(name, sizeof name, "%.500s:%u", site->site.name, line);
    *at = site->site;
    at->id = 0;
    at->line = line;
    at->name = name;
    int is_open = opscope_zone_begin_(at);
    at->name = site->site.name;
    return is_open;
}

void code_site_line_begins(struct code_site *site, uint32_t depth, uint32_t line)
{
    struct opscope_site *at = line_of_site(site, line);
    stack_pop_to(stack_line_depth(&thread_stack, depth));
    if (at && begin_line(site, at, line))
        thread_stack.depth++;
}

/* --- C functions: by method definition, which lives as long as its module --- */

struct c_site {
    const PyMethodDef *method;
    struct code_site *site;
};
static struct c_site *c_sites;
static size_t c_site_count, c_site_capacity; /* a power of two */

static size_t c_site_place(const struct c_site *table, size_t capacity, const PyMethodDef *method)
{
    size_t at = ((uintptr_t)method >> 4) * 0x9e3779b97f4a7c15u >> 20;
    while (table[at & (capacity - 1)].method && table[at & (capacity - 1)].method != method)
        at++;
    return at & (capacity - 1);
}

static bool c_sites_grow(void)
{
    size_t capacity = c_site_capacity ? c_site_capacity * 2 : 1024;
    struct c_site *table = calloc(capacity, sizeof *table);
    if (!table)
        return false;
    for (size_t i = 0; i < c_site_capacity; i++)
        if (c_sites[i].method)
            table[c_site_place(table, capacity, c_sites[i].method)] = c_sites[i];
    free(c_sites);
    c_sites = table;
    c_site_capacity = capacity;
    return true;
}

/* A built-in function, or a method of a built-in type before it is bound; NULL: something else that can be called. */
static const PyMethodDef *method_of(PyObject *callable)
{
    if (PyCFunction_Check(callable))
        return ((PyCFunctionObject *)callable)->m_ml;
    if (Py_IS_TYPE(callable, &PyMethodDescr_Type) || Py_IS_TYPE(callable, &PyClassMethodDescr_Type))
        return ((PyMethodDescrObject *)callable)->d_method;
    return NULL;
}

static struct code_site *c_site_make(PyObject *callable, const PyMethodDef *method)
{
    PyObject *owner = NULL;
    char name[600];
    const char *where = "";
    if (PyCFunction_Check(callable)) {
        PyObject *self = PyCFunction_GET_SELF(callable);
        where = utf8_of(((PyCFunctionObject *)callable)->m_module, &owner);
        if (self && !PyModule_Check(self))
            where = PyType_Check(self) ? ((PyTypeObject *)self)->tp_name : Py_TYPE(self)->tp_name;
    } else {
        where = PyDescr_TYPE(callable)->tp_name;
    }
    snprintf(name, sizeof name, "%.250s%s%.300s", where, where[0] ? "." : "", method->ml_name);
    Py_XDECREF(owner);
    return site_allocate(name, "(C)", 0);
}

int c_call_begin(PyObject *callable)
{
    const PyMethodDef *method = method_of(callable);
    if (!method) {
        const char *name =
            PyType_Check(callable) ? ((PyTypeObject *)callable)->tp_name : Py_TYPE(callable)->tp_name;
        return opscope_zone_begin_named_(name, strlen(name), 0);
    }
    if (c_site_count * 2 >= c_site_capacity && !c_sites_grow())
        return 0;
    struct c_site *entry = &c_sites[c_site_place(c_sites, c_site_capacity, method)];
    if (!entry->method) {
        struct code_site *site = c_site_make(callable, method);
        if (!site)
            return 0;
        *entry = (struct c_site){method, site};
        c_site_count++;
    }
    return opscope_zone_begin_(&entry->site->site);
}

/* --- frames: few, kept for good --- */

struct opscope_site *named_site(PyObject *name)
{
    static PyObject *known;
    if (!known && !(known = PyDict_New()))
        return NULL;
    PyObject *pointer = PyDict_GetItemWithError(known, name);
    if (pointer)
        return PyLong_AsVoidPtr(pointer);
    const char *text = PyErr_Occurred() ? NULL : PyUnicode_AsUTF8(name);
    struct code_site *site = text ? site_allocate(text, "", 0) : NULL;
    if (!site)
        return text ? (struct opscope_site *)(void *)PyErr_NoMemory() : NULL;
    pointer = PyLong_FromVoidPtr(&site->site);
    if (!pointer || PyDict_SetItem(known, name, pointer) != 0) {
        free(site);
        site = NULL;
    }
    Py_XDECREF(pointer);
    return site ? &site->site : NULL;
}
