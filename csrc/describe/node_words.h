/* The arguments of an FX node in words; see node_words.c. */

#ifndef STEPPER_NODE_WORDS_H
#define STEPPER_NODE_WORDS_H

#include "module.h"

/* What node_words in stepper/_C.pyi answers: of a tuple and a dictionary, a new reference. */
PyObject *node_words(PyObject *positional, PyObject *named, PyTypeObject *node, PyObject *other);

#endif
