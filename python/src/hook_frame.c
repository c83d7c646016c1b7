/* SPDX-License-Identifier: Apache-2.0 */
/* Python 3.9 to 3.11: the frame-evaluation hook (PEP 523); for lines and C calls the trace and profile functions.
 *
 * The hook is the interpreter's, not a thread's: it sees threads that already run, leaves sys.setprofile and
 * sys.settrace to the program, and sees each call return, whatever way it ends. It runs no Python code. One that was
 * there before (torch.compile, a debugger) is called in turn.
 *
 * ## Deep recursion
 *
 * With a hook, a call of a Python function takes about 450 bytes of C stack; without, 3.11 takes none. A program that
 * raised its recursion limit would crash at 18,000 frames on an 8 MB stack. So below a quarter of the thread's stack
 * the hook takes itself out and the profile function goes on (dearer, no C stack) until that call returns. Other
 * threads are not recorded in the meantime. Where the program has a profile function of its own there, its deep calls
 * are not recorded either. */
#include "native.h"

#if PY_VERSION_HEX < 0x030c0000

#include <pthread.h>

#include <frameobject.h>
#if PY_VERSION_HEX >= 0x030b0000
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
typedef _PyInterpreterFrame eval_frame_type;
#else
typedef PyFrameObject eval_frame_type;
#endif

bool hook_is_active;
unsigned hook_active_flags;

static bool is_installed; /* the frame hook is in the interpreter's slot, or in the chain behind it */
static _PyFrameEvalFunction previous;

const char *hook_name(void)
{
    return "frame evaluation";
}

/* --- trace and profile functions --- */

static PyCodeObject *code_of(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    Py_DECREF(code); /* the frame holds it */
    return code;
}

static void event_line(PyFrameObject *frame)
{
    struct thread_stack *t = &thread_stack;
    PyCodeObject *code = code_of(frame);
    if (!t->call_count || t->calls[t->call_count - 1].key != code || !opscope_is_recording() ||
        !t->calls[t->call_count - 1].is_shown)
        return;
    stack_pop_to(t->calls[t->call_count - 1].depth + 1);
    int line = PyFrame_GetLineNumber(frame);
    if (line > 0 && code_site_begin_line(code_site_of(code), (uint32_t)line))
        t->depth++;
}

/* Both the trace and the profile function; C_CALL comes only to the latter. */
static int on_event(PyObject *self, PyFrameObject *frame, int what, PyObject *argument)
{
    (void)self;
    struct thread_stack *t = &thread_stack;
    switch (what) {
    case PyTrace_CALL: {
        PyCodeObject *code = code_of(frame);
        stack_started();
        struct code_site *site = code_site_of(code);
        if (!hook_is_active || !opscope_is_recording())
            break;
        if (UNLIKELY(site->is_hidden | t->is_muted) && !framework_shows(site)) {
            stack_push_hidden_call(code);
            t->is_muted |= framework_mutes(site);
        } else if (opscope_zone_begin_(&site->site)) {
            stack_push_call(code, t->depth++);
            t->is_muted = false;
        }
        break;
    }
    case PyTrace_RETURN:
        stack_end_call(code_of(frame));
        break;
    case PyTrace_LINE:
        event_line(frame);
        break;
    case PyTrace_C_CALL:
        if (!(hook_active_flags & HOOK_C_CALLS) || !opscope_is_recording())
            break;
        if (UNLIKELY(t->is_muted))
            stack_push_hidden_call(((PyCFunctionObject *)argument)->m_ml);
        else if (c_call_begin(argument))
            stack_push_call(((PyCFunctionObject *)argument)->m_ml, t->depth++);
        break;
    case PyTrace_C_RETURN:
    case PyTrace_C_EXCEPTION:
        if (hook_active_flags & HOOK_C_CALLS)
            stack_end_call(((PyCFunctionObject *)argument)->m_ml);
        break;
    default:
        break;
    }
    return 0;
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
    return set_in_all_threads(set, is_on ? on_event : NULL) && set_for_new_threads(is_on);
}

/* --- frame evaluation --- */

static PyObject *evaluate(PyThreadState *thread, eval_frame_type *frame, int throwflag);

#if PY_VERSION_HEX >= 0x030b0000
static void find_stack_limit(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &low, &bytes);
        pthread_attr_destroy(&attributes);
    }
    thread_stack.stack_limit = bytes ? (char *)low + bytes / 4 : (char *)1;
}

