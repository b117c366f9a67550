/* What was found at the last look, and is there still.

   From one cached call to the next hardly anything changes of what guards look at: a model's
   modules hold the same parameters, its classes the same functions. CPython numbers the states of
   dictionaries and classes for its own caches: whatever is put into one takes its number from it,
   and no other ever gets the same. So where the number is the one of the last look, what was found
   then is what would be found now, and the dictionary or the class itself holds it: to compare a
   number replaces a search for a key, and for an attribute one in each class of an object. It is
   read before the look: what changes meanwhile has another one.

   What would run code, a key of a class with an equality of its own or a class with its own way to
   give attributes, is asked each time. From 3.14 on, dictionaries have no numbers: there they are
   looked into, and only classes are remembered. */

#include "evalframe/remembered.h"

#include "support/api.h"
#include "support/fields.h"
#include "support/names.h"

PyObject *
remembered_item(Remembered *last, PyObject *dict, PyObject *key)
{
    uint64_t state = dict_own_version(dict);
    if (state != 0 && state == last->dict) {
        return Py_XNewRef(last->found);
    }
    PyObject *found = Py_XNewRef(PyDict_GetItemWithError(dict, key));
    if (PyUnicode_CheckExact(key) && !PyErr_Occurred()) {
        last->dict = state;
        last->owner = 0;
        last->found = found;
    }
    return found;
}

/* Whether objects of a class have attributes as all objects have, and the class has nothing of this
   name for them. Looks at what the type's own caches hold, and runs nothing. */
static int
leaves_to_objects(PyTypeObject *cls, PyObject *name)
{
    return _PyType_Lookup(cls, name) == NULL
           && _PyType_Lookup(cls, ID(__getattribute__))
                  == _PyType_Lookup(&PyBaseObject_Type, ID(__getattribute__));
}

/* An attribute of a class: what the class itself, or one of its bases, has under the name. */
static PyObject *
attribute_of_class(Remembered *last, PyTypeObject *cls, PyObject *name)
{
    if (last->owner != 0 && last->owner == class_version(cls)) {
        return Py_NewRef(last->found);
    }
    unsigned int state = class_give_version(cls, name);
    PyObject *found = PyObject_GetAttr((PyObject *)cls, name);
    if (found != NULL && state != 0 && found == _PyType_Lookup(cls, name)
        && _PyType_Lookup(&PyType_Type, name) == NULL) {
        last->owner = state;
        last->dict = 0;
        last->found = found;
    }
    return found;
}

/* Whether `plain` is of the state in which a class is, or is to be found out now. */
static int
knows_class(Remembered *last, PyTypeObject *cls, PyObject *name)
{
    unsigned int state = class_version(cls);
    if (state != 0 && state == last->cls) {
        return 1;
    }
    last->cls = class_give_version(cls, name);
    last->plain = 0;
    return last->cls == 0;
}

PyObject *
remembered_attribute(Remembered *last, PyObject *object, PyObject *name)
{
    PyTypeObject *cls = Py_TYPE(object);
    if (cls == &PyType_Type) {
        return attribute_of_class(last, (PyTypeObject *)object, name);
    }
    if (cls == &PyFunction_Type && name == ID(__code__)) {
        return Py_NewRef(((PyFunctionObject *)object)->func_code);
    }
    if (!knows_class(last, cls, name)) {
        last->plain = leaves_to_objects(cls, name);
    }
    PyObject *dict = last->plain ? fields_dict(object) : NULL;
    if (dict != NULL && PyDict_CheckExact(dict)) {
        PyObject *found = remembered_item(last, dict, name);
        if (found != NULL || PyErr_Occurred()) {
            return found;
        }
    }
    return PyObject_GetAttr(object, name);
}

int
remembered_membership(Remembered *last, PyObject *container, PyObject *key, int is_in)
{
    int found;
    if (PyDict_CheckExact(container)) {
        PyObject *item = remembered_item(last, container, key);
        found = item != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
        Py_XDECREF(item);
    }
    else {
        found = PySequence_Contains(container, key);
    }
    return found < 0 ? -1 : found == is_in;
}

static int
is_list_of(PyObject *container, PyObject *list)
{
    PyObject *own = PySequence_List(container);
    int equal = own == NULL ? -1 : PyObject_RichCompareBool(own, list, Py_EQ);
    Py_XDECREF(own);
    return equal;
}

int
remembered_keys(Remembered *last, PyObject *container, PyObject *list)
{
    if (!PyDict_CheckExact(container)) {
        return is_list_of(container, list);
    }
    uint64_t state = dict_own_version(container);
    if (state != 0 && state == last->dict) {
        return 1;
    }
    Py_ssize_t at = 0, position = 0;
    for (PyObject *key; PyDict_Next(container, &position, &key, NULL); at++) {
        PyObject *wanted = at < PyList_GET_SIZE(list) ? PyList_GET_ITEM(list, at) : NULL;
        if (wanted == NULL || !PyUnicode_CheckExact(key) || !PyUnicode_CheckExact(wanted)) {
            return is_list_of(container, list); /* comparing may run code */
        }
        if (key != wanted && PyUnicode_Compare(key, wanted) != 0) {
            return 0;
        }
    }
    if (at != PyList_GET_SIZE(list)) {
        return 0;
    }
    last->dict = state;
    return 1;
}

int
remembered_lack(Remembered *last, PyObject *object, PyObject *name)
{
    PyTypeObject *cls = Py_TYPE(object);
    if (!knows_class(last, cls, name)) {
        last->plain = leaves_to_objects(cls, name) && _PyType_Lookup(cls, ID(__getattr__)) == NULL;
    }
    if (last->plain) {
        PyObject *own = fields_get(object, name);
        return own != NULL ? 0 : PyErr_Occurred() ? -1 : 1;
    }
    PyObject *found;
    int has = optional_attr(object, name, &found);
    Py_XDECREF(found);
    return has < 0 ? -1 : !has;
}
