"""What a library has put into its classes, and programs can replace.

The translator knows what `Module.__call__`, `Tensor.__add__` or `no_grad.__enter__` do, and does
not interpret them. That holds for what the library itself has put there, and as long as it is
there. So before one of them is taken for known it is looked up: a method in C belongs to a class
that cannot be changed; a function stands in the file of its class and is named after it, which no
wrapper around it does, however well it dresses. What is in the class is checked with the class
(`class_dicts`); a function's code and defaults, which can be replaced in place, are guarded here.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from stepper._C import ClassCheck, NamespaceCheck
from stepper.native.exc import Unsupported, unimplemented
from stepper.native.guards.class_dicts import (
    MISSING,
    class_dict,
    find,
    has,
    is_fixed,
    module_of,
    order_of,
)
from stepper.native.guards.of_torch import guard_function, is_of_torch, require_function
from stepper.native.versions import TensorBase
from stepper.support.words import Classes

if TYPE_CHECKING:
    from stepper.native.protocols import Output

_IN_C = Classes(
    types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType,
    types.MemberDescriptorType,
)  # fmt: skip


def is_original(output: Output, cls: type, name: str, of: type | None = None) -> bool:
    """Whether what a class has under a name is the library's own, or nothing; guarded.

    of: the class from which it must come.
    """
    owner, found = find(cls, name)
    if found is MISSING:
        return of is None
    if of is not None and owner is not of:
        return False
    if is_fixed(owner):
        return True
    kind = type(found)
    if kind in _IN_C:
        return is_fixed(found.__objclass__) or found.__objclass__ is owner
    if kind is types.FunctionType:
        return _stays_own(output, owner, found)
    if kind is classmethod or kind is staticmethod:
        function = found.__func__
        return type(function) is types.BuiltinFunctionType or _stays_own(output, owner, function)
    if kind is property:
        parts = (found.fget, found.fset)
        return all(each is None or _stays_own(output, owner, each) for each in parts)
    if kind is types.BuiltinFunctionType:
        return str(found.__module__).partition(".")[0] == module_of(owner).partition(".")[0]
    return False


_SHOWN = frozenset(
    {
        "__repr__", "__str__", "__format__", "__dir__", "__deepcopy__", "__reduce_ex__",
        "__setstate__", "__doc__", "__module__", "__annotations__", "backward",
        "__slotnames__", "__annotations_cache__",
    }
)  # fmt: skip
"""What torch does not call where an operator runs, and others like to replace; and what Python
itself notes in a class, when an object is copied or pickled, or annotations are read."""


_OF_TENSORS = dict(class_dict(torch.Tensor))


def replaced_in_tensors() -> str:
    """What in `torch.Tensor` is not torch's own, so that running an operator may run code of the
    program; empty: nothing."""
    return "" if _tensors_are_original() else next(_foreign(torch.Tensor), "")


def _foreign(cls: type) -> Iterator[str]:
    for name, found in class_dict(cls).items():
        known = name in _OF_TENSORS or name.startswith("__") or has(TensorBase, name)
        if known and name not in _SHOWN and not _is_of_tensors(cls, name, found):
            yield name


def _is_of_tensors(cls: type, name: str, found: Any) -> bool:
    kind = type(found)
    if kind is types.FunctionType:
        return _is_own(cls, found)
    if kind is property:
        return _is_own(cls, found.fget)
    return found is _OF_TENSORS.get(name, MISSING)


_tensors_are_original = ClassCheck(torch.Tensor, lambda cls: not any(_foreign(cls)))


def require(output: Output, cls: type, *names: str) -> None:
    """Make sure that all these of a class are the library's own.

    Raises:
        Unsupported: one is not.
    """
    for name in names:
        if not is_original(output, cls, name):
            raise unimplemented(f"{cls.__name__}.{name}, which is not the library's own")


def _is_own(owner: type, function: object) -> bool:
    if type(function) is not types.FunctionType:
        return False
    library = module_of(owner).partition(".")[0]
    file = getattr(sys.modules.get(function.__module__), "__file__", None)
    if function.__module__.partition(".")[0] != library or function.__code__.co_filename != file:
        return False
    return any(
        function.__qualname__.startswith(f"{each.__qualname__}.") for each in order_of(owner)
    )


def _stays_own(output: Output, owner: type, function: Any) -> bool:
    """Whether a function is its class's own, and calls nothing of the program's; what could change
    that is guarded."""
    if not _is_own(owner, function):
        return False
    if not is_of_torch(function):
        guard_function(output, function, NamespaceCheck([], [function]))
        return True
    try:
        require_function(output, function)
    except Unsupported:
        return False
    return True
