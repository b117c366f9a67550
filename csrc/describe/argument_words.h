/* The argument of an instruction in words. */

#ifndef STEPPER_ARGUMENT_WORDS_H
#define STEPPER_ARGUMENT_WORDS_H

#include "module.h"

typedef struct {
    PyObject *constants; /* the code's, a tuple */
    PyObject *meanings;  /* by the name of an instruction: what the numbers from 0 on mean to it, a
                            tuple; None: constants */
    Py_ssize_t longest;  /* characters */
    PyObject *other;     /* says what is not plain */
} ArgumentWords;

/* A new reference to a str; `argument` is the number in the bytecode (or None), `value` what it
   stands for. */
PyObject *argument_words(const ArgumentWords *self, PyObject *opname, PyObject *argument,
                         PyObject *value);

#endif
