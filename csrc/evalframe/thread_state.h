/* What a thread has set for the frames that it calls. */

#ifndef STEPPER_THREAD_STATE_H
#define STEPPER_THREAD_STATE_H

#include "module.h"

typedef struct {
    PyObject_HEAD
    PyObject *callback; /* asked what to run; Py_False: only the caches are; NULL: nobody is */
    PyObject *backend;  /* for which the thread captures; NULL: none */
    int whole;          /* whether each call is to become one graph: no entry with a part will do */

    PyCodeObject *direct; /* the next frame, if it runs this code, runs it as it is; borrowed */
    PyObject *resuming;   /* the ResumeCall being made, until its frame has begun; borrowed */
    int leaves;           /* whoever called a frame makes the ResumeCall that it returns */
} ThreadState;

/* NULL: this thread has set nothing. */
ThreadState *thread_state(void);

/* The same, made when there is none. NULL: an exception is set. */
ThreadState *thread_state_make(void);

/* Sets this thread's callback and backend (Py_None: none), and whether calls are to become one
   graph; what they were, a tuple of the three. NULL with an exception: nothing has changed. */
PyObject *thread_state_exchange(PyObject *callback, PyObject *backend, int whole);

/* The guards' own frames are not to be captured: the thread's callback is away in between. */
PyObject *thread_state_pause(void);
void thread_state_resume(PyObject *paused);

#endif
