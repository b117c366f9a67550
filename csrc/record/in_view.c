/* The values of a walk, told as descriptions and numbered for as long as they are in view.

   A walk holds no object. It gets descriptions (`Described`), whose `key` says which of them are of
   one object. As long as a key is in view (on the stack or among the locals of a frame that was not
   left, or inside of something there) it keeps its number; afterwards it is forgotten, since an `id`
   may be used again. So the places in which each value stands are counted. */

#include "record/walks.h"

#include <structmember.h>

enum { KEY, VALUE, CHILDREN }; /* of a Described */

static void
take(PyObject *values)
{
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(values); i++) {
        ((Viewed *)PySequence_Fast_GET_ITEM(values, i))->users++;
    }
}

/* These values stand in one place less; those that now stand nowhere are forgotten. */
static int
drop(InView *self, PyObject *values)
{
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(values); i++) {
        Viewed *known = (Viewed *)PySequence_Fast_GET_ITEM(values, i);
        if (--known->users != 0 || known->described == NULL) {
            continue;
        }
        Py_INCREF(known);
        PyObject *key = PyTuple_GET_ITEM(known->described, KEY);
        int done = PyDict_GetItemWithError(self->known, key) == NULL
                       ? (PyErr_Occurred() ? -1 : 0)
                       : PyDict_DelItem(self->known, key);
        done = done < 0 ? -1 : drop(self, known->children);
        Py_DECREF(known);
        if (done < 0) {
            return -1;
        }
    }
    return 0;
}

int
in_view_exchange(InView *self, PyObject *taken, PyObject *dropped)
{
    take(taken);
    if (PyList_GET_SIZE(self->left) > 0) {
        PyObject *left = PyList_GetSlice(self->left, 0, PY_SSIZE_T_MAX);
        int done = left == NULL ? -1 : PyList_SetSlice(self->left, 0, PY_SSIZE_T_MAX, NULL);
        done = done < 0 ? -1 : drop(self, left);
        Py_XDECREF(left);
        if (done < 0) {
            return -1;
        }
    }
    return drop(self, dropped);
}

static Viewed *
make_known(InView *self, PyObject *key)
{
    Viewed *known = (Viewed *)Viewed_Type.tp_alloc(&Viewed_Type, 0);
    if (known != NULL) {
        known->number = ++self->count;
        known->children = PyTuple_New(0);
        if (known->children == NULL || PyDict_SetItem(self->known, key, (PyObject *)known) < 0) {
            Py_CLEAR(known);
        }
    }
    return known;
}

/* Whether a description says of the value itself just what the one before said. */
static int
says_the_same(PyObject *before, PyObject *now)
{
    return before == NULL ? 0
                          : PyObject_RichCompareBool(PyTuple_GET_ITEM(before, VALUE),
                                                     PyTuple_GET_ITEM(now, VALUE), Py_EQ);
}

/* Whether what a value holds are these values, under the labels that they had. */
static int
holds_the_same(const Viewed *known, PyObject *children, PyObject *labelled)
{
    PyObject *before = PyTuple_GET_ITEM(known->described, CHILDREN);
    Py_ssize_t count = PyTuple_GET_SIZE(children);
    int same = PyTuple_GET_SIZE(known->children) == count && PyTuple_GET_SIZE(before) == count;
    for (Py_ssize_t i = 0; same == 1 && i < count; i++) {
        same = PyTuple_GET_ITEM(known->children, i) == PyTuple_GET_ITEM(children, i);
        if (same) {
            same = PyObject_RichCompareBool(PyTuple_GET_ITEM(PyTuple_GET_ITEM(before, i), 0),
                                            PyTuple_GET_ITEM(PyTuple_GET_ITEM(labelled, i), 0),
                                            Py_EQ);
        }
    }
    return same;
}

