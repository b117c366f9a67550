/* A hook with a net under it: a defect of ours ends the watching and not the program.

   A compile calls some ten thousand hooks, most of which find that nothing is to be done. So the
   net is here: it takes the lock, calls the hook, and gives the lock back. What the hook raises
   reaches nobody. At the program's own limits, of recursion or memory, nothing is called: there may
   be no room for it; the watcher's `lost` is set, and it tells when there is. Anything else is a
   defect, which the watcher gets as an exception. Only what is no Exception, like the
   KeyboardInterrupt of a user who ends the program at a stop, goes on.

   Where a hook was put may live longer than the session: torch keeps the code of its own functions
   as it was in their tracebacks. So a hook can be released, and leads to nothing from then on. */

#include "module.h"

#include "support/api.h"
#include "support/collected.h"
#include "support/lock.h"
#include "support/names.h"

#include <stddef.h>

typedef struct {
    PyObject_HEAD
    PyObject *function, *watcher;
    ReentrantLock *lock; /* NULL: it takes none */
    vectorcallfunc vectorcall;
} Hook;

static PyObject *
answer_error(PyObject *watcher)
{
    PyObject *lost = PyErr_ExceptionMatches(PyExc_RecursionError) ? ID(at_recursion_limit)
                     : PyErr_ExceptionMatches(PyExc_MemoryError)  ? ID(out_of_memory)
                                                                  : NULL;
    if (lost != NULL) {
        PyErr_Clear();
        return PyObject_SetAttr(watcher, ID(lost), lost) < 0 ? NULL : Py_NewRef(Py_None);
    }
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return NULL;
    }
    PyObject *error = error_take();
    PyObject *answer = PyObject_CallMethodOneArg(watcher, ID(break_down), error);
    Py_XDECREF(error);
    return answer;
}

static PyObject *
hook_call(PyObject *hook, PyObject *const *args, size_t flags, PyObject *names)
{
    Hook *self = (Hook *)hook;
    if (self->function == NULL) {
        Py_RETURN_NONE;
    }
    /* It can be removed and released while it is at work. */
    PyObject *function = Py_NewRef(self->function), *watcher = Py_NewRef(self->watcher);
    ReentrantLock *lock = (ReentrantLock *)Py_XNewRef(self->lock);
    PyObject *answer = NULL;
    Py_ssize_t depth = lock == NULL ? 0 : lock_depth(lock);
    if (lock == NULL) {
        answer = PyObject_Vectorcall(function, args, flags, names);
    }
    else if (lock_take(lock) == 0) {
        answer = PyObject_Vectorcall(function, args, flags, names);
        if (lock_depth(lock) > depth) {
            lock_unwind(lock, depth); /* also what an interrupt has kept it from giving back */
        }
        else if (answer != NULL && lock_give(lock) < 0) {
            Py_CLEAR(answer);
        }
    }
    if (answer == NULL) {
        answer = answer_error(watcher);
    }
    Py_DECREF(function);
    Py_DECREF(watcher);
    Py_XDECREF(lock);
    Py_XDECREF(answer);
    return answer == NULL ? NULL : Py_NewRef(Py_None);
}

static int
hook_init(Hook *self, PyObject *args, PyObject *kwargs)
{
    static char *parameters[] = {"function", "lock", "watcher", NULL};
    PyObject *function, *lock, *watcher;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO:Hook", parameters, &function, &lock,
                                     &watcher)) {
        return -1;
    }
    if (lock != Py_None && !Py_IS_TYPE(lock, &ReentrantLock_Type)) {
        return answer_refuse(PyExc_TypeError, "a ReentrantLock or None is wanted");
    }
    if (self->function != NULL) {
        return answer_refuse(PyExc_TypeError, "a Hook is made once");
    }
    self->lock = lock == Py_None ? NULL : (ReentrantLock *)Py_NewRef(lock);
    self->function = Py_NewRef(function);
    self->watcher = Py_NewRef(watcher);
    self->vectorcall = hook_call;
    return 0;
}

COLLECTED(hook, Hook, 3)

static PyObject *
hook_release(Hook *self, PyObject *Py_UNUSED(ignored))
{
    hook_clear(self);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    METHOD("release", hook_release, METH_NOARGS),
    {NULL},
};

static PyTypeObject Hook_Type = {
    TYPE(Hook),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)hook_init,
    CALLED_SLOTS(Hook),
    .tp_methods = methods,
    COLLECTED_SLOTS(hook),
};

const Part hook_part = {.types = {&ReentrantLock_Type, &Writing_Type, &Hook_Type}};
