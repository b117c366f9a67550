/* What a frame holds: its value stack and its locals, as the objects themselves.

   Reading the stack of a frame is easy and knowing where it ends is not. While a frame runs,
   CPython keeps the end in a register, and the slots above it hold what is left of values that
   were freed. So the stack is read only where its end is certain:

   - where CPython itself has written it down: frames suspended at a call of another Python
     function, generators that are suspended, traced frames of 3.11, frames in line events, frames
     that have returned, and in 3.14 all frames, before anything is called;
   - at an instruction boundary, where the depth follows from the bytecode (stack_depths.py). Python
     code cannot tell that it runs at a boundary and not in the middle of an instruction, whose
     operands may be half gone (a destructor that runs during POP_TOP sees the value that is
     being freed). Hence AtInstruction: a callback that is wrapped in it knows, because it is
     called by the interpreter itself, which frame stands at a boundary for as long as it runs.

   There a value can be exchanged for another, too: what is called instead of a function, say.
   Everywhere else the answer is None: not known. Values come back with references of their own, so
   whatever they do afterwards, they do it alive; and none of their own code runs here. */

#include "support/collected.h"
#include "support/compat.h"

static PyObject *null_object; /* stands for an empty slot */

enum { DEPTH_UNKNOWN = -1 };

/* The frame of this thread that stands at an instruction boundary, if any, and who knows how deep its
   stack is there. */
static _Thread_local Frame *frame_at_boundary;
static _Thread_local PyObject *depth_at_boundary;

/* --- NULL --- */

static PyObject *
null_repr(PyObject *Py_UNUSED(self))
{
    return PyUnicode_FromString("NULL");
}

static int
null_bool(PyObject *Py_UNUSED(self))
{
    return 0;
}

static PyNumberMethods null_as_number = {.nb_bool = null_bool};

typedef PyObject Null;

static PyTypeObject Null_Type = {
    TYPE(Null),
    .tp_repr = null_repr,
    .tp_as_number = &null_as_number,
};

/* --- the stack --- */

/* DEPTH_UNKNOWN, or -2: an exception is set. */
static int
depth_of(Frame *frame)
{
    PyCodeObject *code = frame_code(frame);
    Py_ssize_t end = frame_slots_end(frame);
    if (end >= 0) {
        /* Less than that in frames that were cleared. */
        int depth = (int)end - code->co_nlocalsplus;
        return depth < 0 ? 0 : depth;
    }
    if (frame != frame_at_boundary) {
        return DEPTH_UNKNOWN;
    }
    PyObject *found = PyObject_CallFunction(depth_at_boundary, "On", code, 2 * frame_unit(frame));
    int depth = found == NULL ? -2 : found == Py_None ? DEPTH_UNKNOWN : (int)PyLong_AsLong(found);
    Py_XDECREF(found);
    return depth == -1 && PyErr_Occurred() ? -2 : depth;
}

