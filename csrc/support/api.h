/* Where CPython's public API differs between 3.11, 3.12, 3.13 and 3.14 (frames: see compat.h). */

#ifndef STEPPER_API_H
#define STEPPER_API_H

#include "module.h"

#if PY_VERSION_HEX >= 0x030D0000
/* In a header that CPython keeps for itself since then. */
PyAPI_FUNC(int) _PyOS_IsMainThread(void);
#endif

/* Whether a weak reference refers to this very object, alive. */
static inline int
weakref_is(PyObject *ref, PyObject *object)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *found;
    if (PyWeakref_GetRef(ref, &found) != 1) {
        return 0;
    }
    Py_DECREF(found); /* the caller holds it, or it is another's */
    return found == object;
#else
    return PyWeakref_GET_OBJECT(ref) == object;
#endif
}

/* An attribute, where there is one: 1 and a new reference, 0 and NULL, -1 and an exception. */
static inline int
optional_attr(PyObject *object, PyObject *name, PyObject **found)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyObject_GetOptionalAttr(object, name, found);
#else
    return _PyObject_LookupAttr(object, name, found);
#endif
}

/* The number of the state in which a class is; 0: it has none now. */
static inline unsigned int
class_version(PyTypeObject *cls)
{
#if PY_VERSION_HEX >= 0x030C0000
    return cls->tp_version_tag;
#else
    return PyType_HasFeature(cls, Py_TPFLAGS_VALID_VERSION_TAG) ? cls->tp_version_tag : 0;
#endif
}

/* The same of a class that is given a number; 0: it cannot get one any more. */
static inline unsigned int
class_give_version(PyTypeObject *cls, PyObject *some_name)
{
#if PY_VERSION_HEX >= 0x030C0000
    (void)some_name;
    (void)PyUnstable_Type_AssignVersionTag(cls);
#else
    (void)_PyType_Lookup(cls, some_name); /* which numbers what it remembers */
#endif
    return class_version(cls);
}

#if PY_VERSION_HEX >= 0x030E0000
int dict_version_watch(PyObject *dict);
uint64_t dict_version(PyObject *dict);

static inline uint64_t
dict_own_version(PyObject *Py_UNUSED(dict))
{
    return 0;
}
#else
/* Has the states of a dictionary numbered, which CPython did for all of them until 3.13. */
static inline int
dict_version_watch(PyObject *Py_UNUSED(dict))
{
    return 0;
}

/* The number of the state in which a watched dictionary is: another one after whatever is put into
   it; 0: it has none. */
static inline uint64_t
dict_version(PyObject *dict)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* 3.12 and 3.13 */
    return ((PyDictObject *)dict)->ma_version_tag;
#pragma GCC diagnostic pop
}

/* The number of the state in which a dictionary is that nobody has to watch. No other state of it,
   and no other dictionary, ever has that number; 0: it has none. In 3.13 an object's attribute is
   set without a new one while its dictionary only stands for the array that has them. */
static inline uint64_t
dict_own_version(PyObject *dict)
{
#if PY_VERSION_HEX >= 0x030D0000
    if (((PyDictObject *)dict)->ma_values != NULL) {
        return 0;
    }
#endif
    return dict_version(dict);
}
#endif

/* The exception that is set, as an object with its traceback; none is set after it. */
static inline PyObject *
error_take(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL) {
        (void)PyException_SetTraceback(value, traceback);
    }
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
#endif
}

/* Sets an exception that `error_take` has taken, as it was; takes over the reference. */
static inline void
error_set(PyObject *error)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(error);
#else
    PyErr_Restore(Py_NewRef(Py_TYPE(error)), error, PyException_GetTraceback(error));
#endif
}

/* The exception that is set, put aside and set again. */
typedef struct {
    PyObject *type, *value, *traceback;
} SavedError;

static inline SavedError
error_save(void)
{
    SavedError error = {NULL, NULL, NULL};
#if PY_VERSION_HEX >= 0x030C0000
    error.value = PyErr_GetRaisedException();
#else
    PyErr_Fetch(&error.type, &error.value, &error.traceback);
#endif
    return error;
}

static inline void
error_restore(SavedError error)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(error.value);
#else
    PyErr_Restore(error.type, error.value, error.traceback);
#endif
}

#endif
