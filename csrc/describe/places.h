/* The places of objects in a tuple, by identity.

   Instructions refer to each other, and a class of them may have a `__hash__` written in Python, as
   Dynamo's has. Nobody is asked here. */

#ifndef STEPPER_PLACES_H
#define STEPPER_PLACES_H

#include "module.h"

/* A hash table keyed by address, made when it is first asked; zeroed: empty. */
typedef struct {
    Py_ssize_t *slots; /* place + 1; 0: free */
    size_t mask;
} Places;

static inline size_t
places_slot(const Places *self, PyObject *items, PyObject *object)
{
    uintptr_t bits = (uintptr_t)object >> 4;
    size_t at = (size_t)(bits ^ bits >> 15) & self->mask;
    while (self->slots[at] != 0 && PyTuple_GET_ITEM(items, self->slots[at] - 1) != object) {
        at = (at + 1) & self->mask;
    }
    return at;
}

static inline int
places_fill(Places *self, PyObject *items)
{
    Py_ssize_t count = PyTuple_GET_SIZE(items);
    size_t size = 8;
    while (size < 2 * (size_t)count) {
        size *= 2;
    }
    self->slots = PyMem_Calloc(size, sizeof *self->slots);
    if (self->slots == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->mask = size - 1;
    for (Py_ssize_t i = 0; i < count; i++) {
        self->slots[places_slot(self, items, PyTuple_GET_ITEM(items, i))] = i + 1;
    }
    return 0;
}

/* Where the object is among the items, which are the same each time; -1: it is none of them.
   Returns -1 with an exception. */
static inline int
places_find(Places *self, PyObject *items, PyObject *object, Py_ssize_t *place)
{
    if (self->slots == NULL && places_fill(self, items) < 0) {
        return -1;
    }
    *place = self->slots[places_slot(self, items, object)] - 1;
    return 0;
}

static inline void
places_free(Places *self)
{
    PyMem_Free(self->slots);
}

#endif
