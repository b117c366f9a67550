/* All that differs between CPython 3.11, 3.12, 3.13 and 3.14, as far as frames are concerned.

   A frame that PEP 523 hands to a hook is an internal struct: its fields have moved in each
   version, and so has the duty to clear it. The rest of the extension goes through the functions
   below and has no version in it. (What differs in the public API: api.h.)

                            3.11              3.12              3.13              3.14
     code                   f_code            f_code            f_executable      f_executable
     function               f_func            f_funcobj         f_funcobj         f_funcobj
     a slot, code, function a reference       a reference       a reference       a _PyStackRef
     next instruction       prev_instr, one   prev_instr, one   instr_ptr         instr_ptr
                            before it         before it
     end of the stack       stacktop, -1      stacktop, -1      stacktop, -1      stackpointer,
                            while it runs     while it runs     while it runs     always
     who clears a frame     the caller        the callee        the callee        the callee
     the frame that runs    cframe            cframe            the thread state  the thread state
     C recursion            not counted apart counted           counted           by the C stack

   A _PyStackRef is an address with a tag: the lowest bit says that the slot owns no reference (the
   object is immortal, or another slot holds it for as long), and two bits that it is a number. */

#ifndef STEPPER_COMPAT_H
#define STEPPER_COMPAT_H

#include "support/api.h"

/* The frame's struct is in a header that CPython keeps for itself and for evaluators. */
#define Py_BUILD_CORE
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter" /* of 3.14's inline functions */
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_interpframe.h>
#endif
#pragma GCC diagnostic pop
#undef Py_BUILD_CORE

#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030F0000
#error "stepper knows the frames of CPython 3.11 to 3.14"
#endif

#ifdef Py_GIL_DISABLED
#error "stepper needs the GIL: install it in a build of Python that is not free-threaded"
#endif

typedef struct _PyInterpreterFrame Frame;

#if PY_VERSION_HEX >= 0x030C0000
#define code_extra_index PyUnstable_Eval_RequestCodeExtraIndex
#define code_get_extra PyUnstable_Code_GetExtra
#define code_set_extra PyUnstable_Code_SetExtra
#else
#define code_extra_index _PyEval_RequestCodeExtraIndex
#define code_get_extra _PyCode_GetExtra
#define code_set_extra _PyCode_SetExtra
#endif

static inline PyCodeObject *
frame_code(Frame *frame)
{
#if PY_VERSION_HEX >= 0x030E0000
    return (PyCodeObject *)PyStackRef_AsPyObjectBorrow(frame->f_executable);
#elif PY_VERSION_HEX >= 0x030D0000
    return (PyCodeObject *)frame->f_executable;
#else
    return frame->f_code;
#endif
}

/* Has the frame, which has not started, run other code. */
static inline void
frame_set_code(Frame *frame, PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030E0000
    _PyStackRef before = frame->f_executable;
    frame->f_executable = PyStackRef_FromPyObjectNew(code);
    frame->instr_ptr = _PyCode_CODE(code);
    PyStackRef_CLOSE(before);
#elif PY_VERSION_HEX >= 0x030D0000
    PyObject *before = frame->f_executable;
    frame->f_executable = Py_NewRef(code);
    frame->instr_ptr = _PyCode_CODE(code);
    Py_DECREF(before);
#else
    PyCodeObject *before = frame->f_code;
    frame->f_code = (PyCodeObject *)Py_NewRef(code);
    frame->prev_instr = _PyCode_CODE(code) - 1;
    Py_DECREF(before);
#endif
}

/* What a slot of a variable holds: a borrowed reference, or NULL. */
static inline PyObject *
frame_slot(Frame *frame, Py_ssize_t index)
{
#if PY_VERSION_HEX >= 0x030E0000
    _PyStackRef slot = frame->localsplus[index];
    return PyStackRef_IsNullOrInt(slot) ? NULL : PyStackRef_AsPyObjectBorrow(slot);
#else
    return frame->localsplus[index];
#endif
}

/* What a slot of the stack holds: a new reference; NULL: nothing, or an exception is set. Where an
   exception was raised stands there as a number, which is no object in 3.14. */
static inline PyObject *
frame_stack_value(Frame *frame, Py_ssize_t index)
{
#if PY_VERSION_HEX >= 0x030E0000
    _PyStackRef slot = frame->localsplus[index];
    if (PyStackRef_IsTaggedInt(slot)) {
        return PyLong_FromSsize_t(PyStackRef_UntagInt(slot));
    }
#endif
    return Py_XNewRef(frame_slot(frame, index));
}

/* Exchanges what a slot holds, which is not NULL: takes over one reference and gives another. */
static inline PyObject *
frame_exchange_slot(Frame *frame, Py_ssize_t index, PyObject *value)
{
#if PY_VERSION_HEX >= 0x030E0000
    PyObject *before = PyStackRef_AsPyObjectSteal(frame->localsplus[index]);
    frame->localsplus[index] = PyStackRef_FromPyObjectSteal(value);
#else
    PyObject *before = frame->localsplus[index];
    frame->localsplus[index] = value;
#endif
    return before;
}

/* Has the frame, which has not started, have no values from this slot on. */
static inline void
frame_empty_slots(Frame *frame, Py_ssize_t first)
{
    int slots = frame_code(frame)->co_nlocalsplus;
    for (Py_ssize_t i = first; i < slots; i++) {
#if PY_VERSION_HEX >= 0x030E0000
        frame->localsplus[i] = PyStackRef_NULL;
#else
        frame->localsplus[i] = NULL;
#endif
    }
#if PY_VERSION_HEX >= 0x030E0000
    frame->stackpointer = frame->localsplus + slots;
#else
    frame->stacktop = slots;
#endif
}

