/* The evaluator that the hook puts before CPython's own. */

#ifndef STEPPER_FRAME_HOOK_H
#define STEPPER_FRAME_HOOK_H

#include "compat.h"

/* Runs a frame as CPython does. */
PyObject *run_frame(PyThreadState *tstate, Frame *frame, int throwflag);

/* Where the line is put at which a resumed frame of this thread has ended: each frame that runs says
   its own, and the outermost is the last. NULL: nobody wants to know, or it has been said; what the
   end of the frame's variables calls is not to say anything. */
extern _Thread_local int *last_line;

#endif
