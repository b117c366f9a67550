/* The frame hook: PEP 523's way to be there when a Python function is called.

   While it is installed, CPython calls `evaluate` for each frame instead of its own evaluator. It
   looks for what is known about the frame's code (code_state.c), and in most calls there is
   nothing: then it calls CPython's own, and has cost some nanoseconds. Otherwise

   - the code's cache is looked through for an entry that holds for this call (code_cache.c);
   - failing that, the thread's callback is asked for one, unless the code is to be skipped;
   - the entry's code runs in the frame's place (frame_replace.c), and a call that it leaves to the
     hook is made (resume_call.c);
   - who watches the code is told which code runs, when it begins and when it ends.

   A frame that the program has traced (sys.settrace) runs as it is: a trace function is told of
   lines and calls, and other code has others.

   While a check or the callback runs, the thread has no callback, so that what they call is not
   captured. Their errors: a check that raises has failed; what the callback raises, the call
   raises. Of generators only the call is seen, and nothing else is run in their place.

   What a hook changes, even one that does nothing: calls between Python functions go through C. So
   a call takes C stack (c_stack.c says when there is too little left), and the thread's allowance
   of C recursion, which is given back here. And an argument that was passed as a temporary lives
   until the call returns, since its caller's stack holds it too.

   The hook is put in under everybody else's, never over one. Dynamo puts its own in and out as it
   begins and ends, in whichever thread: over ours it passes frames on to us. Under ours it would
   one day be told to put back what was there before, and either take us out or, once it is in
   again, pass frames on to us that we pass on to it, for ever. */

#include "evalframe/frame_hook.h"

#include "evalframe/c_stack.h"
#include "evalframe/cache.h"
#include "evalframe/code_state.h"
#include "evalframe/frame_arguments.h"
#include "evalframe/frame_replace.h"
#include "evalframe/resume_call.h"

static PyInterpreterState *interpreter; /* the one that the hook is installed in */
static int installed;
static int aside; /* it is installed, but out for a while */
static int over;  /* it is not installed, but was put over another evaluator, which may have thrown
                       it out since */
static _PyFrameEvalFunction under;  /* that one, to which frames are passed on; NULL: none */
static _Thread_local Frame *passed; /* the frame that has been, and has not begun yet */
static int watches;                 /* some code is watched, or was */

/* Told of the calls of watched codes; NULL: nobody is. */
static PyObject *on_enter, *on_leave;
static _Thread_local int observing;   /* the observer is not told about its own calls */
static _Thread_local Frame *entering; /* whose beginning it is being told */

_Thread_local int *frame_hook_last_line; /* see frame_hook.h */

PyObject *
frame_hook_run(PyThreadState *tstate, Frame *frame, int throwflag)
{
    int *line = frame_hook_last_line;
    PyCodeObject *code = line == NULL || frame_goes_at_its_end(tstate, frame)
                             ? NULL
                             : (PyCodeObject *)Py_NewRef(frame_code(frame));
    give_c_recursion(tstate, 1);
    PyObject *result;
    if (under != NULL) {
        passed = frame;
        result = under(tstate, frame, throwflag);
        passed = NULL;
    }
    else {
        result = _PyEval_EvalFrameDefault(tstate, frame, throwflag);
    }
    give_c_recursion(tstate, -1);
    if (code != NULL) {
        *line = ended_frame_line(frame, code);
        Py_DECREF(code);
    }
    return result;
}

/* --- watching --- */

/* Calls the observer; what it raises is reported and does no harm to the program. Whether it wants to
   hear more of the call: unless it answers False. */
static int
call_back(PyObject *callback, PyCodeObject *code, PyObject *watched, PyObject *third)
{
    SavedError error = error_save();
    PyObject *args[] = {(PyObject *)code, watched, third};
    observing = 1;
    PyObject *result = PyObject_Vectorcall(callback, args, third == NULL ? 2 : 3, NULL);
    observing = 0;
    if (result == NULL) {
        PyErr_WriteUnraisable(callback);
    }
    int more = result != Py_False;
    Py_XDECREF(result);
    error_restore(error);
    return more;
}

