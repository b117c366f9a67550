/* Telling notes: numbers for what came into view, descriptions, deltas, keyframes. See steps.c. */

#include "record/steps.h"

#include "support/grow.h"

#include <time.h>

/* The number of a tracker that comes into view, shown; 0 with an exception. */
static uint32_t
number_shown(Steps *self, PyObject *tracker)
{
    uint32_t number = trackers_number(&self->trackers, tracker);
    return number == 0 || trackers_show(&self->trackers, number) < 0 ? 0 : number;
}

/* What a note's trackers are called and are; everything here that can fail or run Python. */
static int
resolve(Steps *self, const Note *note, PyObject **blocks, PyObject **speculation)
{
    Trackers *trackers = &self->trackers;
    if (trackers->changing.size > 0 || note->frame->depth <= trackers->later_depth) {
        if (touched_describe(trackers, note->frame->depth) < 0) {
            return -1;
        }
    }
    Py_ssize_t count = note->locals + note->pushed;
    if (grow_array(&self->numbers, &self->numbers_room, count, sizeof(uint32_t)) < 0) {
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
record_local(Mirror *frame, PyObject *name, uint32_t number)
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
    if (grow_array(&frame->told_locals, &frame->told_locals_room, frame->told_locals_size + 1,
                   sizeof(ToldLocal))
        < 0) {
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
record_note(Steps *self, const Note *note, PyObject *blocks, PyObject *speculation)
{
    Mirror *frame = note->frame;
    Buffer *out = &self->scratch;
    out->size = 0;
    Py_ssize_t size = note->keep + note->pushed;
    if (grow_array(&frame->told_stack, &frame->told_stack_room, size, sizeof(uint32_t)) < 0) {
        return -1;
    }
    if (note->pushed > 0) {
        memcpy(frame->told_stack + note->keep, self->numbers + note->locals,
               (size_t)note->pushed * sizeof(uint32_t));
    }
    frame->recorded_stack_size = size;
    for (Py_ssize_t i = 0; i < note->locals; i++) {
        if (record_local(frame, self->refs[note->locals_at + 2 * i], self->numbers[i]) < 0) {
            return -1;
        }
    }
    if (blocks != NULL) {
        Py_XSETREF(frame->recorded_blocks, Py_NewRef(blocks));
    }
    if (speculation != NULL) {
        Py_XSETREF(frame->recorded_speculation, Py_NewRef(speculation));
    }
    frame->recorded_ip = note->ip;

    size_t parts = blocks != NULL || speculation != NULL  ? 6
                   : self->trackers.fresh_size > 0        ? 4
                   : note->locals > 0                     ? 3
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
        done = blocks == NULL
                   ? pack_nil(out)
                   : pack_raw(out, PyBytes_AS_STRING(blocks), (size_t)PyBytes_GET_SIZE(blocks));
        if (done == 0) {
            done = speculation == NULL ? pack_nil(out) : pack_text(out, speculation);
        }
    }
    self->trackers.fresh_size = 0;
    return done;
}

long long
moments_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000LL + now.tv_nsec;
}

long long
moments_clock(const Steps *self)
{
    return moments_now() - self->away;
}

int
moments_add(Steps *self, long long frame, Py_ssize_t ip, long long at, const Buffer *delta)
{
    size_t frames = self->frames.size, ips = self->ips.size, deltas = self->deltas.size;
    size_t clock = self->clock.size;
    /* The first of a run is told whole, the others by what has passed since the one before. */
    long long since = self->run_size == 0 ? 0 : self->last_at;
    at = at < since ? since : at;
    if (pack_uint(&self->frames, (uint64_t)frame) < 0 || pack_uint(&self->ips, (uint64_t)ip) < 0
        || pack_uint(&self->clock, (uint64_t)(at - since)) < 0
        || (delta->size == 0 ? pack_nil(&self->deltas)
                             : pack_bytes(&self->deltas, delta->data, delta->size))
               < 0) {
        self->frames.size = frames;
        self->ips.size = ips;
        self->deltas.size = deltas;
        self->clock.size = clock;
        return -1;
    }
    self->last_at = at;
    self->told++;
    if (self->run_size++ == 0) {
        self->run_first = self->told;
    }
    return 0;
}

int
moments_add_many(Steps *self, long long first, const uint64_t *frames, size_t count, long long at,
                 const Buffer *ips, const Buffer *deltas)
{
    /* Room for all, so that nothing fails in the midst of it: nine bytes is the longest number. */
    if (buffer_reserve(&self->frames, 9 * count) < 0 || buffer_reserve(&self->clock, 9 * count) < 0
        || buffer_reserve(&self->ips, ips->size) < 0
        || buffer_reserve(&self->deltas, deltas->size) < 0) {
        return -1;
    }
    long long since = self->run_size == 0 ? 0 : self->last_at;
    at = at < since ? since : at;
    for (size_t i = 0; i < count; i++) {
        (void)pack_uint(&self->frames, (uint64_t)first + frames[i]);
        (void)pack_uint(&self->clock, i == 0 ? (uint64_t)(at - since) : 0);
    }
    (void)pack_raw(&self->ips, ips->data, ips->size);
    (void)pack_raw(&self->deltas, deltas->data, deltas->size);
    if (self->run_size == 0) {
        self->run_first = self->told + 1;
    }
    self->last_at = at;
    self->told += (long long)count;
    self->run_size += count;
    return 0;
}

static int
pack_mirror(Steps *self, const Mirror *frame, Buffer *out)
{
    int done = pack_array(out, 6);
    done = done < 0 ? done : pack_uint(out, (uint64_t)frame->id);
    done = done < 0 ? done : pack_uint(out, (uint64_t)frame->recorded_ip);
    done = done < 0 ? done : pack_array(out, (size_t)frame->recorded_stack_size);
    for (Py_ssize_t i = 0; done == 0 && i < frame->recorded_stack_size; i++) {
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
        done = frame->recorded_blocks == NULL
                   ? pack_array(out, 0)
                   : pack_raw(out, PyBytes_AS_STRING(frame->recorded_blocks),
                              (size_t)PyBytes_GET_SIZE(frame->recorded_blocks));
    }
    if (done == 0) {
        done = frame->recorded_speculation == NULL ? pack_raw(out, "\xa0", 1)
                                                   : pack_text(out, frame->recorded_speculation);
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
record_keyframe(Steps *self, Mirror *frame)
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
    return answer_done(answer);
}

static int
flush_notes(Steps *self)
{
    unsigned generation = self->trackers.generation;
    while (self->notes_recorded < self->notes_size) {
        Note note = self->notes[self->notes_recorded];
        Py_INCREF(note.frame);
        PyObject *blocks = NULL, *speculation = NULL;
        int done = resolve(self, &note, &blocks, &speculation);
        int gone = generation != self->trackers.generation;
        if (done == 0 && !gone) {
            done = record_note(self, &note, blocks, speculation);
            if (done == 0
                && (done = moments_add(self, note.frame->id, note.ip, note.at, &self->scratch))
                       == 0) {
                self->notes_recorded++;
                if (self->told >= self->keyframe_due) {
                    done = record_keyframe(self, note.frame);
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
    notes_release(self);
    return 0;
}

/* Tell all notes. Another thread that is at it is waited for; this one, when it is at it already
   (see the essay), does it in its own time. */
int
moments_flush(Steps *self)
{
    unsigned long me = PyThread_get_thread_ident();
    while (self->writing && self->writer != me) {
        Py_BEGIN_ALLOW_THREADS
        nanosleep(&(struct timespec){.tv_nsec = 100 * 1000}, NULL);
        Py_END_ALLOW_THREADS
    }
    if (self->writing || self->notes_size == 0) {
        return 0;
    }
    self->writing = 1;
    self->writer = me;
    int done = flush_notes(self);
    self->writing = 0;
    if (done == 0 && self->run_size >= MOMENTS_PER_COMMIT) {
        PyObject *answer = PyObject_CallNoArgs(self->flush);
        Py_XDECREF(answer);
        done = answer == NULL ? -1 : 0;
    }
    return done;
}

/* Tell all of a frame's state: its stack as it was noted, the rest as its translator has it. */
static int
record_frame_whole(Steps *self, Mirror *frame)
{
    Look look = {0};
    PyObject *blocks = NULL, *name, *tracker;
    int done = notes_look_rest(frame->key, &look);
    frame->recorded_ip = frame->ip;
    frame->recorded_stack_size = 0;
    for (Py_ssize_t i = 0; done == 0 && i < frame->stack_size; i++) {
        uint32_t number = number_shown(self, frame->stack[i]);
        done = number == 0 ? -1
                           : grow_array(&frame->told_stack, &frame->told_stack_room, i + 1,
                                        sizeof(uint32_t));
        if (done == 0) {
            frame->told_stack[frame->recorded_stack_size++] = number;
        }
    }
    PyObject *copy = done == 0 ? PyDict_Copy(look.locals) : NULL;
    done = copy == NULL ? -1 : 0;
    Note note = {0};
    if (done == 0) {
        done = notes_locals(self, frame, look.locals, &note);
    }
    Py_ssize_t position = 0;
    while (done == 0 && PyDict_Next(copy, &position, &name, &tracker)) {
        uint32_t number = number_shown(self, tracker);
        done = number == 0 ? -1 : record_local(frame, name, number);
    }
    Py_XDECREF(copy);
    if (done == 0 && (done = notes_changed_blocks(frame, look.blocks, &blocks)) == 0
        && blocks != NULL) {
        Py_ssize_t size = PyList_GET_SIZE(blocks);
        PyObject *packed = PyObject_CallFunctionObjArgs(self->pack_blocks, frame->key, blocks,
                                                        NULL);
        Py_XSETREF(frame->blocks_last,
                   size > 0 ? Py_NewRef(PyList_GET_ITEM(blocks, size - 1)) : NULL);
        frame->blocks_size = size;
        Py_XSETREF(frame->recorded_blocks, packed);
        done = packed == NULL ? -1 : 0;
    }
    if (done == 0 && look.speculation != Py_None) {
        PyObject *text = PyObject_CallOneArg(self->speculation_text, look.speculation);
        Py_XSETREF(frame->speculation, Py_NewRef(look.speculation));
        Py_XSETREF(frame->recorded_speculation, text);
        done = text == NULL ? -1 : 0;
    }
    Py_XDECREF(blocks);
    notes_look_free(&look);
    return done;
}

static int
record_chain_whole(Steps *self, Mirror *frame)
{
    return frame->parent != NULL && record_chain_whole(self, frame->parent) < 0
               ? -1
               : record_frame_whole(self, frame);
}

int
moments_record_whole(Steps *self, Mirror *frame)
{
    if (record_chain_whole(self, frame) < 0 || trackers_describe_new(&self->trackers) < 0) {
        return -1;
    }
    notes_release_refs(self);
    Buffer *out = &self->scratch;
    out->size = 0;
    int done = pack_array(out, 4) < 0 || pack_uint(out, 0) < 0
                       || pack_array(out, (size_t)frame->recorded_stack_size) < 0
                   ? -1
                   : 0;
    for (Py_ssize_t i = 0; done == 0 && i < frame->recorded_stack_size; i++) {
        done = pack_uint(out, frame->told_stack[i]);
    }
    done = done < 0 ? done : pack_map(out, (size_t)frame->told_locals_size);
    for (Py_ssize_t i = 0; done == 0 && i < frame->told_locals_size; i++) {
        done = pack_text(out, frame->told_locals[i].name);
        done = done < 0 ? done : pack_uint(out, frame->told_locals[i].number);
    }
    done = done < 0 ? done : pack_fresh(self, out);
    self->trackers.fresh_size = 0;
    return done < 0 || moments_add(self, frame->id, frame->ip, moments_clock(self), out) < 0
                   || record_keyframe(self, frame) < 0
               ? -1
               : 0;
}
