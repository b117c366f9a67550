/* Calls of resume functions, made when the frame that wants them has ended.

   A graph break ends in a call of a function that goes on with the program. Were it an ordinary
   call, three things would show: the caller's frame, which nothing needs any more, would stand in
   tracebacks beside the one that does the program's work; it would hold the arguments, so that what
   the program lets go of later lives on; and each break would take one frame of the recursion
   limit. So the transformed code returns the call instead, and the hook, to which the frame's
   result comes, makes it: the resume function's frame stands where the program's own would stand,
   and is the only one that has the variables. A resume function whose own frame ends so gives its
   call to the same loop.

   The arguments are handed over: the call lets go of them as soon as the new frame has them, which
   is when that frame comes to the hook.

   A frame that somebody has kept (`sys._getframe`, a traceback) is asked later where it ended. It
   stands at the break then, and is told the line at which the last resume function has ended. */

#include "evalframe/resume_call.h"

#include "evalframe/frame_hook.h"
#include "support/names.h"

#include <structmember.h>

typedef struct {
    PyObject_VAR_HEAD
    PyObject *function;
    PyObject *kept; /* the frame that leaves the call, where somebody else has it; or NULL */
    PyObject *arguments[];
} ResumeCall;

static void
drop_arguments(ResumeCall *self)
{
    Py_ssize_t count = Py_SIZE(self);
    Py_SET_SIZE(self, 0);
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_DECREF(self->arguments[i]);
    }
}

static void
dealloc(ResumeCall *self)
{
    drop_arguments(self);
    Py_DECREF(self->function);
    Py_XDECREF(self->kept);
    PyObject_Free(self);
}

static PyMemberDef members[] = {
    {"function", T_OBJECT_EX, offsetof(ResumeCall, function), READONLY, NULL},
    {NULL},
};

static PyObject *
get_arguments(ResumeCall *self, void *Py_UNUSED(closure))
{
    PyObject *arguments = PyTuple_New(Py_SIZE(self));
    for (Py_ssize_t i = 0; arguments != NULL && i < Py_SIZE(self); i++) {
        PyTuple_SET_ITEM(arguments, i, Py_NewRef(self->arguments[i]));
    }
    return arguments;
}

static PyGetSetDef getters[] = {
    {"args", (getter)get_arguments, NULL, NULL, NULL},
    {NULL},
};

static PyTypeObject ResumeCall_Type = {
    TYPE(ResumeCall),
    .tp_itemsize = sizeof(PyObject *),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)dealloc,
    .tp_members = members,
    .tp_getset = getters,
};

int
resume_call_check(PyObject *result)
{
    return result != NULL && Py_IS_TYPE(result, &ResumeCall_Type);
}

int
resume_call_begins(ThreadState *thread, Frame *frame)
{
    ResumeCall *call = (ResumeCall *)thread->resuming;
    if (call == NULL || (PyObject *)frame_function(frame) != call->function) {
        return 0;
    }
    thread->resuming = NULL;
    drop_arguments(call);
    return 1;
}

/* Makes a call; `line` is set to that at which its frame ends. */
static PyObject *
make_call(ResumeCall *call, int *line)
{
    ThreadState *thread = thread_state_make();
    if (thread == NULL) {
        return NULL;
    }
    int *outer = frame_hook_last_line;
    frame_hook_last_line = line;
    thread->resuming = (PyObject *)call;
    size_t count = (size_t)Py_SIZE(call);
    PyObject *result = PyObject_Vectorcall(call->function, call->arguments, count, NULL);
    thread->resuming = NULL;
    frame_hook_last_line = outer;
    return result;
}

/* Puts the frame that leaves a call among those that are kept, a list, which is made here. */
static int
keep(PyObject **frames, PyObject *frame)
{
    if (*frames == NULL && (*frames = PyList_New(0)) == NULL) {
        return -1;
    }
    return PyList_Append(*frames, frame);
}

