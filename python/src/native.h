/* SPDX-License-Identifier: Apache-2.0 */
/* The Python extension's insides: which Python call becomes which zone.
 *
 * The extension uses the shared recorder (libopscope.so.0): a native library of the same process that is linked with
 * it, too, shares its tracks and its zone stack, so that C++ zones lie inside the Python calls that made them.
 *
 * ## Zones stay balanced
 *
 * A recorder zone ends innermost first. Python does not: a generator leaves a `with zone(...)` open while it is
 * suspended, tracing starts and stops in mid-stack. So each thread counts the zones that were begun from Python
 * (thread_stack.depth), each begin remembers the depth it found, and each end first ends whatever is still open above
 * that. What was ended by somebody else before is not ended twice.
 *
 * ## Names, and what is decided once
 *
 * Each code object has one site (in its co_extra, from 3.14 on in code_table.c), made at its first call and freed with
 * it; the recorder keeps the name's id in it, so an event carries four bytes for its name. The site also says whether
 * the code is recorded at all (filters), collapsed (imports) or may belong to a task (coroutines): all of it is one
 * test for ordinary functions. */
#ifndef OPSCOPE_PYTHON_NATIVE_H
#define OPSCOPE_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#ifdef Py_GIL_DISABLED
#error                                                                                                       \
    "the tables here are guarded by the GIL alone: free-threaded builds of Python are left out (cmake/Python.cmake)"
#endif

#include <stdbool.h>
#include <stdint.h>

#include "opscope/opscope.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

enum hook_flags {
    HOOK_LINES = 1,         /* a zone for each line, inside its function's */
    HOOK_C_CALLS = 2,       /* a zone for each call of a C function */
    HOOK_PROFILE = 4,       /* up to 3.11: the profile function even where frame evaluation would do */
    HOOK_GC = 8,            /* a zone for each run of the garbage collector */
    HOOK_TASKS = 16,        /* a track for each asyncio task */
    HOOK_IMPORT_FRAMES = 32 /* the import system's own frames instead of one zone per import */
};

/* --- what a thread has open --- */

struct open_call {   /* of hooks to which a return is reported, rather than being around the call */
    const void *key; /* code object, method definition or callable: compared, never used */
    uint32_t depth;  /* to return to */
    bool is_shown;   /* has a zone */
    bool has_task;   /* and below that the zone of a task */
    bool was_muted;  /* the thread's is_muted before it */
};

struct open_scope { /* zone(...) and op(...) of a program */
    uint64_t serial;
    uint32_t depth;
    PyObject *name; /* of a zone that may go on as a span when its frame is left; NULL: it ends then */
};

struct open_task { /* whose track the thread is on */
    const void *task;
    uint32_t depth;
};

#define MOST_NESTED_TASKS 8u /* tasks that run inside one another: eager tasks, loops inside loops */

struct thread_stack {
    uint32_t depth;
    bool is_muted; /* below a framework's frame: only the program's own code is shown, see framework.c */
    /* hook_frame.c: deeper than this, no C frame per call; STACK_LIMIT_UNKNOWN until set up */
    char *stack_limit;
    struct open_call *calls;
    uint32_t call_count, call_capacity;
    uint32_t name_tries; /* how many events have looked for the thread's name */
    uint32_t run;        /* the hook_run to which its calls belong */
    uint32_t ready_run;  /* the hook_run for which the thread has been set up, name and all */
    struct open_scope *scopes;
    uint32_t scope_count, scope_capacity;
    struct open_task tasks[MOST_NESTED_TASKS];
    uint32_t task_count;
    uint64_t gc_scope; /* of the collection that is running */
};
extern __thread struct thread_stack thread_stack;

#define NAME_TRIES 32u
#define STACK_LIMIT_UNKNOWN ((char *)UINTPTR_MAX) /* every event of the thread then takes the slow path */

