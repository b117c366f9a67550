/* The hot path: steps are noted one by one and told in batches.

   The idea. A step runs in the midst of the compiler, with cold caches: what would take two
   microseconds in a loop takes ten there. So a step only notes what changed since the frame's
   previous one (`note`), which is a comparison of a few pointers, and some dozens of notes are
   turned into moments at once (`tell`), in a loop that is warm.

   Why that is no lie. A note holds the very trackers that were there; what could change is what a
   tracker *is*. Whoever is about to change one says so beforehand (`touched`), and all notes are
   told before it happens. Notes are also told before every stop and at the end of every attempt, so
   a tracker is held for at most `BATCH` steps longer than the compiler holds it.

   What is told is the difference to the frame's own previous moment (see `Delta` in
   stepper/recording/schema.py), and now and then the whole state. Moments gather here, packed, until
   the writer takes them (`take`).

   Why C. The same in Python cost a third of the compiler's own time, most of it for the garbage
   collector: notes, copies and deltas are short-lived containers, and each thousand of them makes it
   look through the compiler's heap once more. Here they are plain memory.

   Whatever calls Python can come back here: a collection can run a user's finalizer, and that a
   translation. Then `tell` does nothing, since one is under way, and `clear` changes
   `trackers.generation`, by which it sees that its notes are gone. */

#include "api.h"
#include "grow.h"
#include "mirror.h"
#include "trackers.h"

#include <structmember.h>
#include <time.h>

#define BATCH 64           /* steps that are noted before they are told */
#define KEYFRAME_EVERY 400 /* moments: a state is rebuilt from at most so many deltas */
#define RUN 512            /* moments that are told before they are written */
#define MOST_NOTES 32768   /* when telling fails again and again, for want of memory or stack */

typedef struct {
    Mirror *frame;
    Py_ssize_t ip;
    Py_ssize_t keep, popped, pushed; /* of the stack: how many stayed, went, came */
    Py_ssize_t locals;               /* how many changed */
    Py_ssize_t pushed_at, locals_at; /* where they are in `refs`; locals as name, tracker or NULL */
    PyObject *blocks;                /* a copy of the block stack when it changed, or NULL */
    PyObject *speculation;           /* when it changed, or NULL */
} Note;

typedef struct {
    PyObject_HEAD
    Trackers trackers;
    PyObject *judge;
    PyObject *on_graph, *on_alert, *on_adopt, *on_error; /* see __init__ in stepper/_C.pyi */
    PyObject *pack_blocks, *speculation_text, *write_keyframe, *flush;
    PyObject *top, *current; /* Mirror, None or NULL */
    char graph_changed, telling;
    unsigned long teller; /* the thread that tells now */
    long long moment, told, keyframe_due;

    Note *notes;
    Py_ssize_t notes_size, notes_room, notes_told;
    PyObject **refs;
    Py_ssize_t refs_size, refs_room;
    uint32_t *numbers; /* of what a note brings, while it is told */
    Py_ssize_t numbers_room;

    Buffer frames, ips, deltas, scratch;
    long long run_first;
    size_t run_size;
} Steps;

static PyObject *str_instruction_pointer, *str_stack, *str_symbolic_locals, *str_block_stack,
    *str_current_speculation, *str_alert;

/* --- noting */

