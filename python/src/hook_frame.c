/* SPDX-License-Identifier: Apache-2.0 */
/* Python 3.9 to 3.11: the frame-evaluation hook (PEP 523); for lines and C calls the trace and profile functions.
 *
 * The hook is the interpreter's, not a thread's: it sees threads that already run, leaves sys.setprofile and
 * sys.settrace to the program, and sees each call return, whatever way it ends. It runs no Python code. One that was
 * there before (torch.compile, a debugger) is called in turn.
 *
 * ## Deep recursion
 *
 * With a hook, a call of a Python function takes about 400 bytes of C stack; without, 3.11 takes none. A program that
 * raised its recursion limit would crash at 18,000 frames on an 8 MB stack. So below a quarter of the thread's stack
 * the hook takes itself out and the profile function goes on (slower, no C stack) until that call returns. Other
 * threads are not recorded in the meantime. Where the program has a profile function of its own there, its deep calls
 * are not recorded either. */
#include "python/src/native.h"

#if PY_VERSION_HEX < 0x030c0000

#include <frameobject.h>
#if PY_VERSION_HEX >= 0x030b0000
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
typedef _PyInterpreterFrame eval_frame_type;
#else
typedef PyFrameObject eval_frame_type;
#endif

#include "python/src/fast.h"

bool hook_is_active, hook_is_fast;
unsigned hook_active_flags;

static bool is_installed; /* the frame hook is in the interpreter's slot, or in the chain after it */
static _PyFrameEvalFunction previous;
#if PY_VERSION_HEX < 0x030b0000
static int recursion_limit; /* as it was when it was last looked at */
#endif

const char *hook_name(void)
{
    return "frame evaluation";
}

/* The first argument of a frame that has just begun. */
static PyObject *first_argument(eval_frame_type *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    return frame->f_code->co_argcount ? frame->localsplus[0] : NULL;
#else
    return frame->f_code->co_argcount ? frame->f_localsplus[0] : NULL;
#endif
}

/* --- trace and profile functions --- */

static eval_frame_type *inside_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030b0000
    return frame->f_frame;
#else
    return frame;
#endif
}

static PyCodeObject *code_of(PyFrameObject *frame)
{
    return inside_of(frame)->f_code;
}

/* A line that does not take the fast path. */
__attribute__((noinline)) static int event_line(PyFrameObject *frame)
{
    struct thread_stack *t = &thread_stack;
    PyCodeObject *code = code_of(frame);
    const struct open_call *call = innermost_call(t, code);
    if (call && frame->f_lineno > 0 && opscope_is_recording())
        code_site_line_begins(code_site_of(code, NULL), call->depth + call->has_task + 1,
                              (uint32_t)frame->f_lineno);
    return 0;
}

/* f_lineno is set for this event; PyFrame_GetLineNumber would look for it. */
static inline bool begin_line(struct thread_stack *t, PyFrameObject *frame)
{
    PyCodeObject *code = code_of(frame);
    const struct open_call *call = innermost_call(t, code);
    const struct code_site *site = code_site_known(code);
    return LIKELY(call && site) &&
           fast_line(t, site, call->depth + call->has_task + 1, (uint32_t)frame->f_lineno);
}

__attribute__((noinline)) static int event_call(PyFrameObject *frame)
{
    struct thread_stack *t = &thread_stack;
    PyCodeObject *code = code_of(frame);
    if (!hook_records())
        return 0;
    if (UNLIKELY(t->ready_run != hook_run))
        stack_set_up(t);
    struct code_site *site = code_site_of(code, PyEval_GetGlobals());
    if (UNLIKELY((site->special & SITE_HIDDEN) | t->is_muted) && !framework_shows(site)) {
        stack_push_call(code, t->depth, false, false);
        t->is_muted |= framework_mutes(site);
        return 0;
    }
    if (stack_is_too_deep(t)) {
        stack_push_call(code, t->depth, false, false);
        return 0;
    }
    uint32_t depth = t->depth;
    bool has_task = (site->special & SITE_COROUTINE) && task_begin(t);
    int is_open =
        site->special & SITE_IMPORT ? import_begin(first_argument(inside_of(frame))) : code_site_begin(site);
    t->depth += is_open != 0;
    stack_push_call(code, depth, is_open, has_task);
    t->is_muted = false;
    return 0;
}

