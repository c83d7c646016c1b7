/* SPDX-License-Identifier: Apache-2.0 */
/* A track for each asyncio and trio task. When a coroutine's frame begins, the thread asks which task is running; if it
 * is not the one whose track the thread is on already, a zone of the task's name begins on the thread's track, and
 * everything inside it is on the task's (opscope_task_begin_). It ends with that frame: when the task waits or is done.
 *
 * Of asyncio only its own tasks, those written in C, are asked for their names, and of trio's the attribute is read:
 * nothing here runs Python code, which a frame-evaluation hook must not.
 *
 * A process gets MOST_TASKS tracks; tasks after that stay on their threads' tracks. A task is known by address and
 * name, so one that is made at the address of a dead one of the same name goes on in its track. */
#include "python/src/native.h"

#include "base/hash.h"

#define MOST_TASKS 4096u
#define TABLE_SLOTS (2u * MOST_TASKS)

static struct known_task {
    uint64_t key;
    uint32_t number; /* 0: free */
} known[TABLE_SLOTS];
static uint32_t known_count;

static struct {
    PyObject *module;                       /* _asyncio, once the program has imported it */
    PyObject *current_task;                 /* 3.12 and later */
    PyObject *running_loop, *current_tasks; /* before */
    PyObject *get_name;
    PyTypeObject *task_type;
} asyncio;

static bool find_asyncio(void)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules ? PyDict_GetItemString(modules, "_asyncio") : NULL;
    PyObject *names = module && PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
    if (!names)
        return false;
    PyObject *type = PyDict_GetItemString(names, "Task");
    asyncio.current_task = PyDict_GetItemString(names, "current_task");
    asyncio.running_loop = PyDict_GetItemString(names, "_get_running_loop");
    asyncio.current_tasks = PyDict_GetItemString(names, "_current_tasks");
    if (!type || !PyType_Check(type) || !(asyncio.get_name = PyObject_GetAttrString(type, "get_name")))
        return false;
    asyncio.task_type = (PyTypeObject *)type;
    asyncio.module = module;
    Py_INCREF(type); /* all kept for good */
    Py_INCREF(module);
    Py_XINCREF(asyncio.current_task);
    Py_XINCREF(asyncio.running_loop);
    Py_XINCREF(asyncio.current_tasks);
    return true;
}

/* A new reference; NULL for none. */
static PyObject *current_task(void)
{
    PyObject *task = NULL, *loop = asyncio.running_loop ? PyObject_CallNoArgs(asyncio.running_loop) : NULL;
    if (loop && loop != Py_None) {
        if (asyncio.current_task) {
            task = PyObject_CallFunctionObjArgs(asyncio.current_task, loop, NULL);
        } else if (asyncio.current_tasks && PyDict_Check(asyncio.current_tasks)) {
            task = PyDict_GetItemWithError(asyncio.current_tasks, loop);
            Py_XINCREF(task);
        }
    }
    Py_XDECREF(loop);
    if (task && !PyObject_TypeCheck(task, asyncio.task_type)) {
        Py_DECREF(task);
        task = NULL;
    }
    return task;
}

/* --- trio: its run loop keeps the task in an object of the thread's --- */

static PyObject *trio_context; /* trio._core._run.GLOBAL_RUN_CONTEXT, once the program has imported it */

static bool find_trio(void)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules ? PyDict_GetItemString(modules, "trio._core._run") : NULL;
    PyObject *names = module && PyModule_Check(module) ? PyModule_GetDict(module) : NULL;
    trio_context = names ? PyDict_GetItemString(names, "GLOBAL_RUN_CONTEXT") : NULL;
    Py_XINCREF(trio_context); /* kept for good */
    return trio_context != NULL;
}

/* A new reference; NULL for none. */
static PyObject *current_trio_task(void)
{
    PyObject *task = trio_context || find_trio() ? PyObject_GetAttrString(trio_context, "task") : NULL;
    if (task && (task == Py_None || !PyObject_HasAttrString(task, "name")))
        Py_CLEAR(task);
    PyErr_Clear();
    return task;
}

static PyObject *name_of(PyObject *task)
{
    if (asyncio.task_type && PyObject_TypeCheck(task, asyncio.task_type))
        return PyObject_CallFunctionObjArgs(asyncio.get_name, task, NULL);
    return PyObject_GetAttrString(task, "name");
}

/* The number of its track; 0 when it gets none. */
static uint32_t number_of(const PyObject *task, const char *name, size_t length)
{
    uint64_t key = hash_bytes(name, length, (uintptr_t)task);
    uint32_t at = (uint32_t)(key >> 32) & (TABLE_SLOTS - 1);
    while (known[at].number && known[at].key != key)
        at = (at + 1) & (TABLE_SLOTS - 1);
    if (!known[at].number && known_count < MOST_TASKS)
        known[at] = (struct known_task){key, ++known_count};
    return known[at].number;
}

static bool begin(struct thread_stack *t, PyObject *task)
{
    PyObject *owner, *name = name_of(task);
    const char *text = utf8_of(name, &owner);
    uint32_t number = name ? number_of(task, text, strlen(text)) : 0;
    bool is_open = number && opscope_task_begin_(text, strlen(text), number);
    if (is_open)
        t->tasks[t->task_count++] = (struct open_task){task, t->depth++};
    Py_XDECREF(owner);
    Py_XDECREF(name);
    return is_open;
}

bool task_begin(struct thread_stack *t)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *task = asyncio.module || find_asyncio() ? current_task() : NULL;
    if (!task)
        task = current_trio_task();
    const void *here = t->task_count ? t->tasks[t->task_count - 1].task : NULL;
    bool is_open = task && task != here && t->task_count < MOST_NESTED_TASKS && begin(t, task);
    Py_XDECREF(task);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
    return is_open;
}
