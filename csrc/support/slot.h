/* An attribute that is asked of many objects in a row, nearly all of one class.

   A class with `__slots__` says at which place its instances keep each attribute. To find that out
   costs as much as to read the attribute in the ordinary way, so it is done once for a row. */

#ifndef STEPPER_SLOT_H
#define STEPPER_SLOT_H

#include "module.h"

#include <structmember.h>

typedef struct {
    PyObject *name;     /* interned; borrowed */
    PyTypeObject *type; /* that was looked at last, held: an address alone could become another's */
    Py_ssize_t offset;  /* of the attribute in its instances; 0: it has no such place */
} Slot;

static inline void
slot_look_at(Slot *self, PyTypeObject *type)
{
    Py_XSETREF(self->type, (PyTypeObject *)Py_NewRef(type));
    self->offset = 0;
    PyObject *found = _PyType_Lookup(type, self->name);
    if (found == NULL || !Py_IS_TYPE(found, &PyMemberDescr_Type)
        || type->tp_getattro != PyObject_GenericGetAttr
        || !PyType_IsSubtype(type, PyDescr_TYPE(found))) {
        return;
    }
    const PyMemberDef *member = ((PyMemberDescrObject *)found)->d_member;
    if (member->type == T_OBJECT_EX && member->flags == 0) {
        self->offset = member->offset;
    }
}

/* What `object.name` is; a new reference, or NULL with an exception. */
static inline PyObject *
slot_read(Slot *self, PyObject *object)
{
    if (self->type != Py_TYPE(object)) {
        slot_look_at(self, Py_TYPE(object));
    }
    PyObject *value = self->offset == 0 ? NULL : *(PyObject **)((char *)object + self->offset);
    return value != NULL ? Py_NewRef(value) : PyObject_GetAttr(object, self->name);
}

static inline void
slot_release(Slot *self)
{
    Py_CLEAR(self->type);
}

#endif
