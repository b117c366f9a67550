/* Numbers for trackers, and what each was last said to be.

   A tracker has a number for as long as it lives; its description is taken when it first comes into
   view and again when it was touched. All knowledge of trackers hangs on weak references, so
   nothing lives longer because of us.

   The references have no callback, and the garbage collector does not know them: tens of thousands
   of them would have it look through everything more often. An entry of a dead tracker is found out
   when something else comes to lie at its address, and thrown away when the table grows; so the
   death of a tracker costs nothing, and a table is never larger than the living need, times four.

   Every call of Python from here can run anything (the garbage collector, and with it a user's
   finalizer, and with that a translation): nothing holds a pointer into an array across one. */

#include "record/trackers.h"

#include "describe/facts.h"
#include "record/known.h"
#include "support/api.h"
#include "support/fields.h"
#include "support/grow.h"
#include "support/names.h"

int
trackers_init(Trackers *self, PyObject *describer, PyObject *late, PyObject *number_function)
{
    self->later_depth = -1;
    self->stamp = 1;
    if ((self->facts = PyObject_GetAttrString(describer, "facts")) == NULL
        || (self->constants = PyDict_New()) == NULL || (self->same = PyDict_New()) == NULL) {
        return -1;
    }
    if (!PyObject_TypeCheck(self->facts, &Facts_Type)) {
        return answer_refuse(PyExc_TypeError, "describer.facts must be Facts");
    }
    if ((self->alike = PyObject_GetAttrString(describer, "alike")) == NULL) {
        return -1;
    }
    if (!PyFrozenSet_CheckExact(self->alike)) {
        return answer_refuse(PyExc_TypeError, "describer.alike must be a frozenset");
    }
    for (int i = 0; i < PLAIN; i++) {
        if ((self->plain[i] = PyDict_New()) == NULL) {
            return -1;
        }
    }
    self->describer = Py_NewRef(describer);
    self->late = Py_NewRef(late);
    self->number_function = Py_NewRef(number_function);
    return 0;
}

void
trackers_clear(Trackers *self)
{
    self->generation++;
    size_t size = self->known_size;
    Known *known = self->known;
    self->known = NULL;
    self->known_size = self->known_used = 0;
    for (size_t i = 0; i < size; i++) {
        Py_XDECREF(known[i].ref);
    }
    PyMem_Free(known);
    while (self->undescribed_size > 0) {
        Py_DECREF(self->undescribed[--self->undescribed_size].tracker);
    }
    touched_forget(&self->changing);
    touched_forget(&self->later);
    touched_forget(&self->suspects);
    self->later_depth = -1;
    self->nothing = 0;
    self->fresh_size = self->waiting_size = 0;
    self->stamp++; /* nothing is shown */
    if (self->serial > self->forgotten) {
        memset(self->descriptions, 0, (self->serial - self->forgotten + 1) * sizeof(uint32_t));
    }
    self->forgotten = self->serial;
    for (int i = 0; i < PLAIN; i++) {
        if (self->plain[i] != NULL) {
            PyDict_Clear(self->plain[i]);
        }
    }
    if (self->constants != NULL) {
        PyDict_Clear(self->constants);
    }
    if (self->same != NULL) {
        PyDict_Clear(self->same);
    }
    if (self->facts != NULL) {
        facts_forget(self->facts);
    }
}

void
trackers_free(Trackers *self)
{
    trackers_clear(self);
    for (size_t i = 0; i < self->kinds_size; i++) {
        Py_XDECREF(self->kinds[i].type);
    }
    PyMem_Free(self->kinds);
    PyMem_Free(self->descriptions);
    PyMem_Free(self->shown);
    PyMem_Free(self->fresh);
    PyMem_Free(self->undescribed);
    PyMem_Free(self->changing.items);
    PyMem_Free(self->later.items);
    PyMem_Free(self->suspects.items);
    PyMem_Free(self->waiting);
    PyObject *references[] = {self->describer,       self->facts,     self->late,
                              self->number_function, self->constants, self->same,
                              self->alike,           self->plain[0],  self->plain[1],
                              self->plain[2],        self->plain[3],  self->plain[4]};
    memset(self, 0, sizeof(*self)); /* the garbage collector can come here before the end */
    for (size_t i = 0; i < sizeof(references) / sizeof(references[0]); i++) {
        Py_XDECREF(references[i]);
    }
}

/* --- numbers */

