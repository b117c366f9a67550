/* Which nodes of an FX graph came and went since they were reported; the idea is in node_marks.c. */

#ifndef STEPPER_NODE_MARKS_H
#define STEPPER_NODE_MARKS_H

#include "module.h"

struct Steps;

extern PyTypeObject NodeMarks_Type;

/* The methods of Steps that this file has. */
PyObject *steps_node_inserted(struct Steps *self, PyObject *node);
PyObject *steps_node_removed(struct Steps *self, PyObject *node);

/* Whether something of the graphs at work waits to be reported. */
int node_marks_changed(struct Steps *steps);

int node_marks_init(void);

#endif
