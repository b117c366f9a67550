/* Inlined calls as they are written: a row for each, and the events of its beginning and its end.

   A compile inlines thousands of calls, and each was told by a few functions of Python in the midst
   of it. Almost all of what they did is the same each time: what is known of a code is known since
   its first call, and the rest are numbers. So they are put down here, and handed over with the
   next commit. A frame that began otherwise (the first of an attempt, one that was adopted) has its
   row from the recorder; its end can still come here. */

#include "record/frame_rows.h"

#include "record/steps.h"
#include "support/collected.h"
#include "support/grow.h"
#include "support/names.h"

enum { ID, ATTEMPT, PARENT, DEPTH, CODE, FIRST, LAST, CALL }; /* columns */
enum { NONE = -1 };

void
frame_rows_forget_codes(FrameRows *self)
{
    if (self->codes != NULL) {
        PyDict_Clear(self->codes);
    }
}

/* What is known of a code: the engine's code, how many instructions the engine gives it, our Code,
   what `facts_of` says of that. */
enum { ENGINES, LENGTH, OURS, FACTS };

static PyObject *
learn(FrameRows *self, Mirror *frame, PyObject *key, PyObject *engines, Py_ssize_t length)
{
    PyObject *code = PyObject_CallOneArg(frame->make_code, frame->key);
    PyObject *facts = code == NULL ? NULL : PyObject_CallOneArg(self->facts_of, code);
    PyObject *known = NULL;
    if (facts != NULL && !(PyTuple_Check(facts) && PyTuple_GET_SIZE(facts) == 3)) {
        PyErr_SetString(PyExc_TypeError, "a code's facts are its number, what stores, its label");
    }
    else if (facts != NULL) {
        known = Py_BuildValue("OnOO", engines, length, code, facts);
    }
    Py_XDECREF(code);
    Py_XDECREF(facts);
    if (known != NULL && PyDict_SetItem(self->codes, key, known) < 0) {
        Py_CLEAR(known);
    }
    return known;
}

/* What is known of the code that a frame interprets, a new reference. The engine often hands out
   the same list of instructions again, and sometimes one that it made anew. */
static PyObject *
known_code(FrameRows *self, Mirror *frame)
{
    PyObject *engines = PyObject_GetAttr(frame->key, ID(f_code));
    PyObject *list = engines == NULL ? NULL : PyObject_GetAttr(frame->key, ID(instructions));
    Py_ssize_t length = list == NULL ? -1 : PyObject_Size(list);
    PyObject *key = length < 0 ? NULL : PyLong_FromVoidPtr(engines);
    PyObject *known = key == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(self->codes, key));
    if (known != NULL
        && (PyTuple_GET_ITEM(known, ENGINES) != engines
            || PyLong_AsSsize_t(PyTuple_GET_ITEM(known, LENGTH)) != length)) {
        Py_CLEAR(known);
    }
    if (known == NULL && key != NULL && !PyErr_Occurred()) {
        known = learn(self, frame, key, engines, length);
    }
    Py_XDECREF(engines);
    Py_XDECREF(list);
    Py_XDECREF(key);
    return known;
}

static int
record_event(FrameRows *self, long long moment, PyObject *kind, PyObject *text, long long frame,
             long long within)
{
    PyObject *answer = NULL;
    PyObject *args[] = {PyLong_FromLongLong(moment), kind, text, PyLong_FromLongLong(frame),
                        within == NONE ? Py_NewRef(Py_None) : PyLong_FromLongLong(within)};
    if (args[0] != NULL && args[3] != NULL && args[4] != NULL) {
        answer = PyObject_Vectorcall(self->event, args, 5, NULL);
    }
    Py_XDECREF(args[0]);
    Py_XDECREF(args[3]);
    Py_XDECREF(args[4]);
    return answer_done(answer);
}

static long long
number_of(PyObject *object)
{
    PyObject *id = PyObject_GetAttr(object, ID(id));
    long long number = id == NULL ? -1 : PyLong_AsLongLong(id);
    Py_XDECREF(id);
    return number;
}

