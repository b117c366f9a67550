/* The check of a cache entry, put together for C.

   A model has some hundreds of conditions, which say in full what they look at:
   `L['self']._modules['h']._modules['0'].attn.scale_attn_weights`. As Python they cost more in a
   cached call than all the rest. Here they are two lists. Values: a variable, or what one step
   leads to from another value; so what several conditions look at is one value, and is looked up
   once. Conditions: what is asked of a value, in order. A value is looked up when the first
   condition wants it, so a check does in its order what the Python text does in its own, and no
   more: nothing is read of an object before its type has been found right.

   Conditions of a form that is not known here are Python functions, called at their place
   (stepper/native/guards/guard_program.py writes both lists). */

#include "evalframe/leaf_checks.h"
#include "evalframe/remembered.h"
#include "support/api.h"

#include <stddef.h>

typedef enum {
    STEP_LOCALS,   /* `L` */
    STEP_GLOBALS,  /* `G` */
    STEP_SCOPE,    /* a name of the scope: the key */
    STEP_CONSTANT, /* the key itself */
    STEP_ATTR,     /* an attribute: the key */
    STEP_ITEM,     /* an item: of the key */
    STEP_CLASS,    /* `type(…)` */
    STEP_OWN_DICT, /* `___instance_dict(…)` */
    STEP_CALL,     /* what it gives, called with the values of the indexes that the key holds */
    STEPS
} Step;

typedef struct {
    int step;
    int from; /* the value that it begins with */
    PyObject *key;
    Remembered last;
} Value;

typedef enum {
    TEST_TRUE,       /* it is true */
    TEST_OBJ_ID,     /* it has this address */
    TEST_TYPE_ID,    /* its class has */
    TEST_NN_MODULE,  /* it is a module in this mode, and calling it is calling its forward */
    TEST_HAS,        /* the operand is in it */
    TEST_LACKS,      /* … is not */
    TEST_LACKS_ATTR, /* it has no attribute of this name */
    TEST_LENGTH,     /* it has so many items */
    TEST_KEYS,       /* `list(…)` of it is equal to the operand, a list */
    TEST_EQUALS,     /* it is equal to the operand */
    TEST_FLOAT,      /* it has the bits of this float */
    TEST_SAME,       /* it is the object that the value of this index is */
    TEST_CALL,       /* it, called with the values of these indexes, gives something true */
    TEST_PYTHON,     /* the operand, called with `L` and `G`, does */
    TEST_EITHER,     /* the next one holds, and that behind it is not asked, or that one does */
    TESTS
} Test;

typedef struct {
    int test;
    int value;
    PyObject *operand;
    union {
        int other;          /* of TEST_SAME */
        void *address;      /* of TEST_OBJ_ID and TEST_TYPE_ID */
        Remembered last;    /* of those that look for a name */
        ModuleState module; /* of TEST_NN_MODULE */
    };
} Condition;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *scope;
    Value *values;
    Condition *conditions;
    Py_ssize_t value_count, condition_count;
} GuardProgram;

typedef struct {
    GuardProgram *program;
    PyObject *locals, *globals;
    PyObject **found; /* the values that have been looked up */
} Run;

/* --- values --- */

static PyObject *
not_found(PyObject *key)
{
    PyErr_SetObject(PyExc_KeyError, key);
    return NULL;
}

static PyObject *
item_of(Remembered *last, PyObject *container, PyObject *key)
{
    if (PyDict_CheckExact(container)) {
        PyObject *found = remembered_item(last, container, key);
        return found != NULL ? found : PyErr_Occurred() ? NULL : not_found(key);
    }
    if ((PyList_CheckExact(container) || PyTuple_CheckExact(container)) && PyLong_CheckExact(key)) {
        Py_ssize_t at = PyLong_AsSsize_t(key);
        if (at >= 0 && at < PySequence_Fast_GET_SIZE(container)) {
            return Py_NewRef(PySequence_Fast_GET_ITEM(container, at));
        }
        PyErr_Clear(); /* of a number that is too large */
    }
    return PyObject_GetItem(container, key);
}

static PyObject *result_of(Run *, PyObject *, PyObject *);

