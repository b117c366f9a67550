/* What the files of the hot path share; the idea is in steps.c. */

#ifndef STEPPER_STEPS_H
#define STEPPER_STEPS_H

#include "frame_rows.h"
#include "frames.h"
#include "guard_marks.h"
#include "mirror.h"
#include "node_marks.h"
#include "trackers.h"

#define BATCH 64           /* steps that are noted before they are told */
#define KEYFRAME_EVERY 400 /* moments: a state is rebuilt from at most so many deltas */
#define RUN 16384          /* moments that are told before they are written */
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

typedef struct Steps {
    PyObject_HEAD
    Trackers trackers;
    PyObject *judge;
    PyObject *on_graph, *on_alert, *on_adopt, *on_error; /* see __init__ in stepper/_C.pyi */
    PyObject *pack_blocks, *speculation_text, *write_keyframe, *flush;
    PyObject *top, *current; /* Mirror, None or NULL */
    char graph_changed, nodes_changed, telling; /* the second: nothing but nodes, most often */
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

    Frames frames_made;
    FrameRows frame_rows;
    GuardMarks guards;
    PyObject *graph; /* the NodeMarks of the translation at work, None or NULL */
} Steps;

extern PyTypeObject Steps_Type;

/* What a translator has, as new references. */
typedef struct {
    PyObject *stack, *locals, *blocks, *speculation;
    Py_ssize_t ip;
} Look;

/* notes.c. */
int notes_init(void);
/* What a translator has; -1 with an exception. */
int look_stack(PyObject *tx, Look *look);
int look_rest(PyObject *tx, Look *look);
void look_free(Look *look);
/* A copy of the block stack when it is not the one that was noted last (a new reference), else
   NULL; -1 with an exception. */
int changed_blocks(Mirror *frame, PyObject *blocks, PyObject **copy);
/* Note a step; `blocks` is the copy, or NULL. Runs no Python and frees nothing. */
int add_note(Steps *self, Mirror *frame, const Look *look, PyObject *blocks);
/* Bring a mirror's stack, or its locals, up to date; what falls stands in `refs`. */
int note_stack(Steps *self, Mirror *frame, PyObject *stack, Note *note);
int note_locals(Steps *self, Mirror *frame, PyObject *live, Note *note);
/* Let go of what stands in `refs`, or of all notes. */
void release_refs(Steps *self);
void release_notes(Steps *self);

/* tell.c: turn all notes into moments. */
int tell(Steps *self);
/* The whole state of a frame and its callers as the next moment. */
int tell_whole(Steps *self, Mirror *frame);
/* Add a moment with its delta (none when empty) to the run. */
int add_moment(Steps *self, long long frame, Py_ssize_t ip, const Buffer *delta);

#endif
