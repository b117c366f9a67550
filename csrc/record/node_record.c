/* What is recorded of one FX node.

   A node is looked at in the midst of the compiler. There the caches are cold, and what counts is
   how many functions and objects are touched: fifteen functions of Python for each node were a
   seventh of all that a recording costs. Here nearly all of it is read at once. What is rare (an
   example value that is no tensor, or has symbols; where an input comes from) is put in words by
   functions of Python, and what is common to many nodes (what they call, the properties of their
   tensors) once. */

#include "record/node_record.h"

#include "record/steps.h"

#include "describe/node_words.h"
#include "support/collected.h"
#include "support/fields.h"
#include "support/names.h"
#include "support/shorten.h"

/* What a NodeRecords is given, in the order of the parameters of __init__ in stepper/_C.pyi. */
enum {
    RECORD,
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
    PyObject *metas;   /* TensorMeta by what it says, as arguments of TENSOR_META */
    PyObject *targets; /* what was called, by id: itself and in words */
    PyObject *given[GIVEN];
} NodeRecords;

enum { MAX_ARGUMENTS = 400 }; /* characters of a node's arguments as text */

/* Between the ranks of two nodes that came one after the other. */
static const double STEP = 1024.0;
/* Between the inputs and the rest: each input that is lifted later goes behind the last one. */
static const double GAP = 1073741824.0;

/* --- where it is */

static int
is_text(PyObject *object, const char *text)
{
    return PyUnicode_Check(object) && PyUnicode_CompareWithASCIIString(object, text) == 0;
}

/* The next node in a direction that was reported, a new reference: 1, with its rank; 0: there is
   none, and this is the graph's root; -1: an exception. */
static int
neighbour(NodeRecords *self, PyObject *node, PyObject *direction, PyObject **found, double *rank)
{
    PyObject *at = PyObject_GetAttr(node, direction);
    int known = -1;
    while (at != NULL) {
        PyObject *record = Py_XNewRef(PyDict_GetItemWithError(self->marks.known, at));
        if (record != NULL) {
            PyObject *number = PyObject_GetAttr(record, ID(rank));
            Py_DECREF(record);
            *rank = number == NULL ? -1.0 : PyFloat_AsDouble(number);
            Py_XDECREF(number);
            known = PyErr_Occurred() ? -1 : 1;
            break;
        }
        PyObject *op = PyErr_Occurred() ? NULL : PyObject_GetAttr(at, ID(op));
        int root = op == NULL ? -1 : is_text(op, "root") || at == node;
        Py_XDECREF(op);
        if (root != 0) {
            known = root < 0 ? -1 : 0;
            break;
        }
        Py_SETREF(at, PyObject_GetAttr(at, direction));
    }
    if (known < 0) {
        Py_CLEAR(at);
    }
    *found = at;
    return known;
}

static int
is_placeholder(PyObject *node)
{
    PyObject *op = PyObject_GetAttr(node, ID(op));
    int is = op == NULL ? -1 : is_text(op, "placeholder");
    Py_XDECREF(op);
    return is;
}

static int
rank_of(NodeRecords *self, PyObject *node, double *rank)
{
    PyObject *before = NULL, *after = NULL;
    double low = 0.0, high = 0.0;
    int has_low = neighbour(self, node, ID(_prev), &before, &low);
    int has_high = has_low < 0 ? -1 : neighbour(self, node, ID(_next), &after, &high);
    int done = has_high < 0 ? -1 : 0;
    if (done == 0 && !has_low) {
        *rank = has_high ? high - STEP : 0.0;
    }
    else if (done == 0 && has_high) {
        /* Not halfway: a float can be halved no more often than a model has parameters. */
        *rank = low + 1.0 < high ? low + 1.0 : (low + high) / 2;
    }
    else if (done == 0) {
        int left = is_placeholder(before), right = left < 0 ? -1 : is_placeholder(node);
        *rank = low + (left == right ? STEP : GAP);
        done = right < 0 ? -1 : 0;
    }
    Py_XDECREF(before);
    Py_XDECREF(after);
    return done;
}

