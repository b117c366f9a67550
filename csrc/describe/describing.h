/* What the files that describe trackers share; the idea is in facts.c. */

#ifndef STEPPER_DESCRIBING_H
#define STEPPER_DESCRIBING_H

#include "describe/bodies.h"
#include "describe/facts.h"
#include "support/fields.h"
#include "support/names.h"
#include "support/pack.h"
#include "support/plain.h"

/* How trackers of a class are described. */
enum {
    BY_ENGINE,
    BY_NAME,
    AS_SEQUENCE,
    AS_LAZY,
    AS_CONSTANT,
    AS_MAPPING,
    AS_TENSOR,
    AS_SET,
    AS_PARTS,
    AS_CELL
};

enum { MAX_ITEMS = 100 }; /* children shown of one container */

typedef struct {
    PyObject_HEAD
    PyObject *engine;     /* the describer */
    PyTypeObject *base;   /* of all trackers */
    PyTypeObject *module; /* of all modules of the program's, or NULL */
    PyObject *as_module;  /* packed attributes of a value that is one and was not looked at yet */
    PyObject *kinds;      /* class -> (recipe, class name, type name, text) */
    PyObject *mutability; /* class of a mutation type -> (words, whether attributes are stored) */
    PyObject *realized;   /* the engine's: not empty, some lazies are to be shown as before */
    PyObject *lazies;     /* address of a lazy's cache -> weak reference to the lazy */
    PyObject *tensors;    /* a tensor's properties -> (type name, text, packed TensorMeta) */
    Buffer scratch;       /* one that is being made */
    Bodies bodies;
} Facts;

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

/* What there is to say of a tracker beyond its class. */
typedef struct {
    PyObject *type, *text; /* held, or NULL */
    Py_ssize_t length;     /* -1: it has none */
    long long position;    /* of an iterator, -1: it has none */
    Children children;     /* 8 KB: not to be cleared for each description */
} Contents;

/* A tracker's field, borrowed, or NULL where it is missing or None. */
static inline PyObject *
tracker_field(PyObject *tracker, PyObject *name)
{
    PyObject *found = fields_get(tracker, name);
    return found == Py_None ? NULL : found;
}

/* facts.c. */
/* What the engine answered about a class, asked once. Borrowed. */
PyObject *facts_ask_once(Facts *self, PyObject *known, PyObject *question, PyTypeObject *type);
/* The buffer that serves one description after the other; another one for whoever comes here while
   it is in use, since a source can run Python when it is asked for its name. */
Buffer facts_take_scratch(Facts *self);
void facts_give_scratch(Facts *self, Buffer *out);
/* The id of a description, which is stored when it is new. */
uint32_t facts_id_of_packed(Facts *self, const Buffer *out, Children *children);

/* children.c. */
void children_add(Children *children, PyObject *label, Py_ssize_t index, PyObject *tracker);
void children_release(Children *children);
/* The trackers among a tracker's fields. */
void children_add_fields(Facts *self, Children *children, PyObject *tracker);
/* The trackers among attributes. */
void children_add_attributes(Facts *self, Children *children, PyObject *attributes);
/* The trackers among the values of a mapping, under its keys. */
int children_add_items(Facts *self, Children *children, PyObject *items);
int children_number(Children *children, Numbering numbering, void *context);
int children_pack(Buffer *out, Children *children);

/* kinds.c. */
uint32_t kinds_describe(Facts *self, PyObject *tracker, PyObject *kind, int recipe,
                        Numbering numbering, void *context);
uint32_t kinds_describe_constant(Facts *self, PyObject *tracker, PyObject *kind);
/* How changes of the tracker are told, in words (borrowed), and its pending attributes (new), or
   NULL. -1 with an exception; `*words` is NULL for what cannot change. */
int kinds_mutability(Facts *self, PyObject *tracker, PyObject **words, PyObject **attributes);
int kinds_pack_mutability(Buffer *out, PyObject *words);
int kinds_pack_source(Facts *self, Buffer *out, PyObject *tracker);

/* container_kinds.c. */
/* 1 when the tracker has what its recipe says; 0: it does not, nothing is set; -1 with an
   exception. The children may have to be released in each case. */
int container_kinds_contents(Facts *self, PyObject *tracker, PyObject *kind, int recipe,
                             Contents *found);
/* Add the attributes that are pending. */
void container_kinds_add_pending(Facts *self, Contents *found, int recipe, PyObject *attributes);

/* compiler_kinds.c: 0 with `*id` 0 is the engine's to describe. */
int compiler_kinds_tensor(Facts *self, PyObject *tracker, PyObject *kind, uint32_t *id);
int compiler_kinds_lazy(Facts *self, PyObject *tracker, PyObject *kind, PyObject *cache,
                        uint32_t *id);

#endif