/* Know what a value holds: a tuple of Viewed, and with `items` what is told of each. */
static PyObject *
know_children(InView *self, PyObject *labelled)
{
    PyObject *children = PyTuple_New(PyTuple_GET_SIZE(labelled));
    for (Py_ssize_t i = 0; children != NULL && i < PyTuple_GET_SIZE(labelled); i++) {
        Viewed *child = in_view_know(self, PyTuple_GET_ITEM(PyTuple_GET_ITEM(labelled, i), 1));
        if (child == NULL) {
            Py_CLEAR(children);
            break;
        }
        PyTuple_SET_ITEM(children, i, (PyObject *)child);
    }
    return children;
}

static PyObject *
items_of(PyObject *children, PyObject *labelled)
{
    PyObject *items = PyTuple_New(PyTuple_GET_SIZE(labelled));
    for (Py_ssize_t i = 0; items != NULL && i < PyTuple_GET_SIZE(labelled); i++) {
        PyObject *label = PyTuple_GET_ITEM(PyTuple_GET_ITEM(labelled, i), 0);
        PyObject *item = Py_BuildValue("OL", label,
                                       ((Viewed *)PyTuple_GET_ITEM(children, i))->number);
        if (item == NULL) {
            Py_CLEAR(items);
            break;
        }
        PyTuple_SET_ITEM(items, i, item);
    }
    return items;
}

/* The number of a description, which is stored when it is new; 0: an exception is set. */
static long long
number_of_body(InView *self, PyObject *value, PyObject *items)
{
    PyObject *before = NULL;
    if (items == NULL) {
        PyObject *key = PyLong_FromVoidPtr(value);
        before = key == NULL ? NULL : PyDict_GetItemWithError(self->told, key);
        Py_XDECREF(key);
        if (PyErr_Occurred()) {
            return 0;
        }
    }
    if (before != NULL && PyTuple_GET_ITEM(before, 0) == value) {
        return PyLong_AsLongLong(PyTuple_GET_ITEM(before, 1));
    }
    PyObject *told = PyObject_CallFunctionObjArgs(self->tell_body, value, items, NULL);
    long long body = told == NULL ? 0 : PyLong_AsLongLong(told);
    Py_XDECREF(told);
    return PyErr_Occurred() ? 0 : body;
}

/* Tell the body of a value, if it is another than before. */
static int
tell(InView *self, Viewed *known, PyObject *value, PyObject *items)
{
    long long body = number_of_body(self, value, items);
    if (body == 0) {
        return -1;
    }
    if (known->described != NULL && body == known->body) {
        return 0;
    }
    known->body = body;
    PyObject *pair = Py_BuildValue("LL", known->number, body);
    int done = pair == NULL ? -1 : PyList_Append(self->fresh, pair);
    Py_XDECREF(pair);
    return done;
}

static int
update(InView *self, Viewed *known, PyObject *described)
{
    PyObject *labelled = PyTuple_GET_ITEM(described, CHILDREN);
    int holds = PyTuple_GET_SIZE(labelled) > 0 || PyTuple_GET_SIZE(known->children) > 0;
    int same = says_the_same(known->described, described);
    if (!holds) {
        return same != 0 ? (same < 0 ? -1 : 0)
                         : tell(self, known, PyTuple_GET_ITEM(described, VALUE), NULL);
    }
    PyObject *children = same < 0 ? NULL : know_children(self, labelled);
    same = children == NULL ? -1 : same ? holds_the_same(known, children, labelled) : 0;
    int done = same < 0 ? -1 : 0;
    if (same == 0) {
        take(children);
        done = PyList_SetSlice(self->left, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, known->children);
        Py_XSETREF(known->children, Py_NewRef(children));
        PyObject *items = done < 0 ? NULL : items_of(children, labelled);
        done = items == NULL ? -1 : tell(self, known, PyTuple_GET_ITEM(described, VALUE), items);
        Py_XDECREF(items);
    }
    Py_XDECREF(children);
    return done;
}

