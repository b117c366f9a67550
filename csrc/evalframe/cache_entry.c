/* One capture of a code object, and what ends it.

   An entry is used for as long as its check passes and nothing has ended it. What ends it at once
   is the death of an object that its check knows by identity: by the time another object has the
   same address, the entry must be gone. A weak reference does that. Its callback runs before the
   memory is free, and finds the entry through a small object, the lifeline, that the entry owns and
   that does not own the entry. So an entry keeps nothing alive that it was not given to run, and is
   itself kept by its cache alone.

   Nor does it keep the code for which it was captured, on which the cache hangs: code objects are
   unknown to the garbage collector, and a circle through one would never be found. */

#include "evalframe/cache.h"

#include "evalframe/frame_replace.h"
#include "support/collected.h"

#include <structmember.h>

/* --- lifelines --- */

static void invalidate_entry(CacheEntry *entry, PyObject *reason);

typedef struct {
    PyObject_HEAD
    PyObject *reference; /* to the object; its callback is `object_died` of this */
    PyObject *reason;
    CacheEntry *entry; /* borrowed; NULL: it is gone */
} Lifeline;

static PyObject *
object_died(PyObject *object, PyObject *Py_UNUSED(reference))
{
    Lifeline *self = (Lifeline *)object;
    if (self->entry != NULL) {
        CacheEntry *entry = (CacheEntry *)Py_NewRef(self->entry);
        invalidate_entry(entry, self->reason);
        Py_DECREF(entry);
    }
    Py_RETURN_NONE;
}

static PyMethodDef object_died_method = METHOD("object_died", object_died, METH_O);

COLLECTED(lifeline, Lifeline, 2)

static PyTypeObject Lifeline_Type = {
    TYPE(Lifeline),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    COLLECTED_SLOTS(lifeline),
};

/* Cuts all: the references go, and with them their callbacks. */
static void
cut_lifelines(CacheEntry *entry)
{
    PyObject *lifelines = entry->lifelines;
    if (lifelines == NULL) {
        return;
    }
    entry->lifelines = NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(lifelines); i++) {
        Lifeline *lifeline = (Lifeline *)PyList_GET_ITEM(lifelines, i);
        lifeline->entry = NULL;
        Py_CLEAR(lifeline->reference);
    }
    Py_DECREF(lifelines);
}

static int
add_lifeline(CacheEntry *entry, Lifeline *lifeline)
{
    if (entry->lifelines == NULL && (entry->lifelines = PyList_New(0)) == NULL) {
        return -1;
    }
    if (PyList_Append(entry->lifelines, (PyObject *)lifeline) < 0) {
        return -1;
    }
    lifeline->entry = entry;
    return 0;
}

static PyObject *
dies_with(CacheEntry *self, PyObject *args)
{
    PyObject *object, *reason = Py_None;
    if (!PyArg_ParseTuple(args, "O|O:dies_with", &object, &reason)) {
        return NULL;
    }
    Lifeline *lifeline = PyObject_GC_New(Lifeline, &Lifeline_Type);
    if (lifeline == NULL) {
        return NULL;
    }
    lifeline->entry = NULL;
    lifeline->reason = Py_NewRef(reason);
    lifeline->reference = NULL;
    PyObject_GC_Track(lifeline);
    PyObject *callback = PyCFunction_New(&object_died_method, (PyObject *)lifeline);
    if (callback != NULL) {
        lifeline->reference = PyWeakref_NewRef(object, callback);
        Py_DECREF(callback);
    }
    int failed = lifeline->reference == NULL;
    if (!failed && self->reason != NULL) {
        PyErr_SetString(PyExc_ValueError, "the entry is not valid any more");
        failed = 1;
    }
    failed = failed || add_lifeline(self, lifeline) < 0;
    if (failed) {
        Py_CLEAR(lifeline->reference);
    }
    Py_DECREF(lifeline);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* --- its end --- */

/* End the entry and take it out of its cache. */
static void
invalidate_entry(CacheEntry *entry, PyObject *reason)
{
    if (entry->reason != NULL) {
        return;
    }
    Py_INCREF(entry);
    entry->reason = Py_NewRef(reason);
    if (entry->cache != NULL) {
        code_cache_unlink(entry->cache, entry);
    }
    cut_lifelines(entry);
    code_cache_notify("invalidated", entry, reason);
    Py_DECREF(entry);
}

static PyObject *
invalidate(CacheEntry *self, PyObject *args)
{
    PyObject *reason = Py_None;
    if (!PyArg_ParseTuple(args, "|O:invalidate", &reason)) {
        return NULL;
    }
    invalidate_entry(self, reason);
    Py_RETURN_NONE;
}

/* --- what it is --- */

int
cache_entry_is_for(CacheEntry *entry, PyCodeObject *code)
{
    PyObject *original = weak_target(entry->original);
    Py_DECREF(original); /* the caller holds the code, if it is this */
    return original == (PyObject *)code;
}

int
cache_entry_has_backend(CacheEntry *entry, PyObject *backend)
{
    if (entry->backend == NULL || backend == NULL || entry->backend == backend) {
        return 1;
    }
    return PyObject_RichCompareBool(entry->backend, backend, Py_EQ);
}

static PyObject *
make_guards(PyObject *iterable)
{
    PyObject *guards = iterable == NULL ? PyTuple_New(0) : PySequence_Tuple(iterable);
    for (Py_ssize_t i = 0; guards != NULL && i < PyTuple_GET_SIZE(guards); i++) {
        PyObject *pair = PyTuple_GET_ITEM(guards, i);
        if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2
            || !PyCallable_Check(PyTuple_GET_ITEM(pair, 1))) {
            PyErr_SetString(PyExc_TypeError, "each of guards is a pair: a guard and its check");
            Py_CLEAR(guards);
        }
    }
    return guards;
}