/* Whether the frame that calls runs watched code. */
static int
is_watched_code_calling(PyThreadState *tstate)
{
    Frame *caller = frame_begun(current_frame(tstate));
    CodeState *calling = caller == NULL ? NULL : code_state(frame_code(caller));
    return calling != NULL && calling->watched != NULL;
}

static int
is_watched(PyThreadState *tstate, CodeState *state)
{
    return state != NULL && state->watched != NULL && !observing
           && (!state->inside || is_watched_code_calling(tstate));
}

/* --- choosing what runs --- */

/* Whether a trace function of the program's is told of what this thread runs. */
static int
is_traced(PyThreadState *tstate)
{
    if (tstate->c_tracefunc == NULL) {
        return 0;
    }
    PyObject *tracer = tstate->c_traceobj;
    if (tracer != NULL && PyMethod_Check(tracer)) {
        tracer = PyMethod_GET_FUNCTION(tracer);
    }
    if (tracer == NULL || !PyFunction_Check(tracer)) {
        return 1;
    }
    CodeState *state = code_state((PyCodeObject *)PyFunction_GET_CODE(tracer));
    return state == NULL || !state->own_tracer;
}

/* Asks the thread's callback for an entry. NULL: there is none, or an exception is set. */
static CacheEntry *
ask_callback(PyThreadState *tstate, Frame *frame, PyObject *locals)
{
    PyObject *args[] = {(PyObject *)frame_code(frame), (PyObject *)frame_function(frame), locals};
    int traced = is_traced(tstate);
    PyObject *callback = thread_state_pause();
    if (traced) {
        PyThreadState_EnterTracing(tstate); /* the callback is not the program's to trace */
    }
    PyObject *answer = PyObject_Vectorcall(callback, args, 3, NULL);
    if (traced) {
        PyThreadState_LeaveTracing(tstate);
    }
    thread_state_resume(callback);
    if (answer == NULL) {
        return NULL;
    }
    if (answer == Py_None) {
        Py_DECREF(answer);
        return NULL;
    }
    if (!is_entry(answer) || !cache_entry_is_for((CacheEntry *)answer, frame_code(frame))) {
        PyErr_SetString(PyExc_TypeError,
                        "the frame callback returns a CacheEntry for the code it was given, "
                        "or None");
        Py_DECREF(answer);
        return NULL;
    }
    return (CacheEntry *)answer;
}

/* The entry that a lookup finds for a call, told to who listens. NULL: there is none, or an
   exception is set. */
static CacheEntry *
look_up(ThreadState *thread, CodeCache *cache, Frame *frame, PyObject *locals, int may_ask)
{
    PyObject *tried = code_cache_lookup_begins(cache);
    if (tried == NULL) {
        return PyErr_Occurred()
                   ? NULL
                   : code_cache_lookup(cache, locals, frame->f_globals, thread->backend);
    }
    PyObject *backend = Py_XNewRef(thread->backend);
    CacheEntry *entry = code_cache_lookup(cache, locals, frame->f_globals, backend);
    if ((entry != NULL || !PyErr_Occurred())
        && code_cache_lookup_ended(tried, frame_code(frame), locals, frame->f_globals, backend,
                                   entry, may_ask)
               < 0) {
        Py_CLEAR(entry);
    }
    else if (entry != NULL && entry->reason != NULL) {
        Py_CLEAR(entry); /* it has ended while the program stood still */
    }
    Py_XDECREF(backend);
    Py_DECREF(tried);
    return entry;
}

/* Whether the callback is asked although the code has a mark. */
static int
must_ask(ThreadState *thread, CodeState *state)
{
    return thread->whole && state->unless_whole;
}

/* The entry that is to run in the frame's place, a new reference. NULL: the frame is to run as it
   is, or an exception is set. */
