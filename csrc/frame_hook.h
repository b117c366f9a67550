/* The evaluator that the hook puts before CPython's own. */

#ifndef STEPPER_FRAME_HOOK_H
#define STEPPER_FRAME_HOOK_H

#include "compat.h"

/* Runs a frame as CPython does. */
PyObject *run_frame(PyThreadState *tstate, Frame *frame, int throwflag);

#endif
