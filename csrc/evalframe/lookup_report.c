/* What each guard of each entry says about some locals and globals, and who hears of lookups.

   A lookup stops at the first entry that holds, and a check at the first part that fails. Asked for
   an explanation, the cache goes on: through all entries, and through the parts of each up to the
   one that fails, or through all parts if that is wished (those after a failure may well raise:
   an attribute is guarded after the type that has it). Nothing is changed by asking: no entry
   moves, nothing is counted.

   The lookup listener is called when a lookup is over and before anything that follows from it
   runs. So it can ask again what the lookup has asked, and finds what the lookup found. */

#include "evalframe/cache.h"

#include "evalframe/thread_state.h"
#include "support/compat.h"

#include <time.h>

static PyTypeObject GuardReport_Type, EntryReport_Type;

static PyStructSequence_Field guard_fields[] = {
    {"guard", "what the entry gave for the guard; None stands for its whole check"},
    {"passed", "whether it passed; one that raised did not"},
    {"error", "what it raised, or None"},
    {"nanoseconds", "how long it took"},
    {NULL, NULL},
};

static PyStructSequence_Desc guard_description = {
    .name = "stepper._C.GuardReport",
    .doc = "What one guard said.",
    .fields = guard_fields,
    .n_in_sequence = 4,
};

static PyStructSequence_Field entry_fields[] = {
    {"entry", "the entry"},
    {"matched", "whether a lookup would take it, if it came to it"},
    {"backend_matched", "whether it was captured for the backend, or for any"},
    {"guards", "the reports of its guards, in order"},
    {NULL, NULL},
};

static PyStructSequence_Desc entry_description = {
    .name = "stepper._C.EntryReport",
    .doc = "What one entry said.",
    .fields = entry_fields,
    .n_in_sequence = 4,
};

static long long
now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* A report that is filled. Python leaves those to who made them: the error in one leads to frames, and
   a frame may have kept the report. */
static PyObject *
known_to_collector(PyObject *report)
{
    if (!PyObject_GC_IsTracked(report)) {
        PyObject_GC_Track(report);
    }
    return report;
}

/* Runs one check. NULL: an exception is set that no check may swallow. */
static PyObject *
report_guard(PyObject *guard, PyObject *check, PyObject *locals, PyObject *globals)
{
    long long begin = now();
    int passed = code_cache_check_guard(check, locals, globals);
    long long duration = now() - begin;
    if (passed < 0 && !PyErr_ExceptionMatches(PyExc_Exception)) {
        return NULL;
    }
    PyObject *error = passed < 0 ? error_take() : Py_NewRef(Py_None);
    PyObject *report = PyStructSequence_New(&GuardReport_Type);
    PyObject *nanoseconds = PyLong_FromLongLong(duration);
    if (report == NULL || nanoseconds == NULL) {
        Py_XDECREF(report);
        Py_XDECREF(nanoseconds);
        Py_DECREF(error);
        return NULL;
    }
    PyStructSequence_SetItem(report, 0, Py_NewRef(guard));
    PyStructSequence_SetItem(report, 1, PyBool_FromLong(passed > 0));
    PyStructSequence_SetItem(report, 2, error);
    PyStructSequence_SetItem(report, 3, nanoseconds);
    return known_to_collector(report);
}

/* The list of what the entry's guards say. NULL: an exception is set. */
static PyObject *
report_guards(CacheEntry *entry, PyObject *locals, PyObject *globals, int all)
{
    PyObject *reports = PyList_New(0);
    Py_ssize_t count = PyTuple_GET_SIZE(entry->guards);
    int passed = 1;
    for (Py_ssize_t i = 0; reports != NULL && i < count && (all || passed); i++) {
        PyObject *pair = PyTuple_GET_ITEM(entry->guards, i);
        PyObject *report = report_guard(PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1),
                                        locals, globals);
        if (report == NULL || PyList_Append(reports, report) < 0) {
            Py_CLEAR(reports);
        }
        else {
            passed = PyStructSequence_GetItem(report, 1) == Py_True;
        }
        Py_XDECREF(report);
    }
    return reports;
}

