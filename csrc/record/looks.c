/* All values of a frame, looked at: nobody knows what the instruction before has changed.

   Most are as they were. Those keep their descriptions, and only the others are described anew. */

#include "record/walks.h"

PyObject *
looks_describe(const Eyes *eyes, InView *values, PyObject *value)
{
    if (value == eyes->null) {
        return Py_NewRef(eyes->null_slot);
    }
    PyObject *seen = Py_NewRef(in_view_seen(values, value)), *described = NULL;
    PyObject *answer = seen == Py_None
                           ? Py_NewRef(Py_False)
                           : PyObject_CallFunctionObjArgs(eyes->unchanged, value, seen, NULL);
    if (answer == Py_True) {
        described = Py_NewRef(seen);
    }
    else if (answer != NULL) {
        described = PyObject_CallFunctionObjArgs(eyes->describe, value, seen, NULL);
    }
    Py_XDECREF(answer);
    Py_DECREF(seen);
    return described;
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

static PyObject *
describe_locals(const Eyes *eyes, InView *values, PyObject *real)
{
    PyObject *there = PyObject_CallOneArg(eyes->frame_locals, real), *name, *value;
    if (there != NULL && !PyDict_Check(there)) {
        PyErr_SetString(PyExc_TypeError, "locals are a dictionary");
        Py_CLEAR(there);
    }
    PyObject *locals = there == NULL ? NULL : PyDict_New();
    Py_ssize_t position = 0;
    while (locals != NULL && PyDict_Next(there, &position, &name, &value)) {
        PyObject *described = looks_describe(eyes, values, value);
        if (described == NULL || PyDict_SetItem(locals, name, described) < 0) {
            Py_CLEAR(locals);
        }
        Py_XDECREF(described);
    }
    Py_XDECREF(there);
    return locals;
}

int
looks_tell(const Eyes *eyes, WalkState *walk, Steps *steps, WalkFrameState *frame, PyObject *real,
           PyObject *blocks, PyObject *packed)
{
    InView *values = (InView *)walk->values;
    PyObject *stack = describe_stack(eyes, values, real);
    PyObject *locals = stack == NULL ? NULL : describe_locals(eyes, values, real);
    int done = locals == NULL ? -1
                              : walk_moments_looked(walk, steps, frame, stack, locals, blocks,
                                                    blocks == frame->blocks ? NULL : packed);
    Py_XDECREF(stack);
    Py_XDECREF(locals);
    return done;
}
