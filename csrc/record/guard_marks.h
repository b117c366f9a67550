/* What is kept of the guards that were installed until they are told; the idea is in
   guard_marks.c. */

#ifndef STEPPER_GUARD_MARKS_H
#define STEPPER_GUARD_MARKS_H

#include "module.h"

struct Steps;

typedef struct {
    PyObject *guard, *code; /* code: of the program's frame; NULL when it is another attempt's */
    long long moment, frame;
    Py_ssize_t ip;
} GuardMark;

typedef struct {
    PyObject *attempt;  /* whose guards are marked; NULL: nobody wants to hear of any */
    PyObject *set;      /* what a guard was added to last */
    PyObject *contents; /* the dictionary of that set, when it was looked at last */
    PyObject *last;     /* the newest guard in it */
    Py_ssize_t place;   /* where that one stands */
    Py_ssize_t size;
    char changed; /* a guard was added since */
    char lost;    /* something else happened to the set: only a look at all of it helps */
    char at_once; /* somebody waits for a guard */
    GuardMark *marks;
    Py_ssize_t count, room;
} GuardMarks;

/* Mark what was added since the last look as caused by the newest moment. */
int guard_marks_note(struct Steps *steps);
void guard_marks_clear(GuardMarks *self);
/* With the marks' array. */
void guard_marks_free(GuardMarks *self);

/* The methods of Steps that this file has. */
PyObject *guard_marks_add(struct Steps *self, PyObject *set);
PyObject *guard_marks_watch(struct Steps *self, PyObject *const *args, Py_ssize_t count);
PyObject *guard_marks_seen(struct Steps *self, PyObject *contents);
PyObject *guard_marks_take(struct Steps *self, PyObject *unused);

#endif
