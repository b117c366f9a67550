"""Facts about code objects, kept as long as the code lives.

Code objects are equal when they look alike, and two functions can look alike; so here they are told
apart by their identity.
"""

from __future__ import annotations

import weakref
from types import CodeType
from typing import Generic, TypeVar

T = TypeVar("T")


class PerCode(Generic[T]):
    """One value for each code object."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[CodeType], T]] = {}

    def get(self, code: CodeType) -> T | None:
        """The code's value, if it has one."""
        found = self._entries.get(id(code))
        return found[1] if found is not None and found[0]() is code else None

    def set(self, code: CodeType, value: T) -> T:
        """Give the code a value; returns it."""
        entries, key = self._entries, id(code)

        def gone(reference: weakref.ref[CodeType]) -> None:
            if key in entries and entries[key][0] is reference:
                del entries[key]

        entries[key] = (weakref.ref(code, gone), value)
        return value

    def codes(self) -> list[CodeType]:
        """The codes that have a value."""
        found = [reference() for reference, _ in list(self._entries.values())]
        return [code for code in found if code is not None]

    def clear(self) -> None:
        """Forget all values."""
        self._entries.clear()
