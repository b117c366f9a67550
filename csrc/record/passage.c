/* Moments that are told again, as they were told before: a lookup that finds what the one before it
   found. Their bytes are kept, so that nothing of them is described or packed anew; only the
   numbers of their frames are others. */

#include "record/steps.h"

#include "support/collected.h"

#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *steps; /* a Steps */
    long long told, first_frame;
    size_t run_size, frames_at, ips_at, deltas_at; /* where in its buffers the first one begins */
    size_t count;                                  /* 0: it is not known what they are */
    uint64_t *frames;                              /* of each, counted from the first */
    Buffer ips, deltas;
} Passage;

static PyObject *
passage_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"steps", NULL};
    Steps *steps;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!:Passage", names, &Steps_Type, &steps)
        || moments_flush(steps) < 0) {
        return NULL;
    }
    Passage *self = (Passage *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->steps = Py_NewRef(steps);
        self->told = steps->told;
        self->first_frame = steps->frames_made.newest + 1;
        self->run_size = steps->run_size;
        self->frames_at = steps->frames.size;
        self->ips_at = steps->ips.size;
        self->deltas_at = steps->deltas.size;
    }
    return (PyObject *)self;
}

/* A number as pack_uint has written it; moves `at` behind it. */
static uint64_t
unpack_uint(const unsigned char **at)
{
    unsigned char mark = *(*at)++;
    int width = mark < 0x80 ? 0 : 1 << (mark - 0xcc);
    uint64_t number = width == 0 ? mark : 0;
    for (int i = 0; i < width; i++) {
        number = number << 8 | *(*at)++;
    }
    return number;
}

static int
keep_moments(Passage *self, const Steps *steps, size_t count)
{
    const unsigned char *at = steps->frames.data + self->frames_at;
    self->frames = PyMem_Calloc(count, sizeof *self->frames);
    if (self->frames == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t frame = unpack_uint(&at);
        if (frame < (uint64_t)self->first_frame) {
            return 0; /* of somebody else's */
        }
        self->frames[i] = frame - (uint64_t)self->first_frame;
    }
    if (pack_raw(&self->ips, steps->ips.data + self->ips_at, steps->ips.size - self->ips_at) < 0
        || pack_raw(&self->deltas, steps->deltas.data + self->deltas_at,
                    steps->deltas.size - self->deltas_at)
               < 0) {
        return -1;
    }
    self->count = count;
    return 0;
}

static PyObject *
passage_end(Passage *self, PyObject *wanted)
{
    Steps *steps = (Steps *)self->steps;
    Py_ssize_t count = PyLong_AsSsize_t(wanted);
    if (count == -1 && PyErr_Occurred()) {
        return NULL;
    }
    size_t since = (size_t)(steps->told - self->told);
    /* Where the run was taken meanwhile, a part of them is gone. */
    if (self->count == 0 && self->frames == NULL && count > 0 && since == (size_t)count
        && steps->run_size == self->run_size + since && keep_moments(self, steps, since) < 0) {
        return NULL;
    }
    return PyBool_FromLong(self->count > 0);
}

static PyObject *
passage_again(Passage *self, PyObject *args)
{
    Steps *steps = (Steps *)self->steps;
    long long first;
    PyObject *write, *row;
    if (!PyArg_ParseTuple(args, "LOO:again", &first, &write, &row) || moments_flush(steps) < 0) {
        return NULL;
    }
    if (self->count == 0 || steps->writing) {
        return PyErr_Format(PyExc_RuntimeError, "these moments cannot be told again now");
    }
    long long now = moments_clock(steps);
    if (moments_add_many(steps, first, self->frames, self->count, now, &self->ips, &self->deltas)
        < 0) {
        return NULL;
    }
    steps->moment += (long long)self->count;
    return PyObject_CallOneArg(write, row);
}

COLLECTED(held, Passage, 1)

static void
passage_dealloc(Passage *self)
{
    PyMem_Free(self->frames);
    buffer_free(&self->ips);
    buffer_free(&self->deltas);
    held_dealloc(self);
}

static PyMethodDef passage_methods[] = {
    METHOD("end", passage_end, METH_O),
    METHOD("again", passage_again, METH_VARARGS),
    {NULL},
};

static PyMemberDef passage_members[] = {
    {"first_frame", T_LONGLONG, offsetof(Passage, first_frame), READONLY, NULL},
    {NULL},
};

PyTypeObject Passage_Type = {
    TYPE(Passage),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = passage_new,
    .tp_methods = passage_methods,
    .tp_members = passage_members,
    COLLECTED_SLOTS_BUT(held, passage_dealloc),
};

const Part passage_part = {.types = {&Passage_Type}};
