"""What a graph break is about, told in Dynamo's form.

The words of a reason are our own. What Dynamo calls the context of a break (which method of what,
which function of which module) is told as Dynamo tells it, beside its name for the kind: what is
advised looks at both.
"""

from __future__ import annotations

import builtins
import math
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from stepper.support import break_kinds
from stepper.support.words import class_name, module_of, qualified_name

if TYPE_CHECKING:
    from stepper.native.variables.base import VariableTracker

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
        return break_kinds.ITEM, ""
    if given is None and name in break_kinds.OF_TENSORS:
        return break_kinds.OF_TENSORS[name], function_context(function)
    if given is None and function in vars(math).values():
        return break_kinds.OPERATOR, ""
    if builtins.__dict__.get(name) is not function:
        return break_kinds.SKIPPED, function_context(function)
    listed = ", ".join(map(repr, ["Tensor"] if given is None else given))
    context = f"builtin operator `{name}` with argument types [{listed}] (has_kwargs {by_name})"
    return (
        break_kinds.CLASS if function is builtins.__build_class__ else break_kinds.BUILTIN,
        context,
    )
