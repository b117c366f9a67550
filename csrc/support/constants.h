/* Numbers that Python has from here, under the names that they have here. */

#ifndef STEPPER_CONSTANTS_H
#define STEPPER_CONSTANTS_H

#include "module.h"

typedef struct {
    const char *name;
    long number;
} Constant;

#define CONSTANT_OF(name) {#name, name}

static inline int
constants_add(PyObject *module, const Constant *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (PyModule_AddIntConstant(module, all[i].name, all[i].number) < 0) {
            return -1;
        }
    }
    return 0;
}

#endif
