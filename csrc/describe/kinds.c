/* The kinds of trackers that are described here: by a name and the trackers among their fields, by
   what they hold (container_kinds.c), common constants. */

#include "describe/describing.h"

/* Fields that may say what a tracker stands for. */
enum { TELLING = 8 };
static PyObject *const *const telling[TELLING] = {
    &ID(value),    &ID(fn),   &ID(obj_type),    &ID(value_type),
    &ID(exc_type), &ID(code), &ID(module_type), &ID(user_cls),
};

/* The class of the object that the tracker stands for (borrowed), where that is all there is to
   say: it is none that has a name of its own, and no other field tells anything. Else NULL. */
static PyObject *
type_of_nameless(PyObject *tracker)
{
    PyObject *value = tracker_field(tracker, ID(value)),
             *type = tracker_field(tracker, ID(value_type));
    if (value == NULL || (type != NULL && type != (PyObject *)Py_TYPE(value)) || PyType_Check(value)
        || PyFunction_Check(value) || PyCFunction_Check(value)
        || Py_TYPE(value) == &PyMethodDescr_Type || PyModule_Check(value)) {
        return NULL;
    }
    for (size_t i = 0; i < TELLING; i++) {
        if (*telling[i] != ID(value) && *telling[i] != ID(value_type)
            && fields_get(tracker, *telling[i]) != NULL) {
            return NULL;
        }
    }
    return (PyObject *)Py_TYPE(value);
}

/* What the tracker stands for by name, and its type's name: new references. */
static int
words_of(Facts *self, PyObject *tracker, PyObject *kind, PyObject **type, PyObject **text)
{
    int tells = 0;
    PyObject *only_type = type_of_nameless(tracker);
    for (size_t i = 0; i < TELLING && !tells && only_type == NULL; i++) {
        tells = fields_get(tracker, *telling[i]) != NULL;
    }
    *type = only_type == NULL ? NULL : PyType_GetName((PyTypeObject *)only_type);
    *text = NULL;
    if (only_type != NULL && *type == NULL) {
        return -1;
    }
    if (tells) {
        PyObject *fields = fields_all(tracker);
        PyObject *words = fields == NULL
                              ? NULL
                              : PyObject_CallMethodOneArg(self->engine, ID(words), fields);
        Py_XDECREF(fields);
        PyObject *first, *second;
        if (words == NULL || !PyArg_ParseTuple(words, "UU:words", &first, &second)) {
            Py_XDECREF(words);
            return -1;
        }
        *type = Py_NewRef(first);
        *text = Py_NewRef(second);
        Py_DECREF(words);
    }
    if (*type == NULL || PyUnicode_GET_LENGTH(*type) == 0) {
        Py_XSETREF(*type, Py_NewRef(PyTuple_GET_ITEM(kind, 2)));
    }
    PyObject *name = tracker_field(tracker, ID(name));
    if ((*text == NULL || PyUnicode_GET_LENGTH(*text) == 0) && name != NULL
        && PyUnicode_CheckExact(name)) {
        Py_XSETREF(*text, PyUnicode_FromFormat(".%U", name));
    }
    else if (*text == NULL) {
        *text = PyUnicode_FromString("");
    }
    if (*text != NULL && PyUnicode_GET_LENGTH(*text) == 0) {
        Py_SETREF(*text, Py_NewRef(PyTuple_GET_ITEM(kind, 3)));
    }
    return *text == NULL ? -1 : 0;
}

int
kinds_pack_source(Facts *self, Buffer *out, PyObject *tracker)
{
    PyObject *source = tracker_field(tracker, ID(source));
    if (source == NULL) {
        return pack_head(out, 0xa0, 0, 0);
    }
    Py_INCREF(source);
    PyObject *text = PyObject_GetAttr(source, ID(name)); /* most keep it once they were asked */
    if (text == NULL && !PyErr_ExceptionMatches(PyExc_Exception)) {
        Py_DECREF(source);
        return -1; /* Ctrl-C is the program's */
    }
    if (text == NULL || !PyUnicode_Check(text)) {
        PyErr_Clear();
        Py_XSETREF(text, PyObject_CallMethodOneArg(self->engine, ID(source_text), source));
    }
    Py_DECREF(source);
    int done = text == NULL ? -1 : pack_text(out, text);
    Py_XDECREF(text);
    return done;
}

