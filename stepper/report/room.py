"""How long a report may be: each of its parts has a share, and what has no room is counted.

A report is sent to people and opened by browsers, so no recording may make one of many megabytes.
What is left out is in the recording, which the full screen shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

from stepper.report.contents import Report

LONGEST = 5_000_000
"""Bytes of a report in any format."""
ROOM = 3_500_000
"""What the records of one may be long, as JSON. A page says more of each."""
_LEAST = 20_000
MOST_TIMES = 100
"""How often something that happened again and again is told."""

_SHARES = {
    "walks": 0.2,
    "timeline": 0.08,
    "causes": 0.12,
    "failed": 0.08,
    "fixed_sizes": 0.06,
    "skipped": 0.03,
    "recompiled": 0.12,
    "entries": 0.03,
    "guards": 0.25,
    "nodes": 0.2,
    "transformed": 0.1,
    "guard_kinds": 0.02,
    "moments": 0.15,
}
"""Each part's. Together they are more than the whole: no recording has much of everything."""

T = TypeVar("T")


class Room:
    """What room there is, and what had none.

    Args:
        size: of all parts together, as JSON.
    """

    def __init__(self, size: int = ROOM) -> None:
        self._left = {part: int(share * size) for part, share in _SHARES.items()}
        self.left_out: dict[str, int] = {}
        """How many records of a part."""

    def left(self, part: str) -> int:
        """How much of a part's share is not used."""
        return self._left[part]

    def take(self, part: str, size: int) -> None:
        """Use some of a part's share."""
        self._left[part] -= size

    def omit(self, part: str, count: int) -> None:
        """Leave records out, as it was known before that they have no room."""
        if count > 0:
            self.left_out[part] = self.left_out.get(part, 0) + count

    def of(self, part: str, records: Iterable[T]) -> tuple[T, ...]:
        """Those for which there is room, from the first on."""
        kept: list[T] = []
        for each in records:
            size = len(msgspec.json.encode(each))
            if size > self._left[part]:
                self._left[part] = 0  # what comes later is not told in its place
                self.omit(part, 1)
            else:
                self._left[part] -= size
                kept.append(each)
        return tuple(kept)


def fitted(gather: Callable[[Room], Report], write: Callable[[Report], str]) -> str:
    """A report that is not too long, whatever is in the recording."""
    size = ROOM
    while True:
        text = write(gather(Room(size)))
        if len(text.encode()) <= LONGEST or size < _LEAST:
            return text
        size //= 2
