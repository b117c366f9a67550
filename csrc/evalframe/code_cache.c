/* The entries of one code object, and how the one for a call is found.

   They are tried in order, and the one that is found moves to the front: the next call is most
   likely like this one. How many there may be is for the one who adds them to see to.

   A check is Python code of others. It may call the function itself, add and end entries, or let
   another thread run that does. So a lookup walks over its own copy of the list, which holds the
   entries while it walks; whether an entry is still valid is asked before and after its check; and
   what was dropped meanwhile is destroyed when the walk is over. */

#include "evalframe/cache.h"

#include "evalframe/code_state.h"
#include "evalframe/thread_state.h"
#include "support/compat.h"

/* Told what happens to entries, and of lookups; NULL: nobody is. */
static PyObject *listener, *lookup_listener;

/* --- telling --- */

void
code_cache_notify(const char *event, CacheEntry *entry, PyObject *detail)
{
    if (listener == NULL) {
        return;
    }
    SavedError error = error_save();
    PyObject *paused = thread_state_pause();
    PyObject *told = Py_NewRef(listener);
    PyObject *result = PyObject_CallFunction(told, "sOO", event, entry, detail);
    if (result == NULL) {
        PyErr_WriteUnraisable(told);
    }
    Py_XDECREF(result);
    Py_DECREF(told);
    thread_state_resume(paused);
    error_restore(error);
}

/* The exception that is set, of a check: told, and cleared. */
static void
report_error(CacheEntry *entry)
{
    if (listener == NULL) {
        PyErr_WriteUnraisable(entry->check);
        return;
    }
    PyObject *exception = error_take();
    code_cache_notify("error", entry, exception);
    Py_DECREF(exception);
}

/* --- checking --- */

/* Runs check(locals, globals). 1: passed, 0: not, -1: it raised, and the exception is set. */
static int
check_guard(PyObject *check, PyObject *locals, PyObject *globals)
{
    PyObject *args[] = {locals, globals};
    PyObject *result = PyObject_Vectorcall(check, args, 2, NULL);
    if (result == NULL) {
        return -1;
    }
    int passed = PyObject_IsTrue(result);
    Py_DECREF(result);
    return passed;
}

/* 1: the entry holds, 0: it does not, -1: an exception is set that no check may swallow. */
static int
try_entry(CacheEntry *entry, PyObject *locals, PyObject *globals, PyObject *backend)
{
    if (entry->reason != NULL) {
        return 0;
    }
    int passed = cache_entry_has_backend(entry, backend);
    if (passed > 0) {
        PyObject *check = Py_NewRef(entry->check);
        passed = check_guard(check, locals, globals);
        Py_DECREF(check);
    }
    if (passed < 0) {
        /* A program that is interrupted while it is looked up is interrupted. */
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return -1;
        }
        report_error(entry);
        passed = 0;
    }
    return passed && entry->reason == NULL;
}

/* --- the order of entries --- */

static Py_ssize_t
find_entry(CodeCache *cache, CacheEntry *entry)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(cache->entries); i++) {
        if (PyList_GET_ITEM(cache->entries, i) == (PyObject *)entry) {
            return i;
        }
    }
    return -1;
}

static void
move_to_front(CodeCache *cache, CacheEntry *entry)
{
    if (entry->cache != cache) {
        return;
    }
    PyObject **items = ((PyListObject *)cache->entries)->ob_item;
    for (Py_ssize_t i = find_entry(cache, entry); i > 0; i--) {
        items[i] = items[i - 1];
        items[i - 1] = (PyObject *)entry;
    }
}

void
code_cache_unlink(CodeCache *cache, CacheEntry *entry)
{
    Py_ssize_t index = find_entry(cache, entry);
    entry->cache = NULL;
    if (index >= 0 && PyList_SetSlice(cache->entries, index, index + 1, NULL) < 0) {
        PyErr_WriteUnraisable((PyObject *)entry); /* no memory; it is not valid, so not used */
    }
}

