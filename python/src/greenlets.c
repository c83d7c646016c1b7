/* SPDX-License-Identifier: Apache-2.0 */
/* Greenlets (and what is built of them: gevent, eventlet): stacks that a thread runs in turn, none of which ends while
 * another runs. Each has a track; greenlet.settrace says when one takes over from another. What the thread has open is
 * put aside with the greenlet that leaves, and a record says which one goes on (opscope_task_switch_).
 *
 * Tracks are numbered and used again when their greenlet has ended, so that a server which makes a greenlet for each
 * request has as many as run at once. The greenlet that runs when a thread is first seen stays on the thread's track.
 *
 * A trace function that was there before is called as well. One that the program sets later takes our place. */
#include "python/src/native.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST_GREENLETS 4096u /* of a thread: more of them at once are on the track of the one before them */

struct parked {
    const void *greenlet; /* compared, never used */
    uint32_t slot;
    bool is_free;
    struct thread_stack stack;
};

struct greenlets { /* of a thread */
    struct parked *parked;
    uint32_t count, capacity;
    uint32_t slot; /* of the one that runs */
    uint32_t run;  /* the hook_run to which this belongs */
    bool is_watched;
    uint8_t used[MOST_GREENLETS / 8];
    PyObject *previous; /* the trace function of the program */
};

static __thread struct greenlets *greenlets;
static PyObject *settrace; /* greenlet.settrace, once the program has imported it */

static void forget(struct parked *p)
{
    free(p->stack.calls);
    free(p->stack.scopes);
    *p = (struct parked){.is_free = true};
}

static struct parked *find(struct greenlets *g, const void *greenlet)
{
    for (uint32_t i = 0; i < g->count; i++)
        if (g->parked[i].greenlet == greenlet && !g->parked[i].is_free)
            return &g->parked[i];
    return NULL;
}

static struct parked *find_free(struct greenlets *g)
{
    for (uint32_t i = 0; i < g->count; i++)
        if (g->parked[i].is_free)
            return &g->parked[i];
    if (g->count == g->capacity) {
        uint32_t capacity = g->capacity ? g->capacity * 2 : 16;
        struct parked *larger = realloc(g->parked, capacity * sizeof *larger);
        if (!larger)
            return NULL;
        g->parked = larger;
        g->capacity = capacity;
    }
    g->parked[g->count] = (struct parked){.is_free = true};
    return &g->parked[g->count++];
}

/* 0: none is left. */
static uint32_t take_slot(struct greenlets *g)
{
    for (uint32_t slot = 1; slot < MOST_GREENLETS; slot++)
        if (!(g->used[slot / 8] >> (slot % 8) & 1)) {
            g->used[slot / 8] = (uint8_t)(g->used[slot / 8] | 1u << (slot % 8));
            return slot;
        }
    return 0;
}

static void give_slot(struct greenlets *g, uint32_t slot)
{
    if (slot)
        g->used[slot / 8] = (uint8_t)(g->used[slot / 8] & ~(1u << (slot % 8)));
}

/* What is the thread's and not a greenlet's. */
static void take_over(struct thread_stack *t, struct thread_stack stack)
{
    stack.stack_limit = t->stack_limit;
    stack.name_tries = t->name_tries;
    stack.run = t->run;
    stack.ready_run = t->ready_run;
    *t = stack;
}

static bool has_ended(PyObject *greenlet)
{
    PyObject *dead = PyObject_GetAttrString(greenlet, "dead");
    bool is_dead = dead && PyObject_IsTrue(dead) == 1;
    Py_XDECREF(dead);
    PyErr_Clear();
    return is_dead;
}

static void leave(struct greenlets *g, struct thread_stack *t, PyObject *greenlet)
{
    if (has_ended(greenlet)) {
        stack_pop_to(0);
        give_slot(g, g->slot);
        free(t->calls);
        free(t->scopes);
        return;
    }
    struct parked *p = find_free(g);
    if (p)
        *p = (struct parked){greenlet, g->slot, false, *t};
}

static void enter(struct greenlets *g, struct thread_stack *t, const void *greenlet)
{
    struct parked *p = find(g, greenlet);
    char name[32];
    if (p) {
        take_over(t, p->stack);
        g->slot = p->slot;
        *p = (struct parked){.is_free = true};
    } else {
        take_over(t, (struct thread_stack){0});
        g->slot = take_slot(g);
    }
    int length = snprintf(name, sizeof name, "greenlet %u", g->slot);
    opscope_task_switch_(g->slot ? name : NULL, (size_t)length, g->slot);
}

static void on_switch(PyObject *origin, PyObject *target)
{
    struct greenlets *g = greenlets;
    struct thread_stack *t = &thread_stack;
    if (!hook_is_active || !(hook_active_flags & HOOK_TASKS) || !opscope_is_recording() || origin == target)
        return;
    if (g->run != hook_run) { /* what was put aside belongs to an earlier recording */
        for (uint32_t i = 0; i < g->count; i++)
            forget(&g->parked[i]);
        memset(g->used, 0, sizeof g->used);
        g->slot = 0;
        g->run = hook_run;
    }
    leave(g, t, origin);
    enter(g, t, target);
}

/* (event, (origin, target)). Whatever it raised would be the program's. */
static PyObject *trace(PyObject *self, PyObject *arguments)
{
    (void)self;
    PyObject *event, *pair;
    if (greenlets && PyArg_ParseTuple(arguments, "OO!", &event, &PyTuple_Type, &pair) &&
        PyTuple_GET_SIZE(pair) == 2)
        on_switch(PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1));
    PyErr_Clear();
    if (greenlets && greenlets->previous && greenlets->previous != Py_None)
        return PyObject_Call(greenlets->previous, arguments, NULL);
    Py_RETURN_NONE;
}

static PyMethodDef trace_method = {"trace", trace, METH_VARARGS, NULL};

void greenlets_watch_thread(void)
{
    if (!settrace || (greenlets && greenlets->is_watched))
        return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (!greenlets)
        greenlets = calloc(1, sizeof *greenlets);
    PyObject *function = greenlets ? PyCFunction_New(&trace_method, NULL) : NULL;
    if (function) {
        greenlets->is_watched = true;
        greenlets->previous = PyObject_CallFunctionObjArgs(settrace, function, NULL);
        Py_DECREF(function);
    }
    PyErr_Clear();
    PyErr_Restore(type, value, traceback);
}

static PyObject *watch_greenlets(PyObject *self, PyObject *module)
{
    (void)self;
    if (!settrace && !(settrace = PyObject_GetAttrString(module, "settrace")))
        PyErr_Clear(); /* one that was built without: totals are as without this file */
    greenlets_watch_thread();
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"watch_greenlets", watch_greenlets, METH_O, "watch_greenlets(the module greenlet): give each a track"},
    {NULL, NULL, 0, NULL},
};

int greenlets_add_to(PyObject *module)
{
    return PyModule_AddFunctions(module, methods);
}
