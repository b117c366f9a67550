/* Where the source of a code object ends.

   `co_lines` makes a tuple and three numbers for every few instructions, of which the largest line
   is wanted here, for each of the hundred codes that a compile traces. The table that it reads is
   the same in all versions (Objects/locations.md): entries whose first byte alone has its highest
   bit set and says what follows, and lines that count on from the entry before. */

#include "module.h"

enum { ONE_LINE_ON = 10, NO_COLUMNS = 13, LONG = 14, NO_LOCATION = 15 };

/* A number with a sign, six bits a byte, the lowest first. */
static long long
read_signed(const unsigned char **at, const unsigned char *end)
{
    unsigned long long value = 0;
    int more = 1;
    for (int shift = 0; more && *at < end && shift < 36; shift += 6) {
        value |= (unsigned long long)(**at & 63) << shift;
        more = *(*at)++ & 64;
    }
    return value & 1 ? -(long long)(value >> 1) : (long long)(value >> 1);
}

/* The last line of the code itself, or `last` if that is larger. */
static long long
own_last_line(PyCodeObject *code, long long last)
{
    const unsigned char *at = (const unsigned char *)PyBytes_AS_STRING(code->co_linetable);
    const unsigned char *end = at + PyBytes_GET_SIZE(code->co_linetable);
    long long line = code->co_firstlineno;
    while (at < end) {
        int kind = *at++ >> 3 & 15;
        if (kind == NO_COLUMNS || kind == LONG) {
            line += read_signed(&at, end);
        }
        else if (kind >= ONE_LINE_ON && kind < NO_COLUMNS) {
            line += kind - ONE_LINE_ON;
        }
        if (kind != NO_LOCATION && line > last) {
            last = line;
        }
        while (at < end && !(*at & 0x80)) {
            at++;
        }
    }
    return last;
}

static PyObject *
last_line(PyObject *Py_UNUSED(module), PyObject *code)
{
    if (!PyCode_Check(code)) {
        return PyErr_Format(PyExc_TypeError, "only code has lines");
    }
    PyObject *codes = PyList_New(0); /* rather than a call in a call: a program can nest at will */
    int done = codes == NULL ? -1 : PyList_Append(codes, code);
    long long last = 0;
    for (Py_ssize_t i = 0; done == 0 && i < PyList_GET_SIZE(codes); i++) {
        PyCodeObject *current = (PyCodeObject *)PyList_GET_ITEM(codes, i);
        last = own_last_line(current, last);
        PyObject *constants = current->co_consts;
        for (Py_ssize_t k = 0; done == 0 && k < PyTuple_GET_SIZE(constants); k++) {
            PyObject *constant = PyTuple_GET_ITEM(constants, k);
            done = PyCode_Check(constant) ? PyList_Append(codes, constant) : 0;
        }
    }
    Py_XDECREF(codes);
    return done < 0 ? NULL : PyLong_FromLongLong(last);
}

static PyMethodDef functions[] = {
    METHOD("last_line", last_line, METH_O),
    {NULL},
};

const Part code_lines_part = {.functions = functions};
