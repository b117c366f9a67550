"""Facts about objects of the program's or the compiler's, kept as long as the object lives.

Objects are told apart by their identity: code objects, for one, are equal when they look alike, and
two functions can look alike. An address alone says nothing, since it is used again when the object
has died. So here it always comes with a weak reference, and what is known of an object goes with
it. Nothing is kept alive by being known.
"""

from __future__ import annotations

import weakref
from types import CodeType
from typing import Generic, TypeVar

from stepper.uncompiled import keep_out

K = TypeVar("K")
T = TypeVar("T")


class PerObject(Generic[K, T]):
    """One value for each object; objects have to allow weak references."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[K], T]] = {}

    def get(self, key: K) -> T | None:
        """The object's value, if it has one."""
        found = self._entries.get(id(key))
        return found[1] if found is not None and found[0]() is key else None

    def set(self, key: K, value: T) -> T:
        """Give the object a value; returns it.

        Raises:
            TypeError: there are no weak references to objects of its type.
        """
        entries, address = self._entries, id(key)

        def gone(reference: weakref.ref[K]) -> None:
            if address in entries and entries[address][0] is reference:
                del entries[address]

        entries[address] = (weakref.ref(key, gone), value)
        return value

    def pop(self, key: K) -> T | None:
        """Forget the object's value; returns it."""
        found = self._entries.get(id(key))
        if found is None or found[0]() is not key:
            return None
        del self._entries[id(key)]
        return found[1]

    def living(self) -> list[K]:
        """The objects that have a value."""
        found = [reference() for reference, _ in list(self._entries.values())]
        return [key for key in found if key is not None]

    def clear(self) -> None:
        """Forget all values."""
        self._entries.clear()


class PerCode(PerObject[CodeType, T]):
    """One value for each code object."""


keep_out()
