/* What a frame that has not started was called with.

   Its first slots hold the arguments, raw even where the body keeps them in cells: the instructions
   that make the cells have not run, nor the one that copies the free variables from the function's
   closure. So the latter are taken from the closure; empty cells are left out. A frame object must
   not be made for such a frame, which is why nothing of Python's own can be used here. */

#include "evalframe/frame_arguments.h"

PyObject *
frame_arguments(Frame *frame)
{
    PyCodeObject *code = frame_code(frame);
    PyObject *names = code->co_localsplusnames;
    PyObject *arguments = PyDict_New();
    if (arguments == NULL) {
        return NULL;
    }
    for (int i = 0; i < code_arguments(code); i++) {
        PyObject *value = frame_slot(frame, i);
        if (value != NULL && PyDict_SetItem(arguments, PyTuple_GET_ITEM(names, i), value) < 0) {
            goto error;
        }
    }
    PyObject *closure = frame_function(frame)->func_closure;
    int first = code->co_nlocalsplus - code->co_nfreevars;
    for (int i = 0; closure != NULL && i < code->co_nfreevars; i++) {
        PyObject *value = PyCell_GET(PyTuple_GET_ITEM(closure, i));
        if (value != NULL
            && PyDict_SetItem(arguments, PyTuple_GET_ITEM(names, first + i), value) < 0) {
            goto error;
        }
    }
    return arguments;
error:
    Py_DECREF(arguments);
    return NULL;
}