/* A borrowed reference; NULL: an exception is set. */
static PyObject *
value_of(Run *run, int index)
{
    PyObject *found = run->found[index];
    if (found != NULL) {
        return found;
    }
    Value *value = &run->program->values[index];
    PyObject *from = NULL;
    if (value->step >= STEP_ATTR && (from = value_of(run, value->from)) == NULL) {
        return NULL;
    }
    switch (value->step) {
    case STEP_LOCALS:
        found = Py_NewRef(run->locals);
        break;
    case STEP_GLOBALS:
        found = Py_NewRef(run->globals);
        break;
    case STEP_SCOPE:
        found = item_of(&value->last, run->program->scope, value->key);
        break;
    case STEP_CONSTANT:
        found = Py_NewRef(value->key);
        break;
    case STEP_ATTR:
        found = remembered_attribute(&value->last, from, value->key);
        break;
    case STEP_ITEM:
        found = item_of(&value->last, from, value->key);
        break;
    case STEP_CLASS:
        found = Py_NewRef((PyObject *)Py_TYPE(from));
        break;
    case STEP_OWN_DICT:
        found = leaf_checks_own_dict(from);
        break;
    case STEP_CALL:
        found = result_of(run, from, value->key);
        break;
    }
    return run->found[index] = found;
}

/* What a function gives for the values of some indexes. */
static PyObject *
result_of(Run *run, PyObject *function, PyObject *indexes)
{
    Py_ssize_t count = PyTuple_GET_SIZE(indexes);
    PyObject *result = NULL, *few[8], **args = few;
    if (count > 8 && (args = PyMem_New(PyObject *, count)) == NULL) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        args[i] = value_of(run, (int)PyLong_AsLong(PyTuple_GET_ITEM(indexes, i)));
        if (args[i] == NULL) {
            goto done;
        }
    }
    result = PyObject_Vectorcall(function, args, (size_t)count, NULL);
done:
    if (args != few) {
        PyMem_Free(args);
    }
    return result;
}

/* --- conditions: 1, 0, or -1 with an exception set --- */

static int
truth_of(PyObject *result)
{
    if (result == NULL) {
        return -1;
    }
    int truth = PyObject_IsTrue(result);
    Py_DECREF(result);
    return truth;
}

static int
has_length(PyObject *value, PyObject *expected)
{
    Py_ssize_t length = PyObject_Size(value);
    return length < 0 ? -1 : length == PyLong_AsSsize_t(expected);
}

static int
has_bits(PyObject *value, PyObject *expected)
{
    double a = PyFloat_AsDouble(value), b = PyFloat_AS_DOUBLE(expected);
    return a == -1.0 && PyErr_Occurred() ? -1 : memcmp(&a, &b, sizeof a) == 0;
}

static int
holds(Run *run, Condition *condition)
{
    PyObject *operand = condition->operand;
    if (condition->test == TEST_PYTHON) {
        PyObject *args[] = {run->locals, run->globals};
        return truth_of(PyObject_Vectorcall(operand, args, 2, NULL));
    }
    PyObject *other, *value = value_of(run, condition->value);
    if (value == NULL) {
        return -1;
    }
    switch (condition->test) {
    case TEST_TRUE:
        return PyObject_IsTrue(value);
    case TEST_OBJ_ID:
        return value == condition->address;
    case TEST_TYPE_ID:
        return Py_TYPE(value) == condition->address;
    case TEST_NN_MODULE:
        return leaf_checks_module(&condition->module, value, operand);
    case TEST_HAS:
        return remembered_membership(&condition->last, value, operand, 1);
    case TEST_LACKS:
        return remembered_membership(&condition->last, value, operand, 0);
    case TEST_LACKS_ATTR:
        return remembered_lack(&condition->last, value, operand);
    case TEST_LENGTH:
        return has_length(value, operand);
    case TEST_KEYS:
        return remembered_keys(&condition->last, value, operand);
    case TEST_EQUALS:
        return truth_of(PyObject_RichCompare(value, operand, Py_EQ));
    case TEST_FLOAT:
        return has_bits(value, operand);
    case TEST_SAME:
        other = value_of(run, condition->other);
        return other == NULL ? -1 : value == other;
    default:
        return truth_of(result_of(run, value, operand));
    }
}

