#include "frame_replace.h"

#if PY_VERSION_HEX >= 0x030D0000

/* Exported by 3.13, though in none of its headers. */
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
frame_dispose(PyThreadState *tstate, Frame *frame)
{
    SavedError error = error_save();
    clear_and_pop(tstate, frame);
    error_restore(error);
}
