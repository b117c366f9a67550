/* Descriptions of trackers, each equal one once.

   A description is the MessagePack of a Value (stepper/model/value.py), made here for the kinds that
   are most of what a compiler has: those that are a name and the trackers among their fields, and
   sequences. The others are the engine's to tell apart (`special`). What is known of descriptions
   are their bytes: no tuple, no key object stays, which the garbage collector would have to look at
   for as long as the session lives.

   Reading fields runs nothing. What can run anything (numbering a child, the engine's own functions)
   gets objects that are held, and nothing points into a container across it. */

#include "facts.h"

#include "fields.h"
#include "pack.h"

/* stepper.debuggee.faces.Recipe */
enum { SPECIAL = 0, NAMED = 1, SEQUENCE = 2, LAZY = 3, CONSTANT = 4, MAPPING = 5 };
enum { MAX_ITEMS = 100 };   /* stepper.debuggee.faces.MAX_ITEMS */
enum { MAX_TEXT = 200 };    /* stepper.engines.dynamo.describe.MAX_TEXT */

typedef struct {
    PyObject_HEAD
    PyObject *engine;     /* the describer */
    PyTypeObject *base;   /* of all trackers */
    PyObject *kinds;      /* class -> (recipe, class name, type name, text) */
    PyObject *mutability; /* class of a mutation type -> (words, whether attributes are stored) */
    PyObject *ids;        /* bytes -> id */
    Buffer fresh;         /* descriptions that wait to be written, as MessagePack of bytes */
    uint32_t fresh_first, fresh_count;
    PyObject *children;   /* id -> tuple of the children's numbers */
    PyObject *realized;   /* the engine's: not empty, some lazies are to be shown as before */
} Facts;

static PyObject *str_source, *str_mutation_type, *str_cache, *str_vt, *str_items, *str_index,
    *str_name, *str_kind, *str_special, *str_mutability, *str_words, *str_attributes,
    *str_source_text, *str_realized, *str_value, *str_key_text;

static const struct {
    PyObject **place;
    const char *text;
} names[] = {
    {&str_source, "source"},         {&str_mutation_type, "mutation_type"},
    {&str_cache, "_cache"},          {&str_vt, "vt"},
    {&str_items, "items"},           {&str_index, "index"},
    {&str_name, "name"},             {&str_kind, "kind"},
    {&str_special, "special"},       {&str_mutability, "mutability"},
    {&str_words, "words"},           {&str_attributes, "attributes"},
    {&str_source_text, "source_text"}, {&str_realized, "realized"},
    {&str_value, "value"},           {&str_key_text, "key_text"},
};

/* Fields that may say what a tracker stands for. */
static PyObject *telling[8];
static const char *const telling_names[] = {
    "value", "fn", "obj_type", "value_type", "exc_type", "code", "module_type", "user_cls",
};
/* Fields in which a tracker keeps another that says nothing more of it: it is made when it is first
   needed. */
static PyObject *kept[2];
static const char *const kept_names[] = {"annotations", "dict_vt"};

/* --- small parts */

/* A borrowed field, or NULL where it is missing or None. The names are all exact strings. */
static PyObject *
field(PyObject *fields, PyObject *name)
{
    PyObject *found = PyDict_GetItemWithError(fields, name);
    return found == Py_None ? NULL : found;
}

/* What the engine answered about a class, asked once. Borrowed. */
static PyObject *
answer_of(Facts *self, PyObject *known, PyObject *question, PyTypeObject *type)
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

static int
pack_source(Facts *self, Buffer *out, PyObject *fields)
{
    PyObject *source = field(fields, str_source);
    if (source == NULL) {
        return pack_head(out, 0xa0, 0, 0);
    }
    Py_INCREF(source);
    PyObject *text = PyObject_GetAttr(source, str_name); /* most keep it once they were asked */
    if (text == NULL || !PyUnicode_Check(text)) {
        PyErr_Clear();
        Py_XSETREF(text, PyObject_CallMethodOneArg(self->engine, str_source_text, source));
    }
    Py_DECREF(source);
    int done = text == NULL ? -1 : pack_text(out, text);
    Py_XDECREF(text);
    return done;
}

/* --- children */

typedef struct {
    PyObject *label;   /* held: a name, or whole in brackets */
    PyObject *tracker; /* held */
    Py_ssize_t index;  /* where there is no label */
    char whole;        /* the label is more than a name */
    uint32_t number;
} Child;