CacheEntry *
code_cache_lookup(CodeCache *cache, PyObject *locals, PyObject *globals, PyObject *backend)
{
    enum { FEW = 16 };
    CacheEntry *few[FEW], **entries = few;
    Py_ssize_t count = PyList_GET_SIZE(cache->entries);
    if (count > FEW) {
        entries = PyMem_New(CacheEntry *, count);
        if (entries == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        entries[i] = (CacheEntry *)Py_NewRef(PyList_GET_ITEM(cache->entries, i));
    }
    Py_INCREF(cache);
    PyObject *paused = thread_state_pause();
    int found = 0;
    Py_ssize_t at = 0;
    while (at < count && found == 0) {
        found = try_entry(entries[at], locals, globals, backend);
        at += found == 0;
    }
    thread_state_resume(paused);
    CacheEntry *result = NULL;
    if (found > 0) {
        result = (CacheEntry *)Py_NewRef(entries[at]);
        result->hits++;
        move_to_front(cache, result);
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_DECREF(entries[i]);
    }
    if (entries != few) {
        PyMem_Free(entries);
    }
    Py_DECREF(cache);
    return result;
}

/* --- who hears of lookups ---

   The listener is called when a lookup is over and before anything that follows from it runs. So it
   can ask again what the lookup has asked (stepper/engines/native/entry_guards.py does), and finds
   what the lookup found. */

PyObject *
code_cache_lookup_begins(CodeCache *cache)
{
    return lookup_listener == NULL ? NULL : PyList_AsTuple(cache->entries);
}

int
code_cache_lookup_ended(PyObject *tried, PyCodeObject *code, PyObject *locals, PyObject *globals,
                        PyObject *backend, CacheEntry *found, int may_capture)
{
    if (lookup_listener == NULL) {
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
    PyObject *told = Py_NewRef(lookup_listener);
    PyObject *paused = thread_state_pause();
    PyObject *result = PyObject_Vectorcall(told, args, sizeof args / sizeof *args, NULL);
    thread_state_resume(paused);
    Py_DECREF(told);
    return answer_done(result);
}

static PyObject *
set_lookup_listener(PyObject *Py_UNUSED(module), PyObject *callback)
{
    Py_XSETREF(lookup_listener, callback == Py_None ? NULL : Py_NewRef(callback));
    Py_RETURN_NONE;
}

/* --- adding and taking out --- */

static PyObject *
add(CodeCache *self, PyObject *object)
{
    if (!is_entry(object)) {
        return PyErr_Format(PyExc_TypeError, "add() wants a CacheEntry, not %s",
                            Py_TYPE(object)->tp_name);
    }
    CacheEntry *entry = (CacheEntry *)object;
    const char *why = NULL;
    if (self->code == NULL) {
        why = "the code of this cache is gone";
    }
    else if (!cache_entry_is_for(entry, self->code)) {
        why = "the entry was captured for other code";
    }
    else if (entry->cache != NULL) {
        why = "the entry is in a cache already";
    }
    else if (entry->reason != NULL) {
        why = "the entry is not valid any more";
    }
    if (why != NULL) {
        PyErr_SetString(PyExc_ValueError, why);
        return NULL;
    }
    if (PyList_Insert(self->entries, 0, object) < 0) {
        return NULL;
    }
    entry->cache = self;
    code_cache_notify("added", entry, Py_None);
    Py_RETURN_NONE;
}

static PyObject *
take_out(CodeCache *self, PyObject *object)
{
    if (!is_entry(object) || ((CacheEntry *)object)->cache != self) {
        return PyErr_Format(PyExc_ValueError, "the entry is not in this cache");
    }
    code_cache_unlink(self, (CacheEntry *)object);
    code_cache_notify("removed", (CacheEntry *)object, Py_None);
    Py_RETURN_NONE;
}

static void
take_all_out(CodeCache *self)
{
    while (PyList_GET_SIZE(self->entries) > 0) {
        Py_ssize_t last = PyList_GET_SIZE(self->entries) - 1;
        CacheEntry *entry = (CacheEntry *)Py_NewRef(PyList_GET_ITEM(self->entries, last));
        code_cache_unlink(self, entry);
        code_cache_notify("removed", entry, Py_None);
        Py_DECREF(entry);
    }
}

static PyObject *
clear(CodeCache *self, PyObject *Py_UNUSED(none))
{
    take_all_out(self);
    Py_RETURN_NONE;
}

void
code_cache_orphan(CodeCache *cache)
{
    cache->code = NULL;
    take_all_out(cache);
}

static PyObject *
lookup(CodeCache *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"locals", "globals", "backend", NULL};
    PyObject *locals, *globals, *backend = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O:lookup", names, &locals, &globals,
                                     &backend)) {
        return NULL;
    }
    CacheEntry *entry = code_cache_lookup(self, locals, globals,
                                          backend == Py_None ? NULL : backend);
    if (entry == NULL && !PyErr_Occurred()) {
        Py_RETURN_NONE;
    }
    return (PyObject *)entry;
}

