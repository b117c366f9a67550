/* Descriptions of trackers, each equal one once.

   A description is the MessagePack of a Value (stepper/model/value.py), made here for the kinds
   that are most of what a compiler has: those that are a name and the trackers among their fields,
   and containers. The others are the engine's to tell apart (`special`). Where they are kept:
   bodies.c.

   Reading fields runs nothing. What can run anything (numbering a child, the engine's own
   functions) gets objects that are held, and nothing points into a container across it. */

#include "describe/describing.h"

#include "support/collected.h"

#include <structmember.h>

/* --- for those that describe */

PyObject *
facts_ask_once(Facts *self, PyObject *known, PyObject *question, PyTypeObject *type)
{
    PyObject *found = PyDict_GetItemWithError(known, (PyObject *)type);
    if (found != NULL || PyErr_Occurred()) {
        return found;
    }
    PyObject *answer = PyObject_CallMethodOneArg(self->engine, question, (PyObject *)type);
    if (answer == NULL || PyDict_SetItem(known, (PyObject *)type, answer) < 0) {
        Py_XDECREF(answer);
        return NULL;
    }
    Py_DECREF(answer);
    return answer;
}

Buffer
facts_take_scratch(Facts *self)
{
    Buffer out = self->scratch;
    self->scratch = (Buffer){NULL, 0, 0};
    out.size = 0;
    return out;
}

void
facts_give_scratch(Facts *self, Buffer *out)
{
    if (self->scratch.data == NULL) {
        self->scratch = *out;
    }
    else {
        buffer_free(out);
    }
}

uint32_t
facts_id_of_packed(Facts *self, const Buffer *out, Children *children)
{
    uint32_t id = bodies_find(&self->bodies, out->data, out->size);
    if (id == 0) {
        uint32_t numbers[2 * MAX_ITEMS];
        for (Py_ssize_t i = 0; i < children->count; i++) {
            numbers[i] = children->items[i].number;
        }
        id = bodies_add(&self->bodies, out->data, out->size, numbers, children->count);
    }
    return id;
}

/* --- describing */

/* The engine's own answer: an id, or None: it has nothing special to say. */
static int
ask_engine(Facts *self, PyObject *tracker, PyObject *number, uint32_t *id)
{
    PyObject *fields = fields_all(tracker);
    if (fields == NULL) {
        return -1;
    }
    PyObject *arguments[] = {self->engine, tracker, fields, number};
    PyObject *answer = PyObject_VectorcallMethod(ID(special), arguments, 4, NULL);
    Py_DECREF(fields);
    if (answer == NULL) {
        return -1;
    }
    *id = answer == Py_None ? 0 : (uint32_t)PyLong_AsUnsignedLong(answer);
    Py_DECREF(answer);
    return PyErr_Occurred() ? -1 : 0;
}

static uint32_t
describe_held(Facts *self, PyObject *tracker, Numbering numbering, void *context, PyObject *number)
{
    PyObject *kind = facts_ask_once(self, self->kinds, ID(kind), Py_TYPE(tracker));
    if (kind == NULL) {
        return 0;
    }
    long recipe = PyLong_AsLong(PyTuple_GET_ITEM(kind, 0));
    uint32_t id = 0;
    int done = 0;
    if (recipe == AS_LAZY && PyDict_GET_SIZE(self->realized) == 0) {
        PyObject *cache = Py_XNewRef(tracker_field(tracker, ID(_cache)));
        PyObject *inner = cache == NULL ? NULL : fields_plain_attribute(cache, ID(vt));
        if (inner == Py_None) {
            done = compiler_kinds_lazy(self, tracker, kind, cache, &id);
        }
        else if (inner != NULL) {
            id = describe_held(self, inner, numbering, context, number);
            done = id == 0 ? -1 : 0;
        }
        else {
            PyErr_Clear();
        }
        Py_XDECREF(inner);
        Py_XDECREF(cache);
    }
    else if (recipe == AS_TENSOR) {
        done = compiler_kinds_tensor(self, tracker, kind, &id);
    }
    PyObject *items = recipe == AS_MAPPING ? tracker_field(tracker, ID(items)) : NULL;
    PyObject *value = recipe == AS_CONSTANT ? fields_get(tracker, ID(value)) : NULL;
    int common = value != NULL && tracker_field(tracker, ID(mutation_type)) == NULL
                 && is_plain(value, MAX_TEXT);
    if (done == 0 && id == 0
        && (recipe == BY_ENGINE || recipe == AS_LAZY || recipe == AS_TENSOR
            || (recipe == AS_CONSTANT && !common)
            || (items != NULL && PyDict_Check(items) && !PyDict_CheckExact(items)))) {
        done = ask_engine(self, tracker, number, &id);
    }
    if (done == 0 && id == 0) {
        id = common ? kinds_describe_constant(self, tracker, kind)
                    : kinds_describe(self, tracker, kind, (int)recipe, numbering, context);
    }
    return id;
}

uint32_t
facts_describe(PyObject *facts, PyObject *tracker, Numbering numbering, void *context,
               PyObject *number)
{
    if (((Facts *)facts)->engine == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the session is over");
        return 0;
    }
    Py_INCREF(tracker);
    uint32_t id = describe_held((Facts *)facts, tracker, numbering, context, number);
    Py_DECREF(tracker);
    return id;
}

