/* Whether a description of a real value still says what is so.

   An execution is told by looking at all values of a frame again and again, and most of them are as
   they were. To describe a value takes some microseconds; to compare it with what was said of it,
   one or less. All that a description says is compared: for a tensor its type, sizes, strides and so
   on, for a container all that is shown of what it holds. Of a set the answer is no: to compare it
   would take as long as to describe it.

   Runs nothing of the program's, as stepper/engines/common/values.py, which makes descriptions. */

#include "module.h"

#include "support/collected.h"
#include "support/names.h"
#include "support/plain.h"

#include <stddef.h>

enum { KEY, VALUE, CHILDREN, KIND }; /* of a Described */
enum { TENSOR_FACTS = 7 };
enum { DEEPEST = 8 };
enum { MOST_PLACES = 128 };

typedef struct {
    PyObject_HEAD
    PyObject *tensors;                   /* what is said of tensors, by their facts */
    PyObject *types;                     /* and of objects of other types, by their class's name */
    PyObject *tensor, *parameter, *size; /* classes */
    PyObject *strided;
    PyObject *mode_is_on; /* whether the getters of tensors would call somebody */
    PyObject *class_name; /* of a class */
    PyObject *callables;  /* classes of what is called by its name */
    PyObject *callable_name;
    PyObject *plain_text; /* of a constant */
    PyObject *own;        /* builtin classes of which more is said than their name */
    vectorcallfunc vectorcall;
} Unchanged;

enum { OBJECTS = 12 };

/* Whether a field of a Value is this text, which is taken over: 1, 0, or -1 with an exception. */
static int
field_is_text(PyObject *value, PyObject *field, PyObject *text)
{
    PyObject *said = text == NULL ? NULL : PyObject_GetAttr(value, field);
    int same = said == NULL ? -1
                            : PyUnicode_Check(said) && PyUnicode_Check(text)
                                  && PyUnicode_Compare(said, text) == 0;
    Py_XDECREF(said);
    Py_XDECREF(text);
    return same;
}

/* What is said of a tensor whose facts these are: borrowed, or NULL. */
static PyObject *
tensor_value(Unchanged *self, PyObject *value)
{
    PyObject *names[] = {ID(dtype), ID(shape), ID(device), ID(requires_grad), ID(layout)};
    PyObject *facts = PyTuple_New(TENSOR_FACTS);
    if (facts == NULL) {
        return NULL;
    }
    PyTuple_SET_ITEM(facts, 0, Py_NewRef(Py_TYPE(value)));
    for (int i = 0; i < 5; i++) {
        PyObject *fact = PyObject_GetAttr(value, names[i]);
        if (fact == NULL) {
            Py_DECREF(facts);
            return NULL;
        }
        PyTuple_SET_ITEM(facts, i + 1, fact);
    }
    PyObject *stride = PyTuple_GET_ITEM(facts, 5) == self->strided
                           ? PyObject_CallMethodNoArgs(value, ID(stride))
                           : Py_NewRef(Py_None);
    PyObject *found = NULL;
    if (stride != NULL) {
        PyTuple_SET_ITEM(facts, TENSOR_FACTS - 1, stride);
        found = PyDict_GetItemWithError(self->tensors, facts);
    }
    Py_DECREF(facts);
    return found;
}

static int
tensor_same(Unchanged *self, PyObject *value, PyObject *described)
{
    PyObject *on = PyObject_CallNoArgs(self->mode_is_on);
    int called = answer_truth(on);
    if (called != 0) {
        return called < 0 ? -1 : 0;
    }
    PyObject *found = tensor_value(self, value);
    if (found == NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear(); /* symbolic sizes have no hash */
    }
    return found == NULL && PyErr_Occurred() ? -1 : found == PyTuple_GET_ITEM(described, VALUE);
}

static int
constant_same(Unchanged *self, PyObject *value, PyObject *described)
{
    return field_is_text(PyTuple_GET_ITEM(described, VALUE), ID(constant),
                         is_plain(value, MAX_TEXT) ? PyObject_Repr(value)
                                                   : PyObject_CallOneArg(self->plain_text, value));
}

