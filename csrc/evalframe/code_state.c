/* One container for each code object that somebody asked something about.

   It hangs on the code itself, in the place that CPython gives to evaluators, so that finding it
   costs a few nanoseconds a call and it goes when the code goes. CPython frees the old value when
   another is set, so the container is set once and changed after that. Copies of a code object
   that are made with replace() start without one. */

#include "evalframe/code_state.h"

#include "evalframe/cache.h"
#include "support/compat.h"

static Py_ssize_t extra_index = -1;
static CodeState *first;

static void
free_state(void *extra)
{
    CodeState *state = extra;
    if (state == NULL) {
        return;
    }
    if (state->previous != NULL) {
        state->previous->next = state->next;
    }
    else {
        first = state->next;
    }
    if (state->next != NULL) {
        state->next->previous = state->previous;
    }
    Py_XDECREF(state->watched);
    if (state->cache != NULL) {
        code_cache_orphan(state->cache);
        Py_DECREF(state->cache);
    }
    PyMem_Free(state);
}

static int
begin(PyObject *Py_UNUSED(module))
{
    if (extra_index >= 0) {
        return 0;
    }
    extra_index = code_extra_index(free_state);
    if (extra_index < 0) {
        return answer_refuse(PyExc_ImportError,
                             "CPython has no room for the state of another evaluator");
    }
    return 0;
}

int
code_state_is_code(PyObject *object)
{
    int is = PyCode_Check(object);
    if (!is) {
        PyErr_Format(PyExc_TypeError, "a code object is wanted, not %s", Py_TYPE(object)->tp_name);
    }
    return is;
}

CodeState *
code_state(PyCodeObject *code)
{
    void *extra = NULL;
    /* It fails only for what is not code. */
    (void)code_get_extra((PyObject *)code, extra_index, &extra);
    return extra;
}

CodeState *
code_state_make(PyCodeObject *code)
{
    CodeState *state = code_state(code);
    if (state != NULL) {
        return state;
    }
    state = PyMem_Calloc(1, sizeof *state);
    if (state == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (code_set_extra((PyObject *)code, extra_index, state) < 0) {
        PyMem_Free(state);
        if (!PyErr_Occurred()) {
            PyErr_NoMemory();
        }
        return NULL;
    }
    state->code = code;
    state->next = first;
    if (first != NULL) {
        first->previous = state;
    }
    first = state;
    return state;
}

CodeState *
code_state_first(void)
{
    return first;
}

const Part code_state_part = {.begin = begin};
