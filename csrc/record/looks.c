/* All values of a frame, looked at: nobody knows what the instruction before has changed.

   Most are as they were. Those keep their descriptions, and only the others are described anew. A
   program that calls the same again and again makes the same values at the same addresses, so what
   was described last of an address is tried for what has just come into view, too. */

#include "record/walks.h"

enum { OBJECTS = 7, GIVEN = OBJECTS - 1, MOST_KEPT = 4096 };

/* Whether a description still says what is so. */
static int
says(const Eyes *eyes, PyObject *described, PyObject *value)
{
    PyObject *answer = PyObject_CallFunctionObjArgs(eyes->unchanged, value, described, NULL);
    int same = answer_truth(answer);
    return same;
}

/* Describe a value, and keep that for the next one of its address. */
static PyObject *
describe(const Eyes *eyes, PyObject *value, PyObject *address)
{
    PyObject *described = PyObject_CallOneArg(eyes->describe, value);
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
        Py_XSETREF(said, same < 0 ? NULL : describe(eyes, value, address));
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
    if (!PyArg_ParseTuple(args, "OOOOOO!:Eyes", &given[0], &given[1], &given[2], &given[3],
                          &given[4], &PyTuple_Type, &given[5])) {
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

const Part looks_part = {.types = {&Eyes_Type}};
