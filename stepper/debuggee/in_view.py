"""The values of a walk: told as descriptions, numbered for as long as they are in view.

A walk holds no object. It gets descriptions (`Described`), whose `key` says which of them are of
one object. As long as a key is in view (on the stack or among the locals of a frame that was not
left, or inside of something there) it keeps its number; afterwards it is forgotten, since an `id`
may be used again. So the places in which each value stands are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import msgspec

from stepper.model.value import Item, Value, ValueId


class Described(NamedTuple):
    """A value without the value: see the essay on `key`.

    When the very same `Described` is handed in again, it is taken to mean that nothing changed.
    """

    key: Hashable
    value: Value
    """Its `items` are filled in from `children`."""
    children: tuple[tuple[str, Described], ...] = ()
    """What it holds, with labels like `[0]` or `.attr`; without cycles."""
    kind: type | None = None
    """Its exact type, when that is builtin or torch's own."""


class Known:
    """A value that is in view."""

    __slots__ = ("body", "children", "described", "number", "users")

    def __init__(self, number: ValueId) -> None:
        self.number = number
        self.described: Described | None = None
        self.body = 0
        self.children: tuple[Known, ...] = ()
        self.users = 0
        """In how many places it stands."""


class InView:
    """Which values are in view."""

    def __init__(self, body: Callable[[Value], int]) -> None:
        """`body`: stores a description, if it is new, and says under which number."""
        self._body = body
        self._known: dict[Hashable, Known] = {}
        self._count = 0
        self.fresh: list[tuple[ValueId, int]] = []
        """Descriptions that were not told yet: (value, body)."""
        self._left: list[Known] = []
        """Values that have been taken out of others."""

    def know(self, described: Described) -> Known:
        """The value of a description, which is told when it is new."""
        known = self._known.get(described.key)
        if known is None:
            self._count += 1
            known = self._known[described.key] = Known(self._count)
        elif known.described is described:
            return known
        before, known.described = known.described, described
        value = described.value
        if described.children or known.children:
            children = tuple(self.know(child) for _, child in described.children)
            _take(children)
            self._left += known.children
            known.children = children
            items = tuple(
                Item(label, child.number)
                for (label, _), child in zip(described.children, children, strict=True)
            )
            value = msgspec.structs.replace(value, items=items)
        elif before is not None and before.value == value:
            return known
        body = self._body(value)
        if before is None or body != known.body:
            known.body = body
            self.fresh.append((known.number, body))
        return known

    def exchange(self, taken: Sequence[Known], dropped: Sequence[Known]) -> None:
        """Values have moved: these stand in one place more, and those in one place less, like what
        was taken out of others meanwhile."""
        _take(taken)
        if dropped or self._left:
            self.drop([*dropped, *self._left])
            self._left.clear()

    def drop(self, values: Sequence[Known]) -> None:
        """These values stand in one place less; forget those that now stand nowhere."""
        for known in values:
            known.users -= 1
            if known.users == 0 and known.described is not None:
                self._known.pop(known.described.key, None)
                self.drop(known.children)

    def forget(self) -> None:
        """Nothing is in view any more."""
        self._known.clear()


def _take(values: Sequence[Known]) -> None:
    for known in values:
        known.users += 1