static uint32_t
new_number(Trackers *self)
{
    Py_ssize_t wanted = (Py_ssize_t)(self->serial - self->forgotten) + 2;
    Py_ssize_t before = self->numbers_room, shown_before = self->shown_room;
    if (grow_array(&self->descriptions, &self->numbers_room, wanted, sizeof(uint32_t)) < 0) {
        return 0;
    }
    memset(self->descriptions + before, 0,
           (size_t)(self->numbers_room - before) * sizeof(uint32_t));
    if (grow_array(&self->shown, &self->shown_room, wanted, sizeof(uint32_t)) < 0) {
        return 0;
    }
    memset(self->shown + shown_before, 0,
           (size_t)(self->shown_room - shown_before) * sizeof(uint32_t));
    return ++self->serial;
}

/* Whether its type is one of `alike`; a class of classes is not asked whether it is. */
static int
is_alike(Trackers *self, PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    return Py_IS_TYPE(type, &PyType_Type) && PySet_Contains(self->alike, (PyObject *)type) == 1;
}

/* The dictionary that holds the numbers of constants like `value`, or NULL. */
static PyObject *
plain_constants(Trackers *self, PyObject *value)
{
    return value == Py_None              ? self->plain[0]
           : PyBool_Check(value)         ? self->plain[1]
           : PyLong_CheckExact(value)    ? self->plain[2]
           : PyUnicode_CheckExact(value) ? self->plain[3]
           : is_alike(self, value)       ? self->plain[4]
                                         : NULL;
}

static int
has_none(PyObject *tracker, PyObject *name)
{
    PyObject *value = fields_plain_attribute(tracker, name);
    if (value == NULL) {
        PyErr_Clear();
        return 0;
    }
    Py_DECREF(value);
    return value == Py_None;
}

static uint32_t
number_of(void *trackers, PyObject *tracker)
{
    return trackers_number(trackers, tracker);
}

uint32_t
trackers_describe(Trackers *self, PyObject *tracker)
{
    if (self->facts == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the session is over");
        return 0;
    }
    PyObject *facts = Py_NewRef(self->facts);
    uint32_t id = facts_describe(facts, tracker, number_of, self, self->number_function);
    Py_DECREF(facts);
    return id;
}

/* Equal constants are one value: they are most of what comes and goes, and nothing tells them
   apart. Those without a source are looked up here; what the others are says the describer. */
static uint32_t
constant_number(Trackers *self, PyObject *tracker)
{
    PyObject *value = fields_plain_attribute(tracker, ID(value));
    PyObject *known = NULL;
    uint32_t number = 0;
    if (value == NULL) {
        PyErr_Clear();
    }
    else if (has_none(tracker, ID(source)) && has_none(tracker, ID(mutation_type))) {
        known = plain_constants(self, value);
    }
    if (known != NULL) {
        PyObject *found = PyDict_GetItemWithError(known, value);
        if (found != NULL || PyErr_Occurred()) {
            Py_DECREF(value);
            return found == NULL ? 0 : (uint32_t)PyLong_AsUnsignedLong(found);
        }
    }
    PyObject *description = NULL, *boxed = NULL;
    unsigned generation = self->generation;
    uint32_t id = trackers_describe(self, tracker);
    if (id == 0 || (description = PyLong_FromUnsignedLong(id)) == NULL) {
        goto done;
    }
    boxed = PyDict_GetItemWithError(self->constants, description);
    if (boxed != NULL) {
        Py_INCREF(boxed);
        number = (uint32_t)PyLong_AsUnsignedLong(boxed);
    }
    else if (!PyErr_Occurred() && (number = new_number(self)) != 0) {
        self->descriptions[place_of(self, number)] = id;
        boxed = PyLong_FromUnsignedLong(number);
        if (boxed == NULL || PyDict_SetItem(self->constants, description, boxed) < 0) {
            number = 0;
        }
    }
    if (number != 0 && known != NULL && generation == self->generation
        && PyDict_SetItem(known, value, boxed) < 0) {
        number = 0;
    }
done:
    Py_XDECREF(description);
    Py_XDECREF(boxed);
    Py_XDECREF(value);
    return number;
}

/* The real tracker behind a lazy one that has been realized (a new reference), or NULL. */
PyObject *
trackers_inner(PyObject *tracker)
{
    PyObject *cache = fields_plain_attribute(tracker, ID(_cache));
    PyObject *inner = cache == NULL ? NULL : fields_plain_attribute(cache, ID(vt));
    Py_XDECREF(cache);
    PyErr_Clear();
    if (inner == Py_None) {
        Py_CLEAR(inner);
    }
    return inner;
}

