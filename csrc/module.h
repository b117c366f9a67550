/* The files of the extension that add something to the module: `<file>_exec` does. Zero: done; -1:
   an exception is set. */

#ifndef STEPPER_MODULE_H
#define STEPPER_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

typedef int Part(PyObject *module);

Part names_exec, fields_exec, hook_exec, processes_exec, shorten_exec, shortest_exec, sieve_exec,
    thread_frames_exec;
Part undisturbed_exec, undo_exec;
Part code_lines_exec, facts_exec, instructions_exec, node_words_exec, unchanged_exec;
Part event_run_exec, in_view_exec, looks_exec, moves_exec, passage_exec, steps_exec;
Part walk_moments_exec;
Part cache_entry_exec, capturing_exec, class_check_exec, code_cache_exec, frame_hook_exec;
Part guard_program_exec, leaf_checks_exec, lookup_report_exec, namespace_check_exec;
Part resume_call_exec, value_stack_exec;

#endif
