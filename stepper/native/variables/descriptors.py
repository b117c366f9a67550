"""What a class does with its attributes: which are descriptors, and of what kind."""

from __future__ import annotations

import collections
import types
from typing import TypeGuard

from stepper._C import instance_dict
from stepper.native.guards.class_dicts import has, lookup

TUPLE_GETTER: object = type(vars(collections.namedtuple("Example", ["field"]))["field"])
"""The class of what gives an item of a named tuple by its name."""


def is_data_descriptor(value: object) -> bool:
    """Whether a class's attribute comes before the object's own."""
    kind = type(value)
    return has(kind, "__set__") or has(kind, "__delete__")


def is_slot(value: object) -> bool:
    """Whether a class's attribute is one of `__slots__`; what C keeps may be read-only."""
    return type(value) is types.MemberDescriptorType and "__slots__" in vars(value.__objclass__)


def stands_empty(owner: object, name: str) -> bool:
    """Whether nothing is in a slot of an object; the guard of one."""
    slot = lookup(type(owner), name)
    try:
        slot.__get__(owner)  # type: ignore[attr-defined]  # a slot has
    except AttributeError:
        return True
    return False


def held_as(owner: object, name: str) -> object:
    """What an object holds itself under a name, in its dictionary or a slot; None: nothing."""
    slot = lookup(type(owner), name)
    if not is_slot(slot):
        return instance_dict(owner).get(name)
    return None if stands_empty(owner, name) else slot.__get__(owner)  # type: ignore[attr-defined]  # a slot has


def is_property(value: object, method: str = "__get__") -> TypeGuard[property]:
    """Whether a class's attribute does as a property does, also one of a class of its own."""
    kind = type(value)
    return issubclass(kind, property) and lookup(kind, method) is property.__dict__[method]


def gets_by_python(value: object) -> bool:
    """Whether a class's attribute is a descriptor that runs the program's code, which can say that
    there is no such attribute."""
    return type(lookup(type(value), "__get__")) is types.FunctionType


def runs_program(value: object) -> bool:
    """Whether a class's attribute is a data descriptor that runs the program's code: what an
    object's dictionary has by its name is another thing, in which such code often keeps the
    value."""
    kind = type(value)
    by_python = (type(lookup(kind, name)) is types.FunctionType for name in _PROTOCOL)
    return is_data_descriptor(value) and (is_property(value) or any(by_python))


_PROTOCOL = ("__get__", "__set__", "__delete__")


def is_plain_attribute(value: object) -> bool:
    """Whether a class gives this as it is."""
    return type(value) is types.FunctionType or not has(type(value), "__get__")
