/* stepper._C: the parts of the debugger that must not cost the program anything.

   Each file beside this one holds one idea and adds its types and functions to the module through
   one function declared in module.h. */

#include "module.h"

static int (*const parts[])(PyObject *) = {
    stepper_add_steps,       stepper_add_fields,     stepper_add_facts,
    stepper_add_value_stack, stepper_add_frame_hook, stepper_add_cache_entry,
    stepper_add_code_cache,  stepper_add_lookup_report, stepper_add_leaf_checks, stepper_add_hook,
    stepper_add_event_run,   stepper_add_resume_call, stepper_add_instructions, stepper_add_node_words,
    stepper_add_guard_program, stepper_add_code_lines,
};

static int
exec_module(PyObject *module)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i](module) < 0) {
            return -1;
        }
    }
    return 0;
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