static PyObject *
vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    GuardProgram *self = (GuardProgram *)callable;
    if (PyVectorcall_NARGS(nargsf) != 2 || names != NULL || !PyDict_Check(args[0])
        || !PyDict_Check(args[1])) {
        return PyErr_Format(PyExc_TypeError, "a check wants the locals and the globals of a call");
    }
    Run run = {(GuardProgram *)Py_NewRef(self), args[0], args[1], NULL};
    run.found = PyMem_Calloc((size_t)self->value_count + 1, sizeof(PyObject *));
    if (run.found == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    int passed = 1;
    for (Py_ssize_t i = 0; i < self->condition_count && passed > 0; i++) {
        if (self->conditions[i].test == TEST_EITHER) {
            passed = holds(&run, &self->conditions[++i]);
            i++;
            if (passed != 0) {
                continue;
            }
        }
        passed = holds(&run, &self->conditions[i]);
    }
    if (passed < 0 && PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
        passed = 0;
    }
    SavedError error = error_save();
    for (Py_ssize_t i = 0; i < self->value_count; i++) {
        Py_XDECREF(run.found[i]);
    }
    error_restore(error);
    PyMem_Free(run.found);
    Py_DECREF(self);
    return passed < 0 ? NULL : PyBool_FromLong(passed);
}

/* --- making one --- */

static int
is_value(GuardProgram *self, long index)
{
    return index >= 0 && index < self->value_count;
}

static int
are_values(GuardProgram *self, PyObject *indexes)
{
    if (!PyTuple_Check(indexes)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(indexes); i++) {
        PyObject *index = PyTuple_GET_ITEM(indexes, i);
        if (!PyLong_Check(index) || !is_value(self, PyLong_AsLong(index))) {
            PyErr_Clear();
            return 0;
        }
    }
    return 1;
}

static int
read_value(GuardProgram *self, Py_ssize_t index, PyObject *given)
{
    Value *value = &self->values[index];
    PyObject *key;
    if (!PyArg_ParseTuple(given, "iiO;a value is (step, from, key)", &value->step, &value->from,
                          &key)) {
        return -1;
    }
    if (value->step < 0 || value->step >= STEPS
        || (value->step >= STEP_ATTR && (value->from < 0 || value->from >= index))
        || (value->step == STEP_ATTR && !PyUnicode_Check(key))
        || (value->step == STEP_CALL && !are_values(self, key))) {
        PyErr_Format(PyExc_ValueError, "value %zd: %R", index, given);
        return -1;
    }
    value->key = Py_NewRef(key);
    if (PyUnicode_CheckExact(key)) {
        PyUnicode_InternInPlace(&value->key);
    }
    return 0;
}

/* Whether an operand is what its test takes. */
static int
fits(GuardProgram *self, Condition *condition, PyObject *operand)
{
    if (condition->test == TEST_PYTHON) {
        return PyCallable_Check(operand);
    }
    if (condition->test == TEST_EITHER) {
        return 1; /* see has_alternatives */
    }
    if (!is_value(self, condition->value)) {
        return 0;
    }
    switch (condition->test) {
    case TEST_OBJ_ID:
    case TEST_TYPE_ID:
        condition->address = PyLong_Check(operand) ? PyLong_AsVoidPtr(operand) : NULL;
        return condition->address != NULL;
    case TEST_LENGTH:
        return PyLong_Check(operand);
    case TEST_KEYS:
        return PyList_CheckExact(operand);
    case TEST_NN_MODULE:
        return PyBool_Check(operand);
    case TEST_LACKS_ATTR:
        return PyUnicode_Check(operand);
    case TEST_FLOAT:
        return PyFloat_Check(operand);
    case TEST_SAME:
        condition->other = PyLong_Check(operand) ? (int)PyLong_AsLong(operand) : -1;
        return !PyErr_Occurred() && is_value(self, condition->other);
    case TEST_CALL:
        return are_values(self, operand);
    default:
        return condition->test >= 0 && condition->test < TESTS;
    }
}

static int
read_condition(GuardProgram *self, Py_ssize_t index, PyObject *given)
{
    Condition *condition = &self->conditions[index];
    PyObject *operand;
    if (!PyArg_ParseTuple(given, "iiO;a condition is (test, value, operand)", &condition->test,
                          &condition->value, &operand)) {
        return -1;
    }
    if (!fits(self, condition, operand)) {
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_ValueError, "condition %zd: %R", index, given);
        }
        return -1;
    }
    condition->operand = Py_NewRef(operand);
    if (PyUnicode_CheckExact(operand)) {
        PyUnicode_InternInPlace(&condition->operand);
    }
    return 0;
}

/* Whether two conditions that are asked follow each that says so. */
static int
has_alternatives(GuardProgram *self)
{
    for (Py_ssize_t i = 0; i < self->condition_count; i++) {
        const Condition *condition = &self->conditions[i];
        if (condition->test == TEST_EITHER
            && (i + 2 >= self->condition_count || condition[1].test == TEST_EITHER
                || condition[2].test == TEST_EITHER)) {
            PyErr_Format(PyExc_ValueError, "condition %zd: two alternatives are wanted", i);
            return 0;
        }
    }
    return 1;
}

