/* The kinds of trackers that only a compiler has, and has most of: tensors, and what was not looked
   at yet. Each answer has its unusual forms, which are the engine's to describe. */

#include "describe/describing.h"

/* A tensor's properties, of which most are like another's; in the order in which the engine is
   asked for their words. */
enum { PROPERTIES = 7 };
static PyObject *const *const properties[PROPERTIES] = {
    &ID(dtype),         &ID(_size),  &ID(stride),     &ID(device),
    &ID(requires_grad), &ID(layout), &ID(class_type),
};

/* Symbols among sizes and strides cannot be hashed, and are the engine's to read. */
static int
all_numbers(PyObject *sizes)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sizes); i++) {
        if (!PyLong_CheckExact(PyTuple_GET_ITEM(sizes, i))) {
            return 0;
        }
    }
    return 1;
}

/* (type name, text, packed TensorMeta), borrowed, or NULL; also without an exception. */
static PyObject *
words_of_tensor(Facts *self, PyObject *tracker)
{
    PyObject *size = tracker_field(tracker, ID(_size)),
             *stride = tracker_field(tracker, ID(stride));
    if (size == NULL || !PyTuple_Check(size) || !all_numbers(size)
        || (stride != NULL && PyTuple_Check(stride) && !all_numbers(stride))) {
        return NULL;
    }
    PyObject *key = PyTuple_New(PROPERTIES);
    if (key == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PROPERTIES; i++) {
        PyObject *value = fields_get(tracker, *properties[i]);
        PyTuple_SET_ITEM(key, i, Py_NewRef(value == NULL ? Py_None : value));
    }
    PyObject *words = PyDict_GetItemWithError(self->tensors, key);
    if (words == NULL && !PyErr_Occurred()) {
        PyObject *answer = PyObject_CallMethodOneArg(self->engine, ID(tensor), key);
        if (answer != NULL && PyDict_SetItem(self->tensors, key, answer) == 0) {
            words = answer; /* the dictionary holds it */
        }
        Py_XDECREF(answer);
    }
    Py_DECREF(key);
    return words;
}

int
compiler_kinds_tensor(Facts *self, PyObject *tracker, PyObject *kind, uint32_t *id)
{
    PyObject *mutability, *attributes;
    if (kinds_mutability(self, tracker, &mutability, &attributes) < 0) {
        return -1;
    }
    int unusual = attributes != NULL && PyDict_GET_SIZE(attributes) > 0;
    Py_XDECREF(attributes);
    PyObject *proxy = tracker_field(tracker, ID(proxy));
    PyObject *node = proxy == NULL ? NULL : tracker_field(proxy, ID(node));
    if (unusual || node == NULL) {
        return 0;
    }
    Py_INCREF(node);
    PyObject *name = PyObject_GetAttr(node, ID(name));
    Py_DECREF(node);
    PyObject *words = name == NULL ? NULL : words_of_tensor(self, tracker);
    if (words == NULL) {
        Py_XDECREF(name);
        return PyErr_Occurred() ? -1 : 0;
    }
    Py_INCREF(words);
    Buffer out = facts_take_scratch(self);
    Children none;
    none.count = 0;
    PyObject *meta = PyTuple_GET_ITEM(words, 2);
    /* The fields of Value in order, to `node`. */
    int done = pack_array(&out, 11) < 0 || pack_text(&out, PyTuple_GET_ITEM(kind, 1)) < 0
                       || pack_text(&out, PyTuple_GET_ITEM(words, 0)) < 0
                       || pack_text(&out, PyTuple_GET_ITEM(words, 1)) < 0
                       || kinds_pack_source(self, &out, tracker) < 0
                       || kinds_pack_mutability(&out, mutability) < 0
                       || pack_raw(&out, "\x90\xc0\x90\xc0", 4) < 0
                       || pack_raw(&out, PyBytes_AS_STRING(meta), (size_t)PyBytes_GET_SIZE(meta))
                              < 0
                       || pack_text(&out, name) < 0
                   ? -1
                   : 0;
    *id = done < 0 ? 0 : facts_id_of_packed(self, &out, &none);
    facts_give_scratch(self, &out);
    Py_DECREF(words);
    Py_DECREF(name);
    return *id == 0 ? -1 : 0;
}

/* The lazy tracker can be found by what will realize it. */
static int
note_lazy(Facts *self, PyObject *tracker, PyObject *cache)
{
    PyObject *address = PyLong_FromVoidPtr(cache), *ref = PyWeakref_NewRef(tracker, NULL);
    int done = address == NULL || ref == NULL ? -1 : PyDict_SetItem(self->lazies, address, ref);
    Py_XDECREF(address);
    Py_XDECREF(ref);
    return done;
}

/* Whether it can be one of the constants that are shown by their repr and are not common: their
   types are all made in C, and of containers only tuples are among them. */
static int
may_be_constant(PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)
           && (!PyType_IS_GC(type) || (PyTuple_Check(value) && !PyTuple_CheckExact(value)));
}

int
compiler_kinds_lazy(Facts *self, PyObject *tracker, PyObject *kind, PyObject *cache, uint32_t *id)
{
    PyObject *value = fields_plain_attribute(cache, ID(value)), *text = NULL;
    if (value == NULL) {
        PyErr_Clear();
        return 0;
    }
    int common = is_plain(value, MAX_TEXT);
    if (!common && may_be_constant(value)) {
        Py_DECREF(value);
        return 0;
    }
    PyObject *type = PyType_GetName(Py_TYPE(value));
    if (type != NULL) {
        text = common ? PyObject_Repr(value) : PyUnicode_FromFormat("%U (not realized)", type);
    }
    int is_module = self->module != NULL && PyType_IsSubtype(Py_TYPE(value), self->module);
    Py_DECREF(value);
    PyObject *mutability = NULL, *attributes = NULL;
    Buffer out = facts_take_scratch(self);
    Children none;
    none.count = 0;
    /* The fields of Value in order, to `lazy`. */
    int done = text == NULL || note_lazy(self, tracker, cache) < 0
                       || kinds_mutability(self, tracker, &mutability, &attributes) < 0
                       || pack_array(&out, 12) < 0 || pack_text(&out, PyTuple_GET_ITEM(kind, 1)) < 0
                       || pack_text(&out, type) < 0 || pack_text(&out, text) < 0
                       || kinds_pack_source(self, &out, tracker) < 0
                       || kinds_pack_mutability(&out, mutability) < 0
                       || pack_raw(&out, "\x90\xc0", 2) < 0
                       || pack_raw(&out, is_module ? PyBytes_AS_STRING(self->as_module) : "\x90",
                                   is_module ? (size_t)PyBytes_GET_SIZE(self->as_module) : 1)
                              < 0
                       || pack_raw(&out, "\xc0\xc0\xa0\xc3", 4) < 0
                   ? -1
                   : 0;
    *id = done < 0 ? 0 : facts_id_of_packed(self, &out, &none);
    facts_give_scratch(self, &out);
    Py_XDECREF(attributes);
    Py_XDECREF(type);
    Py_XDECREF(text);
    return *id == 0 ? -1 : 0;
}
