/* Texts that are too long to be written whole. */

#ifndef STEPPER_SHORTEN_H
#define STEPPER_SHORTEN_H

#include "module.h"

/* How much of a text is kept when it has more than `most` characters. */
Py_ssize_t shorten_at(PyObject *text, Py_ssize_t most);
/* The text in at most `most` characters. The caller's reference is taken. */
PyObject *shorten(PyObject *text, Py_ssize_t most);

#endif
