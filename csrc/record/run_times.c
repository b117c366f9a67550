/* How long what was compiled runs at each call whose lookup is told: the transformed code, and in it
   the graphs. What it takes to tell of lookups meanwhile is left out.

   A run stands among the phases that the compiler times of itself, which are open in its thread:
   they can be in its midst, and it in theirs. What stands above one that ends was left by an
   exception. It is written when it has ended. To begin and to end one runs no Python, so nothing
   can come between. */

#include "record/steps.h"

#include "support/collected.h"
#include "support/names.h"

#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *id, *name;       /* as any open phase has them */
    PyObject *code;            /* what runs */
    PyObject *lookup, *thread; /* the lookup's number, the thread's name */
    long long began, away, told, moment;
    char of_graph;
} Run;

typedef struct {
    PyObject_HEAD
    PyObject *steps;  /* a Steps */
    PyObject *ids;    /* gives each phase its number */
    PyObject *open;   /* the phases that are open, by thread: lists, the innermost last */
    PyObject *write;  /* takes the row of a run that has ended */
    PyObject *thread; /* gives the name of the thread that asks */
    PyObject *left;   /* called when phases have been found to be left */
    PyObject *transformed_name, *graph_name;
} RunTimes;

enum { OBJECTS = 8 };

static _Thread_local long long told; /* nanoseconds that telling has taken in this thread */

static PyTypeObject Run_Type;

/* What is open in this thread, a new reference; NULL: nothing ever was, or an exception is set. */
static PyObject *
open_here(RunTimes *self)
{
    PyObject *me = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    PyObject *found = me == NULL ? NULL : PyDict_GetItemWithError(self->open, me);
    Py_XDECREF(me);
    return found != NULL && PyList_CheckExact(found) ? Py_NewRef(found) : NULL;
}

static PyObject *
open_here_from_now(RunTimes *self)
{
    PyObject *found = open_here(self);
    if (found != NULL || PyErr_Occurred()) {
        return found;
    }
    PyObject *me = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    PyObject *made = me == NULL ? NULL : PyList_New(0);
    if (made != NULL && PyDict_SetItem(self->open, me, made) < 0) {
        Py_CLEAR(made);
    }
    Py_XDECREF(me);
    return made;
}

/* The place of the innermost run below `end`; -1: there is none. */
static Py_ssize_t
run_below(PyObject *open, Py_ssize_t end)
{
    Py_ssize_t at = end - 1;
    while (at >= 0 && !Py_IS_TYPE(PyList_GET_ITEM(open, at), &Run_Type)) {
        at--;
    }
    return at;
}

static int
begin(RunTimes *self, PyObject *open, PyObject *name, PyObject *code, PyObject *lookup,
      PyObject *thread)
{
    const Steps *steps = (Steps *)self->steps;
    PyObject *id = PyIter_Next(self->ids);
    Run *run = id == NULL ? NULL : (Run *)Run_Type.tp_alloc(&Run_Type, 0);
    if (run == NULL) {
        Py_XDECREF(id);
        return -1;
    }
    run->id = id;
    run->name = Py_NewRef(name);
    run->code = Py_NewRef(code);
    run->lookup = Py_NewRef(lookup);
    run->thread = Py_NewRef(thread);
    run->away = steps->away;
    run->told = told;
    run->moment = steps->moment;
    run->of_graph = name == self->graph_name;
    run->began = moments_clock(steps);
    int done = PyList_Append(open, (PyObject *)run);
    Py_DECREF(run);
    return done;
}

/* Forgets what is open from a place on. */
static int
drop(RunTimes *self, PyObject *open, Py_ssize_t from)
{
    return PyList_SetSlice(open, from, PyList_GET_SIZE(open), NULL) < 0
               ? -1
               : answer_done(PyObject_CallNoArgs(self->left));
}