PyObject *
resume_call_finish(PyObject *result)
{
    PyObject *kept = NULL;
    int line = 0;
    while (resume_call_check(result)) {
        ResumeCall *call = (ResumeCall *)result;
        if (call->kept != NULL && keep(&kept, call->kept) < 0) {
            result = NULL;
        }
        else {
            result = make_call(call, kept == NULL ? NULL : &line);
        }
        Py_DECREF(call);
    }
    if (kept != NULL) {
        for (Py_ssize_t i = 0; line > 0 && i < PyList_GET_SIZE(kept); i++) {
            frame_object_set_line((PyFrameObject *)PyList_GET_ITEM(kept, i), line);
        }
        SavedError error = error_save();
        Py_DECREF(kept); /* which may be the end of anything */
        error_restore(error);
    }
    return result;
}

/* --- the module --- */

static PyObject *
resume(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count < 1 || !PyFunction_Check(args[0])) {
        return PyErr_Format(PyExc_TypeError, "resume() wants a function and its arguments");
    }
    ResumeCall *call = PyObject_NewVar(ResumeCall, &ResumeCall_Type, count - 1);
    if (call == NULL) {
        return NULL;
    }
    call->function = Py_NewRef(args[0]);
    Frame *frame = current_frame(PyThreadState_Get());
    PyObject *object = frame == NULL ? NULL : (PyObject *)frame->frame_obj;
    call->kept = object != NULL && Py_REFCNT(object) > 1 ? Py_NewRef(object) : NULL;
    for (Py_ssize_t i = 1; i < count; i++) {
        call->arguments[i - 1] = Py_NewRef(args[i]);
    }
    return (PyObject *)call;
}

static PyObject *
finish(PyObject *Py_UNUSED(module), PyObject *result)
{
    return resume_call_finish(Py_NewRef(result));
}

static PyObject *
leave_resume_calls(PyObject *Py_UNUSED(module), PyObject *flag)
{
    ThreadState *thread = thread_state_make();
    int leaves = thread == NULL ? -1 : PyObject_IsTrue(flag);
    if (leaves < 0) {
        return NULL;
    }
    int before = thread->leaves;
    thread->leaves = leaves;
    return PyBool_FromLong(before);
}

#if PY_VERSION_HEX >= 0x030E0000
#define type_full_name PyType_GetFullyQualifiedName
#else
#define type_full_name PyType_GetQualName
#endif

/* What a `with` statement calls: CPython's own instruction gives it as one value or as two. */
static PyObject *
load_special(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !PyUnicode_Check(args[1])) {
        return PyErr_Format(PyExc_TypeError, "load_special() wants an object and a name");
    }
    PyTypeObject *type = Py_TYPE(args[0]);
    PyObject *found = _PyType_Lookup(type, args[1]);
    if (found == NULL) {
        int async = _PyType_Lookup(type, ID(__aenter__)) != NULL
                    && _PyType_Lookup(type, ID(__aexit__)) != NULL;
        PyObject *name = type_full_name(type);
        if (name != NULL) {
            PyErr_Format(PyExc_TypeError,
                         "'%U' object does not support the context manager protocol "
                         "(missed %U method)%s",
                         name, args[1],
                         async ? " but it supports the asynchronous context manager protocol. "
                                 "Did you mean to use 'async with'?"
                               : "");
            Py_DECREF(name);
        }
        return NULL;
    }
    Py_INCREF(found);
    descrgetfunc get = Py_TYPE(found)->tp_descr_get;
    if (get == NULL) {
        return found;
    }
    PyObject *bound = get(found, args[0], (PyObject *)type);
    Py_DECREF(found);
    return bound;
}

static PyMethodDef functions[] = {
    METHOD("resume", resume, METH_FASTCALL),
    METHOD("finish", finish, METH_O),
    METHOD("leave_resume_calls", leave_resume_calls, METH_O),
    METHOD("load_special", load_special, METH_FASTCALL),
    {NULL},
};

const Part resume_call_part = {.functions = functions, .types = {&ResumeCall_Type}};
