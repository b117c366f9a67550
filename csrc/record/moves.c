/* Instructions of watched code, told without Python.

   Before each of them the interpreter calls back. Most load, store, copy, swap or pop, so what they
   leave follows from what was there, without a look at the values (stepper/debuggee/effects.py has the
   operations); that costs a third of a microsecond. After the others code of the user's may have run,
   and all values of the frame are looked at (looks.c). What is left goes to the callback: the first
   instruction of a frame, a moment at which the program might stop or a keyframe is due.

   Nothing is changed before it is certain that the moment can be told here. What runs Python on the
   way (values that come from elsewhere are described by the engine) finds the frame as it was. */

#include "record/steps.h"
#include "record/walks.h"

#include "support/api.h"
#include "support/lock.h"
#include "support/names.h"

#include <structmember.h>

enum { KIND = 3 };      /* in a Described */
enum { CODE_UNIT = 2 }; /* bytes */
/* The operations that effects are made of. */
enum { LOAD, CONST, NULL_SLOT, COPY, SWAP, POP, STORE, DELETE, TOPS, TOPS_IF, MAKE };

/* --- what is known of code before it runs --- */

typedef struct {
    PyObject_HEAD
    PyObject *index, *targets; /* bytes, ints by code unit and by instruction; -1: none */
    PyObject *effects, *names, *blocks, *packed; /* lists, one item for each instruction */
} Moves;

enum { MOVES_OBJECTS = 6 };

static PyTypeObject Moves_Type;

/* An item of bytes that are ints; -1: there is none. */
static int
int_at(PyObject *bytes, Py_ssize_t place)
{
    int found = -1;
    if (place >= 0 && place < PyBytes_GET_SIZE(bytes) / (Py_ssize_t)sizeof found) {
        memcpy(&found, PyBytes_AS_STRING(bytes) + place * (Py_ssize_t)sizeof found, sizeof found);
    }
    return found;
}

static PyObject *
moves_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    PyObject *given[MOVES_OBJECTS];
    if (!PyArg_ParseTuple(args, "SSO!O!O!O!:Moves", &given[0], &given[1], &PyList_Type, &given[2],
                          &PyList_Type, &given[3], &PyList_Type, &given[4], &PyList_Type,
                          &given[5])) {
        return NULL;
    }
    Py_ssize_t count = PyBytes_GET_SIZE(given[1]) / (Py_ssize_t)sizeof(int);
    for (int i = 2; i < MOVES_OBJECTS; i++) {
        if (PyList_GET_SIZE(given[i]) != count) {
            return PyErr_Format(PyExc_ValueError, "each instruction has one of each");
        }
    }
    for (Py_ssize_t i = 0; i < PyBytes_GET_SIZE(given[0]) / (Py_ssize_t)sizeof(int); i++) {
        if (int_at(given[0], i) >= count) {
            return PyErr_Format(PyExc_ValueError, "there are not so many instructions");
        }
    }
    Moves *self = (Moves *)type->tp_alloc(type, 0);
    if (self != NULL) {
        collected_set(&self->index, MOVES_OBJECTS, given);
    }
    return (PyObject *)self;
}

COLLECTED(moves, Moves, MOVES_OBJECTS)

static PyTypeObject Moves_Type = {
    TYPE(Moves),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = moves_new,
    COLLECTED_SLOTS(moves),
};

/* --- a frame that runs --- */

typedef struct {
    PyObject_HEAD
    PyObject *moves; /* a Moves */
    PyObject *nodes; /* or, of a graph's function: a dict, the nodes by the lines that are theirs */
    PyObject *hidden, *walk, *frame;
    long long key;
    int at;
    char exact, looks;
} RunState;

COLLECTED(run, RunState, 5)

