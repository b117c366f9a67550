/* All values of a frame, looked at: nobody knows what the instruction before has changed.

   Most are as they were. Those keep their descriptions, and only the others are described anew. A
   program that calls the same again and again makes the same values at the same addresses, so what
   was described last of an address is tried for what has just come into view, too. A new list or
   tuple mostly holds what is known already: it is told anew, and its items are not. */

#include "record/walks.h"

enum { OBJECTS = 10, GIVEN = OBJECTS - 1, MOST_KEPT = 4096 };
enum {
    VALUE_DEPTH = 2,
    VALUE_ITEMS = 32
}; /* of containers: levels that are looked into, items shown */

/* Whether a description still says what is so. */
static int
says(const Eyes *eyes, PyObject *described, PyObject *value)
{
    PyObject *answer = PyObject_CallFunctionObjArgs(eyes->unchanged, value, described, NULL);
    int same = answer_truth(answer);
    return same;
}

static int
is_sequence(PyObject *value)
{
    return PyList_CheckExact(value) || PyTuple_CheckExact(value);
}

/* Whether a value is described alike wherever it stands. By addresses: a class of the program's
   could have a hash of its own. */
static int
is_leaf(const Eyes *eyes, PyObject *value)
{
    Py_ssize_t i = PyTuple_GET_SIZE(eyes->leaves);
    while (i > 0 && PyTuple_GET_ITEM(eyes->leaves, i - 1) != (PyObject *)Py_TYPE(value)) {
        i--;
    }
    return i > 0;
}

static PyObject *describe_sequence(const Eyes *eyes, InView *values, PyObject *value, int depth);

static PyObject *
describe_item(const Eyes *eyes, InView *values, PyObject *item, int depth)
{
    return is_leaf(eyes, item) ? looks_describe(eyes, values, item)
           : depth > 0 && is_sequence(item)
               ? describe_sequence(eyes, values, item, depth)
               : PyObject_CallFunction(eyes->inside, "Oi", item, depth);
}

/* What is shown of a sequence: its first items with their labels. They are a copy. */
static PyObject *
describe_items(const Eyes *eyes, InView *values, PyObject *items, int depth)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    PyObject *children = PyTuple_New(count);
    for (Py_ssize_t i = 0; children != NULL && i < count; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(items, i);
        PyObject *described = describe_item(eyes, values, item, depth);
        PyObject *child = described == NULL
                              ? NULL
                              : Py_BuildValue("NO", PyUnicode_FromFormat("[%zd]", i), described);
        Py_XDECREF(described);
        if (child == NULL) {
            Py_CLEAR(children);
            break;
        }
        PyTuple_SET_ITEM(children, i, child);
    }
    return children;
}

/* What a list or a tuple is now; `depth`: as in stepper/engines/common/values.py. */
static PyObject *
describe_sequence(const Eyes *eyes, InView *values, PyObject *value, int depth)
{
    Py_ssize_t length = Py_SIZE(value);
    /* Another thread may change it meanwhile. */
    PyObject *items = PySequence_GetSlice(value, 0, VALUE_ITEMS);
    PyObject *children = items == NULL ? NULL : describe_items(eyes, values, items, depth - 1);
    Py_XDECREF(items);
    PyObject *key = PyLong_FromVoidPtr(value);
    if (key != NULL && depth < VALUE_DEPTH) {
        key = Py_BuildValue("Ni", key, depth);
    }
    PyObject *described = key == NULL || children == NULL
                              ? NULL
                              : PyObject_CallFunction(eyes->container, "OOOn", key, Py_TYPE(value),
                                                      children, length);
    Py_XDECREF(key);
    Py_XDECREF(children);
    return described;
}

/* Describe a value, and keep that for the next one of its address. */
static PyObject *
describe(const Eyes *eyes, InView *values, PyObject *value, PyObject *address)
{
    PyObject *described = is_sequence(value) ? describe_sequence(eyes, values, value, VALUE_DEPTH)
                                             : PyObject_CallOneArg(eyes->describe, value);
    if (PyDict_GET_SIZE(eyes->kept) >= MOST_KEPT) {
        PyDict_Clear(eyes->kept);
    }
    if (described != NULL && PyDict_SetItem(eyes->kept, address, described) < 0) {
        Py_CLEAR(described);
    }
    return described;
}

PyObject *
looks_describe(const Eyes *eyes, InView *values, PyObject *value)
{
    if (value == eyes->null) {
        return Py_NewRef(eyes->null_slot);
    }
    PyObject *address = PyLong_FromVoidPtr(value), *said = NULL;
    if (address != NULL && (said = in_view_said(values, address)) == NULL && !PyErr_Occurred()) {
        said = PyDict_GetItemWithError(eyes->kept, address);
    }
    Py_XINCREF(said);
    int same = said != NULL ? says(eyes, said, value) : PyErr_Occurred() ? -1 : 0;
    if (same != 1) {
        Py_XSETREF(said, same < 0 ? NULL : describe(eyes, values, value, address));
    }
    Py_XDECREF(address);
    return said;
}

