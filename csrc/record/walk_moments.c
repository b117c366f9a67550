/* The moments of a walk: what has changed in its frame since the one before, packed. */

#include "record/walks.h"

#include <structmember.h>

void
walk_moments_clear(Change *change)
{
    Py_XDECREF(change->stack);
    Py_XDECREF(change->locals);
    Py_XDECREF(change->changes);
    Py_XDECREF(change->taken);
    Py_XDECREF(change->dropped);
}

static int
pack_int(Buffer *out, long long number)
{
    return number >= 0           ? pack_uint(out, (uint64_t)number)
           : number >= -32       ? pack_head(out, (unsigned char)number, 0, 0)
           : number >= INT8_MIN  ? pack_head(out, 0xd0, (uint64_t)number, 1)
           : number >= INT16_MIN ? pack_head(out, 0xd1, (uint64_t)number, 2)
                                 : pack_head(out, 0xd2, (uint64_t)number, 4);
}

static int
pack_locals(Buffer *out, PyObject *changes)
{
    if (changes == NULL) {
        return pack_nil(out);
    }
    Py_ssize_t size = PyList_GET_SIZE(changes);
    int done = pack_map(out, (size_t)(size / 2));
    for (Py_ssize_t i = 0; done == 0 && i < size; i += 2) {
        PyObject *known = PyList_GET_ITEM(changes, i + 1);
        done = pack_text(out, PyList_GET_ITEM(changes, i)) < 0
                       || pack_int(out, known == Py_None ? 0 : ((Viewed *)known)->number) < 0
                   ? -1
                   : 0;
    }
    return done;
}

static int
pack_fresh(Buffer *out, PyObject *fresh)
{
    Py_ssize_t size = PyList_GET_SIZE(fresh);
    int done = pack_array(out, (size_t)size);
    for (Py_ssize_t i = 0; done == 0 && i < size; i++) {
        PyObject *pair = PyList_GET_ITEM(fresh, i);
        done = pack_array(out, 2) < 0
                       || pack_int(out, PyLong_AsLongLong(PyTuple_GET_ITEM(pair, 0))) < 0
                       || pack_int(out, PyLong_AsLongLong(PyTuple_GET_ITEM(pair, 1))) < 0
                   ? -1
                   : 0;
    }
    return done;
}

/* As stepper/recording/schema.py documents it; nothing when nothing has changed. */
static int
pack_change(Buffer *out, const Change *change, PyObject *fresh, PyObject *blocks, int moved)
{
    Py_ssize_t size = PyList_GET_SIZE(change->stack);
    size_t parts = blocks != NULL               ? 5
                   : PyList_GET_SIZE(fresh) > 0 ? 4
                   : change->changes != NULL    ? 3
                   : moved                      ? 2
                                                : 0;
    out->size = 0;
    if (parts == 0) {
        return 0;
    }
    int done = pack_array(out, parts) < 0 || pack_uint(out, (uint64_t)change->keep) < 0
                       || pack_array(out, (size_t)(size - change->keep)) < 0
                   ? -1
                   : 0;
    for (Py_ssize_t i = change->keep; done == 0 && i < size; i++) {
        done = pack_int(out, ((Viewed *)PyList_GET_ITEM(change->stack, i))->number);
    }
    if (done == 0 && parts >= 3) {
        done = pack_locals(out, change->changes);
    }
    if (done == 0 && parts >= 4) {
        done = pack_fresh(out, fresh);
    }
    if (done == 0 && parts == 5) {
        done = pack_raw(out, PyBytes_AS_STRING(blocks), (size_t)PyBytes_GET_SIZE(blocks));
    }
    return done;
}

int
walk_moments_tell(WalkState *walk, Steps *steps, WalkFrameState *frame, const Change *change)
{
    InView *values = (InView *)walk->values;
    if (in_view_exchange(values, change->taken, change->dropped) < 0) {
        return -1;
    }
    Py_ssize_t size = PyList_GET_SIZE(change->stack);
    int moved = change->keep != size || change->keep != PyList_GET_SIZE(frame->stack);
    PyObject *packed = change->blocks == frame->blocks ? NULL : change->packed;
    Py_XSETREF(frame->blocks, Py_NewRef(change->blocks));
    Py_XSETREF(frame->stack, Py_NewRef(change->stack));
    Py_XSETREF(frame->locals, Py_NewRef(change->locals));
    if (pack_change(&steps->scratch, change, values->fresh, packed, moved) < 0
        || PyList_SetSlice(values->fresh, 0, PY_SSIZE_T_MAX, NULL) < 0
        || moments_add(steps, frame->id, (Py_ssize_t)frame->ip, moments_clock(steps),
                       &steps->scratch)
               < 0) {
        return -1;
    }
    walk->last = frame->last_moment = ++steps->moment;
    walk->moments++;
    return 0;
}

/* --- a state that was looked at --- */

/* Know the values of a stack, and how many of them are as they were. */
static int
look_at_stack(InView *values, const WalkFrameState *frame, PyObject *described, Change *change)
{
    Py_ssize_t size = PyList_GET_SIZE(described), before = PyList_GET_SIZE(frame->stack);
    change->stack = PyList_New(size);
    if (change->stack == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        PyObject *known = (PyObject *)in_view_know(values, PyList_GET_ITEM(described, i));
        if (known == NULL) {
            return -1;
        }
        PyList_SET_ITEM(change->stack, i, known);
        if (change->keep == i && i < before && PyList_GET_ITEM(frame->stack, i) == known) {
            change->keep++;
        }
    }
    return 0;
}

static int
note_local(Change *change, PyObject *name, PyObject *known)
{
    if (change->changes == NULL && (change->changes = PyList_New(0)) == NULL) {
        return -1;
    }
    return PyList_Append(change->changes, name) < 0 || PyList_Append(change->changes, known) < 0
               ? -1
               : 0;
}