/* Of code that is not recorded itself, C calls are not either. */
static void event_c_call(PyObject *function)
{
    struct thread_stack *t = &thread_stack;
    const PyMethodDef *method = ((PyCFunctionObject *)function)->m_ml;
    const struct open_call *call = t->call_count ? &t->calls[t->call_count - 1] : NULL;
    if (!opscope_is_recording())
        return;
    if (t->is_muted || (call && !call->is_shown) || stack_is_too_deep(t))
        stack_push_call(method, t->depth, false, false);
    else if (c_call_begin(function))
        stack_push_call(method, t->depth++, true, false);
}

/* PyTrace_C_CALL, C_RETURN, C_EXCEPTION, and what is of no interest. */
__attribute__((noinline)) static int event_other(int what, PyObject *argument)
{
    if (!(hook_active_flags & HOOK_C_CALLS))
        return 0;
    if (what == PyTrace_C_CALL)
        event_c_call(argument);
    else if (what == PyTrace_C_RETURN || what == PyTrace_C_EXCEPTION)
        stack_end_call(((PyCFunctionObject *)argument)->m_ml);
    return 0;
}

__attribute__((noinline)) static int event_return(PyFrameObject *frame)
{
    stack_end_call(code_of(frame));
    return 0;
}

/* Both the trace and the profile function; C calls come only to the latter. The slow paths are functions of their own,
 * so that the fast ones save no registers. */
static int on_event(PyObject *self, PyFrameObject *frame, int what, PyObject *argument)
{
    (void)self;
    struct thread_stack *t = &thread_stack;
    if (what == PyTrace_LINE)
        return LIKELY(begin_line(t, frame)) ? 0 : event_line(frame);
    if (what == PyTrace_CALL)
        return LIKELY(fast_begin_call(t, code_of(frame))) ? 0 : event_call(frame);
    if (what == PyTrace_RETURN)
        return LIKELY(fast_end_call(t, code_of(frame))) ? 0 : event_return(frame);
    return event_other(what, argument);
}

typedef int (*set_function)(PyThreadState *, Py_tracefunc, PyObject *);

static bool set_in_all_threads(set_function set, Py_tracefunc function)
{
    PyThreadState *thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; thread; thread = PyThreadState_Next(thread))
        if (set(thread, function, NULL) != 0)
            return false;
    return true;
}

/* What threading.settrace and threading.setprofile get: a new thread's first event puts the C function in place. */
static PyObject *join_thread(PyObject *self, PyObject *arguments)
{
    (void)self;
    (void)arguments;
    set_function set = hook_active_flags & HOOK_LINES ? _PyEval_SetTrace : _PyEval_SetProfile;
    if (set(PyThreadState_Get(), hook_is_active ? on_event : NULL, NULL) != 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef join_method = {"join_thread", join_thread, METH_VARARGS, NULL};

static bool set_for_new_threads(bool is_on)
{
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *function = is_on ? PyCFunction_New(&join_method, NULL) : Py_None;
    const char *name = hook_active_flags & HOOK_LINES ? "settrace" : "setprofile";
    PyObject *done = threading && function ? PyObject_CallMethod(threading, name, "O", function) : NULL;
    Py_XDECREF(threading);
    if (is_on)
        Py_XDECREF(function);
    Py_XDECREF(done);
    return done != NULL;
}

static bool trace_set(bool is_on)
{
    set_function set = hook_active_flags & HOOK_LINES ? _PyEval_SetTrace : _PyEval_SetProfile;
    /* In this order: the latter runs Python code, in a thread that may not be the program's (pause.c). */
    return set_for_new_threads(is_on) && set_in_all_threads(set, is_on ? on_event : NULL);
}

/* --- frame evaluation --- */

static PyObject *evaluate(PyThreadState *thread, eval_frame_type *frame, int throwflag);

#if PY_VERSION_HEX >= 0x030b0000
static void set_profile(Py_tracefunc function)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyEval_SetProfile(function, NULL);
    PyErr_Restore(type, value, traceback);
}

static PyObject *evaluate_deep(PyThreadState *thread, eval_frame_type *frame, int throwflag)
{
    struct thread_stack *t = &thread_stack;
    PyInterpreterState *interpreter = thread->interp;
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) != evaluate || previous != _PyEval_EvalFrameDefault)
        return previous(thread, frame, throwflag); /* not ours to take out */
    _PyInterpreterState_SetEvalFrameFunc(interpreter, _PyEval_EvalFrameDefault);
    bool is_profiled = !thread->c_profilefunc, was_muted = t->is_muted;
    uint32_t depth = t->depth, calls = t->call_count;
    if (is_profiled)
        set_profile(on_event);
    PyObject *result = _PyEval_EvalFrameDefault(thread, frame, throwflag);
    if (is_profiled && thread->c_profilefunc == on_event)
        set_profile(NULL);
    if (t->call_count > calls)
        t->call_count = calls;
    t->is_muted = was_muted;
    stack_pop_to(depth);
    if (!hook_is_active) /* stopped from inside */
        is_installed = false;
    else if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == _PyEval_EvalFrameDefault)
        _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
    return result;
}