static PyMemberDef run_members[] = {
    {"moves", T_OBJECT_EX, offsetof(RunState, moves), 0, NULL},
    {"nodes", T_OBJECT_EX, offsetof(RunState, nodes), 0, NULL},
    {"hidden", T_OBJECT_EX, offsetof(RunState, hidden), 0, NULL},
    {"walk", T_OBJECT_EX, offsetof(RunState, walk), 0, NULL},
    {"frame", T_OBJECT_EX, offsetof(RunState, frame), 0, NULL},
    {"key", T_LONGLONG, offsetof(RunState, key), 0, NULL},
    {"at", T_INT, offsetof(RunState, at), 0, NULL},
    {"exact", T_BOOL, offsetof(RunState, exact), 0, NULL},
    {"looks", T_BOOL, offsetof(RunState, looks), 0, NULL},
    {NULL},
};

static PyTypeObject RunState_Type = {
    TYPE(RunState),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_new = PyType_GenericNew,
    .tp_members = run_members,
    COLLECTED_SLOTS(run),
};

static int
has_moves(const RunState *run)
{
    return run->moves != NULL && Py_IS_TYPE(run->moves, &Moves_Type);
}

static int
is_graph(const RunState *run)
{
    return run->nodes != NULL && PyDict_Check(run->nodes) && run->hidden != NULL
           && PyFrozenSet_Check(run->hidden);
}

/* Which of its instructions is at this offset, or which node at this line; -1: none, or an exception
   is set. */
static int
instruction_at(const RunState *run, Py_ssize_t place)
{
    if (has_moves(run)) {
        return place < 0 ? -1 : int_at(((Moves *)run->moves)->index, place / CODE_UNIT);
    }
    PyObject *line = PyLong_FromSsize_t(place);
    PyObject *node = line == NULL ? NULL : PyDict_GetItemWithError(run->nodes, line);
    Py_XDECREF(line);
    return node == NULL ? -1 : (int)PyLong_AsLong(node);
}

/* --- the callback --- */

typedef struct {
    PyObject_HEAD
    PyObject *callback;
    PyObject *running, *raising; /* executions by thread; frames that an exception goes through */
    PyObject *lock, *recorder, *walks, *controller, *steps;
    PyObject *no_code_runs, *frozen, *break_down;
    Eyes *eyes;
    vectorcallfunc vectorcall;
} UnlessMoved;

enum { UNLESS_MOVED_OBJECTS = 12 };

static int
truth_of(PyObject *object, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(object, name);
    int truth = answer_truth(value);
    return truth;
}

/* Whether this thread stands still; -1 with an exception. */
static int
stands(UnlessMoved *self)
{
    PyObject *standing = PyObject_GetAttr(self->controller, ID(standing));
    int truth = standing == NULL ? -1
                : standing == Py_None
                    ? 0
                    : PyLong_AsUnsignedLong(standing) == PyThread_get_thread_ident();
    Py_XDECREF(standing);
    return truth;
}

/* Put a value on the stack: takes over the reference; -1 with an exception. */
static int
push(Change *change, Viewed *known)
{
    int done = known == NULL || PyList_Append(change->stack, (PyObject *)known) < 0
                       || PyList_Append(change->taken, (PyObject *)known) < 0
                   ? -1
                   : 0;
    Py_XDECREF(known);
    return done;
}

static Viewed *
pop(Change *change)
{
    Py_ssize_t size = PyList_GET_SIZE(change->stack);
    Viewed *known = (Viewed *)Py_NewRef(PyList_GET_ITEM(change->stack, size - 1));
    if (PyList_SetSlice(change->stack, size - 1, size, NULL) < 0) {
        Py_CLEAR(known);
    }
    else if (change->keep > size - 1) {
        change->keep = size - 1;
    }
    return known;
}

/* Whether one of the values that have just left a place may be gone, with all that its end can lead
   to; -1 with an exception. */
