/* Reports the nodes of an FX graph that came and went: writes their records and tells their events.

   What a record says is in node_record.c, and what is to be done in which order in
   stepper/engines/dynamo/nodes.py. Each node goes from its list when it has been told: at the
   program's recursion limit, or out of memory, any of this can fail, and is done the next time. */

#include "record/node_rows.h"

#include "support/names.h"

#include <structmember.h>

static PyObject *renaming, *new_node;

int
node_rows_init(void)
{
    if (renaming == NULL
        && (renaming = Py_BuildValue("(sssss)", "id", "name", "args", "inputs", "renamed"))
               == NULL) {
        return -1;
    }
    return new_node == NULL && (new_node = Py_BuildValue("(s)", "known")) == NULL ? -1 : 0;
}

/* What of a recorder is needed, new references. */
typedef struct {
    PyObject *recorder, *steps, *ids, *write, *erase, *event;
} RecorderParts;

static void
parts_close(RecorderParts *parts)
{
    Py_XDECREF(parts->steps);
    Py_XDECREF(parts->ids);
    Py_XDECREF(parts->write);
    Py_XDECREF(parts->erase);
    Py_XDECREF(parts->event);
}

static int
parts_open(NodeRows *self, PyObject *recorder, RecorderParts *parts)
{
    if (self->metas == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "__init__ of NodeRows was not called");
        return -1;
    }
    *parts = (RecorderParts){.recorder = recorder};
    if ((parts->steps = PyObject_GetAttr(recorder, ID(steps))) == NULL
        || (parts->ids = PyObject_GetAttr(recorder, ID(node_ids))) == NULL
        || (parts->write = PyObject_GetAttr(recorder, ID(write_node))) == NULL
        || (parts->erase = PyObject_GetAttr(recorder, ID(write_node_erased))) == NULL
        || (parts->event = PyObject_GetAttr(recorder, ID(event_at))) == NULL) {
        parts_close(parts);
        return -1;
    }
    if (!PyObject_TypeCheck(parts->steps, &Steps_Type)) {
        PyErr_SetString(PyExc_TypeError, "a recorder's steps are no Steps");
        parts_close(parts);
        return -1;
    }
    return 0;
}

static PyObject *
moment_of(const RecorderParts *parts)
{
    return PyLong_FromLongLong(((Steps *)parts->steps)->moment);
}

