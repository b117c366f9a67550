/* Where another thread is: what its Python frames run.

   `sys._current_frames()` hands out the frames themselves. Whoever walks them in Python can be
   interrupted on the way, and a frame that returns meanwhile lives on until he lets it go, with
   all that is in its variables: a tensor would die later, and in another thread, than it does
   without us. Here the walk is one call that never lets go of the GIL, and what it gives are
   strings and numbers. */

#include "module.h"

#include "support/api.h"

/* The thread of this interpreter with an identifier; NULL: there is none. */
static PyThreadState *
thread_of(unsigned long ident)
{
    PyThreadState *thread = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    while (thread != NULL && thread->thread_id != ident) {
        thread = PyThreadState_Next(thread);
    }
    return thread;
}

/* (module, function, file, line); the module is None where its globals do not name one. */
static PyObject *
place_of(PyFrameObject *frame)
{
    PyObject *globals = PyFrame_GetGlobals(frame);
    PyCodeObject *code = PyFrame_GetCode(frame);
    PyObject *key = PyUnicode_FromString("__name__");
    PyObject *place = NULL;
    if (globals != NULL && key != NULL) {
        PyObject *name = PyDict_CheckExact(globals) ? PyDict_GetItemWithError(globals, key) : NULL;
        if (name == NULL || !PyUnicode_CheckExact(name)) {
            name = Py_None;
        }
        if (!PyErr_Occurred()) {
            place = Py_BuildValue("(OOOi)", name, code->co_qualname, code->co_filename,
                                  PyFrame_GetLineNumber(frame));
        }
    }
    Py_XDECREF(key);
    Py_DECREF(code);
    Py_XDECREF(globals);
    return place;
}

static PyObject *
thread_frames(PyObject *Py_UNUSED(module), PyObject *args)
{
    unsigned long ident;
    Py_ssize_t most;
    if (!PyArg_ParseTuple(args, "kn:thread_frames", &ident, &most)) {
        return NULL;
    }
    /* A collection would run finalizers, and those let go of the GIL. */
    int collected = PyGC_Disable();
    PyObject *places = PyList_New(0);
    PyThreadState *thread = thread_of(ident);
    PyFrameObject *frame = thread == NULL ? NULL : PyThreadState_GetFrame(thread);
    while (places != NULL && frame != NULL && PyList_GET_SIZE(places) < most) {
        PyObject *place = place_of(frame);
        if (place == NULL || PyList_Append(places, place) < 0) {
            Py_CLEAR(places);
        }
        Py_XDECREF(place);
        PyFrameObject *outer = places == NULL ? NULL : PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = outer;
    }
    Py_XDECREF(frame);
    if (PyErr_Occurred()) { /* there was no memory for the next frame's object */
        Py_CLEAR(places);
    }
    if (collected) {
        PyGC_Enable();
    }
    return places;
}

static PyMethodDef functions[] = {
    METHOD("thread_frames", thread_frames, METH_VARARGS),
    {NULL, NULL, 0, NULL},
};

const Part thread_frames_part = {.functions = functions};
