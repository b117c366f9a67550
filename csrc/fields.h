/* An object's own attributes; see fields.c. */

#ifndef STEPPER_FIELDS_H
#define STEPPER_FIELDS_H

#include "module.h"

/* A dictionary of the object's attributes: its own, or a new one. Runs nothing. */
PyObject *stepper_fields(PyObject *object);

#endif
