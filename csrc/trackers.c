/* Numbers for trackers, and what each was last said to be.

   A tracker has a number for as long as it lives; its description is taken when it first comes into
   view and again when it was touched. All knowledge of trackers hangs on weak references, so nothing
   lives longer because of us.

   The references have no callback. An entry of a dead tracker is found out when something else
   comes to lie at its address, and thrown away when the table grows; so the death of a tracker costs
   nothing, and a table is never larger than the living need, times four.

   Every call of Python from here can run anything (the garbage collector, and with it a user's
   finalizer, and with that a translation): nothing holds a pointer into an array across one. */

#include "trackers.h"

#include "api.h"
#include "facts.h"
#include "grow.h"

enum { ORDINARY = 0, CONSTANT = 1, LAZY = 2, NOTHING = 3 }; /* stepper.debuggee.faces */

static PyObject *str_value, *str_source, *str_mutation_type, *str_cache, *str_vt,
    *str_flavour; /* `str_value` is the last one made */

static int
intern_names(void)
{
    if (str_value != NULL) {
        return 0;
    }
    return (str_source = PyUnicode_InternFromString("source")) == NULL
                   || (str_mutation_type = PyUnicode_InternFromString("mutation_type")) == NULL
                   || (str_cache = PyUnicode_InternFromString("_cache")) == NULL
                   || (str_vt = PyUnicode_InternFromString("vt")) == NULL
                   || (str_flavour = PyUnicode_InternFromString("flavour")) == NULL
                   || (str_value = PyUnicode_InternFromString("value")) == NULL
               ? -1
               : 0;
}

int
trackers_init(Trackers *self, PyObject *describer, PyObject *late, PyObject *number_function)
{
    if (intern_names() < 0) {
        return -1;
    }
    self->later_depth = -1;
    self->stamp = 1;
    if ((self->facts = PyObject_GetAttrString(describer, "facts")) == NULL
        || (self->constants = PyDict_New()) == NULL || (self->same = PyDict_New()) == NULL) {
        return -1;
    }
    if (!PyObject_TypeCheck(self->facts, &Facts_Type)) {
        PyErr_SetString(PyExc_TypeError, "describer.facts must be Facts");
        return -1;
    }
    for (int i = 0; i < 4; i++) {
        if ((self->plain[i] = PyDict_New()) == NULL) {
            return -1;
        }
    }
    self->describer = Py_NewRef(describer);
    self->late = Py_NewRef(late);
    self->number_function = Py_NewRef(number_function);
    return 0;
}

static void
forget_touched(Touched **array, Py_ssize_t *size)
{
    Touched *old = *array;
    Py_ssize_t count = *size;
    *size = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_XDECREF(old[i].tracker);
    }
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
    while (self->changing_size > 0) {
        Py_DECREF(self->changing[--self->changing_size].tracker);
    }
    while (self->later_size > 0) {
        Py_DECREF(self->later[--self->later_size].tracker);
    }
    forget_touched(&self->suspects, &self->suspects_size);
    self->later_depth = -1;
    self->nothing = 0;
    self->fresh_size = self->waiting_size = 0;
    self->stamp++; /* nothing is shown */
    if (self->serial > 0) {
        memset(self->descriptions, 0, (self->serial + 1) * sizeof(uint32_t));
    }
    for (int i = 0; i < 4; i++) {
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
    PyMem_Free(self->changing);
    PyMem_Free(self->later);
    PyMem_Free(self->suspects);
    PyMem_Free(self->waiting);
    PyObject *references[] = {self->describer, self->facts, self->late, self->number_function,
                              self->constants, self->same, self->plain[0],
                              self->plain[1], self->plain[2], self->plain[3]};
    memset(self, 0, sizeof(*self)); /* the garbage collector can come here before the end */
    for (size_t i = 0; i < sizeof(references) / sizeof(references[0]); i++) {
        Py_XDECREF(references[i]);
    }
}

