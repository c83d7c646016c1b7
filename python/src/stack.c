/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread has open: see native.h. Everything here is the thread's own; nothing runs Python code. */
#include "python/src/native.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

__thread struct thread_stack thread_stack = {.stack_limit = STACK_LIMIT_UNKNOWN};

uint32_t stack_max_depth = UINT32_MAX;
uint32_t hook_run;

static uint64_t last_serial;

static pthread_key_t end_key;
static bool has_end_key;

/* What runs in this thread after its end, if anything, begins with nothing open. */
static void thread_ends(void *stack)
{
    struct thread_stack *t = stack;
    free(t->calls);
    free(t->scopes);
    *t = (struct thread_stack){.stack_limit = STACK_LIMIT_UNKNOWN};
}

/* Under the GIL, like everything that makes the stacks grow. */
static bool grow(void **items, uint32_t *capacity, size_t item_bytes)
{
    uint32_t wanted = *capacity ? *capacity * 2 : 64;
    void *larger = wanted > *capacity ? realloc(*items, wanted * item_bytes) : NULL;
    if (!larger)
        return false;
    if (!has_end_key)
        has_end_key = pthread_key_create(&end_key, thread_ends) == 0;
    if (has_end_key)
        pthread_setspecific(end_key, &thread_stack);
    *items = larger;
    *capacity = wanted;
    return true;
}

/* The frame of a zone(...) is left, and the zone is not at its end: a coroutine waits, a generator has yielded. It goes
 * on as a span, which its own end ends (stack_end_scope). */
static void suspend_scope(struct thread_stack *t)
{
    struct open_scope scope = t->scopes[--t->scope_count];
    char part[300];
    Py_ssize_t length;
    if (!scope.name)
        return;
    const char *name = PyUnicode_AsUTF8AndSize(scope.name, &length); /* made and kept when the zone began */
    if (name) {
        int bytes = snprintf(part, sizeof part, "%.250s (to its first wait)", name);
        opscope_zone_suspend_(part, (size_t)bytes, scope.serial);
    }
    Py_DECREF(scope.name);
}

void stack_pop_to(uint32_t depth)
{
    struct thread_stack *t = &thread_stack;
    while (t->depth > depth) {
        t->depth--;
        if (t->scope_count && t->scopes[t->scope_count - 1].depth >= t->depth)
            suspend_scope(t);
        if (t->task_count && t->tasks[t->task_count - 1].depth >= t->depth)
            t->task_count--;
        opscope_op_end(); /* the same for what is not an op, such as a task */
    }
}

/* False without memory: the call is not remembered, its zone ends with the next one below it. */
bool stack_push_call(const void *key, uint32_t depth, bool is_shown, bool has_task)
{
    struct thread_stack *t = &thread_stack;
    if (t->call_count == t->call_capacity && !grow((void **)&t->calls, &t->call_capacity, sizeof *t->calls))
        return false;
    t->calls[t->call_count++] = (struct open_call){key, depth, is_shown, has_task, t->is_muted};
    return true;
}

void stack_end_call(const void *key)
{
    struct thread_stack *t = &thread_stack;
    uint32_t i = t->call_count;
    while (i && t->calls[i - 1].key != key)
        i--;
    if (!i) /* begun before the hook */
        return;
    t->call_count = i - 1;
    t->is_muted = t->calls[i - 1].was_muted;
    if (t->calls[i - 1].is_shown ||
        t->calls[i - 1].has_task) /* else zones that were begun inside stay: zone(...) */
        stack_pop_to(t->calls[i - 1].depth);
}

/* Hooks to which returns are reported get no more of them: end what they began. */
void stack_drop_calls(void)
{
    struct thread_stack *t = &thread_stack;
    if (t->call_count)
        stack_pop_to(t->calls[0].depth);
    t->call_count = 0;
    t->is_muted = false;
}

/* On a task's track its own zones count. */
bool stack_is_too_deep(struct thread_stack *t)
{
    uint32_t base = t->task_count ? t->tasks[t->task_count - 1].depth + 1 : 0;
    return t->depth >= base && t->depth - base >= stack_max_depth;
}

