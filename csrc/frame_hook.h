/* The evaluator that the hook puts before CPython's own. */

#ifndef STEPPER_FRAME_HOOK_H
#define STEPPER_FRAME_HOOK_H

#include "compat.h"

/* Runs a frame as CPython does. */
PyObject *run_frame(PyThreadState *tstate, Frame *frame, int throwflag);

/* Where the line is put at which a frame of this thread has ended, for each that runs through
   `run_frame`: so the outermost is the last to say. NULL: nobody wants to know. */
extern _Thread_local int *last_line;

#endif