static CacheEntry *
choose_entry(PyThreadState *tstate, ThreadState *thread, CodeState *state, Frame *frame)
{
    CodeCache *cache = state == NULL ? NULL : state->cache;
    int has_entries = cache != NULL && PyList_GET_SIZE(cache->entries) > 0;
    int may_ask = thread->callback != Py_False
                  && (state == NULL || state->skip == SKIP_NOTHING || must_ask(thread, state));
    if (is_traced(tstate)) {
        has_entries = 0;
        may_ask = may_ask && thread->whole; /* the callback says that this cannot be */
    }
    if (!has_entries && !may_ask) {
        return NULL;
    }
    PyObject *locals = frame_arguments(frame);
    if (locals == NULL) {
        return NULL;
    }
    CacheEntry *entry = NULL;
    if (has_entries) {
        entry = look_up(thread, cache, frame, locals, may_ask);
    }
    if (entry == NULL && may_ask && !PyErr_Occurred()) {
        entry = ask_callback(tstate, frame, locals);
    }
    Py_DECREF(locals);
    return entry;
}

/* --- the evaluator --- */

/* Runs a frame as it is; if its code is marked so, with nothing captured of what it calls. */
static PyObject *
run_unchanged(PyThreadState *tstate, Frame *frame, CodeState *state)
{
    if (state == NULL || state->skip != SKIP_RECURSIVE) {
        return frame_hook_run(tstate, frame, 0);
    }
    PyObject *paused = thread_state_pause();
    PyObject *result = frame_hook_run(tstate, frame, 0);
    thread_state_resume(paused);
    return result;
}

static PyObject *
run_chosen(PyThreadState *tstate, ThreadState *thread, Frame *frame, CodeState *state,
           CacheEntry *entry)
{
    if (entry == NULL || entry->code == frame_code(frame)) {
        return run_unchanged(tstate, frame, state);
    }
    /* It has become one graph if it was to. What is called now is no part of it: destructors,
       handlers of signals. */
    int whole = thread->whole;
    thread->whole = 0;
    PyObject *result = frame_replace_run(tstate, thread, frame, entry->code);
    thread->whole = whole;
    return result;
}

static PyObject *
run_watched(PyThreadState *tstate, ThreadState *thread, Frame *frame, CodeState *state,
            CacheEntry *entry)
{
    PyCodeObject *runs = entry == NULL ? frame_code(frame) : entry->code;
    CodeState *told = is_watched(tstate, state) ? state : code_state(runs);
    PyObject *watched = Py_NewRef(told->watched);
    PyObject *enter = Py_XNewRef(on_enter);
    int more = 1;
    if (enter != NULL) {
        told->calls++;
        entering = frame;
        more = call_back(enter, runs, watched, NULL);
        entering = NULL;
        Py_DECREF(enter);
    }
    PyObject *result = run_chosen(tstate, thread, frame, state, entry);
    PyObject *leave = more ? Py_XNewRef(on_leave) : NULL;
    if (leave != NULL) {
        (void)call_back(leave, runs, watched, result == NULL ? Py_True : Py_False);
        Py_DECREF(leave);
    }
    Py_DECREF(watched);
    return result;
}

/* A call that somebody has said something about. */
static PyObject *
evaluate_known(PyThreadState *tstate, ThreadState *thread, Frame *frame, CodeState *state)
{
    if (thread != NULL && thread->direct == frame_code(frame)) {
        /* A helper's frame: all that is to be said about its call has been. */
        thread->direct = NULL;
        PyObject *result = frame_hook_run(tstate, frame, 0);
        frame_hook_last_line = NULL;
        return result;
    }
    /* The frame lets go of its code when it ends, and what is known of the code goes with it. */
    PyCodeObject *code = (PyCodeObject *)Py_NewRef(frame_code(frame));
    CacheEntry *entry = NULL;
    PyObject *result = NULL;
    if (thread != NULL && thread->callback != NULL
        && (frame_replace_is_possible(code) || (thread->whole && frame_replace_is_function(code)))
        && (state == NULL || state->skip < SKIP_FRAME || must_ask(thread, state))) {
        entry = choose_entry(tstate, thread, state, frame);
        if (entry == NULL && PyErr_Occurred()) {
            frame_replace_dispose(tstate, frame);
            goto done;
        }
        state = code_state(code); /* there may be one now */
    }
    if (is_watched(tstate, state)
        || (entry != NULL && is_watched(tstate, code_state(entry->code)))) {
        result = run_watched(tstate, thread, frame, state, entry);
    }
    else {
        result = run_chosen(tstate, thread, frame, state, entry);
    }
done:
    Py_XDECREF(entry);
    Py_DECREF(code);
    return result;
}

