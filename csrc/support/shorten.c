/* Texts that are too long to be written whole.

   What is a secret is seen by how it looks (stepper/recording/secrets.py), and half of one looks
   like nothing. So no text ends in the midst of a word, unless that is so long that what is left of
   it can be recognized; and a text that was cut says so. */

#include "support/shorten.h"

enum { RECOGNIZED = 32 }; /* characters of a word that was cut */

static int
is_of_a_word(Py_UCS4 c)
{
    return c == '_' || c == '-' || Py_UNICODE_ISALNUM(c);
}

/* How much of a text is kept when it has more than `most` characters. */
static Py_ssize_t
kept_of(PyObject *text, Py_ssize_t most)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text), at = most;
    if (length <= most || most <= 0 || !is_of_a_word(PyUnicode_READ_CHAR(text, most))) {
        return length < most ? length : most;
    }
    while (at > 0 && is_of_a_word(PyUnicode_READ_CHAR(text, at - 1))) {
        if (most - at >= RECOGNIZED) {
            return most;
        }
        at--;
    }
    return at;
}

PyObject *
shorten(PyObject *text, Py_ssize_t most)
{
    if (PyUnicode_GET_LENGTH(text) <= most) {
        return text;
    }
    PyObject *part = PyUnicode_Substring(text, 0, kept_of(text, most - 1));
    Py_SETREF(text, part == NULL ? NULL : PyUnicode_FromFormat("%U%s", part, "\xe2\x80\xa6"));
    Py_XDECREF(part);
    return text;
}

static PyObject *
shortened(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *text;
    Py_ssize_t most;
    return PyArg_ParseTuple(args, "Un:shortened", &text, &most) ? shorten(Py_NewRef(text), most)
                                                                : NULL;
}

static PyObject *
shortened_at(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *text;
    Py_ssize_t most;
    return PyArg_ParseTuple(args, "Un:shortened_at", &text, &most)
               ? PyLong_FromSsize_t(kept_of(text, most))
               : NULL;
}

static PyMethodDef functions[] = {
    METHOD("shortened", shortened, METH_VARARGS),
    METHOD("shortened_at", shortened_at, METH_VARARGS),
    {NULL},
};

const Part shorten_part = {.functions = functions};
