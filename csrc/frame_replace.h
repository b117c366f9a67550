/* Other code in a frame's place, and frames that are not to run at all. */

#ifndef STEPPER_FRAME_REPLACE_H
#define STEPPER_FRAME_REPLACE_H

#include "compat.h"

/* Lets go of a frame that has not started and will not, where that is the evaluator's duty. An
   exception that is set stays set. */
void frame_dispose(PyThreadState *tstate, Frame *frame);

#endif