typedef struct {
    Child items[2 * MAX_ITEMS];
    Py_ssize_t count;
} Children;

static void
add_child(Children *children, PyObject *label, Py_ssize_t index, PyObject *tracker)
{
    if (children->count < 2 * MAX_ITEMS) {
        children->items[children->count++] =
            (Child){Py_XNewRef(label), Py_NewRef(tracker), index, 0, 0};
    }
}

static void
release_children(Children *children)
{
    while (children->count > 0) {
        Child *child = &children->items[--children->count];
        Py_XDECREF(child->label);
        Py_DECREF(child->tracker);
    }
}

static int
is_kept(PyObject *name)
{
    return PyUnicode_Compare(name, kept[0]) == 0 || PyUnicode_Compare(name, kept[1]) == 0;
}

/* The trackers among attributes or fields. */
static void
add_named(Facts *self, Children *children, PyObject *all, Py_ssize_t limit, int of_fields)
{
    PyObject *name, *value;
    Py_ssize_t position = 0;
    while (limit-- > 0 && PyDict_Next(all, &position, &name, &value)) {
        if (PyType_IsSubtype(Py_TYPE(value), self->base)
            && !(of_fields && is_kept(name))) {
            add_child(children, name, 0, value);
        }
    }
}

static int
number_children(Children *children, Numbering numbering, void *context)
{
    for (Py_ssize_t i = 0; i < children->count; i++) {
        if ((children->items[i].number = numbering(context, children->items[i].tracker)) == 0) {
            return -1;
        }
    }
    return 0;
}

static int
pack_label(Buffer *out, Child *child)
{
    if (child->label == NULL) {
        char text[32];
        int size = snprintf(text, sizeof text, "[%zd]", child->index);
        return pack_head(out, (unsigned char)(0xa0 | size), 0, 0) < 0
                       || pack_raw(out, text, (size_t)size) < 0
                   ? -1
                   : 0;
    }
    PyObject *label =
        child->whole ? Py_NewRef(child->label) : PyUnicode_FromFormat(".%U", child->label);
    int done = label == NULL ? -1 : pack_text(out, label);
    Py_XDECREF(label);
    return done;
}

static int
pack_children(Buffer *out, Children *children)
{
    int done = pack_array(out, (size_t)children->count);
    for (Py_ssize_t i = 0; done == 0 && i < children->count; i++) {
        Child *child = &children->items[i];
        done = pack_array(out, 2) < 0 || pack_label(out, child) < 0
                       || pack_uint(out, child->number) < 0
                   ? -1
                   : 0;
    }
    return done;
}

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

static uint32_t
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

/* --- the kinds that are described here */

/* What the tracker stands for by name, and its type's name: new references. */
static int
words_of(Facts *self, PyObject *fields, PyObject *kind, PyObject **type, PyObject **text)
{
    int tells = 0;
    for (size_t i = 0; i < sizeof telling / sizeof *telling && !tells; i++) {
        tells = PyDict_GetItemWithError(fields, telling[i]) != NULL;
    }
    *type = *text = NULL;
    if (tells) {
        PyObject *words = PyObject_CallMethodOneArg(self->engine, str_words, fields);
        if (words == NULL || !PyArg_ParseTuple(words, "UU:words", type, text)) {
            Py_XDECREF(words);
            return -1;
        }
        Py_INCREF(*type);
        Py_INCREF(*text);
        Py_DECREF(words);
    }
    if (*type == NULL || PyUnicode_GET_LENGTH(*type) == 0) {
        Py_XSETREF(*type, Py_NewRef(PyTuple_GET_ITEM(kind, 2)));
    }
    PyObject *name = field(fields, str_name);
    if ((*text == NULL || PyUnicode_GET_LENGTH(*text) == 0) && name != NULL
        && PyUnicode_CheckExact(name)) {
        Py_XSETREF(*text, PyUnicode_FromFormat(".%U", name));
    }
    else if (*text == NULL) {
        *text = PyUnicode_FromString("");
    }
    if (*text != NULL && PyUnicode_GET_LENGTH(*text) == 0) {
        Py_SETREF(*text, Py_NewRef(PyTuple_GET_ITEM(kind, 3)));
    }
    return *text == NULL ? -1 : 0;
}

/* --- mappings */

