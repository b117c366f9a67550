/* Values whose repr runs nobody's code and is short. */

#ifndef STEPPER_PLAIN_H
#define STEPPER_PLAIN_H

#include "module.h"

enum { MAX_TEXT = 200 }; /* characters of a string shown whole */

/* Whether it is None, a bool, a float, an int of a machine word, or a str of at most `longest`. */
static inline int
is_plain(PyObject *value, Py_ssize_t longest)
{
    if (value == Py_None || PyBool_Check(value) || PyFloat_CheckExact(value)) {
        return 1;
    }
    if (PyUnicode_CheckExact(value)) {
        return PyUnicode_GET_LENGTH(value) <= longest;
    }
    int overflow = 1;
    if (PyLong_CheckExact(value)) {
        (void)PyLong_AsLongLongAndOverflow(value, &overflow);
    }
    return overflow == 0;
}

#endif
