/* Calls in which no exception comes from outside.

   torch asks Python now and then where its C++ must not fail: an operator on fake tensors that
   autograd records asks for their device in a function that is `noexcept`. An exception there, as
   Ctrl-C raises it in whatever Python runs, ends the process. So while such an operator runs, its
   thread hears of no signal and calls no trace function; a signal that comes meanwhile is passed on
   when it is over. That takes a fraction of a millisecond.

   A handler that was set in Python is CPython's own for the operating system. Ours takes its place,
   and only notes that the signal came; the program's handlers, as Python knows them, stay.

   Signals are the main thread's business. What another thread raises in this one
   (PyThreadState_SetAsyncExc) cannot be kept out. */

#include "module.h"

#include "support/api.h"
#include "support/compat.h"

#include <signal.h>

#define MOST_SIGNALS 65

typedef struct {
    int signal;
    struct sigaction before;
} Held;

static volatile sig_atomic_t came[MOST_SIGNALS];
static PyObject *getsignal;   /* of `_signal` */
static unsigned long holding; /* the thread that holds signals, 0: none does */

static void
note_signal(int signal)
{
    came[signal] = 1;
}

/* Whether a signal's handler was set in Python. */
static int
is_handled(int signal)
{
    PyObject *number = PyLong_FromLong(signal);
    PyObject *handler = number == NULL ? NULL : PyObject_CallOneArg(getsignal, number);
    int handled = handler != NULL && PyCallable_Check(handler);
    if (handler == NULL) {
        PyErr_Clear(); /* there is no such signal here */
    }
    Py_XDECREF(number);
    Py_XDECREF(handler);
    return handled;
}

static int
hold_signals(Held *held)
{
    struct sigaction ours = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
    sigemptyset(&ours.sa_mask);
    int count = 0;
    for (int signal = 1; signal < MOST_SIGNALS && signal < NSIG; signal++) {
        if (is_handled(signal)) {
            came[signal] = 0;
            if (sigaction(signal, &ours, &held[count].before) == 0) {
                held[count++].signal = signal;
            }
        }
    }
    return count;
}

static void
pass_signals_on(const Held *held, int count)
{
    for (int i = 0; i < count; i++) {
        (void)sigaction(held[i].signal, &held[i].before, NULL);
    }
    for (int i = 0; i < count; i++) {
        if (came[held[i].signal]) {
            held[i].before.sa_handler(held[i].signal);
        }
    }
}

static PyObject *
call_undisturbed(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count,
                 PyObject *names)
{
    if (count < 1) {
        return PyErr_Format(PyExc_TypeError,
                            "call_undisturbed() wants a function and its arguments");
    }
    PyThreadState *tstate = PyThreadState_Get();
    Held held[MOST_SIGNALS];
    int holds = _PyOS_IsMainThread() && holding == 0;
    int signals = 0;
    if (holds) {
        if (PyErr_CheckSignals() < 0) {
            return NULL; /* of what has come already */
        }
        holding = PyThread_get_thread_ident();
        signals = hold_signals(held);
    }
    PyThreadState_EnterTracing(tstate);
    PyObject *result = PyObject_Vectorcall(args[0], args + 1, (size_t)(count - 1), names);
    PyThreadState_LeaveTracing(tstate);
    if (holds) {
        pass_signals_on(held, signals);
        holding = 0;
    }
    return result;
}

static PyMethodDef functions[] = {
    METHOD("call_undisturbed", call_undisturbed, METH_FASTCALL | METH_KEYWORDS),
    {NULL},
};

static int
begin(PyObject *Py_UNUSED(module))
{
    PyObject *signals = PyImport_ImportModule("_signal");
    getsignal = signals == NULL ? NULL : PyObject_GetAttrString(signals, "getsignal");
    Py_XDECREF(signals);
    return getsignal == NULL ? -1 : 0;
}

const Part undisturbed_part = {.begin = begin, .functions = functions};
