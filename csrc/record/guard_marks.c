/* Which guards came with which moment, marked as they come and told later.

   The idea is that of steps.c: to put a guard in words in the midst of the compiler costs far more
   than in a loop over a hundred of them. A guard does not change; so what must be noted at once is
   only that it is there, the moment, and the place in the program. They are told before each
   commit.

   The set is Dynamo's, a dictionary that is ordered: what is new stands behind what was there. That
   nothing else happened to it shows in its size and in the guard that was the newest one. If
   something did (a guard was taken back, the set was replaced) it is `lost`, and the engine looks
   at the whole set at once. */

#include "record/steps.h"

#include "support/grow.h"
#include "support/names.h"

static void
forget(GuardMarks *self, Py_ssize_t from)
{
    while (self->count > from) {
        GuardMark mark = self->marks[--self->count];
        Py_DECREF(mark.guard);
        Py_XDECREF(mark.code);
    }
}

static void
forget_set(GuardMarks *self)
{
    self->place = self->size = 0;
    Py_CLEAR(self->last);
    Py_CLEAR(self->contents);
    Py_CLEAR(self->set);
}

void
guard_marks_clear(GuardMarks *self)
{
    forget(self, 0);
    forget_set(self);
    Py_CLEAR(self->attempt);
    self->changed = self->lost = self->at_once = 0;
}

void
guard_marks_free(GuardMarks *self)
{
    guard_marks_clear(self);
    PyMem_Free(self->marks);
    self->marks = NULL;
    self->room = 0;
}

/* The set's dictionary, a new reference. Not by asking the set: that is a call of Python code. */
static PyObject *
container_kinds_contents(PyObject *set)
{
    PyObject *inner = PyObject_GetAttr(set, ID(inner));
    PyObject *contents = inner == NULL ? NULL : PyObject_GetAttr(inner, ID(_dict));
    Py_XDECREF(inner);
    if (contents != NULL && !PyDict_Check(contents)) {
        PyErr_SetString(PyExc_TypeError, "a set of guards without a dictionary");
        Py_CLEAR(contents);
    }
    return contents;
}

/* Go on in the dictionary behind the newest guard that was seen; 0: it does not stand there. */
static int
find_last(GuardMarks *self, PyObject *contents, Py_ssize_t *next)
{
    *next = self->place;
    PyObject *key;
    return self->last == NULL || (PyDict_Next(contents, next, &key, NULL) && key == self->last);
}

/* Mark what stands behind the last guard; -1 with an exception. */
static int
mark_behind(Steps *steps, PyObject *contents, Py_ssize_t next)
{
    GuardMarks *self = &steps->guards;
    Mirror *frame = steps->current == Py_None ? NULL : (Mirror *)steps->current;
    PyObject *code = NULL, *key, *last = NULL;
    if (frame != NULL && frame->attempt == self->attempt) {
        code = PyObject_GetAttrString((PyObject *)frame, "code");
        if (code == NULL) {
            return -1;
        }
    }
    Py_ssize_t before = self->count, place = next;
    int done = 0;
    for (Py_ssize_t here = next; PyDict_Next(contents, &next, &key, NULL); here = next) {
        done = grow_array(&self->marks, &self->room, self->count + 1, sizeof(GuardMark));
        if (done < 0) {
            break;
        }
        self->marks[self->count++] = (GuardMark){
            .guard = Py_NewRef(key),
            .code = Py_XNewRef(code),
            .moment = steps->moment,
            .frame = frame == NULL ? 0 : frame->id,
            .ip = frame == NULL ? 0 : frame->ip,
        };
        place = here;
        last = key;
    }
    Py_XDECREF(code);
    if (done < 0 || self->size + self->count - before != PyDict_GET_SIZE(contents)) {
        forget(self, before);
        self->lost = 1;
    }
    else if (last != NULL) {
        self->size = PyDict_GET_SIZE(contents);
        self->place = place;
        Py_XSETREF(self->last, Py_NewRef(last));
    }
    return done;
}

