/* The symbolic frames that begin and end; the idea is in frames.c. */

#ifndef STEPPER_FRAMES_H
#define STEPPER_FRAMES_H

#include "module.h"

struct Steps;

typedef struct {
    PyObject *interpreters;        /* the name under which an output has its translators */
    PyObject *make_code;           /* of a translator */
    PyObject *entered, *left;      /* told of a frame */
    PyObject *on_enter, *on_leave; /* the engine's own way, for all that is unusual */
    PyObject *attempt, *output;    /* whose frames are followed; NULL: nobody's */
    long long newest;              /* number of the newest frame, of whichever kind */
    char told;                     /* somebody wants to hear of frames */
} Frames;

enum { FRAMES_OBJECTS = 8 }; /* from the first of its fields on */

/* The methods of Steps that this file has. */
PyObject *frames_hear(struct Steps *self, PyObject *args);
PyObject *frames_follow(struct Steps *self, PyObject *const *args, Py_ssize_t count);
PyObject *frames_entered(struct Steps *self, PyObject *const *args, Py_ssize_t count);
PyObject *frames_left(struct Steps *self, PyObject *output);

#endif
