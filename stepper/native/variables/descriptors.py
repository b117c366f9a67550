"""What a class does with its attributes: which are descriptors, and of what kind."""

from __future__ import annotations

import types
from typing import TypeGuard

from stepper.native.guards.class_dicts import has, lookup


def is_data_descriptor(value: object) -> bool:
    """Whether a class's attribute comes before the object's own."""
    kind = type(value)
    return has(kind, "__set__") or has(kind, "__delete__")


def is_slot(value: object) -> bool:
    """Whether a class's attribute is one of `__slots__`; what C keeps may be read-only."""
    return type(value) is types.MemberDescriptorType and "__slots__" in vars(value.__objclass__)


def is_property(value: object, method: str = "__get__") -> TypeGuard[property]:
    """Whether a class's attribute does as a property does, also one of a class of its own."""
    kind = type(value)
    return issubclass(kind, property) and lookup(kind, method) is property.__dict__[method]


def gets_by_python(value: object) -> bool:
    """Whether a class's attribute is a descriptor that runs the program's code, which can say that
    there is no such attribute."""
    return type(lookup(type(value), "__get__")) is types.FunctionType


def is_plain_attribute(value: object) -> bool:
    """Whether a class gives this as it is."""
    return type(value) is types.FunctionType or not has(type(value), "__get__")
