"""Guards and nodes that wait for a commit, there to become rows that hold many of them.

What is handed in is only kept here, a column or an object as it is: it comes in the midst of the
compiler, and to encode it is cheapest for all at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from stepper.model.trace import Node
from stepper.recording.packing import pack
from stepper.recording.schema import MOST_TOGETHER, Guards


class WaitingGuards:
    """Guards by columns, since a tuple for each would wake the garbage collector."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget them."""
        self._rows: list[object] = []
        self._begin(0)

    def add(
        self,
        first: int,
        attempt: int,
        moments: Sequence[int],
        kinds: Sequence[str],
        sources: Sequence[str],
        scopes: Sequence[str],
        lines: Sequence[str],
    ) -> None:
        """Guards of an attempt, by the columns of `stepper.model.trace.Guard`; the first has the
        number `first`, the next the one after it."""
        # Numbers that an exception kept from being handed in are missing.
        if first != self._first + len(self._moments):
            self._end(first)
        self._attempts += [attempt] * len(moments)
        self._moments += moments
        self._kinds += kinds
        self._sources += sources
        self._scopes += scopes
        self._lines += lines

    def take(self) -> list[object]:
        """Rows of table `guards`, one after the other."""
        self._end(0)
        rows, self._rows = self._rows, []
        return rows

    def _begin(self, first: int) -> None:
        self._first = first
        self._attempts: list[int] = []
        self._moments: list[int] = []
        self._kinds: list[str] = []
        self._sources: list[str] = []
        self._scopes: list[str] = []
        self._lines: list[str] = []

    def _end(self, first: int) -> None:
        """Make rows of the guards so far, mostly one; the next guard is `first`."""
        rows: list[object] = []
        for start in range(0, len(self._moments), MOST_TOGETHER):
            part = slice(start, start + MOST_TOGETHER)
            lines = self._lines[part]
            texts = [*dict.fromkeys(lines)]
            places = dict(zip(texts, range(len(texts)), strict=True))
            run = Guards(
                self._attempts[part], self._moments[part], self._kinds[part], self._sources[part],
                self._scopes[part], [*map(places.__getitem__, lines)], texts,
            )  # fmt: skip
            moments = run.moments
            rows += (self._first + start, len(lines), moments[0], moments[-1], pack(run))
        # Now nothing can fail any more: what becomes a row does so once.
        self._rows += rows
        self._begin(first)


class WaitingNodes:
    """Nodes in the order in which they appeared."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self.add = self._nodes.append
        """An FX node, when it is made or gets another name (then as a new one)."""

    def clear(self) -> None:
        """Forget them."""
        self._nodes.clear()

    def take(self) -> list[object]:
        """Rows of table `nodes`, one after the other."""
        rows: list[object] = []
        for start in range(0, len(self._nodes), MOST_TOGETHER):
            part = self._nodes[start : start + MOST_TOGETHER]
            first, last = part[0], part[-1]
            rows += (first.id, len(part), first.appeared, last.appeared, pack(part))
        self._nodes.clear()
        return rows
