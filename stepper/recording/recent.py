"""What was decoded last, up to a limit: a reader's memory does not grow with its recording."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")


class Recent(Generic[T]):
    """By number. Of what has not been asked for lately, the oldest goes when there is too much."""

    def __init__(self, most: int) -> None:
        """`most`: the sizes of all that is kept, together; one thing may be larger."""
        self._most = most
        self._kept: OrderedDict[int, tuple[T, int]] = OrderedDict()
        """The one that was asked for last is the last."""
        self._size = 0

    def __contains__(self, key: int) -> bool:
        return key in self._kept

    def get(self, key: int) -> T | None:
        """What is kept, if it is."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def keep(self, key: int, thing: T, size: int) -> None:
        """Keep it, in place of what was, and let others go."""
        self._size += size - self._kept.pop(key, (None, 0))[1]
        self._kept[key] = (thing, size)
        while self._size > self._most and len(self._kept) > 1:
            self._size -= self._kept.popitem(last=False)[1][1]