/* How its graph is called: the second of what is held of it. */
static PyObject *
graph_name(NodeRecords *self, PyObject *node)
{
    PyObject *graph = PyObject_GetAttr(node, ID(graph));
    PyObject *id = graph == NULL ? NULL : PyLong_FromVoidPtr(graph);
    PyObject *held = id == NULL ? NULL : PyDict_GetItemWithError(self->marks.graphs, id);
    PyObject *name = NULL;
    if (held != NULL && PyTuple_Check(held) && PyTuple_GET_SIZE(held) == 2) {
        name = Py_NewRef(PyTuple_GET_ITEM(held, 1));
    }
    else if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_KeyError, "a node of a graph that is not held with its name");
    }
    Py_XDECREF(id);
    Py_XDECREF(graph);
    return name;
}

/* --- what it says */

static PyObject *
target_words(NodeRecords *self, PyObject *target)
{
    if (PyUnicode_CheckExact(target)) {
        return Py_NewRef(target);
    }
    /* The target is held: its id must not come to mean another one. */
    PyObject *id = PyLong_FromVoidPtr(target), *words = NULL;
    PyObject *held = id == NULL ? NULL : PyDict_GetItemWithError(self->targets, id);
    if (held != NULL) {
        words = Py_NewRef(PyTuple_GET_ITEM(held, 1));
    }
    else if (!PyErr_Occurred()) {
        words = PyObject_CallOneArg(self->given[CALLED], target);
        PyObject *pair = words == NULL ? NULL : PyTuple_Pack(2, target, words);
        if (pair == NULL || PyDict_SetItem(self->targets, id, pair) < 0) {
            Py_CLEAR(words);
        }
        Py_XDECREF(pair);
    }
    Py_XDECREF(id);
    return words;
}

static PyObject *
target_of(NodeRecords *self, PyObject *node)
{
    PyObject *target = PyObject_GetAttr(node, ID(target));
    PyObject *words = target == NULL ? NULL : target_words(self, target);
    Py_XDECREF(target);
    return words;
}

static PyObject *
arguments_of(NodeRecords *self, PyObject *node)
{
    PyObject *positional = PyObject_GetAttr(node, ID(_args)), *text = NULL;
    PyObject *named = positional == NULL ? NULL : PyObject_GetAttr(node, ID(_kwargs));
    if (named != NULL && PyTuple_Check(positional) && PyDict_Check(named)) {
        text = node_words(positional, named, (PyTypeObject *)self->given[NODE],
                          self->given[ARGUMENT]);
    }
    else if (named != NULL) {
        PyErr_SetString(PyExc_TypeError, "the arguments of a node are a tuple and a dict");
    }
    Py_XDECREF(positional);
    Py_XDECREF(named);
    return text == NULL ? NULL : shorten(text, MAX_ARGUMENTS);
}

static PyObject *
inputs_of(PyObject *node)
{
    PyObject *nodes = PyObject_GetAttr(node, ID(_input_nodes));
    PyObject *all = nodes == NULL ? NULL : PySequence_Tuple(nodes);
    PyObject *names = all == NULL ? NULL : PyTuple_New(PyTuple_GET_SIZE(all));
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(all); i++) {
        PyObject *name = PyObject_GetAttr(PyTuple_GET_ITEM(all, i), ID(name));
        if (name == NULL) {
            Py_CLEAR(names);
        }
        else {
            PyTuple_SET_ITEM(names, i, name);
        }
    }
    Py_XDECREF(all);
    Py_XDECREF(nodes);
    return names;
}

static PyObject *
source_of(NodeRecords *self, PyObject *node)
{
    int is = is_placeholder(node);
    return is < 0 ? NULL
           : is   ? PyObject_CallOneArg(self->given[SOURCE], node)
                  : Py_NewRef(ID(empty));
}

/* --- its example value */

