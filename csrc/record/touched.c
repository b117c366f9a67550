/* Trackers that change: each is described anew when the change can be seen. */

#include "record/known.h"
#include "support/api.h"
#include "support/grow.h"

/* The array is put aside, since this can run anything. */
void
touched_forget(TouchedList *list)
{
    TouchedList old = *list;
    *list = (TouchedList){0};
    for (Py_ssize_t i = 0; i < old.size; i++) {
        Py_DECREF(old.items[i].tracker);
    }
    if (list->items == NULL) {
        *list = (TouchedList){.items = old.items, .room = old.room};
    }
    else {
        PyMem_Free(old.items);
    }
}

static int
add_touched(TouchedList *list, PyObject *tracker, long depth)
{
    for (Py_ssize_t i = 0; i < list->size; i++) {
        if (list->items[i].tracker == tracker) {
            list->items[i].depth = depth;
            return 0;
        }
    }
    if (grow_array(&list->items, &list->room, list->size + 1, sizeof(Touched)) < 0) {
        return -1;
    }
    list->items[list->size++] = (Touched){Py_NewRef(tracker), depth};
    return 0;
}

int
touched_add(Trackers *self, PyObject *tracker, long depth)
{
    return add_touched(&self->suspects, tracker, depth) < 0
               ? -1
               : add_touched(&self->changing, tracker, depth);
}

int
touched_must_flush_now(Trackers *self, PyObject *top)
{
    Kind kind;
    int found = 0;
    for (Py_ssize_t i = 0; i < self->suspects.size && !found; i++) {
        PyObject *tracker = Py_NewRef(self->suspects.items[i].tracker);
        if (known_kind(self, tracker, &kind) < 0) {
            Py_DECREF(tracker);
            return -1;
        }
        PyObject *inner = kind.flavour == LAZY ? trackers_inner(tracker) : NULL;
        Py_DECREF(tracker);
        if (inner != NULL) {
            int done = known_kind(self, inner, &kind);
            Py_DECREF(inner);
            if (done < 0) {
                return -1;
            }
        }
        found = kind.late;
    }
    touched_forget(&self->suspects);
    if (found || top == NULL) {
        return found;
    }
    if (known_kind(self, top, &kind) < 0) {
        return -1;
    }
    return kind.late && known_number(self, top) == 0;
}

/* A lazy tracker turned out to be `inner`, which may have come into view before, as itself or as
   another: then it has two numbers. */
static int
join(Trackers *self, PyObject *inner, uint32_t number)
{
    uint32_t other = known_number(self, inner);
    if (other == 0) {
        Kind kind;
        if (known_kind(self, inner, &kind) < 0) {
            return -1;
        }
        /* A constant has the number of all that are equal. */
        return kind.flavour == CONSTANT ? 0 : known_remember(self, inner, number);
    }
    if (other == number) {
        return 0;
    }
    PyObject *key = PyLong_FromUnsignedLong(other), *item = PyLong_FromUnsignedLong(number);
    PyObject *fresh = PySet_New(NULL), *numbers = NULL;
    int done = -1;
    if (key != NULL && item != NULL && fresh != NULL
        && (numbers = PyDict_SetDefault(self->same, key, fresh)) != NULL) {
        done = PySet_Add(numbers, item);
    }
    Py_XDECREF(key);
    Py_XDECREF(item);
    Py_XDECREF(fresh);
    return done;
}

static int
say_if_changed(Trackers *self, uint32_t number, uint32_t description)
{
    size_t place = place_of(self, number);
    return place == 0 || self->descriptions[place] == description
               ? 0
               : trackers_say(self, number, description);
}

static int
describe_again(Trackers *self, PyObject *tracker)
{
    uint32_t number = known_number(self, tracker);
    Kind kind;
    if (number == 0) {
        return 0;
    }
    if (known_kind(self, tracker, &kind) < 0) {
        return -1;
    }
    PyObject *inner = kind.flavour == LAZY ? trackers_inner(tracker) : NULL;
    if (inner != NULL) {
        int joined = join(self, inner, number);
        Py_DECREF(inner);
        if (joined < 0) {
            return -1;
        }
    }
    unsigned generation = self->generation;
    uint32_t description = trackers_describe(self, tracker);
    if (description == 0) {
        return -1;
    }
    if (generation != self->generation) {
        return 0;
    }
    if (say_if_changed(self, number, description) < 0) {
        return -1;
    }
    PyObject *key = PyLong_FromUnsignedLong(number);
    PyObject *further = key == NULL ? NULL : PyDict_GetItemWithError(self->same, key);
    Py_XDECREF(key);
    if (further == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    PyObject *numbers = PySequence_Tuple(further);
    int done = numbers == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; done == 0 && i < PyTuple_GET_SIZE(numbers); i++) {
        uint32_t same = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GET_ITEM(numbers, i));
        done = say_if_changed(self, same, description);
    }
    Py_XDECREF(numbers);
    return done;
}

int
touched_describe(Trackers *self, long depth)
{
    /* When the next instruction is one of an inlined call, the change may still be to come: such a
       tracker is looked at now, and again when the frame that touched it goes on. */
    if (self->later.size > 0 && depth <= self->later_depth) {
        if (grow_array(&self->changing, &self->changing.room,
                       self->changing.size + self->later.size, sizeof(Touched))
            < 0) {
            return -1;
        }
        Py_ssize_t kept = 0;
        for (Py_ssize_t i = 0; i < self->later.size; i++) {
            Touched item = self->later.items[i];
            if (depth > item.depth) {
                self->later.items[kept++] = item;
                continue;
            }
            int there = 0;
            for (Py_ssize_t j = 0; j < self->changing.size; j++) {
                there = there || self->changing.items[j].tracker == item.tracker;
            }
            if (there) {
                Py_DECREF(item.tracker); /* `changing` holds it, too: nothing is run */
            }
            else {
                self->changing.items[self->changing.size++] = item;
            }
        }
        self->later.size = kept;
    }
    for (Py_ssize_t i = 0; i < self->changing.size; i++) {
        Touched item = self->changing.items[i];
        if (item.depth < depth && add_touched(&self->later, item.tracker, item.depth) < 0) {
            return -1;
        }
    }
    self->later_depth = -1;
    for (Py_ssize_t i = 0; i < self->later.size; i++) {
        if (self->later.items[i].depth > self->later_depth) {
            self->later_depth = self->later.items[i].depth;
        }
    }
    unsigned generation = self->generation;
    int done = 0;
    Py_ssize_t at = 0, count = self->changing.size;
    while (done == 0 && at < count && generation == self->generation) {
        PyObject *tracker = Py_NewRef(self->changing.items[at].tracker);
        done = describe_again(self, tracker);
        Py_DECREF(tracker);
        at += done == 0;
    }
    if (generation != self->generation) {
        return done;
    }
    /* What failed is tried again; what was touched meanwhile is looked at next time. */
    TouchedList changing = self->changing;
    self->changing = (TouchedList){0};
    for (Py_ssize_t i = 0; i < changing.size; i++) {
        Touched item = changing.items[i];
        if (i >= at && add_touched(&self->changing, item.tracker, item.depth) < 0) {
            done = -1;
        }
        Py_DECREF(item.tracker);
    }
    PyMem_Free(changing.items);
    return done;
}