int
kinds_mutability(Facts *self, PyObject *tracker, PyObject **words, PyObject **attributes)
{
    PyObject *mutation = tracker_field(tracker, ID(mutation_type));
    *words = *attributes = NULL;
    if (mutation == NULL) {
        return 0;
    }
    PyObject *mutability = facts_ask_once(self, self->mutability, ID(mutability),
                                          Py_TYPE(mutation));
    if (mutability == NULL) {
        return -1;
    }
    *words = PyTuple_GET_ITEM(mutability, 0);
    if (PyTuple_GET_ITEM(mutability, 1) != Py_True) {
        return 0;
    }
    *attributes = PyObject_CallMethodOneArg(self->engine, ID(attributes), tracker);
    if (*attributes == NULL) {
        return -1;
    }
    if (!PyDict_Check(*attributes)) {
        Py_CLEAR(*attributes);
    }
    return 0;
}

int
kinds_pack_mutability(Buffer *out, PyObject *words)
{
    return words == NULL ? pack_raw(out, "\xa9immutable", 10) : pack_text(out, words);
}

uint32_t
kinds_describe(Facts *self, PyObject *tracker, PyObject *kind, int recipe, Numbering numbering,
               void *context)
{
    Contents found;
    Children *children = &found.children;
    children->count = 0;
    found.type = found.text = NULL;
    found.length = -1;
    found.position = -1;
    Buffer out = facts_take_scratch(self);
    PyObject *mutability = NULL, *attributes = NULL;
    uint32_t id = 0;
    int has_contents = container_kinds_contents(self, tracker, kind, recipe, &found);
    if (has_contents < 0) {
        goto done;
    }
    if (!has_contents) {
        children_add_fields(self, children, tracker);
        if (words_of(self, tracker, kind, &found.type, &found.text) < 0) {
            goto done;
        }
        if (PyUnicode_GET_LENGTH(found.text) == 0) {
            Py_SETREF(found.text,
                      Py_NewRef(PyUnicode_GET_LENGTH(found.type) ? found.type
                                                                 : PyTuple_GET_ITEM(kind, 1)));
        }
    }
    if (kinds_mutability(self, tracker, &mutability, &attributes) < 0) {
        goto done;
    }
    if (attributes != NULL) {
        container_kinds_add_pending(self, &found, recipe, attributes);
    }
    if (children_number(children, numbering, context) < 0) {
        goto done;
    }
    /* The fields of Value in order; those at the end that have their default are left out. */
    int count = found.position >= 0 ? 8 : found.length >= 0 ? 7 : children->count > 0 ? 6 : 5;
    int done = pack_array(&out, (size_t)count) < 0 || pack_text(&out, PyTuple_GET_ITEM(kind, 1)) < 0
                       || pack_text(&out, found.type) < 0 || pack_text(&out, found.text) < 0
                       || kinds_pack_source(self, &out, tracker) < 0
                       || kinds_pack_mutability(&out, mutability) < 0
                   ? -1
                   : 0;
    if (done == 0 && count > 5) {
        done = children_pack(&out, children);
    }
    if (done == 0 && count > 6) {
        done = pack_uint(&out, (uint64_t)found.length);
    }
    if (done == 0 && count > 7) {
        char digits[24];
        int size = snprintf(digits, sizeof digits, "%lld", found.position);
        done = pack_raw(&out, "\x91\x92\xa5index", 8) < 0
                       || pack_head(&out, (unsigned char)(0xa0 | size), 0, 0) < 0
                       || pack_raw(&out, digits, (size_t)size) < 0
                   ? -1
                   : 0;
    }
    id = done < 0 ? 0 : facts_id_of_packed(self, &out, children);
done:
    children_release(children);
    facts_give_scratch(self, &out);
    Py_XDECREF(found.type);
    Py_XDECREF(found.text);
    Py_XDECREF(attributes);
    return id;
}

uint32_t
kinds_describe_constant(Facts *self, PyObject *tracker, PyObject *kind)
{
    Buffer out = facts_take_scratch(self);
    Children none;
    none.count = 0;
    PyObject *value = fields_get(tracker, ID(value));
    PyObject *type = PyUnicode_FromString(Py_TYPE(value)->tp_name);
    PyObject *text = type == NULL ? NULL : PyObject_Repr(value);
    /* The fields of Value in order, to `constant`. */
    int done = text == NULL || pack_array(&out, 9) < 0
                       || pack_text(&out, PyTuple_GET_ITEM(kind, 1)) < 0
                       || pack_text(&out, type) < 0 || pack_text(&out, text) < 0
                       || kinds_pack_source(self, &out, tracker) < 0
                       || pack_raw(&out, "\xa9immutable\x90\xc0\x90", 13) < 0
                       || pack_text(&out, text) < 0
                   ? -1
                   : 0;
    uint32_t id = done < 0 ? 0 : facts_id_of_packed(self, &out, &none);
    facts_give_scratch(self, &out);
    Py_XDECREF(type);
    Py_XDECREF(text);
    return id;
}
