/* Instructions, of `dis` or of a compiler, as rows for a recording.

   A compile traces a hundred codes with thousands of instructions, each an object with a dozen
   attributes; to list them is one of the larger things that the debugger does in the midst of it, so
   it is here. */

#include "module.h"

static const char *const attribute_names[] = {"opname", "arg", "argval", "offset", "positions"};
enum { OPNAME, ARG, ARGVAL, OFFSET, POSITIONS, ATTRIBUTES };
static PyObject *attributes[ATTRIBUTES];

enum { PLACE = 4 };  /* line, last line, column, last column */
enum { FIELDS = 11 }; /* of an Instruction, see stepper/model/program.py */

/* The text of an argument that is plain, a new reference; None: it is not for us to say. */
static PyObject *
text_of(PyObject *value, PyObject *argument, PyObject *opname, PyObject *worded, Py_ssize_t longest)
{
    if (value == Py_None && argument == Py_None) {
        return PyUnicode_FromString("");
    }
    if (PyUnicode_CheckExact(value)) {
        int is_name = PyUnicode_GET_LENGTH(value) <= longest && PyUnicode_IsIdentifier(value);
        return Py_NewRef(is_name ? value : Py_None);
    }
    int overflow = 0;
    if (PyLong_CheckExact(value) && argument != Py_None
        && (PyLong_AsLongAndOverflow(value, &overflow), overflow == 0)) {
        int has_words = PySet_Contains(worded, opname);
        return has_words < 0 ? NULL : has_words ? Py_NewRef(Py_None) : PyObject_Repr(value);
    }
    return Py_NewRef(Py_None);
}

static PyObject *
plain_argument(PyObject *instruction, PyObject *worded, Py_ssize_t longest)
{
    PyObject *value = PyObject_GetAttr(instruction, attributes[ARGVAL]);
    PyObject *argument = PyObject_GetAttr(instruction, attributes[ARG]);
    PyObject *opname = PyObject_GetAttr(instruction, attributes[OPNAME]);
    PyObject *text = value == NULL || argument == NULL || opname == NULL
                         ? NULL
                         : text_of(value, argument, opname, worded, longest);
    Py_XDECREF(value);
    Py_XDECREF(argument);
    Py_XDECREF(opname);
    return text;
}

/* An item of a list that may have become shorter meanwhile, a new reference. */
static PyObject *
item_of(PyObject *list, Py_ssize_t i)
{
    if (i < PyList_GET_SIZE(list)) {
        return Py_NewRef(PyList_GET_ITEM(list, i));
    }
    PyErr_SetString(PyExc_ValueError, "the lists differ in length");
    return NULL;
}

static PyObject *
plain_arguments(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *listed, *targets, *worded;
    Py_ssize_t longest;
    if (!PyArg_ParseTuple(args, "O!O!O!n:plain_arguments", &PyList_Type, &listed, &PyList_Type,
                          &targets, &PyFrozenSet_Type, &worded, &longest)) {
        return NULL;
    }
    Py_ssize_t size = PyList_GET_SIZE(listed);
    PyObject *texts = PyList_New(size);
    for (Py_ssize_t i = 0; texts != NULL && i < size; i++) {
        PyObject *instruction = item_of(listed, i), *text = NULL;
        PyObject *target = instruction == NULL ? NULL : item_of(targets, i);
        if (target != NULL) {
            text = target != Py_None ? PyUnicode_FromString("")
                                     : plain_argument(instruction, worded, longest);
        }
        Py_XDECREF(instruction);
        Py_XDECREF(target);
        if (text == NULL) {
            Py_CLEAR(texts);
        }
        else {
            PyList_SET_ITEM(texts, i, text);
        }
    }
    return texts;
}

/* The fields of a row that the instruction itself has; -1 with an exception. New references. */
static int
read_fields(PyObject *instruction, PyObject **fields)
{
    static const struct {
        int attribute, field;
    } plain[] = {{OPNAME, 1}, {ARG, 2}, {OFFSET, 4}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        fields[plain[i].field] = PyObject_GetAttr(instruction, attributes[plain[i].attribute]);
        if (fields[plain[i].field] == NULL) {
            return -1;
        }
    }
    PyObject *place = PyObject_GetAttr(instruction, attributes[POSITIONS]);
    if (place != NULL && place != Py_None
        && !(PyTuple_Check(place) && PyTuple_GET_SIZE(place) == PLACE)) {
        PyErr_SetString(PyExc_TypeError, "the positions of an instruction are four");
        Py_CLEAR(place);
    }
    for (int i = 0; place != NULL && i < PLACE; i++) {
        fields[5 + i] = Py_NewRef(place == Py_None ? Py_None : PyTuple_GET_ITEM(place, i));
    }
    Py_XDECREF(place);
    return place == NULL ? -1 : 0;
}

static PyObject *
make_row(PyObject *make, Py_ssize_t index, PyObject *instruction, PyObject *const *given)
{
    PyObject *fields[FIELDS] = {0}, *row = NULL;
    fields[0] = PyLong_FromSsize_t(index);
    fields[3] = Py_NewRef(given[0]);
    fields[9] = Py_NewRef(given[1]);
    fields[10] = Py_NewRef(given[2]);
    if (fields[0] != NULL && read_fields(instruction, fields) == 0) {
        row = PyObject_Vectorcall(make, fields, FIELDS, NULL);
    }
    for (int i = 0; i < FIELDS; i++) {
        Py_XDECREF(fields[i]);
    }
    return row;
}

static PyObject *
instruction_rows(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *make, *listed, *columns[3];
    if (!PyArg_ParseTuple(args, "OO!O!O!O!:instruction_rows", &make, &PyList_Type, &listed,
                          &PyList_Type, &columns[0], &PyList_Type, &columns[1], &PyList_Type,
                          &columns[2])) {
        return NULL;
    }
    Py_ssize_t size = PyList_GET_SIZE(listed);
    PyObject *rows = PyTuple_New(size);
    for (Py_ssize_t i = 0; rows != NULL && i < size; i++) {
        PyObject *given[3] = {0}, *row = NULL;
        PyObject *instruction = item_of(listed, i);
        int done = instruction == NULL ? -1 : 0;
        for (int column = 0; done == 0 && column < 3; column++) {
            given[column] = item_of(columns[column], i);
            done = given[column] == NULL ? -1 : 0;
        }
        if (done == 0) {
            row = make_row(make, i, instruction, given);
        }
        Py_XDECREF(instruction);
        for (int column = 0; column < 3; column++) {
            Py_XDECREF(given[column]);
        }
        if (row == NULL) {
            Py_CLEAR(rows);
        }
        else {
            PyTuple_SET_ITEM(rows, i, row);
        }
    }
    return rows;
}

static PyMethodDef functions[] = {
    {"plain_arguments", plain_arguments, METH_VARARGS,
     PyDoc_STR("A list with None for what is not its own text.")},
    {"instruction_rows", instruction_rows, METH_VARARGS,
     PyDoc_STR("Each instruction as a row; see stepper/_C.pyi.")},
    {NULL},
};

int
stepper_add_instructions(PyObject *module)
{
    for (int i = 0; i < ATTRIBUTES; i++) {
        if (attributes[i] == NULL
            && (attributes[i] = PyUnicode_InternFromString(attribute_names[i])) == NULL) {
            return -1;
        }
    }
    return PyModule_AddFunctions(module, functions);
}
