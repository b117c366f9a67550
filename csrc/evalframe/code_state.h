/* What the extension knows about one code object; it dies with the code. */

#ifndef STEPPER_CODE_STATE_H
#define STEPPER_CODE_STATE_H

#include "module.h"

/* What the hook is not to do for a code. */
typedef enum {
    SKIP_NOTHING,
    SKIP_CAPTURE,   /* look into its cache, but do not ask what else to run */
    SKIP_FRAME,     /* run it as it is, and see to what it calls */
    SKIP_RECURSIVE, /* run it and all that it calls as they are */
} SkipMark;

typedef struct CodeState {
    struct CodeState *next, *previous; /* all of them, the newest first */
    PyCodeObject *code;                /* borrowed: it owns this */

    PyObject *watched;        /* what the observer is told about its calls; NULL: not watched */
    unsigned long long calls; /* since it is watched */
    char inside;              /* only calls that watched code makes are told, and counted */

    SkipMark skip;
    char unless_whole;       /* the mark does not count for a call that is to become one graph */
    char own_tracer;         /* a trace function with this code is stepper's own */
    struct CodeCache *cache; /* NULL until somebody asks for it */
} CodeState;

/* Whether an argument is code; if not, an exception says so. */
int code_state_is_code(PyObject *object);

/* NULL where nobody has said anything about the code yet. Never fails. */
CodeState *code_state(PyCodeObject *code);

/* The same, made when there is none. NULL: an exception is set. */
CodeState *code_state_make(PyCodeObject *code);

/* The first of all states, for those who look through them. */
CodeState *code_state_first(void);

#endif