Viewed *
in_view_know(InView *self, PyObject *described)
{
    PyObject *key = PyTuple_GET_ITEM(described, KEY);
    Viewed *known = (Viewed *)PyDict_GetItemWithError(self->known, key);
    if (known != NULL && known->described == described) {
        return (Viewed *)Py_NewRef(known);
    }
    known = known != NULL      ? (Viewed *)Py_NewRef(known)
            : PyErr_Occurred() ? NULL
                               : make_known(self, key);
    if (known != NULL && update(self, known, described) < 0) {
        Py_CLEAR(known);
    }
    if (known != NULL) {
        Py_XSETREF(known->described, Py_NewRef(described));
    }
    return known;
}

PyObject *
in_view_said(InView *self, PyObject *address)
{
    Viewed *known = (Viewed *)PyDict_GetItemWithError(self->known, address);
    return known == NULL ? NULL : known->described;
}

/* --- for Python --- */

static PyObject *
view_know(InView *self, PyObject *described)
{
    if (!PyTuple_Check(described) || PyTuple_GET_SIZE(described) <= CHILDREN) {
        return PyErr_Format(PyExc_TypeError, "know() wants a Described");
    }
    return (PyObject *)in_view_know(self, described);
}

static int
are_known(PyObject *values)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values); i++) {
        if (!Py_IS_TYPE(PyList_GET_ITEM(values, i), &Viewed_Type)) {
            PyErr_SetString(PyExc_TypeError, "these are no values in view");
            return 0;
        }
    }
    return 1;
}

static PyObject *
view_exchange(InView *self, PyObject *args)
{
    PyObject *taken, *dropped;
    return !PyArg_ParseTuple(args, "O!O!", &PyList_Type, &taken, &PyList_Type, &dropped)
                   || !are_known(taken) || !are_known(dropped)
                   || in_view_exchange(self, taken, dropped) < 0
               ? NULL
               : Py_NewRef(Py_None);
}

static PyObject *
view_forget(InView *self, PyObject *Py_UNUSED(ignored))
{
    PyDict_Clear(self->known);
    Py_RETURN_NONE;
}

static PyObject *
view_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"body", "told", NULL};
    PyObject *tell_body, *told;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!:InView", names, &tell_body, &PyDict_Type,
                                     &told)) {
        return NULL;
    }
    InView *self = (InView *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->tell_body = Py_NewRef(tell_body);
        self->told = Py_NewRef(told);
        self->known = PyDict_New();
        self->fresh = PyList_New(0);
        self->left = PyList_New(0);
        if (self->known == NULL || self->fresh == NULL || self->left == NULL) {
            Py_CLEAR(self);
        }
    }
    return (PyObject *)self;
}

COLLECTED(view, InView, 5)

static PyMethodDef view_methods[] = {
    METHOD("know", view_know, METH_O),
    METHOD("exchange", view_exchange, METH_VARARGS),
    METHOD("forget", view_forget, METH_NOARGS),
    {NULL},
};

static PyMemberDef view_members[] = {
    {"fresh", T_OBJECT_EX, offsetof(InView, fresh), READONLY, NULL},
    {NULL},
};

PyTypeObject InView_Type = {
    TYPE(InView),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = view_new,
    .tp_methods = view_methods,
    .tp_members = view_members,
    COLLECTED_SLOTS(view),
};

/* Not collected: it is made of data, and so in no cycle. */
static void
known_dealloc(Viewed *self)
{
    Py_XDECREF(self->described);
    Py_XDECREF(self->children);
    PyObject_Free(self);
}

static PyMemberDef known_members[] = {
    {"number", T_LONGLONG, offsetof(Viewed, number), READONLY, NULL},
    {"body", T_LONGLONG, offsetof(Viewed, body), READONLY, NULL},
    {"children", T_OBJECT_EX, offsetof(Viewed, children), READONLY, NULL},
    {"described", T_OBJECT, offsetof(Viewed, described), READONLY, NULL},
    {NULL},
};

PyTypeObject Viewed_Type = {
    TYPE(Viewed),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_members = known_members,
    .tp_dealloc = (destructor)known_dealloc,
};

const Part in_view_part = {.types = {&InView_Type, &Viewed_Type}};