uint32_t
trackers_number(Trackers *self, PyObject *tracker)
{
    uint32_t number = known_number(self, tracker);
    if (number != 0) {
        return number;
    }
    Kind kind;
    if (known_kind(self, tracker, &kind) < 0) {
        return 0;
    }
    if (kind.flavour == NOTHING) {
        unsigned generation = self->generation;
        number = self->nothing != 0 ? self->nothing : constant_number(self, tracker);
        if (generation == self->generation) {
            self->nothing = number;
        }
        return number;
    }
    if (kind.flavour == CONSTANT) {
        return constant_number(self, tracker);
    }
    PyObject *inner = kind.flavour == LAZY ? trackers_inner(tracker) : NULL;
    if (inner != NULL) {
        number = known_number(self, inner);
        if (number == 0 && known_kind(self, inner, &kind) < 0) {
            Py_DECREF(inner);
            return 0;
        }
        if (number == 0 && kind.flavour == CONSTANT
            && (number = constant_number(self, inner)) == 0) {
            Py_DECREF(inner);
            return 0;
        }
        if (number != 0) {
            Py_DECREF(inner);
            return known_remember(self, tracker, number) < 0 ? 0 : number;
        }
    }
    int done = grow_array(&self->undescribed, &self->undescribed_room, self->undescribed_size + 1,
                          sizeof(Undescribed));
    if (done == 0 && (number = new_number(self)) != 0) {
        /* While there is room: to remember it can run anything. */
        self->undescribed[self->undescribed_size++] = (Undescribed){number, Py_NewRef(tracker)};
        done = known_remember(self, tracker, number);
        if (done == 0 && inner != NULL) {
            done = known_remember(self, inner, number);
        }
    }
    Py_XDECREF(inner);
    return done < 0 ? 0 : number;
}

/* --- descriptions */

int
trackers_await(Trackers *self, uint32_t number)
{
    if (grow_array(&self->waiting, &self->waiting_room, self->waiting_size + 1, sizeof(uint32_t))
        < 0) {
        return -1;
    }
    self->waiting[self->waiting_size++] = number;
    return 0;
}

static int
await_children(Trackers *self, uint32_t description)
{
    const uint32_t *children = NULL;
    Py_ssize_t count = facts_children(self->facts, description, &children);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (trackers_await(self, children[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
add_fresh(Trackers *self, uint32_t number, uint32_t description)
{
    if (grow_array(&self->fresh, &self->fresh_room, self->fresh_size + 1, sizeof(Said)) < 0) {
        return -1;
    }
    self->fresh[self->fresh_size++] = (Said){number, description};
    return 0;
}

/* Show what is in `waiting`. Without a description a tracker is new, and about to be described. */
static int
show_waiting(Trackers *self)
{
    while (self->waiting_size > 0) {
        uint32_t number = self->waiting[--self->waiting_size];
        size_t place = place_of(self, number);
        uint32_t description = place != 0 ? self->descriptions[place] : 0;
        if (description != 0 && self->shown[place] != self->stamp) {
            self->shown[place] = self->stamp;
            if (add_fresh(self, number, description) < 0 || await_children(self, description) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

int
trackers_show(Trackers *self, uint32_t number)
{
    size_t place = place_of(self, number);
    if (place == 0 || self->shown[place] == self->stamp) {
        return 0;
    }
    return trackers_await(self, number) < 0 ? -1 : show_waiting(self);
}

/* A description was taken: it goes into the next delta, with what it holds and was not shown. */
int
trackers_say(Trackers *self, uint32_t number, uint32_t description)
{
    size_t place = place_of(self, number);
    if (place == 0) {
        return 0;
    }
    self->descriptions[place] = description;
    self->shown[place] = self->stamp;
    return add_fresh(self, number, description) < 0 || await_children(self, description) < 0
               ? -1
               : show_waiting(self);
}

int
trackers_describe_new(Trackers *self)
{
    /* Describing a container numbers its children, which join the queue. */
    while (self->undescribed_size > 0) {
        Undescribed next = self->undescribed[--self->undescribed_size];
        unsigned generation = self->generation;
        uint32_t description = trackers_describe(self, next.tracker);
        if (description == 0) {
            if (generation == self->generation) { /* it can be tried again: there is room */
                self->undescribed[self->undescribed_size++] = next;
            }
            else {
                Py_DECREF(next.tracker);
            }
            return -1;
        }
        Py_DECREF(next.tracker);
        if (generation != self->generation) {
            return 0;
        }
        if (trackers_say(self, next.number, description) < 0) {
            return -1;
        }
    }
    return 0;
}

int
trackers_pack_reachable(Trackers *self, Buffer *out)
{
    /* The end of `fresh` serves as the list of what is found. */
    Py_ssize_t first = self->fresh_size;
    self->stamp++;
    int done = show_waiting(self);
    Py_ssize_t count = self->fresh_size - first;
    if (done == 0) {
        done = pack_map(out, (size_t)count);
    }
    for (Py_ssize_t i = first; done == 0 && i < first + count; i++) {
        done = pack_uint(out, self->fresh[i].number) < 0
                       || pack_uint(out, self->fresh[i].description) < 0
                   ? -1
                   : 0;
    }
    self->fresh_size = first;
    return done;
}
