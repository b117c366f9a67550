"""Which frames nobody called, and the code that each runs, of many frames at once.

A frame's code and depth never change, and whoever passes over moments asks for nothing else. They
are read for some thousand frames with consecutive numbers, when one of those is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Set
from typing import NamedTuple

from stepper.model.trace import Frame
from stepper.recording.database import Database

_TOGETHER = 4096
"""Frames that are read at once."""


class _Block(NamedTuple):
    code_of: dict[int, int]
    roots: set[int]


class Outlines:
    """Reads them, and keeps what was read."""

    def __init__(self, database: Database, repeated: Callable[[int, int], Iterable[Frame]]) -> None:
        """
        Args:
            database: of which recording.
            repeated: gives those frames between two numbers that have no rows of their own.
        """
        self._database = database
        self._repeated = repeated
        self._blocks: dict[int, _Block] = {}

    def refresh(self) -> None:
        """Look again where there can be newer frames."""
        if self._blocks:
            del self._blocks[max(self._blocks)]

    def roots(self, frames: Collection[int]) -> Set[int]:
        """Those of some frames that nobody called: each attempt begins with one."""
        return {id for block in self._of(frames) for id in block.roots.intersection(frames)}

    def in_codes(self, frames: Collection[int], codes: Collection[int]) -> Set[int]:
        """Those of some frames that run one of these code objects."""
        blocks = list(self._of(frames))
        return {id for id in frames for block in blocks if block.code_of.get(id) in codes}

    def _of(self, frames: Collection[int]) -> Iterator[_Block]:
        for number in {id // _TOGETHER for id in frames}:
            if number not in self._blocks:
                self._blocks[number] = self._read(number * _TOGETHER)
            yield self._blocks[number]

    def _read(self, first: int) -> _Block:
        last = first + _TOGETHER - 1
        rows = self._database.query(
            tuple[int, int, int],
            "SELECT id, code, depth FROM frame WHERE id BETWEEN ? AND ?",
            (first, last),
        )
        rows += [(frame.id, frame.code, frame.depth) for frame in self._repeated(first, last)]
        return _Block(
            {id: code for id, code, _ in rows}, {id for id, _, depth in rows if not depth}
        )
