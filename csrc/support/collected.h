/* Objects that stand one behind the other in a struct, as the garbage collector sees them. */

#ifndef STEPPER_COLLECTED_H
#define STEPPER_COLLECTED_H

#include "module.h"

static inline int
collected_visit(PyObject **fields, int count, visitproc visit, void *arg)
{
    for (int i = 0; i < count; i++) {
        Py_VISIT(fields[i]);
    }
    return 0;
}

static inline void
collected_clear(PyObject **fields, int count)
{
    for (int i = 0; i < count; i++) {
        Py_CLEAR(fields[i]);
    }
}

/* Have other objects stand there. */
static inline void
collected_set(PyObject **fields, int count, PyObject *const *given)
{
    for (int i = 0; i < count; i++) {
        Py_XSETREF(fields[i], Py_NewRef(given[i]));
    }
}

/* The first of a class's own fields. */
#define COLLECTED_FIELDS(self) ((PyObject **)((PyObject *)(self) + 1))

/* How a class whose first fields are objects is collected. */
#define COLLECTED(name, Type, objects)                                         \
    static int name##_traverse(Type *self, visitproc visit, void *arg)         \
    {                                                                          \
        return collected_visit(COLLECTED_FIELDS(self), (objects), visit, arg); \
    }                                                                          \
    static int name##_clear(Type *self)                                        \
    {                                                                          \
        collected_clear(COLLECTED_FIELDS(self), (objects));                    \
        return 0;                                                              \
    }                                                                          \
    static void name##_dealloc(Type *self)                                     \
    {                                                                          \
        PyObject_GC_UnTrack(self);                                             \
        (void)name##_clear(self);                                              \
        Py_TYPE(self)->tp_free((PyObject *)self);                              \
    }

#define COLLECTED_SLOTS(name) COLLECTED_SLOTS_BUT(name, name##_dealloc)

/* The same for one with more to be let go of, which its own function does first. */
#define COLLECTED_SLOTS_BUT(name, deallocate)                                        \
    .tp_traverse = (traverseproc)name##_traverse, .tp_clear = (inquiry)name##_clear, \
    .tp_dealloc = (destructor)deallocate

#endif