/* The label of a mapping's key, `['name']`; most are short texts, the others are the engine's. */
static PyObject *
key_label(Facts *self, PyObject *key)
{
    PyObject *tracker = PyObject_GenericGetAttr(key, str_vt), *label = NULL;
    if (tracker == NULL) {
        PyErr_Clear();
    }
    else {
        PyObject *kind = answer_of(self, self->kinds, str_kind, Py_TYPE(tracker));
        if (kind != NULL && PyLong_AsLong(PyTuple_GET_ITEM(kind, 0)) == CONSTANT) {
            PyObject *fields = stepper_fields(tracker);
            PyObject *value = fields == NULL ? NULL : field(fields, str_value);
            if (value != NULL && PyUnicode_CheckExact(value)
                && PyUnicode_GET_LENGTH(value) <= MAX_TEXT) {
                label = PyUnicode_FromFormat("[%R]", value);
            }
            Py_XDECREF(fields);
        }
        Py_DECREF(tracker);
    }
    if (label == NULL && !PyErr_Occurred()) {
        PyObject *text = PyObject_CallMethodOneArg(self->engine, str_key_text, key);
        label = text == NULL || !PyUnicode_Check(text) ? NULL : PyUnicode_FromFormat("[%U]", text);
        Py_XDECREF(text);
    }
    return label;
}

static int
add_items(Facts *self, Children *children, PyObject *items)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (children->count < MAX_ITEMS && PyDict_Next(items, &position, &key, &value)) {
        if (PyType_IsSubtype(Py_TYPE(value), self->base)) {
            add_child(children, key, 0, value);
        }
    }
    for (Py_ssize_t i = 0; i < children->count; i++) {
        Child *child = &children->items[i];
        PyObject *label = key_label(self, child->label);
        if (label == NULL) {
            return -1;
        }
        Py_SETREF(child->label, label);
        child->whole = 1;
    }
    return 0;
}

/* The items of a sequence, borrowed, or NULL where they are none that can be looked at. */
static PyObject *
items_of(PyObject *fields)
{
    PyObject *items = field(fields, str_items);
    return items != NULL && (PyList_CheckExact(items) || PyTuple_CheckExact(items)) ? items : NULL;
}

static uint32_t
describe_plainly(Facts *self, PyObject *tracker, PyObject *fields, PyObject *kind, int recipe,
                 Numbering numbering, void *context)
{
    Children children = {.count = 0};
    Buffer out = {NULL, 0, 0};
    PyObject *type = NULL, *text = NULL, *attributes = NULL;
    uint32_t id = 0;
    long long position = -1;
    Py_ssize_t length = -1;
    PyObject *items = recipe == SEQUENCE ? items_of(fields) : NULL;
    if (items != NULL) {
        length = PySequence_Fast_GET_SIZE(items);
        for (Py_ssize_t i = 0; i < length && i < MAX_ITEMS; i++) {
            add_child(&children, NULL, i, PySequence_Fast_GET_ITEM(items, i));
        }
        PyObject *index = field(fields, str_index);
        if (index != NULL && PyLong_CheckExact(index)) {
            position = PyLong_AsLongLong(index);
        }
        type = Py_NewRef(PyTuple_GET_ITEM(kind, 2));
        text = PyUnicode_FromFormat(
            "%U of %zd", PyUnicode_GET_LENGTH(type) ? type : PyTuple_GET_ITEM(kind, 1), length);
        if (text == NULL) {
            goto done;
        }
    }
    else if (recipe == MAPPING && (items = field(fields, str_items)) != NULL
             && PyDict_CheckExact(items)) {
        length = PyDict_GET_SIZE(items);
        if (add_items(self, &children, items) < 0) {
            goto done;
        }
        type = Py_NewRef(PyTuple_GET_ITEM(kind, 2));
        PyObject *builtin = PyTuple_GET_ITEM(kind, 3);
        text = PyUnicode_GET_LENGTH(builtin)
                   ? Py_NewRef(builtin)
                   : PyUnicode_FromFormat("%U of %zd",
                                          PyUnicode_GET_LENGTH(type) ? type
                                                                     : PyTuple_GET_ITEM(kind, 1),
                                          length);
        if (text == NULL) {
            goto done;
        }
    }
    else {
        add_named(self, &children, fields, PY_SSIZE_T_MAX, 1);
        if (words_of(self, fields, kind, &type, &text) < 0) {
            goto done;
        }
        if (PyUnicode_GET_LENGTH(text) == 0) {
            Py_SETREF(text, Py_NewRef(PyUnicode_GET_LENGTH(type) ? type : PyTuple_GET_ITEM(kind, 1)));
        }
    }
    PyObject *mutation = field(fields, str_mutation_type), *mutability = NULL;
    if (mutation != NULL) {
        mutability = answer_of(self, self->mutability, str_mutability, Py_TYPE(mutation));
        if (mutability == NULL) {
            goto done;
        }
        if (PyTuple_GET_ITEM(mutability, 1) == Py_True) {
            attributes = PyObject_CallMethodOneArg(self->engine, str_attributes, tracker);
            if (attributes == NULL) {
                goto done;
            }
            if (PyDict_Check(attributes)) {
                add_named(self, &children, attributes, MAX_ITEMS, 0);
            }
        }
    }
    if (number_children(&children, numbering, context) < 0) {
        goto done;
    }
    /* The fields of Value in order; those at the end that have their default are left out. */
    int count = position >= 0 ? 8 : length >= 0 ? 7 : children.count > 0 ? 6 : 5;
    int done = pack_array(&out, (size_t)count) < 0
                       || pack_text(&out, PyTuple_GET_ITEM(kind, 1)) < 0
                       || pack_text(&out, type) < 0 || pack_text(&out, text) < 0
                       || pack_source(self, &out, fields) < 0
                   ? -1
                   : 0;
    if (done == 0) {
        done = mutation == NULL ? pack_raw(&out, "\xa9" "immutable", 10)
                                : pack_text(&out, PyTuple_GET_ITEM(mutability, 0));
    }
    if (done == 0 && count > 5) {
        done = pack_children(&out, &children);
    }
    if (done == 0 && count > 6) {
        done = pack_uint(&out, (uint64_t)length);
    }
    if (done == 0 && count > 7) {
        char digits[24];
        int size = snprintf(digits, sizeof digits, "%lld", position);
        done = pack_raw(&out, "\x91\x92\xa5" "index", 8) < 0
                       || pack_head(&out, (unsigned char)(0xa0 | size), 0, 0) < 0
                       || pack_raw(&out, digits, (size_t)size) < 0
                   ? -1
                   : 0;
    }
    id = done < 0 ? 0 : id_of_packed(self, &out, &children);
done:
    release_children(&children);
    buffer_free(&out);
    Py_XDECREF(type);
    Py_XDECREF(text);
    Py_XDECREF(attributes);
    return id;
}

