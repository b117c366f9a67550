/* Where CPython's public API differs between 3.11, 3.12 and 3.13 (frames: see compat.h). */

#ifndef STEPPER_API_H
#define STEPPER_API_H

#include "module.h"

/* Whether a weak reference refers to this very object, alive. */
static inline int
stepper_weakref_is(PyObject *ref, PyObject *object)
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