void stack_set_up(struct thread_stack *t); /* a thread's first events, of all and of a run of the hook */
void stack_pop_to(uint32_t depth);         /* ends zones until only this many are open */
bool stack_push_call(const void *key, uint32_t depth, bool is_shown, bool has_task);
void stack_end_call(const void *key); /* the innermost call of that key, and all above it */
uint64_t stack_push_scope(uint32_t depth,
                          PyObject *name); /* takes a reference to the name, which may be NULL */
uint64_t stack_next_serial(void);
/* Lines and with blocks: the zone of a block is not inside that of the line which opens it, since it lasts longer; the
 * lines of the block are inside it. depth: what the function's zone has open with it. */
uint32_t stack_line_depth(const struct thread_stack *t, uint32_t depth);
void stack_leave_line(void);           /* ends the zone of the line that is running: a block begins */
void stack_end_scope(uint64_t serial); /* of one that a frame's end has taken off the stack: ends the span */
void stack_drop_calls(void);
bool stack_is_too_deep(struct thread_stack *t); /* --max-depth */
extern uint32_t stack_max_depth;                /* UINT32_MAX: no limit */

/* --- names --- */

enum site_special { /* why a site's frames do not take the fast path; 0 for ordinary functions */
                    /* not recorded: the package's own code, a framework's, or filtered out */
                    SITE_HIDDEN = 1,
                    SITE_IMPORT = 2,    /* a frame of it is one import; the frames below are hidden */
                    SITE_GENERATOR = 4, /* 3.11: its first frame only makes the generator */
                    SITE_COROUTINE = 8, /* may be a task's */
                    SITE_NEW = 16,      /* the recorder has no id for it yet */
                    SITE_STALE = 32,    /* to be decided again: other filters apply since */
};

struct code_site {
    struct opscope_site site;
    struct opscope_site *lines; /* of firstlineno, firstlineno + 1, ... */
    uint32_t line_count;
    uint8_t special;                   /* enum site_special */
    uint8_t place;                     /* enum site_place; only looked at while a thread is muted */
    struct code_site *next, *previous; /* of all code objects' sites */
};

enum site_place { PLACE_UNKNOWN = 0, PLACE_PROGRAM, PLACE_LIBRARY, PLACE_FRAMEWORK };

#if PY_VERSION_HEX < 0x030e0000
struct code_extra { /* CPython's, private there, the same from 3.6 to 3.13 */
    Py_ssize_t size;
    void *extras[1];
};
extern Py_ssize_t code_extra_index; /* code_extra.c */
#else
#define HAVE_CODE_TABLE 1 /* code_table.c */
struct code_entry {
    const PyCodeObject *code; /* NULL: free */
    struct code_site *site;
};
struct code_table {
    struct code_entry *entries;
    unsigned shift; /* 64 less the bits of a place */
    size_t mask;
};
extern struct code_table code_table;
static inline size_t code_table_place(const struct code_table *table, const PyCodeObject *code)
{
    return (size_t)(((uint64_t)(uintptr_t)code * 0x9e3779b97f4a7c15u) >> table->shift) & table->mask;
}
#endif

bool code_sites_init(void); /* false with an exception */
bool code_site_put(PyCodeObject *code, struct code_site *site);
void code_site_free(void *site);          /* with its code object */
bool code_sites_hide(const char *folder); /* code from files in this folder, too, is not recorded */
/* globals: of the frame, for the name of its module; may be NULL. Decides about a stale one again. */
struct code_site *code_site_make(PyCodeObject *code, PyObject *globals);
void code_sites_decide_again(void); /* all of them, each at its next call */
/* A line of the innermost call begins, and what is open above depth ends. */
void code_site_line_begins(struct code_site *site, uint32_t depth, uint32_t line);
int c_call_begin(PyObject *callable);
struct opscope_site *named_site(PyObject *name);              /* for frames; NULL with an exception */
PyObject *zone_begin_at(PyObject *self, PyObject *arguments); /* site_zones.c */
const char *utf8_of(PyObject *text, PyObject **owner);        /* never NULL; *owner is to be released */

