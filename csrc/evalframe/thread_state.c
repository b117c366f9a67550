/* What a thread has set for the frames that it calls.

   The hook wants it at every call, so the way to it is a thread-local variable. But what C keeps
   there nobody drops when the thread ends. Therefore the state is an object that the thread's
   dictionary owns: it goes when Python clears the thread, and the variable only points to it. */

#include "evalframe/thread_state.h"

static _Thread_local ThreadState *here;

ThreadState *
thread_state(void)
{
    return here;
}

static void
dealloc(ThreadState *self)
{
    /* Another thread clears it at the end of the interpreter, and after a fork: its own thread does
       not run Python any more then. */
    if (here == self) {
        here = NULL;
    }
    Py_XDECREF(self->callback);
    Py_XDECREF(self->backend);
    PyObject_Free(self);
}

static PyTypeObject ThreadState_Type = {
    TYPE(ThreadState),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)dealloc,
};

ThreadState *
thread_state_make(void)
{
    if (here != NULL) {
        return here;
    }
    PyObject *dict = PyThreadState_GetDict();
    if (dict == NULL || PyType_Ready(&ThreadState_Type) < 0) {
        return NULL;
    }
    ThreadState *state = PyObject_New(ThreadState, &ThreadState_Type);
    if (state == NULL) {
        return NULL;
    }
    state->callback = NULL;
    state->backend = NULL;
    state->direct = NULL;
    state->resuming = NULL;
    state->leaves = 0;
    int failed = PyDict_SetItemString(dict, ThreadState_Type.tp_name, (PyObject *)state);
    Py_DECREF(state);
    if (failed < 0) {
        return NULL;
    }
    here = state;
    return here;
}

PyObject *
thread_state_exchange(PyObject *callback, PyObject *backend, int whole)
{
    ThreadState *thread = thread_state_make();
    if (thread == NULL) {
        return NULL;
    }
    PyObject *before = PyTuple_Pack(3, thread->callback == NULL ? Py_None : thread->callback,
                                    thread->backend == NULL ? Py_None : thread->backend,
                                    thread->whole ? Py_True : Py_False);
    if (before != NULL) {
        thread->whole = whole;
        Py_XSETREF(thread->callback, callback == Py_None ? NULL : Py_NewRef(callback));
        Py_XSETREF(thread->backend, backend == Py_None ? NULL : Py_NewRef(backend));
    }
    return before;
}

PyObject *
thread_state_pause(void)
{
    ThreadState *thread = thread_state();
    if (thread == NULL) {
        return NULL;
    }
    PyObject *paused = thread->callback;
    thread->callback = NULL;
    return paused;
}

void
thread_state_resume(PyObject *paused)
{
    ThreadState *thread = thread_state();
    if (thread != NULL) {
        Py_XSETREF(thread->callback, paused);
    }
}