int
guard_marks_note(Steps *steps)
{
    GuardMarks *self = &steps->guards;
    if (!self->changed) {
        return 0;
    }
    self->changed = 0;
    if (self->attempt == NULL || self->set == NULL) {
        return 0;
    }
    Py_ssize_t next, before = self->count;
    PyObject *contents = container_kinds_contents(self->set);
    if (contents == NULL) {
        return -1;
    }
    int done = 0;
    if (self->contents == NULL && !self->lost) {
        self->contents = Py_NewRef(contents);
    }
    if (self->contents != contents || !find_last(self, contents, &next)) {
        self->lost = 1;
    }
    if (!self->lost) {
        done = mark_behind(steps, contents, next);
    }
    Py_DECREF(contents);
    if (self->lost || (self->at_once && self->count > before)) {
        steps->graph_changed = 1;
    }
    return done;
}

PyObject *
guard_marks_add(Steps *self, PyObject *set)
{
    if (self->guards.attempt != NULL) {
        if (self->guards.set != set) {
            Py_XSETREF(self->guards.set, Py_NewRef(set));
        }
        self->guards.changed = 1;
    }
    Py_RETURN_NONE;
}

PyObject *
guard_marks_watch(Steps *self, PyObject *const *args, Py_ssize_t count)
{
    int at_once = count == 3 ? PyObject_IsTrue(args[1]) : -1;
    int fresh = at_once < 0 ? -1 : PyObject_IsTrue(args[2]);
    if (fresh < 0) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "watch_guards(attempt, at_once, fresh)");
        }
        return NULL;
    }
    guard_marks_clear(&self->guards);
    if (args[0] != Py_None) {
        self->guards.attempt = Py_NewRef(args[0]);
        self->guards.at_once = (char)at_once;
        if (!fresh) {
            self->guards.lost = self->graph_changed = 1;
        }
    }
    Py_RETURN_NONE;
}

PyObject *
guard_marks_seen(Steps *self, PyObject *contents)
{
    GuardMarks *marks = &self->guards;
    if (!PyDict_Check(contents)) {
        return PyErr_Format(PyExc_TypeError, "guards_seen(contents: dict)");
    }
    forget_set(marks);
    marks->lost = marks->changed = 0;
    marks->contents = Py_NewRef(contents);
    marks->size = PyDict_GET_SIZE(contents);
    PyObject *key, *last = NULL;
    for (Py_ssize_t here = 0, next = 0; PyDict_Next(contents, &next, &key, NULL); here = next) {
        marks->place = here;
        last = key;
    }
    marks->last = Py_XNewRef(last);
    Py_RETURN_NONE;
}

PyObject *
guard_marks_take(Steps *self, PyObject *Py_UNUSED(unused))
{
    GuardMarks *marks = &self->guards;
    char changed = marks->changed;
    if (guard_marks_note(self) < 0) {
        return NULL;
    }
    marks->changed = changed; /* one can be on its way into the set right now */
    /* One list of them all: a tuple for each would wake the garbage collector. */
    PyObject *list = PyList_New(5 * marks->count);
    for (Py_ssize_t i = 0, to = 0; list != NULL && i < marks->count; i++) {
        const GuardMark *mark = &marks->marks[i];
        PyList_SET_ITEM(list, to++, Py_NewRef(mark->guard));
        PyList_SET_ITEM(list, to++, PyLong_FromLongLong(mark->moment));
        PyList_SET_ITEM(list, to++, PyLong_FromLongLong(mark->frame));
        PyList_SET_ITEM(list, to++, Py_NewRef(mark->code == NULL ? Py_None : mark->code));
        PyList_SET_ITEM(list, to++, PyLong_FromSsize_t(mark->ip));
    }
    if (list != NULL && PyErr_Occurred()) { /* a number could not be made */
        Py_CLEAR(list);
    }
    if (list != NULL) {
        forget(marks, 0);
    }
    return list;
}