static bool makes_generator(const struct code_site *site, const eval_frame_type *frame)
{
    return (site->special & SITE_GENERATOR) && frame->owner != FRAME_OWNED_BY_GENERATOR;
}
#endif

/* Begins whatever a frame has: its task's zone, its own. True when that is any. */
static bool begin_special(struct thread_stack *t, struct code_site *site, eval_frame_type *frame)
{
    bool is_hidden = (site->special & SITE_HIDDEN) | t->is_muted;
    if (is_hidden && !framework_shows(site)) {
        t->is_muted |= framework_mutes(site);
        return false;
    }
    t->is_muted = false;
    if (stack_is_too_deep(t))
        return false;
    bool has_task = (site->special & SITE_COROUTINE) && task_begin(t);
    int is_open = site->special & SITE_IMPORT ? import_begin(first_argument(frame)) : code_site_begin(site);
    t->depth += is_open != 0;
    return is_open || has_task;
}

/* The interpreter is about to refuse this call with a RecursionError: then there is no call. */
static bool is_refused(const PyThreadState *thread)
{
#if PY_VERSION_HEX >= 0x030b0000
    return thread->recursion_remaining <= 0 && !thread->recursion_headroom;
#else
    recursion_limit = Py_GetRecursionLimit();
#if PY_VERSION_HEX >= 0x030a0000
    bool may_go_further = thread->recursion_headroom;
#else
    bool may_go_further = thread->overflowed || thread->recursion_critical;
#endif
    return thread->recursion_depth >= recursion_limit && !may_go_further;
#endif
}

/* Cheap, and true whenever is_refused may be (up to 3.10 unless the program has lowered its limit meanwhile). */
static inline bool may_be_refused(const PyThreadState *thread)
{
#if PY_VERSION_HEX >= 0x030b0000
    return thread->recursion_remaining <= 0;
#else
    return thread->recursion_depth >= recursion_limit;
#endif
}

/* Every frame that is not the plain case: the first of its code, generators, hidden ones, a thread's first ones. */
__attribute__((noinline)) static PyObject *evaluate_special(PyThreadState *thread, eval_frame_type *frame,
                                                            int throwflag)
{
    struct thread_stack *t = &thread_stack;
    if (!hook_records() || is_refused(thread))
        return previous(thread, frame, throwflag);
    if (t->stack_limit == STACK_LIMIT_UNKNOWN)
        stack_set_up(t);
    struct code_site *site = code_site_of(frame->f_code, frame->f_globals);
#if PY_VERSION_HEX >= 0x030b0000
    if (makes_generator(site, frame)) /* its first frame; it runs nothing of the program's */
        return previous(thread, frame, throwflag);
    if (t->stack_limit != STACK_LIMIT_UNKNOWN && (char *)__builtin_frame_address(0) < t->stack_limit)
        return evaluate_deep(thread, frame, throwflag);
#endif
    uint32_t depth = t->depth;
    bool was_muted = t->is_muted, is_open = begin_special(t, site, frame);
    PyObject *result = previous(thread, frame, throwflag);
    t->is_muted = was_muted;
    if (is_open)
        stack_pop_to(depth);
    return result;
}

