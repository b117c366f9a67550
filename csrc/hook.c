/* A hook with a net under it: a defect of ours ends the watching and not the program.

   A compile calls some ten thousand hooks, most of which find that nothing is to be done. So the
   net is here: it takes the turn, calls the hook, and gives the turn back. What the hook raises
   reaches nobody. At the program's own limits, of recursion or memory, nothing is called: there may
   be no room for it; the watcher's `lost` is set, and it tells when there is. Anything else is a
   defect, which the watcher gets as an exception. Only what is no Exception, like the
   KeyboardInterrupt of a user who ends the program at a stop, goes on. */

#include "module.h"

#include "api.h"
#include "names.h"
#include "turn.h"

#include <stddef.h>

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function, *watcher;
    Turn *turn;
} Hook;

static PyObject *str_lost, *str_break_down, *recursion, *memory;

static PyObject *
answer_error(Hook *self)
{
    PyObject *lost = PyErr_ExceptionMatches(PyExc_RecursionError) ? recursion
                     : PyErr_ExceptionMatches(PyExc_MemoryError)  ? memory
                                                                  : NULL;
    if (lost != NULL) {
        PyErr_Clear();
        return PyObject_SetAttr(self->watcher, str_lost, lost) < 0 ? NULL : Py_NewRef(Py_None);
    }
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return NULL;
    }
    PyObject *error = error_take();
    PyObject *answer = PyObject_CallMethodOneArg(self->watcher, str_break_down, error);
    Py_XDECREF(error);
    return answer;
}

/* Give the turn back, whatever exception is on its way. */
static int
give_back(Turn *turn)
{
    PyObject *error = PyErr_Occurred() ? error_take() : NULL;
    int done = turn_give(turn);
    if (error != NULL) {
        PyErr_Clear();
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_DECREF(error);
    }
    return done;
}

static PyObject *
hook_call(PyObject *hook, PyObject *const *args, size_t flags, PyObject *names)
{
    Hook *self = (Hook *)hook;
    if (self->function == NULL) {
        Py_RETURN_NONE;
    }
    Py_INCREF(self); /* a hook can be removed while it is at work */
    Turn *turn = (Turn *)Py_NewRef(self->turn);
    PyObject *answer = NULL;
    if (turn_take(turn) == 0) {
        answer = PyObject_Vectorcall(self->function, args, flags, names);
        if (give_back(turn) < 0) {
            Py_CLEAR(answer);
        }
    }
    Py_DECREF(turn);
    if (answer == NULL) {
        answer = answer_error(self);
    }
    Py_DECREF(self);
    Py_XDECREF(answer);
    return answer == NULL ? NULL : Py_NewRef(Py_None);
}

static int
hook_init(Hook *self, PyObject *args, PyObject *kwargs)
{
    static char *parameters[] = {"function", "turn", "watcher", NULL};
    PyObject *function, *turn, *watcher;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!O:Hook", parameters, &function, &Turn_Type,
                                     &turn, &watcher)) {
        return -1;
    }
    if (self->function != NULL) {
        PyErr_SetString(PyExc_TypeError, "a Hook is made once");
        return -1;
    }
    self->turn = (Turn *)Py_NewRef(turn);
    self->function = Py_NewRef(function);
    self->watcher = Py_NewRef(watcher);
    self->vectorcall = hook_call;
    return 0;
}

static int
hook_traverse(Hook *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->watcher);
    Py_VISIT(self->turn);
    return 0;
}

static int
hook_clear(Hook *self)
{
    Py_CLEAR(self->function);
    Py_CLEAR(self->watcher);
    Py_CLEAR(self->turn);
    return 0;
}

static void
hook_dealloc(Hook *self)
{
    PyObject_GC_UnTrack(self);
    hook_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyTypeObject Hook_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "stepper._C.Hook",
    .tp_doc = PyDoc_STR("A hook with a net under it."),
    .tp_basicsize = sizeof(Hook),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)hook_init,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Hook, vectorcall),
    .tp_dealloc = (destructor)hook_dealloc,
    .tp_traverse = (traverseproc)hook_traverse,
    .tp_clear = (inquiry)hook_clear,
};

int
stepper_add_hook(PyObject *module)
{
    static const Name texts[] = {
        {&str_lost, "lost"},
        {&str_break_down, "break_down"},
        {&recursion, "the program was at its recursion limit"},
        {&memory, "the program was out of memory"},
    };
    if (stepper_intern_names(texts, sizeof texts / sizeof *texts) < 0) {
        return -1;
    }
    return PyModule_AddType(module, &Turn_Type) < 0 ? -1 : PyModule_AddType(module, &Hook_Type);
}