static PyObject *
report_entry(CacheEntry *entry, PyObject *locals, PyObject *globals, PyObject *backend, int all)
{
    int has_backend = cache_entry_has_backend(entry, backend);
    if (has_backend < 0) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return NULL;
        }
        PyErr_Clear(); /* as in a lookup: not this one */
        has_backend = 0;
    }
    PyObject *guards = report_guards(entry, locals, globals, all);
    if (guards == NULL) {
        return NULL;
    }
    PyObject *check = Py_NewRef(entry->check);
    PyObject *whole = report_guard(Py_None, check, locals, globals);
    Py_DECREF(check);
    PyObject *report = PyStructSequence_New(&EntryReport_Type);
    int failed = whole == NULL || report == NULL;
    if (!failed && PyTuple_GET_SIZE(entry->guards) == 0) {
        failed = PyList_Append(guards, whole) < 0;
    }
    PyObject *tuple = failed ? NULL : PyList_AsTuple(guards);
    if (tuple == NULL) {
        Py_CLEAR(report);
    }
    else {
        int matched = has_backend && entry->reason == NULL
                      && PyStructSequence_GetItem(whole, 1) == Py_True;
        PyStructSequence_SetItem(report, 0, Py_NewRef(entry));
        PyStructSequence_SetItem(report, 1, PyBool_FromLong(matched));
        PyStructSequence_SetItem(report, 2, PyBool_FromLong(has_backend));
        PyStructSequence_SetItem(report, 3, tuple);
        known_to_collector(report);
    }
    Py_XDECREF(whole);
    Py_DECREF(guards);
    return report;
}

typedef struct {
    PyObject *locals, *globals, *backend; /* backend: NULL: any */
    int all_guards;
} Question;

static int
parse_question(Question *asked, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"locals", "globals", "backend", "all_guards", NULL};
    *asked = (Question){.backend = Py_None};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O$p:explain", names, &asked->locals,
                                     &asked->globals, &asked->backend, &asked->all_guards)) {
        return -1;
    }
    if (asked->backend == Py_None) {
        asked->backend = NULL;
    }
    return 0;
}

PyObject *
lookup_report_entry(CacheEntry *self, PyObject *args, PyObject *kwargs)
{
    Question asked;
    if (parse_question(&asked, args, kwargs) < 0) {
        return NULL;
    }
    PyObject *paused = thread_state_pause();
    PyObject *report = report_entry(self, asked.locals, asked.globals, asked.backend,
                                    asked.all_guards);
    thread_state_resume(paused);
    return report;
}

PyObject *
lookup_report_cache(CodeCache *self, PyObject *args, PyObject *kwargs)
{
    Question asked;
    if (parse_question(&asked, args, kwargs) < 0) {
        return NULL;
    }
    PyObject *entries = PyList_AsTuple(self->entries);
    PyObject *reports = PyList_New(0);
    PyObject *paused = thread_state_pause();
    for (Py_ssize_t i = 0; entries != NULL && reports != NULL && i < PyTuple_GET_SIZE(entries);
         i++) {
        PyObject *report = report_entry((CacheEntry *)PyTuple_GET_ITEM(entries, i), asked.locals,
                                        asked.globals, asked.backend, asked.all_guards);
        if (report == NULL || PyList_Append(reports, report) < 0) {
            Py_CLEAR(reports);
        }
        Py_XDECREF(report);
    }
    thread_state_resume(paused);
    if (entries == NULL) {
        Py_CLEAR(reports);
    }
    Py_XDECREF(entries);
    return reports;
}

/* --- listening --- */

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
    {"set_lookup_listener", set_lookup_listener, METH_O,
     PyDoc_STR("Whom to tell of each lookup that a call makes, when it is over.")},
    {NULL},
};

int
lookup_report_exec(PyObject *module)
{
    /* The types are the process's: a module that is imported again finds them made. */
    if (GuardReport_Type.tp_name == NULL
        && (PyStructSequence_InitType2(&GuardReport_Type, &guard_description) < 0
            || PyStructSequence_InitType2(&EntryReport_Type, &entry_description) < 0)) {
        return -1;
    }
    if (PyModule_AddObjectRef(module, "GuardReport", (PyObject *)&GuardReport_Type) < 0) {
        return -1;
    }
    if (PyModule_AddObjectRef(module, "EntryReport", (PyObject *)&EntryReport_Type) < 0) {
        return -1;
    }
    return PyModule_AddFunctions(module, functions);
}
