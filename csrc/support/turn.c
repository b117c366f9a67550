/* The turn to write: a lock that its owner can take again.

   It is what `threading.RLock` is. That has no interface in C, and the hooks of a compile take the
   turn ten thousand times: to call two methods each time was more than what most of them do.

   Its fields are guarded by the GIL, which is let go only while another thread is waited for.

   Each time that it is taken, it is for telling a moment of a walk, or it is not (`Telling`), or
   whoever takes it does what is done already. So who tells stands with the times, and whoever knows
   how often he had it can have it so again after an interrupt: what was taken since is given back,
   and who told then tells. */

#include "support/turn.h"

#include "support/grow.h"

static int
is_mine(const Turn *self)
{
    return self->depth > 0 && self->owner == PyThread_get_thread_ident();
}

/* 1: taken; 0: another thread has it, and nobody waits; -1 with an exception. */
static int
take(Turn *self, int waits)
{
    if (grow_array(&self->tellers, &self->room, is_mine(self) ? self->depth + 1 : 1,
                   sizeof *self->tellers)
        < 0) {
        return -1;
    }
    if (is_mine(self)) {
        self->tellers[self->depth] = self->tellers[self->depth - 1];
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
    self->tellers[0] = 0;
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

Py_ssize_t
turn_depth(const Turn *self)
{
    return is_mine(self) ? self->depth : 0;
}

void
turn_unwind(Turn *self, Py_ssize_t depth)
{
    if (is_mine(self) && self->depth > depth) {
        self->depth = depth;
        if (depth == 0) {
            PyThread_release_lock(self->lock);
        }
    }
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

/* A `with` gives back by an instruction of its own, which a trace function can raise before. */
static PyObject *
turn_during(Turn *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    if (count < 1) {
        PyErr_SetString(PyExc_TypeError, "during() wants a function and its arguments");
        return NULL;
    }
    Py_ssize_t depth = turn_depth(self);
    if (turn_take(self) < 0) {
        return NULL;
    }
    PyObject *result = PyObject_Vectorcall(args[0], args + 1, (size_t)(count - 1), names);
    turn_unwind(self, depth);
    return result;
}

static PyObject *
depth_of(Turn *self, PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromSsize_t(turn_depth(self));
}

static PyObject *
unwind(Turn *self, PyObject *argument)
{
    Py_ssize_t depth = PyLong_AsSsize_t(argument);
    if (depth < 0) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "no depth is negative");
    }
    turn_unwind(self, depth);
    Py_RETURN_NONE;
}

static PyObject *
get_teller(Turn *self, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLong(self->depth == 0 ? 0 : self->tellers[self->depth - 1]);
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
    PyMem_Free(self->tellers);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef methods[] = {
    {"acquire", (PyCFunction)(void (*)(void))turn_acquire, METH_VARARGS | METH_KEYWORDS, NULL},
    {"release", (PyCFunction)turn_release, METH_NOARGS, NULL},
    {"__enter__", (PyCFunction)turn_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)turn_release, METH_VARARGS, NULL},
    {"during", (PyCFunction)(void (*)(void))turn_during, METH_FASTCALL | METH_KEYWORDS, NULL},
    {"depth", (PyCFunction)depth_of, METH_NOARGS, NULL},
    {"unwind", (PyCFunction)unwind, METH_O, NULL},
    {NULL},
};

static PyGetSetDef getters[] = {
    {"teller", (getter)get_teller, NULL, NULL, NULL},
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
    .tp_getset = getters,
};

/* --- the turn, and the word whether it is for a walk --- */

typedef struct {
    PyObject_HEAD
    Turn *turn;
    char tells;
} Telling;

static PyObject *
telling_enter(Telling *self, PyObject *Py_UNUSED(ignored))
{
    if (turn_take(self->turn) < 0) {
        return NULL;
    }
    self->turn->tellers[self->turn->depth - 1] = self->tells ? self->turn->owner : 0;
    Py_RETURN_NONE;
}

static PyObject *
telling_exit(Telling *self, PyObject *Py_UNUSED(args))
{
    return turn_release(self->turn, NULL);
}

static PyObject *
telling_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *parameters[] = {"turn", "tells", NULL};
    PyObject *turn;
    int tells;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!p:Telling", parameters, &Turn_Type, &turn,
                                     &tells)) {
        return NULL;
    }
    Telling *self = (Telling *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->turn = (Turn *)Py_NewRef(turn);
        self->tells = (char)tells;
    }
    return (PyObject *)self;
}

static void
telling_dealloc(Telling *self)
{
    Py_DECREF(self->turn);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef telling_methods[] = {
    {"__enter__", (PyCFunction)telling_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)telling_exit, METH_VARARGS, NULL},
    {NULL},
};

PyTypeObject Telling_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "stepper._C.Telling",
    .tp_doc = PyDoc_STR("The turn, and the word whether it is for telling a moment of a walk."),
    .tp_basicsize = sizeof(Telling),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = telling_new,
    .tp_dealloc = (destructor)telling_dealloc,
    .tp_methods = telling_methods,
};
