"""Facts about objects of the program's or the compiler's, kept as long as the object lives.

Objects are told apart by their identity: code objects, for one, are equal when they look alike, and
two functions can look alike. An address alone says nothing, since it is used again when the object
has died. So here it always comes with a weak reference, and what is known of an object goes with
it. Nothing is kept alive by being known.
"""

from __future__ import annotations

import weakref
from types import CodeType
from typing import Any, Generic, TypeVar

from stepper.uncompiled import keep_out

K = TypeVar("K")
T = TypeVar("T")


class _Known(weakref.ref[K], Generic[K, T]):
    """What is known of an object, on the reference to it: a table has one function, and not one for
    each object, that is called when an object dies."""

    __slots__ = ("address", "value")
    address: int
    value: T


class PerObject(Generic[K, T]):
    """One value for each object; objects have to allow weak references."""

    def __init__(self) -> None:
        entries: dict[int, _Known[K, T]] = {}

        def gone(known: Any) -> None:  # when Python ends, `_Known` may be gone before
            if known.address in entries and entries[known.address] is known:
                del entries[known.address]

        self._entries, self._gone = entries, gone

    def get(self, key: K) -> T | None:
        """The object's value, if it has one."""
        found = self._entries.get(id(key))
        return found.value if found is not None and found() is key else None

    def set(self, key: K, value: T) -> T:
        """Give the object a value; returns it.

        Raises:
            TypeError: there are no weak references to objects of its type.
        """
        known: _Known[K, T] = _Known(key, self._gone)
        known.address, known.value = id(key), value
        self._entries[known.address] = known
        return value

    def pop(self, key: K) -> T | None:
        """Forget the object's value; returns it."""
        value = self.get(key)
        if value is not None:
            del self._entries[id(key)]
        return value

    def living(self) -> list[K]:
        """The objects that have a value."""
        found = [known() for known in list(self._entries.values())]
        return [key for key in found if key is not None]

    def clear(self) -> None:
        """Forget all values."""
        self._entries.clear()


class PerCode(PerObject[CodeType, T]):
    """One value for each code object."""


keep_out()
