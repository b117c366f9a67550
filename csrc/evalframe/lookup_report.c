/* Who hears of lookups.

   The listener is called when a lookup is over and before anything that follows from it runs. So it
   can ask again what the lookup has asked (stepper/engines/native/entry_guards.py does), and finds
   what the lookup found. */

#include "evalframe/cache.h"

#include "evalframe/thread_state.h"

static PyObject *listener; /* NULL: nobody listens */

PyObject *
lookup_report_begins(CodeCache *cache)
{
    return listener == NULL ? NULL : PyList_AsTuple(cache->entries);
}

int
lookup_report_emit(PyObject *tried, PyCodeObject *code, PyObject *locals, PyObject *globals,
                   PyObject *backend, CacheEntry *found, int may_capture)
{
    if (listener == NULL) {
        return 0;
    }
    PyObject *args[] = {
        (PyObject *)code,
        tried,
        locals,
        globals,
        backend == NULL ? Py_None : backend,
        found == NULL ? Py_None : (PyObject *)found,
        may_capture ? Py_True : Py_False,
    };
    PyObject *told = Py_NewRef(listener);
    PyObject *paused = thread_state_pause();
    PyObject *result = PyObject_Vectorcall(told, args, sizeof args / sizeof *args, NULL);
    thread_state_resume(paused);
    Py_DECREF(told);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

static PyObject *
set_lookup_listener(PyObject *Py_UNUSED(module), PyObject *callback)
{
    Py_XSETREF(listener, callback == Py_None ? NULL : Py_NewRef(callback));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    METHOD("set_lookup_listener", set_lookup_listener, METH_O),
    {NULL},
};

const Part lookup_report_part = {.functions = functions};
