/* What the files of the hot path share; the idea is in steps.c. */

#ifndef STEPPER_STEPS_H
#define STEPPER_STEPS_H

#include "record/frame_rows.h"
#include "record/frames.h"
#include "record/guard_marks.h"
#include "record/made_marks.h"
#include "record/mirror.h"
#include "record/node_marks.h"
#include "record/trackers.h"

enum {
    BATCH = 64,                 /* steps that are noted before they are told */
    KEYFRAME_EVERY = 400,       /* moments: a state is rebuilt from at most so many deltas */
    MOMENTS_PER_COMMIT = 16384, /* that are told before they are written */
    MOST_NOTES = 32768, /* when writing fails again and again, for want of memory or stack */
};

typedef struct {
    Mirror *frame;
    Py_ssize_t ip;
    Py_ssize_t keep, popped, pushed; /* of the stack: how many stayed, went, came */
    Py_ssize_t locals;               /* how many changed */
    Py_ssize_t pushed_at, locals_at; /* where they are in `refs`; locals as name, tracker or NULL */
    PyObject *blocks;                /* a copy of the block stack when it changed, or NULL */
    PyObject *speculation;           /* when it changed, or NULL */
    long long at;                    /* on the compiler's clock */
} Note;

typedef struct Steps {
    PyObject_HEAD
    /* See __init__ in stepper/_C.pyi. */
    PyObject *on_graph, *on_alert, *on_adopt, *on_error;
    PyObject *pack_blocks, *speculation_text, *write_keyframe, *flush;
    PyObject *judge;
    PyObject *graph;         /* the NodeMarks of the translation at work */
    PyObject *top, *current; /* Mirror or None */
    Trackers trackers;
    char graph_changed, nodes_changed, writing; /* the second: nothing but nodes, most often */
    unsigned long writer;                       /* the thread that tells now */
    long long moment, told, keyframe_due;

    Note *notes;
    Py_ssize_t notes_size, notes_room, notes_recorded;
    PyObject **refs;
    Py_ssize_t refs_size, refs_room;
    uint32_t *numbers; /* of what a note brings, while it is told */
    Py_ssize_t numbers_room;

    Buffer frames, ips, deltas, clock, scratch;
    long long run_first;
    long long away;    /* nanoseconds that were ours or the user's, not the compiler's */
    long long arrived; /* when the step that is noted now began, on the compiler's clock */
    long long last_at; /* of the newest moment */
    size_t run_size;

    Frames frames_made;
    FrameRows frame_rows;
    GuardMarks guards;
    MadeMarks made;
} Steps;

extern PyTypeObject Steps_Type;

/* What a translator has, as new references. */
typedef struct {
    PyObject *stack, *locals, *blocks, *speculation;
    Py_ssize_t ip;
} Look;

/* notes.c. */
/* What a translator has; -1 with an exception. */
int notes_look_stack(PyObject *tx, Look *look);
int notes_look_rest(PyObject *tx, Look *look);
void notes_look_free(Look *look);
/* A copy of the block stack when it is not the one that was noted last (a new reference), else
   NULL; -1 with an exception. */
int notes_changed_blocks(Mirror *frame, PyObject *blocks, PyObject **copy);
/* Note a step; `blocks` is the copy, or NULL. Runs no Python and frees nothing. */
int notes_add(Steps *self, Mirror *frame, const Look *look, PyObject *blocks);
/* Bring a mirror's stack, or its locals, up to date; what falls stands in `refs`. */
int notes_stack(Steps *self, Mirror *frame, PyObject *stack, Note *note);
int notes_locals(Steps *self, Mirror *frame, PyObject *live, Note *note);
/* Let go of what stands in `refs`, or of all notes. */
void notes_release_refs(Steps *self);
void notes_release(Steps *self);

/* moments.c: make moments of all notes. */
int moments_flush(Steps *self);
/* The whole state of a frame and its callers as the next moment. */
int moments_record_whole(Steps *self, Mirror *frame);
/* Add a moment with its instant and its delta (none when empty) to the run. */
int moments_add(Steps *self, long long frame, Py_ssize_t ip, long long at, const Buffer *delta);
/* Add moments that happen at once, whose instructions and deltas are packed: the first's frame, and
   those of all counted from it. All of them or none. */
int moments_add_many(Steps *self, long long first, const uint64_t *frames, size_t count,
                     long long at, const Buffer *ips, const Buffer *deltas);
/* The compiler's clock: nanoseconds that go on only while it works. */
long long moments_clock(const Steps *self);
/* Everybody's: nanoseconds that always go on. */
long long moments_now(void);

#endif
