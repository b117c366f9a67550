"""What each kind of guard protects against, in one sentence, and where that can be looked up.

Two families of names meet here. A guard is installed by a method of Dynamo's GuardBuilder, e.g.
`CONSTANT_MATCH`; what is run in a lookup are the leaf guards that this method made, e.g.
`EQUALS_MATCH` or `TRUE_MATCH`. The table is kept by hand; tests compare its names with the
installed torch, so that a new kind is noticed.
"""

from __future__ import annotations

import msgspec

from stepper.model.trace import Guard

_PYTHON = "torch/_dynamo/guards.py, GuardBuilder.{}"
_CPP = "torch/csrc/dynamo/guards.cpp, {}"


class Kind(msgspec.Struct, frozen=True):
    """A kind of guard."""

    protects: str
    """What would be wrong without it: the end of "protects against …"."""
    fact: str
    """Where that can be looked up in torch's source."""


HIDING = "NOT_PRESENT_IN_GENERIC_DICT"
"""The kind that looks for an attribute of an object that would hide the one of its class."""

_INSTALLED = {
    "TENSOR_MATCH": "a tensor of another type, dispatch keys (device, layout, autograd), dtype, "
    "requires_grad, number of dimensions, or another size or stride where those are numbers and "
    "not symbols: the graph was traced for this one",
    "TYPE_MATCH": "a value of another type: other methods would be called, other branches taken",
    "ID_MATCH": "another object: what was traced was read from this very one",
    "BUILTIN_MATCH": "another object under this name: the builtin that was traced may have been "
    "replaced",
    "FUNCTION_MATCH": "another function: the one that was traced is part of the graph",
    "CLOSURE_MATCH": "a function with other code: the code that was inlined is part of the graph; "
    "another function object of the same code passes",
    "CLASS_MATCH": "another class under this name: its methods were traced",
    "MODULE_MATCH": "another Python module under this name: its contents were traced",
    "NN_MODULE": "another nn.Module: of another class, in another mode or with hooks; where Dynamo "
    "does not look into modules, another instance",
    "EQUALS_MATCH": "another value: this one is a constant of the graph or decided a branch",
    "CONSTANT_MATCH": "another value: this one is a constant of the graph or decided a branch",
    "CONSTANT_SUBCLASS_MATCH": "another value of this subclass of int, float, str …: its plain "
    "value is a constant of the graph",
    "BOOL_MATCH": "the other truth value: this one decided a branch",
    "NONE_MATCH": "something else than None: a branch was taken on it",
    "NOT_NONE_MATCH": "None where there was a tensor (a gradient, mostly): it was computed with",
    "WEAKREF_ALIVE": "a weakly referenced object that has died since: it was used",
    "HASATTR": "an attribute that appears or is gone: hasattr (or getattr) was answered so",
    "NOT_PRESENT_IN_GENERIC_DICT": "an instance attribute that appears and hides the one of the "
    "class that was traced",
    "DICT_CONTAINS": "a key that appears in a dictionary or is gone: it was asked for",
    "DICT_NOT_CONTAINS": "a key that appears in a dictionary: it was asked for and not there",
    "SET_CONTAINS": "an element that appears in a set or is gone: it was asked for",
    "SET_NOT_CONTAINS": "an element that appears in a set: it was asked for and not there",
    "DICT_KEYS_MATCH": "other keys in a dictionary, or another order: it was iterated over",
    "DICT_VERSION": "any change of a dictionary: it was read as a whole",
    "MAPPING_KEYS_CHECK": "other keys of a mapping proxy, or another order: it was iterated over",
    "SEQUENCE_LENGTH": "another length: loops over it were unrolled, and elements were unpacked",
    "EMPTY_NN_MODULE_HOOKS_DICT": "a hook that is added to a module: there was none to trace",
    "RANGE_ITERATOR_MATCH": "a range iterator that stands elsewhere: its remaining steps were "
    "unrolled",
    "TUPLE_ITERATOR_LEN": "a tuple iterator with another number of elements left: they were "
    "unrolled",
    "LIST_REVERSEITERATOR_LEN": "a reversed list with another number of elements left: they were "
    "unrolled",
    "COUNT_ITERATOR_MATCH": "an itertools.count that stands elsewhere: its next values are "
    "constants",
    "DUPLICATE_INPUT": "two inputs that are no longer one object: the graph has one input for both",
    "SHAPE_ENV": "sizes for which the graph is wrong: the conditions on symbols that code or an "
    "operator relied on",
    "GLOBAL_STATE": "another grad mode, autocast, default dtype, deterministic algorithms, TF32 "
    "and the like: the same code would compute something else",
    "GRAD_MODE": "another grad mode: with gradients, another graph is needed",
    "DETERMINISTIC_ALGORITHMS": "another setting of torch.use_deterministic_algorithms: other "
    "kernels would be chosen",
    "TORCH_FUNCTION_STATE": "other torch function modes, or these being off: they could replace "
    "every call of torch",
    "FSDP_TRAINING_STATE": "another training state of FSDP: other collectives would be run",
    "DEFAULT_DEVICE": "another default device (torch.set_default_device): new tensors would be "
    "made elsewhere",
    "DUAL_LEVEL": "another level of forward-mode differentiation",
    "FUNCTORCH_STACK_MATCH": "other functorch transforms (vmap, grad …) around the call",
    "AUTOGRAD_SAVED_TENSORS_HOOKS": "other hooks on tensors saved for backward: they are traced "
    "into the graph",
    "TENSOR_SUBCLASS_METADATA_MATCH": "a tensor subclass with other metadata: what it is made of "
    "was traced",
    "DTENSOR_SPEC_MATCH": "a DTensor of another mesh, placement or shape: its collectives were "
    "traced",
    "DISPATCH_KEY_SET_MATCH": "another set of dispatch keys: another kernel would be called",
    "FAKE_SCRIPT_TYPE_MATCH": "a TorchScript object of another class",
    "OPAQUE_OBJ_GUARD_FN_MATCH": "an opaque object for which its own guard function answers "
    "otherwise",
    "COW_TENSOR_MATCH": "a tensor that is copied on write, or is so no longer",
    "CURRENT_STREAM_MATCH": "a stream that is the current one, or is so no longer",
}
"""By the method of GuardBuilder that installs the guard."""