/* A list of the values' descriptions; none where CPython does not say how many values there are. */
static PyObject *
describe_stack(const Eyes *eyes, InView *values, PyObject *real)
{
    PyObject *there = PyObject_CallOneArg(eyes->value_stack, real);
    Py_ssize_t count = there != NULL && PyList_Check(there) ? PyList_GET_SIZE(there) : 0;
    PyObject *stack = there == NULL ? NULL : PyList_New(count);
    for (Py_ssize_t i = 0; stack != NULL && i < count; i++) {
        PyObject *described = looks_describe(eyes, values, PyList_GET_ITEM(there, i));
        if (described == NULL) {
            Py_CLEAR(stack);
            break;
        }
        PyList_SET_ITEM(stack, i, described);
    }
    Py_XDECREF(there);
    return stack;
}

/* Likewise of locals by name, without those that are `hidden` (a frozenset, or NULL). */
static PyObject *
describe_locals(const Eyes *eyes, InView *values, PyObject *real, PyObject *hidden)
{
    PyObject *there = PyObject_CallOneArg(eyes->frame_locals, real), *name, *value;
    if (there != NULL && !PyDict_Check(there)) {
        PyErr_SetString(PyExc_TypeError, "locals are a dictionary");
        Py_CLEAR(there);
    }
    PyObject *locals = there == NULL ? NULL : PyDict_New();
    Py_ssize_t position = 0;
    while (locals != NULL && PyDict_Next(there, &position, &name, &value)) {
        int unseen = hidden == NULL ? 0 : PySet_Contains(hidden, name);
        PyObject *described = unseen != 0 ? NULL : looks_describe(eyes, values, value);
        if (unseen < 0
            || (!unseen && (described == NULL || PyDict_SetItem(locals, name, described) < 0))) {
            Py_CLEAR(locals);
        }
        Py_XDECREF(described);
    }
    Py_XDECREF(there);
    return locals;
}

/* All values of a frame: of its stack into `stack`, of its locals into what is returned. */
static PyObject *
look(const Eyes *eyes, InView *values, PyObject *real, PyObject *hidden, PyObject **stack)
{
    *stack = hidden == NULL ? describe_stack(eyes, values, real) : PyList_New(0);
    PyObject *locals = *stack == NULL ? NULL : describe_locals(eyes, values, real, hidden);
    if (locals == NULL) {
        Py_CLEAR(*stack);
    }
    return locals;
}

int
looks_tell(const Eyes *eyes, WalkState *walk, Steps *steps, WalkFrameState *frame, PyObject *real,
           PyObject *hidden, PyObject *blocks, PyObject *packed)
{
    PyObject *stack;
    PyObject *locals = look(eyes, (InView *)walk->values, real, hidden, &stack);
    int done = locals == NULL ? -1
                              : walk_moments_looked(walk, steps, frame, stack, locals, blocks,
                                                    blocks == frame->blocks ? NULL : packed);
    Py_XDECREF(stack);
    Py_XDECREF(locals);
    return done;
}

/* --- for Python --- */

static PyObject *
eyes_look(Eyes *self, PyObject *args)
{
    InView *values;
    PyObject *real, *hidden, *stack;
    if (!PyArg_ParseTuple(args, "O!OO:look", &InView_Type, &values, &real, &hidden)) {
        return NULL;
    }
    if (hidden != Py_None && !PyFrozenSet_Check(hidden)) {
        return PyErr_Format(PyExc_TypeError, "what is hidden is a frozenset");
    }
    PyObject *locals = look(self, values, real, hidden == Py_None ? NULL : hidden, &stack);
    return locals == NULL ? NULL : Py_BuildValue("NN", stack, locals);
}

static PyObject *
eyes_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    PyObject *given[GIVEN];
    if (!PyArg_ParseTuple(args, "OOOOOOO!OO!:Eyes", &given[0], &given[1], &given[2], &given[3],
                          &given[4], &given[5], &PyTuple_Type, &given[6], &given[7], &PyTuple_Type,
                          &given[8])) {
        return NULL;
    }
    Eyes *self = (Eyes *)type->tp_alloc(type, 0);
    if (self != NULL) {
        collected_set(&self->describe, GIVEN, given);
        self->kept = PyDict_New();
        if (self->kept == NULL) {
            Py_CLEAR(self);
        }
    }
    return (PyObject *)self;
}

COLLECTED(eyes, Eyes, OBJECTS)

static PyMethodDef eyes_methods[] = {
    METHOD("look", eyes_look, METH_VARARGS),
    {NULL},
};

PyTypeObject Eyes_Type = {
    TYPE(Eyes),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = eyes_new,
    .tp_methods = eyes_methods,
    COLLECTED_SLOTS(eyes),
};

static const Constant constants[] = {CONSTANT_OF(VALUE_DEPTH), CONSTANT_OF(VALUE_ITEMS), {NULL}};

const Part looks_part = {.types = {&Eyes_Type}, .constants = constants};
