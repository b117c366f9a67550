/* What each file of the extension adds to the module. Zero: done; -1: an exception is set. */

#ifndef STEPPER_MODULE_H
#define STEPPER_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

int stepper_add_steps(PyObject *module);
int stepper_add_fields(PyObject *module);
int stepper_add_facts(PyObject *module);
int stepper_add_instructions(PyObject *module);
int stepper_add_code_lines(PyObject *module);
int stepper_add_node_words(PyObject *module);
int stepper_add_hook(PyObject *module);
int stepper_add_event_run(PyObject *module);
int stepper_add_resume_call(PyObject *module);
int stepper_add_value_stack(PyObject *module);
int stepper_add_frame_hook(PyObject *module);
int stepper_add_cache_entry(PyObject *module);
int stepper_add_code_cache(PyObject *module);
int stepper_add_lookup_report(PyObject *module);
int stepper_add_leaf_checks(PyObject *module);
int stepper_add_guard_program(PyObject *module);

#endif
