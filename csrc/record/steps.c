/* The hot path: steps are noted one by one and told in batches.

   The idea. A step runs in the midst of the compiler, with cold caches: what would take two
   microseconds in a loop takes ten there. So a step only notes what changed since the frame's
   previous one (`note`), which is a comparison of a few pointers, and some dozens of notes are
   turned into moments at once (`flush`), in a loop that is warm.

   Why that is no lie. A note holds the very trackers that were there; what could change is what a
   tracker *is*. Whoever is about to change one says so beforehand (`touched`), and all notes are
   told before it happens. Notes are also told before every stop and at the end of every attempt, so
   a tracker is held for at most `BATCH` steps longer than the compiler holds it.

   What is told is the difference to the frame's own previous moment (see `Delta` in
   stepper/recording/schema.py), and now and then the whole state. Moments gather here, packed,
   until the writer takes them (`take`).

   Each moment has its instant on a clock that goes on only while the compiler works: what a step of
   ours takes, and the time for which the program stands still, is `away`.

   Why C. The same in Python cost a third of the compiler's own time, most of it for the garbage
   collector: notes, copies and deltas are short-lived containers, and each thousand of them makes
   it look through the compiler's heap once more. Here they are plain memory.

   Whatever calls Python can come back here: a collection can run a user's finalizer, and that a
   translation. Then `flush` does nothing, since one is under way, and `clear` changes
   `trackers.generation`, by which it sees that its notes are gone. */

#include "record/steps.h"

#include "record/known.h"
#include "record/node_record.h"
#include "support/api.h"
#include "support/collected.h"
#include "support/fields.h"
#include "support/names.h"

#include <structmember.h>

/* An error of ours while a step was noted: the watching ends, the program goes on. */
static PyObject *
answer_error(Steps *self)
{
    if (PyErr_ExceptionMatches(PyExc_RecursionError) || PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyErr_Clear(); /* the program's own limits: what could not be told is tried again */
        Py_RETURN_NONE;
    }
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return NULL;
    }
    PyObject *error = error_take();
    PyObject *answer = PyObject_CallOneArg(self->on_error, error);
    Py_XDECREF(error);
    return answer;
}

/* Whether the judge wants to see each step; -1 with an exception. */
static int
is_alert(Steps *self)
{
    PyObject *alert = fields_attribute(self->judge, ID(alert));
    int truth = answer_truth(alert);
    return truth;
}

static int
call(PyObject *function, PyObject *argument)
{
    PyObject *answer = argument == NULL ? PyObject_CallNoArgs(function)
                                        : PyObject_CallOneArg(function, argument);
    return answer_done(answer);
}

static void
set_current(Steps *self, Mirror *frame)
{
    if (self->current != (PyObject *)frame) {
        Py_XSETREF(self->current, Py_NewRef(frame));
    }
}

/* What the instruction before did to the graph and its guards. */
static int
report_graph(Steps *self)
{
    if (guard_marks_note(self) < 0) {
        return -1;
    }
    int done = 0;
    if (self->graph_changed) {
        done = call(self->on_graph, NULL);
    }
    else if (self->nodes_changed) {
        done = node_marks_report(self);
    }
    if (done == 0) {
        self->nodes_changed = 0;
    }
    return done;
}