/* --- the type --- */

/* The cache of a code that is in this state, made when there is none. Borrowed. */
static CodeCache *
made_for(CodeState *state)
{
    if (state->cache != NULL) {
        return state->cache;
    }
    PyObject *entries = PyList_New(0);
    CodeCache *cache = entries == NULL ? NULL : PyObject_New(CodeCache, &CodeCache_Type);
    if (cache == NULL) {
        Py_XDECREF(entries);
        return NULL;
    }
    cache->code = state->code;
    cache->entries = entries;
    /* Making the list may have collected garbage, and that have run anything. */
    if (state->cache == NULL) {
        state->cache = cache;
    }
    else {
        Py_DECREF(cache);
    }
    return state->cache;
}

static void
dealloc(CodeCache *self)
{
    take_all_out(self);
    Py_DECREF(self->entries);
    PyObject_Free(self);
}

static Py_ssize_t
length(CodeCache *self)
{
    return PyList_GET_SIZE(self->entries);
}

static PyObject *
get_code(CodeCache *self, void *Py_UNUSED(closure))
{
    return Py_NewRef(self->code == NULL ? Py_None : (PyObject *)self->code);
}

static PyObject *
get_entries(CodeCache *self, void *Py_UNUSED(closure))
{
    return PyList_AsTuple(self->entries);
}

static PyMethodDef methods[] = {
    METHOD("add", add, METH_O),
    METHOD("remove", take_out, METH_O),
    METHOD("clear", clear, METH_NOARGS),
    METHOD("lookup", lookup, METH_VARARGS | METH_KEYWORDS),
    {NULL},
};

static PyGetSetDef properties[] = {
    {"code", (getter)get_code, NULL, NULL, NULL},
    {"entries", (getter)get_entries, NULL, NULL, NULL},
    {NULL},
};

static PySequenceMethods as_sequence = {.sq_length = (lenfunc)length};

PyTypeObject CodeCache_Type = {
    TYPE(CodeCache),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)dealloc,
    .tp_as_sequence = &as_sequence,
    .tp_methods = methods,
    .tp_getset = properties,
};

static PyObject *
code_cache(PyObject *Py_UNUSED(module), PyObject *code)
{
    if (!code_state_is_code(code)) {
        return NULL;
    }
    CodeState *state = code_state_make((PyCodeObject *)code);
    return state == NULL ? NULL : Py_XNewRef((PyObject *)made_for(state));
}

static PyObject *
code_caches(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    PyObject *caches = PyList_New(0);
    /* Appending to a list collects no garbage, so no state goes while this walks over them. */
    for (CodeState *state = code_state_first(); state != NULL && caches != NULL;
         state = state->next) {
        if (state->cache != NULL && PyList_Append(caches, (PyObject *)state->cache) < 0) {
            Py_CLEAR(caches);
        }
    }
    return caches;
}

static PyObject *
set_cache_listener(PyObject *Py_UNUSED(module), PyObject *callback)
{
    Py_XSETREF(listener, callback == Py_None ? NULL : Py_NewRef(callback));
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    METHOD("code_cache", code_cache, METH_O),
    METHOD("code_caches", code_caches, METH_NOARGS),
    METHOD("set_cache_listener", set_cache_listener, METH_O),
    METHOD("set_lookup_listener", set_lookup_listener, METH_O),
    {NULL},
};

const Part code_cache_part = {.functions = functions, .types = {&CodeCache_Type}};
