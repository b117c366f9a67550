/* The turn to write; see turn.c. */

#ifndef STEPPER_TURN_H
#define STEPPER_TURN_H

#include "module.h"

typedef struct {
    PyObject_HEAD
    PyThread_type_lock lock;
    unsigned long owner;    /* of the lock, while `depth` is not 0 */
    Py_ssize_t depth;       /* how often the owner has it */
    unsigned long *tellers; /* each time, the thread that tells a moment of a walk; 0: none does */
    Py_ssize_t room;
} Turn;

extern PyTypeObject Turn_Type;

/* Wait for the turn and take it; -1 with an exception, when a signal's handler raised one. */
int turn_take(Turn *self);
/* Give it back once; -1 with an exception when this thread does not have it. */
int turn_give(Turn *self);

/* How often this thread has the turn, and to have it only so often again, whatever lies between. */
Py_ssize_t turn_depth(const Turn *self);
void turn_unwind(Turn *self, Py_ssize_t depth);

extern PyTypeObject Telling_Type;

#endif
