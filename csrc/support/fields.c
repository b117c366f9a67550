/* An object's own attributes, read without leaving a mark.

   To ask an object for `__dict__` makes it keep a dictionary from then on: CPython stores the
   attributes of most objects in an array, whose places the class knows, and specializes attribute
   access in the program's code for that. Each tracker that a debugger looks at so would be slower
   for the compiler ever after, in every place where its kind is used; measured, that was more than
   the looking itself. Here the array is read as it is. */

/* The arrays are in headers that CPython keeps for itself and for evaluators. */
#define Py_BUILD_CORE
#include "support/fields.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" /* in 3.13's */
#include <internal/pycore_dict.h>
#include <internal/pycore_object.h>
#pragma GCC diagnostic pop

/* The array in which the object has its attributes, or NULL with `*dict` its dictionary (borrowed;
   NULL: it has neither). This and the next function are all that differs between versions. */
static PyDictValues *
attributes_of(PyObject *object, PyObject **dict)
{
    *dict = NULL;
    if (!(Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT)) {
        PyObject **place = _PyObject_GetDictPtr(object);
        *dict = place == NULL ? NULL : *place;
        return NULL;
    }
#if PY_VERSION_HEX >= 0x030D0000
    *dict = (PyObject *)_PyObject_GetManagedDict(object);
    if (*dict == NULL && Py_TYPE(object)->tp_flags & Py_TPFLAGS_INLINE_VALUES) {
        PyDictValues *values = _PyObject_InlineValues(object);
        return values->valid ? values : NULL;
    }
    return NULL;
#elif PY_VERSION_HEX >= 0x030C0000
    PyDictOrValues found = *_PyObject_DictOrValuesPointer(object);
    if (_PyDictOrValues_IsValues(found)) {
        return _PyDictOrValues_GetValues(found);
    }
    *dict = _PyDictOrValues_GetDict(found);
    return NULL;
#else
    PyDictValues *values = *_PyObject_ValuesPointer(object);
    if (values == NULL) {
        *dict = *_PyObject_ManagedDictPointer(object);
    }
    return values;
#endif
}

/* Where in the array the attribute is that was set as the `i`th of those it has, as its dictionary
   would give it; -1: it has fewer. The places are the class's, in the order in which the first
   object got them. */
static Py_ssize_t
place_of(PyDictValues *values, Py_ssize_t i)
{
#if PY_VERSION_HEX >= 0x030D0000
    return i < values->size ? get_insertion_order_array(values)[i] : -1;
#else
    const uint8_t *end = (const uint8_t *)values;
    return i < end[-2] ? end[-3 - i] : -1;
#endif
}

PyObject *
fields_all(PyObject *object)
{
    PyObject *dict;
    if (attributes_of(object, &dict) == NULL) {
        return dict == NULL ? PyDict_New() : Py_NewRef(dict);
    }
    /* Made first: a collection here could run code that gives the object a dictionary. What comes
       after runs nothing, since the names are all strings. */
    PyDictKeysObject *keys = ((PyHeapTypeObject *)Py_TYPE(object))->ht_cached_keys;
    PyObject *found = _PyDict_NewPresized(keys->dk_nentries);
    if (found == NULL) {
        return NULL;
    }
    PyDictValues *values = attributes_of(object, &dict);
    if (values == NULL) {
        if (dict != NULL) {
            Py_SETREF(found, Py_NewRef(dict));
        }
        return found;
    }
    for (Py_ssize_t i = 0, at; (at = place_of(values, i)) >= 0; i++) {
        PyObject *name = DK_UNICODE_ENTRIES(keys)[at].me_key, *value = values->values[at];
        if (value != NULL && PyDict_SetItem(found, name, value) < 0) {
            Py_DECREF(found);
            return NULL;
        }
    }
    return found;
}

PyObject *
fields_dict(PyObject *object)
{
    PyObject *dict;
    (void)attributes_of(object, &dict);
    return dict;
}

PyObject *
fields_get(PyObject *object, PyObject *name)
{
    PyObject *dict;
    PyDictValues *values = attributes_of(object, &dict);
    if (values == NULL) {
        return dict == NULL ? NULL : PyDict_GetItemWithError(dict, name);
    }
    /* The names of attributes are interned, and few. */
    PyDictKeysObject *keys = ((PyHeapTypeObject *)Py_TYPE(object))->ht_cached_keys;
    for (Py_ssize_t i = 0; i < keys->dk_nentries; i++) {
        if (DK_UNICODE_ENTRIES(keys)[i].me_key == name) {
            return values->values[i];
        }
    }
    return NULL;
}

PyObject *
fields_plain_attribute(PyObject *object, PyObject *name)
{
    PyObject *found = fields_get(object, name);
    return found != NULL ? Py_NewRef(found) : PyObject_GenericGetAttr(object, name);
}

int
fields_next(PyObject *object, Py_ssize_t *position, PyObject **name, PyObject **value)
{
    PyObject *dict;
    PyDictValues *values = attributes_of(object, &dict);
    if (values == NULL) {
        return dict != NULL && PyDict_Next(dict, position, name, value);
    }
    PyDictKeysObject *keys = ((PyHeapTypeObject *)Py_TYPE(object))->ht_cached_keys;
    for (Py_ssize_t at; (at = place_of(values, *position)) >= 0;) {
        ++*position;
        if ((*value = values->values[at]) != NULL) {
            *name = DK_UNICODE_ENTRIES(keys)[at].me_key;
            return 1;
        }
    }
    return 0;
}

PyObject *
fields_attribute(PyObject *object, PyObject *name)
{
    PyObject *dict;
    (void)attributes_of(object, &dict);
    if (dict != NULL) {
        PyObject *found = PyDict_GetItemWithError(dict, name);
        if (found != NULL || PyErr_Occurred()) {
            return Py_XNewRef(found);
        }
    }
    return PyObject_GetAttr(object, name);
}

static PyObject *
fields(PyObject *Py_UNUSED(module), PyObject *object)
{
    return fields_all(object);
}

static PyMethodDef methods[] = {
    METHOD("fields", fields, METH_O),
    {NULL},
};

const Part fields_part = {.functions = methods};
