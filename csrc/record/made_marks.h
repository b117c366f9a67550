/* When each guard began to be made; the idea is in made_marks.c. */

#ifndef STEPPER_MADE_MARKS_H
#define STEPPER_MADE_MARKS_H

#include "module.h"

struct Steps;

typedef struct {
    PyObject *guard;
    long long began, away; /* the compiler's clock, and what it has left out by then */
} MadeMark;

typedef struct {
    char on; /* guards are being made whose times are wanted */
    MadeMark *marks;
    Py_ssize_t count, room;
} MadeMarks;

void made_marks_clear(MadeMarks *self);

/* The methods of Steps that this file has. */
PyObject *made_marks_add(struct Steps *self, PyObject *guard);
PyObject *made_marks_take(struct Steps *self, PyObject *unused);

#endif
