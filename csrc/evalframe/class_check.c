/* Whether a class still has what was found in it.

   What calling an object, reading an attribute of it or asking for its truth means, its class
   decides, by what it has and by what it has not, and both can be replaced later. CPython numbers
   the states of a class for its own caches: whatever is put into a class, or into one of its bases,
   takes the number from it, and the next look gives it a new one. So in a cached call the number is
   compared, which costs what comparing an address costs. Where it is another, a function in Python
   looks whether what was found is still there (class_dicts.py): classes change all the time in what
   nobody asked for, as where they count their instances. Then the new number holds. */

#include "support/collected.h"
#include "support/compat.h"
#include "support/names.h"

#include <stddef.h>

typedef struct {
    PyObject_HEAD
    PyObject *reference; /* weak */
    PyObject *recheck;
    vectorcallfunc vectorcall;
    unsigned int version; /* in which it was as it should be; 0: none */
} ClassCheck;

static PyObject *
check(PyObject *callable, PyObject *const *Py_UNUSED(args), size_t nargsf, PyObject *names)
{
    ClassCheck *self = (ClassCheck *)callable;
    if (PyVectorcall_NARGS(nargsf) != 0 || names != NULL) {
        return PyErr_Format(PyExc_TypeError, "a class check takes no arguments");
    }
    /* Without a reference it is being collected. */
    PyObject *cls = self->reference == NULL ? Py_NewRef(Py_None) : weak_target(self->reference);
    if (!PyType_Check(cls)) {
        Py_DECREF(cls);
        Py_RETURN_FALSE;
    }
    PyTypeObject *type = (PyTypeObject *)cls;
    if (self->version != 0 && self->version == class_version(type)) {
        Py_DECREF(cls);
        Py_RETURN_TRUE;
    }
    /* The number first: what changes while Python looks takes it away. */
    unsigned int version = class_give_version(type, ID(__doc__));
    PyObject *answer = PyObject_CallOneArg(self->recheck, cls);
    if (answer == Py_True) {
        self->version = version;
    }
    Py_DECREF(cls);
    return answer;
}

static PyObject *
new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"cls", "recheck", NULL};
    PyObject *cls, *recheck;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O:ClassCheck", names, &PyType_Type, &cls,
                                     &recheck)) {
        return NULL;
    }
    ClassCheck *self = (ClassCheck *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = check;
    self->recheck = Py_NewRef(recheck);
    self->reference = PyWeakref_NewRef(cls, NULL);
    if (self->reference == NULL) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

COLLECTED(class_check, ClassCheck, 2)

static PyTypeObject ClassCheck_Type = {
    TYPE(ClassCheck),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    CALLED_SLOTS(ClassCheck),
    .tp_new = new,
    COLLECTED_SLOTS(class_check),
};

static PyObject *
class_name(PyObject *Py_UNUSED(module), PyObject *cls)
{
    if (!PyType_Check(cls)) {
        return PyErr_Format(PyExc_TypeError, "not a class");
    }
    return PyUnicode_FromString(((PyTypeObject *)cls)->tp_name);
}

static PyMethodDef functions[] = {METHOD("class_name", class_name, METH_O), {NULL}};

const Part class_check_part = {.types = {&ClassCheck_Type}, .functions = functions};
