/* Trackers that hold others: sequences, mappings, sets, ranges and slices, cells. */

#include "describing.h"

#include "fields.h"
#include "names.h"

static PyObject *str_pre_existing_contents, *str_local_name, *str_cell_contents, *text_cell;
static PyObject *part_names[3];

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
        add_child(&found->children, NULL, i, PySequence_Fast_GET_ITEM(items, i));
    }
    PyObject *index = field(tracker, str_index);
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
    if (add_items(self, &found->children, items) < 0) {
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
        add_child(children, NULL, children->count, key);
    }
    found->length = PyDict_GET_SIZE(items);
    for (Py_ssize_t i = 0; i < children->count; i++) {
        Child child = children->items[i];
        PyObject *element = stepper_plain_attribute(child.tracker, str_vt);
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
    for (Py_ssize_t i = 0; i < 3 && i < PySequence_Fast_GET_SIZE(items); i++) {
        PyObject *part = PySequence_Fast_GET_ITEM(items, i);
        if (is_tracker(self, part)) {
            add_child(&found->children, part_names[i], 0, part);
        }
    }
    found->text = Py_NewRef(type_of(kind));
    return 1;
}

static int
cell(Facts *self, PyObject *tracker, Contents *found)
{
    PyObject *contents = field(tracker, str_pre_existing_contents);
    PyObject *name = field(tracker, str_local_name);
    if (is_tracker(self, contents)) {
        add_child(&found->children, str_cell_contents, 0, contents);
    }
    int is_named = name != NULL && PyUnicode_CheckExact(name) && PyUnicode_GET_LENGTH(name) > 0;
    found->text = Py_NewRef(is_named ? name : text_cell);
    return 1;
}

int
contents_of(Facts *self, PyObject *tracker, PyObject *kind, int recipe, Contents *found)
{
    PyObject *items = recipe == CELL ? NULL : field(tracker, str_items);
    int is_list = items != NULL && (PyList_CheckExact(items) || PyTuple_CheckExact(items));
    int is_dict = items != NULL && PyDict_CheckExact(items);
    int done = recipe == CELL                  ? cell(self, tracker, found)
               : recipe == SEQUENCE && is_list ? sequence(tracker, kind, items, found)
               : recipe == PARTS && is_list    ? parts(self, kind, items, found)
               : recipe == MAPPING && is_dict  ? mapping(self, kind, items, found)
               : recipe == SET && is_dict      ? set(self, kind, items, found)
                                               : 0;
    if (done == 1) {
        found->type = Py_NewRef(recipe == PARTS ? found->text : PyTuple_GET_ITEM(kind, 2));
    }
    return done;
}

void
add_pending(Facts *self, Contents *found, int recipe, PyObject *attributes)
{
    Children *children = &found->children;
    if (recipe != CELL || PyDict_GET_SIZE(attributes) == 0) {
        add_attributes(self, children, attributes);
        return;
    }
    /* What was stored in a cell last is what it holds. */
    release_children(children);
    add_attributes(self, children, attributes);
    if (children->count > 1) {
        Child last = children->items[children->count - 1];
        children->count--;
        release_children(children);
        children->items[children->count++] = last;
    }
}

int
container_kinds_init(void)
{
    static const Name names[] = {
        {&str_pre_existing_contents, "pre_existing_contents"}, {&str_local_name, "local_name"},
        {&str_cell_contents, "cell_contents"},                 {&text_cell, "cell"},
        {&part_names[0], "start"},                             {&part_names[1], "stop"},
        {&part_names[2], "step"},
    };
    return stepper_intern_names(names, sizeof names / sizeof *names);
}
