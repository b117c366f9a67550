/* Arrays that grow. */

#ifndef STEPPER_GROW_H
#define STEPPER_GROW_H

#include "module.h"

/* Make room for `wanted` items in the array that `array` points to; -1 with an exception. */
static inline int
grow_array(void *array, Py_ssize_t *room, Py_ssize_t wanted, size_t item)
{
    if (wanted <= *room) {
        return 0;
    }
    Py_ssize_t more = *room ? *room : 8;
    while (more < wanted) {
        more *= 2;
    }
    void **place = array;
    void *moved = PyMem_Realloc(*place, (size_t)more * item);
    if (moved == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *place = moved;
    *room = more;
    return 0;
}

#endif
