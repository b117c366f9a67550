/* Noting a step: what changed since the frame's previous one, by comparing a few pointers.

   Nothing here runs Python or frees an object while a mirror is half done: what a mirror lets go
   stands in `refs` until the notes are told. See steps.c. */

#include "record/steps.h"

#include "support/fields.h"

#include "support/grow.h"
#include "support/names.h"

static int
add_ref(Steps *self, PyObject *object)
{
    if (grow_array(&self->refs, &self->refs_room, self->refs_size + 1, sizeof(PyObject *)) < 0) {
        return -1;
    }
    self->refs[self->refs_size++] = Py_XNewRef(object);
    return 0;
}

/* The same for a reference that the caller gives away. */
static int
give_ref(Steps *self, PyObject *object)
{
    int done = add_ref(self, object);
    if (done == 0) {
        Py_XDECREF(object); /* never the last */
    }
    return done;
}

/* Bring the mirror's stack up to date; what came goes into `refs`, and then what fell. */
int
notes_stack(Steps *self, Mirror *frame, PyObject *stack, Note *note)
{
    Py_ssize_t size = PyList_GET_SIZE(stack);
    Py_ssize_t most = size < frame->stack_size ? size : frame->stack_size;
    Py_ssize_t keep = 0;
    while (keep < most && PyList_GET_ITEM(stack, keep) == frame->stack[keep]) {
        keep++;
    }
    note->keep = keep;
    note->popped = frame->stack_size - keep;
    note->pushed = size - keep;
    note->pushed_at = self->refs_size;
    if (grow_array(&frame->stack, &frame->stack_room, size, sizeof(PyObject *)) < 0) {
        return -1;
    }
    for (Py_ssize_t i = keep; i < size; i++) {
        if (add_ref(self, PyList_GET_ITEM(stack, i)) < 0) {
            return -1;
        }
    }
    while (frame->stack_size > keep) {
        if (give_ref(self, frame->stack[frame->stack_size - 1]) < 0) {
            return -1;
        }
        frame->stack_size--;
    }
    for (Py_ssize_t i = keep; i < size; i++) {
        frame->stack[i] = Py_NewRef(PyList_GET_ITEM(stack, i));
    }
    frame->stack_size = size;
    return 0;
}

/* A local got another tracker, or none. */
static int
add_local(Steps *self, Note *note, PyObject *name, PyObject *tracker)
{
    note->locals++;
    return add_ref(self, name) < 0 || add_ref(self, tracker) < 0 ? -1 : 0;
}

/* The locals have other names, or another order: compare by name. Only once for each change of
   them, so a search from where the last one was found is good enough. */
static int
note_locals_anew(Steps *self, Mirror *frame, PyObject *live, Note *note)
{
    Local *old = frame->locals, *fresh = NULL;
    Py_ssize_t old_size = frame->locals_size, size = 0, room = 0, position = 0, hint = 0;
    int done = grow_array(&fresh, &room, PyDict_GET_SIZE(live), sizeof(Local));
    PyObject *name, *tracker;
    while (done == 0 && PyDict_Next(live, &position, &name, &tracker)) {
        Py_ssize_t found = -1;
        for (Py_ssize_t i = 0; i < old_size && found < 0; i++) {
            Py_ssize_t at = (hint + i) % old_size;
            if (old[at].name != NULL
                && (old[at].name == name || PyUnicode_Compare(old[at].name, name) == 0)) {
                found = at;
            }
        }
        if (found < 0 || old[found].value != tracker) {
            done = add_local(self, note, name, tracker);
        }
        if (found >= 0) {
            hint = found + 1;
            Py_CLEAR(old[found].name);
        }
        fresh[size++] = (Local){Py_NewRef(name), Py_NewRef(tracker)};
    }
    for (Py_ssize_t i = 0; i < old_size && done == 0; i++) {
        if (old[i].name != NULL) {
            done = add_local(self, note, old[i].name, NULL);
        }
    }
    frame->locals = fresh;
    frame->locals_size = size;
    frame->locals_room = room;
    for (Py_ssize_t i = 0; i < old_size; i++) {
        Py_XDECREF(old[i].name);
        if (give_ref(self, old[i].value) < 0) {
            done = -1;
        }
    }
    PyMem_Free(old);
    return done;
}

