/* What the files of the extension add to the module, and how their tables are written. */

#ifndef STEPPER_MODULE_H
#define STEPPER_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* A number that Python has from here, under the name that it has here. */
typedef struct {
    const char *name;
    long number;
} Constant;

#define CONSTANT_OF(name) {#name, name}

/* Each table ends with a NULL. */
typedef struct {
    PyMethodDef *functions;
    const Constant *constants;
    PyTypeObject *types[5];
    int (*begin)(PyObject *module); /* done at last; -1 with an exception */
} Part;

/* A row of a table of methods or functions; stepper/_C.pyi says what each does. */
#define METHOD(name, function, flags) {name, (PyCFunction)(void (*)(void))(function), flags, NULL}

/* How a class of the module begins: `static PyTypeObject Hook_Type = {TYPE(Hook), …}`. */
#define TYPE(Class) \
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "stepper._C." #Class, .tp_basicsize = sizeof(Class)

/* One whose objects are called, by way of their field `vectorcall`. */
#define CALLED_SLOTS(Class) \
    .tp_call = PyVectorcall_Call, .tp_vectorcall_offset = offsetof(Class, vectorcall)

/* --- what a function says of how it went, in the ways of C and of Python --- */

/* Of what is -1 with an exception: None, or NULL. */
static inline PyObject *
answer_none(int done)
{
    return done < 0 ? NULL : Py_NewRef(Py_None);
}

/* Of what Python has returned, which is let go of: 0; -1 with an exception. */
static inline int
answer_done(PyObject *answer)
{
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

/* Likewise: whether it is true; -1 with an exception. */
static inline int
answer_truth(PyObject *answer)
{
    int truth = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return truth;
}

/* -1, with an exception that says why. */
static inline int
answer_refuse(PyObject *kind, const char *why)
{
    PyErr_SetString(kind, why);
    return -1;
}

#endif
