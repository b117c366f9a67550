/* Which nodes of an FX graph came and went since they were reported; see node_marks.c. */

#ifndef STEPPER_NODE_MARKS_H
#define STEPPER_NODE_MARKS_H

#include "module.h"

struct Steps;

typedef struct {
    PyObject_HEAD
    PyObject *graphs;   /* by id: those of ours that have been met */
    PyObject *known;    /* nodes that were reported */
    PyObject *inserted; /* nodes, as keys, in order */
    PyObject *removed;  /* a list */
    char changed;
} NodeMarks;

extern PyTypeObject NodeMarks_Type;

enum { NODE_MARKS_OBJECTS = 4 }; /* that are first among its fields */

/* Of its subtypes: what they do first. */
int node_marks_begin(NodeMarks *self);

/* The methods of Steps that this file has. */
PyObject *node_marks_inserted(struct Steps *self, PyObject *node);
PyObject *node_marks_removed(struct Steps *self, PyObject *node);

/* Whether something of the graphs at work waits to be reported; have it reported. */
int node_marks_changed(struct Steps *steps);
int node_marks_report(struct Steps *steps);

#endif