static PyObject *
evaluate(PyThreadState *tstate, Frame *frame, int throwflag)
{
    if (frame == passed) {
        /* What the hook was put over is over the hook, too: each passes frames on to the other. */
        passed = NULL;
        return _PyEval_EvalFrameDefault(tstate, frame, throwflag);
    }
    passed = NULL;
    /* The frames of generators are the generators': they are resumed, not called. */
    if (frame->owner != FRAME_OWNED_BY_THREAD || throwflag) {
        return frame_hook_run(tstate, frame, throwflag);
    }
    if (!c_stack_is_left()) {
        PyErr_SetString(PyExc_RecursionError,
                        "maximum recursion depth exceeded: no C stack is left");
        frame_replace_dispose(tstate, frame);
        return NULL;
    }
    ThreadState *thread = thread_state();
    int resumed = thread != NULL && resume_call_begins(thread, frame);
    CodeState *state = code_state(frame_code(frame));
    if (state == NULL && !resumed && (thread == NULL || thread->callback == NULL)) {
        return frame_hook_run(tstate, frame, 0);
    }
    PyObject *result = evaluate_known(tstate, thread, frame, state);
    if (resumed) {
        frame_hook_last_line = NULL;
    }
    if (resumed || !resume_call_check(result)
        || ((thread = thread_state()) != NULL && thread->leaves)) {
        return result; /* who called the resume function makes the next call, too */
    }
    frame_release_locals(frame);
    return resume_call_finish(result);
}

/* --- the module --- */

/* Whether it is installed after this: it cannot be over another evaluator. */
static int
install(void)
{
    if (installed) {
        return 1;
    }
    interpreter = PyInterpreterState_Get();
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) == _PyEval_EvalFrameDefault) {
        _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
        installed = 1;
        over = 0;
        under = NULL;
    }
    return installed;
}

void
frame_hook_ensure(void)
{
    if (install()) {
        return;
    }
    /* Dynamo's is in while a thread runs compiled code, which this one may do. It throws out whatever
       is over it when no thread does any more. */
    _PyFrameEvalFunction top = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    if (top != evaluate) {
        over = 1;
        under = top;
        _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
    }
}

static PyObject *
install_hook(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    if (!install()) {
        return PyErr_Format(PyExc_RuntimeError,
                            "another evaluator is installed; install the hook when that is out, as "
                            "Dynamo's is while no thread runs compiled code");
    }
    Py_RETURN_NONE;
}

static PyObject *
remove_hook(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    if (!installed) {
        if (over && _PyInterpreterState_GetEvalFrameFunc(interpreter) == evaluate) {
            _PyInterpreterState_SetEvalFrameFunc(interpreter, under);
            over = 0;
            under = NULL;
        }
        Py_RETURN_NONE;
    }
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) != evaluate) {
        return PyErr_Format(PyExc_RuntimeError,
                            "another evaluator is installed over the hook; remove that one first");
    }
    _PyInterpreterState_SetEvalFrameFunc(interpreter, _PyEval_EvalFrameDefault);
    installed = 0;
    Py_RETURN_NONE;
}

/* While a thread that captures nothing calls many functions, as a translator does, the hook has
   nothing to do, and costs it a tenth of its time. It can go if it is nobody else's: no other
   thread's, and no observer's. */
