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

/* The names are first: the others use them. */
/* clang-format off */
#define PARTS(X) \
    X(names) X(fields) X(hook) X(processes) X(program_stack) X(shorten) X(shortest) X(sieve) X(stack_chunk) \
    X(thread_frames) X(undisturbed) X(undo) \
    X(code_lines) X(facts) X(instructions) X(node_words) X(unchanged) \
    X(event_run) X(in_view) X(looks) X(moves) X(passage) X(run_times) X(steps) X(walk_moments) \
    X(cache_entry) X(capturing) X(class_check) X(code_cache) X(code_state) X(frame_hook) \
    X(guard_program) X(leaf_checks) X(namespace_check) X(resume_call) \
    X(value_stack)
/* clang-format on */
#define DECLARED(name) extern const Part name##_part;
#define PLACE(name) &name##_part,

PARTS(DECLARED)

static const Part *const parts[] = {PARTS(PLACE)};

static int
add(PyObject *module, const Part *part)
{
    for (PyTypeObject *const *type = part->types; *type != NULL; type++) {
        if (PyModule_AddType(module, *type) < 0) {
            return -1;
        }
    }
    for (const Constant *each = part->constants; each != NULL && each->name != NULL; each++) {
        if (PyModule_AddIntConstant(module, each->name, each->number) < 0) {
            return -1;
        }
    }
    if (part->functions != NULL && PyModule_AddFunctions(module, part->functions) < 0) {
        return -1;
    }
    return part->begin == NULL ? 0 : part->begin(module);
}

static int
exec_module(PyObject *module)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (add(module, parts[i]) < 0) {
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
