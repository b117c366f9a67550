/* How deep the value stack is before each instruction, found without running anything.

   From 3.12 on a running frame does not say how far its stack goes, and whoever reads one slot too
   many reads an address that was freed. So the depth is worked out here, from the bytecode itself,
   and nobody's word is taken for it: start at the first instruction with an empty stack, add what
   each instruction leaves or takes, follow jumps and the exception table. Two ways to the same
   instruction must agree and no depth may pass co_stacksize, else nothing is claimed about the
   code at all: code that a program assembled by hand may be anything. */

#include "evalframe/stack_depth.h"

#include <opcode.h>

typedef struct {
    const unsigned char *bytes; /* opcode and argument of each unit, as the compiler wrote them */
    Py_ssize_t units;
    int stacksize;
    int *depths;
    Py_ssize_t *todo;
    Py_ssize_t todo_size;
} Walk;

/* -1: the code does not fit together. */
static int
visit(Walk *walk, Py_ssize_t unit, int depth)
{
    if (unit < 0 || unit >= walk->units || depth < 0 || depth > walk->stacksize) {
        return -1;
    }
    if (walk->depths[unit] != DEPTH_UNKNOWN) {
        return walk->depths[unit] == depth ? 0 : -1;
    }
    walk->depths[unit] = depth;
    walk->todo[walk->todo_size++] = unit;
    return 0;
}

static int
ends_a_path(int opcode)
{
    switch (opcode) {
    case RETURN_VALUE:
#ifdef RETURN_CONST
    case RETURN_CONST:
#endif
    case RAISE_VARARGS:
    case RERAISE:
    case JUMP_FORWARD:
    case JUMP_BACKWARD:
    case JUMP_BACKWARD_NO_INTERRUPT:
        return 1;
    default:
        return 0;
    }
}

/* -1: jumps backward, 1: forward, 0: not at all. */
static int
jump_direction(int opcode)
{
    switch (opcode) {
    case JUMP_BACKWARD:
    case JUMP_BACKWARD_NO_INTERRUPT:
#ifdef POP_JUMP_BACKWARD_IF_TRUE
    case POP_JUMP_BACKWARD_IF_TRUE:
    case POP_JUMP_BACKWARD_IF_FALSE:
    case POP_JUMP_BACKWARD_IF_NONE:
    case POP_JUMP_BACKWARD_IF_NOT_NONE:
#endif
        return -1;
    case JUMP_FORWARD:
    case FOR_ITER:
    case SEND:
#ifdef JUMP_IF_TRUE_OR_POP
    case JUMP_IF_TRUE_OR_POP:
    case JUMP_IF_FALSE_OR_POP:
#endif
#ifdef POP_JUMP_FORWARD_IF_TRUE
    case POP_JUMP_FORWARD_IF_TRUE:
    case POP_JUMP_FORWARD_IF_FALSE:
    case POP_JUMP_FORWARD_IF_NONE:
    case POP_JUMP_FORWARD_IF_NOT_NONE:
#endif
#ifdef POP_JUMP_IF_TRUE
    case POP_JUMP_IF_TRUE:
    case POP_JUMP_IF_FALSE:
    case POP_JUMP_IF_NONE:
    case POP_JUMP_IF_NOT_NONE:
#endif
        return 1;
    default:
        return 0;
    }
}

static int
stack_effect(int opcode, int oparg, int jump)
{
    switch (opcode) {
#ifdef PRECALL
    /* 3.11 books the arguments that CALL takes on the PRECALL before it. */
    case PRECALL:
        return 0;
    case CALL:
        return -oparg - 1;
#endif
    case RETURN_GENERATOR:
        return 1; /* what the first send() leaves for the POP_TOP behind; older versions say 0 */
    default:
        return PyCompile_OpcodeStackEffectWithJump(opcode, oparg, jump);
    }
}

