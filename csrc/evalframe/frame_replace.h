/* Other code in a frame's place, and frames that are not to run at all. */

#ifndef STEPPER_FRAME_REPLACE_H
#define STEPPER_FRAME_REPLACE_H

#include "evalframe/thread_state.h"
#include "support/compat.h"

/* Whether calls of this code are function calls, and not a class's or module's body. */
int frame_replace_is_function(PyCodeObject *code);

/* Whether calls of this code are function calls that other code can take over. */
int frame_replace_is_possible(PyCodeObject *code);

/* Whether `code` can run in frames that were made for `original`. If not, an exception says why,
   and the answer is -1. */
int frame_replace_check(PyCodeObject *original, PyCodeObject *code);

/* Runs the code, which was checked, in place of the frame's own. */
PyObject *frame_replace_run(PyThreadState *tstate, ThreadState *thread, Frame *frame,
                            PyCodeObject *code);

/* Lets go of a frame that has not started and will not, where that is the evaluator's duty. An
   exception that is set stays set. */
void frame_replace_dispose(PyThreadState *tstate, Frame *frame);

/* For tests: whether never to run code in place. */
extern int frame_replace_force_helper;

#endif
