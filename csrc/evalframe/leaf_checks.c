/* The leaf checks of the native engine's guards.

   A model has some hundreds of guards, of which most compare an address or look into an object's
   own attributes. Done in Python, or through the functions that torch exports for them, the call is
   most of the cost; so they are done here, to the same effect. */

#include "evalframe/leaf_checks.h"

#include "support/names.h"

static PyObject *const *const hooks[] = {&ID(_forward_hooks), &ID(_forward_pre_hooks),
                                         &ID(_backward_hooks), &ID(_backward_pre_hooks)};

int
leaf_checks_address(PyObject *object, PyObject *address)
{
    void *expected = PyLong_AsVoidPtr(address);
    if (expected == NULL && PyErr_Occurred()) {
        return -1;
    }
    return object == expected;
}

static PyObject *
as_bool(int truth)
{
    return truth < 0 ? NULL : PyBool_FromLong(truth);
}

static int
wants(Py_ssize_t count, const char *what)
{
    if (count != 2) {
        PyErr_Format(PyExc_TypeError, "an object and %s are wanted", what);
        return -1;
    }
    return 0;
}

static PyObject *
check_obj_id(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    return wants(count, "an id") < 0 ? NULL : as_bool(leaf_checks_address(args[0], args[1]));
}

static PyObject *
check_type_id(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    return wants(count, "the id of a class") < 0
               ? NULL
               : as_bool(leaf_checks_address((PyObject *)Py_TYPE(args[0]), args[1]));
}

PyObject *
leaf_checks_own_dict(PyObject *object)
{
    return PyObject_GenericGetAttr(object, ID(__dict__));
}

static PyObject *
instance_dict(PyObject *Py_UNUSED(module), PyObject *object)
{
    return leaf_checks_own_dict(object);
}

/* 1: an nn.Module's own attributes say that it is in this mode and that calling it is calling its
   forward. */
static int
calls_forward(PyObject *fields, PyObject *training)
{
    if (!PyDict_Check(fields) || PyDict_GetItemWithError(fields, ID(training)) != training) {
        return PyErr_Occurred() ? -1 : 0;
    }
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        PyObject *registered = PyDict_GetItemWithError(fields, *hooks[i]);
        int some = registered == NULL ? 1 : PyObject_IsTrue(registered);
        if (some != 0) {
            return some < 0 || PyErr_Occurred() ? -1 : 0;
        }
    }
    PyObject *compiled = PyDict_GetItemWithError(fields, ID(_compiled_call_impl));
    if (compiled != NULL && compiled != Py_None) {
        return 0;
    }
    int own = PyDict_Contains(fields, ID(forward));
    if (own == 0) {
        own = PyDict_Contains(fields, ID(_call_impl));
    }
    return own < 0 || PyErr_Occurred() ? -1 : !own;
}

int
leaf_checks_module(PyObject *object, PyObject *training)
{
    PyObject *fields = leaf_checks_own_dict(object);
    if (fields == NULL) {
        return -1;
    }
    int passed = calls_forward(fields, training);
    Py_DECREF(fields);
    return passed;
}

static PyObject *
check_nn_module(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    return wants(count, "its mode") < 0 ? NULL : as_bool(leaf_checks_module(args[0], args[1]));
}

static int
compare_addresses(const void *a, const void *b)
{
    uintptr_t first = *(const uintptr_t *)a, second = *(const uintptr_t *)b;
    return (first > second) - (first < second);
}

static PyObject *
no_aliasing(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    uintptr_t *addresses = PyMem_New(uintptr_t, count + 1);
    if (addresses == NULL) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        addresses[i] = (uintptr_t)args[i];
    }
    qsort(addresses, (size_t)count, sizeof *addresses, compare_addresses);
    int different = 1;
    for (Py_ssize_t i = 1; i < count && different; i++) {
        different = addresses[i] != addresses[i - 1];
    }
    PyMem_Free(addresses);
    return PyBool_FromLong(different);
}

#define FAST(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL

static PyMethodDef functions[] = {
    METHOD("check_obj_id", check_obj_id, METH_FASTCALL),
    METHOD("check_type_id", check_type_id, METH_FASTCALL),
    METHOD("check_nn_module", check_nn_module, METH_FASTCALL),
    METHOD("no_aliasing", no_aliasing, METH_FASTCALL),
    METHOD("instance_dict", instance_dict, METH_O),
    {NULL},
};

const Part leaf_checks_part = {.functions = functions};
