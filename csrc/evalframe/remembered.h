/* What was found at the last look, and is there still; see remembered.c. */

#ifndef STEPPER_REMEMBERED_H
#define STEPPER_REMEMBERED_H

#include "module.h"

typedef struct {
    PyObject *found;    /* borrowed: what is in one of these two states holds it */
    uint64_t dict;      /* that of the dictionary in which it was; 0: none */
    unsigned int owner; /* that of the class whose attribute it is; 0: none */
    unsigned int cls;   /* that of the object's class when `plain` was found; 0: none */
    int plain;          /* whether the class leaves the attribute to its objects */
} Remembered;

/* An item of a dictionary; a new reference, or NULL, with an exception where the key has raised
   one. */
PyObject *remembered_item(Remembered *, PyObject *dict, PyObject *key);

/* `object.name`; a new reference, or NULL with an exception. The name is interned. */
PyObject *remembered_attribute(Remembered *, PyObject *object, PyObject *name);

/* Whether a key is in a container, or that it is not; 1, 0, or -1 with an exception. */
int remembered_membership(Remembered *, PyObject *container, PyObject *key, int is_in);

/* Whether `list(container)` is equal to a list; 1, 0, or -1 with an exception. */
int remembered_keys(Remembered *, PyObject *container, PyObject *list);

/* Whether `object.name` raises an AttributeError; 1, 0, or -1 with an exception. */
int remembered_lack(Remembered *, PyObject *object, PyObject *name);

#endif
