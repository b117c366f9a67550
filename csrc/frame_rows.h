/* Inlined calls as they are written; the idea is in frame_rows.c. */

#ifndef STEPPER_FRAME_ROWS_H
#define STEPPER_FRAME_ROWS_H

#include "mirror.h"

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
    PyObject *codes;            /* what is known of each code, by the address of the engine's */
    FrameRow *rows;
    Py_ssize_t count, room;
    FrameEnd *ends;
    Py_ssize_t ends_count, ends_room;
    char on; /* frames are written here */
} FrameRows;

int frame_rows_init(void);
int frame_rows_visit(FrameRows *self, visitproc visit, void *arg);
void frame_rows_clear(FrameRows *self);
void frame_rows_free(FrameRows *self);

/* A frame has begun, within another one; -1 with an exception. */
int frame_rows_begin(struct Steps *steps, Mirror *frame);
/* A frame that was written ends. */
int frame_rows_end(struct Steps *steps, Mirror *frame);

/* The methods of Steps that this file has. */
PyObject *steps_write_frames(struct Steps *self, PyObject *const *args, Py_ssize_t count);
PyObject *steps_take_frames(struct Steps *self, PyObject *unused);

#endif
