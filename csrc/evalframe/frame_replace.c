/* Other code in a frame's place.

   In place. The frame of a call that has not started is a few words on the thread's data stack: the
   code, the instruction to begin with, the arguments in the first slots and empty slots after them.
   When the other code wants its arguments in the same slots and has the same free variables, it is
   enough to put it there and to move the end of the stack. That costs next to nothing, and the
   frame is still the one that the caller made: its function, its closure, its place in tracebacks.

   With a helper. When the frame is not the last one on the stack, or its chunk of the stack has no
   room for a bigger one, a function of the same globals, closure and builtins is made of the other
   code and called with the same arguments, as they were given: so that `super()`, `*args` and
   keyword-only arguments are what they were. The original frame is then let go.

   Generators and coroutines are left alone: their frame is copied into the generator object by
   their own first instruction, and sized by their function's code. */

#include "evalframe/frame_replace.h"

#include "evalframe/frame_arguments.h"
#include "evalframe/frame_hook.h"

int frame_replace_force_helper;

/* --- what can replace what --- */

enum { FUNCTION_FLAGS = CO_OPTIMIZED | CO_NEWLOCALS };
enum { GENERATOR_FLAGS = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE };
enum { ARGUMENT_FLAGS = CO_VARARGS | CO_VARKEYWORDS };

int
frame_replace_is_function(PyCodeObject *code)
{
    return (code->co_flags & FUNCTION_FLAGS) == FUNCTION_FLAGS;
}

int
frame_replace_is_possible(PyCodeObject *code)
{
    return frame_replace_is_function(code) && !(code->co_flags & GENERATOR_FLAGS);
}

static int
same_free_variables(PyCodeObject *original, PyCodeObject *code)
{
    if (original->co_nfreevars != code->co_nfreevars) {
        return 0;
    }
    int first = original->co_nlocalsplus - original->co_nfreevars;
    int second = code->co_nlocalsplus - code->co_nfreevars;
    for (int i = 0; i < code->co_nfreevars; i++) {
        PyObject *name = PyTuple_GET_ITEM(original->co_localsplusnames, first + i);
        if (PyUnicode_Compare(name, PyTuple_GET_ITEM(code->co_localsplusnames, second + i)) != 0) {
            return 0;
        }
    }
    return 1;
}

int
frame_replace_check(PyCodeObject *original, PyCodeObject *code)
{
    const char *why = NULL;
    if (!frame_replace_is_possible(original)) {
        why = "the original is no ordinary function's code";
    }
    else if (!frame_replace_is_possible(code)) {
        why = "it is no ordinary function's code";
    }
    else if (original->co_argcount != code->co_argcount
             || original->co_posonlyargcount != code->co_posonlyargcount
             || original->co_kwonlyargcount != code->co_kwonlyargcount
             || (original->co_flags & ARGUMENT_FLAGS) != (code->co_flags & ARGUMENT_FLAGS)) {
        why = "it takes other arguments";
    }
    else if (!same_free_variables(original, code)) {
        why = "it has other free variables";
    }
    if (why != NULL) {
        PyErr_Format(PyExc_ValueError, "code %R cannot run in place of %R: %s", code->co_qualname,
                     original->co_qualname, why);
        return -1;
    }
    return 0;
}

/* --- in place --- */

static int
fits_in_place(PyThreadState *tstate, Frame *frame, PyCodeObject *code)
{
    PyObject **base = (PyObject **)frame;
    return base + code_frame_size(frame_code(frame)) == tstate->datastack_top
           && code_frame_size(code) < tstate->datastack_limit - base;
}

static void
put_in_place(PyThreadState *tstate, Frame *frame, PyCodeObject *code)
{
    tstate->datastack_top = (PyObject **)frame + code_frame_size(code);
    frame_set_code(frame, code);
    frame_empty_slots(frame, code_arguments(code));
}

/* --- with a helper --- */

static PyObject *
make_helper(PyFunctionObject *original, PyCodeObject *code)
{
    PyFunctionObject *helper = (PyFunctionObject *)PyFunction_NewWithQualName(
        (PyObject *)code, original->func_globals, original->func_qualname);
    if (helper == NULL) {
        return NULL;
    }
    Py_XSETREF(helper->func_builtins, Py_NewRef(original->func_builtins));
    Py_XSETREF(helper->func_name, Py_NewRef(original->func_name));
    if (original->func_closure != NULL
        && PyFunction_SetClosure((PyObject *)helper, original->func_closure) < 0) {
        Py_CLEAR(helper);
    }
    return (PyObject *)helper;
}

/* The names of the keyword-only arguments. */
static PyObject *
keyword_names(PyCodeObject *code)
{
    return PyTuple_GetSlice(code->co_localsplusnames, code->co_argcount,
                            code->co_argcount + code->co_kwonlyargcount);
}

