/* What guards ask of one object; 1, 0, or -1 with an exception set. */

#ifndef STEPPER_LEAF_CHECKS_H
#define STEPPER_LEAF_CHECKS_H

#include "module.h"

typedef struct {
    uint64_t fields;    /* the state of a module's own attributes in which that was so; 0: none */
    PyObject *hooks[4]; /* borrowed: what it has registered, which was empty */
} ModuleState;

/* Whether a module is in this mode, a bool, and calling it is calling its forward. `last` is what
   was so at the last look, or zeroes. */
int leaf_checks_module(ModuleState *last, PyObject *object, PyObject *training);

/* An object's own attributes, without running code of its class; a new reference. */
PyObject *leaf_checks_own_dict(PyObject *object);

#endif
