/* Which nodes of an FX graph came and went since they were reported.

   torch.fx takes a node out of its graph's table and puts it back to set any attribute of it, so a
   compile has several times as many comings and goings as nodes. All that is to be done for one is
   to note the node; what came of it is looked at with the next step (see
   stepper/engines/dynamo/nodes.py, whose GraphWatcher has this as its base). */

#include "record/node_marks.h"

#include "record/steps.h"
#include "support/collected.h"
#include "support/names.h"

#include <structmember.h>

static void
mark_changed(Steps *steps, NodeMarks *self)
{
    self->changed = steps->nodes_changed = 1;
}

static NodeMarks *
marks_of(Steps *steps)
{
    return steps->graph != NULL && steps->graph != Py_None ? (NodeMarks *)steps->graph : NULL;
}

int
node_marks_changed(Steps *steps)
{
    NodeMarks *self = marks_of(steps);
    return self != NULL && self->changed;
}

int
node_marks_report(Steps *steps)
{
    NodeMarks *self = marks_of(steps);
    if (self == NULL || !self->changed) {
        return 0;
    }
    Py_INCREF(self);
    PyObject *answer = PyObject_CallMethodNoArgs((PyObject *)self, ID(sync));
    Py_DECREF(self);
    return answer_done(answer);
}

/* Whether a node is in a graph of ours; -1 with an exception. */
static int
is_ours(NodeMarks *self, PyObject *node)
{
    PyObject *graph = PyObject_GetAttr(node, ID(graph));
    PyObject *id = graph == NULL ? NULL : PyLong_FromVoidPtr(graph);
    int ours = id == NULL ? -1 : PyDict_Contains(self->graphs, id);
    Py_XDECREF(id);
    if (ours == 0) {
        PyObject *answer = PyObject_CallMethodOneArg((PyObject *)self, ID(is_ours), graph);
        ours = answer_truth(answer);
    }
    Py_XDECREF(graph);
    return ours;
}

PyObject *
node_marks_inserted(Steps *steps, PyObject *node)
{
    NodeMarks *self = marks_of(steps);
    int ours = self == NULL ? 0 : is_ours(self, node);
    if (ours < 0 || (ours && PyDict_SetItem(self->inserted, node, Py_None) < 0)) {
        return NULL;
    }
    if (ours) {
        mark_changed(steps, self);
    }
    Py_RETURN_NONE;
}

PyObject *
node_marks_removed(Steps *steps, PyObject *node)
{
    NodeMarks *self = marks_of(steps);
    int fresh = self == NULL ? 0 : PyDict_Contains(self->inserted, node);
    int known = self == NULL || fresh ? 0 : PyDict_Contains(self->known, node);
    if (fresh < 0 || known < 0 || (fresh && PyDict_DelItem(self->inserted, node) < 0)
        || (known && PyList_Append(self->removed, node) < 0)) {
        return NULL;
    }
    if (known) {
        mark_changed(steps, self);
    }
    Py_RETURN_NONE;
}

int
node_marks_begin(NodeMarks *self)
{
    if (self->graphs != NULL) {
        PyErr_SetString(PyExc_TypeError, "they are made once"); /* and may be looked through */
        return -1;
    }
    return (self->graphs = PyDict_New()) == NULL || (self->known = PyDict_New()) == NULL
                   || (self->inserted = PyDict_New()) == NULL
                   || (self->removed = PyList_New(0)) == NULL
               ? -1
               : 0;
}

static int
marks_init(NodeMarks *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {NULL};
    return PyArg_ParseTupleAndKeywords(args, kwargs, "", names) ? node_marks_begin(self) : -1;
}

COLLECTED(marks, NodeMarks, NODE_MARKS_OBJECTS)

static PyMemberDef members[] = {
    {"graphs", T_OBJECT, offsetof(NodeMarks, graphs), READONLY, NULL},
    {"known", T_OBJECT, offsetof(NodeMarks, known), READONLY, NULL},
    {"inserted", T_OBJECT, offsetof(NodeMarks, inserted), READONLY, NULL},
    {"removed", T_OBJECT, offsetof(NodeMarks, removed), READONLY, NULL},
    {"changed", T_BOOL, offsetof(NodeMarks, changed), 0, NULL},
    {NULL},
};

PyTypeObject NodeMarks_Type = {
    TYPE(NodeMarks),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)marks_init,
    COLLECTED_SLOTS(marks),
    .tp_members = members,
};