static int
may_have_died(UnlessMoved *self, PyObject *dropped)
{
    Py_ssize_t count = PyList_GET_SIZE(dropped);
    for (Py_ssize_t i = 0; i < count; i++) {
        Viewed *known = (Viewed *)PyList_GET_ITEM(dropped, i);
        Py_ssize_t times = 0;
        for (Py_ssize_t j = 0; j < count; j++) {
            times += PyList_GET_ITEM(dropped, j) == (PyObject *)known;
        }
        if (known->users <= times) {
            int frozen = known->described == NULL
                             ? 0
                             : PySet_Contains(self->frozen,
                                              PyTuple_GET_ITEM(known->described, KIND));
            if (frozen <= 0) {
                return frozen < 0 ? -1 : 1;
            }
        }
    }
    return 0;
}

static int
own_locals(Change *change, const WalkFrameState *frame)
{
    if (change->locals == frame->locals) {
        PyObject *copy = PyDict_Copy(frame->locals);
        change->changes = copy == NULL ? NULL : PyList_New(0);
        if (change->changes == NULL) {
            Py_XDECREF(copy);
            return -1;
        }
        Py_SETREF(change->locals, copy);
    }
    return 0;
}

/* Store a value among the locals, or (NULL) delete one. */
static int
set_local(Change *change, const WalkFrameState *frame, PyObject *name, PyObject *known)
{
    PyObject *before = PyDict_GetItemWithError(change->locals, name);
    if ((before == NULL && PyErr_Occurred())
        || (before != NULL && PyList_Append(change->dropped, before) < 0)
        || own_locals(change, frame) < 0 || PyList_Append(change->changes, name) < 0
        || PyList_Append(change->changes, known == NULL ? Py_None : known) < 0) {
        return -1;
    }
    return known == NULL ? PyDict_DelItem(change->locals, name)
                         : PyDict_SetItem(change->locals, name, known);
}

/* What an instruction leaves that takes values and makes others: 1, or 0: that is not known. */
static int
exchange_tops(UnlessMoved *self, InView *values, PyObject *real, PyObject *opname, long kind,
              Py_ssize_t pops, Py_ssize_t pushes, Change *change)
{
    Py_ssize_t size = PyList_GET_SIZE(change->stack), base = size - pops;
    PyObject *there = PyObject_CallOneArg(self->eyes->value_stack, real);
    if (there == NULL) {
        return -1;
    }
    int done = base >= 0 && PyList_Check(there) && PyList_GET_SIZE(there) == base + pushes;
    if (done == 1) {
        Py_SETREF(change->dropped, PyList_GetSlice(change->stack, base, size));
        done = change->dropped == NULL ? -1 : 1;
    }
    if (done == 1 && kind == TOPS_IF) {
        PyObject *none = PyObject_CallFunctionObjArgs(self->no_code_runs, opname, change->dropped,
                                                      NULL);
        done = answer_truth(none);
    }
    if (done == 1 && kind != MAKE) {
        int died = may_have_died(self, change->dropped);
        done = died < 0 ? -1 : !died;
    }
    if (done == 1 && PyList_SetSlice(change->stack, base, size, NULL) < 0) {
        done = -1;
    }
    change->keep = base;
    for (Py_ssize_t i = base; done == 1 && i < base + pushes; i++) {
        PyObject *described = looks_describe(self->eyes, values, PyList_GET_ITEM(there, i));
        if (described == NULL || push(change, in_view_know(values, described)) < 0) {
            done = -1;
        }
        Py_XDECREF(described);
    }
    Py_DECREF(there);
    return done;
}

