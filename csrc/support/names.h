/* The names and texts that the extension needs as objects: ID(args) is "args", made when the
   extension is loaded. */

#ifndef STEPPER_NAMES_H
#define STEPPER_NAMES_H

#include "module.h"

/* A name a line, so that two changes that each add one do not meet. */
/* clang-format off */
#define STEPPER_NAMES(X) \
    X(__aenter__), \
    X(__aexit__), \
    X(__code__), \
    X(__dict__), \
    X(__doc__), \
    X(__getattr__), \
    X(__getattribute__), \
    X(_args), \
    X(_backward_hooks), \
    X(_backward_pre_hooks), \
    X(_cache), \
    X(_call_impl), \
    X(_compiled_call_impl), \
    X(_dict), \
    X(_forward_hooks), \
    X(_forward_pre_hooks), \
    X(_frame), \
    X(_input_nodes), \
    X(_kwargs), \
    X(_next), \
    X(_prev), \
    X(_size), \
    X(alert), \
    X(annotations), \
    X(arg), \
    X(args), \
    X(argval), \
    X(attributes), \
    X(block_stack), \
    X(break_down), \
    X(cell), \
    X(cell_contents), \
    X(class_type), \
    X(code), \
    X(constant), \
    X(current_speculation), \
    X(device), \
    X(dict_vt), \
    X(dtype), \
    X(everything), \
    X(example_value), \
    X(exc_type), \
    X(exn_tab_entry), \
    X(f_code), \
    X(fn), \
    X(forward), \
    X(graph), \
    X(id), \
    X(index), \
    X(inner), \
    X(instruction_pointer), \
    X(instructions), \
    X(is_ours), \
    X(items), \
    X(key_text), \
    X(kind), \
    X(layout), \
    X(length), \
    X(local_name), \
    X(lost), \
    X(meta), \
    X(module_type), \
    X(mutability), \
    X(mutation_type), \
    X(muted), \
    X(name), \
    X(node), \
    X(obj_type), \
    X(offset), \
    X(op), \
    X(opname), \
    X(positions), \
    X(pre_existing_contents), \
    X(proxy), \
    X(rank), \
    X(realized), \
    X(requires_grad), \
    X(shape), \
    X(source), \
    X(source_text), \
    X(special), \
    X(stack), \
    X(standing), \
    X(start), \
    X(step), \
    X(stop), \
    X(stride), \
    X(symbolic_locals), \
    X(sync), \
    X(target), \
    X(tensor), \
    X(text), \
    X(training), \
    X(type), \
    X(user_cls), \
    X(val), \
    X(value), \
    X(value_type), \
    X(vt), \
    X(words)
/* clang-format on */

/* Texts that are no identifiers of C. */
#define STEPPER_TEXTS(X)                                                           \
    X(empty, ""), X(at_recursion_limit, "the program was at its recursion limit"), \
        X(out_of_memory, "the program was out of memory")

typedef struct {
#define MEMBER(name, ...) *name
    PyObject STEPPER_NAMES(MEMBER), STEPPER_TEXTS(MEMBER);
#undef MEMBER
} Names;

extern Names names_made;

#define ID(name) names_made.name

#endif
