/* Which arguments of instructions are names.

   Most are, and are their own text; a loop over the thousands of instructions of a compile is one of
   the larger things that the debugger does, so it is here. */

#include "module.h"

static PyObject *
names_in(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *values;
    Py_ssize_t longest;
    if (!PyArg_ParseTuple(args, "O!n:names_in", &PyList_Type, &values, &longest)) {
        return NULL;
    }
    Py_ssize_t size = PyList_GET_SIZE(values);
    PyObject *names = PyList_New(size);
    for (Py_ssize_t i = 0; names != NULL && i < size; i++) {
        PyObject *value = PyList_GET_ITEM(values, i);
        int is_name = PyUnicode_CheckExact(value) && PyUnicode_GET_LENGTH(value) <= longest
                      && PyUnicode_IsIdentifier(value);
        PyList_SET_ITEM(names, i, Py_NewRef(is_name ? value : Py_None));
    }
    return names;
}

static PyMethodDef functions[] = {
    {"names_in", names_in, METH_VARARGS, PyDoc_STR("A list with None for what is no name.")},
    {NULL},
};

int
stepper_add_names(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
