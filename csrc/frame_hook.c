/* The frame hook: PEP 523's way to be there when a Python function is called.

   While it is installed, CPython calls `evaluate` for each frame instead of its own evaluator. It
   looks for what is known about the frame's code (code_state.c), and in most calls there is nothing:
   then it calls the evaluator that was there before, and has cost some nanoseconds. Otherwise

   - who watches the code is told which code runs, when it begins and when it ends.

   Only calls are seen. A generator is seen when it is called, not when it is resumed.

   What a hook changes, even one that does nothing: calls between Python functions go through C. So
   a call takes C stack (c_stack.c says when there is too little left), and the thread's allowance
   of C recursion, which is given back here. And an argument that was passed as a temporary lives
   until the call returns, since its caller's stack holds it too. */

#include "frame_hook.h"

#include "c_stack.h"
#include "code_state.h"
#include "frame_replace.h"

static PyInterpreterState *interpreter; /* the one that the hook is installed in */
static _PyFrameEvalFunction before_us = _PyEval_EvalFrameDefault;
static int installed;

/* Told of the calls of watched codes; NULL: nobody is. */
static PyObject *on_enter, *on_leave;
static _Thread_local int observing; /* the observer is not told about its own calls */

PyObject *
run_frame(PyThreadState *tstate, Frame *frame, int throwflag)
{
    give_c_recursion(tstate, 1);
    PyObject *result = before_us(tstate, frame, throwflag);
    give_c_recursion(tstate, -1);
    return result;
}

/* --- watching --- */

/* Calls the observer; what it raises is reported and does no harm to the program. */
static void
tell(PyObject *callback, PyCodeObject *code, PyObject *watched, PyObject *third)
{
    SavedError error = error_save();
    PyObject *args[] = {(PyObject *)code, watched, third};
    observing = 1;
    PyObject *result =
        PyObject_Vectorcall(callback, args, third == NULL ? 2 : 3, NULL);
    observing = 0;
    if (result == NULL) {
        PyErr_WriteUnraisable(callback);
    }
    Py_XDECREF(result);
    error_restore(error);
}

static PyObject *
run_watched(PyThreadState *tstate, Frame *frame, int throwflag, CodeState *state)
{
    /* The code and what is said about it may go while it runs or while the observer does. */
    PyCodeObject *code = (PyCodeObject *)Py_NewRef(frame_code(frame));
    PyObject *watched = Py_NewRef(state->watched);
    PyObject *enter = Py_XNewRef(on_enter);
    state->calls++;
    if (enter != NULL) {
        tell(enter, code, watched, NULL);
        Py_DECREF(enter);
    }
    PyObject *result = run_frame(tstate, frame, throwflag);
    PyObject *leave = Py_XNewRef(on_leave);
    if (leave != NULL) {
        tell(leave, code, watched, result == NULL ? Py_True : Py_False);
        Py_DECREF(leave);
    }
    Py_DECREF(watched);
    Py_DECREF(code);
    return result;
}

/* --- the evaluator --- */

static PyObject *
refuse(PyThreadState *tstate, Frame *frame)
{
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded: no C stack is left");
    frame_dispose(tstate, frame);
    return NULL;
}

static PyObject *
evaluate(PyThreadState *tstate, Frame *frame, int throwflag)
{
    /* The frames of generators are the generators': they are resumed, not called. */
    if (frame->owner != FRAME_OWNED_BY_THREAD || throwflag) {
        return run_frame(tstate, frame, throwflag);
    }
    if (!has_c_stack()) {
        return refuse(tstate, frame);
    }
    CodeState *state = code_state(frame_code(frame));
    if (state != NULL && state->watched != NULL && !observing) {
        return run_watched(tstate, frame, throwflag, state);
    }
    return run_frame(tstate, frame, throwflag);
}

/* --- the module --- */

static PyObject *
install_hook(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    if (installed) {
        Py_RETURN_NONE;
    }
    interpreter = PyInterpreterState_Get();
    before_us = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    _PyInterpreterState_SetEvalFrameFunc(interpreter, evaluate);
    installed = 1;
    Py_RETURN_NONE;
}

static PyObject *
remove_hook(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    if (!installed) {
        Py_RETURN_NONE;
    }
    if (_PyInterpreterState_GetEvalFrameFunc(interpreter) != evaluate) {
        PyErr_SetString(PyExc_RuntimeError,
                        "another evaluator is installed over the hook; remove that one first");
        return NULL;
    }
    _PyInterpreterState_SetEvalFrameFunc(interpreter, before_us);
    before_us = _PyEval_EvalFrameDefault;
    installed = 0;
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
watch(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyCodeObject *code;
    PyObject *watched = Py_None;
    if (!PyArg_ParseTuple(args, "O!|O:watch", &PyCode_Type, &code, &watched)) {
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
    Py_RETURN_NONE;
}

static PyObject *
unwatch(PyObject *Py_UNUSED(module), PyObject *code)
{
    if (!PyCode_Check(code)) {
        return PyErr_Format(PyExc_TypeError, "unwatch() wants a code object, not %s",
                            Py_TYPE(code)->tp_name);
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
    if (!PyCode_Check(code)) {
        return PyErr_Format(PyExc_TypeError, "watched_calls() wants a code object, not %s",
                            Py_TYPE(code)->tp_name);
    }
    CodeState *state = code_state((PyCodeObject *)code);
    return PyLong_FromUnsignedLongLong(state == NULL ? 0 : state->calls);
}

static PyMethodDef functions[] = {
    {"install_hook", install_hook, METH_NOARGS, PyDoc_STR("Be there when functions are called.")},
    {"remove_hook", remove_hook, METH_NOARGS, PyDoc_STR("Put the evaluator before it back.")},
    {"hook_installed", hook_installed, METH_NOARGS, PyDoc_STR("Whether the hook is installed.")},
    {"set_observer", (PyCFunction)(void (*)(void))set_observer, METH_VARARGS | METH_KEYWORDS,
     PyDoc_STR("Whom to tell about the calls of watched codes.")},
    {"watch", watch, METH_VARARGS, PyDoc_STR("Tell the observer about the calls of a code.")},
    {"unwatch", unwatch, METH_O, PyDoc_STR("Tell it no more.")},
    {"watched_calls", watched_calls, METH_O, PyDoc_STR("How often a watched code was called.")},
    {NULL},
};

int
stepper_add_frame_hook(PyObject *module)
{
    if (code_state_init() < 0) {
        return -1;
    }
    return PyModule_AddFunctions(module, functions);
}
