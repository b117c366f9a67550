/* What a walk is, as far as C reads and writes it: the bases of classes in stepper/debuggee. */

#ifndef STEPPER_WALKS_H
#define STEPPER_WALKS_H

#include "record/steps.h"

#include "support/collected.h"

/* A value that is in view. */
typedef struct {
    PyObject_HEAD
    PyObject *described; /* a Described, or NULL before it is told */
    PyObject *children;  /* a tuple of Viewed */
    long long number, body;
    Py_ssize_t users; /* in how many places it stands */
} Viewed;

/* All that are in view. */
typedef struct {
    PyObject_HEAD
    PyObject *known;     /* by key */
    PyObject *fresh;     /* a list of (value, body) that were not told yet */
    PyObject *left;      /* values that have been taken out of others */
    PyObject *tell_body; /* see __init__ in stepper/_C.pyi */
    PyObject *told;      /* likewise */
    long long count;
} InView;

/* Of stepper.debuggee.walks.WalkFrame: what changes with each moment. */
typedef struct {
    PyObject_HEAD
    PyObject *stack, *locals, *blocks;
    long long id, ip, last_moment;
} WalkFrameState;

/* Of stepper.debuggee.walks.Walk, likewise. */
typedef struct {
    PyObject_HEAD
    PyObject *values; /* an InView */
    long long moments, last, keyframe_due;
    char muted;
} WalkState;

extern PyTypeObject InView_Type, Viewed_Type, WalkFrameState_Type, WalkState_Type;

/* The value of a Described, which is told when it is new; a new reference, or NULL. */
Viewed *in_view_know(InView *self, PyObject *described);
/* See InView.exchange in stepper/_C.pyi; both are lists of Viewed. */
int in_view_exchange(InView *self, PyObject *taken, PyObject *dropped);

/* The description of the object in view that has this address, borrowed; it may be of one that was
   there before it. NULL: there is none, or an exception is set. */
PyObject *in_view_said(InView *self, PyObject *address);

/* What a moment changes. */
typedef struct {
    PyObject *stack, *locals; /* as they are now, of Viewed */
    PyObject *changes;        /* names and their values in turn, None: deleted; or NULL: nothing */
    PyObject *taken, *dropped;
    Py_ssize_t keep;           /* values of the stack that are as they were */
    PyObject *blocks, *packed; /* borrowed: the open blocks, and encoded where they may be others */
} Change;

void walk_moments_clear(Change *change);
/* walk_moments.c: make the change, and tell it as the next moment, at the frame's `ip`. */
int walk_moments_tell(WalkState *walk, Steps *steps, WalkFrameState *frame, const Change *change);
/* Tell the next moment by what the values of the frame are: see WalkState.looked in stepper/_C.pyi.
   `packed` is NULL or bytes. */
int walk_moments_looked(WalkState *walk, Steps *steps, WalkFrameState *frame, PyObject *stack,
                        PyObject *locals, PyObject *blocks, PyObject *packed);

/* How the values of a frame are looked at: see stepper/_C.pyi. */
typedef struct {
    PyObject_HEAD
    PyObject *describe, *inside, *container, *unchanged, *value_stack, *frame_locals;
    PyObject *leaves; /* a tuple of types: see __new__ in stepper/_C.pyi */
    PyObject *null, *null_slot;
    PyObject *kept; /* a dict, what was described last, by address */
} Eyes;

extern PyTypeObject Eyes_Type;

/* looks.c: what a value is now; a new reference, or NULL. */
PyObject *looks_describe(const Eyes *eyes, InView *values, PyObject *value);
/* Look at all values of a frame, and tell them as the next moment. `hidden` is NULL; or the frame is
   a graph's function, which has no stack to be shown, nor these locals. */
int looks_tell(const Eyes *eyes, WalkState *walk, Steps *steps, WalkFrameState *frame,
               PyObject *real, PyObject *hidden, PyObject *blocks, PyObject *packed);

#endif