static int
do_step(Steps *self, Mirror *frame, PyObject *tx, Py_ssize_t behind)
{
    if (report_graph(self) < 0) {
        return -1;
    }
    if (frame->stores == NULL || !PyBytes_Check(frame->stores)) {
        mirror_clear_state(frame);
        if (call(self->on_adopt, (PyObject *)frame) < 0) {
            return -1;
        }
        if (frame->stores == NULL || !PyBytes_Check(frame->stores)) {
            return answer_refuse(PyExc_RuntimeError, "a frame was not adopted");
        }
    }
    Look look = {0};
    PyObject *blocks = NULL, *top = NULL;
    int alert = -1;
    int done = notes_look_stack(tx, &look) < 0 || notes_look_rest(tx, &look) < 0
                       || notes_changed_blocks(frame, look.blocks, &blocks) < 0
                   ? -1
                   : 0;
    if (done == 0) {
        look.ip -= behind;
        done = notes_add(self, frame, &look, blocks);
    }
    if (done == 0) {
        Py_ssize_t size = PyList_GET_SIZE(look.stack);
        top = size > 0 ? Py_NewRef(PyList_GET_ITEM(look.stack, size - 1)) : NULL;
        alert = is_alert(self);
        done = alert < 0 ? -1 : 0;
    }
    notes_look_free(&look);
    Py_XDECREF(blocks);
    if (done == 0) {
        set_current(self, frame);
        if (alert) {
            done = moments_flush(self) < 0 ? -1 : call(self->on_alert, (PyObject *)frame);
        }
        else {
            int now = self->notes_size - self->notes_recorded >= BATCH;
            if (!now && (now = touched_must_flush_now(&self->trackers, top)) < 0) {
                done = -1;
            }
            if (done == 0 && now) {
                done = moments_flush(self);
            }
        }
    }
    Py_XDECREF(top);
    return done;
}

static PyObject *
steps_step(Steps *self, PyObject *const *args, Py_ssize_t count)
{
    if (count < 1 || count > 2) {
        return PyErr_Format(PyExc_TypeError, "step(tx, behind=0)");
    }
    Mirror *frame = (Mirror *)self->top;
    if (frame == NULL || (PyObject *)frame == Py_None || frame->key != args[0]) {
        Py_RETURN_NONE;
    }
    Py_ssize_t behind = count == 2 ? PyLong_AsSsize_t(args[1]) : 0;
    if (behind == -1 && PyErr_Occurred()) {
        return NULL;
    }
    Py_INCREF(frame);
    long long began = moments_now(), away = self->away;
    self->arrived = began - away;
    int done = do_step(self, frame, args[0], behind);
    self->away = away + moments_now() - began;
    Py_DECREF(frame);
    if (done < 0) {
        return answer_error(self);
    }
    Py_RETURN_NONE;
}

static int
do_glance(Steps *self, Mirror *frame, PyObject *tx)
{
    if (report_graph(self) < 0) {
        return -1; /* while the instruction that made the nodes is the current one */
    }
    Look look = {0};
    Note unused;
    int done = notes_look_stack(tx, &look);
    if (done == 0) {
        done = notes_stack(self, frame, look.stack, &unused);
        frame->ip = look.ip;
        set_current(self, frame);
    }
    notes_look_free(&look);
    notes_release_refs(self);
    if (done == 0) {
        int alert = is_alert(self);
        done = alert <= 0 ? alert : call(self->on_alert, (PyObject *)frame);
    }
    return done;
}

static PyObject *
steps_note_position(Steps *self, PyObject *tx)
{
    Mirror *frame = (Mirror *)self->top;
    if (frame == NULL || (PyObject *)frame == Py_None || frame->key != tx) {
        Py_RETURN_NONE;
    }
    Py_INCREF(frame);
    int done = do_glance(self, frame, tx);
    Py_DECREF(frame);
    if (done < 0) {
        return answer_error(self);
    }
    Py_RETURN_NONE;
}

static PyObject *
steps_flush(Steps *self, PyObject *Py_UNUSED(ignored))
{
    return answer_none(moments_flush(self));
}

static PyObject *
steps_touched(Steps *self, PyObject *tracker)
{
    Mirror *current = (Mirror *)self->current;
    long depth = (PyObject *)current == Py_None ? 0 : current->depth;
    return moments_flush(self) < 0 || touched_add(&self->trackers, tracker, depth) < 0
               ? NULL
               : Py_NewRef(Py_None);
}

