/* Descriptions of trackers, each equal one once.

   A description is the MessagePack of a Value (stepper/model/value.py), made here for the kinds that
   are most of what a compiler has: those that are a name and the trackers among their fields, and
   sequences. The others are the engine's to tell apart (`special`). What is known of descriptions
   are their bytes: no tuple, no key object stays, which the garbage collector would have to look at
   for as long as the session lives.

   Reading fields runs nothing. What can run anything (numbering a child, the engine's own functions)
   gets objects that are held, and nothing points into a container across it. */

#include "describing.h"

#include "fields.h"

/* --- the ids */

/* A description's id is its place among all, from 1. The id of one that was stored, or 0. */
static uint32_t
known_id(Facts *self, PyObject *body)
{
    PyObject *found = PyDict_GetItemWithError(self->ids, body);
    return found == NULL ? 0 : (uint32_t)PyLong_AsUnsignedLong(found);
}

/* Store a new one. */
static uint32_t
store(Facts *self, PyObject *body, PyObject *children)
{
    uint32_t id = (uint32_t)PyDict_GET_SIZE(self->ids) + 1;
    PyObject *boxed = PyLong_FromUnsignedLong(id);
    int stored = 0;
    if (boxed != NULL && PyDict_SetItem(self->ids, body, boxed) == 0
        && (PyTuple_GET_SIZE(children) == 0
            || PyDict_SetItem(self->children, boxed, children) == 0)) {
        stored = pack_bytes(&self->fresh, PyBytes_AS_STRING(body), (size_t)PyBytes_GET_SIZE(body))
                 == 0;
    }
    Py_XDECREF(boxed);
    if (stored && self->fresh_count++ == 0) {
        self->fresh_first = id;
    }
    return stored ? id : 0;
}

static PyObject *
numbers_of(Children *children)
{
    PyObject *numbers = PyTuple_New(children->count);
    for (Py_ssize_t i = 0; numbers != NULL && i < children->count; i++) {
        PyObject *number = PyLong_FromUnsignedLong(children->items[i].number);
        if (number == NULL) {
            Py_CLEAR(numbers);
        }
        else {
            PyTuple_SET_ITEM(numbers, i, number);
        }
    }
    return numbers;
}

uint32_t
id_of_packed(Facts *self, const Buffer *out, Children *children)
{
    PyObject *body = PyBytes_FromStringAndSize((const char *)out->data, (Py_ssize_t)out->size);
    uint32_t id = body == NULL ? 0 : known_id(self, body);
    if (id == 0 && !PyErr_Occurred()) {
        PyObject *numbers = numbers_of(children);
        id = numbers == NULL ? 0 : store(self, body, numbers);
        Py_XDECREF(numbers);
    }
    Py_XDECREF(body);
    return id;
}

/* --- describing */

