#include "record/mirror.h"

#include <structmember.h>

void
mirror_clear_state(Mirror *self)
{
    while (self->stack_size > 0) {
        PyObject *tracker = self->stack[--self->stack_size];
        Py_DECREF(tracker);
    }
    while (self->locals_size > 0) {
        Local local = self->locals[--self->locals_size];
        Py_DECREF(local.name);
        Py_DECREF(local.value);
    }
    while (self->told_locals_size > 0) {
        PyObject *name = self->told_locals[--self->told_locals_size].name;
        Py_DECREF(name);
    }
    self->recorded_stack_size = 0;
    self->blocks_size = 0;
    Py_CLEAR(self->live_locals);
    Py_CLEAR(self->blocks_last);
    Py_CLEAR(self->speculation);
    Py_CLEAR(self->recorded_blocks);
    Py_CLEAR(self->recorded_speculation);
}

Mirror *
mirror_within(Mirror *parent, long long id, PyObject *key, PyObject *make_code, PyObject *attempt,
              long long moment)
{
    PyObject *call_moment = PyLong_FromLongLong(moment);
    Mirror *self = call_moment == NULL ? NULL
                                       : (Mirror *)Py_TYPE(parent)->tp_alloc(Py_TYPE(parent), 0);
    if (self == NULL) {
        Py_XDECREF(call_moment);
        return NULL;
    }
    self->id = id;
    self->key = Py_NewRef(key);
    self->make_code = Py_NewRef(make_code);
    self->attempt = Py_NewRef(attempt);
    self->call_moment = call_moment;
    self->parent = (Mirror *)Py_NewRef(parent);
    self->depth = parent->depth + 1;
    return self;
}

static int
mirror_init(Mirror *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"id", "key", "make_code", "parent", "attempt", "call_moment", NULL};
    PyObject *key, *make_code, *parent, *attempt, *call_moment;
    long long id;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "LOOOOO", names, &id, &key, &make_code, &parent,
                                     &attempt, &call_moment)) {
        return -1;
    }
    if (parent != Py_None && !PyObject_TypeCheck(parent, &Mirror_Type)) {
        return answer_refuse(PyExc_TypeError, "parent must be a Mirror or None");
    }
    if (self->key != NULL) {
        return answer_refuse(PyExc_TypeError, "a Mirror is made once");
    }
    self->id = id;
    self->key = Py_NewRef(key);
    self->make_code = Py_NewRef(make_code);
    self->attempt = Py_NewRef(attempt);
    self->call_moment = Py_NewRef(call_moment);
    if (parent != Py_None) {
        self->parent = (Mirror *)Py_NewRef(parent);
        self->depth = self->parent->depth + 1;
    }
    return 0;
}

static void
mirror_dealloc(Mirror *self)
{
    mirror_clear_state(self);
    PyMem_Free(self->stack);
    PyMem_Free(self->locals);
    PyMem_Free(self->told_stack);
    PyMem_Free(self->told_locals);
    Py_CLEAR(self->key);
    Py_CLEAR(self->attempt);
    Py_CLEAR(self->call_moment);
    Py_CLEAR(self->make_code);
    Py_CLEAR(self->code);
    Py_CLEAR(self->stores);
    Py_CLEAR(self->parent);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *
get_stack(Mirror *self, void *Py_UNUSED(closure))
{
    PyObject *list = PyList_New(self->stack_size);
    for (Py_ssize_t i = 0; list != NULL && i < self->stack_size; i++) {
        PyList_SET_ITEM(list, i, Py_NewRef(self->stack[i]));
    }
    return list;
}

static PyObject *
get_code(Mirror *self, void *Py_UNUSED(closure))
{
    if (self->code == NULL) {
        PyObject *code = PyObject_CallOneArg(self->make_code, self->key);
        if (code == NULL) {
            return NULL;
        }
        Py_XSETREF(self->code, code);
    }
    return Py_NewRef(self->code);
}

static PyMemberDef members[] = {
    {"id", T_LONGLONG, offsetof(Mirror, id), READONLY, NULL},
    {"depth", T_LONG, offsetof(Mirror, depth), READONLY, NULL},
    {"key", T_OBJECT, offsetof(Mirror, key), READONLY, NULL},
    {"parent", T_OBJECT, offsetof(Mirror, parent), READONLY, NULL},
    {"attempt", T_OBJECT, offsetof(Mirror, attempt), READONLY, NULL},
    {"call_moment", T_OBJECT, offsetof(Mirror, call_moment), READONLY, NULL},
    {"stores", T_OBJECT, offsetof(Mirror, stores), 0, NULL},
    {"written", T_BOOL, offsetof(Mirror, written), 0, NULL},
    {"ip", T_PYSSIZET, offsetof(Mirror, ip), 0, NULL},
    {NULL},
};

static PyGetSetDef getset[] = {
    {"stack", (getter)get_stack, NULL, NULL, NULL},
    {"code", (getter)get_code, NULL, NULL, NULL},
    {NULL},
};

PyTypeObject Mirror_Type = {
    TYPE(Mirror),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, /* FrameMirror adds no field to it */
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)mirror_init,
    .tp_dealloc = (destructor)mirror_dealloc,
    .tp_members = members,
    .tp_getset = getset,
};
