/* Classes whose first fields are objects, and how the garbage collector sees these. */

#ifndef STEPPER_COLLECTED_H
#define STEPPER_COLLECTED_H

#include "module.h"

/* How a class whose first fields are objects is collected. */
#define COLLECTED(name, Type, objects)                                 \
    static int name##_traverse(Type *self, visitproc visit, void *arg) \
    {                                                                  \
        PyObject **fields = (PyObject **)((PyObject *)self + 1);       \
        for (int i = 0; i < (objects); i++) {                          \
            Py_VISIT(fields[i]);                                       \
        }                                                              \
        return 0;                                                      \
    }                                                                  \
    static int name##_clear(Type *self)                                \
    {                                                                  \
        PyObject **fields = (PyObject **)((PyObject *)self + 1);       \
        for (int i = 0; i < (objects); i++) {                          \
            Py_CLEAR(fields[i]);                                       \
        }                                                              \
        return 0;                                                      \
    }                                                                  \
    static void name##_dealloc(Type *self)                             \
    {                                                                  \
        PyObject_GC_UnTrack(self);                                     \
        (void)name##_clear(self);                                      \
        Py_TYPE(self)->tp_free((PyObject *)self);                      \
    }

#define COLLECTED_SLOTS(name)                                                        \
    .tp_traverse = (traverseproc)name##_traverse, .tp_clear = (inquiry)name##_clear, \
    .tp_dealloc = (destructor)name##_dealloc

#endif