/* How many slots hold something, as far as CPython has written it down; -1: it has not. */
static inline Py_ssize_t
frame_slots_end(Frame *frame)
{
#if PY_VERSION_HEX >= 0x030E0000
    return frame->stackpointer == NULL ? -1 : frame->stackpointer - frame->localsplus;
#else
    return frame->stacktop;
#endif
}

static inline PyFunctionObject *
frame_function(Frame *frame)
{
#if PY_VERSION_HEX >= 0x030E0000
    return (PyFunctionObject *)PyStackRef_AsPyObjectBorrow(frame->f_funcobj);
#elif PY_VERSION_HEX >= 0x030C0000
    return (PyFunctionObject *)frame->f_funcobj;
#else
    return frame->f_func;
#endif
}

/* The code unit at which the frame stands: of its instruction, or one of that one's caches. */
static inline Py_ssize_t
frame_unit(Frame *frame)
{
    return _PyInterpreterFrame_LASTI(frame);
}

/* Lets go of the variables of a frame that has ended, where that is left to the caller and nobody
   else has the frame. */
static inline void
frame_release_locals(Frame *frame)
{
#if PY_VERSION_HEX >= 0x030C0000
    (void)frame; /* it is gone */
#else
    if (frame->frame_obj == NULL) {
        for (int i = 0; i < frame->stacktop; i++) {
            Py_CLEAR(frame->localsplus[i]);
        }
    }
#endif
}

/* Whether the memory of a frame may be gone once it has ended. */
static inline int
frame_goes_at_its_end(PyThreadState *tstate, Frame *frame)
{
#if PY_VERSION_HEX >= 0x030C0000
    /* Its words on the data stack stay as they are, until the chunk is let go of. */
    return (PyObject **)frame == tstate->datastack_chunk->data;
#else
    (void)tstate;
    (void)frame;
    return 0;
#endif
}

/* The frame that a frame object is of. */
static inline Frame *
frame_of_object(PyFrameObject *object)
{
    return object->f_frame;
}

/* This frame, or the innermost one around it that has begun; NULL: there is none. */
static inline Frame *
frame_begun(Frame *frame)
{
    while (frame != NULL && _PyFrame_IsIncomplete(frame)) {
        frame = frame->previous;
    }
    return frame;
}

/* The line at which a frame stands; -1: at none. */
static inline int
frame_line(Frame *frame)
{
    return PyCode_Addr2Line(frame_code(frame), (int)frame_unit(frame) * (int)sizeof(_Py_CODEUNIT));
}

/* The line at which a frame that has just ended stood; the code is the one that it ran. */
static inline int
ended_frame_line(Frame *frame, PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030D0000
    _Py_CODEUNIT *at = frame->instr_ptr;
#else
    _Py_CODEUNIT *at = frame->prev_instr;
#endif
    return PyCode_Addr2Line(code, (int)((at - _PyCode_CODE(code)) * (int)sizeof(_Py_CODEUNIT)));
}

/* Has a frame object say from now on that its frame, which has ended, stands at this line. */
static inline void
frame_object_set_line(PyFrameObject *object, int line)
{
    object->f_lineno = line;
}

/* How many words of the data stack a frame that runs this code takes. */
static inline Py_ssize_t
code_frame_size(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030C0000
    return code->co_framesize;
#else
    return code->co_nlocalsplus + code->co_stacksize + (Py_ssize_t)FRAME_SPECIALS_SIZE;
#endif
}

static inline Frame *
current_frame(PyThreadState *tstate)
{
#if PY_VERSION_HEX >= 0x030D0000
    return tstate->current_frame;
#else
    return tstate->cframe->current_frame;
#endif
}

/* Whether this thread is inside the callback of an instruction event, of sys.monitoring or of
   sys.settrace. Before 3.12 nobody needs to ask: a traced frame says where its stack ends. */
static inline int
in_instruction_event(PyThreadState *tstate)
{
#if PY_VERSION_HEX >= 0x030C0000
    enum { INSTRUCTION = 6 }; /* PY_MONITORING_EVENT_INSTRUCTION, which 3.12 keeps for itself */
    return tstate->tracing > 0 && tstate->what_event == INSTRUCTION;
#else
    (void)tstate;
    return 0;
#endif
}

/* What one call of the evaluator takes from the thread's allowance of C recursion. Calls of Python
   functions by Python functions take nothing while no hook is installed, so the hook gives this
   back: or programs would meet a RecursionError far earlier (at depth 749 in 3.12.1). */
static inline void
give_c_recursion(PyThreadState *tstate, int evaluations)
{
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000
    enum { UNITS = 2 }; /* PY_EVAL_C_STACK_UNITS in ceval.c */
    tstate->c_recursion_remaining += evaluations * UNITS;
#else
    (void)tstate;
    (void)evaluations;
#endif
}

/* Has the thread's recursion limit stand off by so many calls. */
static inline void
give_recursion(PyThreadState *tstate, int calls)
{
#if PY_VERSION_HEX >= 0x030E0000
    tstate->py_recursion_remaining += calls;
#elif PY_VERSION_HEX >= 0x030C0000
    tstate->py_recursion_remaining += calls;
    tstate->c_recursion_remaining += calls;
#else
    tstate->recursion_remaining += calls;
#endif
}

/* What a weak reference refers to, or None; a new reference. */
static inline PyObject *
weak_target(PyObject *reference)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *target;
    return PyWeakref_GetRef(reference, &target) == 1 ? target : Py_NewRef(Py_None);
#else
    return Py_NewRef(PyWeakref_GET_OBJECT(reference));
#endif
}

#endif
