/* The evaluator that the hook puts before CPython's own. */

#ifndef STEPPER_FRAME_HOOK_H
#define STEPPER_FRAME_HOOK_H

#include "support/compat.h"

/* Puts the hook in, where it is not: over another evaluator if there is one. */
void frame_hook_ensure(void);

/* Runs a frame as CPython does. */
PyObject *frame_hook_run(PyThreadState *tstate, Frame *frame, int throwflag);

/* Where the line is put at which a resumed frame of this thread has ended: each frame that runs
   says its own, and the outermost is the last. NULL: nobody wants to know, or it has been said;
   what the end of the frame's variables calls is not to say anything. */
extern _Thread_local int *frame_hook_last_line;

#endif