/* The classes of tensors are the program's, too, and lazies come and go. */
void
facts_forget(PyObject *facts)
{
    Facts *self = (Facts *)facts;
    bodies_forget(&self->bodies);
    if (self->lazies != NULL && self->tensors != NULL) {
        PyDict_Clear(self->lazies);
        PyDict_Clear(self->tensors); /* can run anything: a class of the program's may die */
    }
}

Py_ssize_t
facts_children(PyObject *facts, uint32_t description, const uint32_t **children)
{
    return bodies_children(&((Facts *)facts)->bodies, description, children);
}

/* --- for Python */

static uint32_t
number_in_python(void *context, PyObject *tracker)
{
    PyObject *answer = PyObject_CallOneArg(context, tracker);
    if (answer == NULL) {
        return 0;
    }
    uint32_t number = (uint32_t)PyLong_AsUnsignedLong(answer);
    Py_DECREF(answer);
    if (number == 0 && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "numbers of trackers begin with 1");
    }
    return PyErr_Occurred() ? 0 : number;
}

static PyObject *
describe(Facts *self, PyObject *args)
{
    PyObject *tracker, *number;
    if (!PyArg_ParseTuple(args, "OO:describe", &tracker, &number)) {
        return NULL;
    }
    uint32_t id = facts_describe((PyObject *)self, tracker, number_in_python, number, number);
    return id == 0 ? NULL : PyLong_FromUnsignedLong(id);
}

static PyObject *
id_of_body(Facts *self, PyObject *args)
{
    PyObject *body, *children;
    if (!PyArg_ParseTuple(args, "SO!:id_of", &body, &PyTuple_Type, &children)) {
        return NULL;
    }
    const char *data = PyBytes_AS_STRING(body);
    size_t size = (size_t)PyBytes_GET_SIZE(body);
    uint32_t id = bodies_find(&self->bodies, data, size);
    if (id != 0) {
        return PyLong_FromUnsignedLong(id);
    }
    Py_ssize_t count = PyTuple_GET_SIZE(children);
    uint32_t *numbers = PyMem_New(uint32_t, count);
    if (numbers == NULL) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        numbers[i] = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GET_ITEM(children, i));
    }
    if (!PyErr_Occurred()) {
        id = bodies_add(&self->bodies, data, size, numbers, count);
    }
    PyMem_Free(numbers);
    return id == 0 ? NULL : PyLong_FromUnsignedLong(id);
}

static PyObject *
take(Facts *self, PyObject *Py_UNUSED(ignored))
{
    return bodies_take(&self->bodies);
}

static int
facts_init(Facts *self, PyObject *args, PyObject *kwargs)
{
    static char *parameters[] = {"engine", "base", "module", "as_module", NULL};
    PyObject *engine, *base, *of_modules = NULL, *as_module = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!|O!S:Facts", parameters, &engine,
                                     &PyType_Type, &base, &PyType_Type, &of_modules, &as_module)) {
        return -1;
    }
    if (self->engine != NULL) {
        return answer_refuse(PyExc_TypeError, "Facts are made once");
    }
    PyObject *realized = PyObject_GetAttr(engine, ID(realized));
    if (realized == NULL || !PyDict_Check(realized)) {
        Py_XDECREF(realized);
        return answer_refuse(PyExc_TypeError, "engine.realized must be a dict");
    }
    self->realized = realized;
    self->engine = Py_NewRef(engine);
    self->base = (PyTypeObject *)Py_NewRef(base);
    if (as_module != NULL) {
        self->module = (PyTypeObject *)Py_NewRef(of_modules);
        self->as_module = Py_NewRef(as_module);
    }
    return (self->kinds = PyDict_New()) == NULL || (self->mutability = PyDict_New()) == NULL
                   || (self->lazies = PyDict_New()) == NULL
                   || (self->tensors = PyDict_New()) == NULL
               ? -1
               : 0;
}

COLLECTED(objects, Facts, 9)

static void
facts_dealloc(Facts *self)
{
    bodies_free(&self->bodies);
    buffer_free(&self->scratch);
    objects_dealloc(self);
}

static PyMethodDef methods[] = {
    METHOD("describe", describe, METH_VARARGS),
    METHOD("take", take, METH_NOARGS),
    METHOD("id_of", id_of_body, METH_VARARGS),
    {NULL},
};

static PyMemberDef members[] = {
    {"lazies", T_OBJECT, offsetof(Facts, lazies), READONLY, NULL},
    {NULL},
};

PyTypeObject Facts_Type = {
    TYPE(Facts),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)facts_init,
    COLLECTED_SLOTS_BUT(objects, facts_dealloc),
    .tp_methods = methods,
    .tp_members = members,
};

static const Constant constants[] = {
    CONSTANT_OF(BY_ENGINE),
    CONSTANT_OF(BY_NAME),
    CONSTANT_OF(AS_SEQUENCE),
    CONSTANT_OF(AS_LAZY),
    CONSTANT_OF(AS_CONSTANT),
    CONSTANT_OF(AS_MAPPING),
    CONSTANT_OF(AS_TENSOR),
    CONSTANT_OF(AS_SET),
    CONSTANT_OF(AS_PARTS),
    CONSTANT_OF(AS_CELL),
    CONSTANT_OF(MAX_ITEMS),
    CONSTANT_OF(MAX_TEXT),
    {NULL},
};

const Part facts_part = {.types = {&Facts_Type}, .constants = constants};