/* The value that Dynamo computed for it, or None; a new reference. */
static PyObject *
example_of(PyObject *node)
{
    PyObject *meta = PyObject_GetAttr(node, ID(meta)), *value = NULL;
    if (meta != NULL && !PyDict_Check(meta)) {
        PyErr_SetString(PyExc_TypeError, "what is known of a node is no dict");
    }
    else if (meta != NULL) {
        value = PyDict_GetItemWithError(meta, ID(example_value));
        if (value == NULL && !PyErr_Occurred()) {
            value = PyDict_GetItemWithError(meta, ID(val));
        }
        value = value != NULL ? Py_NewRef(value) : PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    Py_XDECREF(meta);
    return value;
}

static int
are_numbers(PyObject *sizes)
{
    int numbers = PyTuple_Check(sizes);
    for (Py_ssize_t i = 0; numbers && i < PyTuple_GET_SIZE(sizes); i++) {
        numbers = PyLong_CheckExact(PyTuple_GET_ITEM(sizes, i));
    }
    return numbers;
}

/* Where a fake tensor claims to be. FakeTensor.device, a property, says "meta" while torch runs a
   kernel on it, and a node can be told in the midst of one. */
static PyObject *
device_of(NodeRecords *self, PyObject *value)
{
    PyObject *device = fields_get(value, self->given[FAKE_DEVICE]);
    if (device == NULL && !PyErr_Occurred()) {
        return PyObject_GetAttr(value, ID(device));
    }
    return Py_XNewRef(device);
}

/* The properties of a fake tensor as arguments of TENSOR_META; NULL without an exception: they are
   not as plain as that. */
static PyObject *
fake_properties(NodeRecords *self, PyObject *value)
{
    /* A mode would be told of each property that is read. Nobody else is: the class of fake tensors
       has no function of torch's protocol. */
    PyObject *modes = PyObject_CallNoArgs(self->given[MODES]);
    Py_XDECREF(modes);
    if (modes != Py_False) {
        return NULL;
    }
    PyObject *layout = PyObject_GetAttr(value, ID(layout)), *made = NULL;
    PyObject *shape = layout == NULL ? NULL : PyObject_GetAttr(value, ID(shape));
    int strided = layout == self->given[STRIDED];
    PyObject *stride = shape == NULL ? NULL
                       : strided     ? PyObject_CallMethodNoArgs(value, ID(stride))
                                     : Py_NewRef(Py_None);
    if (stride != NULL && are_numbers(shape) && (!strided || are_numbers(stride))) {
        PyObject *dtype = PyObject_GetAttr(value, ID(dtype));
        PyObject *device = dtype == NULL ? NULL : device_of(self, value);
        PyObject *grad = device == NULL ? NULL : PyObject_GetAttr(value, ID(requires_grad));
        if (grad != NULL) {
            made = PyTuple_Pack(7, dtype, shape, stride, device, grad, layout, ID(empty));
        }
        Py_XDECREF(dtype);
        Py_XDECREF(device);
        Py_XDECREF(grad);
    }
    Py_XDECREF(layout);
    Py_XDECREF(shape);
    Py_XDECREF(stride);
    return made;
}

/* The TensorMeta of a fake tensor; NULL without an exception: see above. */
static PyObject *
fake_meta(NodeRecords *self, PyObject *value)
{
    PyObject *properties = fake_properties(self, value);
    if (properties == NULL) {
        return NULL;
    }
    PyObject *meta = Py_XNewRef(PyDict_GetItemWithError(self->metas, properties));
    if (meta == NULL && !PyErr_Occurred()) {
        meta = PyObject_CallObject(self->given[TENSOR_META], properties);
        if (meta != NULL && PyDict_SetItem(self->metas, properties, meta) < 0) {
            Py_CLEAR(meta);
        }
    }
    Py_DECREF(properties);
    return meta;
}

/* Its value as a TensorMeta and in words: one of the two, new references; -1 with an exception. */
static int
describe_value(NodeRecords *self, PyObject *node, PyObject **meta, PyObject **text)
{
    PyObject *value = example_of(node), *both = NULL;
    if (value != NULL && value == Py_None) {
        *meta = Py_NewRef(Py_None);
    }
    else if (value != NULL && (PyObject *)Py_TYPE(value) == self->given[FAKE]) {
        *meta = fake_meta(self, value);
    }
    if (*meta != NULL) {
        *text = Py_NewRef(ID(empty));
    }
    else if (value != NULL && !PyErr_Occurred()) {
        both = PyObject_CallOneArg(self->given[META], value);
        if (both != NULL && PyTuple_Check(both) && PyTuple_GET_SIZE(both) == 2) {
            *meta = Py_NewRef(PyTuple_GET_ITEM(both, 0));
            *text = Py_NewRef(PyTuple_GET_ITEM(both, 1));
        }
        else if (both != NULL) {
            PyErr_SetString(PyExc_TypeError, "an example value is a TensorMeta and its words");
        }
    }
    Py_XDECREF(both);
    Py_XDECREF(value);
    return *text == NULL ? -1 : 0;
}

/* --- all of it */

static int
is_made(const NodeRecords *self)
{
    if (self->metas == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "__init__ of NodeRecords was not called");
    }
    return self->metas != NULL;
}

