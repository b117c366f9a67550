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

#endif