static PyObject *
value_stack(PyObject *Py_UNUSED(module), PyObject *frame_object)
{
    if (!PyFrame_Check(frame_object)) {
        return PyErr_Format(PyExc_TypeError, "value_stack() wants a frame, not %s",
                            Py_TYPE(frame_object)->tp_name);
    }
    Frame *frame = ((PyFrameObject *)frame_object)->f_frame;
    int depth = depth_of(frame);
    if (depth == -2) {
        return NULL;
    }
    if (depth == DEPTH_UNKNOWN) {
        Py_RETURN_NONE;
    }
    /* Making the list may collect garbage and so run anything, but not change this frame's stack:
       the frame waits, below us or in its generator. A frame that something else resumes and
       suspends meanwhile would, so its depth is asked again. */
    PyObject *values = PyList_New(depth);
    if (values == NULL) {
        return NULL;
    }
    frame = ((PyFrameObject *)frame_object)->f_frame;
    if (depth_of(frame) != depth) {
        Py_DECREF(values);
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    int first = frame_code(frame)->co_nlocalsplus;
    for (int i = 0; i < depth; i++) {
        PyObject *value = frame_stack_value(frame, first + i);
        if (value == NULL && PyErr_Occurred()) {
            Py_DECREF(values);
            return NULL;
        }
        PyList_SET_ITEM(values, i, value == NULL ? Py_NewRef(null_object) : value);
    }
    return values;
}

/* Memory is safe whatever is put there: a slot below the end of a stack owns what it holds. */
static PyObject *
put_on_stack(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *frame_object, *value;
    Py_ssize_t index;
    if (!PyArg_ParseTuple(args, "O!nO:put_on_stack", &PyFrame_Type, &frame_object, &index,
                          &value)) {
        return NULL;
    }
    Frame *frame = ((PyFrameObject *)frame_object)->f_frame;
    int depth = depth_of(frame);
    if (depth == -2) {
        return NULL;
    }
    Py_ssize_t slot = frame_code(frame)->co_nlocalsplus + index;
    if (index < 0 || index >= depth || frame_slot(frame, slot) == NULL || value == null_object) {
        return PyErr_Format(PyExc_ValueError, "no value is known to be in that slot");
    }
    /* What was there dies with the caller's reference at the earliest. */
    return frame_exchange_slot(frame, slot, Py_NewRef(value));
}

/* --- the locals --- */

static PyObject *
frame_locals(PyObject *Py_UNUSED(module), PyObject *frame_object)
{
    if (!PyFrame_Check(frame_object)) {
        return PyErr_Format(PyExc_TypeError, "frame_locals() wants a frame, not %s",
                            Py_TYPE(frame_object)->tp_name);
    }
    PyObject *locals = PyDict_New();
    if (locals == NULL) {
        return NULL;
    }
    for (int i = 0;; i++) {
        /* Filling the dictionary may run code of others (garbage collection), which may clear the
           frame or move it, so nothing about it is kept from one turn to the next. */
        Frame *frame = ((PyFrameObject *)frame_object)->f_frame;
        PyCodeObject *code = frame_code(frame);
        Py_ssize_t end = frame_slots_end(frame);
        int cleared = end >= 0 && end < code->co_nlocalsplus;
        if (cleared || i >= code->co_nlocalsplus) {
            return locals;
        }
        PyObject *value = frame_slot(frame, i);
        _PyLocals_Kind kind = _PyLocals_GetKind(code->co_localspluskinds, i);
        if (value != NULL && kind & (CO_FAST_CELL | CO_FAST_FREE) && PyCell_Check(value)) {
            value = PyCell_GET(value);
        }
        if (value == NULL) {
            continue;
        }
        Py_INCREF(value);
        int failed = PyDict_SetItem(locals, PyTuple_GET_ITEM(code->co_localsplusnames, i), value);
        Py_DECREF(value);
        if (failed < 0) {
            Py_DECREF(locals);
            return NULL;
        }
    }
}

/* --- the instruction boundary --- */

typedef struct {
    PyObject_HEAD
    PyObject *callback, *depth;
    vectorcallfunc vectorcall;
} AtInstruction;

/* Whether the interpreter itself calls back for an instruction of the frame that runs now: with
   (code, offset) from sys.monitoring, with (frame, event, argument) from sys.settrace. */
static int
is_at_boundary(PyThreadState *tstate, PyObject *const *args, Py_ssize_t nargs)
{
    Frame *frame = current_frame(tstate);
    if (frame == NULL || !in_instruction_event(tstate)) {
        return 0;
    }
    if (nargs == 2) {
        return args[0] == (PyObject *)frame_code(frame) && PyLong_CheckExact(args[1])
               && PyLong_AsLong(args[1]) == 2 * (long)frame_unit(frame);
    }
    return nargs == 3 && args[0] == (PyObject *)frame->frame_obj;
}

static PyObject *
at_instruction_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    AtInstruction *self = (AtInstruction *)object;
    PyThreadState *tstate = PyThreadState_Get();
    if (self->callback == NULL) { /* it is being collected */
        Py_RETURN_NONE;
    }
    PyObject *callback = Py_NewRef(self->callback), *depth = Py_NewRef(self->depth);
    if (is_at_boundary(tstate, args, PyVectorcall_NARGS(nargsf))) {
        frame_at_boundary = current_frame(tstate);
        depth_at_boundary = depth;
    }
    PyObject *result = PyObject_Vectorcall(callback, args, nargsf, names);
    /* Not what it was before: no event comes inside another, and coroutines that switch stacks in
       the callback would put a frame back that is gone. */
    frame_at_boundary = NULL;
    Py_DECREF(callback);
    Py_DECREF(depth);
    return result;
}

static PyObject *
at_instruction_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    PyObject *callback, *depth;
    if (!PyArg_ParseTuple(args, "OO:AtInstruction", &callback, &depth)) {
        return NULL;
    }
    if (!PyCallable_Check(callback) || !PyCallable_Check(depth)) {
        return PyErr_Format(PyExc_TypeError, "AtInstruction() wants something to call");
    }
    AtInstruction *self = (AtInstruction *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = at_instruction_call;
        self->callback = Py_NewRef(callback);
        self->depth = Py_NewRef(depth);
    }
    return (PyObject *)self;
}

COLLECTED(at_instruction, AtInstruction, 2)

static PyTypeObject AtInstruction_Type = {
    TYPE(AtInstruction),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = at_instruction_new,
    CALLED_SLOTS(AtInstruction),
    COLLECTED_SLOTS(at_instruction),
};

/* --- the module --- */

static PyMethodDef functions[] = {
    METHOD("value_stack", value_stack, METH_O),
    METHOD("put_on_stack", put_on_stack, METH_VARARGS),
    METHOD("frame_locals", frame_locals, METH_O),
    {NULL},
};

static int
begin(PyObject *module)
{
    if (null_object == NULL) {
        null_object = PyObject_New(PyObject, &Null_Type);
    }
    return null_object == NULL ? -1 : PyModule_AddObjectRef(module, "NULL", null_object);
}

const Part value_stack_part = {
    .begin = begin, .functions = functions, .types = {&AtInstruction_Type, &Null_Type}};