_LEAVES = {
    "EQUALS_MATCH": "another value: this one is a constant of the graph or decided a branch",
    "TRUE_MATCH": "False where True decided a branch",
    "FALSE_MATCH": "True where False decided a branch",
    "FLOAT_IS_NAN": "a number where there was a NaN",
    "COMPLEX_IS_NAN": "a number where there was a complex NaN",
    "LENGTH_CHECK": "another length: loops over it were unrolled",
    "DICT_LENGTH": "another number of keys: the dictionary was iterated over, or all of it traced",
    "DICT_MANAGER": "another kind of dictionary, or another number of keys",
    "MAPPING_KEYS_MATCH": "other keys of a mapping proxy, or another order",
    "NO_HASATTR": "an attribute that appears, e.g. a mark on a tensor's dimensions",
    "NOT_NONE": "None where there was something that was used",
    "DYNAMIC_INDICES": "marks on other dimensions (mark_dynamic) than when it was traced",
    "DIMENSION_DYNAMIC_MARKING_GUARD": "marks on other dimensions (mark_dynamic and the like) "
    "than when it was traced",
    "NO_TENSOR_ALIASING": "two inputs that are the same tensor: a change of one would be seen in "
    "the other",
    "OBJECT_ALIASING": "two inputs that are no longer one object: the graph has one input for both",
    "STORAGE_OVERLAPPING": "inputs that share memory otherwise than when it was traced",
    "SYMBOLIC_SHAPE_GUARD": "sizes for which the graph is wrong",
    "LAMBDA_GUARD": "whatever its function decides; sizes, mostly",
    "TORCH_FUNCTION_MODE_STACK": "other torch function modes: they could replace every call",
    "DUAL_LEVEL_MATCH": "another level of forward-mode differentiation",
    "BACKEND": "an entry of another backend: each compiles in its own way",
    "INVALID": "an entry that depends on an object that has died",
}
"""By the name of the leaf guard, where no method of GuardBuilder has it."""

BY_THE_PROGRAM = {
    "TENSOR_SUBCLASS_METADATA_MATCH": "what its __tensor_flatten__ returns beside the tensors is",
    "DTENSOR_SPEC_MATCH": "mesh and placements are",
    "OPAQUE_OBJ_GUARD_FN_MATCH": "what its guard function returns is",
}
"""Kinds that compare what a method of the value's class makes of it: no guard names the attributes
that are a part of that."""

_OURS = {
    "BACKEND": "torch/csrc/dynamo/extra_state.cpp, backend_match",
    "INVALID": "torch/csrc/dynamo/extra_state.cpp, lookup",
    "DICT_MANAGER": "torch/csrc/dynamo/guards.cpp, DictGuardManager",
}
"""Where the rows of a recorded lookup are decided that are no leaf guards."""

KINDS: dict[str, Kind] = {
    **{name: Kind(text, _OURS.get(name) or _CPP.format(name)) for name, text in _LEAVES.items()},
    **{name: Kind(text, _PYTHON.format(name)) for name, text in _INSTALLED.items()},
}
"""Every kind of guard by its name."""

