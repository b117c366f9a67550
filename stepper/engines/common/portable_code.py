"""A code object as bytes that another process can read, without the objects in it.

`marshal` takes constants only. Transformed code can hold others (a type, a device): in their places
stands what they are called, between brackets that no source has.
"""

from __future__ import annotations

import marshal
from types import CodeType
from typing import Any

from stepper.support.words import one_of, plain_text

_CONSTANTS = frozenset({type(None), bool, int, float, complex, str, bytes, type(Ellipsis)})


def to_bytes(code: CodeType) -> bytes:
    """The code, marshalled."""
    return marshal.dumps(_portable(code))


def _portable(value: Any) -> Any:
    kind = type(value)
    if one_of(kind, _CONSTANTS):
        return value
    if kind is tuple:
        return tuple(_portable(item) for item in value)
    if kind is frozenset:
        return frozenset(_portable(item) for item in value)
    if kind is CodeType:
        return value.replace(co_consts=tuple(_portable(item) for item in value.co_consts))
    return f"⟨{plain_text(value)}⟩"
