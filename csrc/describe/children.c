/* The trackers inside of a tracker: found, labelled, numbered, packed. */

#include "describe/describing.h"

/* --- small parts */

/* --- children */

void
children_add(Children *children, PyObject *label, Py_ssize_t index, PyObject *tracker)
{
    if (children->count < 2 * MAX_ITEMS) {
        children->items[children->count++] = (Child){Py_XNewRef(label), Py_NewRef(tracker), index,
                                                     0, 0};
    }
}

void
children_release(Children *children)
{
    while (children->count > 0) {
        Child *child = &children->items[--children->count];
        Py_XDECREF(child->label);
        Py_DECREF(child->tracker);
    }
}

/* Whether a tracker keeps another in this field that says nothing more of it: it is made when it is
   first needed. */
static int
is_kept(PyObject *name)
{
    return PyUnicode_Compare(name, ID(annotations)) == 0
           || PyUnicode_Compare(name, ID(dict_vt)) == 0;
}

void
children_add_fields(Facts *self, Children *children, PyObject *tracker)
{
    PyObject *name, *value;
    Py_ssize_t position = 0;
    while (fields_next(tracker, &position, &name, &value)) {
        if (PyType_IsSubtype(Py_TYPE(value), self->base) && !is_kept(name)) {
            children_add(children, name, 0, value);
        }
    }
}

void
children_add_attributes(Facts *self, Children *children, PyObject *attributes)
{
    PyObject *name, *value;
    Py_ssize_t position = 0, limit = MAX_ITEMS;
    while (limit-- > 0 && PyDict_Next(attributes, &position, &name, &value)) {
        if (PyType_IsSubtype(Py_TYPE(value), self->base)) {
            children_add(children, name, 0, value);
        }
    }
}

int
children_number(Children *children, Numbering numbering, void *context)
{
    for (Py_ssize_t i = 0; i < children->count; i++) {
        if ((children->items[i].number = numbering(context, children->items[i].tracker)) == 0) {
            return -1;
        }
    }
    return 0;
}

/* A name with a dot before it, without a text for both. */
static int
pack_dotted(Buffer *out, PyObject *name)
{
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(name, &size);
    if (text == NULL || size > 30) {
        PyErr_Clear();
        PyObject *label = PyUnicode_FromFormat(".%U", name);
        int done = label == NULL ? -1 : pack_text(out, label);
        Py_XDECREF(label);
        return done;
    }
    return pack_head(out, (unsigned char)(0xa1 + size), 0, 0) < 0 || pack_raw(out, ".", 1) < 0
                   || pack_raw(out, text, (size_t)size) < 0
               ? -1
               : 0;
}

static int
pack_label(Buffer *out, Child *child)
{
    if (child->label == NULL) {
        char text[32];
        int size = snprintf(text, sizeof text, "[%zd]", child->index);
        return pack_head(out, (unsigned char)(0xa0 | size), 0, 0) < 0
                       || pack_raw(out, text, (size_t)size) < 0
                   ? -1
                   : 0;
    }
    return child->whole ? pack_text(out, child->label) : pack_dotted(out, child->label);
}

int
children_pack(Buffer *out, Children *children)
{
    int done = pack_array(out, (size_t)children->count);
    for (Py_ssize_t i = 0; done == 0 && i < children->count; i++) {
        Child *child = &children->items[i];
        done = pack_array(out, 2) < 0 || pack_label(out, child) < 0
                       || pack_uint(out, child->number) < 0
                   ? -1
                   : 0;
    }
    return done;
}

/* --- mappings */

/* The label of a mapping's key, `['name']`; most are short texts, the others are the engine's. */
static PyObject *
key_label(Facts *self, PyObject *key)
{
    PyObject *tracker = fields_plain_attribute(key, ID(vt)), *label = NULL;
    if (tracker == NULL) {
        PyErr_Clear();
    }
    else {
        PyObject *kind = facts_ask_once(self, self->kinds, ID(kind), Py_TYPE(tracker));
        if (kind != NULL && PyLong_AsLong(PyTuple_GET_ITEM(kind, 0)) == AS_CONSTANT) {
            PyObject *value = tracker_field(tracker, ID(value));
            if (value != NULL && PyUnicode_CheckExact(value)
                && PyUnicode_GET_LENGTH(value) <= MAX_TEXT) {
                label = PyUnicode_FromFormat("[%R]", value);
            }
        }
        Py_DECREF(tracker);
    }
    if (label == NULL && !PyErr_Occurred()) {
        PyObject *text = PyObject_CallMethodOneArg(self->engine, ID(key_text), key);
        label = text == NULL || !PyUnicode_Check(text) ? NULL : PyUnicode_FromFormat("[%U]", text);
        Py_XDECREF(text);
    }
    return label;
}

int
children_add_items(Facts *self, Children *children, PyObject *items)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (children->count < MAX_ITEMS && PyDict_Next(items, &position, &key, &value)) {
        if (PyType_IsSubtype(Py_TYPE(value), self->base)) {
            children_add(children, key, 0, value);
        }
    }
    for (Py_ssize_t i = 0; i < children->count; i++) {
        Child *child = &children->items[i];
        PyObject *label = key_label(self, child->label);
        if (label == NULL) {
            return -1;
        }
        Py_SETREF(child->label, label);
        child->whole = 1;
    }
    return 0;
}
