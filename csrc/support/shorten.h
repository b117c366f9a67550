/* Texts that are too long to be written whole. */

#ifndef STEPPER_SHORTEN_H
#define STEPPER_SHORTEN_H

#include "module.h"

/* The text in at most `most` characters. The caller's reference is taken. */
PyObject *shorten(PyObject *text, Py_ssize_t most);

#endif
