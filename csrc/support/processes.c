/* Hooks in the functions by which Python code starts a process, becomes another program, ends, and
   learns of an end.

   A child of the program is to find what we hand to it in its environment, and the program is to
   see nothing of that: not in `os.environ`, not in the mapping that it passes itself, not in the
   functions. To put wrappers in their places would show: `os._exit` and `from os import _exit`
   are two names of one object, which others hold already, and a wrapper of Python's own stands in
   tracebacks. So the objects stay what they are, and the C function behind them is exchanged: a
   builtin function reads it from its PyMethodDef at each call. What stands there instead calls the
   hook, and then the original with the same arguments, but for the environment.

   The hook's answer for an environment is the one to use. Whatever a hook raises is dropped: the
   program's call goes on as if there were none. Tracers and profilers see nothing of a hook. */

#include "module.h"

#include <stdlib.h>
#include <string.h>

extern char **environ;

typedef PyObject *Fast(PyObject *self, PyObject *const *args, Py_ssize_t count);
typedef PyObject *FastNamed(PyObject *self, PyObject *const *args, Py_ssize_t count,
                            PyObject *names);

enum {
    FORK_EXEC,
    SPAWN,
    SPAWN_ON_PATH,
    EXECV,
    EXECVE,
    SYSTEM,
    EXIT,
    WAITPID,
    FORK,
    FUNCTIONS,
};

enum { MOST_ARGUMENTS = 64 };

static struct {
    PyMethodDef *method;
    PyCFunction original; /* kept for good: a call may be under way when the hooks are taken out */
} hooked[FUNCTIONS];

static PyObject *environment_hook, *leaving_hook, *ended_hook, *forked_hook;