/* Do an operation to `change`: 1, or 0: what it does is not known; -1 with an exception. */
static int
operate(UnlessMoved *self, const WalkFrameState *frame, InView *values, PyObject *real,
        PyObject *opname, PyObject *operation, Change *change)
{
    long kind = PyLong_AsLong(PyTuple_GET_ITEM(operation, 0));
    PyObject *argument = PyTuple_GET_ITEM(operation, 1), *known;
    Py_ssize_t size = PyList_GET_SIZE(change->stack);
    Py_ssize_t number = PyLong_Check(argument) ? PyLong_AsSsize_t(argument) : 0;
    switch (kind) {
    case LOAD:
        known = PyDict_GetItemWithError(change->locals, argument);
        if (known == NULL) {
            return PyErr_Occurred() ? -1 : 0;
        }
        return push(change, (Viewed *)Py_NewRef(known)) < 0 ? -1 : 1;
    case CONST:
        return push(change, in_view_know(values, argument)) < 0 ? -1 : 1;
    case NULL_SLOT:
        return push(change, in_view_know(values, self->eyes->null_slot)) < 0 ? -1 : 1;
    case COPY:
        if (number < 1 || number > size) {
            return 0;
        }
        known = PyList_GET_ITEM(change->stack, size - number);
        return push(change, (Viewed *)Py_NewRef(known)) < 0 ? -1 : 1;
    case SWAP:
        if (number < 1 || number > size) {
            return 0;
        }
        known = PyList_GET_ITEM(change->stack, size - 1);
        PyList_SET_ITEM(change->stack, size - 1, PyList_GET_ITEM(change->stack, size - number));
        PyList_SET_ITEM(change->stack, size - number, known);
        change->keep = Py_MIN(change->keep, size - number);
        return 1;
    case POP:
    case STORE: {
        if (size < 1) {
            return 0;
        }
        known = (PyObject *)pop(change);
        int done = known == NULL ? -1
                   : kind == POP ? PyList_Append(change->dropped, known)
                                 : set_local(change, frame, argument, known);
        Py_XDECREF(known);
        return done < 0 ? -1 : 1;
    }
    case DELETE: {
        int there = PyDict_Contains(change->locals, argument);
        return there <= 0 ? there : set_local(change, frame, argument, NULL) < 0 ? -1 : 1;
    }
    default:
        return exchange_tops(self, values, real, opname, kind, number,
                             PyLong_AsSsize_t(PyTuple_GET_ITEM(operation, 2)), change);
    }
}

static int
move(UnlessMoved *self, RunState *run, PyObject *real, int at)
{
    WalkState *walk = (WalkState *)run->walk;
    WalkFrameState *frame = (WalkFrameState *)run->frame;
    Moves *moves = (Moves *)run->moves;
    Steps *steps = (Steps *)self->steps;
    InView *values = (InView *)walk->values;
    int before = run->at;
    PyObject *effects = before < 0 || (at != before + 1 && at != int_at(moves->targets, before))
                            ? Py_None
                            : PyList_GET_ITEM(moves->effects, before);
    if (!PyTuple_Check(effects)) {
        return 0;
    }
    Change change = {
        .stack = PyList_GetSlice(frame->stack, 0, PY_SSIZE_T_MAX),
        .locals = Py_NewRef(frame->locals),
        .taken = PyList_New(0),
        .dropped = PyList_New(0),
        .keep = PyList_GET_SIZE(frame->stack),
    };
    int done = change.stack == NULL || change.taken == NULL || change.dropped == NULL ? -1 : 1;
    int tops = 0;
    for (Py_ssize_t i = 0; done == 1 && i < PyTuple_GET_SIZE(effects); i++) {
        PyObject *operation = PyTuple_GET_ITEM(effects, i);
        tops = PyLong_AsLong(PyTuple_GET_ITEM(operation, 0)) >= TOPS;
        done = operate(self, frame, values, real, PyList_GET_ITEM(moves->names, before), operation,
                       &change);
    }
    if (done == 1 && !tops) {
        int died = may_have_died(self, change.dropped);
        done = died < 0 ? -1 : !died;
    }
    if (done == 1) {
        change.blocks = PyList_GET_ITEM(moves->blocks, at);
        change.packed = PyList_GET_ITEM(moves->packed, at);
        frame->ip = at;
        done = walk_moments_tell(walk, steps, frame, &change) < 0 ? -1 : 1;
    }
    walk_moments_clear(&change);
    return done;
}

