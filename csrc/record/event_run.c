/* Events that wait to be written, packed as they come (see Events in stepper/recording/schema.py).

   A compile has ten thousand of them, told from the midst of it; so one is a call of one function
   and leaves no object. They are written when somebody commits, and at latest by the first event
   after a time of quiet.

   Some are told late, just before a commit (see guard_marks.c). They wait apart, and are put in
   their places, by moment, when all are written.

   How many there are of each kind, and between which moments, is counted beside them, so that a
   reader need not decode what it only counts. */

#include "module.h"

#include "record/steps.h"
#include "support/collected.h"
#include "support/grow.h"
#include "support/pack.h"

#include <limits.h>
#include <time.h>

enum { COLUMNS = 5 }; /* moments, kinds, texts, refs, frames */

enum { MOST_KINDS = 64 };

typedef struct {
    long long moment;
    int kind;             /* its place among all kinds */
    size_t ends[COLUMNS]; /* of this event in each column */
} Event;

typedef struct {
    Event *events;
    Py_ssize_t count, room;
    Buffer columns[COLUMNS];
} Queue;

typedef struct {
    PyObject_HEAD
    PyObject *flush;
    PyObject *kinds;        /* tuple of str */
    double quiet, taken_at; /* seconds */
    long long first;        /* number of the first event that waits */
    Queue inorder, late;
    Buffer body;
} EventRun;

static double
seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int
pack_number(Buffer *out, PyObject *number, long long *value)
{
    *value = 0;
    if (number == Py_None) {
        return pack_nil(out);
    }
    *value = PyLong_AsLongLong(number);
    if (*value < 0) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "moments and ids are not negative");
        }
        return -1;
    }
    return pack_uint(out, (uint64_t)*value);
}

/* The place of a kind among all; -1 with an exception. Mostly it is the very object. */
static int
kind_at(EventRun *self, PyObject *kind)
{
    Py_ssize_t size = self->kinds == NULL ? 0 : PyTuple_GET_SIZE(self->kinds);
    for (Py_ssize_t i = 0; i < size; i++) {
        if (PyTuple_GET_ITEM(self->kinds, i) == kind) {
            return (int)i;
        }
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        if (PyUnicode_Compare(PyTuple_GET_ITEM(self->kinds, i), kind) == 0) {
            return (int)i;
        }
    }
    return answer_refuse(PyExc_ValueError, "no such kind of event");
}

static int
pack_event(Queue *queue, int kind, PyObject *const *args, Py_ssize_t count)
{
    long long moment, unused;
    Buffer *columns = queue->columns;
    if (grow_array(&queue->events, &queue->room, queue->count + 1, sizeof(Event)) < 0
        || pack_number(&columns[0], args[0], &moment) < 0 || pack_text(&columns[1], args[1]) < 0
        || pack_text(&columns[2], args[2]) < 0
        || pack_number(&columns[3], count > 3 ? args[3] : Py_None, &unused) < 0
        || pack_number(&columns[4], count > 4 ? args[4] : Py_None, &unused) < 0) {
        return -1;
    }
    Event *event = &queue->events[queue->count++];
    event->moment = moment;
    event->kind = kind;
    for (int i = 0; i < COLUMNS; i++) {
        event->ends[i] = columns[i].size;
    }
    return 0;
}

/* Add an event to a queue; -1 with an exception. */
static int
put(EventRun *self, Queue *queue, PyObject *const *args, Py_ssize_t count)
{
    if (count < 3 || count > COLUMNS || !PyUnicode_Check(args[1]) || !PyUnicode_Check(args[2])) {
        return answer_refuse(PyExc_TypeError,
                             "an event is moment, kind, text, ref=None, frame=None");
    }
    int kind = kind_at(self, args[1]);
    if (kind < 0) {
        return -1;
    }
    if (pack_event(queue, kind, args, count) < 0) {
        for (int i = 0; i < COLUMNS; i++) {
            queue->columns[i].size = queue->count == 0 ? 0
                                                       : queue->events[queue->count - 1].ends[i];
        }
        return -1;
    }
    return 0;
}

static PyObject *
run_add(EventRun *self, PyObject *const *args, Py_ssize_t count)
{
    if (put(self, &self->inorder, args, count) < 0) {
        return NULL;
    }
    if (self->flush != NULL && seconds_now() - self->taken_at > self->quiet) {
        return PyObject_CallNoArgs(self->flush);
    }
    Py_RETURN_NONE;
}

static PyObject *
run_add_late(EventRun *self, PyObject *const *args, Py_ssize_t count)
{
    return answer_none(put(self, &self->late, args, count));
}

/* What happened at the newest moment. */
static PyObject *
run_add_at(EventRun *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 4 || !PyObject_TypeCheck(args[0], &Steps_Type)) {
        return PyErr_Format(PyExc_TypeError, "add_at(steps, kind, text, ref)");
    }
    Steps *steps = (Steps *)args[0];
    Mirror *frame = steps->current == Py_None ? NULL : (Mirror *)steps->current;
    PyObject *moment = PyLong_FromLongLong(steps->moment), *answer = NULL;
    PyObject *id = frame == NULL ? Py_NewRef(Py_None) : PyLong_FromLongLong(frame->id);
    if (moment != NULL && id != NULL) {
        answer = run_add(self, (PyObject *[]){moment, args[1], args[2], args[3], id}, COLUMNS);
    }
    Py_XDECREF(moment);
    Py_XDECREF(id);
    return answer;
}