static PyObject *
steps_number(Steps *self, PyObject *tracker)
{
    uint32_t number = trackers_number(&self->trackers, tracker);
    return number == 0 ? NULL : PyLong_FromUnsignedLong(number);
}

static PyObject *
steps_restart(Steps *self, PyObject *Py_UNUSED(ignored))
{
    self->keyframe_due = 0;
    Py_RETURN_NONE;
}

static PyObject *
steps_clear(Steps *self, PyObject *Py_UNUSED(ignored))
{
    /* The moments of notes that were never told are there all the same. */
    const Buffer nothing = {0};
    for (Py_ssize_t i = self->notes_recorded; i < self->notes_size; i++) {
        if (moments_add(self, self->notes[i].frame->id, self->notes[i].ip, self->notes[i].at,
                        &nothing)
            < 0) {
            return NULL;
        }
    }
    self->notes_recorded = self->notes_size;
    trackers_clear(&self->trackers);
    notes_release(self);
    frame_rows_forget_codes(&self->frame_rows);
    Py_XSETREF(self->current, Py_NewRef(Py_None));
    Py_RETURN_NONE;
}

static PyObject *
steps_add(Steps *self, PyObject *args)
{
    long long frame;
    Py_ssize_t ip;
    Buffer delta = {0};
    Py_ssize_t size = 0;
    if (!PyArg_ParseTuple(args, "Lnz#", &frame, &ip, (const char **)&delta.data, &size)) {
        return NULL;
    }
    delta.size = (size_t)size;
    if (moments_flush(self) < 0) {
        return NULL;
    }
    if (self->writing) {
        return PyErr_Format(PyExc_RuntimeError, "a moment cannot be told while others are told");
    }
    if (moments_add(self, frame, ip, moments_clock(self), &delta) < 0) {
        return NULL;
    }
    return PyLong_FromLongLong(++self->moment);
}

static PyObject *
steps_take(Steps *self, PyObject *Py_UNUSED(ignored))
{
    if (self->run_size == 0) {
        Py_RETURN_NONE;
    }
    Buffer *out = &self->scratch;
    out->size = 0;
    size_t count = self->run_size;
    if (pack_array(out, 4) < 0 || pack_array(out, count) < 0
        || pack_raw(out, self->frames.data, self->frames.size) < 0 || pack_array(out, count) < 0
        || pack_raw(out, self->ips.data, self->ips.size) < 0 || pack_array(out, count) < 0
        || pack_raw(out, self->deltas.data, self->deltas.size) < 0 || pack_array(out, count) < 0
        || pack_raw(out, self->clock.data, self->clock.size) < 0) {
        return NULL;
    }
    PyObject *taken = Py_BuildValue("Lny#", self->run_first, (Py_ssize_t)count,
                                    (const char *)out->data, (Py_ssize_t)out->size);
    if (taken != NULL) {
        self->run_size = 0;
        self->frames.size = self->ips.size = self->deltas.size = self->clock.size = 0;
    }
    return taken;
}

static PyObject *
steps_clock(Steps *self, PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLongLong(moments_clock(self));
}

static PyObject *
steps_record_whole(Steps *self, PyObject *frame)
{
    if (!PyObject_TypeCheck(frame, &Mirror_Type)) {
        return PyErr_Format(PyExc_TypeError, "record_whole(frame: Mirror)");
    }
    return answer_none(moments_record_whole(self, (Mirror *)frame));
}

