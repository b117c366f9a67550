/* Instructions, of `dis` or of a compiler, as rows for a recording.

   A compile traces a hundred codes with thousands of instructions, each an object with a dozen
   attributes; to list them is one of the larger things that the debugger does in the midst of it,
   so it is here. */

#include "describe/argument_words.h"
#include "describe/places.h"
#include "support/names.h"
#include "support/slot.h"

enum { OPNAME, ARG, ARGVAL, OFFSET, POSITIONS, TARGET, ENTRY, ATTRIBUTES };
static PyObject *const *const attributes[ATTRIBUTES] = {
    &ID(opname),    &ID(arg),    &ID(argval),        &ID(offset),
    &ID(positions), &ID(target), &ID(exn_tab_entry),
};

enum { PLACE = 4 }; /* line, last line, column, last column */

/* The fields of an Instruction, see stepper/model/program.py. */
enum {
    ROW_INDEX,
    ROW_OPNAME,
    ROW_ARG,
    ROW_TEXT,
    ROW_OFFSET,
    ROW_PLACE,
    ROW_TARGET = ROW_PLACE + PLACE,
    ROW_HANDLER,
    FIELDS,
};

typedef struct {
    PyObject *make;
    ArgumentWords words;
    PyObject *items; /* the instructions, and below by index what each leads to: tuples of our own,
                        since whoever is asked may change the lists */
    /* NULL: it is an instruction that it leads to, of the same list. */
    PyObject *targets, *handlers;
    Places places;
    Slot slots[ATTRIBUTES];
    Slot entry_target;
} Listing;

/* The index of an instruction, or None for what is none of the list; a new reference. */
static PyObject *
index_of(Listing *self, PyObject *instruction)
{
    Py_ssize_t index = -1;
    if (instruction != Py_None
        && places_find(&self->places, self->items, instruction, &index) < 0) {
        return NULL;
    }
    return index < 0 ? Py_NewRef(Py_None) : PyLong_FromSsize_t(index);
}

static PyObject *
target_of(Listing *self, Py_ssize_t i)
{
    if (self->targets != NULL) {
        return Py_NewRef(PyTuple_GET_ITEM(self->targets, i));
    }
    PyObject *target = slot_read(&self->slots[TARGET], PyTuple_GET_ITEM(self->items, i));
    PyObject *index = target == NULL ? NULL : index_of(self, target);
    Py_XDECREF(target);
    return index;
}

static PyObject *
handler_of(Listing *self, Py_ssize_t i)
{
    if (self->handlers != NULL) {
        return Py_NewRef(PyTuple_GET_ITEM(self->handlers, i));
    }
    PyObject *entry = slot_read(&self->slots[ENTRY], PyTuple_GET_ITEM(self->items, i));
    if (entry == NULL || entry == Py_None) {
        return entry;
    }
    PyObject *handler = slot_read(&self->entry_target, entry);
    PyObject *index = handler == NULL ? NULL : index_of(self, handler);
    Py_DECREF(entry);
    Py_XDECREF(handler);
    return index;
}

/* A jump's argument is its target, and has no text. */
static PyObject *
text_of(Listing *self, PyObject *instruction, PyObject *const *fields)
{
    if (fields[ROW_TARGET] != Py_None) {
        return PyUnicode_FromString("");
    }
    PyObject *value = slot_read(&self->slots[ARGVAL], instruction);
    PyObject *text = value == NULL
                         ? NULL
                         : argument_words(&self->words, fields[ROW_OPNAME], fields[ROW_ARG], value);
    Py_XDECREF(value);
    return text;
}

/* Where the instruction is in the source, four new references; -1 with an exception. */
static int
read_place(Listing *self, PyObject *instruction, PyObject **fields)
{
    PyObject *place = slot_read(&self->slots[POSITIONS], instruction);
    if (place != NULL && place != Py_None
        && !(PyTuple_Check(place) && PyTuple_GET_SIZE(place) == PLACE)) {
        PyErr_SetString(PyExc_TypeError, "the positions of an instruction are four");
        Py_CLEAR(place);
    }
    for (int i = 0; place != NULL && i < PLACE; i++) {
        fields[i] = Py_NewRef(place == Py_None ? Py_None : PyTuple_GET_ITEM(place, i));
    }
    return answer_done(place);
}

