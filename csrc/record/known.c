/* Two hash tables keyed by address: the trackers that have a number, and their classes. */

#include "record/known.h"

#include "support/api.h"

static size_t
slot_of(const void *address, size_t mask)
{
    uintptr_t bits = (uintptr_t)address >> 4;
    return (size_t)(bits ^ bits >> 15) & mask;
}

static Known *
known_slot(Known *table, size_t size, PyObject *tracker)
{
    size_t mask = size - 1;
    size_t at = slot_of(tracker, mask);
    while (table[at].tracker != NULL && table[at].tracker != tracker) {
        at = (at + 1) & mask;
    }
    return &table[at];
}

/* The number under which the tracker is known, or 0. */
uint32_t
known_number(Trackers *self, PyObject *tracker)
{
    if (self->known_size == 0) {
        return 0;
    }
    Known *entry = known_slot(self->known, self->known_size, tracker);
    return entry->tracker != NULL && weakref_is(entry->ref, tracker) ? entry->number : 0;
}

static int
grow_known(Trackers *self)
{
    size_t living = 0;
    for (size_t i = 0; i < self->known_size; i++) {
        Known *entry = &self->known[i];
        living += entry->tracker != NULL && weakref_is(entry->ref, entry->tracker);
    }
    size_t size = 1024;
    while (size < living * 4) {
        size *= 2;
    }
    Known *table = PyMem_Calloc(size, sizeof(Known));
    if (table == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Known *old = self->known;
    size_t old_size = self->known_size;
    self->known = table;
    self->known_size = size;
    self->known_used = 0;
    for (size_t i = 0; i < old_size; i++) {
        if (old[i].tracker == NULL) {
            continue;
        }
        if (weakref_is(old[i].ref, old[i].tracker)) {
            *known_slot(table, size, old[i].tracker) = old[i];
            self->known_used++;
        }
        else {
            Py_DECREF(old[i].ref); /* frees a weak reference only: runs nothing */
        }
    }
    PyMem_Free(old);
    return 0;
}

int
known_remember(Trackers *self, PyObject *tracker, uint32_t number)
{
    PyObject *ref = PyWeakref_NewRef(tracker, NULL);
    if (ref == NULL) {
        return -1;
    }
    if (PyObject_GC_IsTracked(ref)) {
        PyObject_GC_UnTrack(ref); /* without a callback it is part of no cycle */
    }
    if (self->known_used * 2 >= self->known_size && grow_known(self) < 0) {
        Py_DECREF(ref);
        return -1;
    }
    Known *entry = known_slot(self->known, self->known_size, tracker);
    if (entry->tracker == NULL) {
        self->known_used++;
    }
    PyObject *old = entry->ref;
    *entry = (Known){tracker, ref, number};
    Py_XDECREF(old);
    return 0;
}

/* Copy of what is known of the tracker's class; -1 with an exception. */
int
known_kind(Trackers *self, PyObject *tracker, Kind *out)
{
    PyObject *type = (PyObject *)Py_TYPE(tracker);
    if (self->kinds_size > 0) {
        size_t mask = self->kinds_size - 1;
        for (size_t at = slot_of(type, mask); self->kinds[at].type != NULL; at = (at + 1) & mask) {
            if (self->kinds[at].type == type) {
                *out = self->kinds[at];
                return 0;
            }
        }
    }
    if (self->describer == NULL) {
        return answer_refuse(PyExc_RuntimeError, "the session is over");
    }
    PyObject *answer = PyObject_CallMethod(self->describer, "flavour", "O", type);
    if (answer == NULL) {
        return -1;
    }
    long flavour = PyLong_AsLong(answer);
    Py_DECREF(answer);
    int late = PySet_Contains(self->late, type);
    if ((flavour == -1 && PyErr_Occurred()) || late < 0) {
        return -1;
    }
    if (self->kinds_used * 2 >= self->kinds_size) {
        size_t size = self->kinds_size ? self->kinds_size * 2 : 256;
        Kind *table = PyMem_Calloc(size, sizeof(Kind));
        if (table == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        for (size_t i = 0; i < self->kinds_size; i++) {
            if (self->kinds[i].type != NULL) {
                size_t at = slot_of(self->kinds[i].type, size - 1);
                while (table[at].type != NULL) {
                    at = (at + 1) & (size - 1);
                }
                table[at] = self->kinds[i];
            }
        }
        PyMem_Free(self->kinds);
        self->kinds = table;
        self->kinds_size = size;
    }
    size_t mask = self->kinds_size - 1;
    size_t at = slot_of(type, mask);
    while (self->kinds[at].type != NULL) {
        at = (at + 1) & mask;
    }
    *out = self->kinds[at] = (Kind){Py_NewRef(type), (int)flavour, late};
    self->kinds_used++;
    return 0;
}