/* The engine's own answer: an id, or None: it has nothing special to say. */
static int
ask_engine(Facts *self, PyObject *tracker, PyObject *fields, PyObject *number, uint32_t *id)
{
    PyObject *arguments[] = {self->engine, tracker, fields, number};
    PyObject *answer = PyObject_VectorcallMethod(str_special, arguments, 4, NULL);
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
    PyObject *kind = answer_of(self, self->kinds, str_kind, Py_TYPE(tracker));
    if (kind == NULL) {
        return 0;
    }
    PyObject *fields = stepper_fields(tracker);
    if (fields == NULL) {
        return 0;
    }
    long recipe = PyLong_AsLong(PyTuple_GET_ITEM(kind, 0));
    uint32_t id = 0;
    int done = 0;
    if (recipe == LAZY) {
        PyObject *cache = field(fields, str_cache);
        PyObject *inner = cache == NULL ? NULL : PyObject_GenericGetAttr(cache, str_vt);
        if (inner != NULL && inner != Py_None && PyDict_GET_SIZE(self->realized) == 0) {
            Py_DECREF(fields);
            id = describe_held(self, inner, numbering, context, number);
            Py_DECREF(inner);
            return id;
        }
        Py_XDECREF(inner);
        PyErr_Clear();
    }
    PyObject *items = recipe == MAPPING ? field(fields, str_items) : NULL;
    if (recipe == SPECIAL || recipe == LAZY || (recipe == CONSTANT && !is_common(fields))
        || (items != NULL && PyDict_Check(items) && !PyDict_CheckExact(items))) {
        done = ask_engine(self, tracker, fields, number, &id);
    }
    if (done == 0 && id == 0) {
        id = recipe == CONSTANT
                 ? describe_constant(self, fields, kind)
                 : describe_plainly(self, tracker, fields, kind, (int)recipe, numbering, context);
    }
    Py_DECREF(fields);
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

PyObject *
facts_children(PyObject *facts, uint32_t description)
{
    PyObject *key = PyLong_FromUnsignedLong(description);
    PyObject *found =
        key == NULL ? NULL : PyDict_GetItemWithError(((Facts *)facts)->children, key);
    Py_XDECREF(key);
    return found;
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
    uint32_t id = known_id(self, body);
    if (id == 0 && !PyErr_Occurred()) {
        id = store(self, body, children);
    }
    return id == 0 ? NULL : PyLong_FromUnsignedLong(id);
}

static PyObject *
take(Facts *self, PyObject *Py_UNUSED(ignored))
{
    if (self->fresh_count == 0) {
        Py_RETURN_NONE;
    }
    Buffer out = {NULL, 0, 0};
    PyObject *taken = NULL;
    if (pack_array(&out, self->fresh_count) == 0
        && pack_raw(&out, self->fresh.data, self->fresh.size) == 0) {
        taken = Py_BuildValue("IIy#", self->fresh_first, self->fresh_count,
                              (const char *)out.data, (Py_ssize_t)out.size);
    }
    buffer_free(&out);
    if (taken != NULL) {
        self->fresh_count = 0;
        self->fresh.size = 0;
    }
    return taken;
}

static int
facts_init(Facts *self, PyObject *args, PyObject *kwargs)
{
    static char *parameters[] = {"engine", "base", NULL};
    PyObject *engine, *base;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!:Facts", parameters, &engine, &PyType_Type,
                                     &base)) {
        return -1;
    }
    if (self->engine != NULL) {
        PyErr_SetString(PyExc_TypeError, "Facts are made once");
        return -1;
    }
    PyObject *realized = PyObject_GetAttr(engine, str_realized);
    if (realized == NULL || !PyDict_Check(realized)) {
        Py_XDECREF(realized);
        PyErr_SetString(PyExc_TypeError, "engine.realized must be a dict");
        return -1;
    }
    self->realized = realized;
    self->engine = Py_NewRef(engine);
    self->base = (PyTypeObject *)Py_NewRef(base);
    return (self->kinds = PyDict_New()) == NULL || (self->mutability = PyDict_New()) == NULL
                   || (self->ids = PyDict_New()) == NULL || (self->children = PyDict_New()) == NULL
               ? -1
               : 0;
}

static int
facts_traverse(Facts *self, visitproc visit, void *arg)
{
    /* Not `ids` and `children`: they hold bytes and numbers, and are long. */
    Py_VISIT(self->engine);
    Py_VISIT(self->base);
    Py_VISIT(self->kinds);
    Py_VISIT(self->mutability);
    Py_VISIT(self->realized);
    return 0;
}

static int
facts_clear(Facts *self)
{
    Py_CLEAR(self->engine);
    return 0;
}

static void
facts_dealloc(Facts *self)
{
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->engine);
    Py_CLEAR(self->base);
    Py_CLEAR(self->kinds);
    Py_CLEAR(self->mutability);
    Py_CLEAR(self->ids);
    Py_CLEAR(self->children);
    buffer_free(&self->fresh);
    buffer_free(&self->scratch);
    Py_CLEAR(self->realized);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef methods[] = {
    {"describe", (PyCFunction)describe, METH_VARARGS, PyDoc_STR("A tracker's description now.")},
    {"take", (PyCFunction)take, METH_NOARGS, PyDoc_STR("The descriptions that wait.")},
    {"id_of", (PyCFunction)id_of_body, METH_VARARGS, PyDoc_STR("The id of an encoded Value.")},
    {NULL},
};

PyTypeObject Facts_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "stepper._C.Facts",
    .tp_doc = PyDoc_STR("Descriptions of trackers, each equal one once."),
    .tp_basicsize = sizeof(Facts),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)facts_init,
    .tp_dealloc = (destructor)facts_dealloc,
    .tp_traverse = (traverseproc)facts_traverse,
    .tp_clear = (inquiry)facts_clear,
    .tp_methods = methods,
};

int
stepper_add_facts(PyObject *module)
{
    return describing_init() < 0 ? -1 : PyModule_AddType(module, &Facts_Type);
}
