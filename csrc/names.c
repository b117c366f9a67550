/* The arguments of instructions that are their own text.

   Most are names, small numbers, or none; a loop over the thousands of instructions of a compile is
   one of the larger things that the debugger does, so it is here. */

#include "module.h"

/* A new reference; None: it is not for us to say. */
static PyObject *
text_of(PyObject *value, PyObject *argument, PyObject *target, PyObject *opname, PyObject *worded,
        Py_ssize_t longest)
{
    if (target != Py_None || (value == Py_None && argument == Py_None)) {
        return PyUnicode_FromString("");
    }
    if (PyUnicode_CheckExact(value)) {
        int is_name = PyUnicode_GET_LENGTH(value) <= longest && PyUnicode_IsIdentifier(value);
        return Py_NewRef(is_name ? value : Py_None);
    }
    int overflow = 0;
    if (PyLong_CheckExact(value) && argument != Py_None
        && (PyLong_AsLongAndOverflow(value, &overflow), overflow == 0)) {
        int has_words = PySet_Contains(worded, opname);
        return has_words < 0 ? NULL : has_words ? Py_NewRef(Py_None) : PyObject_Repr(value);
    }
    return Py_NewRef(Py_None);
}

static PyObject *
plain_arguments(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *columns[4], *worded;
    Py_ssize_t longest;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!n:plain_arguments", &PyList_Type, &columns[0],
                          &PyList_Type, &columns[1], &PyList_Type, &columns[2], &PyList_Type,
                          &columns[3], &PyFrozenSet_Type, &worded, &longest)) {
        return NULL;
    }
    Py_ssize_t size = PyList_GET_SIZE(columns[0]);
    for (int i = 1; i < 4; i++) {
        if (PyList_GET_SIZE(columns[i]) != size) {
            PyErr_SetString(PyExc_ValueError, "the lists differ in length");
            return NULL;
        }
    }
    PyObject *texts = PyList_New(size);
    for (Py_ssize_t i = 0; texts != NULL && i < size; i++) {
        PyObject *text = text_of(PyList_GET_ITEM(columns[0], i), PyList_GET_ITEM(columns[1], i),
                                 PyList_GET_ITEM(columns[2], i), PyList_GET_ITEM(columns[3], i),
                                 worded, longest);
        if (text == NULL) {
            Py_CLEAR(texts);
        }
        else {
            PyList_SET_ITEM(texts, i, text);
        }
    }
    return texts;
}

static PyMethodDef functions[] = {
    {"plain_arguments", plain_arguments, METH_VARARGS,
     PyDoc_STR("A list with None for what is not its own text.")},
    {NULL},
};

int
stepper_add_names(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
