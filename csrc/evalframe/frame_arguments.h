/* What a frame that has not started was called with. */

#ifndef STEPPER_FRAME_ARGUMENTS_H
#define STEPPER_FRAME_ARGUMENTS_H

#include "support/compat.h"

/* How many of the code's slots hold arguments, `*args` and `**kwargs` included. */
static inline int
code_arguments(PyCodeObject *code)
{
    return code->co_argcount + code->co_kwonlyargcount + !!(code->co_flags & CO_VARARGS)
           + !!(code->co_flags & CO_VARKEYWORDS);
}

/* A new dictionary of the arguments and of what the free variables hold, by name. */
PyObject *frame_arguments(Frame *frame);

#endif