/* Whether a code runs in a frame or in one of those that led to it. */
static int
is_running(PyObject *code, PyObject *caller)
{
    PyFrameObject *frame = caller == Py_None ? NULL : (PyFrameObject *)Py_NewRef(caller);
    int found = 0;
    while (frame != NULL && !found) {
        PyCodeObject *runs = PyFrame_GetCode(frame);
        found = (PyObject *)runs == code;
        Py_DECREF(runs);
        Py_SETREF(frame, PyFrame_GetBack(frame));
    }
    Py_XDECREF(frame);
    if (PyErr_Occurred()) {
        PyErr_Clear(); /* there was no memory for the next frame's object */
        return 1;
    }
    return found;
}

/* Forgets runs that have no frame any more: an exception has left them, and how long they took
   nobody knows. */
static int
drop_those_left(RunTimes *self, PyObject *open, PyObject *caller)
{
    Py_ssize_t from = -1, at = PyList_GET_SIZE(open);
    while ((at = run_below(open, at)) >= 0) {
        const Run *run = (Run *)PyList_GET_ITEM(open, at);
        if (!run->of_graph && !is_running(run->code, caller)) {
            from = at;
        }
    }
    return from < 0 ? 0 : drop(self, open, from);
}

static PyObject *
hit(RunTimes *self, PyObject *args)
{
    PyObject *code, *lookup, *caller;
    if (!PyArg_ParseTuple(args, "O!O!O:hit", &PyCode_Type, &code, &PyLong_Type, &lookup, &caller)) {
        return NULL;
    }
    if (caller != Py_None && !PyFrame_Check(caller)) {
        return PyErr_Format(PyExc_TypeError, "a frame or None is wanted");
    }
    PyObject *open = open_here_from_now(self);
    PyObject *thread = open == NULL ? NULL : PyObject_CallNoArgs(self->thread);
    int done = thread == NULL ? -1 : drop_those_left(self, open, caller);
    if (done == 0) {
        done = begin(self, open, self->transformed_name, code, lookup, thread);
    }
    Py_XDECREF(thread);
    Py_XDECREF(open);
    return answer_none(done);
}

static PyObject *
awaits(RunTimes *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2) {
        return PyErr_Format(PyExc_TypeError, "awaits() wants a code and a frame");
    }
    PyObject *open = open_here(self);
    if (open == NULL && PyErr_Occurred()) {
        return NULL;
    }
    int awaited = 0;
    Py_ssize_t at = open == NULL ? -1 : run_below(open, PyList_GET_SIZE(open));
    if (at >= 0 && PyFrame_Check(args[1])) {
        const Run *run = (Run *)PyList_GET_ITEM(open, at);
        PyObject *calling = (PyObject *)PyFrame_GetCode((PyFrameObject *)args[1]);
        awaited = !run->of_graph && run->code == calling && calling != args[0];
        Py_DECREF(calling);
    }
    Py_XDECREF(open);
    return PyBool_FromLong(awaited);
}

static PyObject *
begins(RunTimes *self, PyObject *code)
{
    PyObject *open = open_here(self);
    int done = open == NULL && PyErr_Occurred() ? -1 : 0;
    Py_ssize_t at = open == NULL ? -1 : run_below(open, PyList_GET_SIZE(open));
    if (at >= 0) {
        Run *around = (Run *)Py_NewRef(PyList_GET_ITEM(open, at));
        done = begin(self, open, self->graph_name, code, around->lookup, around->thread);
        Py_DECREF(around);
    }
    Py_XDECREF(open);
    return answer_none(done);
}

/* The place of the innermost run, if it is this code's, or that of the run in which a graph was left
   by an exception; -1: it is another's. */
static Py_ssize_t
run_of(PyObject *open, PyObject *code)
{
    Py_ssize_t at = run_below(open, PyList_GET_SIZE(open));
    while (at >= 0 && ((Run *)PyList_GET_ITEM(open, at))->code != code) {
        at = ((Run *)PyList_GET_ITEM(open, at))->of_graph ? run_below(open, at) : -1;
    }
    return at;
}

