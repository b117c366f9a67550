/* How long a call takes at least: the shortest of a few, without what it takes Python to make it. */

#include "module.h"

#include <time.h>

static long long
now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static PyObject *
shortest(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *argument;
    int times;
    if (!PyArg_ParseTuple(args, "OOi:shortest", &function, &argument, &times)) {
        return NULL;
    }
    long long least = -1;
    PyObject *result = NULL;
    for (int i = 0; i < times; i++) {
        Py_XDECREF(result);
        long long began = now();
        result = PyObject_CallOneArg(function, argument);
        long long spent = now() - began;
        if (result == NULL) {
            return NULL;
        }
        least = least < 0 || spent < least ? spent : least;
    }
    return Py_BuildValue("(NL)", result == NULL ? Py_NewRef(Py_None) : result, least);
}

static PyMethodDef functions[] = {
    {"shortest", shortest, METH_VARARGS,
     PyDoc_STR("What the last of so many calls returns, and nanoseconds of the shortest.")},
    {NULL},
};

int
shortest_exec(PyObject *module)
{
    return PyModule_AddFunctions(module, functions);
}