/* Whether a text is a name behind its module's, as `callable_name` puts them together. */
static int
is_name(PyObject *text, PyObject *module, PyObject *name)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(name), all = PyUnicode_GET_LENGTH(text);
    int told = module != NULL && PyUnicode_CheckExact(module) && PyUnicode_GET_LENGTH(module) > 0
               && PyUnicode_CompareWithASCIIString(module, "__main__") != 0;
    Py_ssize_t before = told ? PyUnicode_GET_LENGTH(module) + 1 : 0;
    if (all != before + length || PyUnicode_Tailmatch(text, name, before, all, 1) != 1) {
        return 0;
    }
    return !told
           || (PyUnicode_READ_CHAR(text, before - 1) == '.'
               && PyUnicode_Tailmatch(text, module, 0, before - 1, -1) == 1);
}

static int
callable_same(Unchanged *self, PyObject *value, PyObject *described)
{
    /* Most are functions, whose names need not be put together when they are what was said. */
    if (PyFunction_Check(value)) {
        PyFunctionObject *function = (PyFunctionObject *)value;
        PyObject *text = PyObject_GetAttr(PyTuple_GET_ITEM(described, VALUE), ID(text));
        int same = text == NULL ? -1
                   : PyUnicode_Check(text)
                       ? is_name(text, function->func_module, function->func_qualname)
                       : 0;
        Py_XDECREF(text);
        if (same != 0) {
            return same;
        }
    }
    return field_is_text(PyTuple_GET_ITEM(described, VALUE), ID(text),
                         PyObject_CallOneArg(self->callable_name, value));
}

/* Of a class: `name` is that of its own class, and taken over. */
static int
named_class_same(Unchanged *self, PyObject *value, PyObject *described, PyObject *name)
{
    PyObject *said = PyTuple_GET_ITEM(described, VALUE), *text = NULL;
    int answer = field_is_text(said, ID(type), name);
    if (answer == 1 && (name = PyObject_CallOneArg(self->class_name, value)) != NULL) {
        text = PyUnicode_FromFormat("class %S", name);
        Py_DECREF(name);
    }
    return answer == 1 ? field_is_text(said, ID(text), text) : answer;
}

/* Of anything of which only the class is said, and of classes. */
static int
class_same(Unchanged *self, PyObject *value, PyObject *described)
{
    PyObject *name = PyObject_CallOneArg(self->class_name, (PyObject *)Py_TYPE(value));
    if (name == NULL) {
        return -1;
    }
    if (PyType_Check(value)) {
        return named_class_same(self, value, described, name);
    }
    PyObject *found = PyDict_GetItemWithError(self->types, name);
    Py_DECREF(name);
    return found == NULL && PyErr_Occurred() ? -1 : found == PyTuple_GET_ITEM(described, VALUE);
}

/* Which object stands now where another one stood when something was described: what is said of two
   things is the same only if both are one object in the same places. */
typedef struct {
    Py_ssize_t count;
    void *then[MOST_PLACES], *now[MOST_PLACES];
} Places;

static int
stands_for(Places *places, void *then, void *now)
{
    for (Py_ssize_t i = 0; i < places->count; i++) {
        if (places->then[i] == then || places->now[i] == now) {
            return places->then[i] == then && places->now[i] == now;
        }
    }
    if (places->count == MOST_PLACES) {
        return 0;
    }
    places->then[places->count] = then;
    places->now[places->count++] = now;
    return 1;
}

/* Whether a description is of what is at this address, or of what stood in its place. */
static int
is_of(PyObject *described, PyObject *value, Places *places)
{
    PyObject *key = PyTuple_GET_ITEM(described, KEY);
    if (PyTuple_CheckExact(key) && PyTuple_GET_SIZE(key) > 0) {
        key = PyTuple_GET_ITEM(key, 0); /* the other one says how deep it lies */
    }
    if (!PyLong_CheckExact(key)) {
        return 0;
    }
    void *address = PyLong_AsVoidPtr(key);
    PyErr_Clear();
    return places == NULL ? address == value : stands_for(places, address, value);
}