static int
steps_init(Steps *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"controller",     "describer",   "late_mutation_types",
                            "on_graph",       "on_alert",    "on_adopt",
                            "on_error",       "pack_blocks", "speculation_text",
                            "write_keyframe", "flush",       NULL};
    PyObject *describer, *late, *judge, *functions[8];
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO!OOOOOOOO", names, &judge, &describer,
                                     &PyFrozenSet_Type, &late, &functions[0], &functions[1],
                                     &functions[2], &functions[3], &functions[4], &functions[5],
                                     &functions[6], &functions[7])) {
        return -1;
    }
    if (self->judge != NULL) {
        return answer_refuse(PyExc_TypeError, "Steps are made once");
    }
    collected_set(&self->on_graph, 8, functions);
    self->judge = Py_NewRef(judge);
    self->top = Py_NewRef(Py_None);
    self->current = Py_NewRef(Py_None);
    PyObject *number = PyObject_GetAttrString((PyObject *)self, "number");
    int done = number == NULL ? -1 : trackers_init(&self->trackers, describer, late, number);
    Py_XDECREF(number);
    return done;
}

enum { STEPS_OBJECTS = 10 }; /* before `top` */

static int
steps_traverse(Steps *self, visitproc visit, void *arg)
{
    Py_VISIT(self->guards.attempt);
    Py_VISIT(self->guards.set);
    Py_VISIT(self->guards.contents);
    Py_VISIT(self->trackers.number_function);
    Py_VISIT(self->trackers.describer);
    Py_VISIT(self->trackers.facts);
    int found = collected_visit(&self->frames_made.interpreters, FRAMES_OBJECTS, visit, arg);
    found = found ? found
                  : collected_visit(&self->frame_rows.facts_of, FRAME_ROWS_OBJECTS, visit, arg);
    return found ? found : collected_visit(&self->on_graph, STEPS_OBJECTS, visit, arg);
}

static int
steps_clear_references(Steps *self)
{
    notes_release(self);
    collected_clear(&self->frames_made.interpreters, FRAMES_OBJECTS);
    collected_clear(&self->frame_rows.facts_of, FRAME_ROWS_OBJECTS);
    guard_marks_clear(&self->guards);
    made_marks_clear(&self->made);
    trackers_free(&self->trackers);
    collected_clear(&self->on_graph, STEPS_OBJECTS);
    /* From here on no step is ours. */
    Py_XSETREF(self->top, Py_NewRef(Py_None));
    Py_XSETREF(self->current, Py_NewRef(Py_None));
    return 0;
}

