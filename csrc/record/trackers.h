/* Numbers for trackers, and what each was last said to be; see trackers.c. */

#ifndef STEPPER_TRACKERS_H
#define STEPPER_TRACKERS_H

#include "module.h"
#include "support/pack.h"

#include <stdint.h>

typedef struct {
    PyObject *tracker; /* the address only, to compare with */
    PyObject *ref;     /* a weak reference to it */
    uint32_t number;
} Known;

typedef struct {
    PyObject *type;
    int flavour;
    int late;
} Kind;

typedef struct {
    PyObject *tracker;
    long depth; /* of the frame that touched it */
} Touched;

typedef struct {
    Touched *items;
    Py_ssize_t size, room;
} TouchedList;

typedef struct {
    uint32_t number, description;
} Said;

typedef struct {
    uint32_t number;
    PyObject *tracker;
} Undescribed;

enum { PLAIN = 5 };

typedef struct {
    PyObject *describer, *facts, *late, *number_function;
    PyObject *alike;     /* types: of equal constants of one of them, the repr is the same */
    unsigned generation; /* one more at each clear: whoever called Python looks whether it is his */

    Known *known; /* open addressing, a power of two */
    size_t known_size, known_used;
    Kind *kinds;
    size_t kinds_size, kinds_used;

    uint32_t nothing;       /* number of what flavour NOTHING stands for; 0: none yet */
    uint32_t serial;        /* the newest number */
    uint32_t forgotten;     /* numbers up to this one mean nothing any more; see `place_of` */
    uint32_t *descriptions; /* 0: none yet */
    uint32_t *shown;        /* the stamp at which it was last shown */
    Py_ssize_t numbers_room, shown_room;
    uint32_t stamp;

    Said *fresh;
    Py_ssize_t fresh_size, fresh_room;
    Undescribed *undescribed;
    Py_ssize_t undescribed_size, undescribed_room;
    TouchedList changing, later, suspects;
    long later_depth; /* the deepest in `later`, -1: none */
    uint32_t *waiting;
    Py_ssize_t waiting_size, waiting_room;

    PyObject *plain[PLAIN]; /* by type: None, bool, int, str, `alike`: each constant's number */
    PyObject *constants;    /* description -> number, of all other constants */
    PyObject *same;         /* number -> set of further numbers of the same tracker */
} Trackers;

/* Where a number's entries are in the arrays, or 0 (where there are none) for one that is
   forgotten: the arrays have room for what one translation needs, and not for all that a session
   had. */
static inline size_t
place_of(const Trackers *self, uint32_t number)
{
    return number > self->forgotten && number <= self->serial ? number - self->forgotten : 0;
}

int trackers_init(Trackers *self, PyObject *describer, PyObject *late, PyObject *number_function);
void trackers_clear(Trackers *self);
void trackers_free(Trackers *self);

/* The number of a tracker, 0 with an exception. A new one joins `undescribed`. */
uint32_t trackers_number(Trackers *self, PyObject *tracker);
/* Describe what is new, into `fresh`. */
int trackers_describe_new(Trackers *self);
/* Describe anew what was touched, as far as the frame of `depth` can see the change. */
int touched_describe(Trackers *self, long depth);
/* A tracker comes into view: say again what it is, when the newest keyframe does not hold it. */
int trackers_show(Trackers *self, uint32_t number);
/* The tracker is about to change, by an instruction of a frame of `depth`. */
int touched_add(Trackers *self, PyObject *tracker, long depth);
/* Whether something may be changed before we hear of it: a suspect, or the top of the stack. */
int touched_must_flush_now(Trackers *self, PyObject *top);
/* Pack a map of all that is reachable from the numbers in `waiting`; from now on that is shown. */
int trackers_pack_reachable(Trackers *self, Buffer *out);
/* Put a number into `waiting`. */
int trackers_await(Trackers *self, uint32_t number);

/* Between trackers.c and touched.c. */
/* The tracker's description now, 0 with an exception. */
uint32_t trackers_describe(Trackers *self, PyObject *tracker);
/* A description was taken: it goes into the next delta, with what it holds and was not shown. */
int trackers_say(Trackers *self, uint32_t number, uint32_t description);
/* The real tracker behind a lazy one that has been realized (a new reference), or NULL. */
PyObject *trackers_inner(PyObject *tracker);
void touched_forget(TouchedList *list);

#endif
