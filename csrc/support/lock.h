/* The lock to write; see lock.c. */

#ifndef STEPPER_TURN_H
#define STEPPER_TURN_H

#include "module.h"

typedef struct {
    PyObject_HEAD
    PyThread_type_lock lock;
    unsigned long owner;    /* of the lock, while `depth` is not 0 */
    Py_ssize_t depth;       /* how often the owner has it */
    unsigned long *writers; /* each time, the thread that writes a moment of a walk; 0: none does */
    Py_ssize_t room;
} ReentrantLock;

extern PyTypeObject ReentrantLock_Type;

/* Wait for the lock and take it; -1 with an exception, when a signal's handler raised one. */
int lock_take(ReentrantLock *self);
/* Give it back once; -1 with an exception when this thread does not have it. */
int lock_give(ReentrantLock *self);

/* How often this thread has the lock, and to have it only so often again, whatever lies between. */
Py_ssize_t lock_depth(const ReentrantLock *self);
void lock_unwind(ReentrantLock *self, Py_ssize_t depth);

extern PyTypeObject Writing_Type;

#endif
