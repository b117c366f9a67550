/* Trackers that hold others: sequences, mappings, sets, ranges and slices, cells. */

#include "describe/describing.h"

/* The type that trackers of a kind stand for, or their class; borrowed. */
static PyObject *
type_of(PyObject *kind)
{
    PyObject *type = PyTuple_GET_ITEM(kind, 2);
    return PyUnicode_GET_LENGTH(type) > 0 ? type : PyTuple_GET_ITEM(kind, 1);
}

/* How a container of this many is called: what all of its class stand for, or its type. */
static PyObject *
text_of(PyObject *kind, Py_ssize_t length)
{
    PyObject *builtin = PyTuple_GET_ITEM(kind, 3);
    return PyUnicode_GET_LENGTH(builtin) > 0
               ? Py_NewRef(builtin)
               : PyUnicode_FromFormat("%U of %zd", type_of(kind), length);
}

static int
is_tracker(Facts *self, PyObject *value)
{
    return value != NULL && PyType_IsSubtype(Py_TYPE(value), self->base);
}

static int
sequence(PyObject *tracker, PyObject *kind, PyObject *items, Contents *found)
{
    found->length = PySequence_Fast_GET_SIZE(items);
    for (Py_ssize_t i = 0; i < found->length && i < MAX_ITEMS; i++) {
        children_add(&found->children, NULL, i, PySequence_Fast_GET_ITEM(items, i));
    }
    PyObject *index = tracker_field(tracker, ID(index));
    if (index != NULL && PyLong_CheckExact(index)) {
        found->position = PyLong_AsLongLong(index);
    }
    found->text = PyUnicode_FromFormat("%U of %zd", type_of(kind), found->length);
    return found->text == NULL ? -1 : 1;
}

static int
mapping(Facts *self, PyObject *kind, PyObject *items, Contents *found)
{
    found->length = PyDict_GET_SIZE(items);
    if (children_add_items(self, &found->children, items) < 0) {
        return -1;
    }
    found->text = text_of(kind, found->length);
    return found->text == NULL ? -1 : 1;
}

/* Its keys stand for the elements, which are trackers in their field `vt`. */
static int
set(Facts *self, PyObject *kind, PyObject *items, Contents *found)
{
    Children *children = &found->children;
    PyObject *key, *value;
    Py_ssize_t position = 0, count = 0;
    while (children->count < MAX_ITEMS && PyDict_Next(items, &position, &key, &value)) {
        children_add(children, NULL, children->count, key);
    }
    found->length = PyDict_GET_SIZE(items);
    for (Py_ssize_t i = 0; i < children->count; i++) {
        Child child = children->items[i];
        PyObject *element = fields_plain_attribute(child.tracker, ID(vt));
        PyErr_Clear();
        if (is_tracker(self, element)) {
            PyObject *label = PyUnicode_FromFormat("{%zd}", child.index);
            if (label == NULL) {
                Py_DECREF(element);
                return -1;
            }
            children->items[i] = children->items[count];
            children->items[count++] = (Child){.label = label, .tracker = element, .whole = 1};
            Py_DECREF(child.tracker);
        }
        else {
            Py_XDECREF(element);
        }
    }
    while (children->count > count) {
        Py_DECREF(children->items[--children->count].tracker);
    }
    found->text = text_of(kind, found->length);
    return found->text == NULL ? -1 : 1;
}

/* A range or a slice. */
static int
parts(Facts *self, PyObject *kind, PyObject *items, Contents *found)
{
    PyObject *const names[] = {ID(start), ID(stop), ID(step)};
    for (Py_ssize_t i = 0; i < 3 && i < PySequence_Fast_GET_SIZE(items); i++) {
        PyObject *part = PySequence_Fast_GET_ITEM(items, i);
        if (is_tracker(self, part)) {
            children_add(&found->children, names[i], 0, part);
        }
    }
    found->text = Py_NewRef(type_of(kind));
    return 1;
}

static int
cell(Facts *self, PyObject *tracker, Contents *found)
{
    PyObject *contents = tracker_field(tracker, ID(pre_existing_contents));
    PyObject *name = tracker_field(tracker, ID(local_name));
    if (is_tracker(self, contents)) {
        children_add(&found->children, ID(cell_contents), 0, contents);
    }
    int is_named = name != NULL && PyUnicode_CheckExact(name) && PyUnicode_GET_LENGTH(name) > 0;
    found->text = Py_NewRef(is_named ? name : ID(cell));
    return 1;
}

int
container_kinds_contents(Facts *self, PyObject *tracker, PyObject *kind, int recipe,
                         Contents *found)
{
    PyObject *items = recipe == AS_CELL ? NULL : tracker_field(tracker, ID(items));
    int is_list = items != NULL && (PyList_CheckExact(items) || PyTuple_CheckExact(items));
    int is_dict = items != NULL && PyDict_CheckExact(items);
    int done = recipe == AS_CELL                  ? cell(self, tracker, found)
               : recipe == AS_SEQUENCE && is_list ? sequence(tracker, kind, items, found)
               : recipe == AS_PARTS && is_list    ? parts(self, kind, items, found)
               : recipe == AS_MAPPING && is_dict  ? mapping(self, kind, items, found)
               : recipe == AS_SET && is_dict      ? set(self, kind, items, found)
                                                  : 0;
    if (done == 1) {
        found->type = Py_NewRef(recipe == AS_PARTS ? found->text : PyTuple_GET_ITEM(kind, 2));
    }
    return done;
}

void
container_kinds_add_pending(Facts *self, Contents *found, int recipe, PyObject *attributes)
{
    Children *children = &found->children;
    if (recipe != AS_CELL || PyDict_GET_SIZE(attributes) == 0) {
        children_add_attributes(self, children, attributes);
        return;
    }
    /* What was stored in a cell last is what it holds. */
    children_release(children);
    children_add_attributes(self, children, attributes);
    if (children->count > 1) {
        Child last = children->items[children->count - 1];
        children->count--;
        children_release(children);
        children->items[children->count++] = last;
    }
}