static int same(Unchanged *self, PyObject *value, PyObject *described, Places *places, int depth);

static PyObject *
item_of(PyObject *sequence, Py_ssize_t i)
{
    if (PyList_Check(sequence)) {
        return i < PyList_GET_SIZE(sequence) ? Py_NewRef(PyList_GET_ITEM(sequence, i)) : NULL;
    }
    return i < PyTuple_GET_SIZE(sequence) ? Py_NewRef(PyTuple_GET_ITEM(sequence, i)) : NULL;
}

/* Whether a child of a description is of this value, and still says what is so of it. */
static int
child_same(Unchanged *self, PyObject *value, PyObject *child, Places *places, int depth)
{
    PyObject *described = PyTuple_GET_ITEM(child, 1);
    return is_of(described, value, places) ? same(self, value, described, places, depth + 1) : 0;
}

/* Whether a description says that a container holds so much: all of it is shown, or the first. */
static int
length_same(PyObject *described, Py_ssize_t length)
{
    Py_ssize_t shown = PyTuple_GET_SIZE(PyTuple_GET_ITEM(described, CHILDREN));
    if (shown == 0 || shown >= length) {
        return shown == length;
    }
    PyObject *said = PyObject_GetAttr(PyTuple_GET_ITEM(described, VALUE), ID(length));
    int answer = said == NULL ? -1 : PyLong_Check(said) && PyLong_AsSsize_t(said) == length;
    Py_XDECREF(said);
    return answer;
}

/* Of a list, a tuple or sizes. */
static int
items_same(Unchanged *self, PyObject *value, PyObject *described, Places *places, int depth)
{
    PyObject *children = PyTuple_GET_ITEM(described, CHILDREN);
    Py_ssize_t count = Py_SIZE(value);
    int answer = length_same(described, count);
    for (Py_ssize_t i = 0; answer == 1 && i < PyTuple_GET_SIZE(children); i++) {
        PyObject *item = item_of(value, i); /* what is asked can let another thread go on */
        PyObject *child = PyTuple_GET_ITEM(children, i);
        answer = item == NULL ? 0 : child_same(self, item, child, places, depth);
        Py_XDECREF(item);
    }
    return answer == 1 ? Py_SIZE(value) == count : answer;
}

/* Whether this is the label of what a dictionary holds under a name. */
static int
is_label(PyObject *label, PyObject *name)
{
    if (!is_plain(name, MAX_TEXT) || !PyUnicode_Check(label)) {
        return 0;
    }
    PyObject *text = PyObject_Repr(name);
    Py_ssize_t length = text == NULL ? 0 : PyUnicode_GET_LENGTH(text);
    int answer = text == NULL ? -1
                 : PyUnicode_GET_LENGTH(label) == length + 2
                     ? (int)PyUnicode_Tailmatch(label, text, 1, length + 1, -1)
                     : 0;
    Py_XDECREF(text);
    return answer;
}

static int
mapping_same(Unchanged *self, PyObject *value, PyObject *described, Places *places, int depth)
{
    PyObject *children = PyTuple_GET_ITEM(described, CHILDREN), *name, *item;
    Py_ssize_t count = PyDict_GET_SIZE(value), position = 0;
    int answer = length_same(described, count);
    for (Py_ssize_t i = 0; answer == 1 && i < PyTuple_GET_SIZE(children); i++) {
        PyObject *child = PyTuple_GET_ITEM(children, i);
        if (!PyDict_Next(value, &position, &name, &item)) {
            return 0;
        }
        Py_INCREF(name);
        Py_INCREF(item);
        answer = is_label(PyTuple_GET_ITEM(child, 0), name);
        answer = answer == 1 ? child_same(self, item, child, places, depth) : answer;
        Py_DECREF(name);
        Py_DECREF(item);
    }
    return answer == 1 ? PyDict_GET_SIZE(value) == count : answer;
}

