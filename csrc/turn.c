/* The turn to write: a lock that its owner can take again.

   It is what `threading.RLock` is. That has no interface in C, and the hooks of a compile take the
   turn ten thousand times: to call two methods each time was more than what most of them do.

   Its fields are guarded by the GIL, which is let go only while another thread is waited for. */

#include "turn.h"

static int
is_mine(const Turn *self)
{
    return self->depth > 0 && self->owner == PyThread_get_thread_ident();
}

/* 1: taken; 0: another thread has it, and nobody waits; -1 with an exception. */
static int
take(Turn *self, int waits)
{
    if (is_mine(self)) {
        self->depth++;
        return 1;
    }
    PyLockStatus status = PyThread_acquire_lock_timed(self->lock, 0, 0);
    while (status != PY_LOCK_ACQUIRED && waits) {
        Py_BEGIN_ALLOW_THREADS
        status = PyThread_acquire_lock_timed(self->lock, -1, 1);
        Py_END_ALLOW_THREADS
        if (status == PY_LOCK_INTR && Py_MakePendingCalls() < 0) {
            return -1;
        }
    }
    if (status != PY_LOCK_ACQUIRED) {
        return 0;
    }
    self->owner = PyThread_get_thread_ident();
    self->depth = 1;
    return 1;
}

int
turn_take(Turn *self)
{
    return take(self, 1) < 0 ? -1 : 0;
}

int
turn_give(Turn *self)
{
    if (!is_mine(self)) {
        PyErr_SetString(PyExc_RuntimeError, "this thread does not have the turn");
        return -1;
    }
    if (--self->depth == 0) {
        PyThread_release_lock(self->lock);
    }
    return 0;
}

static PyObject *
turn_acquire(Turn *self, PyObject *args, PyObject *kwargs)
{
    static char *parameters[] = {"blocking", NULL};
    int blocking = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:acquire", parameters, &blocking)) {
        return NULL;
    }
    int taken = take(self, blocking);
    return taken < 0 ? NULL : PyBool_FromLong(taken);
}

static PyObject *
turn_enter(Turn *self, PyObject *Py_UNUSED(ignored))
{
    if (turn_take(self) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
turn_release(Turn *self, PyObject *Py_UNUSED(ignored))
{
    if (turn_give(self) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
turn_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *parameters[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":Turn", parameters)) {
        return NULL;
    }
    Turn *self = (Turn *)type->tp_alloc(type, 0);
    if (self != NULL && (self->lock = PyThread_allocate_lock()) == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void
turn_dealloc(Turn *self)
{
    if (self->lock != NULL) {
        if (self->depth > 0) {
            PyThread_release_lock(self->lock);
        }
        PyThread_free_lock(self->lock);
    }
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef methods[] = {
    {"acquire", (PyCFunction)(void (*)(void))turn_acquire, METH_VARARGS | METH_KEYWORDS, NULL},
    {"release", (PyCFunction)turn_release, METH_NOARGS, NULL},
    {"__enter__", (PyCFunction)turn_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)turn_release, METH_VARARGS, NULL},
    {NULL},
};

PyTypeObject Turn_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "stepper._C.Turn",
    .tp_doc = PyDoc_STR("The turn to write: a lock that its owner can take again."),
    .tp_basicsize = sizeof(Turn),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = turn_new,
    .tp_dealloc = (destructor)turn_dealloc,
    .tp_methods = methods,
};
