/* The leaf checks of the native engine's guards.

   A model has some hundreds of guards, of which most compare an address or look into an object's
   own attributes. Done in Python, or through the functions that torch exports for them, the call is
   most of the cost; so they are done here, to the same effect. */

#include "evalframe/leaf_checks.h"

#include "support/api.h"
#include "support/fields.h"
#include "support/names.h"

static PyObject *const *const hooks[] = {&ID(_forward_hooks), &ID(_forward_pre_hooks),
                                         &ID(_backward_hooks), &ID(_backward_pre_hooks)};

static int
has_address(PyObject *object, PyObject *address)
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
    return wants(count, "an id") < 0 ? NULL : as_bool(has_address(args[0], args[1]));
}

static PyObject *
check_type_id(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    return wants(count, "the id of a class") < 0
               ? NULL
               : as_bool(has_address((PyObject *)Py_TYPE(args[0]), args[1]));
}

PyObject *
leaf_checks_own_dict(PyObject *object)
{
    PyObject *dict = fields_dict(object);
    return dict != NULL ? Py_NewRef(dict) : PyObject_GenericGetAttr(object, ID(__dict__));
}

static PyObject *
instance_dict(PyObject *Py_UNUSED(module), PyObject *object)
{
    return leaf_checks_own_dict(object);
}

/* Whether nothing has been registered since the module was as it was. */
static int
still_calls_forward(const ModuleState *last)
{
    for (size_t i = 0; i < sizeof last->hooks / sizeof *last->hooks; i++) {
        if (PyDict_GET_SIZE(last->hooks[i]) != 0) {
            return 0;
        }
    }
    return 1;
}

/* Whether the length of what is registered says whether there is some. */
static int
is_counted(PyObject *registered)
{
    return PyDict_CheckExact(registered) || Py_IS_TYPE(registered, &PyODict_Type);
}

/* 1: an nn.Module's own attributes say that it is in this mode and that calling it is calling its
   forward. */
static int
calls_forward(ModuleState *last, PyObject *fields, PyObject *training)
{
    if (!PyDict_Check(fields)) {
        return 0;
    }
    uint64_t state = dict_own_version(fields);
    if (state != 0 && state == last->fields) {
        return still_calls_forward(last);
    }
    last->fields = 0; /* what is noted from here on is another module's, or of another state */
    if (PyDict_GetItemWithError(fields, ID(training)) != training) {
        return PyErr_Occurred() ? -1 : 0;
    }
    int counted = 1;
    for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
        PyObject *registered = PyDict_GetItemWithError(fields, *hooks[i]);
        int some = registered == NULL ? 1 : PyObject_IsTrue(registered);
        if (some != 0) {
            return some < 0 || PyErr_Occurred() ? -1 : 0;
        }
        counted = counted && is_counted(registered);
        last->hooks[i] = registered;
    }
    PyObject *compiled = PyDict_GetItemWithError(fields, ID(_compiled_call_impl));
    if (compiled != NULL && compiled != Py_None) {
        return 0;
    }
    int own = PyDict_Contains(fields, ID(forward));
    if (own == 0) {
        own = PyDict_Contains(fields, ID(_call_impl));
    }
    if (own != 0) {
        return own < 0 || PyErr_Occurred() ? -1 : 0;
    }
    last->fields = counted ? state : 0;
    return 1;
}

int
leaf_checks_module(ModuleState *last, PyObject *object, PyObject *training)
{
    PyObject *fields = leaf_checks_own_dict(object);
    if (fields == NULL) {
        return -1;
    }
    int passed = calls_forward(last, fields, training);
    Py_DECREF(fields);
    return passed;
}

static PyObject *
check_nn_module(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    return wants(count, "its mode") < 0
               ? NULL
               : as_bool(leaf_checks_module(&(ModuleState){0}, args[0], args[1]));
}

/* Where an object stands in a table of so many places, or the free place for it. */
static size_t
place_in(PyObject *const *table, size_t places, PyObject *object)
{
    size_t at = ((uintptr_t)object >> 4) * 0x9E3779B97F4A7C15u >> 32 & (places - 1);
    while (table[at] != NULL && table[at] != object) {
        at = (at + 1) & (places - 1);
    }
    return at;
}

static PyObject *
no_aliasing(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    size_t places = 1;
    while (places < 2 * (size_t)count) {
        places *= 2;
    }
    PyObject **table = PyMem_Calloc(places, sizeof(PyObject *));
    if (table == NULL) {
        return PyErr_NoMemory();
    }
    int different = 1;
    for (Py_ssize_t i = 0; i < count && different; i++) {
        size_t at = place_in(table, places, args[i]);
        different = table[at] == NULL;
        table[at] = args[i];
    }
    PyMem_Free(table);
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