static int
drop(PyObject *answer)
{
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

/* A node is gone, or is another record from now on. */
static int
erase(const RecorderParts *parts, PyObject *record)
{
    PyObject *id = PyObject_GetAttr(record, ID(id));
    PyObject *moment = id == NULL ? NULL : moment_of(parts);
    int done = moment == NULL ? -1
                              : drop(PyObject_CallFunctionObjArgs(parts->erase, id, moment, NULL));
    Py_XDECREF(id);
    Py_XDECREF(moment);
    return done;
}

/* --- what came */

static int
count_node(PyObject *attempt)
{
    PyObject *translation = PyObject_GetAttr(attempt, ID(translation));
    PyObject *counts = translation == NULL ? NULL : PyObject_GetAttr(translation, ID(counts));
    PyObject *count = counts == NULL ? NULL : PyObject_GetItem(counts, ID(nodes));
    PyObject *one = count == NULL ? NULL : PyLong_FromLong(1);
    PyObject *more = one == NULL ? NULL : PyNumber_Add(count, one);
    int done = more == NULL ? -1 : PyObject_SetItem(counts, ID(nodes), more);
    Py_XDECREF(translation);
    Py_XDECREF(counts);
    Py_XDECREF(count);
    Py_XDECREF(one);
    Py_XDECREF(more);
    return done;
}

static int
record_event(NodeRows *self, const RecorderParts *parts, PyObject *record)
{
    PyObject *name = PyObject_GetAttr(record, ID(name));
    PyObject *op = name == NULL ? NULL : PyObject_GetAttr(record, ID(op));
    PyObject *target = op == NULL ? NULL : PyObject_GetAttr(record, ID(target));
    PyObject *id = target == NULL ? NULL : PyObject_GetAttr(record, ID(id));
    PyObject *text = id == NULL ? NULL : PyUnicode_FromFormat("%S = %S %S", name, op, target);
    PyObject *arguments[] = {parts->steps, self->given[KIND], text, id};
    int done = text == NULL ? -1 : drop(PyObject_Vectorcall(parts->event, arguments, 4, NULL));
    Py_XDECREF(name);
    Py_XDECREF(op);
    Py_XDECREF(target);
    Py_XDECREF(id);
    Py_XDECREF(text);
    return done;
}

/* What Recorder.node does with a new node; when somebody listens (`aloud`), that is asked. */
static int
record_node(NodeRows *self, const RecorderParts *parts, PyObject *attempt, PyObject *record,
            int aloud)
{
    if (!aloud) {
        return drop(PyObject_CallOneArg(parts->write, record)) < 0 || count_node(attempt) < 0
                       || record_event(self, parts, record) < 0
                   ? -1
                   : 0;
    }
    PyObject *arguments[] = {parts->recorder, attempt, record, Py_False};
    return drop(PyObject_VectorcallMethod(ID(node), arguments, 3, new_node));
}

static int
record_new(NodeRows *self, const RecorderParts *parts, PyObject *attempt, PyObject *node, int aloud)
{
    PyObject *number = PyObject_GetAttr(attempt, ID(id));
    PyObject *record = number == NULL
                           ? NULL
                           : node_record(self, (Steps *)parts->steps, number, parts->ids, node);
    int done = record == NULL || PyDict_SetItem(self->marks.known, node, record) < 0
                   ? -1
                   : record_node(self, parts, attempt, record, aloud);
    Py_XDECREF(number);
    Py_XDECREF(record);
    return done;
}

/* Remove a key that may have gone. */
static int
discard(PyObject *dict, PyObject *key)
{
    int there = PyDict_Contains(dict, key);
    return there <= 0 ? there : PyDict_DelItem(dict, key);
}

static PyObject *
rows_record_inserted(NodeRows *self, PyObject *args)
{
    PyObject *recorder, *attempt, *node;
    int aloud, done = 0;
    RecorderParts parts;
    if (!PyArg_ParseTuple(args, "OOp:record_inserted", &recorder, &attempt, &aloud)) {
        return NULL;
    }
    if (self->marks.inserted != NULL && PyDict_GET_SIZE(self->marks.inserted) == 0) {
        Py_RETURN_NONE;
    }
    if (parts_open(self, recorder, &parts) < 0) {
        return NULL;
    }
    /* One by one from the front: a stop at a node may tell the rest. */
    for (Py_ssize_t at = 0; done == 0 && PyDict_Next(self->marks.inserted, &at, &node, NULL);
         at = 0) {
        Py_INCREF(node);
        int known = PyDict_Contains(self->marks.known, node);
        int ours = known != 0 ? known : node_marks_is_ours(&self->marks, node);
        if (known < 0 || ours < 0
            || (!known && ours && record_new(self, &parts, attempt, node, aloud) < 0)
            || discard(self->marks.inserted, node) < 0) {
            done = -1;
        }
        Py_DECREF(node);
    }
    parts_close(&parts);
    if (done < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* --- what went */

/* Whether a neighbour, if it is known, stands on the right side of a rank; -1 with an exception. */
static int
keeps_order(NodeRows *self, PyObject *node, PyObject *direction, double rank)
{
    PyObject *other = PyObject_GetAttr(node, direction);
    PyObject *record = other == NULL ? NULL : PyDict_GetItemWithError(self->marks.known, other);
    int known = Py_XNewRef(record) != NULL;
    PyObject *number = known ? PyObject_GetAttr(record, ID(rank)) : NULL;
    double its = number == NULL ? 0.0 : PyFloat_AsDouble(number);
    Py_XDECREF(other);
    Py_XDECREF(record);
    Py_XDECREF(number);
    if (PyErr_Occurred()) {
        return -1;
    }
    return !known || (direction == ID(_prev) ? its < rank : rank < its);
}

/* Whether an attribute of a record is this; -1 with an exception. Takes the reference. */
static int
says(PyObject *record, PyObject *name, PyObject *wanted)
{
    PyObject *said = wanted == NULL ? NULL : PyObject_GetAttr(record, name);
    int same = said == NULL ? -1 : PyObject_RichCompareBool(said, wanted, Py_EQ);
    Py_XDECREF(said);
    Py_XDECREF(wanted);
    return same;
}

/* Whether a node that went and came back is what it was, where it was; -1 with an exception.

   torch.fx takes a node out and puts it back to set any attribute of it; printing a graph does so
   with all nodes. */
static int
is_unchanged(NodeRows *self, PyObject *node, PyObject *record)
{
    int same = says(record, ID(op), PyObject_GetAttr(node, ID(op)));
    if (same > 0) {
        same = says(record, ID(target), node_record_target(self, node));
    }
    PyObject *number = same > 0 ? PyObject_GetAttr(record, ID(rank)) : NULL;
    double rank = number == NULL ? 0.0 : PyFloat_AsDouble(number);
    Py_XDECREF(number);
    if (PyErr_Occurred()) {
        return -1;
    }
    if (same > 0) {
        same = keeps_order(self, node, ID(_prev), rank);
    }
    return same > 0 ? keeps_order(self, node, ID(_next), rank) : same;
}

static int
record_gone(NodeRows *self, const RecorderParts *parts, PyObject *node)
{
    PyObject *record = Py_XNewRef(PyDict_GetItemWithError(self->marks.known, node));
    if (record == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    int back = PyDict_Contains(self->marks.inserted, node);
    int same = back > 0 ? is_unchanged(self, node, record) : back;
    int done = same < 0 ? -1
               : same   ? discard(self->marks.inserted, node)
                        : discard(self->marks.known, node);
    if (done == 0 && !same) {
        done = erase(parts, record);
    }
    Py_DECREF(record);
    return done;
}

static PyObject *
rows_record_removed(NodeRows *self, PyObject *recorder)
{
    RecorderParts parts;
    PyObject *removed = self->marks.removed;
    if (removed != NULL && PyList_GET_SIZE(removed) == 0) {
        Py_RETURN_NONE;
    }
    if (parts_open(self, recorder, &parts) < 0) {
        return NULL;
    }
    int done = 0;
    while (done == 0 && PyList_GET_SIZE(removed) > 0) {
        PyObject *node = Py_NewRef(PyList_GET_ITEM(removed, 0));
        done = record_gone(self, &parts, node);
        if (done == 0 && PyList_GET_SIZE(removed) > 0) {
            done = PyList_SetSlice(removed, 0, 1, NULL);
        }
        Py_DECREF(node);
    }
    parts_close(&parts);
    if (done < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* --- what is called otherwise */

/* Another record of a known node whose name or arguments are others now. */
static int
record_renamed(NodeRows *self, const RecorderParts *recorder, PyObject *node)
{
    PyObject *old = Py_XNewRef(PyDict_GetItemWithError(self->marks.known, node));
    if (old == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    /* In the order of `renaming`, behind what is replaced. */
    enum { OLD, ID, NAME, ARGS, INPUTS, MOMENT, ALL };
    PyObject *parts[ALL] = {old}, *record = NULL;
    int same = -1, done = -1;
    if ((parts[NAME] = PyObject_GetAttr(node, ID(name))) != NULL
        && (parts[ARGS] = node_record_arguments(self, node)) != NULL) {
        same = says(old, ID(name), Py_NewRef(parts[NAME]));
        same = same > 0 ? says(old, ID(args), Py_NewRef(parts[ARGS])) : same;
    }
    if (same > 0) {
        done = 0;
    }
    else if (same == 0 && erase(recorder, old) == 0
             && (parts[ID] = node_record_number(recorder->ids)) != NULL
             && (parts[INPUTS] = node_record_inputs(node)) != NULL
             && (parts[MOMENT] = moment_of(recorder)) != NULL) {
        record = PyObject_Vectorcall(self->given[REPLACE], parts, 1, renaming);
        if (record != NULL && PyDict_SetItem(self->marks.known, node, record) == 0) {
            done = drop(PyObject_CallOneArg(recorder->write, record));
        }
    }
    for (int i = 0; i < ALL; i++) {
        Py_XDECREF(parts[i]);
    }
    Py_XDECREF(record);
    return done;
}

static PyObject *
rows_record_renamed(NodeRows *self, PyObject *args)
{
    PyObject *node, *recorder;
    RecorderParts parts;
    if (!PyArg_ParseTuple(args, "OO:record_renamed", &recorder, &node)
        || parts_open(self, recorder, &parts) < 0) {
        return NULL;
    }
    PyObject *users = PyObject_GetAttr(node, ID(users));
    PyObject *all = users == NULL ? NULL : PySequence_Tuple(users);
    int done = all == NULL ? -1 : record_renamed(self, &parts, node);
    for (Py_ssize_t i = 0; done == 0 && i < PyTuple_GET_SIZE(all); i++) {
        done = record_renamed(self, &parts, PyTuple_GET_ITEM(all, i));
    }
    Py_XDECREF(users);
    Py_XDECREF(all);
    parts_close(&parts);
    if (done < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
rows_rank(NodeRows *self, PyObject *node)
{
    double rank;
    if (self->metas == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "__init__ of NodeRows was not called");
        return NULL;
    }
    return node_record_rank(self, node, &rank) < 0 ? NULL : PyFloat_FromDouble(rank);
}

static PyObject *
rows_forget(NodeRows *self, PyObject *Py_UNUSED(ignored))
{
    if (self->metas != NULL) {
        PyDict_Clear(self->marks.graphs);
        PyDict_Clear(self->marks.known);
        PyDict_Clear(self->marks.inserted);
        PyDict_Clear(self->targets);
        PyDict_Clear(self->metas);
        if (PyList_SetSlice(self->marks.removed, 0, PY_SSIZE_T_MAX, NULL) < 0) {
            return NULL;
        }
    }
    self->marks.changed = 0;
    Py_RETURN_NONE;
}

/* --- the type */

static int
rows_init(NodeRows *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"record",  "replace", "kind",        "node", "argument",
                            "called",  "meta",    "source",      "fake", "fake_device",
                            "strided", "modes",   "tensor_meta", NULL};
    PyObject *given[GIVEN];
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOUO!OOOOOUOOO:NodeRows", names, &given[RECORD],
                                     &given[REPLACE], &given[KIND], &PyType_Type, &given[NODE],
                                     &given[ARGUMENT], &given[CALLED], &given[META], &given[SOURCE],
                                     &given[FAKE], &given[FAKE_DEVICE], &given[STRIDED],
                                     &given[MODES], &given[TENSOR_META])
        || node_marks_begin(&self->marks) < 0) {
        return -1;
    }
    for (int i = 0; i < GIVEN; i++) {
        self->given[i] = Py_NewRef(given[i]);
    }
    PyUnicode_InternInPlace(&self->given[FAKE_DEVICE]); /* the name of a field */
    if ((self->targets = PyDict_New()) == NULL) {
        return -1;
    }
    self->metas = PyDict_New();
    return self->metas == NULL ? -1 : 0;
}

static int
rows_traverse(NodeRows *self, visitproc visit, void *arg)
{
    for (int i = 0; i < GIVEN; i++) {
        Py_VISIT(self->given[i]);
    }
    Py_VISIT(self->targets);
    Py_VISIT(self->metas);
    return node_marks_traverse(&self->marks, visit, arg);
}

static int
rows_clear(NodeRows *self)
{
    Py_CLEAR(self->metas); /* from here on nothing is done */
    Py_CLEAR(self->targets);
    for (int i = 0; i < GIVEN; i++) {
        Py_CLEAR(self->given[i]);
    }
    return node_marks_clear(&self->marks);
}

static void
rows_dealloc(NodeRows *self)
{
    PyObject_GC_UnTrack(self);
    rows_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef methods[] = {
    {"record_inserted", (PyCFunction)rows_record_inserted, METH_VARARGS, NULL},
    {"record_removed", (PyCFunction)rows_record_removed, METH_O, NULL},
    {"record_renamed", (PyCFunction)rows_record_renamed, METH_VARARGS, NULL},
    {"rank", (PyCFunction)rows_rank, METH_O, NULL},
    {"forget", (PyCFunction)rows_forget, METH_NOARGS, NULL},
    {NULL},
};

PyTypeObject NodeRows_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "stepper._C.NodeRows",
    .tp_doc = PyDoc_STR("Reports the nodes of an FX graph that came and went."),
    .tp_base = &NodeMarks_Type,
    .tp_basicsize = sizeof(NodeRows),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)rows_init,
    .tp_dealloc = (destructor)rows_dealloc,
    .tp_traverse = (traverseproc)rows_traverse,
    .tp_clear = (inquiry)rows_clear,
    .tp_methods = methods,
};