static void
steps_dealloc(Steps *self)
{
    PyObject_GC_UnTrack(self);
    steps_clear_references(self);
    guard_marks_free(&self->guards);
    PyMem_Free(self->frame_rows.rows);
    PyMem_Free(self->frame_rows.ends);
    PyMem_Free(self->notes);
    PyMem_Free(self->refs);
    PyMem_Free(self->numbers);
    buffer_free(&self->frames);
    buffer_free(&self->ips);
    buffer_free(&self->deltas);
    buffer_free(&self->clock);
    buffer_free(&self->scratch);
    Py_CLEAR(self->top);
    Py_CLEAR(self->current);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *
get_frame(Steps *self, void *which)
{
    return Py_NewRef(which == NULL ? self->top : self->current);
}

static int
set_frame(Steps *self, PyObject *value, void *which)
{
    if (value != Py_None && (value == NULL || !PyObject_TypeCheck(value, &Mirror_Type))) {
        return answer_refuse(PyExc_TypeError, "a Mirror or None is wanted");
    }
    PyObject **place = which == NULL ? &self->top : &self->current;
    Py_XSETREF(*place, Py_NewRef(value));
    return 0;
}

static PyObject *
get_graph(Steps *self, void *Py_UNUSED(closure))
{
    return Py_NewRef(self->graph == NULL ? Py_None : self->graph);
}

static int
set_graph(Steps *self, PyObject *value, void *Py_UNUSED(closure))
{
    if (value != Py_None && (value == NULL || !PyObject_TypeCheck(value, &NodeMarks_Type))) {
        return answer_refuse(PyExc_TypeError, "NodeMarks or None is wanted");
    }
    Py_XSETREF(self->graph, Py_NewRef(value));
    return 0;
}

static PyMemberDef members[] = {
    {"moment", T_LONGLONG, offsetof(Steps, moment), 0, NULL},
    {"waiting", T_PYSSIZET, offsetof(Steps, run_size), READONLY, NULL},
    {"away", T_LONGLONG, offsetof(Steps, away), 0, NULL},
    {"graph_changed", T_BOOL, offsetof(Steps, graph_changed), 0, NULL},
    {"nodes_changed", T_BOOL, offsetof(Steps, nodes_changed), 0, NULL},
    {"last_frame", T_LONGLONG, offsetof(Steps, frames_made.newest), 0, NULL},
    {"records_frames", T_BOOL, offsetof(Steps, frames_made.told), 0, NULL},
    {"writes_frames", T_BOOL, offsetof(Steps, frame_rows.on), 0, NULL},
    {"guards_of", T_OBJECT, offsetof(Steps, guards.attempt), READONLY, NULL},
    {"guards_lost", T_BOOL, offsetof(Steps, guards.lost), 0, NULL},
    {"times_guards", T_BOOL, offsetof(Steps, made.on), 0, NULL},
    {NULL},
};

static PyGetSetDef getset[] = {
    {"top", (getter)get_frame, (setter)set_frame, NULL, NULL},
    {"current", (getter)get_frame, (setter)set_frame, NULL, "current"},
    {"graph", (getter)get_graph, (setter)set_graph, NULL, NULL},
    {NULL},
};

static PyMethodDef methods[] = {
    METHOD("step", steps_step, METH_FASTCALL),
    METHOD("note_position", steps_note_position, METH_O),
    METHOD("flush", steps_flush, METH_NOARGS),
    METHOD("record_whole", steps_record_whole, METH_O),
    METHOD("touched", steps_touched, METH_O),
    METHOD("number", steps_number, METH_O),
    METHOD("restart", steps_restart, METH_NOARGS),
    METHOD("clear", steps_clear, METH_NOARGS),
    METHOD("add", steps_add, METH_VARARGS),
    METHOD("clock", steps_clock, METH_NOARGS),
    METHOD("take", steps_take, METH_NOARGS),
    METHOD("hear_frames", frames_hear, METH_VARARGS),
    METHOD("write_frames", frame_rows_write, METH_FASTCALL),
    METHOD("take_frames", frame_rows_take, METH_FASTCALL),
    METHOD("follow", frames_follow, METH_FASTCALL),
    METHOD("frame_entered", frames_entered, METH_FASTCALL),
    METHOD("frame_left", frames_left, METH_O),
    METHOD("node_inserted", node_marks_inserted, METH_O),
    METHOD("node_removed", node_marks_removed, METH_O),
    METHOD("guard_added", guard_marks_add, METH_O),
    METHOD("watch_guards", guard_marks_watch, METH_FASTCALL),
    METHOD("guards_seen", guard_marks_seen, METH_O),
    METHOD("take_guards", guard_marks_take, METH_NOARGS),
    METHOD("guard_made", made_marks_add, METH_O),
    METHOD("take_made", made_marks_take, METH_NOARGS),
    {NULL},
};

PyTypeObject Steps_Type = {
    TYPE(Steps),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)steps_init,
    .tp_dealloc = (destructor)steps_dealloc,
    .tp_traverse = (traverseproc)steps_traverse,
    .tp_clear = (inquiry)steps_clear_references,
    .tp_methods = methods,
    .tp_members = members,
    .tp_getset = getset,
};

static const Constant constants[] = {
    CONSTANT_OF(ORDINARY),
    CONSTANT_OF(CONSTANT),
    CONSTANT_OF(LAZY),
    CONSTANT_OF(NOTHING),
    CONSTANT_OF(KEYFRAME_EVERY),
    CONSTANT_OF(MOMENTS_PER_COMMIT),
    {NULL},
};

const Part steps_part = {.types = {&Mirror_Type, &NodeMarks_Type, &NodeRecords_Type, &Steps_Type},
                         .constants = constants};
