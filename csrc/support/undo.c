/* Calls that leave things as they were, whatever ends them.

   An exception can come between any two instructions of Python: Ctrl-C, a signal's handler, a trace
   function, another thread. So no `try` and no `with` is early enough for what its first line does,
   and no `finally` late enough for what comes behind its last. Only C runs undivided. What must be
   undone is therefore undone from here: when `function` has ended, in whichever way, `undo` is
   called until it comes to its end. An interrupt that comes meanwhile is kept, and goes on
   afterwards; trace functions do not see it; and there is room for it at the recursion limit.

   `undo` may thus be called several times, each time from its beginning. As in a `finally`, what
   has ended the call is `sys.exception()` there. */

#include "module.h"

#include "support/api.h"
#include "support/compat.h"

enum {
    TRIES = 100,    /* a defect of `undo` would come each time */
    MORE_CALLS = 80 /* which `undo` may nest where the program has none left */
};

/* Takes the exception that is set into `kept`, unless what is there ends programs. */
static void
keep_error(PyObject **kept)
{
    PyObject *error = error_take();
    if (*kept == NULL || PyErr_GivenExceptionMatches(*kept, PyExc_Exception)) {
        Py_XSETREF(*kept, error);
    }
    else {
        Py_DECREF(error);
    }
}

static void
undo_fully(PyThreadState *tstate, PyObject *undo, PyObject **kept)
{
    give_recursion(tstate, MORE_CALLS);
    PyThreadState_EnterTracing(tstate);
    PyObject *outer = PyErr_GetHandledException();
    for (int tries = 1; tries <= TRIES; tries++) {
        if (*kept != NULL) {
            PyErr_SetHandledException(*kept);
        }
        PyObject *done = PyObject_CallNoArgs(undo);
        if (done != NULL) {
            Py_DECREF(done);
            break;
        }
        if (tries == TRIES) {
            PyErr_WriteUnraisable(undo);
        }
        else {
            keep_error(kept);
        }
    }
    PyErr_SetHandledException(outer);
    Py_XDECREF(outer);
    PyThreadState_LeaveTracing(tstate);
    give_recursion(tstate, -MORE_CALLS);
}

static PyObject *
call_and_undo(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count < 2) {
        return PyErr_Format(PyExc_TypeError,
                            "call_and_undo() wants what undoes, a function, and its "
                            "arguments");
    }
    PyThreadState *tstate = PyThreadState_Get();
    PyObject *result = PyObject_Vectorcall(args[1], args + 2, (size_t)(count - 2), NULL);
    PyObject *kept = result == NULL ? error_take() : NULL;
    undo_fully(tstate, args[0], &kept);
    if (kept != NULL) {
        Py_CLEAR(result);
        error_set(kept);
    }
    return result;
}

static PyMethodDef functions[] = {
    METHOD("call_and_undo", call_and_undo, METH_FASTCALL),
    {NULL},
};

const Part undo_part = {.functions = functions};