/* The arguments of a function that takes `*args` or `**kwargs`, as the caller gave them. */
static PyObject *
call_with_rest(PyObject *helper, PyCodeObject *code, PyObject **slots)
{
    PyObject **rest = slots + code->co_argcount + code->co_kwonlyargcount;
    PyObject *extra = code->co_flags & CO_VARARGS ? *rest++ : NULL;
    PyObject *named = code->co_flags & CO_VARKEYWORDS ? *rest : NULL;
    Py_ssize_t extras = extra == NULL ? 0 : PyTuple_GET_SIZE(extra);

    PyObject *result = NULL;
    PyObject *keywords = named == NULL ? PyDict_New() : PyDict_Copy(named);
    PyObject *positional = PyTuple_New(code->co_argcount + extras);
    if (keywords == NULL || positional == NULL) {
        goto done;
    }
    for (int i = 0; i < code->co_argcount; i++) {
        PyTuple_SET_ITEM(positional, i, Py_NewRef(slots[i]));
    }
    for (Py_ssize_t i = 0; i < extras; i++) {
        PyTuple_SET_ITEM(positional, code->co_argcount + i, Py_NewRef(PyTuple_GET_ITEM(extra, i)));
    }
    for (int i = 0; i < code->co_kwonlyargcount; i++) {
        int slot = code->co_argcount + i;
        PyObject *name = PyTuple_GET_ITEM(code->co_localsplusnames, slot);
        if (PyDict_SetItem(keywords, name, slots[slot]) < 0) {
            goto done;
        }
    }
    result = PyObject_Call(helper, positional, keywords);
done:
    Py_XDECREF(keywords);
    Py_XDECREF(positional);
    return result;
}

static PyObject *
call_with_slots(PyObject *helper, PyCodeObject *code, PyObject **slots)
{
    if (code->co_flags & ARGUMENT_FLAGS) {
        return call_with_rest(helper, code, slots);
    }
    if (code->co_kwonlyargcount == 0) {
        return PyObject_Vectorcall(helper, slots, (size_t)code->co_argcount, NULL);
    }
    PyObject *names = keyword_names(code);
    if (names == NULL) {
        return NULL;
    }
    PyObject *result = PyObject_Vectorcall(helper, slots, (size_t)code->co_argcount, names);
    Py_DECREF(names);
    return result;
}

static PyObject *
call_helper(PyObject *helper, PyCodeObject *code, Frame *frame)
{
    int count = code_arguments(code);
    PyObject **slots = PyMem_New(PyObject *, (size_t)count + 1);
    if (slots == NULL) {
        return PyErr_NoMemory();
    }
    for (int i = 0; i < count; i++) {
        slots[i] = frame_slot(frame, i);
    }
    PyObject *result = call_with_slots(helper, code, slots);
    PyMem_Free(slots);
    return result;
}

static PyObject *
run_with_helper(PyThreadState *tstate, ThreadState *thread, Frame *frame, PyCodeObject *code)
{
    PyObject *result = NULL;
    PyObject *helper = make_helper(frame_function(frame), code);
    if (helper != NULL) {
        /* Its frame comes to the hook too, and is not to be replaced again. */
        thread->direct = code;
        result = call_helper(helper, code, frame);
        thread->direct = NULL;
        Py_DECREF(helper);
    }
    frame_replace_dispose(tstate, frame);
    return result;
}

PyObject *
frame_replace_run(PyThreadState *tstate, ThreadState *thread, Frame *frame, PyCodeObject *code)
{
    if (!frame_replace_force_helper && fits_in_place(tstate, frame, code)) {
        put_in_place(tstate, frame, code);
        return frame_hook_run(tstate, frame, 0);
    }
    return run_with_helper(tstate, thread, frame, code);
}

/* --- frames that will not run --- */

#if PY_VERSION_HEX >= 0x030D0000

/* Exported by 3.13, though in none of its headers; in 3.14's it is. */
PyAPI_FUNC(void) _PyEval_FrameClearAndPop(PyThreadState *tstate, Frame *frame);

static void
clear_and_pop(PyThreadState *tstate, Frame *frame)
{
    _PyEval_FrameClearAndPop(tstate, frame);
}

#elif PY_VERSION_HEX >= 0x030C0000

static void
clear_and_pop(PyThreadState *tstate, Frame *frame)
{
    /* A frame that has not started has no frame object. */
    assert(frame->owner == FRAME_OWNED_BY_THREAD && frame->frame_obj == NULL);
    for (int i = 0; i < frame->stacktop; i++) {
        Py_XDECREF(frame->localsplus[i]);
    }
    Py_XDECREF(frame->f_locals);
    Py_DECREF(frame->f_funcobj);
    Py_DECREF(frame->f_code);
    _PyStackChunk *chunk = tstate->datastack_chunk;
    if ((PyObject **)frame != chunk->data) {
        tstate->datastack_top = (PyObject **)frame;
        return;
    }
    /* It was the first of its chunk, which goes with it. */
    _PyStackChunk *previous = chunk->previous;
    assert(previous != NULL);
    tstate->datastack_top = &previous->data[previous->top];
    tstate->datastack_chunk = previous;
    tstate->datastack_limit = (PyObject **)((char *)previous + previous->size);
    PyObjectArenaAllocator allocator;
    PyObject_GetArenaAllocator(&allocator);
    allocator.free(allocator.ctx, chunk, chunk->size);
}

#else

static void
clear_and_pop(PyThreadState *Py_UNUSED(tstate), Frame *Py_UNUSED(frame))
{
    /* The caller's duty in 3.11. */
}

#endif

void
frame_replace_dispose(PyThreadState *tstate, Frame *frame)
{
    SavedError error = error_save();
    clear_and_pop(tstate, frame);
    error_restore(error);
}