static int
add_ref(Steps *self, PyObject *object)
{
    if (stepper_grow(&self->refs, &self->refs_room, self->refs_size + 1, sizeof(PyObject *)) < 0) {
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
static int
note_stack(Steps *self, Mirror *frame, PyObject *stack, Note *note)
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
    if (stepper_grow(&frame->stack, &frame->stack_room, size, sizeof(PyObject *)) < 0) {
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
    int done = stepper_grow(&fresh, &room, PyDict_GET_SIZE(live), sizeof(Local));
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

static int
note_locals(Steps *self, Mirror *frame, PyObject *live, Note *note)
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

/* What a translator has, as new references. */
typedef struct {
    PyObject *stack, *locals, *blocks, *speculation;
    Py_ssize_t ip;
} Look;

static void
look_free(Look *look)
{
    Py_CLEAR(look->stack);
    Py_CLEAR(look->locals);
    Py_CLEAR(look->blocks);
    Py_CLEAR(look->speculation);
}

static int
look_stack(PyObject *tx, Look *look)
{
    PyObject *ip = PyObject_GetAttr(tx, str_instruction_pointer);
    look->ip = ip == NULL ? -1 : PyLong_AsSsize_t(ip);
    Py_XDECREF(ip);
    if (look->ip == -1 && PyErr_Occurred()) {
        return -1;
    }
    if ((look->stack = PyObject_GetAttr(tx, str_stack)) == NULL) {
        return -1;
    }
    if (!PyList_Check(look->stack)) {
        PyErr_SetString(PyExc_TypeError, "the translator's stack is no list");
        return -1;
    }
    return 0;
}

static int
look_rest(PyObject *tx, Look *look)
{
    if ((look->locals = PyObject_GetAttr(tx, str_symbolic_locals)) == NULL
        || (look->blocks = PyObject_GetAttr(tx, str_block_stack)) == NULL
        || (look->speculation = PyObject_GetAttr(tx, str_current_speculation)) == NULL) {
        return -1;
    }
    if (!PyDict_Check(look->locals) || !PyList_Check(look->blocks)) {
        PyErr_SetString(PyExc_TypeError, "the translator's locals or blocks are of an unknown kind");
        return -1;
    }
    return 0;
}

/* Note a step. From here on nothing runs Python and nothing is freed: what the mirror lets go
   stands in `refs` until the notes are told. */
static int
add_note(Steps *self, Mirror *frame, const Look *look, PyObject *blocks)
{
    if (self->notes_size - self->notes_told >= MOST_NOTES) {
        PyErr_SetString(PyExc_RuntimeError, "too many steps could not be told");
        return -1;
    }
    if (stepper_grow(&self->notes, &self->notes_room, self->notes_size + 1, sizeof(Note)) < 0) {
        return -1;
    }
    Note *note = &self->notes[self->notes_size];
    *note = (Note){.ip = look->ip};
    int stored = frame->live_locals != look->locals
                 || PyDict_GET_SIZE(look->locals) != frame->locals_size
                 || (frame->ip < PyBytes_GET_SIZE(frame->stores)
                     && PyBytes_AS_STRING(frame->stores)[frame->ip]);
    if (stored && note_locals(self, frame, look->locals, note) < 0) {
        return -1;
    }
    if (note_stack(self, frame, look->stack, note) < 0) {
        return -1;
    }
    if (blocks != NULL) {
        Py_ssize_t size = PyList_GET_SIZE(blocks);
        note->blocks = Py_NewRef(blocks);
        frame->blocks_size = size;
        if (give_ref(self, frame->blocks_last) < 0) {
            return -1;
        }
        frame->blocks_last = size > 0 ? Py_NewRef(PyList_GET_ITEM(blocks, size - 1)) : NULL;
    }
    if (look->speculation != (frame->speculation ? frame->speculation : Py_None)) {
        note->speculation = Py_NewRef(look->speculation);
        if (give_ref(self, frame->speculation) < 0) {
            return -1;
        }
        frame->speculation = Py_NewRef(look->speculation);
    }
    note->frame = (Mirror *)Py_NewRef(frame);
    frame->ip = look->ip;
    self->notes_size++;
    self->moment++;
    return 0;
}

/* A copy of the block stack when it is not the one that was noted last (a new reference), else
   NULL; -1 with an exception. */
static int
changed_blocks(Mirror *frame, PyObject *blocks, PyObject **copy)
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
static void
release_refs(Steps *self)
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

static void
release_notes(Steps *self)
{
    Note *notes = self->notes;
    Py_ssize_t size = self->notes_size, room = self->notes_room;
    self->notes = NULL;
    self->notes_size = self->notes_room = self->notes_told = 0;
    release_refs(self);
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

/* --- telling */

/* The number of a tracker that comes into view, shown; 0 with an exception. */
static uint32_t
number_shown(Steps *self, PyObject *tracker)
{
    uint32_t number = tracker_number(&self->trackers, tracker);
    return number == 0 || tracker_show(&self->trackers, number) < 0 ? 0 : number;
}

/* What a note's trackers are called and are; everything here that can fail or run Python. */
static int
resolve(Steps *self, const Note *note, PyObject **blocks, PyObject **speculation)
{
    Trackers *trackers = &self->trackers;
    if (trackers->changing_size > 0 || note->frame->depth <= trackers->later_depth) {
        if (trackers_describe_touched(trackers, note->frame->depth) < 0) {
            return -1;
        }
    }
    Py_ssize_t count = note->locals + note->pushed;
    if (stepper_grow(&self->numbers, &self->numbers_room, count, sizeof(uint32_t)) < 0) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *tracker = i < note->locals ? self->refs[note->locals_at + 2 * i + 1]
                                             : self->refs[note->pushed_at + i - note->locals];
        uint32_t number = 0;
        if (tracker != NULL && (number = number_shown(self, tracker)) == 0) {
            return -1;
        }
        self->numbers[i] = number;
    }
    if (note->blocks != NULL) {
        *blocks = PyObject_CallFunctionObjArgs(self->pack_blocks, note->frame->key, note->blocks,
                                               NULL);
        if (*blocks == NULL) {
            return -1;
        }
    }
    if (note->speculation != NULL) {
        *speculation = PyObject_CallOneArg(self->speculation_text, note->speculation);
        if (*speculation == NULL) {
            return -1;
        }
    }
    return trackers_describe_new(trackers);
}

static int
tell_local(Mirror *frame, PyObject *name, uint32_t number)
{
    Py_ssize_t at = 0;
    while (at < frame->told_locals_size && frame->told_locals[at].name != name
           && PyUnicode_Compare(frame->told_locals[at].name, name) != 0) {
        at++;
    }
    if (at < frame->told_locals_size) {
        if (number != 0) {
            frame->told_locals[at].number = number;
        }
        else {
            Py_DECREF(frame->told_locals[at].name);
            frame->told_locals_size--;
            memmove(frame->told_locals + at, frame->told_locals + at + 1,
                    (size_t)(frame->told_locals_size - at) * sizeof(ToldLocal));
        }
        return 0;
    }
    if (number == 0) {
        return 0;
    }
    if (stepper_grow(&frame->told_locals, &frame->told_locals_room, frame->told_locals_size + 1,
                     sizeof(ToldLocal)) < 0) {
        return -1;
    }
    frame->told_locals[frame->told_locals_size++] = (ToldLocal){Py_NewRef(name), number};
    return 0;
}

static int
pack_fresh(Steps *self, Buffer *out)
{
    Trackers *trackers = &self->trackers;
    int done = pack_array(out, (size_t)trackers->fresh_size);
    for (Py_ssize_t i = 0; done == 0 && i < trackers->fresh_size; i++) {
        Said said = trackers->fresh[i];
        done = pack_array(out, 2) < 0 || pack_uint(out, said.number) < 0
                       || pack_uint(out, said.description) < 0
                   ? -1
                   : 0;
    }
    return done;
}

/* Apply a note to what is told of its frame, and pack the difference into `scratch`. */
static int
tell_note(Steps *self, const Note *note, PyObject *blocks, PyObject *speculation)
{
    Mirror *frame = note->frame;
    Buffer *out = &self->scratch;
    out->size = 0;
    Py_ssize_t size = note->keep + note->pushed;
    if (stepper_grow(&frame->told_stack, &frame->told_stack_room, size, sizeof(uint32_t)) < 0) {
        return -1;
    }
    if (note->pushed > 0) {
        memcpy(frame->told_stack + note->keep, self->numbers + note->locals,
               (size_t)note->pushed * sizeof(uint32_t));
    }
    frame->told_stack_size = size;
    for (Py_ssize_t i = 0; i < note->locals; i++) {
        if (tell_local(frame, self->refs[note->locals_at + 2 * i], self->numbers[i]) < 0) {
            return -1;
        }
    }
    if (blocks != NULL) {
        Py_XSETREF(frame->told_blocks, Py_NewRef(blocks));
    }
    if (speculation != NULL) {
        Py_XSETREF(frame->told_speculation, Py_NewRef(speculation));
    }
    frame->told_ip = note->ip;

    size_t parts = blocks != NULL || speculation != NULL ? 6
                   : self->trackers.fresh_size > 0       ? 4
                   : note->locals > 0                    ? 3
                   : note->pushed > 0 || note->popped > 0 ? 2
                                                         : 0;
    if (parts == 0) {
        return 0;
    }
    int done = pack_array(out, parts);
    done = done < 0 ? done : pack_uint(out, (uint64_t)note->keep);
    done = done < 0 ? done : pack_array(out, (size_t)note->pushed);
    for (Py_ssize_t i = 0; done == 0 && i < note->pushed; i++) {
        done = pack_uint(out, self->numbers[note->locals + i]);
    }
    if (done == 0 && parts >= 3) {
        done = note->locals > 0 ? pack_map(out, (size_t)note->locals) : pack_nil(out);
        for (Py_ssize_t i = 0; done == 0 && i < note->locals; i++) {
            done = pack_text(out, self->refs[note->locals_at + 2 * i]);
            done = done < 0 ? done : pack_uint(out, self->numbers[i]);
        }
    }
    if (done == 0 && parts >= 4) {
        done = pack_fresh(self, out);
    }
    if (done == 0 && parts == 6) {
        done = blocks == NULL ? pack_nil(out)
                              : pack_raw(out, PyBytes_AS_STRING(blocks), (size_t)PyBytes_GET_SIZE(blocks));
        if (done == 0) {
            done = speculation == NULL ? pack_nil(out) : pack_text(out, speculation);
        }
    }
    self->trackers.fresh_size = 0;
    return done;
}

/* Add a moment with its delta (none when empty) to the run. */
static int
add_moment(Steps *self, long long frame, Py_ssize_t ip, const Buffer *delta)
{
    if (pack_uint(&self->frames, (uint64_t)frame) < 0 || pack_uint(&self->ips, (uint64_t)ip) < 0
        || (delta->size == 0 ? pack_nil(&self->deltas)
                             : pack_bytes(&self->deltas, delta->data, delta->size)) < 0) {
        return -1;
    }
    self->told++;
    if (self->run_size++ == 0) {
        self->run_first = self->told;
    }
    return 0;
}

static int
pack_mirror(Steps *self, const Mirror *frame, Buffer *out)
{
    int done = pack_array(out, 6);
    done = done < 0 ? done : pack_uint(out, (uint64_t)frame->id);
    done = done < 0 ? done : pack_uint(out, (uint64_t)frame->told_ip);
    done = done < 0 ? done : pack_array(out, (size_t)frame->told_stack_size);
    for (Py_ssize_t i = 0; done == 0 && i < frame->told_stack_size; i++) {
        done = pack_uint(out, frame->told_stack[i]);
        done = done < 0 ? done : trackers_await(&self->trackers, frame->told_stack[i]);
    }
    done = done < 0 ? done : pack_map(out, (size_t)frame->told_locals_size);
    for (Py_ssize_t i = 0; done == 0 && i < frame->told_locals_size; i++) {
        done = pack_text(out, frame->told_locals[i].name);
        done = done < 0 ? done : pack_uint(out, frame->told_locals[i].number);
        done = done < 0 ? done : trackers_await(&self->trackers, frame->told_locals[i].number);
    }
    if (done == 0) {
        done = frame->told_blocks == NULL
                   ? pack_array(out, 0)
                   : pack_raw(out, PyBytes_AS_STRING(frame->told_blocks),
                              (size_t)PyBytes_GET_SIZE(frame->told_blocks));
    }
    if (done == 0) {
        done = frame->told_speculation == NULL ? pack_raw(out, "\xa0", 1)
                                               : pack_text(out, frame->told_speculation);
    }
    return done;
}

/* The frames from the outermost down to this one. */
static int
pack_chain(Steps *self, const Mirror *frame, Buffer *out)
{
    return frame->parent != NULL && pack_chain(self, frame->parent, out) < 0
               ? -1
               : pack_mirror(self, frame, out);
}

static int
tell_keyframe(Steps *self, Mirror *frame)
{
    Buffer *out = &self->scratch;
    out->size = 0;
    size_t depth = 0;
    for (const Mirror *each = frame; each != NULL; each = each->parent) {
        depth++;
    }
    if (pack_array(out, 2) < 0 || pack_array(out, depth) < 0 || pack_chain(self, frame, out) < 0
        || trackers_pack_reachable(&self->trackers, out) < 0) {
        return -1;
    }
    self->keyframe_due = self->told + KEYFRAME_EVERY;
    PyObject *answer = PyObject_CallFunction(self->write_keyframe, "Ly#", self->told,
                                             (const char *)out->data, (Py_ssize_t)out->size);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

static int
tell_notes(Steps *self)
{
    unsigned generation = self->trackers.generation;
    while (self->notes_told < self->notes_size) {
        Note note = self->notes[self->notes_told];
        Py_INCREF(note.frame);
        PyObject *blocks = NULL, *speculation = NULL;
        int done = resolve(self, &note, &blocks, &speculation);
        int gone = generation != self->trackers.generation;
        if (done == 0 && !gone) {
            done = tell_note(self, &note, blocks, speculation);
            if (done == 0 && (done = add_moment(self, note.frame->id, note.ip, &self->scratch)) == 0) {
                self->notes_told++;
                if (self->told >= self->keyframe_due) {
                    done = tell_keyframe(self, note.frame);
                }
            }
        }
        Py_XDECREF(blocks);
        Py_XDECREF(speculation);
        Py_DECREF(note.frame);
        if (done < 0) {
            return -1;
        }
        if (gone || generation != self->trackers.generation) {
            return 0;
        }
    }
    release_notes(self);
    return 0;
}

/* Tell all notes. Another thread that is at it is waited for; this one, when it is at it already
   (see the essay), does it in its own time. */
static int
tell(Steps *self)
{
    unsigned long me = PyThread_get_thread_ident();
    while (self->telling && self->teller != me) {
        Py_BEGIN_ALLOW_THREADS
        nanosleep(&(struct timespec){.tv_nsec = 100 * 1000}, NULL);
        Py_END_ALLOW_THREADS
    }
    if (self->telling || self->notes_size == 0) {
        return 0;
    }
    self->telling = 1;
    self->teller = me;
    int done = tell_notes(self);
    self->telling = 0;
    if (done == 0 && self->run_size >= RUN) {
        PyObject *answer = PyObject_CallNoArgs(self->flush);
        Py_XDECREF(answer);
        done = answer == NULL ? -1 : 0;
    }
    return done;
}

/* --- what a hook or the recorder calls */

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
    PyObject *error = stepper_take_exception();
    PyObject *answer = PyObject_CallOneArg(self->on_error, error);
    Py_XDECREF(error);
    return answer;
}

/* Whether the judge wants to see each step; -1 with an exception. */
static int
is_alert(Steps *self)
{
    PyObject *alert = PyObject_GetAttr(self->judge, str_alert);
    int truth = alert == NULL ? -1 : PyObject_IsTrue(alert);
    Py_XDECREF(alert);
    return truth;
}

static int
call(PyObject *function, PyObject *argument)
{
    PyObject *answer = argument == NULL ? PyObject_CallNoArgs(function)
                                        : PyObject_CallOneArg(function, argument);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

static void
set_current(Steps *self, Mirror *frame)
{
    if (self->current != (PyObject *)frame) {
        Py_XSETREF(self->current, Py_NewRef(frame));
    }
}

static int
do_step(Steps *self, Mirror *frame, PyObject *tx, Py_ssize_t behind)
{
    if (self->graph_changed && call(self->on_graph, NULL) < 0) {
        return -1;
    }
    if (frame->stores == NULL || !PyBytes_Check(frame->stores)) {
        mirror_clear_state(frame);
        if (call(self->on_adopt, (PyObject *)frame) < 0) {
            return -1;
        }
        if (frame->stores == NULL || !PyBytes_Check(frame->stores)) {
            PyErr_SetString(PyExc_RuntimeError, "a frame was not adopted");
            return -1;
        }
    }
    Look look = {0};
    PyObject *blocks = NULL, *top = NULL;
    int alert = -1;
    int done = look_stack(tx, &look) < 0 || look_rest(tx, &look) < 0
                       || changed_blocks(frame, look.blocks, &blocks) < 0
                   ? -1
                   : 0;
    if (done == 0) {
        look.ip -= behind;
        done = add_note(self, frame, &look, blocks);
    }
    if (done == 0) {
        Py_ssize_t size = PyList_GET_SIZE(look.stack);
        top = size > 0 ? Py_NewRef(PyList_GET_ITEM(look.stack, size - 1)) : NULL;
        alert = is_alert(self);
        done = alert < 0 ? -1 : 0;
    }
    look_free(&look);
    Py_XDECREF(blocks);
    if (done == 0) {
        set_current(self, frame);
        if (alert) {
            done = tell(self) < 0 ? -1 : call(self->on_alert, (PyObject *)frame);
        }
        else {
            int now = self->notes_size - self->notes_told >= BATCH;
            if (!now && (now = trackers_must_tell_now(&self->trackers, top)) < 0) {
                done = -1;
            }
            if (done == 0 && now) {
                done = tell(self);
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
        PyErr_SetString(PyExc_TypeError, "step(tx, behind=0)");
        return NULL;
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
    int done = do_step(self, frame, args[0], behind);
    Py_DECREF(frame);
    if (done < 0) {
        return answer_error(self);
    }
    Py_RETURN_NONE;
}

static int
do_glance(Steps *self, Mirror *frame, PyObject *tx)
{
    if (self->graph_changed && call(self->on_graph, NULL) < 0) {
        return -1; /* while the instruction that made the nodes is the current one */
    }
    Look look = {0};
    Note unused;
    int done = look_stack(tx, &look);
    if (done == 0) {
        done = note_stack(self, frame, look.stack, &unused);
        frame->ip = look.ip;
        set_current(self, frame);
    }
    look_free(&look);
    release_refs(self);
    if (done == 0) {
        int alert = is_alert(self);
        done = alert <= 0 ? alert : call(self->on_alert, (PyObject *)frame);
    }
    return done;
}

static PyObject *
steps_glance(Steps *self, PyObject *tx)
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
steps_tell(Steps *self, PyObject *Py_UNUSED(ignored))
{
    if (tell(self) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
steps_touched(Steps *self, PyObject *tracker)
{
    Mirror *current = (Mirror *)self->current;
    long depth = (PyObject *)current == Py_None ? 0 : current->depth;
    if (tell(self) < 0 || tracker_touched(&self->trackers, tracker, depth) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
steps_number(Steps *self, PyObject *tracker)
{
    uint32_t number = tracker_number(&self->trackers, tracker);
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
    for (Py_ssize_t i = self->notes_told; i < self->notes_size; i++) {
        if (add_moment(self, self->notes[i].frame->id, self->notes[i].ip, &nothing) < 0) {
            return NULL;
        }
    }
    self->notes_told = self->notes_size;
    trackers_clear(&self->trackers);
    release_notes(self);
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
    if (tell(self) < 0) {
        return NULL;
    }
    if (self->telling) {
        PyErr_SetString(PyExc_RuntimeError, "a moment cannot be told while others are told");
        return NULL;
    }
    if (add_moment(self, frame, ip, &delta) < 0) {
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
    if (pack_array(out, 3) < 0 || pack_array(out, count) < 0
        || pack_raw(out, self->frames.data, self->frames.size) < 0 || pack_array(out, count) < 0
        || pack_raw(out, self->ips.data, self->ips.size) < 0 || pack_array(out, count) < 0
        || pack_raw(out, self->deltas.data, self->deltas.size) < 0) {
        return NULL;
    }
    self->run_size = 0;
    self->frames.size = self->ips.size = self->deltas.size = 0;
    return Py_BuildValue("Lny#", self->run_first, (Py_ssize_t)count, (const char *)out->data,
                         (Py_ssize_t)out->size);
}

/* Tell all of a frame's state: its stack as it was noted, the rest as its translator has it. */
static int
tell_frame_whole(Steps *self, Mirror *frame)
{
    Look look = {0};
    PyObject *blocks = NULL, *name, *tracker;
    int done = look_rest(frame->key, &look);
    frame->told_ip = frame->ip;
    frame->told_stack_size = 0;
    for (Py_ssize_t i = 0; done == 0 && i < frame->stack_size; i++) {
        uint32_t number = number_shown(self, frame->stack[i]);
        done = number == 0 ? -1
                           : stepper_grow(&frame->told_stack, &frame->told_stack_room, i + 1,
                                          sizeof(uint32_t));
        if (done == 0) {
            frame->told_stack[frame->told_stack_size++] = number;
        }
    }
    PyObject *copy = done == 0 ? PyDict_Copy(look.locals) : NULL;
    done = copy == NULL ? -1 : 0;
    Note note = {0};
    if (done == 0) {
        done = note_locals(self, frame, look.locals, &note);
    }
    Py_ssize_t position = 0;
    while (done == 0 && PyDict_Next(copy, &position, &name, &tracker)) {
        uint32_t number = number_shown(self, tracker);
        done = number == 0 ? -1 : tell_local(frame, name, number);
    }
    Py_XDECREF(copy);
    if (done == 0 && (done = changed_blocks(frame, look.blocks, &blocks)) == 0 && blocks != NULL) {
        Py_ssize_t size = PyList_GET_SIZE(blocks);
        PyObject *packed = PyObject_CallFunctionObjArgs(self->pack_blocks, frame->key, blocks, NULL);
        Py_XSETREF(frame->blocks_last,
                   size > 0 ? Py_NewRef(PyList_GET_ITEM(blocks, size - 1)) : NULL);
        frame->blocks_size = size;
        Py_XSETREF(frame->told_blocks, packed);
        done = packed == NULL ? -1 : 0;
    }
    if (done == 0 && look.speculation != Py_None) {
        PyObject *text = PyObject_CallOneArg(self->speculation_text, look.speculation);
        Py_XSETREF(frame->speculation, Py_NewRef(look.speculation));
        Py_XSETREF(frame->told_speculation, text);
        done = text == NULL ? -1 : 0;
    }
    Py_XDECREF(blocks);
    look_free(&look);
    return done;
}

static int
tell_chain_whole(Steps *self, Mirror *frame)
{
    return frame->parent != NULL && tell_chain_whole(self, frame->parent) < 0
               ? -1
               : tell_frame_whole(self, frame);
}

static PyObject *
steps_tell_whole(Steps *self, PyObject *argument)
{
    if (!PyObject_TypeCheck(argument, &Mirror_Type)) {
        PyErr_SetString(PyExc_TypeError, "tell_whole(frame: Mirror)");
        return NULL;
    }
    Mirror *frame = (Mirror *)argument;
    if (tell_chain_whole(self, frame) < 0 || trackers_describe_new(&self->trackers) < 0) {
        return NULL;
    }
    release_refs(self);
    Buffer *out = &self->scratch;
    out->size = 0;
    int done = pack_array(out, 4) < 0 || pack_uint(out, 0) < 0
                       || pack_array(out, (size_t)frame->told_stack_size) < 0
                   ? -1
                   : 0;
    for (Py_ssize_t i = 0; done == 0 && i < frame->told_stack_size; i++) {
        done = pack_uint(out, frame->told_stack[i]);
    }
    done = done < 0 ? done : pack_map(out, (size_t)frame->told_locals_size);
    for (Py_ssize_t i = 0; done == 0 && i < frame->told_locals_size; i++) {
        done = pack_text(out, frame->told_locals[i].name);
        done = done < 0 ? done : pack_uint(out, frame->told_locals[i].number);
    }
    done = done < 0 ? done : pack_fresh(self, out);
    self->trackers.fresh_size = 0;
    if (done < 0 || add_moment(self, frame->id, frame->ip, out) < 0
        || tell_keyframe(self, frame) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static int
steps_init(Steps *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"judge", "describer", "told_late", "on_graph", "on_alert", "on_adopt",
                            "on_error", "pack_blocks", "speculation_text", "write_keyframe",
                            "flush", NULL};
    PyObject *describer, *late, *judge, *functions[8];
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO!OOOOOOOO", names, &judge, &describer,
                                     &PyFrozenSet_Type, &late, &functions[0], &functions[1],
                                     &functions[2], &functions[3], &functions[4], &functions[5],
                                     &functions[6], &functions[7])) {
        return -1;
    }
    if (self->judge != NULL) {
        PyErr_SetString(PyExc_TypeError, "Steps are made once");
        return -1;
    }
    PyObject **places[] = {&self->on_graph, &self->on_alert, &self->on_adopt, &self->on_error,
                           &self->pack_blocks, &self->speculation_text, &self->write_keyframe,
                           &self->flush};
    for (int i = 0; i < 8; i++) {
        *places[i] = Py_NewRef(functions[i]);
    }
    self->judge = Py_NewRef(judge);
    self->top = Py_NewRef(Py_None);
    self->current = Py_NewRef(Py_None);
    PyObject *number = PyObject_GetAttrString((PyObject *)self, "number");
    int done = number == NULL ? -1 : trackers_init(&self->trackers, describer, late, number);
    Py_XDECREF(number);
    return done;
}

static int
steps_traverse(Steps *self, visitproc visit, void *arg)
{
    Py_VISIT(self->judge);
    Py_VISIT(self->on_graph);
    Py_VISIT(self->on_alert);
    Py_VISIT(self->on_adopt);
    Py_VISIT(self->on_error);
    Py_VISIT(self->pack_blocks);
    Py_VISIT(self->speculation_text);
    Py_VISIT(self->write_keyframe);
    Py_VISIT(self->flush);
    Py_VISIT(self->trackers.number_function);
    Py_VISIT(self->trackers.describer);
    Py_VISIT(self->trackers.describe);
    return 0;
}

static int
steps_clear_references(Steps *self)
{
    release_notes(self);
    trackers_free(&self->trackers);
    Py_CLEAR(self->judge);
    Py_CLEAR(self->on_graph);
    Py_CLEAR(self->on_alert);
    Py_CLEAR(self->on_adopt);
    Py_CLEAR(self->on_error);
    Py_CLEAR(self->pack_blocks);
    Py_CLEAR(self->speculation_text);
    Py_CLEAR(self->write_keyframe);
    Py_CLEAR(self->flush);
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
    PyMem_Free(self->notes);
    PyMem_Free(self->refs);
    PyMem_Free(self->numbers);
    buffer_free(&self->frames);
    buffer_free(&self->ips);
    buffer_free(&self->deltas);
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
        PyErr_SetString(PyExc_TypeError, "a Mirror or None is wanted");
        return -1;
    }
    PyObject **place = which == NULL ? &self->top : &self->current;
    Py_XSETREF(*place, Py_NewRef(value));
    return 0;
}

static PyMemberDef members[] = {
    {"moment", T_LONGLONG, offsetof(Steps, moment), 0, NULL},
    {"graph_changed", T_BOOL, offsetof(Steps, graph_changed), 0, NULL},
    {NULL},
};

static PyGetSetDef getset[] = {
    {"top", (getter)get_frame, (setter)set_frame, NULL, NULL},
    {"current", (getter)get_frame, (setter)set_frame, NULL, "current"},
    {NULL},
};

static PyMethodDef methods[] = {
    {"step", (PyCFunction)(void (*)(void))steps_step, METH_FASTCALL, NULL},
    {"glance", (PyCFunction)steps_glance, METH_O, NULL},
    {"tell", (PyCFunction)steps_tell, METH_NOARGS, NULL},
    {"tell_whole", (PyCFunction)steps_tell_whole, METH_O, NULL},
    {"touched", (PyCFunction)steps_touched, METH_O, NULL},
    {"number", (PyCFunction)steps_number, METH_O, NULL},
    {"restart", (PyCFunction)steps_restart, METH_NOARGS, NULL},
    {"clear", (PyCFunction)steps_clear, METH_NOARGS, NULL},
    {"add", (PyCFunction)steps_add, METH_VARARGS, NULL},
    {"take", (PyCFunction)steps_take, METH_NOARGS, NULL},
    {NULL},
};

static PyTypeObject Steps_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "stepper._C.Steps",
    .tp_basicsize = sizeof(Steps),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Notes steps and tells moments.",
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)steps_init,
    .tp_dealloc = (destructor)steps_dealloc,
    .tp_traverse = (traverseproc)steps_traverse,
    .tp_clear = (inquiry)steps_clear_references,
    .tp_methods = methods,
    .tp_members = members,
    .tp_getset = getset,
};

int
stepper_add_steps(PyObject *module)
{
    struct {
        PyObject **place;
        const char *text;
    } names[] = {
        {&str_instruction_pointer, "instruction_pointer"},
        {&str_stack, "stack"},
        {&str_symbolic_locals, "symbolic_locals"},
        {&str_block_stack, "block_stack"},
        {&str_current_speculation, "current_speculation"},
        {&str_alert, "alert"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (*names[i].place == NULL
            && (*names[i].place = PyUnicode_InternFromString(names[i].text)) == NULL) {
            return -1;
        }
    }
    return PyModule_AddType(module, &Mirror_Type) < 0 || PyModule_AddType(module, &Steps_Type) < 0
               ? -1
               : 0;
}
