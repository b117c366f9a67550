/* The argument of an instruction in words.

   Nearly all are names, small numbers and the plainest constants. They are said here, as
   stepper/engines/common/code_listing.py would, which says the rest: a constant can be anything. */

#include "describe/argument_words.h"

#include <string.h>

#include "support/plain.h"
#include "support/shorten.h"

enum { MAX_PARTS = 10 }; /* of a tuple that is said here */

static int
is_plain_tuple(const ArgumentWords *self, PyObject *value)
{
    if (!PyTuple_CheckExact(value) || PyTuple_GET_SIZE(value) > MAX_PARTS) {
        return 0;
    }
    int is = 1;
    for (Py_ssize_t i = 0; is && i < PyTuple_GET_SIZE(value); i++) {
        is = is_plain(PyTuple_GET_ITEM(value, i), self->longest);
    }
    return is;
}

static PyObject *
other_words(const ArgumentWords *self, PyObject *value)
{
    if (PyCode_Check(value)) {
        return PyUnicode_FromFormat("<code %U>", ((PyCodeObject *)value)->co_name);
    }
    PyObject *said = PyObject_CallOneArg(self->other, value);
    if (said != NULL && !PyUnicode_Check(said)) {
        PyErr_SetString(PyExc_TypeError, "an argument in words is no str");
        Py_CLEAR(said);
    }
    return said;
}

/* The text of a constant. */
static PyObject *
constant_words(const ArgumentWords *self, PyObject *value)
{
    if (!is_plain(value, self->longest) && !is_plain_tuple(self, value)) {
        return other_words(self, value);
    }
    PyObject *text = PyObject_Repr(value);
    return text == NULL ? NULL : shorten(text, self->longest);
}

/* An item, borrowed, or NULL without an exception. */
static PyObject *
item_at(PyObject *items, PyObject *number)
{
    int overflow = 1;
    long index = PyLong_CheckExact(number) ? PyLong_AsLongAndOverflow(number, &overflow) : -1;
    return overflow == 0 && index >= 0 && index < PyTuple_GET_SIZE(items)
               ? PyTuple_GET_ITEM(items, index)
               : NULL;
}

/* `a, b`: two variables of one instruction (LOAD_FAST_LOAD_FAST), as `dis` says them; NULL without an
   exception: it has something else. */
static PyObject *
variables_words(const ArgumentWords *self, PyObject *opname, PyObject *value)
{
    if (!PyTuple_CheckExact(value) || PyTuple_GET_SIZE(value) != 2) {
        return NULL;
    }
    PyObject *one = PyTuple_GET_ITEM(value, 0), *other = PyTuple_GET_ITEM(value, 1);
    const char *name = PyUnicode_Check(opname) ? PyUnicode_AsUTF8(opname) : "";
    if (name == NULL || strstr(name, "_FAST_") == NULL || !PyUnicode_Check(one)
        || !PyUnicode_Check(other)) {
        return NULL;
    }
    PyObject *text = PyUnicode_FromFormat("%U, %U", one, other);
    return text == NULL ? NULL : shorten(text, self->longest);
}

/* The words for a number that means something to the instruction, and for any other. */
static PyObject *
numbered_words(const ArgumentWords *self, PyObject *meanings, PyObject *argument, PyObject *value)
{
    if (meanings == Py_None) { /* Dynamo's own instruction may not know the value */
        PyObject *constant = item_at(self->constants, argument);
        return constant_words(self, constant != NULL ? constant : value);
    }
    PyObject *text = PyTuple_Check(meanings) ? item_at(meanings, argument) : NULL;
    return text != NULL ? Py_NewRef(text) : constant_words(self, value);
}

PyObject *
argument_words(const ArgumentWords *self, PyObject *opname, PyObject *argument, PyObject *value)
{
    int is_text = PyUnicode_CheckExact(value);
    /* A name can also be a constant; Dynamo writes names into instructions of its own without a
       number for them. */
    if (is_text && PyUnicode_GET_LENGTH(value) <= self->longest && PyUnicode_IsIdentifier(value)) {
        return Py_NewRef(value);
    }
    if (argument == Py_None) {
        return is_text ? constant_words(self, value) : PyUnicode_FromString("");
    }
    PyObject *both = variables_words(self, opname, value);
    if (both != NULL || PyErr_Occurred()) {
        return both;
    }
    PyObject *meanings = Py_XNewRef(PyDict_GetItemWithError(self->meanings, opname));
    if (meanings == NULL) {
        return PyErr_Occurred() ? NULL : constant_words(self, value);
    }
    PyObject *text = numbered_words(self, meanings, argument, value);
    Py_DECREF(meanings);
    return text;
}