int
notes_locals(Steps *self, Mirror *frame, PyObject *live, Note *note)
{
    if (frame->live_locals != live) {
        if (give_ref(self, frame->live_locals) < 0) {
            return -1;
        }
        frame->live_locals = Py_NewRef(live);
    }
    note->locals_at = self->refs_size;
    PyObject *name, *tracker;
    Py_ssize_t position = 0, at = 0;
    int alike = PyDict_GET_SIZE(live) == frame->locals_size;
    while (alike && PyDict_Next(live, &position, &name, &tracker)) {
        alike = frame->locals[at++].name == name;
    }
    if (!alike) {
        return note_locals_anew(self, frame, live, note);
    }
    Py_ssize_t fallen = 0;
    for (position = at = 0; PyDict_Next(live, &position, &name, &tracker); at++) {
        if (frame->locals[at].value != tracker) {
            if (add_local(self, note, name, tracker) < 0) {
                return -1;
            }
            fallen++;
        }
    }
    for (position = at = 0; fallen > 0 && PyDict_Next(live, &position, &name, &tracker); at++) {
        if (frame->locals[at].value != tracker) {
            PyObject *old = frame->locals[at].value;
            frame->locals[at].value = Py_NewRef(tracker);
            fallen--;
            if (give_ref(self, old) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

void
notes_look_free(Look *look)
{
    Py_CLEAR(look->stack);
    Py_CLEAR(look->locals);
    Py_CLEAR(look->blocks);
    Py_CLEAR(look->speculation);
}

int
notes_look_stack(PyObject *tx, Look *look)
{
    PyObject *ip = fields_attribute(tx, ID(instruction_pointer));
    look->ip = ip == NULL ? -1 : PyLong_AsSsize_t(ip);
    Py_XDECREF(ip);
    if (look->ip == -1 && PyErr_Occurred()) {
        return -1;
    }
    if ((look->stack = fields_attribute(tx, ID(stack))) == NULL) {
        return -1;
    }
    if (!PyList_Check(look->stack)) {
        return answer_refuse(PyExc_TypeError, "the translator's stack is no list");
    }
    return 0;
}

int
notes_look_rest(PyObject *tx, Look *look)
{
    if ((look->locals = fields_attribute(tx, ID(symbolic_locals))) == NULL
        || (look->blocks = fields_attribute(tx, ID(block_stack))) == NULL
        || (look->speculation = fields_attribute(tx, ID(current_speculation))) == NULL) {
        return -1;
    }
    if (!PyDict_Check(look->locals) || !PyList_Check(look->blocks)) {
        return answer_refuse(PyExc_TypeError,
                             "the translator's locals or blocks are of an unknown kind");
    }
    return 0;
}

/* Note a step. From here on nothing runs Python and nothing is freed: what the mirror lets go
   stands in `refs` until the notes are told. */
int
notes_add(Steps *self, Mirror *frame, const Look *look, PyObject *blocks)
{
    if (self->notes_size - self->notes_recorded >= MOST_NOTES) {
        return answer_refuse(PyExc_RuntimeError, "too many steps could not be told");
    }
    if (grow_array(&self->notes, &self->notes_room, self->notes_size + 1, sizeof(Note)) < 0) {
        return -1;
    }
    Note *note = &self->notes[self->notes_size];
    *note = (Note){.ip = look->ip, .at = self->arrived};
    int stored = frame->live_locals != look->locals
                 || PyDict_GET_SIZE(look->locals) != frame->locals_size
                 || (frame->ip < PyBytes_GET_SIZE(frame->stores)
                     && PyBytes_AS_STRING(frame->stores)[frame->ip]);
    if (stored && notes_locals(self, frame, look->locals, note) < 0) {
        return -1;
    }
    if (notes_stack(self, frame, look->stack, note) < 0) {
        return -1;
    }
    int speculates = look->speculation != (frame->speculation ? frame->speculation : Py_None);
    if ((blocks != NULL && add_ref(self, frame->blocks_last) < 0)
        || (speculates && add_ref(self, frame->speculation) < 0)) {
        return -1;
    }
    /* From here on nothing fails. */
    if (blocks != NULL) {
        Py_ssize_t size = PyList_GET_SIZE(blocks);
        note->blocks = Py_NewRef(blocks);
        frame->blocks_size = size;
        Py_XSETREF(frame->blocks_last,
                   size > 0 ? Py_NewRef(PyList_GET_ITEM(blocks, size - 1)) : NULL);
    }
    if (speculates) {
        note->speculation = Py_NewRef(look->speculation);
        Py_XSETREF(frame->speculation, Py_NewRef(look->speculation));
    }
    note->frame = (Mirror *)Py_NewRef(frame);
    frame->ip = look->ip;
    self->notes_size++;
    self->moment++;
    return 0;
}

int
notes_changed_blocks(Mirror *frame, PyObject *blocks, PyObject **copy)
{
    Py_ssize_t size = PyList_GET_SIZE(blocks);
    PyObject *last = size > 0 ? PyList_GET_ITEM(blocks, size - 1) : NULL;
    *copy = NULL;
    if (last != frame->blocks_last || size != frame->blocks_size) {
        *copy = PyList_GetSlice(blocks, 0, size);
        return *copy == NULL ? -1 : 0;
    }
    return 0;
}

/* Let go of what stood in notes; arrays are put aside, since this can run anything. */
void
notes_release_refs(Steps *self)
{
    PyObject **refs = self->refs;
    Py_ssize_t size = self->refs_size, room = self->refs_room;
    self->refs = NULL;
    self->refs_size = self->refs_room = 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        Py_XDECREF(refs[i]);
    }
    if (self->refs == NULL) {
        self->refs = refs;
        self->refs_room = room;
    }
    else {
        PyMem_Free(refs);
    }
}

void
notes_release(Steps *self)
{
    Note *notes = self->notes;
    Py_ssize_t size = self->notes_size, room = self->notes_room;
    self->notes = NULL;
    self->notes_size = self->notes_room = self->notes_recorded = 0;
    notes_release_refs(self);
    for (Py_ssize_t i = 0; i < size; i++) {
        Py_XDECREF(notes[i].blocks);
        Py_XDECREF(notes[i].speculation);
        Py_DECREF(notes[i].frame);
    }
    if (self->notes == NULL) {
        self->notes = notes;
        self->notes_room = room;
    }
    else {
        PyMem_Free(notes);
    }
}
