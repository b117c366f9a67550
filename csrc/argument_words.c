/* The argument of an instruction in words.

   Nearly all are names, small numbers and the plainest constants. They are said here, as
   stepper/engines/common/code_listing.py would, which says the rest: a constant can be anything. */

#include "argument_words.h"

static PyObject *
said_by_other(const ArgumentWords *self, PyObject *instruction)
{
    PyObject *said = PyObject_CallOneArg(self->other, instruction);
    if (said != NULL && !PyUnicode_Check(said)) {
        PyErr_SetString(PyExc_TypeError, "an argument in words is no str");
        Py_CLEAR(said);
    }
    return said;
}

/* Whether the repr of a value is plain, and no longer than a few times the value. */
static int
is_plain(const ArgumentWords *self, PyObject *value)
{
    if (value == Py_None || PyBool_Check(value) || PyFloat_CheckExact(value)) {
        return 1;
    }
    if (PyUnicode_CheckExact(value)) {
        return PyUnicode_GET_LENGTH(value) <= self->longest;
    }
    int overflow = 1;
    if (PyLong_CheckExact(value)) {
        (void)PyLong_AsLongAndOverflow(value, &overflow);
    }
    return overflow == 0;
}

static PyObject *
plain_words(const ArgumentWords *self, PyObject *value)
{
    PyObject *text = PyObject_Repr(value);
    if (text != NULL && PyUnicode_GET_LENGTH(text) > self->longest) {
        Py_SETREF(text, PyUnicode_Substring(text, 0, self->longest));
    }
    return text;
}

/* What the number means to the instruction; a new reference, NULL without an exception: that is not
   known. */
static PyObject *
meaning(PyObject *meanings, PyObject *argument)
{
    int overflow = 1;
    long number = -1;
    if (PyLong_CheckExact(argument)) {
        number = PyLong_AsLongAndOverflow(argument, &overflow);
    }
    if (overflow != 0 || !PyTuple_Check(meanings) || number < 0
        || number >= PyTuple_GET_SIZE(meanings)) {
        return NULL;
    }
    return Py_NewRef(PyTuple_GET_ITEM(meanings, number));
}

PyObject *
argument_words(const ArgumentWords *self, PyObject *instruction, PyObject *opname,
               PyObject *argument, PyObject *value)
{
    int is_text = PyUnicode_CheckExact(value);
    /* A name can also be a constant; Dynamo writes names into instructions of its own without a
       number for them. */
    if (is_text && PyUnicode_GET_LENGTH(value) <= self->longest && PyUnicode_IsIdentifier(value)) {
        return Py_NewRef(value);
    }
    if (argument == Py_None && !is_text) {
        return PyUnicode_FromString("");
    }
    if (argument != Py_None) {
        PyObject *meanings = Py_XNewRef(PyDict_GetItemWithError(self->meanings, opname));
        if (meanings != NULL) {
            PyObject *text = meaning(meanings, argument);
            Py_DECREF(meanings);
            return text != NULL ? text : said_by_other(self, instruction);
        }
        if (PyErr_Occurred()) {
            return NULL;
        }
    }
    if (is_plain(self, value)) {
        return plain_words(self, value);
    }
    if (PyCode_Check(value)) {
        return PyUnicode_FromFormat("<code %U>", ((PyCodeObject *)value)->co_name);
    }
    return said_by_other(self, instruction);
}
