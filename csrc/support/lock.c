/* The lock to write: a lock that its owner can take again.

   It is what `threading.RLock` is. That has no interface in C, and the hooks of a compile take the
   lock ten thousand times: to call two methods each time was more than what most of them do.

   Its fields are guarded by the GIL, which is let go only while another thread is waited for.

   Each time that it is taken, it is for writing a moment of a walk, or it is not (`Writing`), or
   whoever takes it does what is done already. So who writes stands with the times, and whoever knows
   how often he had it can have it so again after an interrupt: what was taken since is given back,
   and who wrote then writes. */

#include "support/lock.h"

#include "support/grow.h"

static int
is_mine(const ReentrantLock *self)
{
    return self->depth > 0 && self->owner == PyThread_get_thread_ident();
}

/* 1: taken; 0: another thread has it, and nobody waits; -1 with an exception. */
static int
take(ReentrantLock *self, int waits)
{
    if (grow_array(&self->writers, &self->room, is_mine(self) ? self->depth + 1 : 1,
                   sizeof *self->writers)
        < 0) {
        return -1;
    }
    if (is_mine(self)) {
        self->writers[self->depth] = self->writers[self->depth - 1];
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
    self->writers[0] = 0;
    return 1;
}

int
lock_take(ReentrantLock *self)
{
    return take(self, 1) < 0 ? -1 : 0;
}

int
lock_give(ReentrantLock *self)
{
    if (!is_mine(self)) {
        return answer_refuse(PyExc_RuntimeError, "this thread does not have the lock");
    }
    if (--self->depth == 0) {
        PyThread_release_lock(self->lock);
    }
    return 0;
}

Py_ssize_t
lock_depth(const ReentrantLock *self)
{
    return is_mine(self) ? self->depth : 0;
}

void
lock_unwind(ReentrantLock *self, Py_ssize_t depth)
{
    if (is_mine(self) && self->depth > depth) {
        self->depth = depth;
        if (depth == 0) {
            PyThread_release_lock(self->lock);
        }
    }
}

static PyObject *
lock_acquire(ReentrantLock *self, PyObject *args, PyObject *kwargs)
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
lock_enter(ReentrantLock *self, PyObject *Py_UNUSED(ignored))
{
    return answer_none(lock_take(self));
}

static PyObject *
lock_release(ReentrantLock *self, PyObject *Py_UNUSED(ignored))
{
    return answer_none(lock_give(self));
}

/* A `with` gives back by an instruction of its own, which a trace function can raise before. */
static PyObject *
lock_during(ReentrantLock *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    if (count < 1) {
        return PyErr_Format(PyExc_TypeError, "during() wants a function and its arguments");
    }
    Py_ssize_t depth = lock_depth(self);
    if (lock_take(self) < 0) {
        return NULL;
    }
    PyObject *result = PyObject_Vectorcall(args[0], args + 1, (size_t)(count - 1), names);
    lock_unwind(self, depth);
    return result;
}

static PyObject *
depth_of(ReentrantLock *self, PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromSsize_t(lock_depth(self));
}

static PyObject *
unwind(ReentrantLock *self, PyObject *argument)
{
    Py_ssize_t depth = PyLong_AsSsize_t(argument);
    if (depth < 0) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "no depth is negative");
    }
    lock_unwind(self, depth);
    Py_RETURN_NONE;
}

static PyObject *
get_writer(ReentrantLock *self, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLong(self->depth == 0 ? 0 : self->writers[self->depth - 1]);
}

static PyObject *
lock_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *parameters[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":ReentrantLock", parameters)) {
        return NULL;
    }
    ReentrantLock *self = (ReentrantLock *)type->tp_alloc(type, 0);
    if (self != NULL && (self->lock = PyThread_allocate_lock()) == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void
lock_dealloc(ReentrantLock *self)
{
    if (self->lock != NULL) {
        if (self->depth > 0) {
            PyThread_release_lock(self->lock);
        }
        PyThread_free_lock(self->lock);
    }
    PyMem_Free(self->writers);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef methods[] = {
    METHOD("acquire", lock_acquire, METH_VARARGS | METH_KEYWORDS),
    METHOD("release", lock_release, METH_NOARGS),
    METHOD("__enter__", lock_enter, METH_NOARGS),
    METHOD("__exit__", lock_release, METH_VARARGS),
    METHOD("during", lock_during, METH_FASTCALL | METH_KEYWORDS),
    METHOD("depth", depth_of, METH_NOARGS),
    METHOD("unwind", unwind, METH_O),
    {NULL},
};

static PyGetSetDef getters[] = {
    {"writer", (getter)get_writer, NULL, NULL, NULL},
    {NULL},
};

PyTypeObject ReentrantLock_Type = {
    TYPE(ReentrantLock),   .tp_new = lock_new,   .tp_dealloc = (destructor)lock_dealloc,
    .tp_methods = methods, .tp_getset = getters,
};

/* --- the lock, and the word whether it is for a walk --- */

typedef struct {
    PyObject_HEAD
    ReentrantLock *lock;
    char writes;
} Writing;

static PyObject *
writing_enter(Writing *self, PyObject *Py_UNUSED(ignored))
{
    if (lock_take(self->lock) < 0) {
        return NULL;
    }
    self->lock->writers[self->lock->depth - 1] = self->writes ? self->lock->owner : 0;
    Py_RETURN_NONE;
}

static PyObject *
writing_exit(Writing *self, PyObject *Py_UNUSED(args))
{
    return lock_release(self->lock, NULL);
}

static PyObject *
writing_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *parameters[] = {"lock", "writes", NULL};
    PyObject *lock;
    int writes;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!p:Writing", parameters, &ReentrantLock_Type,
                                     &lock, &writes)) {
        return NULL;
    }
    Writing *self = (Writing *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->lock = (ReentrantLock *)Py_NewRef(lock);
        self->writes = (char)writes;
    }
    return (PyObject *)self;
}

static void
writing_dealloc(Writing *self)
{
    Py_DECREF(self->lock);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef writing_methods[] = {
    METHOD("__enter__", writing_enter, METH_NOARGS),
    METHOD("__exit__", writing_exit, METH_VARARGS),
    {NULL},
};

PyTypeObject Writing_Type = {
    TYPE(Writing),
    .tp_new = writing_new,
    .tp_dealloc = (destructor)writing_dealloc,
    .tp_methods = writing_methods,
};