static PyObject *
put_hook_aside(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    PyThreadState *tstate = PyThreadState_Get();
    ThreadState *thread = thread_state();
    if (!installed || watches || on_enter != NULL || on_leave != NULL
        || (thread != NULL && thread->callback != NULL)
        || PyInterpreterState_ThreadHead(interpreter) != tstate
        || PyThreadState_Next(tstate) != NULL
        || _PyInterpreterState_GetEvalFrameFunc(interpreter) != evaluate) {
        Py_RETURN_FALSE;
    }
    _PyInterpreterState_SetEvalFrameFunc(interpreter, _PyEval_EvalFrameDefault);
    aside = 1;
    Py_RETURN_TRUE;
}

static PyObject *
put_hook_back(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    if (aside) {
        aside = 0;
        installed = _PyInterpreterState_GetEvalFrameFunc(interpreter) == _PyEval_EvalFrameDefault;
        if (installed) {
            _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
        }
    }
    Py_RETURN_NONE;
}

static PyObject *
hook_installed(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    return PyBool_FromLong(installed);
}

static PyObject *
set_observer(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"enter", "leave", NULL};
    PyObject *enter, *leave = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:set_observer", names, &enter, &leave)) {
        return NULL;
    }
    Py_XSETREF(on_enter, enter == Py_None ? NULL : Py_NewRef(enter));
    Py_XSETREF(on_leave, leave == Py_None ? NULL : Py_NewRef(leave));
    Py_RETURN_NONE;
}

static PyObject *
entering_call(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    if (entering == NULL) {
        return PyErr_Format(PyExc_RuntimeError, "no watched code is being entered in this thread");
    }
    PyObject *globals = Py_NewRef(entering->f_globals);
    PyObject *arguments = frame_arguments(entering);
    if (arguments == NULL) {
        Py_DECREF(globals);
        return NULL;
    }
    return Py_BuildValue("NN", arguments, globals);
}

static PyObject *
watch(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"code", "tag", "inside", NULL};
    PyCodeObject *code;
    PyObject *watched = Py_None;
    int inside = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|O$p:watch", names, &PyCode_Type, &code,
                                     &watched, &inside)) {
        return NULL;
    }
    CodeState *state = code_state_make(code);
    if (state == NULL) {
        return NULL;
    }
    if (state->watched == NULL) {
        state->calls = 0;
    }
    Py_XSETREF(state->watched, Py_NewRef(watched));
    state->inside = (char)inside;
    watches = 1;
    Py_RETURN_NONE;
}

static PyObject *
unwatch(PyObject *Py_UNUSED(module), PyObject *code)
{
    if (!code_state_is_code(code)) {
        return NULL;
    }
    CodeState *state = code_state((PyCodeObject *)code);
    if (state != NULL) {
        Py_CLEAR(state->watched);
    }
    Py_RETURN_NONE;
}

static PyObject *
watched_calls(PyObject *Py_UNUSED(module), PyObject *code)
{
    if (!code_state_is_code(code)) {
        return NULL;
    }
    CodeState *state = code_state((PyCodeObject *)code);
    return PyLong_FromUnsignedLongLong(state == NULL ? 0 : state->calls);
}

static PyObject *
count_call(PyObject *Py_UNUSED(module), PyObject *code)
{
    CodeState *state = PyCode_Check(code) ? code_state((PyCodeObject *)code) : NULL;
    if (state != NULL && state->watched != NULL) {
        state->calls++;
    }
    Py_RETURN_NONE;
}

static PyObject *
set_frame_callback(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *callback, *backend = Py_None;
    int whole = 0;
    if (!PyArg_ParseTuple(args, "O|Op:set_frame_callback", &callback, &backend, &whole)) {
        return NULL;
    }
    if (callback != Py_None && callback != Py_False && !PyCallable_Check(callback)) {
        return PyErr_Format(PyExc_TypeError,
                            "a frame callback is something to call, False or None, not %s",
                            Py_TYPE(callback)->tp_name);
    }
    return thread_state_exchange(callback, backend, whole);
}