/* Whether it is a constant of a kind that is most of them, whose repr is short and runs nothing. */
static int
is_common(PyObject *fields)
{
    PyObject *value = PyDict_GetItemWithError(fields, str_value);
    int overflow = 0;
    return value != NULL && field(fields, str_mutation_type) == NULL
           && (value == Py_None || PyBool_Check(value) || PyFloat_CheckExact(value)
               || (PyUnicode_CheckExact(value) && PyUnicode_GET_LENGTH(value) <= MAX_TEXT)
               || (PyLong_CheckExact(value)
                   && (PyLong_AsLongLongAndOverflow(value, &overflow), overflow == 0)));
}

static uint32_t
describe_constant(Facts *self, PyObject *fields, PyObject *kind)
{
    Buffer out = {NULL, 0, 0};
    Children none = {.count = 0};
    PyObject *value = PyDict_GetItemWithError(fields, str_value);
    PyObject *type = PyUnicode_FromString(Py_TYPE(value)->tp_name), *text = PyObject_Repr(value);
    /* The fields of Value in order, to `constant`. */
    int done = type == NULL || text == NULL || pack_array(&out, 9) < 0
                       || pack_text(&out, PyTuple_GET_ITEM(kind, 1)) < 0
                       || pack_text(&out, type) < 0 || pack_text(&out, text) < 0
                       || pack_source(self, &out, fields) < 0
                       || pack_raw(&out, "\xa9" "immutable\x90\xc0\x90", 13) < 0
                       || pack_text(&out, text) < 0
                   ? -1
                   : 0;
    uint32_t id = done < 0 ? 0 : id_of_packed(self, &out, &none);
    buffer_free(&out);
    Py_XDECREF(type);
    Py_XDECREF(text);
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

static int
intern(PyObject **place, const char *text)
{
    if (*place == NULL) {
        *place = PyUnicode_InternFromString(text);
    }
    return *place == NULL ? -1 : 0;
}

int
stepper_add_facts(PyObject *module)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (intern(names[i].place, names[i].text) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++) {
        if (intern(&telling[i], telling_names[i]) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        if (intern(&kept[i], kept_names[i]) < 0) {
            return -1;
        }
    }
    return PyModule_AddType(module, &Facts_Type);
}
