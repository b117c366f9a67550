/* Nodes of an FX graph as records; the idea is in node_rows.c. */

#ifndef STEPPER_NODE_ROWS_H
#define STEPPER_NODE_ROWS_H

#include "record/node_marks.h"
#include "record/steps.h"

/* What a NodeRows is given, in the order of the parameters of __init__ in stepper/_C.pyi. */
enum {
    RECORD,
    REPLACE,
    KIND,
    NODE,
    ARGUMENT,
    CALLED,
    META,
    SOURCE, /* of nodes */
    FAKE,
    FAKE_DEVICE,
    STRIDED,
    MODES,
    TENSOR_META, /* of their example values */
    GIVEN
};

typedef struct {
    NodeMarks marks;
    PyObject *given[GIVEN];
    PyObject *targets; /* what was called, by id: itself and in words */
    PyObject *metas;   /* TensorMeta by what it says, as arguments of TENSOR_META */
} NodeRows;

extern PyTypeObject NodeRows_Type;

int node_rows_init(void);

/* node_record.c. New references, or NULL with an exception. */
PyObject *node_record(NodeRows *self, const Steps *steps, PyObject *attempt, PyObject *ids,
                      PyObject *node);
PyObject *node_record_target(NodeRows *self, PyObject *node);
PyObject *node_record_arguments(NodeRows *self, PyObject *node);
PyObject *node_record_inputs(PyObject *node);
PyObject *node_record_number(PyObject *ids);
/* A number between those of the nearest reported neighbours; -1 with an exception. */
int node_record_rank(NodeRows *self, PyObject *node, double *rank);

#endif
