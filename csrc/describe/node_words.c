/* The arguments of an FX node in words.

   A compile makes a thousand nodes, and each has a few arguments, most of them nodes and small
   numbers: to put them in words by functions of Python in the midst of the compiler was a third of
   what a node cost. What is not as plain as that is put in words by whoever asks. */

#include "describe/node_words.h"

#include "support/names.h"
#include "support/plain.h"

typedef struct {
    PyTypeObject *node;
    PyObject *other; /* says what is none of the plain kinds */
} Words;

static PyObject *words_of(const Words *self, PyObject *argument);

/* Items with commas between them, in a pair of brackets. */
static PyObject *
bracketed(const Words *self, PyObject *items, const char *format)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    PyObject *parts = PyTuple_New(count), *comma = NULL, *inner = NULL, *text = NULL;
    for (Py_ssize_t i = 0; parts != NULL && i < count; i++) {
        /* A list can shrink while an item is put in words. */
        PyObject *item = i < PySequence_Fast_GET_SIZE(items)
                             ? Py_NewRef(PySequence_Fast_GET_ITEM(items, i))
                             : Py_NewRef(Py_None);
        PyObject *part = words_of(self, item);
        Py_DECREF(item);
        if (part == NULL) {
            Py_CLEAR(parts);
        }
        else {
            PyTuple_SET_ITEM(parts, i, part);
        }
    }
    if (parts != NULL && (comma = PyUnicode_FromString(", ")) != NULL
        && (inner = PyUnicode_Join(comma, parts)) != NULL) {
        text = PyUnicode_FromFormat(format, inner);
    }
    Py_XDECREF(parts);
    Py_XDECREF(comma);
    Py_XDECREF(inner);
    return text;
}

/* A new reference. */
static PyObject *
words_of(const Words *self, PyObject *argument)
{
    int is_node = PyObject_TypeCheck(argument, self->node), is_tuple = PyTuple_Check(argument);
    if (!is_node && is_plain(argument, MAX_TEXT)) {
        return PyObject_Repr(argument);
    }
    if (is_node || (!is_tuple && !PyList_Check(argument))) {
        PyObject *said = is_node ? PyObject_GetAttr(argument, ID(name))
                                 : PyObject_CallOneArg(self->other, argument);
        if (said != NULL && !PyUnicode_Check(said)) {
            PyErr_SetString(PyExc_TypeError, "an argument in words is no str");
            Py_CLEAR(said);
        }
        return said;
    }
    if (Py_EnterRecursiveCall(" while the arguments of a node were put in words")) {
        return NULL;
    }
    int is_single = is_tuple && PyTuple_GET_SIZE(argument) == 1;
    PyObject *text = bracketed(self, argument, is_single ? "(%U,)" : is_tuple ? "(%U)" : "[%U]");
    Py_LeaveRecursiveCall();
    return text;
}

PyObject *
node_words(PyObject *positional, PyObject *named, PyTypeObject *node, PyObject *other)
{
    const Words self = {.node = node, .other = other};
    PyObject *text = bracketed(&self, positional, "%U");
    PyObject *items = text == NULL || PyDict_GET_SIZE(named) == 0 ? NULL : PyDict_Items(named);
    if (items == NULL && PyErr_Occurred()) {
        Py_CLEAR(text);
    }
    for (Py_ssize_t i = 0; items != NULL && text != NULL && i < PyList_GET_SIZE(items); i++) {
        PyObject *item = PyList_GET_ITEM(items, i); /* ours alone */
        PyObject *words = words_of(&self, PyTuple_GET_ITEM(item, 1));
        const char *between = PyUnicode_GET_LENGTH(text) > 0 ? ", " : "";
        PyObject *longer = words == NULL ? NULL
                                         : PyUnicode_FromFormat("%U%s%S=%U", text, between,
                                                                PyTuple_GET_ITEM(item, 0), words);
        Py_XDECREF(words);
        Py_SETREF(text, longer);
    }
    Py_XDECREF(items);
    return text;
}

static PyObject *
in_words(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyTypeObject *node;
    PyObject *positional, *named, *other;
    if (!PyArg_ParseTuple(args, "O!O!O!O:node_words", &PyTuple_Type, &positional, &PyDict_Type,
                          &named, &PyType_Type, &node, &other)) {
        return NULL;
    }
    return node_words(positional, named, node, other);
}

static PyMethodDef functions[] = {
    METHOD("node_words", in_words, METH_VARARGS),
    {NULL},
};

const Part node_words_part = {.functions = functions};
