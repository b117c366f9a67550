/* Inlined calls as they are written; the idea is in frame_rows.c. */

#ifndef STEPPER_FRAME_ROWS_H
#define STEPPER_FRAME_ROWS_H

#include "record/mirror.h"

struct Steps;

enum { FRAME_COLUMNS = 8 }; /* see the table `frame` in stepper/recording/schema.py */

typedef struct {
    long long columns[FRAME_COLUMNS];
} FrameRow;

typedef struct {
    long long frame, moment;
} FrameEnd;

typedef struct {
    PyObject *facts_of, *event; /* see write_frames in stepper/_C.pyi; NULL: nobody writes */
    PyObject *begun, *ended;    /* kinds of events */
    /* What is known of each code, which is held, by the address of the engine's. */
    PyObject *codes;
    FrameRow *rows;
    Py_ssize_t count, room;
    FrameEnd *ends;
    Py_ssize_t ends_count, ends_room;
    char on; /* frames are written here */
} FrameRows;

enum { FRAME_ROWS_OBJECTS = 5 }; /* from the first of its fields on */

/* No code is interpreted any more: let go of them. */
void frame_rows_forget_codes(FrameRows *self);

/* A frame has begun, within another one; -1 with an exception. */
int frame_rows_begin(struct Steps *steps, Mirror *frame);
/* A frame that was written ends. */
int frame_rows_end(struct Steps *steps, Mirror *frame);

/* The methods of Steps that this file has. */
PyObject *frame_rows_write(struct Steps *self, PyObject *const *args, Py_ssize_t count);
PyObject *frame_rows_take(struct Steps *self, PyObject *const *args, Py_ssize_t count);

#endif