/* --- hash tables keyed by address */

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
static uint32_t
known_number(Trackers *self, PyObject *tracker)
{
    if (self->known_size == 0) {
        return 0;
    }
    Known *entry = known_slot(self->known, self->known_size, tracker);
    return entry->tracker != NULL && stepper_weakref_is(entry->ref, tracker) ? entry->number : 0;
}

static int
grow_known(Trackers *self)
{
    size_t living = 0;
    for (size_t i = 0; i < self->known_size; i++) {
        Known *entry = &self->known[i];
        living += entry->tracker != NULL && stepper_weakref_is(entry->ref, entry->tracker);
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
        if (stepper_weakref_is(old[i].ref, old[i].tracker)) {
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

static int
remember(Trackers *self, PyObject *tracker, uint32_t number)
{
    PyObject *ref = PyWeakref_NewRef(tracker, NULL);
    if (ref == NULL) {
        return -1;
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
static int
kind_of(Trackers *self, PyObject *tracker, Kind *out)
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
        PyErr_SetString(PyExc_RuntimeError, "the session is over");
        return -1;
    }
    PyObject *answer = PyObject_CallMethodOneArg(self->describer, str_flavour, type);
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

/* --- numbers */

static uint32_t
new_number(Trackers *self)
{
    Py_ssize_t wanted = (Py_ssize_t)self->serial + 2;
    Py_ssize_t before = self->numbers_room, shown_before = self->shown_room;
    if (stepper_grow(&self->descriptions, &self->numbers_room, wanted, sizeof(uint32_t)) < 0) {
        return 0;
    }
    memset(self->descriptions + before, 0, (size_t)(self->numbers_room - before) * sizeof(uint32_t));
    if (stepper_grow(&self->shown, &self->shown_room, wanted, sizeof(uint32_t)) < 0) {
        return 0;
    }
    memset(self->shown + shown_before, 0,
           (size_t)(self->shown_room - shown_before) * sizeof(uint32_t));
    return ++self->serial;
}

/* The dictionary that holds the numbers of constants like `value`, or NULL. */
static PyObject *
plain_constants(Trackers *self, PyObject *value)
{
    return value == Py_None              ? self->plain[0]
           : PyBool_Check(value)         ? self->plain[1]
           : PyLong_CheckExact(value)    ? self->plain[2]
           : PyUnicode_CheckExact(value) ? self->plain[3]
                                         : NULL;
}

static int
has_none(PyObject *tracker, PyObject *name)
{
    PyObject *value = PyObject_GenericGetAttr(tracker, name);
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
    return tracker_number(trackers, tracker);
}

static uint32_t
describe(Trackers *self, PyObject *tracker)
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
    PyObject *value = PyObject_GenericGetAttr(tracker, str_value);
    PyObject *known = NULL;
    uint32_t number = 0;
    if (value == NULL) {
        PyErr_Clear();
    }
    else if (has_none(tracker, str_source) && has_none(tracker, str_mutation_type)) {
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
    uint32_t id = describe(self, tracker);
    if (id == 0 || (description = PyLong_FromUnsignedLong(id)) == NULL) {
        goto done;
    }
    boxed = PyDict_GetItemWithError(self->constants, description);
    if (boxed != NULL) {
        Py_INCREF(boxed);
        number = (uint32_t)PyLong_AsUnsignedLong(boxed);
    }
    else if (!PyErr_Occurred() && (number = new_number(self)) != 0) {
        self->descriptions[number] = id;
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
static PyObject *
inner_of(PyObject *tracker)
{
    PyObject *cache = PyObject_GenericGetAttr(tracker, str_cache);
    PyObject *inner = cache == NULL ? NULL : PyObject_GenericGetAttr(cache, str_vt);
    Py_XDECREF(cache);
    PyErr_Clear();
    if (inner == Py_None) {
        Py_CLEAR(inner);
    }
    return inner;
}

uint32_t
tracker_number(Trackers *self, PyObject *tracker)
{
    uint32_t number = known_number(self, tracker);
    if (number != 0) {
        return number;
    }
    Kind kind;
    if (kind_of(self, tracker, &kind) < 0) {
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
    PyObject *inner = kind.flavour == LAZY ? inner_of(tracker) : NULL;
    if (inner != NULL && (number = known_number(self, inner)) != 0) {
        Py_DECREF(inner);
        return remember(self, tracker, number) < 0 ? 0 : number;
    }
    int done = stepper_grow(&self->undescribed, &self->undescribed_room, self->undescribed_size + 1,
                            sizeof(Undescribed));
    if (done == 0 && (number = new_number(self)) != 0) {
        done = remember(self, tracker, number);
        if (done == 0 && inner != NULL) {
            done = remember(self, inner, number);
        }
    }
    Py_XDECREF(inner);
    if (done < 0 || number == 0) {
        return 0;
    }
    self->undescribed[self->undescribed_size++] = (Undescribed){number, Py_NewRef(tracker)};
    return number;
}

/* --- descriptions */

int
trackers_await(Trackers *self, uint32_t number)
{
    if (stepper_grow(&self->waiting, &self->waiting_room, self->waiting_size + 1, sizeof(uint32_t))
        < 0) {
        return -1;
    }
    self->waiting[self->waiting_size++] = number;
    return 0;
}

static int
await_children(Trackers *self, uint32_t description)
{
    PyObject *children = facts_children(self->facts, description);
    if (children == NULL) {
        return PyErr_Occurred() ? -1 : 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(children); i++) {
        uint32_t child = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GET_ITEM(children, i));
        if (trackers_await(self, child) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
add_fresh(Trackers *self, uint32_t number, uint32_t description)
{
    if (stepper_grow(&self->fresh, &self->fresh_room, self->fresh_size + 1, sizeof(Said)) < 0) {
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
        uint32_t description = number <= self->serial ? self->descriptions[number] : 0;
        if (description != 0 && self->shown[number] != self->stamp) {
            self->shown[number] = self->stamp;
            if (add_fresh(self, number, description) < 0
                || await_children(self, description) < 0) {
                return -1;
            }
        }
    }
    return 0;
}

int
tracker_show(Trackers *self, uint32_t number)
{
    if (self->shown[number] == self->stamp) {
        return 0;
    }
    return trackers_await(self, number) < 0 ? -1 : show_waiting(self);
}

/* A description was taken: it goes into the next delta, with what it holds and was not shown. */
static int
say(Trackers *self, uint32_t number, uint32_t description)
{
    self->descriptions[number] = description;
    self->shown[number] = self->stamp;
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
        uint32_t description = describe(self, next.tracker);
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
        if (say(self, next.number, description) < 0) {
            return -1;
        }
    }
    return 0;
}

int
trackers_pack_reachable(Trackers *self, Buffer *out)
{
    Py_ssize_t first = self->fresh_size; /* the end of `fresh` serves as the list of what is found */
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

/* --- what changes */

static int
add_touched(Touched **array, Py_ssize_t *size, Py_ssize_t *room, PyObject *tracker, long depth)
{
    for (Py_ssize_t i = 0; i < *size; i++) {
        if ((*array)[i].tracker == tracker) {
            (*array)[i].depth = depth;
            return 0;
        }
    }
    if (stepper_grow(array, room, *size + 1, sizeof(Touched)) < 0) {
        return -1;
    }
    (*array)[(*size)++] = (Touched){Py_NewRef(tracker), depth};
    return 0;
}

int
tracker_touched(Trackers *self, PyObject *tracker, long depth)
{
    if (add_touched(&self->suspects, &self->suspects_size, &self->suspects_room, tracker, depth)
        < 0) {
        return -1;
    }
    return add_touched(&self->changing, &self->changing_size, &self->changing_room, tracker, depth);
}

int
trackers_must_tell_now(Trackers *self, PyObject *top)
{
    Kind kind;
    int found = 0;
    for (Py_ssize_t i = 0; i < self->suspects_size && !found; i++) {
        PyObject *tracker = Py_NewRef(self->suspects[i].tracker);
        if (kind_of(self, tracker, &kind) < 0) {
            Py_DECREF(tracker);
            return -1;
        }
        PyObject *inner = kind.flavour == LAZY ? inner_of(tracker) : NULL;
        Py_DECREF(tracker);
        if (inner != NULL) {
            int done = kind_of(self, inner, &kind);
            Py_DECREF(inner);
            if (done < 0) {
                return -1;
            }
        }
        found = kind.late;
    }
    forget_touched(&self->suspects, &self->suspects_size);
    if (found || top == NULL) {
        return found;
    }
    if (kind_of(self, top, &kind) < 0) {
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
        return remember(self, inner, number);
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
    return self->descriptions[number] == description ? 0 : say(self, number, description);
}

static int
describe_again(Trackers *self, PyObject *tracker)
{
    uint32_t number = known_number(self, tracker);
    Kind kind;
    if (number == 0) {
        return 0;
    }
    if (kind_of(self, tracker, &kind) < 0) {
        return -1;
    }
    PyObject *inner = kind.flavour == LAZY ? inner_of(tracker) : NULL;
    if (inner != NULL) {
        int joined = join(self, inner, number);
        Py_DECREF(inner);
        if (joined < 0) {
            return -1;
        }
    }
    unsigned generation = self->generation;
    uint32_t description = describe(self, tracker);
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
trackers_describe_touched(Trackers *self, long depth)
{
    /* When the next instruction is one of an inlined call, the change may still be to come: such a
       tracker is looked at now, and again when the frame that touched it goes on. */
    if (self->later_size > 0 && depth <= self->later_depth) {
        Py_ssize_t kept = 0;
        for (Py_ssize_t i = 0; i < self->later_size; i++) {
            Touched item = self->later[i];
            if (depth > item.depth) {
                self->later[kept++] = item;
                continue;
            }
            int there = 0;
            for (Py_ssize_t j = 0; j < self->changing_size; j++) {
                there = there || self->changing[j].tracker == item.tracker;
            }
            if (there) {
                Py_DECREF(item.tracker); /* `changing` holds it, too: nothing is run */
            }
            else {
                if (stepper_grow(&self->changing, &self->changing_room, self->changing_size + 1,
                                 sizeof(Touched)) < 0) {
                    return -1;
                }
                self->changing[self->changing_size++] = item;
            }
        }
        self->later_size = kept;
    }
    for (Py_ssize_t i = 0; i < self->changing_size; i++) {
        Touched item = self->changing[i];
        if (item.depth < depth
            && add_touched(&self->later, &self->later_size, &self->later_room, item.tracker,
                           item.depth) < 0) {
            return -1;
        }
    }
    self->later_depth = -1;
    for (Py_ssize_t i = 0; i < self->later_size; i++) {
        if (self->later[i].depth > self->later_depth) {
            self->later_depth = self->later[i].depth;
        }
    }
    unsigned generation = self->generation;
    int done = 0;
    Py_ssize_t at = 0, count = self->changing_size;
    while (done == 0 && at < count && generation == self->generation) {
        PyObject *tracker = Py_NewRef(self->changing[at].tracker);
        done = describe_again(self, tracker);
        Py_DECREF(tracker);
        at += done == 0;
    }
    if (generation != self->generation) {
        return done;
    }
    /* What failed is tried again; what was touched meanwhile is looked at next time. */
    Touched *changing = self->changing;
    Py_ssize_t size = self->changing_size;
    self->changing = NULL;
    self->changing_size = self->changing_room = 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        if (i >= at
            && add_touched(&self->changing, &self->changing_size, &self->changing_room,
                           changing[i].tracker, changing[i].depth) < 0) {
            done = -1;
        }
        Py_DECREF(changing[i].tracker);
    }
    PyMem_Free(changing);
    return done;
}