static PyObject *
records_record(NodeRecords *self, PyObject *const *args, Py_ssize_t count)
{
    /* In the order of stepper.model.trace.Node. */
    enum {
        ID,
        ATTEMPT,
        MOMENT,
        GRAPH,
        RANK,
        NAME,
        OP,
        TARGET,
        ARGS,
        INPUTS,
        TENSOR,
        TEXT,
        FROM,
        ALL
    };
    if (count != 4) {
        return PyErr_Format(PyExc_TypeError, "record(node, id, attempt, moment)");
    }
    if (!is_made(self)) {
        return NULL;
    }
    PyObject *node = args[0], *fields[ALL] = {NULL}, *record = NULL;
    double rank;
    if (describe_value(self, node, &fields[TENSOR], &fields[TEXT]) == 0
        && rank_of(self, node, &rank) == 0 && (fields[GRAPH] = graph_name(self, node)) != NULL
        && (fields[RANK] = PyFloat_FromDouble(rank)) != NULL
        && (fields[NAME] = PyObject_GetAttr(node, ID(name))) != NULL
        && (fields[OP] = PyObject_GetAttr(node, ID(op))) != NULL
        && (fields[TARGET] = target_of(self, node)) != NULL
        && (fields[ARGS] = arguments_of(self, node)) != NULL
        && (fields[INPUTS] = inputs_of(node)) != NULL
        && (fields[FROM] = source_of(self, node)) != NULL) {
        fields[ID] = Py_NewRef(args[1]);
        fields[ATTEMPT] = Py_NewRef(args[2]);
        fields[MOMENT] = Py_NewRef(args[3]);
        record = PyObject_Vectorcall(self->given[RECORD], fields, ALL, NULL);
    }
    for (int i = 0; i < ALL; i++) {
        Py_XDECREF(fields[i]);
    }
    return record;
}

static PyObject *
records_target(NodeRecords *self, PyObject *node)
{
    return is_made(self) ? target_of(self, node) : NULL;
}

static PyObject *
records_arguments(NodeRecords *self, PyObject *node)
{
    return is_made(self) ? arguments_of(self, node) : NULL;
}

static PyObject *
records_rank(NodeRecords *self, PyObject *node)
{
    double rank;
    return is_made(self) && rank_of(self, node, &rank) == 0 ? PyFloat_FromDouble(rank) : NULL;
}

static PyObject *
records_forget(NodeRecords *self, PyObject *Py_UNUSED(ignored))
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
records_init(NodeRecords *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"record", "node",        "argument", "called", "meta",        "source",
                            "fake",   "fake_device", "strided",  "modes",  "tensor_meta", NULL};
    PyObject *given[GIVEN];
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "OO!OOOOOUOOO:NodeRecords", names, &given[RECORD], &PyType_Type,
            &given[NODE], &given[ARGUMENT], &given[CALLED], &given[META], &given[SOURCE],
            &given[FAKE], &given[FAKE_DEVICE], &given[STRIDED], &given[MODES], &given[TENSOR_META])
        || node_marks_begin(&self->marks) < 0) {
        return -1;
    }
    collected_set(self->given, GIVEN, given);
    PyUnicode_InternInPlace(&self->given[FAKE_DEVICE]); /* the name of a field */
    if ((self->targets = PyDict_New()) == NULL) {
        return -1;
    }
    self->metas = PyDict_New();
    return self->metas == NULL ? -1 : 0;
}

static int
records_traverse(NodeRecords *self, visitproc visit, void *arg)
{
    int found = collected_visit(&self->metas, GIVEN + 2, visit, arg);
    return found != 0 ? found
                      : collected_visit(COLLECTED_FIELDS(self), NODE_MARKS_OBJECTS, visit, arg);
}

static int
records_clear(NodeRecords *self)
{
    collected_clear(&self->metas, GIVEN + 2); /* from the first on nothing is done */
    collected_clear(COLLECTED_FIELDS(self), NODE_MARKS_OBJECTS);
    return 0;
}

static void
records_dealloc(NodeRecords *self)
{
    PyObject_GC_UnTrack(self);
    records_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef methods[] = {
    METHOD("record", records_record, METH_FASTCALL), METHOD("target", records_target, METH_O),
    METHOD("arguments", records_arguments, METH_O),  METHOD("rank", records_rank, METH_O),
    METHOD("forget", records_forget, METH_NOARGS),   {NULL},
};

PyTypeObject NodeRecords_Type = {
    TYPE(NodeRecords),
    .tp_base = &NodeMarks_Type,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)records_init,
    COLLECTED_SLOTS(records),
    .tp_methods = methods,
};
