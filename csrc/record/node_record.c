/* What is recorded of one FX node.

   A node is looked at in the midst of the compiler. There the caches are cold, and what counts is
   how many functions and objects are touched: fifteen functions of Python for each node were a
   seventh of all that a recording costs. Here nearly all of it is read at once. What is rare (an
   example value that is no tensor, or has symbols; where an input comes from) is put in words by
   functions of Python, and what is common to many nodes (what they call, the properties of their
   tensors) once. */

#include "record/node_rows.h"

#include "describe/node_words.h"
#include "support/fields.h"
#include "support/names.h"
#include "support/shorten.h"

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
neighbour(NodeRows *self, PyObject *node, PyObject *direction, PyObject **found, double *rank)
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

int
node_record_rank(NodeRows *self, PyObject *node, double *rank)
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
graph_name(NodeRows *self, PyObject *node)
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
target_words(NodeRows *self, PyObject *target)
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

PyObject *
node_record_target(NodeRows *self, PyObject *node)
{
    PyObject *target = PyObject_GetAttr(node, ID(target));
    PyObject *words = target == NULL ? NULL : target_words(self, target);
    Py_XDECREF(target);
    return words;
}

PyObject *
node_record_arguments(NodeRows *self, PyObject *node)
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

PyObject *
node_record_inputs(PyObject *node)
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
source_of(NodeRows *self, PyObject *node)
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
device_of(NodeRows *self, PyObject *value)
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
fake_properties(NodeRows *self, PyObject *value)
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
fake_meta(NodeRows *self, PyObject *value)
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
describe_value(NodeRows *self, PyObject *node, PyObject **meta, PyObject **text)
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

PyObject *
node_record_number(PyObject *ids)
{
    PyObject *number = NULL;
    if (PyIter_Check(ids) && (number = PyIter_Next(ids)) == NULL && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_RuntimeError, "no numbers are left for nodes");
    }
    else if (!PyIter_Check(ids)) {
        PyErr_SetString(PyExc_TypeError, "the numbers of nodes come from an iterator");
    }
    return number;
}

PyObject *
node_record(NodeRows *self, const Steps *steps, PyObject *attempt, PyObject *ids, PyObject *node)
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
    PyObject *fields[ALL] = {NULL}, *record = NULL;
    double rank;
    if (describe_value(self, node, &fields[TENSOR], &fields[TEXT]) == 0
        && node_record_rank(self, node, &rank) == 0
        && (fields[GRAPH] = graph_name(self, node)) != NULL
        && (fields[RANK] = PyFloat_FromDouble(rank)) != NULL
        && (fields[NAME] = PyObject_GetAttr(node, ID(name))) != NULL
        && (fields[OP] = PyObject_GetAttr(node, ID(op))) != NULL
        && (fields[TARGET] = node_record_target(self, node)) != NULL
        && (fields[ARGS] = node_record_arguments(self, node)) != NULL
        && (fields[INPUTS] = node_record_inputs(node)) != NULL
        && (fields[FROM] = source_of(self, node)) != NULL
        && (fields[MOMENT] = PyLong_FromLongLong(steps->moment)) != NULL
        && (fields[ID] = node_record_number(ids)) != NULL) {
        fields[ATTEMPT] = Py_NewRef(attempt);
        record = PyObject_Vectorcall(self->given[RECORD], fields, ALL, NULL);
    }
    for (int i = 0; i < ALL; i++) {
        Py_XDECREF(fields[i]);
    }
    return record;
}
