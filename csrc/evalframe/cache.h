/* The cache: what was captured of a code object, and which of it holds for a call.

     CacheEntry   one capture: a check, the code to run when it passes, for which backend
     CodeCache    the entries of one code object, the one that was used last first

   cache_entry.c says what ends an entry, code_cache.c how one is found, and who hears of it. */

#ifndef STEPPER_CACHE_H
#define STEPPER_CACHE_H

#include "module.h"

typedef struct CodeCache CodeCache;

typedef struct {
    PyObject_HEAD
    PyObject *weak_references;
    CodeCache *cache;    /* in whose entries it is; NULL: in none; borrowed */
    PyObject *original;  /* a weak reference to the code for which it was captured */
    PyCodeObject *code;  /* what runs */
    PyObject *check;     /* check(locals, globals): whether it may */
    PyObject *guards;    /* a tuple of (guard, check), the parts of that check */
    PyObject *backend;   /* NULL: any */
    PyObject *lifelines; /* a list of Lifeline: each ends the entry when its object dies */
    PyObject *reason;    /* why it is not valid any more; NULL: it is */
    unsigned long long hits;
} CacheEntry;

struct CodeCache {
    PyObject_HEAD
    PyCodeObject *code; /* borrowed; NULL: it is gone */
    PyObject *entries;  /* a list */
};

extern PyTypeObject CacheEntry_Type;
extern PyTypeObject CodeCache_Type;

#define is_entry(object) PyObject_TypeCheck(object, &CacheEntry_Type)

/* Whether the entry was captured for this code. */
int cache_entry_is_for(CacheEntry *entry, PyCodeObject *code);

/* Whether the entry's backend is this one (NULL: none is asked for). -1: an exception is set. */
int cache_entry_has_backend(CacheEntry *entry, PyObject *backend);

/* The code goes: so do its entries. */
void code_cache_orphan(CodeCache *cache);

void code_cache_unlink(CodeCache *cache, CacheEntry *entry);

/* The first entry that holds for these locals and globals, counted and moved to the front; a new
   reference. NULL: none does, or an exception is set that no guard may swallow. */
CacheEntry *code_cache_lookup(CodeCache *cache, PyObject *locals, PyObject *globals,
                              PyObject *backend);

/* The entries in the order in which a lookup is going to try them, for code_cache_lookup_ended(). NULL: nobody
   listens, or an exception is set. */
PyObject *code_cache_lookup_begins(CodeCache *cache);

/* Tells the lookup listener how a lookup has ended: with this entry, or with none (NULL), and then
   whether something may be captured. -1: it raised, and the exception is set. */
int code_cache_lookup_ended(PyObject *tried, PyCodeObject *code, PyObject *locals,
                            PyObject *globals, PyObject *backend, CacheEntry *found,
                            int may_capture);

/* Tells the listener, if there is one. */
void code_cache_notify(const char *event, CacheEntry *entry, PyObject *detail);

#endif