LEAVES: dict[str, tuple[str, ...]] = {
    "TENSOR_MATCH": (
        "TENSOR_MATCH", "ID_MATCH", "NO_HASATTR", "DYNAMIC_INDICES",
        "DIMENSION_DYNAMIC_MARKING_GUARD",
    ),
    "CONSTANT_MATCH": (
        "EQUALS_MATCH", "TRUE_MATCH", "FALSE_MATCH", "NONE_MATCH", "ID_MATCH", "FLOAT_IS_NAN",
        "COMPLEX_IS_NAN",
    ),
    "EQUALS_MATCH": ("EQUALS_MATCH", "FLOAT_IS_NAN", "COMPLEX_IS_NAN"),
    "BOOL_MATCH": ("TRUE_MATCH", "FALSE_MATCH"),
    "SEQUENCE_LENGTH": ("LENGTH_CHECK", "DICT_LENGTH", "TYPE_MATCH", "DICT_MANAGER"),
    "EMPTY_NN_MODULE_HOOKS_DICT": ("LENGTH_CHECK", "DICT_LENGTH"),
    "DICT_KEYS_MATCH": ("DICT_LENGTH", "DICT_MANAGER"),
    "BUILTIN_MATCH": ("ID_MATCH",),
    "FUNCTION_MATCH": ("ID_MATCH",),
    "CLASS_MATCH": ("ID_MATCH",),
    "MODULE_MATCH": ("ID_MATCH",),
    "NN_MODULE": ("ID_MATCH",),
    "CLOSURE_MATCH": ("ID_MATCH",),
    "NOT_NONE_MATCH": ("NOT_NONE",),
    "WEAKREF_ALIVE": ("NOT_NONE",),
    "DUPLICATE_INPUT": ("OBJECT_ALIASING",),
    "HASATTR": ("NO_HASATTR",),
    "DICT_NOT_CONTAINS": ("DICT_CONTAINS",),
    "SET_NOT_CONTAINS": ("SET_CONTAINS",),
    "TYPE_MATCH": ("TYPE_MATCH", "DICT_MANAGER"),
    "CONSTANT_SUBCLASS_MATCH": ("LAMBDA_GUARD",),
    "TENSOR_SUBCLASS_METADATA_MATCH": ("LAMBDA_GUARD",),
    "NOT_PRESENT_IN_GENERIC_DICT": ("DICT_CONTAINS",),
    "SHAPE_ENV": ("LAMBDA_GUARD", "SYMBOLIC_SHAPE_GUARD"),
    "GRAD_MODE": (),
    "DETERMINISTIC_ALGORITHMS": (),
    "FSDP_TRAINING_STATE": (),
    "TORCH_FUNCTION_STATE": ("TORCH_FUNCTION_MODE_STACK",),
    "DUAL_LEVEL": ("DUAL_LEVEL_MATCH",),
    "MAPPING_KEYS_CHECK": ("MAPPING_KEYS_MATCH",),
}  # fmt: skip
"""The leaf guards that a method of GuardBuilder makes on its own value, where they are called
otherwise; none: GLOBAL_STATE checks it."""


_SKIPPED = {
    "EMPTY_NN_MODULE_HOOKS_DICT": "Dynamo makes no check of modules' hooks unless "
    "torch._dynamo.config.skip_nnmodule_hook_guards is False, so one that is added later does not "
    "run",
}
"""Why guards that can be installed make no check, by kind."""


def why_unchecked(guard: Guard) -> str:
    """Why a guard that was installed makes no check; empty: it makes one."""
    return "" if guard.code else _SKIPPED.get(guard.kind, "")


_NEEDLESS = {
    "SHAPE_ENV": "no condition on sizes came up",
    "DUPLICATE_INPUT": "another guard of the entry asks for the same two",
}
"""Why guards that have no code make no check of their own, by kind."""


def why_needless(guard: Guard) -> str:
    """Why what a guard protects against needs no check of its own; empty: it makes one."""
    if guard.kind == "HASATTR" and any(part.startswith("hasattr(") for part in guard.code):
        return "to come to the attribute is the check"
    return "" if guard.code else _NEEDLESS.get(guard.kind, "")


_ASPECTS: dict[str, tuple[str, ...]] = {
    "TYPE_MATCH": ("type",),
    "SEQUENCE_LENGTH": ("type", "length"),
    "TUPLE_ITERATOR_LEN": ("type", "length"),
    "LIST_REVERSEITERATOR_LEN": ("length",),
    "DICT_KEYS_MATCH": ("length", "keys"),
    "MAPPING_KEYS_CHECK": ("length", "keys"),
    "DICT_CONTAINS": ("keys",),
    "DICT_NOT_CONTAINS": ("keys",),
    "SET_CONTAINS": ("elements",),
    "SET_NOT_CONTAINS": ("elements",),
    "HASATTR": ("attributes",),
    "NOT_PRESENT_IN_GENERIC_DICT": ("attributes",),
    "CLOSURE_MATCH": ("code",),
}
"""What of its value a kind makes sure of, where another value may pass besides."""


_OF_CLASS = "___check_type_id("


def aspects_of(guard: Guard) -> tuple[str, ...]:
    """What of its value a guard looks at, e.g. `type`; empty: at the value itself."""
    if guard.kind == "NN_MODULE" and any(part.startswith(_OF_CLASS) for part in guard.code):
        return ("type", "mode", "hooks")
    return _ASPECTS.get(guard.kind, ())


def leaves_of(kind: str) -> tuple[str, ...]:
    """The names of the leaf guards that a kind makes on its own value."""
    return LEAVES.get(kind, (kind,))
