/* Which texts may hold something that is not to be written.

   All that a recording is told passes through here before it is written, and almost none of it
   holds a secret. So this is a sieve and no judge: it lets a text through when it surely holds
   none, and what stays is looked at by stepper/recording/secrets.py, which is told what kind of
   pattern it was.

   It takes one look at every other byte, for any number of patterns: a bit says whether three
   letters, their case aside, are the first to the third or the second to the fourth of one. A
   pattern has a second to the fourth also if it is three letters long: whatever may follow. */

#include "module.h"

#include "support/grow.h"

#include <stdint.h>
#include <string.h>

enum { GRAM = 3, BITS = 16, FIRST_BITS = 12, MOST = 65536 };

/* What must follow a pattern. */
enum { FOLLOWS_ANYTHING, FOLLOWS_RANDOM, FOLLOWS_VALUE };
enum { LONG_ENOUGH = 12 }; /* letters and digits that look random */

typedef struct {
    char *text;
    size_t size;
    int follows;
    int kind;     /* a bit */
    int32_t next; /* another one that begins alike; -1: none */
} Pattern;

typedef struct {
    PyObject_HEAD
    Pattern *patterns;
    Py_ssize_t count, room;
    int32_t first[1 << FIRST_BITS]; /* a pattern by the hash of how it begins; -1: none */
    uint32_t seen[1 << (BITS - 5)]; /* three letters near the beginning of one, by hash */
} Sieve;

/* Of three letters, the first in the lowest byte; what is above them does not count. */
static inline uint32_t
hash_of(uint32_t gram)
{
    return ((gram | 0x202020) << 8) * 0x9e3779b1u >> (32 - BITS);
}