static PyObject *
current_backend(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    ThreadState *thread = thread_state();
    return Py_NewRef(thread == NULL || thread->backend == NULL ? Py_None : thread->backend);
}

static PyObject *
parts_will_do(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    ThreadState *thread = thread_state();
    return PyBool_FromLong(thread == NULL || !thread->whole);
}

static const char *const skip_names[] = {
    [SKIP_CAPTURE] = "capture",
    [SKIP_FRAME] = "frame",
    [SKIP_RECURSIVE] = "recursive",
};

static PyObject *
set_skip(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"code", "mark", "unless_whole", NULL};
    PyCodeObject *code;
    const char *name;
    int unless_whole = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!z|p:set_skip", names, &PyCode_Type, &code,
                                     &name, &unless_whole)) {
        return NULL;
    }
    SkipMark mark = SKIP_NOTHING;
    if (name != NULL) {
        mark = SKIP_RECURSIVE;
        while (mark != SKIP_NOTHING && strcmp(name, skip_names[mark]) != 0) {
            mark--;
        }
        if (mark == SKIP_NOTHING) {
            return PyErr_Format(PyExc_ValueError, "no skip mark is called '%s'", name);
        }
    }
    CodeState *state = code_state_make(code);
    if (state == NULL) {
        return NULL;
    }
    state->skip = mark;
    state->unless_whole = (char)unless_whole;
    Py_RETURN_NONE;
}

static PyObject *
get_skip(PyObject *Py_UNUSED(module), PyObject *code)
{
    if (!code_state_is_code(code)) {
        return NULL;
    }
    CodeState *state = code_state((PyCodeObject *)code);
    if (state == NULL || state->skip == SKIP_NOTHING) {
        Py_RETURN_NONE;
    }
    return PyUnicode_FromString(skip_names[state->skip]);
}

static PyObject *
traced(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    return PyBool_FromLong(is_traced(PyThreadState_Get()));
}

static PyObject *
own_tracer(PyObject *Py_UNUSED(module), PyObject *code)
{
    if (!code_state_is_code(code)) {
        return NULL;
    }
    CodeState *state = code_state_make((PyCodeObject *)code);
    if (state == NULL) {
        return NULL;
    }
    state->own_tracer = 1;
    Py_RETURN_NONE;
}

static PyObject *
force_helper(PyObject *Py_UNUSED(module), PyObject *flag)
{
    frame_replace_force_helper = PyObject_IsTrue(flag) > 0;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    METHOD("install_hook", install_hook, METH_NOARGS),
    METHOD("remove_hook", remove_hook, METH_NOARGS),
    METHOD("put_hook_aside", put_hook_aside, METH_NOARGS),
    METHOD("put_hook_back", put_hook_back, METH_NOARGS),
    METHOD("hook_installed", hook_installed, METH_NOARGS),
    METHOD("set_observer", set_observer, METH_VARARGS | METH_KEYWORDS),
    METHOD("entering_call", entering_call, METH_NOARGS),
    METHOD("watch", watch, METH_VARARGS | METH_KEYWORDS),
    METHOD("unwatch", unwatch, METH_O),
    METHOD("count_call", count_call, METH_O),
    METHOD("watched_calls", watched_calls, METH_O),
    METHOD("set_frame_callback", set_frame_callback, METH_VARARGS),
    METHOD("current_backend", current_backend, METH_NOARGS),
    METHOD("parts_will_do", parts_will_do, METH_NOARGS),
    METHOD("set_skip", set_skip, METH_VARARGS | METH_KEYWORDS),
    METHOD("get_skip", get_skip, METH_O),
    METHOD("traced", traced, METH_NOARGS),
    METHOD("own_tracer", own_tracer, METH_O),
    METHOD("force_helper", force_helper, METH_O),
    {NULL},
};

const Part frame_hook_part = {.functions = functions};