int
frame_rows_begin(Steps *steps, Mirror *frame)
{
    FrameRows *self = &steps->frame_rows;
    PyObject *known = known_code(self, frame);
    if (known == NULL) {
        return -1;
    }
    PyObject *facts = PyTuple_GET_ITEM(known, FACTS);
    long long code = PyLong_AsLongLong(PyTuple_GET_ITEM(facts, 0));
    long long attempt = number_of(frame->attempt), call = PyLong_AsLongLong(frame->call_moment);
    int done = PyErr_Occurred() == NULL
                       && grow_array(&self->rows, &self->room, self->count + 1, sizeof(FrameRow))
                              == 0
                   ? 0
                   : -1;
    if (done == 0) {
        Py_XSETREF(frame->code, Py_NewRef(PyTuple_GET_ITEM(known, OURS)));
        Py_XSETREF(frame->stores, Py_NewRef(PyTuple_GET_ITEM(facts, 1)));
        frame->written = 1;
        self->rows[self->count++] = (FrameRow){{[ID] = frame->id,
                                                [ATTEMPT] = attempt,
                                                [PARENT] = frame->parent->id,
                                                [DEPTH] = frame->depth,
                                                [CODE] = code,
                                                [FIRST] = steps->moment + 1,
                                                [LAST] = NONE,
                                                [CALL] = call}};
        Mirror *current = steps->current == Py_None ? NULL : (Mirror *)steps->current;
        done = record_event(self, steps->moment, self->begun, PyTuple_GET_ITEM(facts, 2), frame->id,
                            current == NULL ? NONE : current->id);
    }
    Py_DECREF(known);
    return done;
}

/* The row of a frame, if it waits: the frames that end are among the newest. */
static FrameRow *
waiting(FrameRows *self, long long frame)
{
    Py_ssize_t low = 0, high = self->count;
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (self->rows[middle].columns[ID] < frame) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    int found = low < self->count && self->rows[low].columns[ID] == frame;
    return found ? &self->rows[low] : NULL;
}

int
frame_rows_end(Steps *steps, Mirror *frame)
{
    FrameRows *self = &steps->frame_rows;
    FrameRow *row = waiting(self, frame->id);
    if (row != NULL) {
        row->columns[LAST] = steps->moment;
    }
    else {
        if (grow_array(&self->ends, &self->ends_room, self->ends_count + 1, sizeof(FrameEnd)) < 0) {
            return -1;
        }
        self->ends[self->ends_count++] = (FrameEnd){frame->id, steps->moment};
    }
    PyObject *known = known_code(self, frame);
    if (known == NULL) {
        return -1;
    }
    PyObject *label = PyTuple_GET_ITEM(PyTuple_GET_ITEM(known, FACTS), 2);
    int done = record_event(self, steps->moment, self->ended, label, frame->id, frame->parent->id);
    Py_DECREF(known);
    return done;
}

PyObject *
frame_rows_write(Steps *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 4 || !PyUnicode_Check(args[2]) || !PyUnicode_Check(args[3])) {
        return PyErr_Format(PyExc_TypeError, "write_frames(facts_of, event, begun, ended)");
    }
    PyObject *codes = PyDict_New();
    if (codes == NULL) {
        return NULL;
    }
    Py_XSETREF(self->frame_rows.codes, codes);
    collected_set(&self->frame_rows.facts_of, 4, args);
    Py_RETURN_NONE;
}

static int
append(PyObject *list, long long number)
{
    PyObject *item = number == NONE ? Py_NewRef(Py_None) : PyLong_FromLongLong(number);
    int done = item == NULL ? -1 : PyList_Append(list, item);
    Py_XDECREF(item);
    return done;
}

/* Add one list's items to another's. */
static int
add_all(PyObject *list, PyObject *items)
{
    Py_ssize_t end = PyList_GET_SIZE(list);
    return PyList_SetSlice(list, end, end, items);
}

/* In one call, so that no exception from outside gets between the taking and the keeping. */
PyObject *
frame_rows_take(Steps *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !PyList_Check(args[0]) || !PyList_Check(args[1])) {
        return PyErr_Format(PyExc_TypeError, "take_frames(rows: list, ends: list)");
    }
    FrameRows *frames = &self->frame_rows;
    PyObject *rows = PyList_New(0), *ends = PyList_New(0);
    int done = rows == NULL || ends == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; done == 0 && i < frames->count; i++) {
        for (int column = 0; done == 0 && column < FRAME_COLUMNS; column++) {
            done = append(rows, frames->rows[i].columns[column]);
        }
    }
    for (Py_ssize_t i = 0; done == 0 && i < frames->ends_count; i++) {
        if (append(ends, frames->ends[i].moment) < 0 || append(ends, frames->ends[i].frame) < 0) {
            done = -1;
        }
    }
    if (done == 0 && (done = add_all(args[0], rows)) == 0) {
        frames->count = 0;
        if ((done = add_all(args[1], ends)) == 0) {
            frames->ends_count = 0;
        }
    }
    Py_XDECREF(rows);
    Py_XDECREF(ends);
    return answer_none(done);
}