/* Look at all values: they are told whatever they are. */
static int
look(UnlessMoved *self, RunState *run, PyObject *real, int at)
{
    WalkFrameState *frame = (WalkFrameState *)run->frame;
    Moves *moves = (Moves *)run->moves;
    int graph = !has_moves(run);
    frame->ip = at;
    if (looks_tell(self->eyes, (WalkState *)run->walk, (Steps *)self->steps, frame, real,
                   graph ? run->hidden : NULL,
                   graph ? frame->blocks : PyList_GET_ITEM(moves->blocks, at),
                   graph ? NULL : PyList_GET_ITEM(moves->packed, at))
        < 0) {
        return -1;
    }
    run->exact = 1;
    return PyObject_SetAttr(run->walk, ID(_frame), run->frame) < 0 ? -1 : 1;
}

/* Tell a moment that is no keyframe, of a frame that has been told: 1, or 0; -1 with an exception. */
static int
tell(UnlessMoved *self, RunState *run, PyObject *real, int at)
{
    WalkState *walk = (WalkState *)run->walk;
    WalkFrameState *frame = (WalkFrameState *)run->frame;
    Steps *steps = (Steps *)self->steps;
    if (frame->id == 0 || !PyList_Check(frame->stack) || !PyDict_Check(frame->locals)
        || !Py_IS_TYPE(walk->values, &InView_Type)) {
        return 0;
    }
    if (moments_flush(steps) < 0) {
        return -1;
    }
    if (steps->writing || steps->moment + 1 >= walk->keyframe_due) {
        return 0;
    }
    int done = run->exact && has_moves(run) ? move(self, run, real, at) : 0;
    return done == 0 ? look(self, run, real, at) : done;
}

/* The execution whose frame this is, if it is the innermost of its thread; borrowed, or NULL. */
static RunState *
run_of(UnlessMoved *self, PyObject *real)
{
    PyObject *ident = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    PyObject *stack = ident == NULL ? NULL : PyDict_GetItemWithError(self->running, ident);
    Py_XDECREF(ident);
    Py_ssize_t size = stack == NULL ? 0 : PyList_GET_SIZE(stack);
    PyObject *last = size == 0 ? NULL : PyList_GET_ITEM(stack, size - 1);
    if (last == NULL || !PyObject_TypeCheck(last, &RunState_Type)) {
        return NULL;
    }
    RunState *run = (RunState *)last;
    return run->key == (long long)(intptr_t)real && !run->looks && (has_moves(run) || is_graph(run))
                   && PyObject_TypeCheck(run->walk, &WalkState_Type)
                   && PyObject_TypeCheck(run->frame, &WalkFrameState_Type)
               ? run
               : NULL;
}

/* Tell the moment before an instruction or a node: 1, or 0: it is for the callback; -1 with an
   exception. */
