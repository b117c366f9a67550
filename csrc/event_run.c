/* Events that wait to be written, packed as they come (see Events in stepper/recording/schema.py).

   A compile has ten thousand of them, told from the midst of it; so one is a call of one function
   and leaves no object. They are written when somebody commits, and at latest by the first event
   after a time of quiet. */

#include "module.h"

#include "pack.h"
#include "steps.h"

#include <time.h>

enum { COLUMNS = 5 }; /* moments, kinds, texts, refs, frames */

typedef struct {
    PyObject_HEAD
    PyObject *flush;
    double quiet, taken_at; /* seconds */
    long long first;        /* number of the first event that waits */
    size_t count;
    Buffer columns[COLUMNS], body;
} EventRun;

static double
seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int
pack_number(Buffer *out, PyObject *number)
{
    if (number == Py_None) {
        return pack_nil(out);
    }
    long long value = PyLong_AsLongLong(number);
    if (value < 0) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "moments and ids are not negative");
        }
        return -1;
    }
    return pack_uint(out, (uint64_t)value);
}

static int
pack_event(EventRun *self, PyObject *const *args, Py_ssize_t count)
{
    return pack_number(&self->columns[0], args[0]) < 0
                   || pack_text(&self->columns[1], args[1]) < 0
                   || pack_text(&self->columns[2], args[2]) < 0
                   || pack_number(&self->columns[3], count > 3 ? args[3] : Py_None) < 0
                   || pack_number(&self->columns[4], count > 4 ? args[4] : Py_None) < 0
               ? -1
               : 0;
}

static PyObject *
run_add(EventRun *self, PyObject *const *args, Py_ssize_t count)
{
    if (count < 3 || count > COLUMNS || !PyUnicode_Check(args[1]) || !PyUnicode_Check(args[2])) {
        PyErr_SetString(PyExc_TypeError, "add(moment, kind, text, ref=None, frame=None)");
        return NULL;
    }
    size_t sizes[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        sizes[i] = self->columns[i].size;
    }
    if (pack_event(self, args, count) < 0) {
        for (int i = 0; i < COLUMNS; i++) {
            self->columns[i].size = sizes[i];
        }
        return NULL;
    }
    long long number = self->first + (long long)self->count++;
    if (self->flush != NULL && seconds_now() - self->taken_at > self->quiet) {
        PyObject *answer = PyObject_CallNoArgs(self->flush);
        if (answer == NULL) {
            return NULL;
        }
        Py_DECREF(answer);
    }
    return PyLong_FromLongLong(number);
}

/* What happened at the newest moment. */
static PyObject *
run_add_at(EventRun *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 4 || !PyObject_TypeCheck(args[0], &Steps_Type)) {
        PyErr_SetString(PyExc_TypeError, "add_at(steps, kind, text, ref)");
        return NULL;
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
forget(EventRun *self)
{
    self->first += (long long)self->count;
    self->count = 0;
    for (int i = 0; i < COLUMNS; i++) {
        self->columns[i].size = 0;
    }
    self->taken_at = seconds_now();
}

static PyObject *
run_take(EventRun *self, PyObject *Py_UNUSED(ignored))
{
    if (self->count == 0) {
        forget(self);
        Py_RETURN_NONE;
    }
    Buffer *out = &self->body;
    out->size = 0;
    int done = pack_array(out, COLUMNS);
    for (int i = 0; done == 0 && i < COLUMNS; i++) {
        const Buffer *column = &self->columns[i];
        done = pack_array(out, self->count) < 0 || pack_raw(out, column->data, column->size) < 0
                   ? -1
                   : 0;
    }
    PyObject *taken = done < 0 ? NULL
                               : Py_BuildValue("Lny#", self->first, (Py_ssize_t)self->count,
                                               (const char *)out->data, (Py_ssize_t)out->size);
    if (taken != NULL) {
        forget(self);
    }
    return taken;
}

static int
run_init(EventRun *self, PyObject *args, PyObject *kwargs)
{
    static char *parameters[] = {"flush", "quiet", NULL};
    PyObject *flush;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Od:EventRun", parameters, &flush,
                                     &self->quiet)) {
        return -1;
    }
    Py_XSETREF(self->flush, Py_NewRef(flush));
    self->first = 1;
    self->count = 0;
    forget(self);
    return 0;
}

static int
run_traverse(EventRun *self, visitproc visit, void *arg)
{
    Py_VISIT(self->flush);
    return 0;
}

static int
run_clear(EventRun *self)
{
    Py_CLEAR(self->flush);
    return 0;
}

static void
run_dealloc(EventRun *self)
{
    PyObject_GC_UnTrack(self);
    run_clear(self);
    for (int i = 0; i < COLUMNS; i++) {
        buffer_free(&self->columns[i]);
    }
    buffer_free(&self->body);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef methods[] = {
    {"add", (PyCFunction)(void (*)(void))run_add, METH_FASTCALL, NULL},
    {"add_at", (PyCFunction)(void (*)(void))run_add_at, METH_FASTCALL, NULL},
    {"take", (PyCFunction)run_take, METH_NOARGS, NULL},
    {NULL},
};

static PyTypeObject EventRun_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "stepper._C.EventRun",
    .tp_doc = PyDoc_STR("Events that wait to be written."),
    .tp_basicsize = sizeof(EventRun),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)run_init,
    .tp_dealloc = (destructor)run_dealloc,
    .tp_traverse = (traverseproc)run_traverse,
    .tp_clear = (inquiry)run_clear,
    .tp_methods = methods,
};

int
stepper_add_event_run(PyObject *module)
{
    return PyModule_AddType(module, &EventRun_Type);
}
