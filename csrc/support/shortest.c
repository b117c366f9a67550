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
shortest(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    long times = count < 2 ? 0 : PyLong_AsLong(args[0]);
    if (times < 1) {
        return PyErr_Occurred() ? NULL
                                : PyErr_Format(PyExc_TypeError, "shortest(times, function, ...)");
    }
    long long least = -1;
    PyObject *result = NULL;
    for (long i = 0; i < times; i++) {
        Py_XDECREF(result);
        long long began = now();
        result = PyObject_Vectorcall(args[1], args + 2, (size_t)count - 2, NULL);
        long long spent = now() - began;
        if (result == NULL) {
            return NULL;
        }
        least = least < 0 || spent < least ? spent : least;
    }
    return Py_BuildValue("(NL)", result, least);
}

static PyMethodDef functions[] = {
    METHOD("shortest", shortest, METH_FASTCALL),
    {NULL},
};

const Part shortest_part = {.functions = functions};