static PyObject *
make_row(Listing *self, Py_ssize_t i)
{
    PyObject *instruction = PyTuple_GET_ITEM(self->items, i);
    PyObject *fields[FIELDS] = {0}, *row = NULL;
    if ((fields[ROW_INDEX] = PyLong_FromSsize_t(i)) != NULL
        && (fields[ROW_OPNAME] = slot_read(&self->slots[OPNAME], instruction)) != NULL
        && (fields[ROW_ARG] = slot_read(&self->slots[ARG], instruction)) != NULL
        && (fields[ROW_OFFSET] = slot_read(&self->slots[OFFSET], instruction)) != NULL
        && read_place(self, instruction, fields + ROW_PLACE) == 0
        && (fields[ROW_TARGET] = target_of(self, i)) != NULL
        && (fields[ROW_HANDLER] = handler_of(self, i)) != NULL
        && (fields[ROW_TEXT] = text_of(self, instruction, fields)) != NULL) {
        row = PyObject_Vectorcall(self->make, fields, FIELDS, NULL);
    }
    for (int i = 0; i < FIELDS; i++) {
        Py_XDECREF(fields[i]);
    }
    return row;
}

static PyObject *
make_rows(Listing *self)
{
    Py_ssize_t size = PyTuple_GET_SIZE(self->items);
    if ((self->targets != NULL && PyTuple_GET_SIZE(self->targets) != size)
        || (self->handlers != NULL && PyTuple_GET_SIZE(self->handlers) != size)) {
        return PyErr_Format(PyExc_ValueError, "the lists differ in length");
    }
    PyObject *rows = PyTuple_New(size);
    for (Py_ssize_t i = 0; rows != NULL && i < size; i++) {
        PyObject *row = make_row(self, i);
        if (row == NULL) {
            Py_CLEAR(rows);
        }
        else {
            PyTuple_SET_ITEM(rows, i, row);
        }
    }
    return rows;
}

static PyObject *
instruction_rows(PyObject *Py_UNUSED(module), PyObject *args)
{
    Listing self = {.entry_target.name = ID(target)};
    PyObject *listed, *targets = NULL, *handlers = NULL;
    if (!PyArg_ParseTuple(args, "OO!O!O!nO|O!O!:instruction_rows", &self.make, &PyList_Type,
                          &listed, &PyTuple_Type, &self.words.constants, &PyDict_Type,
                          &self.words.meanings, &self.words.longest, &self.words.other,
                          &PyList_Type, &targets, &PyList_Type, &handlers)) {
        return NULL;
    }
    for (int i = 0; i < ATTRIBUTES; i++) {
        self.slots[i].name = *attributes[i];
    }
    PyObject *rows = NULL;
    if ((self.items = PyList_AsTuple(listed)) != NULL
        && (targets == NULL || (self.targets = PyList_AsTuple(targets)) != NULL)
        && (handlers == NULL || (self.handlers = PyList_AsTuple(handlers)) != NULL)) {
        rows = make_rows(&self);
    }
    for (int i = 0; i < ATTRIBUTES; i++) {
        slot_release(&self.slots[i]);
    }
    slot_release(&self.entry_target);
    places_free(&self.places);
    Py_XDECREF(self.items);
    Py_XDECREF(self.targets);
    Py_XDECREF(self.handlers);
    return rows;
}

static PyObject *
opname_marks(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *listed, *table;
    if (!PyArg_ParseTuple(args, "O!O!:opname_marks", &PyTuple_Type, &listed, &PyDict_Type,
                          &table)) {
        return NULL;
    }
    Slot opname = {.name = ID(opname)};
    Py_ssize_t size = PyTuple_GET_SIZE(listed);
    PyObject *marks = PyBytes_FromStringAndSize(NULL, size);
    for (Py_ssize_t i = 0; marks != NULL && i < size; i++) {
        PyObject *name = slot_read(&opname, PyTuple_GET_ITEM(listed, i));
        PyObject *found = name == NULL ? NULL : PyObject_GetItem(table, name);
        int mark = found == NULL ? -1 : PyObject_IsTrue(found);
        Py_XDECREF(name);
        Py_XDECREF(found);
        if (mark < 0) {
            Py_CLEAR(marks);
        }
        else {
            PyBytes_AS_STRING(marks)[i] = (char)mark;
        }
    }
    slot_release(&opname);
    return marks;
}

static PyMethodDef functions[] = {
    METHOD("instruction_rows", instruction_rows, METH_VARARGS),
    METHOD("opname_marks", opname_marks, METH_VARARGS),
    {NULL},
};

const Part instructions_part = {.functions = functions};