/* What a hook says; NULL: it has nothing to say. */
static PyObject *
ask(PyObject *hook, PyObject *const *args, size_t count)
{
    if (hook == NULL) {
        return NULL;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyThreadState *thread = PyThreadState_Get();
    Py_INCREF(hook);
    PyThreadState_EnterTracing(thread);
    PyObject *answer = PyObject_Vectorcall(hook, args, count, NULL);
    PyThreadState_LeaveTracing(thread);
    Py_DECREF(hook);
    if (answer == NULL) {
        PyErr_Clear();
    }
    PyErr_Restore(type, value, traceback);
    return answer;
}

/* The environment that a child would have, as a list of bytes. */
static PyObject *
own_environment(void)
{
    PyObject *list = PyList_New(0);
    for (char **entry = environ; list != NULL && entry != NULL && *entry != NULL; entry++) {
        PyObject *text = PyBytes_FromString(*entry);
        if (text == NULL || PyList_Append(list, text) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(text);
    }
    return list;
}

/* What a child is to have in place of an environment. */
static PyObject *
replaced(PyObject *wanted)
{
    return ask(environment_hook, &wanted, 1);
}

/* The same of the process's own, as a list. */
static PyObject *
own_replaced(void)
{
    PyObject *own = own_environment();
    if (own == NULL) {
        PyErr_Clear();
        return NULL;
    }
    PyObject *answer = replaced(own);
    Py_DECREF(own);
    return answer;
}

/* `posix_spawn` takes None for the process's own environment since 3.13. */
enum { SPAWN_TAKES_NONE = PY_VERSION_HEX >= 0x030D0000 };

/* Call a function with another argument at one place. */
static PyObject *
with_environment(int which, PyObject *self, PyObject *const *args, Py_ssize_t count,
                 PyObject *names, Py_ssize_t place)
{
    PyObject *changed[MOST_ARGUMENTS];
    Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    PyObject *other = NULL;
    if (place < count && count + named <= MOST_ARGUMENTS) {
        int spawns = which == SPAWN || which == SPAWN_ON_PATH;
        other = args[place] != Py_None       ? replaced(args[place])
                : which == FORK_EXEC         ? own_replaced()
                : spawns && SPAWN_TAKES_NONE ? replaced(Py_None)
                                             : NULL;
    }
    if (other != NULL) {
        memcpy(changed, args, (size_t)(count + named) * sizeof *args);
        changed[place] = other;
        args = changed;
    }
    PyCFunction original = hooked[which].original;
    PyObject *result = hooked[which].method->ml_flags & METH_KEYWORDS
                           ? ((FastNamed *)(void *)original)(self, args, count, names)
                           : ((Fast *)(void *)original)(self, args, count);
    Py_XDECREF(other);
    return result;
}

/* `_posixsubprocess.fork_exec`: its environment is the sixth argument, a sequence of bytes. */
enum { FORK_EXEC_ENVIRONMENT = 5 };

static PyObject *
fork_exec_fast(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    return with_environment(FORK_EXEC, self, args, count, NULL, FORK_EXEC_ENVIRONMENT);
}

static PyObject *
fork_exec_tuple(PyObject *self, PyObject *args)
{
    PyObject *other = NULL, *changed = NULL;
    if (PyTuple_GET_SIZE(args) > FORK_EXEC_ENVIRONMENT) {
        PyObject *given = PyTuple_GET_ITEM(args, FORK_EXEC_ENVIRONMENT);
        other = given == Py_None ? own_replaced() : replaced(given);
    }
    if (other != NULL) {
        changed = PyTuple_GetSlice(args, 0, PyTuple_GET_SIZE(args));
        if (changed == args) { /* a slice of all of it is the tuple itself */
            Py_DECREF(changed);
            changed = PyTuple_New(PyTuple_GET_SIZE(args));
            for (Py_ssize_t i = 0; changed != NULL && i < PyTuple_GET_SIZE(args); i++) {
                PyObject *item = i == FORK_EXEC_ENVIRONMENT ? other : PyTuple_GET_ITEM(args, i);
                PyTuple_SET_ITEM(changed, i, Py_NewRef(item));
            }
        }
    }
    PyErr_Clear();
    PyObject *result = hooked[FORK_EXEC].original(self, changed == NULL ? args : changed);
    Py_XDECREF(changed);
    Py_XDECREF(other);
    return result;
}

static PyObject *
spawn(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    return with_environment(SPAWN, self, args, count, names, 2);
}

static PyObject *
spawn_on_path(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    return with_environment(SPAWN_ON_PATH, self, args, count, names, 2);
}

static PyObject *
execve_hooked(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    return with_environment(EXECVE, self, args, count, names, 2);
}

/* Set what the hook adds to the process's own environment, or take it away again. Where a program
   is started through C, by `system` and `execv`, there is no other way to hand something on. */
static PyObject *
put_into_environment(void)
{
    PyObject *list = own_replaced();
    if (list != NULL && !PyList_CheckExact(list)) {
        Py_CLEAR(list);
    }
    PyObject *before = list == NULL ? NULL : PyList_New(0);
    for (Py_ssize_t i = 0; before != NULL && i < PyList_GET_SIZE(list); i++) {
        PyObject *entry = PyList_GET_ITEM(list, i);
        const char *text = PyBytes_Check(entry) ? PyBytes_AS_STRING(entry) : "";
        const char *equals = strchr(text, '=');
        char *name = equals == NULL || equals == text ? NULL
                                                      : strndup(text, (size_t)(equals - text));
        const char *old = name == NULL ? NULL : getenv(name);
        if (name != NULL && (old == NULL || strcmp(old, equals + 1) != 0)) {
            PyObject *pair = Py_BuildValue("(yy)", name, old);
            if (pair == NULL || PyList_Append(before, pair) < 0) {
                PyErr_Clear();
            }
            else {
                setenv(name, equals + 1, 1);
            }
            Py_XDECREF(pair);
        }
        free(name);
    }
    Py_XDECREF(list);
    PyErr_Clear();
    return before;
}

static void
restore_environment(PyObject *before)
{
    for (Py_ssize_t i = 0; before != NULL && i < PyList_GET_SIZE(before); i++) {
        PyObject *pair = PyList_GET_ITEM(before, i), *old = PyTuple_GET_ITEM(pair, 1);
        const char *name = PyBytes_AS_STRING(PyTuple_GET_ITEM(pair, 0));
        if (old == Py_None) {
            unsetenv(name);
        }
        else {
            setenv(name, PyBytes_AS_STRING(old), 1);
        }
    }
    Py_XDECREF(before);
}

static PyObject *
execv_hooked(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    PyObject *before = put_into_environment();
    PyObject *result = ((Fast *)(void *)hooked[EXECV].original)(self, args, count);
    restore_environment(before); /* it comes back only when it failed */
    return result;
}

static PyObject *
system_hooked(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    PyObject *before = put_into_environment();
    PyObject *result = ((FastNamed *)(void *)hooked[SYSTEM].original)(self, args, count, names);
    restore_environment(before);
    return result;
}

static PyObject *
exit_hooked(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    if (count == 1) {
        Py_XDECREF(ask(leaving_hook, args, 1));
    }
    return ((FastNamed *)(void *)hooked[EXIT].original)(self, args, count, names);
}

static PyObject *
waitpid_hooked(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
    PyObject *result = ((Fast *)(void *)hooked[WAITPID].original)(self, args, count);
    if (result != NULL && PyTuple_CheckExact(result) && PyTuple_GET_SIZE(result) == 2) {
        PyObject *told[] = {PyTuple_GET_ITEM(result, 0), PyTuple_GET_ITEM(result, 1)};
        Py_XDECREF(ask(ended_hook, told, 2));
    }
    return result;
}

/* Not one of `os.register_at_fork`: those run before CPython has counted the threads of the parent,
   of which it warns. */
static PyObject *
fork_hooked(PyObject *self, PyObject *none)
{
    PyObject *result = hooked[FORK].original(self, none);
    if (result != NULL && PyLong_CheckExact(result) && PyObject_IsTrue(result) == 1) {
        Py_XDECREF(ask(forked_hook, &result, 1));
    }
    return result;
}

static const struct {
    const char *module, *name;
    int flags; /* how CPython calls it; another version may have changed that */
    void *instead;
} functions[] = {
    {"_posixsubprocess", "fork_exec", METH_FASTCALL, fork_exec_fast},
    {"_posixsubprocess", "fork_exec", METH_VARARGS, fork_exec_tuple},
    {"posix", "posix_spawn", METH_FASTCALL | METH_KEYWORDS, spawn},
    {"posix", "posix_spawnp", METH_FASTCALL | METH_KEYWORDS, spawn_on_path},
    {"posix", "execv", METH_FASTCALL, execv_hooked},
    {"posix", "execve", METH_FASTCALL | METH_KEYWORDS, execve_hooked},
    {"posix", "system", METH_FASTCALL | METH_KEYWORDS, system_hooked},
    {"posix", "_exit", METH_FASTCALL | METH_KEYWORDS, exit_hooked},
    {"posix", "waitpid", METH_FASTCALL, waitpid_hooked},
    {"posix", "fork", METH_NOARGS, fork_hooked},
};

static void
put_back(void)
{
    for (int i = 0; i < FUNCTIONS; i++) {
        if (hooked[i].original != NULL) {
            hooked[i].method->ml_meth = hooked[i].original;
        }
    }
    Py_CLEAR(environment_hook);
    Py_CLEAR(leaving_hook);
    Py_CLEAR(ended_hook);
    Py_CLEAR(forked_hook);
}

/* The place in `hooked` of an entry of `functions`: two entries are one function. */
static int
place_of(size_t entry)
{
    return entry == 0 ? FORK_EXEC : (int)entry - 1;
}

static int
put_hook(size_t entry)
{
    PyObject *module = PyImport_ImportModule(functions[entry].module);
    PyObject *function = module == NULL ? NULL
                                        : PyObject_GetAttrString(module, functions[entry].name);
    Py_XDECREF(module);
    if (function == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_ImportError)
            && !PyErr_ExceptionMatches(PyExc_AttributeError)) {
            return -1;
        }
        PyErr_Clear(); /* a system that has no such function */
        return 0;
    }
    if (PyCFunction_CheckExact(function)) {
        PyMethodDef *method = ((PyCFunctionObject *)function)->m_ml;
        if (method->ml_flags == functions[entry].flags) {
            int place = place_of(entry);
            if (hooked[place].original == NULL) {
                hooked[place].original = method->ml_meth;
            }
            hooked[place].method = method;
            method->ml_meth = (PyCFunction)functions[entry].instead;
        }
    }
    Py_DECREF(function);
    return 0;
}

static PyObject *
hook_processes(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *environment, *leaving, *ended, *forked;
    if (!PyArg_ParseTuple(args, "OOOO:hook_processes", &environment, &leaving, &ended, &forked)) {
        return NULL;
    }
    put_back();
    environment_hook = Py_NewRef(environment);
    leaving_hook = Py_NewRef(leaving);
    ended_hook = Py_NewRef(ended);
    forked_hook = Py_NewRef(forked);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (put_hook(i) < 0) {
            put_back();
            return NULL;
        }
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    METHOD("hook_processes", hook_processes, METH_VARARGS),
    {NULL},
};

const Part processes_part = {.functions = methods};