uint32_t stack_line_depth(const struct thread_stack *t, uint32_t depth)
{
    const struct open_scope *scope = t->scope_count ? &t->scopes[t->scope_count - 1] : NULL;
    return scope && scope->depth >= depth ? scope->depth + 1 : depth;
}

/* Called from the package's own frame, which is not shown, if it is among the calls at all. */
void stack_leave_line(void)
{
    struct thread_stack *t = &thread_stack;
    uint32_t i = t->call_count;
    if (!hook_is_active || !(hook_active_flags & HOOK_LINES))
        return;
    while (i && !t->calls[i - 1].is_shown)
        i--;
    if (!i)
        return;
    uint32_t depth = stack_line_depth(t, t->calls[i - 1].depth + t->calls[i - 1].has_task + 1);
    if (t->depth == depth + 1)
        stack_pop_to(depth);
}

uint64_t stack_next_serial(void)
{
    return __atomic_add_fetch(&last_serial, 1, __ATOMIC_RELAXED);
}

uint64_t stack_push_scope(uint32_t depth, PyObject *name)
{
    struct thread_stack *t = &thread_stack;
    if (t->scope_count == t->scope_capacity &&
        !grow((void **)&t->scopes, &t->scope_capacity, sizeof *t->scopes))
        return 0;
    uint64_t serial = stack_next_serial();
    Py_XINCREF(name);
    t->scopes[t->scope_count++] = (struct open_scope){serial, depth, name};
    return serial;
}

void stack_end_scope(uint64_t serial)
{
    struct thread_stack *t = &thread_stack;
    for (uint32_t i = t->scope_count; i > 0; i--)
        if (t->scopes[i - 1].serial == serial) {
            PyObject *name = t->scopes[i - 1].name;
            uint32_t depth = t->scopes[i - 1].depth;
            t->scopes[i - 1].name = NULL; /* this one ends; those above it go on as spans */
            stack_pop_to(depth);
            Py_XDECREF(name);
            return;
        }
    if (opscope_has_session())
        opscope_span_end_(serial);
}

/* threading's name for this thread, once it is in threading._active: a few calls after the thread's first. Reads
 * plain dictionaries and attributes; the main thread keeps the program's name. */
static void look_for_name(struct thread_stack *t)
{
    t->name_tries++;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *threading = modules ? PyDict_GetItemString(modules, "threading") : NULL;
    PyObject *names = threading && PyModule_Check(threading) ? PyModule_GetDict(threading) : NULL;
    PyObject *active = names ? PyDict_GetItemString(names, "_active") : NULL;
    PyObject *ident = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    PyObject *thread = active && ident && PyDict_Check(active) ? PyDict_GetItem(active, ident) : NULL;
    PyObject *name = thread ? PyObject_GetAttrString(thread, "_name") : NULL;
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (text) {
        t->name_tries = NAME_TRIES;
        if (strcmp(text, "MainThread") != 0)
            opscope_thread_name(text);
    }
    Py_XDECREF(name);
    Py_XDECREF(ident);
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

/* A quarter of the thread's stack is left below the limit. */
static char *find_stack_limit(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &low, &bytes);
        pthread_attr_destroy(&attributes);
    }
    return bytes ? (char *)low + bytes / 4 : (char *)1;
}

void stack_set_up(struct thread_stack *t)
{
    if (t->run != hook_run) { /* what it had open when the hook was last stopped, maybe from another thread */
        stack_drop_calls();
        t->run = hook_run;
    }
    if (hook_active_flags & HOOK_TASKS)
        greenlets_watch_thread();
    if (t->stack_limit == STACK_LIMIT_UNKNOWN && t->name_tries < NAME_TRIES)
        look_for_name(t);
    if (t->stack_limit == STACK_LIMIT_UNKNOWN && t->name_tries >= NAME_TRIES)
        t->stack_limit = find_stack_limit();
    if (t->stack_limit != STACK_LIMIT_UNKNOWN)
        t->ready_run = hook_run;
}
