/* How deep the value stack is before each instruction of a code object. */

#ifndef STEPPER_STACK_DEPTH_H
#define STEPPER_STACK_DEPTH_H

#include "module.h"

enum { DEPTH_UNKNOWN = -1 };

/* One depth for each code unit, allocated with PyMem; DEPTH_UNKNOWN where control never comes, or
   everywhere if the code does not fit together. NULL: an exception is set. */
int *stack_depth_table(PyCodeObject *code, Py_ssize_t *units);

#endif
