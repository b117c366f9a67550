/* An object's own attributes; see fields.c. */

#ifndef STEPPER_FIELDS_H
#define STEPPER_FIELDS_H

#include "module.h"

/* A dictionary of the object's attributes: its own, or a new one. Runs nothing. */
PyObject *fields_all(PyObject *object);

/* An attribute of the object's own, borrowed, or NULL without an exception. `name` is interned.
   Runs nothing. */
PyObject *fields_get(PyObject *object, PyObject *name);

/* The dictionary in which an object has its attributes, borrowed; NULL: it has none now, or they are
   elsewhere. Runs nothing. */
PyObject *fields_dict(PyObject *object);

/* What `object.name` is, without asking `__getattribute__` or `__getattr__`: a new reference, or
   NULL with an exception. Most attributes are the object's own, found without looking at its class. */
PyObject *fields_plain_attribute(PyObject *object, PyObject *name);

/* One of its attributes after the other, borrowed, as PyDict_Next gives them. */
int fields_next(PyObject *object, Py_ssize_t *position, PyObject **name, PyObject **value);

/* What `object.name` is, for an attribute that the object has itself if anybody has it: found
   without a look at its class where the object has a dictionary. A new reference. */
PyObject *fields_attribute(PyObject *object, PyObject *name);

#endif