static int
write_run(RunTimes *self, const Run *run, PyObject *around, long long now)
{
    long long telling = told - run->told, spent = now - run->began - telling;
    long long left_out = ((Steps *)self->steps)->away - run->away + telling;
    PyObject *parent = around == NULL ? PyLong_FromLong(0) : PyObject_GetAttr(around, ID(id));
    PyObject *row = parent == NULL ? NULL
                                   : Py_BuildValue("OOLLLOOOL", run->id, run->name, run->began,
                                                   spent < 0 ? 0 : spent, run->moment, parent,
                                                   run->lookup, run->thread, left_out);
    Py_XDECREF(parent);
    int done = row == NULL ? -1 : answer_done(PyObject_CallOneArg(self->write, row));
    Py_XDECREF(row);
    return done;
}

/* Ends the run at a place, and whatever was left open above it. */
static int
end_run(RunTimes *self, PyObject *open, Py_ssize_t at, long long now)
{
    if (at + 1 < PyList_GET_SIZE(open) && drop(self, open, at + 1) < 0) {
        return -1;
    }
    Run *run = (Run *)Py_NewRef(PyList_GET_ITEM(open, at));
    int done = PyList_SetSlice(open, at, at + 1, NULL);
    if (done == 0) {
        done = write_run(self, run, at == 0 ? NULL : PyList_GET_ITEM(open, at - 1), now);
    }
    Py_DECREF(run);
    return done;
}

static PyObject *
ends(RunTimes *self, PyObject *const *args, Py_ssize_t count)
{
    if (count < 1) {
        return PyErr_Format(PyExc_TypeError, "ends() wants a code");
    }
    long long now = moments_clock((Steps *)self->steps);
    PyObject *open = open_here(self);
    int done = open == NULL && PyErr_Occurred() ? -1 : 0;
    Py_ssize_t at = open == NULL ? -1 : run_of(open, args[0]);
    if (at >= 0) {
        done = end_run(self, open, at, now);
    }
    Py_XDECREF(open);
    return answer_none(done);
}

static PyObject *
telling(RunTimes *Py_UNUSED(self), PyObject *nanoseconds)
{
    long long spent = PyLong_AsLongLong(nanoseconds);
    if (spent == -1 && PyErr_Occurred()) {
        return NULL;
    }
    told += spent;
    Py_RETURN_NONE;
}

COLLECTED(run, Run, 5)
COLLECTED(run_times, RunTimes, OBJECTS)

static PyMemberDef run_members[] = {
    {"id", T_OBJECT, offsetof(Run, id), READONLY, NULL},
    {"name", T_OBJECT, offsetof(Run, name), READONLY, NULL},
    {NULL},
};

static PyTypeObject Run_Type = {
    TYPE(Run),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_members = run_members,
    COLLECTED_SLOTS(run),
};

static PyObject *
run_times_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    PyObject *given[OBJECTS];
    if (!PyArg_ParseTuple(args, "O!OO!OOOUU:RunTimes", &Steps_Type, &given[0], &given[1],
                          &PyDict_Type, &given[2], &given[3], &given[4], &given[5], &given[6],
                          &given[7])) {
        return NULL;
    }
    if (!PyIter_Check(given[1])) {
        return PyErr_Format(PyExc_TypeError, "an iterator of numbers is wanted");
    }
    RunTimes *self = (RunTimes *)type->tp_alloc(type, 0);
    if (self != NULL) {
        collected_set(&self->steps, OBJECTS, given);
    }
    return (PyObject *)self;
}

static PyMethodDef run_times_methods[] = {
    METHOD("hit", hit, METH_VARARGS),   METHOD("awaits", awaits, METH_FASTCALL),
    METHOD("begins", begins, METH_O),   METHOD("ends", ends, METH_FASTCALL),
    METHOD("telling", telling, METH_O), {NULL},
};

static PyTypeObject RunTimes_Type = {
    TYPE(RunTimes),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = run_times_new,
    .tp_methods = run_times_methods,
    COLLECTED_SLOTS(run_times),
};

const Part run_times_part = {.types = {&RunTimes_Type, &Run_Type}};
