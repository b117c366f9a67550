/* The trackers inside of a tracker: found, labelled, numbered, packed. */

#include "describing.h"

#include "fields.h"
#include "names.h"

PyObject *str_source, *str_mutation_type, *str_cache, *str_vt, *str_items, *str_index,
    *str_name, *str_kind, *str_special, *str_mutability, *str_words, *str_attributes,
    *str_source_text, *str_realized, *str_value, *str_value_type, *str_key_text, *str_tensor,
    *str_proxy, *str_node;

static const Name names[] = {
    {&str_source, "source"},         {&str_mutation_type, "mutation_type"},
    {&str_cache, "_cache"},          {&str_vt, "vt"},
    {&str_items, "items"},           {&str_index, "index"},
    {&str_name, "name"},             {&str_kind, "kind"},
    {&str_special, "special"},       {&str_mutability, "mutability"},
    {&str_words, "words"},           {&str_attributes, "attributes"},
    {&str_source_text, "source_text"}, {&str_realized, "realized"},
    {&str_value, "value"},           {&str_key_text, "key_text"},
    {&str_value_type, "value_type"}, {&str_tensor, "tensor"},
    {&str_proxy, "proxy"},           {&str_node, "node"},
};

/* Fields that may say what a tracker stands for. */
PyObject *telling[TELLING];
static const char *const telling_names[] = {
    "value", "fn", "obj_type", "value_type", "exc_type", "code", "module_type", "user_cls",
};
/* Fields in which a tracker keeps another that says nothing more of it: it is made when it is first
   needed. */
static PyObject *kept[2];
static const char *const kept_names[] = {"annotations", "dict_vt"};

/* --- small parts */

PyObject *
field(PyObject *tracker, PyObject *name)
{
    PyObject *found = stepper_field(tracker, name);
    return found == Py_None ? NULL : found;
}

PyObject *
answer_of(Facts *self, PyObject *known, PyObject *question, PyTypeObject *type)
{
    PyObject *found = PyDict_GetItemWithError(known, (PyObject *)type);
    if (found != NULL || PyErr_Occurred()) {
        return found;
    }
    PyObject *answer = PyObject_CallMethodOneArg(self->engine, question, (PyObject *)type);
    if (answer == NULL || PyDict_SetItem(known, (PyObject *)type, answer) < 0) {
        Py_XDECREF(answer);
        return NULL;
    }
    Py_DECREF(answer);
    return answer;
}

int
pack_source(Facts *self, Buffer *out, PyObject *tracker)
{
    PyObject *source = field(tracker, str_source);
    if (source == NULL) {
        return pack_head(out, 0xa0, 0, 0);
    }
    Py_INCREF(source);
    PyObject *text = PyObject_GetAttr(source, str_name); /* most keep it once they were asked */
    if (text == NULL || !PyUnicode_Check(text)) {
        PyErr_Clear();
        Py_XSETREF(text, PyObject_CallMethodOneArg(self->engine, str_source_text, source));
    }
    Py_DECREF(source);
    int done = text == NULL ? -1 : pack_text(out, text);
    Py_XDECREF(text);
    return done;
}

/* --- children */

void
add_child(Children *children, PyObject *label, Py_ssize_t index, PyObject *tracker)
{
    if (children->count < 2 * MAX_ITEMS) {
        children->items[children->count++] =
            (Child){Py_XNewRef(label), Py_NewRef(tracker), index, 0, 0};
    }
}

void
release_children(Children *children)
{
    while (children->count > 0) {
        Child *child = &children->items[--children->count];
        Py_XDECREF(child->label);
        Py_DECREF(child->tracker);
    }
}

static int
is_kept(PyObject *name)
{
    return PyUnicode_Compare(name, kept[0]) == 0 || PyUnicode_Compare(name, kept[1]) == 0;
}

void
add_fields(Facts *self, Children *children, PyObject *tracker)
{
    PyObject *name, *value;
    Py_ssize_t position = 0;
    while (stepper_next_field(tracker, &position, &name, &value)) {
        if (PyType_IsSubtype(Py_TYPE(value), self->base) && !is_kept(name)) {
            add_child(children, name, 0, value);
        }
    }
}

void
add_attributes(Facts *self, Children *children, PyObject *attributes)
{
    PyObject *name, *value;
    Py_ssize_t position = 0, limit = MAX_ITEMS;
    while (limit-- > 0 && PyDict_Next(attributes, &position, &name, &value)) {
        if (PyType_IsSubtype(Py_TYPE(value), self->base)) {
            add_child(children, name, 0, value);
        }
    }
}

int
number_children(Children *children, Numbering numbering, void *context)
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
pack_children(Buffer *out, Children *children)
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
    PyObject *tracker = stepper_plain_attribute(key, str_vt), *label = NULL;
    if (tracker == NULL) {
        PyErr_Clear();
    }
    else {
        PyObject *kind = answer_of(self, self->kinds, str_kind, Py_TYPE(tracker));
        if (kind != NULL && PyLong_AsLong(PyTuple_GET_ITEM(kind, 0)) == CONSTANT) {
            PyObject *value = field(tracker, str_value);
            if (value != NULL && PyUnicode_CheckExact(value)
                && PyUnicode_GET_LENGTH(value) <= MAX_TEXT) {
                label = PyUnicode_FromFormat("[%R]", value);
            }
        }
        Py_DECREF(tracker);
    }
    if (label == NULL && !PyErr_Occurred()) {
        PyObject *text = PyObject_CallMethodOneArg(self->engine, str_key_text, key);
        label = text == NULL || !PyUnicode_Check(text) ? NULL : PyUnicode_FromFormat("[%U]", text);
        Py_XDECREF(text);
    }
    return label;
}

int
add_items(Facts *self, Children *children, PyObject *items)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (children->count < MAX_ITEMS && PyDict_Next(items, &position, &key, &value)) {
        if (PyType_IsSubtype(Py_TYPE(value), self->base)) {
            add_child(children, key, 0, value);
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

int
describing_init(void)
{
    return stepper_intern_names(names, sizeof names / sizeof *names) < 0
                   || stepper_intern_row(telling, telling_names, TELLING) < 0
                   || stepper_intern_row(kept, kept_names, sizeof kept / sizeof *kept) < 0
               ? -1
               : 0;
}
