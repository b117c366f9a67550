/* When each guard began to be made, marked as it begins and told when all are made: there are a
   thousand of them, one after the other, and a call of Python for each would be longer than what
   it is to time. */

#include "record/steps.h"

#include "support/grow.h"

static void
forget(MadeMarks *self)
{
    while (self->count > 0) {
        Py_DECREF(self->marks[--self->count].guard);
    }
    PyMem_Free(self->marks);
    self->marks = NULL;
    self->room = 0;
}

void
made_marks_clear(MadeMarks *self)
{
    self->on = 0;
    forget(self);
}

PyObject *
made_marks_add(Steps *steps, PyObject *guard)
{
    MadeMarks *self = &steps->made;
    if (self->on) {
        if (grow_array(&self->marks, &self->room, self->count + 1, sizeof(MadeMark)) < 0) {
            return NULL;
        }
        self->marks[self->count++] = (MadeMark){
            .guard = Py_NewRef(guard),
            .began = moments_clock(steps),
            .away = steps->away,
        };
    }
    Py_RETURN_NONE;
}

PyObject *
made_marks_take(Steps *steps, PyObject *Py_UNUSED(unused))
{
    /* Making the list can run anything, a translation too. */
    MadeMarks taken = steps->made;
    steps->made = (MadeMarks){.on = taken.on};
    /* One list of them all: a tuple for each would wake the garbage collector. */
    PyObject *list = PyList_New(3 * taken.count);
    for (Py_ssize_t i = 0, to = 0; list != NULL && i < taken.count; i++) {
        const MadeMark *mark = &taken.marks[i];
        PyList_SET_ITEM(list, to++, Py_NewRef(mark->guard));
        PyList_SET_ITEM(list, to++, PyLong_FromLongLong(mark->began));
        PyList_SET_ITEM(list, to++, PyLong_FromLongLong(mark->away));
    }
    if (list != NULL && PyErr_Occurred()) { /* a number could not be made */
        Py_CLEAR(list);
    }
    forget(&taken);
    return list;
}
