/* What guards ask of one object; 1, 0, or -1 with an exception set. */

#ifndef STEPPER_LEAF_CHECKS_H
#define STEPPER_LEAF_CHECKS_H

#include "module.h"

/* Whether it is at this address, an int. */
int leaf_checks_address(PyObject *object, PyObject *address);

/* Whether a module is in this mode, a bool, and calling it is calling its forward. */
int leaf_checks_module(PyObject *object, PyObject *training);

/* An object's own attributes, without running code of its class; a new reference. */
PyObject *leaf_checks_own_dict(PyObject *object);

#endif