static int
step(UnlessMoved *self, PyObject *real, Py_ssize_t place)
{
    ReentrantLock *lock = (ReentrantLock *)self->lock;
    if (lock_depth(lock) > 0 && lock->writers[lock->depth - 1] == lock->owner) {
        return 0;
    }
    RunState *run = run_of(self, real);
    if (run == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    int at = instruction_at(run, place);
    WalkState *walk = (WalkState *)run->walk;
    int alert = at < 0 && PyErr_Occurred() ? -1 : truth_of(self->controller, ID(alert));
    int asked = alert != 0 ? alert : stands(self);
    if (at < 0 || asked != 0) {
        return asked < 0 ? -1 : 0;
    }
    int everything = truth_of(self->recorder, ID(everything));
    int muted = walk->muted ? 1 : truth_of(self->walks, ID(muted));
    if (everything < 0 || muted < 0) {
        return -1;
    }
    if (muted || !everything) { /* nobody looks */
        run->at = at;
        run->exact = 0;
        return 1;
    }
    Py_ssize_t depth = lock_depth(lock);
    if (lock_take(lock) < 0) {
        return -1;
    }
    lock->writers[lock->depth - 1] = lock->owner;
    Py_INCREF(run);
    int done = tell(self, run, real, at);
    if (done == 1) {
        run->at = at;
    }
    Py_DECREF(run);
    lock_unwind(lock, depth);
    return done;
}

/* With (code, offset) or (code, line) from sys.monitoring, with (frame, event, argument) from
   sys.settrace. */
static PyObject *
unless_moved_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    UnlessMoved *self = (UnlessMoved *)object;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    PyObject *frame = NULL;
    Py_ssize_t place = -1;
    if (count == 2 && PyLong_Check(args[1])) {
        frame = (PyObject *)PyEval_GetFrame();
        place = PyLong_AsSsize_t(args[1]);
    }
    else if (count == 3 && PyFrame_Check(args[0]) && PyDict_GET_SIZE(self->raising) == 0) {
        if (PyUnicode_CompareWithASCIIString(args[1], "opcode") == 0) {
            frame = args[0];
            place = PyFrame_GetLasti((PyFrameObject *)frame);
        }
        else if (PyUnicode_CompareWithASCIIString(args[1], "line") == 0) {
            frame = args[0];
            place = PyFrame_GetLineNumber((PyFrameObject *)frame);
        }
    }
    int done = frame == NULL ? 0 : step(self, frame, place);
    if (done == 0) {
        PyObject *result = PyObject_Vectorcall(self->callback, args, nargsf, names);
        if (result != NULL && count == 3) {
            Py_SETREF(result, Py_NewRef(object));
        }
        return result;
    }
    if (done < 0) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return NULL;
        }
        PyObject *error = error_take();
        PyObject *answer = PyObject_CallOneArg(self->break_down, error);
        Py_DECREF(error);
        if (answer == NULL) {
            return NULL;
        }
        Py_DECREF(answer);
    }
    return count == 3 ? Py_NewRef(object) : Py_NewRef(Py_None);
}

static PyObject *
unless_moved_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    PyObject *given[UNLESS_MOVED_OBJECTS];
    if (!PyArg_ParseTuple(args, "OO!O!O!OOOO!OO!OO!:UnlessMoved", &given[0], &PyDict_Type,
                          &given[1], &PyDict_Type, &given[2], &ReentrantLock_Type, &given[3],
                          &given[4], &given[5], &given[6], &Steps_Type, &given[7], &given[8],
                          &PyFrozenSet_Type, &given[9], &given[10], &Eyes_Type, &given[11])) {
        return NULL;
    }
    UnlessMoved *self = (UnlessMoved *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = unless_moved_call;
        collected_set(&self->callback, UNLESS_MOVED_OBJECTS, given);
    }
    return (PyObject *)self;
}

COLLECTED(callback, UnlessMoved, UNLESS_MOVED_OBJECTS)

static PyTypeObject UnlessMoved_Type = {
    TYPE(UnlessMoved),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = unless_moved_new,
    CALLED_SLOTS(UnlessMoved),
    COLLECTED_SLOTS(callback),
};

static const Constant constants[] = {
    CONSTANT_OF(LOAD), CONSTANT_OF(CONST), CONSTANT_OF(NULL_SLOT), CONSTANT_OF(COPY),
    CONSTANT_OF(SWAP), CONSTANT_OF(POP),   CONSTANT_OF(STORE),     CONSTANT_OF(DELETE),
    CONSTANT_OF(TOPS), CONSTANT_OF(MAKE),  CONSTANT_OF(TOPS_IF),   {NULL},
};

const Part moves_part = {.types = {&Moves_Type, &RunState_Type, &UnlessMoved_Type},
                         .constants = constants};