static int
same(Unchanged *self, PyObject *value, PyObject *described, Places *places, int depth)
{
    PyTypeObject *kind = Py_TYPE(value);
    PyObject *cls = (PyObject *)kind;
    if (depth > DEEPEST) {
        return 0;
    }
    if (PyTuple_GET_ITEM(described, KIND) == Py_None) {
        /* A metaclass of the program's would be asked for a hash. */
        int own = Py_IS_TYPE(cls, &PyType_Type) ? PySet_Contains(self->own, cls) : 0;
        int told = own != 0 || PyTuple_GET_SIZE(PyTuple_GET_ITEM(described, CHILDREN)) > 0;
        return own < 0 ? -1 : told ? 0 : class_same(self, value, described);
    }
    if (PyTuple_GET_ITEM(described, KIND) != cls) {
        return 0;
    }
    if (cls == self->tensor || cls == self->parameter) {
        return tensor_same(self, value, described);
    }
    if (kind == &PyList_Type || kind == &PyTuple_Type || cls == self->size) {
        return items_same(self, value, described, places, depth);
    }
    if (PyDict_CheckExact(value)) {
        return mapping_same(self, value, described, places, depth);
    }
    int callable = PySet_Contains(self->callables, cls);
    return callable < 0 ? -1
           : callable   ? callable_same(self, value, described)
                        : constant_same(self, value, described);
}

static int
is_description(PyObject *object)
{
    return PyTuple_Check(object) && PyTuple_GET_SIZE(object) > KIND;
}

static PyObject *
unchanged_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Unchanged *self = (Unchanged *)object;
    if (names != NULL || PyVectorcall_NARGS(nargsf) != 2 || !is_description(args[1])) {
        return PyErr_Format(PyExc_TypeError, "this wants a value and a Described");
    }
    int answer = is_of(args[1], args[0], NULL) ? same(self, args[0], args[1], NULL, 0) : 0;
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}

static PyObject *
unchanged_alike(PyObject *object, PyObject *args)
{
    Unchanged *self = (Unchanged *)object;
    PyObject *values, *described;
    if (!PyArg_ParseTuple(args, "O!O!:alike", &PyTuple_Type, &values, &PyTuple_Type, &described)) {
        return NULL;
    }
    Places places;
    places.count = 0;
    int answer = PyTuple_GET_SIZE(values) == PyTuple_GET_SIZE(described);
    for (Py_ssize_t i = 0; answer == 1 && i < PyTuple_GET_SIZE(values); i++) {
        PyObject *value = PyTuple_GET_ITEM(values, i), *each = PyTuple_GET_ITEM(described, i);
        if (!is_description(each)) {
            return PyErr_Format(PyExc_TypeError, "this wants values and a Described of each");
        }
        answer = is_of(each, value, &places) ? same(self, value, each, &places, 0) : 0;
    }
    return answer < 0 ? NULL : PyBool_FromLong(answer);
}

static PyMethodDef unchanged_methods[] = {
    {"alike", unchanged_alike, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyObject *
unchanged_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    PyObject *given[OBJECTS];
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!OOOO!OOO!:Unchanged", &PyDict_Type, &given[0],
                          &PyDict_Type, &given[1], &PyType_Type, &given[2], &PyType_Type, &given[3],
                          &PyType_Type, &given[4], &given[5], &given[6], &given[7],
                          &PyFrozenSet_Type, &given[8], &given[9], &given[10], &PyFrozenSet_Type,
                          &given[11])) {
        return NULL;
    }
    Unchanged *self = (Unchanged *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = unchanged_call;
        collected_set(&self->tensors, OBJECTS, given);
    }
    return (PyObject *)self;
}

COLLECTED(unchanged, Unchanged, OBJECTS)

static PyTypeObject Unchanged_Type = {
    TYPE(Unchanged),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = unchanged_new,
    .tp_methods = unchanged_methods,
    CALLED_SLOTS(Unchanged),
    COLLECTED_SLOTS(unchanged),
};

const Part unchanged_part = {.types = {&Unchanged_Type}};
