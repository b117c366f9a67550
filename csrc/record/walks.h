/* What a walk is, as far as C reads and writes it: the bases of classes in stepper/debuggee. */

#ifndef STEPPER_WALKS_H
#define STEPPER_WALKS_H

#include "record/steps.h"

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

/* The description of an object that is in view, borrowed, or None; it may be of one that was there
   before it. */
PyObject *in_view_seen(InView *self, PyObject *value);

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

/* How a class whose first fields are objects is collected. */
#define COLLECTED(name, Type, objects)                                 \
    static int name##_traverse(Type *self, visitproc visit, void *arg) \
    {                                                                  \
        PyObject **fields = (PyObject **)((PyObject *)self + 1);       \
        for (int i = 0; i < (objects); i++) {                          \
            Py_VISIT(fields[i]);                                       \
        }                                                              \
        return 0;                                                      \
    }                                                                  \
    static int name##_clear(Type *self)                                \
    {                                                                  \
        PyObject **fields = (PyObject **)((PyObject *)self + 1);       \
        for (int i = 0; i < (objects); i++) {                          \
            Py_CLEAR(fields[i]);                                       \
        }                                                              \
        return 0;                                                      \
    }                                                                  \
    static void name##_dealloc(Type *self)                             \
    {                                                                  \
        PyObject_GC_UnTrack(self);                                     \
        (void)name##_clear(self);                                      \
        Py_TYPE(self)->tp_free((PyObject *)self);                      \
    }

#define COLLECTED_SLOTS(name)                                                        \
    .tp_traverse = (traverseproc)name##_traverse, .tp_clear = (inquiry)name##_clear, \
    .tp_dealloc = (destructor)name##_dealloc

#endif