static int
look_at_locals(InView *values, const WalkFrameState *frame, PyObject *described, Change *change)
{
    PyObject *name, *value;
    Py_ssize_t position = 0;
    change->locals = PyDict_New();
    if (change->locals == NULL) {
        return -1;
    }
    while (PyDict_Next(described, &position, &name, &value)) {
        PyObject *known = (PyObject *)in_view_know(values, value);
        int done = known == NULL ? -1 : PyDict_SetItem(change->locals, name, known);
        if (done == 0 && PyDict_GetItemWithError(frame->locals, name) != known) {
            done = PyErr_Occurred() ? -1 : note_local(change, name, known);
        }
        Py_XDECREF(known);
        if (done < 0) {
            return -1;
        }
    }
    position = 0;
    while (PyDict_Next(frame->locals, &position, &name, &value)) {
        int there = PyDict_Contains(change->locals, name);
        if (there < 0 || (!there && note_local(change, name, Py_None) < 0)) {
            return -1;
        }
    }
    return 0;
}

/* The values of a stack and of locals, in a new list. */
static PyObject *
places(PyObject *stack, PyObject *locals)
{
    PyObject *all = PyList_GetSlice(stack, 0, PY_SSIZE_T_MAX), *name, *value;
    Py_ssize_t position = 0;
    while (all != NULL && PyDict_Next(locals, &position, &name, &value)) {
        if (PyList_Append(all, value) < 0) {
            Py_CLEAR(all);
        }
    }
    return all;
}

int
walk_moments_looked(WalkState *walk, Steps *steps, WalkFrameState *frame, PyObject *stack,
                    PyObject *locals, PyObject *blocks, PyObject *packed)
{
    InView *values = (InView *)walk->values;
    if (values == NULL || !Py_IS_TYPE(values, &InView_Type) || !PyList_Check(frame->stack)
        || !PyDict_Check(frame->locals)) {
        return answer_refuse(PyExc_TypeError, "this is no state of a walk");
    }
    Change change = {.blocks = blocks, .packed = packed};
    int done = moments_flush(steps);
    if (done == 0 && steps->writing) {
        PyErr_SetString(PyExc_RuntimeError, "a moment cannot be told while others are told");
        done = -1;
    }
    if (done == 0) {
        done = look_at_stack(values, frame, stack, &change) < 0
                       || look_at_locals(values, frame, locals, &change) < 0
                   ? -1
                   : 0;
    }
    if (done == 0) {
        change.taken = places(change.stack, change.locals);
        change.dropped = places(frame->stack, frame->locals);
        done = change.taken == NULL || change.dropped == NULL
                   ? -1
                   : walk_moments_tell(walk, steps, frame, &change);
    }
    walk_moments_clear(&change);
    return done;
}

static PyObject *
walk_looked(WalkState *self, PyObject *args)
{
    Steps *steps;
    WalkFrameState *frame;
    PyObject *stack, *locals, *blocks, *packed;
    if (!PyArg_ParseTuple(args, "O!O!O!O!OO", &Steps_Type, &steps, &WalkFrameState_Type, &frame,
                          &PyList_Type, &stack, &PyDict_Type, &locals, &blocks, &packed)) {
        return NULL;
    }
    if (packed != Py_None && !PyBytes_Check(packed)) {
        return PyErr_Format(PyExc_TypeError, "blocks are encoded as bytes");
    }
    int done = walk_moments_looked(self, steps, frame, stack, locals, blocks,
                                   packed == Py_None ? NULL : packed);
    return done < 0 ? NULL : PyLong_FromLongLong(frame->last_moment);
}

static PyMethodDef walk_methods[] = {
    METHOD("looked", walk_looked, METH_VARARGS),
    {NULL},
};

COLLECTED(frame_state, WalkFrameState, 3)
COLLECTED(walk_state, WalkState, 1)

static PyMemberDef frame_members[] = {
    {"stack", T_OBJECT_EX, offsetof(WalkFrameState, stack), 0, NULL},
    {"locals", T_OBJECT_EX, offsetof(WalkFrameState, locals), 0, NULL},
    {"blocks", T_OBJECT_EX, offsetof(WalkFrameState, blocks), 0, NULL},
    {"id", T_LONGLONG, offsetof(WalkFrameState, id), 0, NULL},
    {"ip", T_LONGLONG, offsetof(WalkFrameState, ip), 0, NULL},
    {"last_moment", T_LONGLONG, offsetof(WalkFrameState, last_moment), 0, NULL},
    {NULL},
};

PyTypeObject WalkFrameState_Type = {
    TYPE(WalkFrameState),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_new = PyType_GenericNew,
    .tp_members = frame_members,
    COLLECTED_SLOTS(frame_state),
};

static PyMemberDef walk_members[] = {
    {"values", T_OBJECT_EX, offsetof(WalkState, values), 0, NULL},
    {"moments", T_LONGLONG, offsetof(WalkState, moments), 0, NULL},
    {"last", T_LONGLONG, offsetof(WalkState, last), 0, NULL},
    {"keyframe_due", T_LONGLONG, offsetof(WalkState, keyframe_due), 0, NULL},
    {"muted", T_BOOL, offsetof(WalkState, muted), 0, NULL},
    {NULL},
};

PyTypeObject WalkState_Type = {
    TYPE(WalkState),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_new = PyType_GenericNew,
    .tp_methods = walk_methods,
    .tp_members = walk_members,
    COLLECTED_SLOTS(walk_state),
};

const Part walk_moments_part = {.types = {&WalkFrameState_Type, &WalkState_Type}};
