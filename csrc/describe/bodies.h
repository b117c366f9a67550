/* The encoded descriptions of a session; the idea is in bodies.c. */

#ifndef STEPPER_BODIES_H
#define STEPPER_BODIES_H

#include "support/pack.h"

typedef struct {
    size_t offset, children; /* where its bytes, and its children's numbers, begin */
    uint32_t size, count;    /* of bytes, of children */
} Body;

typedef struct {
    uint32_t id, hash; /* id 0: free */
} Slot;

typedef struct {
    Buffer bytes;
    uint32_t *children;
    Py_ssize_t children_size, children_room;
    Body *all; /* by id, from the one after `gone` */
    Py_ssize_t count, room;
    Slot *slots;
    size_t slot_count;    /* a power of two */
    Py_ssize_t taken;     /* how many of them the writer has */
    Py_ssize_t forgotten; /* how many of them are never found again */
    uint32_t gone;        /* how many were let go of */
} Bodies;

/* The id of these bytes, or 0. */
uint32_t bodies_find(const Bodies *self, const void *data, size_t size);
/* Add them, which are not there yet; 0 with an exception. */
uint32_t bodies_add(Bodies *self, const void *data, size_t size, const uint32_t *children,
                    Py_ssize_t count);
/* Those that came since the last call: first id, how many, an array of bytes. None: there are
   none. */
PyObject *bodies_take(Bodies *self);
/* How many children a description has, and their numbers; good until the next description. */
Py_ssize_t bodies_children(const Bodies *self, uint32_t id, const uint32_t **children);
/* No id is in use any more: when there are many, what comes is not looked for among them, and the
   writer's are let go of. */
void bodies_forget(Bodies *self);
void bodies_free(Bodies *self);

#endif
