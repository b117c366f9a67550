/* The turn to write; see turn.c. */

#ifndef STEPPER_TURN_H
#define STEPPER_TURN_H

#include "module.h"

typedef struct {
    PyObject_HEAD
    PyThread_type_lock lock;
    unsigned long owner; /* of the lock, while `depth` is not 0 */
    Py_ssize_t depth;    /* how often the owner has it */
} Turn;

extern PyTypeObject Turn_Type;

/* Wait for the turn and take it; -1 with an exception, when a signal's handler raised one. */
int turn_take(Turn *self);
/* Give it back once; -1 with an exception when this thread does not have it. */
int turn_give(Turn *self);

#endif
