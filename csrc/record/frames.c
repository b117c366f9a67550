/* Symbolic frames, as the compiler enters and leaves them.

   A compile inlines thousands of calls, and of almost all there is one thing to be done: put a
   mirror on top of the others, and take it off again. That is done here, and nothing else, so it
   costs next to nothing while only breakpoints are armed. Everything unusual is the engine's: the
   first frame of an attempt, and one whose caller, or callee, was never seen to begin or end. */

#include "record/frames.h"

#include "record/steps.h"
#include "support/collected.h"

PyObject *
frames_hear(Steps *self, PyObject *args)
{
    PyObject *given[6];
    if (!PyArg_ParseTuple(args, "UOOOOO:hear_frames", &given[0], &given[1], &given[2], &given[3],
                          &given[4], &given[5])) {
        return NULL;
    }
    collected_set(&self->frames_made.interpreters, 6, given);
    Py_RETURN_NONE;
}

PyObject *
frames_follow(Steps *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2) {
        return PyErr_Format(PyExc_TypeError, "follow(attempt, output)");
    }
    if (args[0] == Py_None) {
        collected_clear(&self->frames_made.attempt, 2);
    }
    else {
        collected_set(&self->frames_made.attempt, 2, args);
    }
    Py_RETURN_NONE;
}

/* The frame whose translator is the innermost that is at work for `output`, if it is the top one
   (borrowed). NULL, also without an exception: it is not, or nothing is followed. */
static Mirror *
top_of(Steps *self, PyObject *output)
{
    Frames *frames = &self->frames_made;
    Mirror *top = (Mirror *)self->top;
    if (frames->attempt == NULL || top == NULL || (PyObject *)top == Py_None) {
        return NULL;
    }
    PyObject *list = PyObject_GetAttr(output, frames->interpreters);
    if (list == NULL) {
        return NULL;
    }
    Py_ssize_t size = PyList_Check(list) ? PyList_GET_SIZE(list) : 0;
    int same = size > 0 && PyList_GET_ITEM(list, size - 1) == top->key;
    Py_DECREF(list);
    return same ? top : NULL;
}

static PyObject *
done_by(PyObject *function, PyObject *const *args, size_t count)
{
    return function == NULL ? Py_NewRef(Py_None) : PyObject_Vectorcall(function, args, count, NULL);
}

/* The newest moment of a frame: the call's, if what it called has moments since. */
static long long
newest_moment_of(Steps *steps, Mirror *frame)
{
    Mirror *at = steps->current == Py_None ? NULL : (Mirror *)steps->current;
    long long moment = steps->moment;
    while (at != NULL && at != frame) {
        if (at->parent == NULL || at->call_moment == Py_None) {
            return steps->moment; /* it belongs to another translation */
        }
        moment = PyLong_AsLongLong(at->call_moment);
        at = at->parent;
    }
    return at == NULL ? steps->moment : moment;
}

PyObject *
frames_entered(Steps *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2) {
        return PyErr_Format(PyExc_TypeError, "frame_entered(output, tx)");
    }
    Frames *frames = &self->frames_made;
    Mirror *caller = frames->output == args[0] ? top_of(self, args[0]) : NULL;
    if (caller == NULL) {
        return PyErr_Occurred() ? NULL : done_by(frames->on_enter, args, 2);
    }
    Mirror *frame = mirror_within(caller, ++frames->newest, args[1], frames->make_code,
                                  frames->attempt, newest_moment_of(self, caller));
    if (frame == NULL) {
        return NULL;
    }
    if (self->frame_rows.on) {
        if (frame_rows_begin(self, frame) < 0) {
            Py_DECREF(frame);
            return NULL;
        }
    }
    else if (frames->told) {
        PyObject *entered = Py_NewRef(frames->entered);
        PyObject *answer = PyObject_CallOneArg(entered, (PyObject *)frame);
        Py_DECREF(entered);
        if (answer == NULL) {
            Py_DECREF(frame);
            return NULL;
        }
        Py_DECREF(answer);
    }
    Py_XSETREF(self->top, (PyObject *)frame);
    if (node_marks_changed(self)) {
        self->nodes_changed = 1;
    }
    Py_RETURN_NONE;
}

PyObject *
frames_left(Steps *self, PyObject *output)
{
    Frames *frames = &self->frames_made;
    Mirror *frame = top_of(self, output);
    if (frame == NULL && (PyErr_Occurred() || frames->attempt == NULL)) {
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    if (frame == NULL || frame->parent == NULL || node_marks_changed(self)) {
        return done_by(frames->on_leave, &output, 1);
    }
    Py_INCREF(frame);
    PyObject *answer = NULL;
    if (frame->written && self->frame_rows.on) {
        if (frame_rows_end(self, frame) < 0) {
            Py_DECREF(frame);
            return NULL;
        }
    }
    else if (frame->written) {
        PyObject *left = Py_NewRef(frames->left);
        answer = PyObject_CallOneArg(left, (PyObject *)frame);
        Py_DECREF(left);
        if (answer == NULL) {
            Py_DECREF(frame);
            return NULL;
        }
    }
    Py_XDECREF(answer);
    Py_XSETREF(self->top, Py_NewRef(frame->parent));
    Py_DECREF(frame);
    Py_RETURN_NONE;
}
