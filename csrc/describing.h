/* What the files that describe trackers share; the idea is in facts.c. */

#ifndef STEPPER_DESCRIBING_H
#define STEPPER_DESCRIBING_H

#include "bodies.h"
#include "facts.h"
#include "pack.h"
#include "plain.h"

/* stepper.debuggee.faces.Recipe */
enum { SPECIAL = 0, NAMED = 1, SEQUENCE = 2, LAZY = 3, CONSTANT = 4, MAPPING = 5, TENSOR = 6,
       SET = 7, PARTS = 8, CELL = 9 };
enum { MAX_ITEMS = 100 };   /* stepper.debuggee.faces.MAX_ITEMS */

typedef struct {
    PyObject_HEAD
    PyObject *engine;     /* the describer */
    PyTypeObject *base;   /* of all trackers */
    PyObject *kinds;      /* class -> (recipe, class name, type name, text) */
    PyObject *mutability; /* class of a mutation type -> (words, whether attributes are stored) */
    Buffer scratch;       /* one that is being made */
    Bodies bodies;
    PyObject *realized;   /* the engine's: not empty, some lazies are to be shown as before */
    PyObject *lazies;     /* address of a lazy's cache -> weak reference to the lazy */
    PyObject *tensors;    /* a tensor's properties -> (type name, text, packed TensorMeta) */
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

/* The names of fields and of the engine's functions, interned. */
extern PyObject *str_source, *str_mutation_type, *str_cache, *str_vt, *str_items, *str_index,
    *str_name, *str_kind, *str_special, *str_mutability, *str_words, *str_attributes,
    *str_source_text, *str_realized, *str_value, *str_value_type, *str_key_text, *str_tensor,
    *str_proxy, *str_node;
/* Fields that may say what a tracker stands for. */
enum { TELLING = 8 };
extern PyObject *telling[TELLING];

/* children.c. */
int describing_init(void);
/* A tracker's field, borrowed, or NULL where it is missing or None. */
PyObject *field(PyObject *tracker, PyObject *name);
/* What the engine answered about a class, asked once. Borrowed. */
PyObject *answer_of(Facts *self, PyObject *known, PyObject *question, PyTypeObject *type);
int pack_source(Facts *self, Buffer *out, PyObject *tracker);
void add_child(Children *children, PyObject *label, Py_ssize_t index, PyObject *tracker);
void release_children(Children *children);
/* The trackers among a tracker's fields. */
void add_fields(Facts *self, Children *children, PyObject *tracker);
/* The trackers among attributes. */
void add_attributes(Facts *self, Children *children, PyObject *attributes);
/* The trackers among the values of a mapping, under its keys. */
int add_items(Facts *self, Children *children, PyObject *items);
int number_children(Children *children, Numbering numbering, void *context);
int pack_children(Buffer *out, Children *children);

/* kinds.c. */
uint32_t describe_plainly(Facts *self, PyObject *tracker, PyObject *kind, int recipe,
                          Numbering numbering, void *context);
uint32_t describe_constant(Facts *self, PyObject *tracker, PyObject *kind);
/* How changes of the tracker are told, in words (borrowed), and its pending attributes (new), or
   NULL. -1 with an exception; `*words` is NULL for what cannot change. */
int mutability_of(Facts *self, PyObject *tracker, PyObject **words, PyObject **attributes);
int pack_mutability(Buffer *out, PyObject *words);

/* container_kinds.c. */
int container_kinds_init(void);
/* 1 when the tracker has what its recipe says; 0: it does not, nothing is set; -1 with an exception.
   The children may have to be released in each case. */
int contents_of(Facts *self, PyObject *tracker, PyObject *kind, int recipe, Contents *found);
/* Add the attributes that are pending. */
void add_pending(Facts *self, Contents *found, int recipe, PyObject *attributes);

/* compiler_kinds.c: 0 with `*id` 0 is the engine's to describe. */
int compiler_kinds_init(void);
int describe_tensor(Facts *self, PyObject *tracker, PyObject *kind, uint32_t *id);
int describe_lazy(Facts *self, PyObject *tracker, PyObject *kind, PyObject *cache, uint32_t *id);

/* The buffer that serves one description after the other; another one for whoever comes here while
   it is in use, since a source can run Python when it is asked for its name. */
Buffer take_scratch(Facts *self);
void give_scratch(Facts *self, Buffer *out);

/* facts.c: the id of a description, which is stored when it is new. */
uint32_t id_of_packed(Facts *self, const Buffer *out, Children *children);

#endif