/* Follows one instruction, argument prefixes included. -1: the code does not fit together. */
static int
follow(Walk *walk, Py_ssize_t unit)
{
    int depth = walk->depths[unit];
    int opcode = walk->bytes[2 * unit];
    int oparg = walk->bytes[2 * unit + 1];
    while (opcode == EXTENDED_ARG) {
        unit++;
        if (unit >= walk->units || oparg > INT_MAX >> 8) {
            return -1;
        }
        if (walk->depths[unit] != DEPTH_UNKNOWN && walk->depths[unit] != depth) {
            return -1;
        }
        walk->depths[unit] = depth;
        opcode = walk->bytes[2 * unit];
        oparg = oparg << 8 | walk->bytes[2 * unit + 1];
    }
    Py_ssize_t next = unit + 1;
    while (next < walk->units && walk->bytes[2 * next] == CACHE) {
        next++;
    }
    int direction = jump_direction(opcode);
    if (direction != 0) {
        int effect = stack_effect(opcode, oparg, 1);
        if (effect == PY_INVALID_STACK_EFFECT
            || visit(walk, next + (Py_ssize_t)direction * oparg, depth + effect) < 0) {
            return -1;
        }
    }
    if (ends_a_path(opcode)) {
        return 0;
    }
    int effect = stack_effect(opcode, oparg, 0);
    if (effect == PY_INVALID_STACK_EFFECT) {
        return -1;
    }
    return visit(walk, next, depth + effect);
}

/* A number of the exception table: six bits a byte, the highest first. -1: the table is cut. */
static int
read_number(const unsigned char **at, const unsigned char *end)
{
    unsigned value = 0;
    for (int more = 1; more;) {
        if (*at == end || value > INT_MAX >> 6) {
            return -1;
        }
        unsigned char byte = *(*at)++;
        value = value << 6 | (byte & 63);
        more = byte & 64;
    }
    return (int)value;
}

static int
visit_handlers(Walk *walk, PyObject *table)
{
    const unsigned char *at = (const unsigned char *)PyBytes_AS_STRING(table);
    const unsigned char *end = at + PyBytes_GET_SIZE(table);
    while (at < end) {
        int start = read_number(&at, end);
        int length = read_number(&at, end);
        int target = read_number(&at, end);
        int depth_and_lasti = read_number(&at, end);
        if (start < 0 || length < 0 || target < 0 || depth_and_lasti < 0) {
            return -1;
        }
        /* The exception itself, and before it the place where it was raised, if it is wanted. */
        int pushed = 1 + (depth_and_lasti & 1);
        if (visit(walk, target, (depth_and_lasti >> 1) + pushed) < 0) {
            return -1;
        }
    }
    return 0;
}

static void
walk_all(Walk *walk, PyObject *table)
{
    int fits = visit(walk, 0, 0) == 0 && visit_handlers(walk, table) == 0;
    while (fits && walk->todo_size > 0) {
        fits = follow(walk, walk->todo[--walk->todo_size]) == 0;
    }
    if (!fits) {
        for (Py_ssize_t i = 0; i < walk->units; i++) {
            walk->depths[i] = DEPTH_UNKNOWN;
        }
    }
}

int *
stack_depth_table(PyCodeObject *code, Py_ssize_t *units)
{
    PyObject *bytecode = PyCode_GetCode(code);
    if (bytecode == NULL) {
        return NULL;
    }
    Walk walk = {
        .bytes = (const unsigned char *)PyBytes_AS_STRING(bytecode),
        .units = PyBytes_GET_SIZE(bytecode) / 2,
        .stacksize = code->co_stacksize,
    };
    walk.depths = PyMem_New(int, walk.units);
    walk.todo = PyMem_New(Py_ssize_t, walk.units);
    if (walk.depths == NULL || walk.todo == NULL) {
        PyMem_Free(walk.depths);
        walk.depths = NULL;
        PyErr_NoMemory();
    }
    else {
        for (Py_ssize_t i = 0; i < walk.units; i++) {
            walk.depths[i] = DEPTH_UNKNOWN;
        }
        walk_all(&walk, code->co_exceptiontable);
        *units = walk.units;
    }
    PyMem_Free(walk.todo);
    Py_DECREF(bytecode);
    return walk.depths;
}