static void set_profile(Py_tracefunc function)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyEval_SetProfile(function, NULL);
    PyErr_Restore(type, value, traceback);
}

__attribute__((noinline)) static PyObject *evaluate_deep(PyThreadState *thread, eval_frame_type *frame,
                                                         int throwflag)
{
    PyInterpreterState *interpreter = thread->interp;
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) != evaluate || previous != _PyEval_EvalFrameDefault)
        return previous(thread, frame, throwflag); /* not ours to take out */
    _PyInterpreterState_SetEvalFrameFunc(interpreter, _PyEval_EvalFrameDefault);
    bool is_profiled = !thread->c_profilefunc;
    uint32_t depth = thread_stack.depth, calls = thread_stack.call_count;
    if (is_profiled)
        set_profile(on_event);
    PyObject *result = _PyEval_EvalFrameDefault(thread, frame, throwflag);
    if (is_profiled && thread->c_profilefunc == on_event)
        set_profile(NULL);
    if (thread_stack.call_count > calls)
        thread_stack.call_count = calls;
    stack_pop_to(depth);
    if (!hook_is_active) /* stopped from inside */
        is_installed = false;
    else if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == _PyEval_EvalFrameDefault)
        _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
    return result;
}
#endif

/* A frame without a zone, or the first of the program's own below a framework's. */
__attribute__((noinline)) static PyObject *evaluate_muted(PyThreadState *thread, eval_frame_type *frame,
                                                          int throwflag, struct code_site *site)
{
    struct thread_stack *t = &thread_stack;
    bool was_muted = t->is_muted, is_shown = framework_shows(site);
    uint32_t depth = t->depth;
    if (is_shown && opscope_zone_begin_(&site->site)) {
        t->depth = depth + 1;
        t->is_muted = false;
    } else {
        is_shown = false;
        t->is_muted |= framework_mutes(site);
    }
    PyObject *result = previous(thread, frame, throwflag);
    t->is_muted = was_muted;
    if (is_shown)
        stack_pop_to(depth);
    return result;
}

static PyObject *evaluate(PyThreadState *thread, eval_frame_type *frame, int throwflag)
{
    PyCodeObject *code = frame->f_code;
    struct thread_stack *t = &thread_stack;
    if (UNLIKELY(!hook_is_active || !opscope_is_recording()))
        return previous(thread, frame, throwflag);
#if PY_VERSION_HEX >= 0x030b0000
    /* A generator's first call only makes the generator. */
    const int makes_generator = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    if (UNLIKELY(code->co_flags & makes_generator) && frame->owner != FRAME_OWNED_BY_GENERATOR)
        return previous(thread, frame, throwflag);
    if (UNLIKELY(!t->stack_limit))
        find_stack_limit();
    if (UNLIKELY((char *)__builtin_frame_address(0) < t->stack_limit))
        return evaluate_deep(thread, frame, throwflag);
#endif
    stack_started();
    uint32_t depth = t->depth;
    struct code_site *site = code_site_of(code);
    if (UNLIKELY(site->is_hidden | t->is_muted))
        return evaluate_muted(thread, frame, throwflag, site);
    if (UNLIKELY(!opscope_zone_begin_(&site->site)))
        return previous(thread, frame, throwflag);
    t->depth = depth + 1;
    PyObject *result = previous(thread, frame, throwflag);
    if (UNLIKELY(t->depth != depth + 1)) {
        stack_pop_to(depth);
    } else {
        t->depth = depth;
        opscope_zone_end_();
    }
    return result;
}

static void frame_hook_start(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    if (is_installed) /* behind somebody else's hook, which calls ours */
        return;
    previous = _PyInterpreterState_GetEvalFrameFunc(interpreter);
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

bool hook_start(unsigned flags)
{
    if (hook_is_active)
        return true;
    hook_active_flags = flags;
    hook_is_active = true;
    if (!(flags & (HOOK_LINES | HOOK_C_CALLS | HOOK_PROFILE))) {
        frame_hook_start();
        return true;
    }
    if (trace_set(true))
        return true;
    hook_is_active = false;
    return false;
}

void hook_stop(void)
{
    if (!hook_is_active)
        return;
    hook_is_active = false;
    if (!(hook_active_flags & (HOOK_LINES | HOOK_C_CALLS | HOOK_PROFILE))) {
        frame_hook_stop();
        return;
    }
    if (!trace_set(false))
        PyErr_Clear();
    stack_drop_calls();
}

#endif