/* Where the stack is, without a frame pointer for it. */
static inline char *stack_pointer(void)
{
#if defined(__x86_64__)
    char *pointer;
    __asm__("movq %%rsp, %0" : "=r"(pointer));
    return pointer;
#else
    return __builtin_frame_address(0);
#endif
}

/* What evaluate does when its call has returned: a function of its own, so that evaluate keeps one register through the
 * call rather than five. */
__attribute__((noinline)) static PyObject *evaluated(PyObject *result, uint32_t depth)
{
    struct thread_stack *t = &thread_stack;
    if (UNLIKELY(t->depth != depth + 1)) {
        stack_pop_to(depth);
        return result;
    }
    t->depth = depth;
    struct thread_cursor *c = cursor_fast(); /* not the same after a fork */
    if (UNLIKELY(!fast_end(c)))
        opscope_zone_end_();
    return result;
}

static PyObject *evaluate(PyThreadState *thread, eval_frame_type *frame, int throwflag)
{
    struct thread_stack *t = &thread_stack;
    struct code_site *site = code_site_known(frame->f_code);
    struct thread_cursor *c = cursor_fast();
    if (UNLIKELY(!site || site->special || !hook_is_fast || stack_pointer() < t->stack_limit || t->is_muted ||
                 may_be_refused(thread)))
        return evaluate_special(thread, frame, throwflag);
    if (UNLIKELY(!fast_begin(c, site->site.id)))
        return evaluate_special(thread, frame, throwflag);
    uint32_t depth = t->depth++;
    return evaluated(previous(thread, frame, throwflag), depth);
}

static void frame_hook_start(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    if (is_installed) /* after somebody else's hook, which calls ours */
        return;
    previous = _PyInterpreterState_GetEvalFrameFunc(interpreter);
#if PY_VERSION_HEX < 0x030b0000
    recursion_limit = Py_GetRecursionLimit();
#endif
    _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
    is_installed = true;
}

static void frame_hook_stop(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    if (is_installed && _PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate) {
        _PyInterpreterState_SetEvalFrameFunc(interpreter, previous);
        is_installed = false;
    }
}

static bool is_event_hook(unsigned flags)
{
    return flags & (HOOK_LINES | HOOK_C_CALLS | HOOK_PROFILE);
}

void hook_ask_again(void)
{
}

bool hook_start(unsigned flags)
{
    if (hook_is_active)
        return true;
    if ((flags & HOOK_GC) && !gc_zones_set(true))
        return false;
    hook_active_flags = flags;
    hook_is_active = true;
    hook_run++;
    hook_is_fast = stack_max_depth == UINT32_MAX && fast_is_possible();
    if (!is_event_hook(flags)) {
        frame_hook_start();
        return true;
    }
    if (trace_set(true))
        return true;
    hook_is_active = hook_is_fast = false;
    return false;
}

static bool
    was_fast; /* when it was taken out: not to be asked in the thread that puts it back, which has no track */

void hook_take_out(void)
{
    was_fast = hook_is_fast;
    hook_is_fast = false;
    if (!is_event_hook(hook_active_flags)) {
        frame_hook_stop();
        return;
    }
    trace_set(false);
    stack_drop_calls();
}

void hook_put_back(void)
{
    hook_run++;
    hook_is_fast = was_fast;
    if (!is_event_hook(hook_active_flags))
        frame_hook_start();
    else
        trace_set(true);
}

void hook_stop(void)
{
    if (!hook_is_active)
        return;
    hook_is_active = hook_is_fast = false;
    if ((hook_active_flags & HOOK_GC) && !gc_zones_set(false))
        PyErr_Clear();
    if (!is_event_hook(hook_active_flags)) {
        frame_hook_stop();
        return;
    }
    if (!trace_set(false))
        PyErr_Clear();
    stack_drop_calls();
}

#endif