static void
empty(Queue *queue)
{
    queue->count = 0;
    for (int i = 0; i < COLUMNS; i++) {
        queue->columns[i].size = 0;
    }
}

static void
forget(EventRun *self)
{
    self->first += self->inorder.count + self->late.count;
    empty(&self->inorder);
    empty(&self->late);
    self->taken_at = seconds_now();
}

/* A column of some events, one after the other. */
static int
pack_part(Buffer *out, const Queue *queue, int column, Py_ssize_t from, Py_ssize_t to)
{
    size_t start = from == 0 ? 0 : queue->events[from - 1].ends[column];
    size_t end = to == 0 ? 0 : queue->events[to - 1].ends[column];
    return start == end ? 0 : pack_raw(out, queue->columns[column].data + start, end - start);
}

/* A column of all events: those that were late stand behind what happened at their moment. */
static int
pack_column(EventRun *self, int column)
{
    const Queue *inorder = &self->inorder, *late = &self->late;
    Py_ssize_t told = 0, next = 0;
    for (Py_ssize_t i = 0; i < inorder->count && next < late->count; i++) {
        Py_ssize_t behind = next;
        while (behind < late->count && late->events[behind].moment < inorder->events[i].moment) {
            behind++;
        }
        if (behind > next) {
            if (pack_part(&self->body, inorder, column, told, i) < 0
                || pack_part(&self->body, late, column, next, behind) < 0) {
                return -1;
            }
            told = i;
            next = behind;
        }
    }
    return pack_part(&self->body, inorder, column, told, inorder->count) < 0
                   || pack_part(&self->body, late, column, next, late->count) < 0
               ? -1
               : 0;
}

typedef struct {
    long long earliest, latest;
    unsigned char kinds[4 * MOST_KINDS]; /* how many of each, least byte first */
} Summary;

static void
sum_up(Summary *summary, const Queue *queue)
{
    for (Py_ssize_t i = 0; i < queue->count; i++) {
        const Event *event = &queue->events[i];
        unsigned char *count = &summary->kinds[4 * event->kind];
        for (int at = 0; at < 4 && ++count[at] == 0; at++) {
        }
        summary->earliest = Py_MIN(summary->earliest, event->moment);
        summary->latest = Py_MAX(summary->latest, event->moment);
    }
}

static PyObject *
run_take(EventRun *self, PyObject *Py_UNUSED(ignored))
{
    Py_ssize_t count = self->inorder.count + self->late.count;
    if (count == 0) {
        forget(self);
        Py_RETURN_NONE;
    }
    Buffer *out = &self->body;
    out->size = 0;
    int done = pack_array(out, COLUMNS);
    for (int i = 0; done == 0 && i < COLUMNS; i++) {
        done = pack_array(out, (size_t)count) < 0 ? -1 : pack_column(self, i);
    }
    Summary summary = {.earliest = LLONG_MAX};
    sum_up(&summary, &self->inorder);
    sum_up(&summary, &self->late);
    PyObject *taken = done < 0 ? NULL
                               : Py_BuildValue("LnLLy#y#", self->first, count, summary.earliest,
                                               summary.latest, (const char *)summary.kinds,
                                               4 * PyTuple_GET_SIZE(self->kinds),
                                               (const char *)out->data, (Py_ssize_t)out->size);
    if (taken != NULL) {
        forget(self);
    }
    return taken;
}

static int
run_init(EventRun *self, PyObject *args, PyObject *kwargs)
{
    static char *parameters[] = {"flush", "quiet", "kinds", NULL};
    PyObject *flush, *kinds;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OdO!:EventRun", parameters, &flush,
                                     &self->quiet, &PyTuple_Type, &kinds)) {
        return -1;
    }
    if (PyTuple_GET_SIZE(kinds) > MOST_KINDS) {
        return answer_refuse(PyExc_ValueError, "too many kinds of events");
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kinds); i++) {
        if (!PyUnicode_Check(PyTuple_GET_ITEM(kinds, i))) {
            return answer_refuse(PyExc_TypeError, "a kind of event is a str");
        }
    }
    Py_XSETREF(self->flush, Py_NewRef(flush));
    Py_XSETREF(self->kinds, Py_NewRef(kinds));
    forget(self);
    self->first = 1;
    return 0;
}

COLLECTED(flushed, EventRun, 2)

static void
run_dealloc(EventRun *self)
{
    for (int i = 0; i < COLUMNS; i++) {
        buffer_free(&self->inorder.columns[i]);
        buffer_free(&self->late.columns[i]);
    }
    PyMem_Free(self->inorder.events);
    PyMem_Free(self->late.events);
    buffer_free(&self->body);
    flushed_dealloc(self);
}

static PyMethodDef methods[] = {
    METHOD("add", run_add, METH_FASTCALL),
    METHOD("add_at", run_add_at, METH_FASTCALL),
    METHOD("add_late", run_add_late, METH_FASTCALL),
    METHOD("take", run_take, METH_NOARGS),
    {NULL},
};

static PyTypeObject EventRun_Type = {
    TYPE(EventRun),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)run_init,
    .tp_methods = methods,
    COLLECTED_SLOTS_BUT(flushed, run_dealloc),
};

const Part event_run_part = {.types = {&EventRun_Type}};
