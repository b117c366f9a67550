/* stepper._C: the parts of the debugger that must not cost the program anything.

   support/    what the others are built from: containers, packing, versions of CPython, hooks
   describe/   what objects of a compiler are, in words and encoded
   record/     what happens, step by step, as rows of a recording
   evalframe/  what runs: CPython's frames, and the cache of code that runs in their place

   A folder uses those above it, but evalframe/ neither describe/ nor record/. Each file holds one
   idea, and what other files see of it begins with its name: trackers_number() is in trackers.c.
   Types are called as in Python, Steps_Type. Of a library that is made of them all, only
   PyInit__C is seen. */

#include "module.h"

static Part *const parts[] = {
    names_exec,         steps_exec,         fields_exec,
    facts_exec,         value_stack_exec,   frame_hook_exec,
    cache_entry_exec,   code_cache_exec,    lookup_report_exec,
    leaf_checks_exec,   hook_exec,          event_run_exec,
    resume_call_exec,   instructions_exec,  node_words_exec,
    guard_program_exec, code_lines_exec,    sieve_exec,
    class_check_exec,   undo_exec,          in_view_exec,
    moves_exec,         walk_moments_exec,  undisturbed_exec,
    capturing_exec,     shorten_exec,       namespace_check_exec,
    processes_exec,     thread_frames_exec, unchanged_exec,
    shortest_exec,      passage_exec,       looks_exec,
};

static int
exec_module(PyObject *module)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i](module) < 0) {
            return -1;
        }
    }
    /* Of what _C.pyi said when this was built (setup.py). */
    return PyModule_AddIntConstant(module, "INTERFACE", STEPPER_INTERFACE);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, exec_module},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "stepper._C",
    .m_doc = "The C parts of stepper; stepper/_C.pyi describes them.",
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__C(void)
{
    return PyModuleDef_Init(&definition);
}
