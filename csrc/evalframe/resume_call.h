/* Calls that a frame leaves to the hook: those of resume functions. */

#ifndef STEPPER_RESUME_CALL_H
#define STEPPER_RESUME_CALL_H

#include "evalframe/thread_state.h"
#include "support/compat.h"

/* Whether the frame is that of a call which the hook makes for a frame that has ended; if so, the
   arguments are the frame's alone from here on. */
int resume_call_begins(ThreadState *thread, Frame *frame);

/* What a frame gives: its result or, where that is a call, what the call gives, and the calls after
   it. Takes the reference. */
PyObject *resume_call_finish(PyObject *result);

/* Whether a frame's result is such a call. */
int resume_call_check(PyObject *result);

#endif
