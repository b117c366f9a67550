/* A symbolic frame as the recorder saw it last.

   Two pictures of it: what was *noted* at its newest step (references to the very trackers), and
   what was *told* of it (the trackers' numbers). The second lags behind by the notes that are not
   told yet; see steps.c.

   A mirror is no object of the garbage collector's: there are thousands in a translation, and none
   is part of a cycle. */

#ifndef STEPPER_MIRROR_H
#define STEPPER_MIRROR_H

#include "module.h"

#include <stdint.h>

typedef struct {
    PyObject *name;
    PyObject *value; /* the tracker that was noted */
} Local;

typedef struct {
    PyObject *name;
    uint32_t number; /* the tracker that was told */
} ToldLocal;

typedef struct Mirror {
    PyObject_HEAD
    long long id;
    long depth;
    PyObject *key; /* the engine's translator */
    struct Mirror *parent;
    PyObject *attempt, *call_moment, *make_code, *code;
    PyObject *stores; /* bytes; NULL until the frame has been written */
    char written;
    Py_ssize_t ip, recorded_ip;

    PyObject **stack;
    Py_ssize_t stack_size, stack_room;
    PyObject *live_locals; /* the engine's own dictionary, when it was looked at last */
    Local *locals;
    Py_ssize_t locals_size, locals_room;
    Py_ssize_t blocks_size;
    PyObject *blocks_last, *speculation;

    uint32_t *told_stack;
    Py_ssize_t recorded_stack_size, told_stack_room;
    ToldLocal *told_locals;
    Py_ssize_t told_locals_size, told_locals_room;
    PyObject *recorded_blocks;      /* packed; NULL: none */
    PyObject *recorded_speculation; /* text; NULL: none */
} Mirror;

extern PyTypeObject Mirror_Type;

/* The mirror of a call that is inlined in `parent`, which calls it in `moment`. */
Mirror *mirror_within(Mirror *parent, long long id, PyObject *key, PyObject *make_code,
                      PyObject *attempt, long long moment);

/* Forget what was noted and told of its state. */
void mirror_clear_state(Mirror *mirror);

#endif
