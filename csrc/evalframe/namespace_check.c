/* Whether names still mean what they meant, and functions are what they were.

   What a function of torch does is decided by the names that its code looks up when it runs, and by
   its code and defaults, which can be replaced in place. CPython numbers the states of a
   dictionary: whatever is put into one gives it another number. So in a cached call a number is
   compared for each namespace; where it is another, the names are looked up again, and if they mean
   the same, the new number holds: modules get new names all the time. Of functions, the parts are
   compared themselves.

   All that is remembered is held, so this is for what lives as long as the process. */

#include "support/api.h"
#include "support/compat.h"

#include <stddef.h>

static PyTypeObject NamespaceCheck_Type;

typedef struct {
    PyObject *names;  /* the dictionary */
    PyObject *known;  /* what some of its keys should have; the type itself: nothing */
    uint64_t version; /* in which they had; 0: none */
} Namespace;

typedef struct {
    PyObject *function;
    PyObject *code, *defaults, *kwdefaults; /* NULL: it had none */
} Function;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    Namespace *namespaces;
    Function *functions;
    Py_ssize_t namespace_count, function_count;
} NamespaceCheck;

/* 1, 0, or -1 with an exception set. */
static int
has_known(Namespace *namespace)
{
    uint64_t version = dict_version(namespace->names);
    if (version != 0 && version == namespace->version) {
        return 1;
    }
    Py_ssize_t at = 0;
    PyObject *key, *value;
    while (PyDict_Next(namespace->known, &at, &key, &value)) {
        PyObject *found = PyDict_GetItemWithError(namespace->names, key);
        if (found == NULL && PyErr_Occurred()) {
            return -1;
        }
        if (found != (value == (PyObject *)&NamespaceCheck_Type ? NULL : value)) {
            return 0;
        }
    }
    namespace->version = version;
    return 1;
}

static int
is_unchanged(const Function *each)
{
    PyFunctionObject *function = (PyFunctionObject *)each->function;
    return function->func_code == each->code && function->func_defaults == each->defaults
           && function->func_kwdefaults == each->kwdefaults;
}

static PyObject *
check(PyObject *callable, PyObject *const *Py_UNUSED(args), size_t nargsf, PyObject *names)
{
    NamespaceCheck *self = (NamespaceCheck *)callable;
    if (PyVectorcall_NARGS(nargsf) != 0 || names != NULL) {
        return PyErr_Format(PyExc_TypeError, "a namespace check takes no arguments");
    }
    for (Py_ssize_t i = 0; i < self->function_count; i++) {
        if (!is_unchanged(&self->functions[i])) {
            Py_RETURN_FALSE;
        }
    }
    for (Py_ssize_t i = 0; i < self->namespace_count; i++) {
        int answer = has_known(&self->namespaces[i]);
        if (answer <= 0) {
            return answer < 0 ? NULL : Py_NewRef(Py_False);
        }
    }
    Py_RETURN_TRUE;
}

static int
take_namespaces(NamespaceCheck *self, PyObject *pairs)
{
    Py_ssize_t count = PyList_GET_SIZE(pairs);
    self->namespaces = PyMem_Calloc((size_t)count + 1, sizeof(Namespace));
    if (self->namespaces == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *names, *known, *pair = PyList_GET_ITEM(pairs, i);
        if (!PyTuple_Check(pair)) {
            return answer_refuse(PyExc_TypeError, "a namespace check wants pairs of dictionaries");
        }
        if (!PyArg_ParseTuple(pair, "O!O!:NamespaceCheck", &PyDict_Type, &names, &PyDict_Type,
                              &known)) {
            return -1;
        }
        Namespace *namespace = &self->namespaces[self->namespace_count];
        if (dict_version_watch(names) < 0 || (namespace->known = PyDict_Copy(known)) == NULL) {
            return -1;
        }
        namespace->names = Py_NewRef(names);
        self->namespace_count++;
    }
    return 0;
}

static int
take_functions(NamespaceCheck *self, PyObject *functions)
{
    Py_ssize_t count = PyList_GET_SIZE(functions);
    self->functions = PyMem_Calloc((size_t)count + 1, sizeof(Function));
    if (self->functions == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *each = PyList_GET_ITEM(functions, i);
        if (!PyFunction_Check(each)) {
            return answer_refuse(PyExc_TypeError,
                                 "a namespace check knows functions of Python only");
        }
        PyFunctionObject *function = (PyFunctionObject *)each;
        self->functions[self->function_count++] = (Function){
            .function = Py_NewRef(each),
            .code = Py_NewRef(function->func_code),
            .defaults = Py_XNewRef(function->func_defaults),
            .kwdefaults = Py_XNewRef(function->func_kwdefaults),
        };
    }
    return 0;
}

static PyObject *
new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"namespaces", "functions", NULL};
    PyObject *namespaces, *functions;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!:NamespaceCheck", names, &PyList_Type,
                                     &namespaces, &PyList_Type, &functions)) {
        return NULL;
    }
    NamespaceCheck *self = (NamespaceCheck *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = check;
    if (take_namespaces(self, namespaces) < 0 || take_functions(self, functions) < 0) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static int
traverse(NamespaceCheck *self, visitproc visit, void *arg)
{
    for (Py_ssize_t i = 0; i < self->namespace_count; i++) {
        Py_VISIT(self->namespaces[i].names);
        Py_VISIT(self->namespaces[i].known);
    }
    for (Py_ssize_t i = 0; i < self->function_count; i++) {
        Py_VISIT(self->functions[i].function);
        Py_VISIT(self->functions[i].code);
        Py_VISIT(self->functions[i].defaults);
        Py_VISIT(self->functions[i].kwdefaults);
    }
    return 0;
}

static int
clear(NamespaceCheck *self)
{
    while (self->namespace_count > 0) {
        Namespace *namespace = &self->namespaces[--self->namespace_count];
        Py_CLEAR(namespace->names);
        Py_CLEAR(namespace->known);
    }
    while (self->function_count > 0) {
        Function *function = &self->functions[--self->function_count];
        Py_CLEAR(function->function);
        Py_CLEAR(function->code);
        Py_CLEAR(function->defaults);
        Py_CLEAR(function->kwdefaults);
    }
    return 0;
}

static void
dealloc(NamespaceCheck *self)
{
    PyObject_GC_UnTrack(self);
    clear(self);
    PyMem_Free(self->namespaces);
    PyMem_Free(self->functions);
    Py_TYPE(self)->tp_free(self);
}

static PyTypeObject NamespaceCheck_Type = {
    TYPE(NamespaceCheck),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    CALLED_SLOTS(NamespaceCheck),
    .tp_new = new,
    .tp_dealloc = (destructor)dealloc,
    .tp_traverse = (traverseproc)traverse,
    .tp_clear = (inquiry)clear,
};

const Part namespace_check_part = {.types = {&NamespaceCheck_Type}};
