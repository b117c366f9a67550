"""Reads classes without running code of theirs: a metaclass may answer for `__dict__` itself."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

_DICT: Any = type.__dict__["__dict__"]

MISSING: Any = object()


def class_dict(cls: type) -> MappingProxyType[str, Any]:
    """The class's own attributes."""
    found: MappingProxyType[str, Any] = _DICT.__get__(cls)
    return found


def says_its_class(kind: type) -> bool:
    """Whether `__class__` of the class's objects is of its own making."""
    return lookup(kind.__mro__, "__class__") is not object.__dict__["__class__"]


def lookup(mro: Iterable[type], name: str) -> Any:
    """What the first class that has the name has for it; `MISSING`: none has."""
    return find(mro, name)[1]


def find(mro: Iterable[type], name: str) -> tuple[type, Any]:
    """The first class that has the name, and what it has for it; `(object, MISSING)`: none has."""
    read = _DICT.__get__
    for cls in mro:
        own = read(cls)
        if name in own:
            return cls, own[name]
    return object, MISSING
