/* SPDX-License-Identifier: Apache-2.0 */
/* The module opscope._native: starting and stopping the hooks, and the calls that the package's API calls. Each of them
 * does nothing, and costs next to nothing, outside a session. Arguments are checked even then, so that a program
 * behaves the same with and without a profiler. */
#include "python/src/native.h"

#include <frameobject.h>

#include "python/src/time_calls.h"

#define FUNCTION(name) static PyObject *name(PyObject *self, PyObject *arguments)
#define UNUSED_SELF (void)self

FUNCTION(start)
{
    UNUSED_SELF;
    unsigned int flags = 0;
    if (!PyArg_ParseTuple(arguments, "|I:start", &flags))
        return NULL;
    if (!opscope_has_session())
        Py_RETURN_FALSE;
    if (!code_sites_init())
        return NULL;
    return hook_start(flags) ? PyBool_FromLong(1) : NULL;
}

static PyObject *stop(PyObject *self, PyObject *unused)
{
    (void)unused;
    UNUSED_SELF;
    hook_stop();
    Py_RETURN_NONE;
}

FUNCTION(hide)
{
    UNUSED_SELF;
    const char *folder;
    if (!PyArg_ParseTuple(arguments, "s:hide", &folder))
        return NULL;
    if (!code_sites_hide(folder))
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

FUNCTION(add_folder)
{
    UNUSED_SELF;
    const char *folder;
    int place;
    if (!PyArg_ParseTuple(arguments, "si:add_folder", &folder, &place))
        return NULL;
    if (!framework_add_folder(folder, (enum site_place)place))
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

FUNCTION(add_filter)
{
    UNUSED_SELF;
    const char *pattern;
    int is_include;
    if (!PyArg_ParseTuple(arguments, "sp:add_filter", &pattern, &is_include))
        return NULL;
    if (!filters_add(pattern, is_include))
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *only_mine(PyObject *self, PyObject *unused)
{
    (void)unused;
    UNUSED_SELF;
    filters_only_mine();
    Py_RETURN_NONE;
}

FUNCTION(limit_depth)
{
    UNUSED_SELF;
    unsigned int depth;
    if (!PyArg_ParseTuple(arguments, "I:limit_depth", &depth))
        return NULL;
    stack_max_depth = depth;
    Py_RETURN_NONE;
}

static PyObject *is_recording(PyObject *self, PyObject *unused)
{
    (void)unused;
    UNUSED_SELF;
    return PyBool_FromLong(opscope_is_recording());
}

static PyObject *has_session(PyObject *self, PyObject *unused)
{
    (void)unused;
    UNUSED_SELF;
    return PyBool_FromLong(opscope_has_session());
}

static PyObject *is_active(PyObject *self, PyObject *unused)
{
    (void)unused;
    UNUSED_SELF;
    return PyBool_FromLong(hook_is_active);
}

static PyObject *hook(PyObject *self, PyObject *unused)
{
    (void)unused;
    UNUSED_SELF;
    return PyUnicode_FromString(hook_name());
}

/* --- zones: begin gives a number that end takes; 0 = nothing was begun --- */

static PyObject *zone_begin(PyObject *self, PyObject *name)
{
    UNUSED_SELF;
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    if (!text)
        return NULL;
    uint64_t serial = 0;
    if (opscope_is_recording() && opscope_zone_begin_named_(text, (size_t)length, 0)) {
        serial = stack_push_scope(thread_stack.depth, name);
        thread_stack.depth++;
    }
    return PyLong_FromUnsignedLongLong(serial);
}

/* Its calls are zones already, here and now: one of a decorator would say the same once more. */
static bool is_recorded(PyObject *function)
{
    if (!hook_is_active || !PyFunction_Check(function) || thread_stack.is_muted ||
        stack_is_too_deep(&thread_stack))
        return false;
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
    const struct code_site *site = code_site_of(code, PyFunction_GET_GLOBALS(function));
    return !(site->special & SITE_HIDDEN);
}

/* zone_begin for a call of a function whose zone has no name of its own. */
static PyObject *zone_begin_of(PyObject *self, PyObject *arguments)
{
    PyObject *name, *function;
    if (!PyArg_ParseTuple(arguments, "UO:zone_begin_of", &name, &function))
        return NULL;
    return is_recorded(function) ? PyLong_FromLong(0) : zone_begin(self, name);
}

static PyObject *span_begin(PyObject *self, PyObject *name)
{
    UNUSED_SELF;
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(name, &length);
    if (!text)
        return NULL;
    uint64_t serial = 0;
    if (opscope_is_recording()) {
        serial = stack_next_serial();
        opscope_span_begin_(text, (size_t)length, serial);
    }
    return PyLong_FromUnsignedLongLong(serial);
}

/* Does the caller of the package's function run in a coroutine? */
static bool is_in_coroutine(void)
{
    PyFrameObject *frame = PyEval_GetFrame(), *caller = frame ? PyFrame_GetBack(frame) : NULL;
    if (!caller)
        return false;
    PyCodeObject *code = PyFrame_GetCode(caller);
    bool is_coroutine = code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR);
    Py_DECREF(code);
    Py_DECREF(caller);
    return is_coroutine;
}

/* That of a with block. Without a hook nobody says when a coroutine is left: its zones are spans from the start. */
static PyObject *zone_enter(PyObject *self, PyObject *name)
{
    if (opscope_is_recording() && PyUnicode_Check(name)) {
        if (!hook_is_active && is_in_coroutine())
            return span_begin(self, name);
        stack_leave_line();
    }
    return zone_begin(self, name);
}

static PyObject *scope_end(PyObject *self, PyObject *number)
{
    UNUSED_SELF;
    unsigned long long serial = PyLong_AsUnsignedLongLong(number);
    if (serial == (unsigned long long)-1 && PyErr_Occurred())
        return NULL;
    if (serial)
        stack_end_scope(serial);
    Py_RETURN_NONE;
}

static PyObject *zone_text(PyObject *self, PyObject *text)
{
    UNUSED_SELF;
    const char *utf8 = PyUnicode_AsUTF8(text);
    if (!utf8)
        return NULL;
    opscope_zone_text(utf8);
    Py_RETURN_NONE;
}

FUNCTION(message)
{
    UNUSED_SELF;
    const char *text;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(arguments, "s#:message", &text, &length))
        return NULL;
    if (opscope_is_recording())
        opscope_message_(text, (size_t)length);
    Py_RETURN_NONE;
}

FUNCTION(signpost)
{
    UNUSED_SELF;
    const char *header, *text = NULL;
    if (!PyArg_ParseTuple(arguments, "s|z:signpost", &header, &text))
        return NULL;
    opscope_signpost(header, text);
    pause_settle(); /* opscope run --capture */
    Py_RETURN_NONE;
}

FUNCTION(counter)
{
    UNUSED_SELF;
    const char *name;
    double value;
    if (!PyArg_ParseTuple(arguments, "sd:counter", &name, &value))
        return NULL;
    opscope_counter(name, value);
    Py_RETURN_NONE;
}

FUNCTION(frame)
{
    UNUSED_SELF;
    PyObject *name;
    if (!PyArg_ParseTuple(arguments, "U:frame", &name))
        return NULL;
    if (opscope_has_session()) {
        struct opscope_site *site = named_site(name);
        if (!site)
            return NULL;
        opscope_frame_(site);
        pause_settle();
    }
    Py_RETURN_NONE;
}

FUNCTION(thread_name)
{
    UNUSED_SELF;
    const char *name;
    if (!PyArg_ParseTuple(arguments, "s:thread_name", &name))
        return NULL;
    thread_stack.name_tries = NAME_TRIES;
    opscope_thread_name(name);
    Py_RETURN_NONE;
}

/* --- ops --- */

FUNCTION(op_begin)
{
    UNUSED_SELF;
    const char *name;
    int type;
    unsigned int device;
    if (!PyArg_ParseTuple(arguments, "siI:op_begin", &name, &type, &device))
        return NULL;
    uint64_t serial = 0, call = 0;
    if (opscope_is_recording()) {
        stack_leave_line();
        call = opscope_op_begin_(name, type, device); /* 0 when it is lost; its end is owed all the same */
        serial = stack_push_scope(thread_stack.depth, NULL);
        thread_stack.depth++;
    }
    return Py_BuildValue("KK", (unsigned long long)serial, (unsigned long long)call);
}

FUNCTION(op_tensor)
{
    UNUSED_SELF;
    int is_output;
    PyObject *shape;
    int64_t sizes[16];
    struct opscope_tensor tensor = {.struct_size = sizeof tensor, .shape = sizes};
    if (!PyArg_ParseTuple(arguments, "pO!zzz:op_tensor", &is_output, &PyTuple_Type, &shape, &tensor.dtype,
                          &tensor.layout, &tensor.memory))
        return NULL;
    Py_ssize_t rank = PyTuple_GET_SIZE(shape);
    if (rank > 16) {
        PyErr_SetString(PyExc_ValueError, "opscope: a tensor of an op has at most 16 dimensions");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < rank; i++) {
        sizes[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
        if (sizes[i] == -1 && PyErr_Occurred())
            return NULL;
    }
    tensor.rank = (uint32_t)rank;
    if (opscope_is_recording())
        opscope_op_tensor_(is_output, &tensor);
    Py_RETURN_NONE;
}

FUNCTION(op_attribute)
{
    UNUSED_SELF;
    const char *key, *value;
    if (!PyArg_ParseTuple(arguments, "ss:op_attribute", &key, &value))
        return NULL;
    opscope_op_attribute(key, value);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"start", start, METH_VARARGS, "start(flags): install the hook; False outside a session"},
    {"stop", stop, METH_NOARGS, "stop(): remove the hook"},
    {"hide", hide, METH_VARARGS, "hide(folder): do not record code from files there"},
    {"add_folder", add_folder, METH_VARARGS,
     "add_folder(folder, PROGRAM | LIBRARY | FRAMEWORK): see framework.c"},
    {"add_filter", add_filter, METH_VARARGS,
     "add_filter(pattern, is_include): see filters.c; before start()"},
    {"only_mine", only_mine, METH_NOARGS, "only_mine(): see filters.c; before start()"},
    {"limit_depth", limit_depth, METH_VARARGS,
     "limit_depth(n): no more than n zones inside one another; before start()"},
    {"is_recording", is_recording, METH_NOARGS, "is there a session that is not paused?"},
    {"has_session", has_session, METH_NOARGS, "is there one, paused or not?"},
    {"is_active", is_active, METH_NOARGS, "is the hook installed?"},
    {"hook", hook, METH_NOARGS, "which hook this Python gets"},
    {"zone_begin", zone_begin, METH_O, "zone_begin(name) -> number for scope_end"},
    {"zone_begin_of", zone_begin_of, METH_VARARGS,
     "zone_begin_of(name, function) -> number for scope_end; of a call that is recorded anyhow 0"},
    {"zone_enter", zone_enter, METH_O, "zone_enter(name): zone_begin for a block of several lines"},
    {"zone_begin_at", zone_begin_at, METH_VARARGS,
     "zone_begin_at(name, function, file, line) -> number for scope_end"},
    {"span_begin", span_begin, METH_O, "span_begin(name) -> number for scope_end, from wherever it ends"},
    {"scope_end", scope_end, METH_O, "scope_end(number)"},
    {"zone_text", zone_text, METH_O, "zone_text(text): of the innermost open zone"},
    {"message", message, METH_VARARGS, "message(text)"},
    {"signpost", signpost, METH_VARARGS, "signpost(header, message)"},
    {"counter", counter, METH_VARARGS, "counter(name, value)"},
    {"frame", frame, METH_VARARGS, "frame(name)"},
    {"thread_name", thread_name, METH_VARARGS, "thread_name(name)"},
    {"op_begin", op_begin, METH_VARARGS, "op_begin(name, type, device) -> (number for scope_end, call id)"},
    {"op_tensor", op_tensor, METH_VARARGS, "op_tensor(is_output, shape, dtype, layout, memory)"},
    {"op_attribute", op_attribute, METH_VARARGS, "op_attribute(key, value)"},
    {"dlpack", dlpack_description, METH_O, "dlpack(capsule) -> (shape, dtype, device)"},
    {NULL, NULL, 0, NULL},
};

static int fill(PyObject *made)
{
    bool is_good = time_calls_add_to(made) == 0 && finder_add_to(made) == 0 && session_add_to(made) == 0 &&
                   pause_add_to(made) == 0 && greenlets_add_to(made) == 0 &&
                   PyModule_AddIntConstant(made, "LINES", HOOK_LINES) == 0 &&
                   PyModule_AddIntConstant(made, "C_CALLS", HOOK_C_CALLS) == 0 &&
                   PyModule_AddIntConstant(made, "PROFILE", HOOK_PROFILE) == 0 &&
                   PyModule_AddIntConstant(made, "GC", HOOK_GC) == 0 &&
                   PyModule_AddIntConstant(made, "TASKS", HOOK_TASKS) == 0 &&
                   PyModule_AddIntConstant(made, "IMPORT_FRAMES", HOOK_IMPORT_FRAMES) == 0 &&
                   PyModule_AddIntConstant(made, "PROGRAM", PLACE_PROGRAM) == 0 &&
                   PyModule_AddIntConstant(made, "LIBRARY", PLACE_LIBRARY) == 0 &&
                   PyModule_AddIntConstant(made, "FRAMEWORK", PLACE_FRAMEWORK) == 0 &&
                   PyModule_AddStringConstant(made, "version", opscope_recorder_version()) == 0;
    return is_good ? 0 : -1;
}

#if PY_VERSION_HEX >= 0x030c0000
/* Sub-interpreters may have a GIL of their own, and nothing here is made for two of them at once. The error is named
 * after them; its text is for the user, and for the first of them alone. */
static int refuse(void)
{
    static bool is_reported;
    bool was_reported = __atomic_exchange_n(&is_reported, true, __ATOMIC_RELAXED);
    PyObject *name = PyUnicode_FromString("sub-interpreter");
    PyObject *text = PyUnicode_FromString(
        was_reported ? ""
                     : "Python calls are recorded in the main interpreter only, not in sub-interpreters");
    if (name && text)
        PyErr_SetImportError(text, name, NULL);
    Py_XDECREF(name);
    Py_XDECREF(text);
    return -1;
}

static int execute(PyObject *made)
{
    return PyInterpreterState_Get() == PyInterpreterState_Main() ? fill(made) : refuse();
}

static struct PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)(uintptr_t)execute},
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED}, /* to be asked at all */
    {0, NULL},
};
#endif

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "opscope._native",
    .m_doc = "The recorder of opscope, for Python.",
    .m_methods = methods,
#if PY_VERSION_HEX >= 0x030c0000
    .m_slots = slots,
#else
    .m_size = -1, /* one recorder a process, hence one module */
#endif
};

PyMODINIT_FUNC PyInit__native(void);
PyMODINIT_FUNC PyInit__native(void)
{
#if PY_VERSION_HEX >= 0x030c0000
    return PyModuleDef_Init(&module);
#else
    PyObject *made = PyModule_Create(&module);
    if (made && fill(made) != 0)
        Py_CLEAR(made);
    return made;
#endif
}
