/* Names and texts that a file needs as objects: made once, when the module is. */

#ifndef STEPPER_NAMES_H
#define STEPPER_NAMES_H

#include "module.h"

typedef struct {
    PyObject **place;
    const char *text;
} Name;

/* Intern what is not yet; -1 with an exception. */
static inline int
stepper_intern(PyObject **place, const char *text)
{
    return *place == NULL && (*place = PyUnicode_InternFromString(text)) == NULL ? -1 : 0;
}

/* The same of a list of names. */
static inline int
stepper_intern_names(const Name *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (stepper_intern(names[i].place, names[i].text) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The same of places in a row. */
static inline int
stepper_intern_row(PyObject **places, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (stepper_intern(&places[i], texts[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

#endif
