#include "support/names.h"

#define NAME(name) #name
#define TEXT(name, text) text

static const char *const texts[] = {STEPPER_NAMES(NAME), STEPPER_TEXTS(TEXT)};

Names names_made;

static int
begin(PyObject *Py_UNUSED(module))
{
    PyObject **places = (PyObject **)&names_made;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (places[i] == NULL && (places[i] = PyUnicode_InternFromString(texts[i])) == NULL) {
            return -1;
        }
    }
    return 0;
}

const Part names_part = {.begin = begin};
