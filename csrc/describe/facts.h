/* What a tracker is, as an encoded Value; see facts.c. */

#ifndef STEPPER_FACTS_H
#define STEPPER_FACTS_H

#include "module.h"

#include <stdint.h>

extern PyTypeObject Facts_Type;

/* Gives a tracker's number, 0 with an exception. */
typedef uint32_t (*Numbering)(void *context, PyObject *tracker);

/* The id of the tracker's description now, 0 with an exception. `number` is the same as
   `numbering`, for Python. Can run anything. */
uint32_t facts_describe(PyObject *facts, PyObject *tracker, Numbering numbering, void *context,
                        PyObject *number);

/* Nothing that was described is spoken of any more: let go of what was kept to describe it. */
void facts_forget(PyObject *facts);

/* How many children a description has, and their numbers; good until the next description. */
Py_ssize_t facts_children(PyObject *facts, uint32_t description, const uint32_t **children);

#endif
