/* Numbers for the states of dictionaries, where CPython has none any more.

   From 3.14 on CPython tells instead who watches a dictionary, before it changes. One number serves
   all that are watched: whatever is put into any of them gives another one to all. They are
   namespaces, mostly of torch's modules, which hardly ever change once a program runs. There are
   eight watchers for a process. When none is left, no dictionary has a number. */

#include "support/api.h"

#if PY_VERSION_HEX >= 0x030E0000

static int watcher = -1;
static uint64_t changes = 1;

static int
note_change(PyDict_WatchEvent Py_UNUSED(event), PyObject *Py_UNUSED(dict), PyObject *Py_UNUSED(key),
            PyObject *Py_UNUSED(value))
{
    changes++;
    return 0;
}

int
dict_version_watch(PyObject *dict)
{
    if (watcher < 0 && (watcher = PyDict_AddWatcher(note_change)) < 0) {
        PyErr_Clear();
        return 0;
    }
    return PyDict_Watch(watcher, dict);
}

uint64_t
dict_version(PyObject *Py_UNUSED(dict))
{
    return watcher < 0 ? 0 : changes;
}

#endif