static inline uint32_t
hash_at(const unsigned char *at)
{
    return hash_of((uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16);
}

/* The same where a fourth byte can be read. */
static inline uint32_t
hash_quickly(const unsigned char *at)
{
#if PY_LITTLE_ENDIAN
    uint32_t four;
    memcpy(&four, at, sizeof four);
    return hash_of(four);
#else
    return hash_at(at);
#endif
}

static int
is_alike(const unsigned char *text, const char *pattern, size_t size, int folded)
{
    if (!folded) {
        return memcmp(text, pattern, size) == 0;
    }
    for (size_t i = 0; i < size; i++) {
        unsigned char letter = text[i];
        if ((letter >= 'A' && letter <= 'Z' ? letter | 0x20 : letter)
            != (unsigned char)pattern[i]) {
            return 0;
        }
    }
    return 1;
}

static int
is_letter_or_digit(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int
is_space(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int
follows_well(const Pattern *pattern, const unsigned char *at, const unsigned char *end)
{
    if (pattern->follows == FOLLOWS_RANDOM) {
        for (int i = 0; i < LONG_ENOUGH; i++) {
            if (at + i >= end || !is_letter_or_digit(at[i])) {
                return 0;
            }
        }
        return 1;
    }
    /* The name ends here: a quote or a sign comes, or in a record the length of its next text. */
    return pattern->follows == FOLLOWS_ANYTHING || at >= end || *at >= 0x80
           || memchr("'\"]=:,)!", *at, 8) != NULL
           || (is_space(*at)
               && (at + 1 >= end || is_space(at[1]) || memchr("=!io:", at[1], 5) != NULL));
}

static inline int
is_seen(const Sieve *self, uint32_t hash)
{
    return self->seen[hash >> 5] >> (hash & 31) & 1;
}

/* The kinds of the patterns that stand there. */
static int
kinds_at(const Sieve *self, const unsigned char *at, const unsigned char *end)
{
    int kinds = 0;
    for (int32_t i = self->first[hash_at(at) >> (BITS - FIRST_BITS)]; i >= 0;
         i = self->patterns[i].next) {
        const Pattern *pattern = &self->patterns[i];
        if (pattern->size <= (size_t)(end - at)
            && is_alike(at, pattern->text, pattern->size, pattern->follows == FOLLOWS_VALUE)
            && follows_well(pattern, at + pattern->size, end)) {
            kinds |= pattern->kind;
        }
    }
    return kinds;
}

/* The kinds of the patterns in some bytes: of all of them, or of the first that is found. */
static int
kinds_in(const Sieve *self, const unsigned char *data, size_t size, int all)
{
    const unsigned char *end = data + size, *at = data;
    int kinds = 0;
    for (;; at += 2) {
        while (at + GRAM < end && !is_seen(self, hash_quickly(at))) {
            at += 2;
        }
        if (at + GRAM > end) {
            break;
        }
        if (is_seen(self, hash_at(at))) {
            kinds |= kinds_at(self, at, end) | (at > data ? kinds_at(self, at - 1, end) : 0);
            if (kinds != 0 && !all) {
                return kinds;
            }
        }
    }
    /* One of three letters may end with the bytes. */
    return at > data && at - 1 + GRAM == end ? kinds | kinds_at(self, at - 1, end) : kinds;
}

/* Whether a value, or one that it holds, may hold a pattern; -1 with an exception. */
static int
is_kept(const Sieve *self, PyObject *value)
{
    if (PyUnicode_Check(value)) {
        Py_ssize_t size;
        const char *data = PyUnicode_AsUTF8AndSize(value, &size);
        if (data == NULL) {
            PyErr_Clear(); /* it cannot be written as it is */
            return 1;
        }
        return kinds_in(self, (const unsigned char *)data, (size_t)size, 0) != 0;
    }
    if (PyBytes_Check(value)) {
        const unsigned char *data = (const unsigned char *)PyBytes_AS_STRING(value);
        return kinds_in(self, data, (size_t)PyBytes_GET_SIZE(value), 0) != 0;
    }
    int kept = 0;
    if (PyList_Check(value) || PyTuple_Check(value)) {
        if (Py_EnterRecursiveCall(" in what is about to be written")) {
            return -1;
        }
        for (Py_ssize_t i = 0; kept == 0 && i < PySequence_Fast_GET_SIZE(value); i++) {
            kept = is_kept(self, PySequence_Fast_GET_ITEM(value, i));
        }
        Py_LeaveRecursiveCall();
    }
    else if (PyDict_Check(value)) {
        PyObject *key, *item;
        Py_ssize_t position = 0;
        if (Py_EnterRecursiveCall(" in what is about to be written")) {
            return -1;
        }
        while (kept == 0 && PyDict_Next(value, &position, &key, &item)) {
            kept = is_kept(self, key);
            kept = kept == 0 ? is_kept(self, item) : kept;
        }
        Py_LeaveRecursiveCall();
    }
    return kept;
}

static void
note(Sieve *self, uint32_t hash)
{
    self->seen[hash >> 5] |= (uint32_t)1 << (hash & 31);
}

static int
add(Sieve *self, PyObject *entry)
{
    const char *text;
    Py_ssize_t size;
    int follows, kind;
    if (!PyTuple_Check(entry)) {
        return answer_refuse(PyExc_TypeError, "a pattern is bytes, what follows, and its kind");
    }
    if (!PyArg_ParseTuple(entry, "y#ii:pattern", &text, &size, &follows, &kind)) {
        return -1;
    }
    if (size < GRAM || self->count >= MOST) {
        return answer_refuse(PyExc_ValueError, "a pattern has at least three bytes");
    }
    char *copy = PyMem_Malloc((size_t)size);
    if (copy == NULL
        || grow_array(&self->patterns, &self->room, self->count + 1, sizeof(Pattern)) < 0) {
        PyMem_Free(copy);
        PyErr_NoMemory();
        return -1;
    }
    memcpy(copy, text, (size_t)size);
    const unsigned char *bytes = (const unsigned char *)copy;
    uint32_t hash = hash_at(bytes);
    int32_t *first = &self->first[hash >> (BITS - FIRST_BITS)];
    self->patterns[self->count] = (Pattern){copy, (size_t)size, follows, kind, *first};
    *first = (int32_t)self->count++;
    note(self, hash);
    for (uint32_t next = 0; next < (size > GRAM ? 1 : 256); next++) {
        uint32_t after = size > GRAM ? bytes[GRAM] : next;
        note(self, hash_of((uint32_t)bytes[1] | (uint32_t)bytes[2] << 8 | after << 16));
    }
    return 0;
}

/* The places among values of those that may hold a secret, or whose parts may. */
static PyObject *
kept(Sieve *self, PyObject *values)
{
    if (!PyList_Check(values)) {
        return PyErr_Format(PyExc_TypeError, "a list of values");
    }
    PyObject *found = PyList_New(0);
    for (Py_ssize_t i = 0; found != NULL && i < PyList_GET_SIZE(values); i++) {
        int keeps = is_kept(self, PyList_GET_ITEM(values, i));
        PyObject *place = keeps > 0 ? PyLong_FromSsize_t(i) : NULL;
        if (keeps < 0 || (keeps > 0 && (place == NULL || PyList_Append(found, place) < 0))) {
            Py_CLEAR(found);
        }
        Py_XDECREF(place);
    }
    return found;
}

/* The kinds of the patterns that a text holds. */
static PyObject *
kinds(Sieve *self, PyObject *text)
{
    if (!PyUnicode_Check(text)) {
        return PyErr_Format(PyExc_TypeError, "a text");
    }
    Py_ssize_t size;
    const char *data = PyUnicode_AsUTF8AndSize(text, &size);
    if (data == NULL) { /* with what is no Unicode: it may be any */
        PyErr_Clear();
        return PyLong_FromLong(-1);
    }
    return PyLong_FromLong(kinds_in(self, (const unsigned char *)data, (size_t)size, 1));
}

static int
sieve_init(Sieve *self, PyObject *args, PyObject *kwargs)
{
    static char *parameters[] = {"patterns", NULL};
    PyObject *patterns;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!:Sieve", parameters, &PyList_Type,
                                     &patterns)) {
        return -1;
    }
    if (self->count > 0) {
        return answer_refuse(PyExc_TypeError, "a Sieve is made once");
    }
    memset(self->first, 0xff, sizeof self->first);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(patterns); i++) {
        if (add(self, PyList_GET_ITEM(patterns, i)) < 0) {
            return -1;
        }
    }
    return 0;
}

static void
sieve_dealloc(Sieve *self)
{
    for (Py_ssize_t i = 0; i < self->count; i++) {
        PyMem_Free(self->patterns[i].text);
    }
    PyMem_Free(self->patterns);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef methods[] = {
    METHOD("kept", kept, METH_O),
    METHOD("kinds", kinds, METH_O),
    {NULL},
};

static PyTypeObject Sieve_Type = {
    TYPE(Sieve),
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)sieve_init,
    .tp_dealloc = (destructor)sieve_dealloc,
    .tp_methods = methods,
};

static const Constant constants[] = {
    CONSTANT_OF(FOLLOWS_ANYTHING),
    CONSTANT_OF(FOLLOWS_RANDOM),
    CONSTANT_OF(FOLLOWS_VALUE),
    {NULL},
};

const Part sieve_part = {.types = {&Sieve_Type}, .constants = constants};
