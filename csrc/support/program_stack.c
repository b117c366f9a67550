/* The program's own part of a Python stack: the frames whose files are none of the machinery.

   It is asked for at each call of compiled code, and most frames are met again and again: so each
   file is asked about once, and each place is one object. */

#include "module.h"

#include "support/collected.h"
#include "support/compat.h"

#include <stddef.h>

enum { MANY_KEPT = 4000 };

typedef struct {
    PyObject_HEAD
    PyObject *is_machinery; /* asked about a file */
    PyObject *make;         /* makes a place of a file, a line and the name of a function */
    PyObject *files;        /* what was answered */
    PyObject *places;       /* what was made */
    PyObject *at;           /* the same by instructions, with a weak reference to the code */
    Py_ssize_t most;
    vectorcallfunc vectorcall;
} ProgramStack;

enum { OBJECTS = 5, GIVEN = 2 };

/* What is kept for a key, a new reference; made by a call the first time. */
static PyObject *
kept(PyObject *known, PyObject *key, PyObject *make, PyObject *const *args, size_t count)
{
    PyObject *found = PyDict_GetItemWithError(known, key);
    if (found != NULL || PyErr_Occurred()) {
        return Py_XNewRef(found);
    }
    if (PyDict_GET_SIZE(known) >= MANY_KEPT) {
        PyDict_Clear(known);
    }
    found = PyObject_Vectorcall(make, args, count, NULL);
    if (found != NULL && PyDict_SetItem(known, key, found) < 0) {
        Py_CLEAR(found);
    }
    return found;
}

static PyObject *
make_place(ProgramStack *self, PyCodeObject *code, int number)
{
    PyObject *line = PyLong_FromLong(number > 0 ? number : 0);
    PyObject *args[] = {code->co_filename, line, code->co_qualname};
    PyObject *key = line == NULL ? NULL : PyTuple_Pack(3, args[0], args[1], args[2]);
    PyObject *place = key == NULL ? NULL : kept(self->places, key, self->make, args, 3);
    Py_XDECREF(key);
    Py_XDECREF(line);
    return place;
}

/* To find the line takes the longest, so what was found at an instruction is kept. Not the code: by
   the weak reference it is known to be the same one. */
static PyObject *
place_of(ProgramStack *self, Frame *frame)
{
    PyObject *code = (PyObject *)frame_code(frame);
    PyObject *key = Py_BuildValue("Nn", PyLong_FromVoidPtr(code), frame_unit(frame));
    PyObject *found = key == NULL ? NULL : PyDict_GetItemWithError(self->at, key);
    if (found != NULL && weakref_is(PyTuple_GET_ITEM(found, 0), code)) {
        Py_DECREF(key);
        return Py_NewRef(PyTuple_GET_ITEM(found, 1));
    }
    if (PyDict_GET_SIZE(self->at) >= MANY_KEPT) {
        PyDict_Clear(self->at);
    }
    PyObject *place = key == NULL || PyErr_Occurred()
                          ? NULL
                          : make_place(self, frame_code(frame), frame_line(frame));
    PyObject *known = place == NULL ? NULL
                                    : Py_BuildValue("NO", PyWeakref_NewRef(code, NULL), place);
    if (known == NULL || PyDict_SetItem(self->at, key, known) < 0) {
        Py_CLEAR(place);
    }
    Py_XDECREF(known);
    Py_XDECREF(key);
    return place;
}

/* Adds the place of a frame, unless it is machinery. */
static int
add_frame(ProgramStack *self, Frame *frame, PyObject *places)
{
    PyObject *file = frame_code(frame)->co_filename;
    int machinery = answer_truth(kept(self->files, file, self->is_machinery, &file, 1));
    PyObject *place = machinery == 0 ? place_of(self, frame) : NULL;
    int done = machinery == 1 ? 0 : place == NULL ? -1 : PyList_Append(places, place);
    Py_XDECREF(place);
    return done;
}

static PyObject *
program_stack_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    ProgramStack *self = (ProgramStack *)object;
    if (names != NULL || PyVectorcall_NARGS(nargsf) != 1
        || !(args[0] == Py_None || PyFrame_Check(args[0]))) {
        return PyErr_Format(PyExc_TypeError, "this wants a frame or None");
    }
    PyObject *places = PyList_New(0);
    /* The caller runs, and so do all that led to it: they stay what they are. Frame objects of them
       would have to be made, and outlive them. */
    Frame *frame = args[0] == Py_None ? NULL : frame_of_object((PyFrameObject *)args[0]);
    while (places != NULL && frame != NULL && PyList_GET_SIZE(places) < self->most) {
        if (add_frame(self, frame, places) < 0) {
            Py_CLEAR(places);
        }
        frame = frame_begun(frame->previous);
    }
    if (places != NULL && PyList_Reverse(places) < 0) {
        Py_CLEAR(places);
    }
    PyObject *answer = places == NULL ? NULL : PyList_AsTuple(places);
    Py_XDECREF(places);
    return answer;
}

COLLECTED(program_stack, ProgramStack, OBJECTS)

static PyObject *
program_stack_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    PyObject *given[GIVEN];
    Py_ssize_t most;
    if (!PyArg_ParseTuple(args, "OOn:ProgramStack", &given[0], &given[1], &most)) {
        return NULL;
    }
    ProgramStack *self = (ProgramStack *)type->tp_alloc(type, 0);
    if (self == NULL || (self->files = PyDict_New()) == NULL
        || (self->places = PyDict_New()) == NULL || (self->at = PyDict_New()) == NULL) {
        Py_XDECREF(self);
        return NULL;
    }
    collected_set(&self->is_machinery, GIVEN, given);
    self->most = most;
    self->vectorcall = program_stack_call;
    return (PyObject *)self;
}

static PyTypeObject ProgramStack_Type = {
    TYPE(ProgramStack),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = program_stack_new,
    CALLED_SLOTS(ProgramStack),
    COLLECTED_SLOTS(program_stack),
};

const Part program_stack_part = {.types = {&ProgramStack_Type}};
