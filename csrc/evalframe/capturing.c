/* What a thread captures for, for the time of a call or of a `with` block.

   In C, because what is set for a while must be put back whatever ends that while, and between two
   instructions of Python an exception can come: behind the one that sets it and before the `try`,
   or in the `finally` before the one that puts it back.

   The block may be entered in the midst of a function that Dynamo has compiled. Dynamo's evaluator
   comes before ours, and would take every call of the block: so in the block it is told to stay out.
   (A call is made by a function that it stays out of as it is.) */

#include "module.h"

#include "evalframe/frame_hook.h"
#include "evalframe/thread_state.h"
#include "support/api.h"
#include "support/collected.h"

#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *callback, *backend;
    PyObject *outer; /* of each block that was entered and not yet left, what was set before it, and
                        Dynamo's callback */
    char nopython;   /* each call is to become one graph */
} Capturing;

static PyObject *set_dynamo; /* sets Dynamo's callback in this thread, and returns what it was */

static void
leave(PyObject *before)
{
    SavedError error = error_save();
    PyObject *ours = thread_state_exchange(PyTuple_GET_ITEM(before, 0), PyTuple_GET_ITEM(before, 1),
                                           PyTuple_GET_ITEM(before, 2) == Py_True);
    if (ours == NULL) {
        PyErr_WriteUnraisable(before); /* no memory */
    }
    Py_XDECREF(ours);
    Py_DECREF(before);
    error_restore(error);
}

/* Sets Dynamo's callback; what it was, a new reference. NULL: an exception is set. */
static PyObject *
exchange_dynamo(PyObject *callback)
{
    return set_dynamo == NULL ? Py_NewRef(Py_None) : PyObject_CallOneArg(set_dynamo, callback);
}

/* Puts back what a block that is left has found. */
static void
leave_block(PyObject *found)
{
    SavedError error = error_save();
    PyObject *dynamo = PyTuple_GET_ITEM(found, 1);
    leave(Py_NewRef(PyTuple_GET_ITEM(found, 0)));
    if (dynamo != Py_None) {
        PyObject *ours = exchange_dynamo(dynamo);
        if (ours == NULL) {
            PyErr_WriteUnraisable(dynamo);
        }
        Py_XDECREF(ours);
    }
    Py_DECREF(found);
    error_restore(error);
}

static void
ensure_hook(Capturing *self)
{
    if (self->callback != Py_None) {
        frame_hook_ensure();
    }
}

static PyObject *
capturing_call(Capturing *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 3 || !PyTuple_Check(args[1]) || !PyDict_Check(args[2])) {
        return PyErr_Format(PyExc_TypeError, "call(function, args, kwargs)");
    }
    ensure_hook(self);
    PyObject *before = thread_state_exchange(self->callback, self->backend, self->nopython);
    if (before == NULL) {
        return NULL;
    }
    PyObject *result = PyObject_Call(args[0], args[1], args[2]);
    leave(before);
    return result;
}

static PyObject *
capturing_enter(Capturing *self, PyObject *Py_UNUSED(none))
{
    ensure_hook(self);
    PyObject *before = thread_state_exchange(self->callback, self->backend, self->nopython);
    if (before == NULL) {
        return NULL;
    }
    PyObject *dynamo = self->callback == Py_None ? Py_NewRef(Py_None) : exchange_dynamo(Py_None);
    PyObject *found = dynamo == NULL ? NULL : PyTuple_Pack(2, before, dynamo);
    Py_XDECREF(dynamo);
    if (found == NULL) {
        leave(before);
        return NULL;
    }
    Py_DECREF(before);
    if (PyList_Append(self->outer, found) < 0) {
        leave_block(found);
        return NULL;
    }
    Py_DECREF(found);
    Py_RETURN_NONE;
}

static PyObject *
capturing_exit(Capturing *self, PyObject *Py_UNUSED(args))
{
    Py_ssize_t last = PyList_GET_SIZE(self->outer) - 1;
    if (last < 0) {
        return PyErr_Format(PyExc_RuntimeError, "this block was not entered");
    }
    PyObject *found = Py_NewRef(PyList_GET_ITEM(self->outer, last));
    int done = PyList_SetSlice(self->outer, last, last + 1, NULL);
    leave_block(found);
    return answer_none(done);
}

static PyObject *
capturing_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *parameters[] = {"callback", "backend", "nopython", NULL};
    PyObject *callback, *backend;
    int nopython = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|p:Capturing", parameters, &callback,
                                     &backend, &nopython)) {
        return NULL;
    }
    Capturing *self = (Capturing *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->callback = Py_NewRef(callback);
    self->backend = Py_NewRef(backend);
    self->nopython = (char)nopython;
    self->outer = PyList_New(0);
    if (self->outer == NULL) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

COLLECTED(capturing, Capturing, 3)

static PyMemberDef members[] = {
    {"callback", T_OBJECT, offsetof(Capturing, callback), READONLY, NULL},
    {"backend", T_OBJECT, offsetof(Capturing, backend), READONLY, NULL},
    {"nopython", T_BOOL, offsetof(Capturing, nopython), READONLY, NULL},
    {NULL},
};

static PyMethodDef methods[] = {
    METHOD("call", capturing_call, METH_FASTCALL),
    METHOD("__enter__", capturing_enter, METH_NOARGS),
    METHOD("__exit__", capturing_exit, METH_VARARGS),
    {NULL},
};

static PyTypeObject Capturing_Type = {
    TYPE(Capturing),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = capturing_new,
    .tp_methods = methods,
    .tp_members = members,
    COLLECTED_SLOTS(capturing),
};

static PyObject *
dynamo_callback_set_by(PyObject *Py_UNUSED(module), PyObject *function)
{
    Py_XSETREF(set_dynamo, Py_NewRef(function));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    METHOD("dynamo_callback_set_by", dynamo_callback_set_by, METH_O),
    {NULL},
};

const Part capturing_part = {.functions = functions, .types = {&Capturing_Type}};