static int
read_lists(GuardProgram *self, PyObject *values, PyObject *conditions)
{
    Py_ssize_t value_count = PyList_GET_SIZE(values);
    Py_ssize_t condition_count = PyList_GET_SIZE(conditions);
    self->values = PyMem_Calloc((size_t)value_count + 1, sizeof(Value));
    self->conditions = PyMem_Calloc((size_t)condition_count + 1, sizeof(Condition));
    if (self->values == NULL || self->conditions == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (; self->value_count < value_count; self->value_count++) {
        if (read_value(self, self->value_count, PyList_GET_ITEM(values, self->value_count)) < 0) {
            return -1;
        }
    }
    for (; self->condition_count < condition_count; self->condition_count++) {
        Py_ssize_t index = self->condition_count;
        if (read_condition(self, index, PyList_GET_ITEM(conditions, index)) < 0) {
            return -1;
        }
    }
    return has_alternatives(self) ? 0 : -1;
}

static PyObject *
new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"values", "conditions", "scope", NULL};
    PyObject *values, *conditions, *scope;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O!:GuardProgram", names, &PyList_Type,
                                     &values, &PyList_Type, &conditions, &PyDict_Type, &scope)) {
        return NULL;
    }
    GuardProgram *self = (GuardProgram *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = vectorcall;
    self->scope = Py_NewRef(scope);
    if (read_lists(self, values, conditions) < 0) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static int
traverse(GuardProgram *self, visitproc visit, void *arg)
{
    Py_VISIT(self->scope);
    for (Py_ssize_t i = 0; i < self->value_count; i++) {
        Py_VISIT(self->values[i].key);
    }
    for (Py_ssize_t i = 0; i < self->condition_count; i++) {
        Py_VISIT(self->conditions[i].operand);
    }
    return 0;
}

static int
clear(GuardProgram *self)
{
    Py_ssize_t values = self->value_count, conditions = self->condition_count;
    self->value_count = self->condition_count = 0;
    for (Py_ssize_t i = 0; i < values; i++) {
        Py_CLEAR(self->values[i].key);
    }
    for (Py_ssize_t i = 0; i < conditions; i++) {
        Py_CLEAR(self->conditions[i].operand);
    }
    Py_CLEAR(self->scope);
    return 0;
}

static void
dealloc(GuardProgram *self)
{
    PyObject_GC_UnTrack(self);
    clear(self);
    PyMem_Free(self->values);
    PyMem_Free(self->conditions);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject GuardProgram_Type = {
    TYPE(GuardProgram),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    CALLED_SLOTS(GuardProgram),
    .tp_new = new,
    .tp_dealloc = (destructor)dealloc,
    .tp_traverse = (traverseproc)traverse,
    .tp_clear = (inquiry)clear,
};

static const Constant constants[] = {
    CONSTANT_OF(STEP_LOCALS),
    CONSTANT_OF(STEP_GLOBALS),
    CONSTANT_OF(STEP_SCOPE),
    CONSTANT_OF(STEP_CONSTANT),
    CONSTANT_OF(STEP_CALL),
    CONSTANT_OF(STEP_ATTR),
    CONSTANT_OF(STEP_ITEM),
    CONSTANT_OF(STEP_CLASS),
    CONSTANT_OF(STEP_OWN_DICT),
    CONSTANT_OF(TEST_TRUE),
    CONSTANT_OF(TEST_OBJ_ID),
    CONSTANT_OF(TEST_TYPE_ID),
    CONSTANT_OF(TEST_NN_MODULE),
    CONSTANT_OF(TEST_HAS),
    CONSTANT_OF(TEST_LACKS),
    CONSTANT_OF(TEST_LACKS_ATTR),
    CONSTANT_OF(TEST_LENGTH),
    CONSTANT_OF(TEST_EQUALS),
    CONSTANT_OF(TEST_FLOAT),
    CONSTANT_OF(TEST_SAME),
    CONSTANT_OF(TEST_CALL),
    CONSTANT_OF(TEST_PYTHON),
    CONSTANT_OF(TEST_EITHER),
    CONSTANT_OF(TEST_KEYS),
    {NULL},
};

const Part guard_program_part = {.types = {&GuardProgram_Type}, .constants = constants};