static PyObject *
entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"original", "code", "check", "guards", "backend", NULL};
    PyCodeObject *original, *code;
    PyObject *check, *guards = NULL, *backend = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O|OO:CacheEntry", names, &PyCode_Type,
                                     &original, &PyCode_Type, &code, &check, &guards, &backend)) {
        return NULL;
    }
    if (!PyCallable_Check(check)) {
        return PyErr_Format(PyExc_TypeError, "check is something to call, not %s",
                            Py_TYPE(check)->tp_name);
    }
    if (frame_replace_check(original, code) < 0) {
        return NULL;
    }
    CacheEntry *self = (CacheEntry *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->original = PyWeakref_NewRef((PyObject *)original, NULL);
    self->guards = make_guards(guards);
    if (self->original == NULL || self->guards == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    self->code = (PyCodeObject *)Py_NewRef(code);
    self->check = Py_NewRef(check);
    self->backend = backend == Py_None ? NULL : Py_NewRef(backend);
    return (PyObject *)self;
}

static int
entry_traverse(CacheEntry *self, visitproc visit, void *arg)
{
    Py_VISIT(self->original);
    Py_VISIT(self->code);
    Py_VISIT(self->check);
    Py_VISIT(self->guards);
    Py_VISIT(self->backend);
    Py_VISIT(self->lifelines);
    Py_VISIT(self->reason);
    return 0;
}

static int
entry_clear(CacheEntry *self)
{
    /* An entry that is collected is in no cache: caches are kept by codes, of which the collector
       knows nothing. Somebody may still reach it, and must find it whole but not valid. */
    cut_lifelines(self);
    if (self->reason == NULL) {
        self->reason = Py_NewRef(Py_None);
    }
    Py_CLEAR(self->backend);
    if (self->check != NULL) {
        Py_SETREF(self->check, Py_NewRef(Py_None));
    }
    return 0;
}

static void
entry_dealloc(CacheEntry *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (self->weak_references != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    cut_lifelines(self);
    Py_XDECREF(self->original);
    Py_XDECREF(self->code);
    Py_XDECREF(self->check);
    Py_XDECREF(self->guards);
    Py_XDECREF(self->backend);
    Py_XDECREF(self->reason);
    type->tp_free(self);
}

static PyObject *
get_original(CacheEntry *self, void *Py_UNUSED(closure))
{
    return weak_target(self->original);
}

static PyObject *
get_valid(CacheEntry *self, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(self->reason == NULL);
}

static PyMethodDef entry_methods[] = {
    METHOD("dies_with", dies_with, METH_VARARGS),
    METHOD("invalidate", invalidate, METH_VARARGS),
    {NULL},
};

static PyMemberDef entry_members[] = {
    {"code", T_OBJECT_EX, offsetof(CacheEntry, code), READONLY, NULL},
    {"check", T_OBJECT_EX, offsetof(CacheEntry, check), READONLY, NULL},
    {"guards", T_OBJECT_EX, offsetof(CacheEntry, guards), READONLY, NULL},
    {"backend", T_OBJECT, offsetof(CacheEntry, backend), READONLY, NULL},
    {"reason", T_OBJECT, offsetof(CacheEntry, reason), READONLY, NULL},
    {"hits", T_ULONGLONG, offsetof(CacheEntry, hits), READONLY, NULL},
    {NULL},
};

static PyGetSetDef entry_properties[] = {
    {"original", (getter)get_original, NULL, NULL, NULL},
    {"valid", (getter)get_valid, NULL, NULL, NULL},
    {NULL},
};

PyTypeObject CacheEntry_Type = {
    TYPE(CacheEntry),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_new = entry_new,
    .tp_dealloc = (destructor)entry_dealloc,
    .tp_traverse = (traverseproc)entry_traverse,
    .tp_clear = (inquiry)entry_clear,
    .tp_weaklistoffset = offsetof(CacheEntry, weak_references),
    .tp_methods = entry_methods,
    .tp_members = entry_members,
    .tp_getset = entry_properties,
};

static int
begin(PyObject *Py_UNUSED(module))
{
    return PyType_Ready(&Lifeline_Type);
}

const Part cache_entry_part = {.begin = begin, .types = {&CacheEntry_Type}};
