/* What guards ask of one object; 1, 0, or -1 with an exception set. */

#ifndef STEPPER_LEAF_CHECKS_H
#define STEPPER_LEAF_CHECKS_H

#include "module.h"

/* Whether it is at this address, an int. */
int has_address(PyObject *object, PyObject *address);

/* Whether a module is in this mode, a bool, and calling it is calling its forward. */
int is_module_in_mode(PyObject *object, PyObject *training);

/* An object's own attributes, without running code of its class; a new reference. */
PyObject *own_dict(PyObject *object);

#endif