/* NULL when it has none yet. */
struct code_site *code_site_look(PyCodeObject *code);
static inline struct code_site *code_site_known(PyCodeObject *code)
{
#ifdef HAVE_CODE_TABLE
    const struct code_entry *entry = &code_table.entries[code_table_place(&code_table, code)];
    return LIKELY(entry->code == code) ? entry->site : code_site_look(code);
#else
    const struct code_extra *extra = code->co_extra;
    return LIKELY(extra && extra->size > code_extra_index) ? extra->extras[code_extra_index] : NULL;
#endif
}

static inline struct code_site *code_site_of(PyCodeObject *code, PyObject *globals)
{
    struct code_site *site = code_site_known(code);
    return LIKELY(site && !(site->special & SITE_STALE)) ? site : code_site_make(code, globals);
}

/* Begins its zone, the first one included. */
static inline int code_site_begin(struct code_site *site)
{
    int is_open = opscope_zone_begin_(&site->site);
    if (site->site.id)
        site->special &= (uint8_t)~SITE_NEW;
    return is_open;
}

/* --- filters (filters.c) --- */

bool filters_add(const char *pattern, bool is_include); /* false: no memory */
void filters_only_mine(void); /* code below the working folder that is not installed */
void filters_reset(void);     /* everything is recorded */
bool filters_hide(const char *file, const char *module);
bool filters_hide_import(const char *module);

/* --- frameworks (framework.c) --- */

bool framework_add_folder(const char *folder, enum site_place place);
bool framework_has_file(const char *file);    /* is it a framework's? */
bool framework_shows(struct code_site *site); /* in a muted thread, or for a hidden site: is there a zone? */
static inline bool framework_mutes(const struct code_site *site) /* after framework_shows */
{
    return site->place == PLACE_FRAMEWORK;
}

/* --- imports, tasks, garbage collection (imports.c, tasks.c, gc_zones.c) --- */

bool import_is_machinery(const char *file, const char *name, bool *is_entry);
int import_begin(PyObject *name); /* as opscope_zone_begin_; the name of the module, or NULL */

/* A coroutine's frame begins: when another task runs than the one whose track the thread is on, begins its zone. */
bool task_begin(struct thread_stack *t);

bool gc_zones_set(bool is_on); /* false with an exception */

int greenlets_add_to(PyObject *module); /* greenlets.c; 0, or -1 with an exception */
void greenlets_watch_thread(void);      /* once the program has imported greenlet; else nothing */

/* --- hooks: one of the two files is empty, by version --- */

bool hook_start(unsigned flags); /* false with an exception */
void hook_stop(void);
const char *hook_name(void);
extern unsigned hook_active_flags; /* of the running hook */
extern bool hook_is_active;
/* The frames of ordinary functions may be recorded without asking anything more: the hook is active, the recorder is
 * the one that fast.h was compiled for, and there is no limit on depth. */
extern bool hook_is_fast;
void hook_take_out(
    void); /* for a pause; it stays active. hook_put_back: and goes on. Both may leave an exception. */
void hook_put_back(void);
extern uint32_t hook_run;  /* how often a hook has been started */
void hook_ask_again(void); /* code that was switched off is asked about again when a hook is next started */

/* --- imports of the program --- */

int finder_add_to(PyObject *module); /* 0, or -1 with an exception */

/* --- pauses (pause.c) --- */

int pause_add_to(PyObject *module); /* 0, or -1 with an exception */
void pause_settle(void);            /* takes the hook out, or puts it back, if that is due */
/* For the slow paths of events. */
static inline bool hook_records(void)
{
    if (LIKELY(hook_is_active && opscope_is_recording()))
        return true;
    if (hook_is_active && opscope_has_session())
        pause_settle();
    return false;
}

/* --- one recording after another in a process (session.c) --- */

int session_add_to(PyObject *module); /* 0, or -1 with an exception */

/* --- tensors (dlpack.c) --- */
PyObject *dlpack_description(PyObject *self, PyObject *capsule);

#endif
