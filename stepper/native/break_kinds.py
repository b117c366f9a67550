"""What kind a graph break is of, by Dynamo's names.

Both compilers break graphs for the same things, and what is to be done about them is the same; so a
reason here carries the name that Dynamo has for its kind, where it has one. The words of a reason
stay our own. What Dynamo calls the context of a break is told in Dynamo's form, too: which method
of what, which function of which module.
"""

from __future__ import annotations

import builtins
import math
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stepper.support.words import class_name, module_of, qualified_name

if TYPE_CHECKING:
    from stepper.native.variables.base import VariableTracker

BRANCHES = "Data-dependent branching"
ITEM = "Unsupported Tensor.item() call with capture_scalar_outputs=False"
OPERATOR = "Data dependent operator"
SHAPED = "Dynamic shape operator"
ONE_HOT = "Attempted to use `torch.nn.functional.one_hot` with data-dependent output shape"
RAISED = "Observed exception"
SKIPPED = "Attempted to call function marked as skipped"
WITH_THESE_VALUES = "invalid call to builtin op handler"
SORTING = "sort with non-constant keys"
TEXT = "BUILD_STRING type error"
BUILTIN = "Failed to trace builtin operator"
METHOD = "Unsupported method call"
CALL = "Unsupported function call"
OF_GENERATOR = "torch.Generator method"
MANAGER = "Unsupported context manager"
TO_PROXY = "Failed to convert args/kwargs to proxy"
INSTRUCTION = "Missing bytecode handler"
IMPORT = "Import failure"
CLASS = "Invalid call to __build_class__"
OUT = "Shape mismatch with out= tensor variant"
ASKED = "Call to `torch._dynamo.graph_break()`"
SKIP_ASKED = "Call to `torch._dynamo.skip_frame()`"
DISABLING = "Call to `torch.compiler.disable()`"
DISABLED = "Skip calling `torch.compiler.disable()`d function"
WITH_GRADIENT = "Attempted to use tensor creation function with requires_grad=True"
PARAMETER = "Attempted to use `torch.nn.Parameter()` constructor with Dynamo"
CHANGES_MORE = "HOP: Unsafe side effect"

OF_TENSORS = {
    **dict.fromkeys(("item", "tolist", "__int__", "__float__", "__index__", "__complex__"), ITEM),
    "__bool__": BRANCHES,
    "is_nonzero": BRANCHES,
    "equal": OPERATOR,
    "allclose": OPERATOR,
    "backward": "Unsupported Tensor.backward() call",
    "requires_grad_": "Unsupported Tensor.requires_grad_() call",
    "retain_grad": "Tensor.retain_grad() with AOTDispatcher",
    "__deepcopy__": "Attempted to copy.deepcopy a tensor",
}
"""By the method of a tensor that is called."""
OF_ATTRIBUTES = {
    "requires_grad": "setattr() on Tensor.requires_grad",
    "data": "Failed to mutate tensor data attribute",
}
"""By the attribute of a tensor that is set."""

_IN_C = frozenset(
    {
        "builtin_function_or_method", "builtin_method", "cython_function_or_method",
        "instancemethod", "method", "method-wrapper",
    }
)  # fmt: skip
"""Classes of functions that are not written in Python, and of methods of those."""


def is_in_c(kind: type) -> bool:
    """Whether a class is one of functions that are not written in Python, and none of the program's
    that is called so."""
    module = module_of(kind)
    of_cython = type(module) is types.MemberDescriptorType
    own = type(module) is str and module == builtins.__name__
    return class_name(kind) in _IN_C and (of_cython or own)


def type_in_words(tracker: VariableTracker) -> str:
    """The class of what a tracker stands for; empty: it is not known."""
    try:
        return class_name(tracker.python_type())
    except NotImplementedError:
        return ""


def tracker_in_words(tracker: VariableTracker) -> str:
    """Which tracker, of an object of which class."""
    return f"{type(tracker).__name__}({type_in_words(tracker)})"


def method_context(owner: VariableTracker, name: str) -> str:
    """Which method of what is called."""
    return f"call_method {tracker_in_words(owner)} {name}"


def class_in_words(kind: type) -> str:
    """A class, as Python writes one."""
    module = module_of(kind)
    before = f"{module}." if type(module) is str else ""
    return f"<class '{before}{qualified_name(kind)}'>"


def function_context(
    function: Callable[..., object], why: str = "it is not written in Python"
) -> str:
    """Which function it is into which the compiler does not look, and why."""
    module = getattr(function, "__module__", None)
    return (
        f"module: {module or '<unknown module>'}, "
        f"qualname: {getattr(function, '__qualname__', class_name(type(function)))}, "
        f"skip reason: {why}"
    )


def of_function(
    function: Callable[..., object], given: Sequence[str] | None, *, by_name: bool
) -> tuple[str, str]:
    """What kind of break a call of a function in C is, and its context.

    given: the types of its arguments by position; None: there is a tensor among them.
    by_name: whether there are arguments by name.
    """
    name = getattr(function, "__name__", "")
    if given is None and function in (int, float, complex):
        return ITEM, ""
    if given is None and name in OF_TENSORS:
        return OF_TENSORS[name], function_context(function)
    if given is None and function in vars(math).values():
        return OPERATOR, ""
    if builtins.__dict__.get(name) is not function:
        return SKIPPED, function_context(function)
    listed = ", ".join(map(repr, ["Tensor"] if given is None else given))
    context = f"builtin operator `{name}` with argument types [{listed}] (has_kwargs {by_name})"
    return CLASS if function is builtins.__build_class__ else BUILTIN, context
