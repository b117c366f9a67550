"""The session as something to draw along a line: spans by inline depth, and marks.

A session can hold a hundred thousand moments and ten thousand frames, a terminal has a hundred
columns. What is kept here are sorted lists of numbers: for each depth where frames begin and end,
for each kind of event where it happened. Frames of one depth follow each other (a frame ends
before its next sibling begins), so the frames in a column are found by bisection, and a picture
costs (columns x rows x log n) whatever the zoom, and nothing where nobody looks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from stepper.model.trace import Attempt, EventKind, Frame, MomentId

MARKS = (
    EventKind.GRAPH_BREAK,
    EventKind.RESTART,
    EventKind.INLINE,
    EventKind.GUARD,
    EventKind.NODE,
)
"""The kinds of event that have a row of marks, the rarest first."""


class Run(NamedTuple):
    """Neighbouring columns that show the same thing."""

    first: int
    """First column."""
    last: int
    """Column after the last one."""
    id: int
    """Id of the frame or attempt; of the first one when there are several."""
    number: int
    """How many there are: 1, or more where a column is too narrow to tell them apart."""


@dataclass
class _Track:
    """Spans that do not overlap, in the order of time."""

    firsts: list[int] = field(default_factory=list)
    lasts: list[int | None] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)

    def add(self, id: int, first: int, last: int | None) -> None:
        self.firsts.append(first)
        self.lasts.append(last)
        self.ids.append(id)

    def cut(self, first: int) -> None:
        """Forget the spans that begin at or after `first`."""
        keep = bisect_left(self.firsts, first)
        del self.firsts[keep:], self.lasts[keep:], self.ids[keep:]

    def within(self, low: int, high: int) -> tuple[int, int] | None:
        """Id of the first span that touches [low, high), and how many do; None when none does."""
        end = bisect_left(self.firsts, high)
        begin = bisect_right(self.firsts, low) - 1
        if begin < 0 or not self._reaches(begin, low):
            begin += 1
        if begin >= end:
            return None
        return self.ids[begin], end - begin

    def _reaches(self, index: int, moment: int) -> bool:
        last = self.lasts[index]
        return last is None or last >= moment


class Window(NamedTuple):
    """The part of the session that is drawn, and in how many columns."""

    first: MomentId
    span: int
    """How many moments."""
    width: int

    def column(self, moment: MomentId) -> int:
        """The column of a moment; outside 0…width-1 when it is not in the window."""
        return (moment - self.first) * self.width // max(self.span, 1)

    def moments(self, column: int) -> tuple[MomentId, MomentId]:
        """The moments of a column: the first, and the one after the last; never empty."""
        low = self.first + -(-column * self.span // self.width)
        high = self.first + -(-(column + 1) * self.span // self.width)
        if high > low:
            return low, high
        # Narrower than a moment: this column continues the moment that an earlier one began.
        low = self.first + column * self.span // self.width
        return low, low + 1

    def zoomed(self, factor: float, around: MomentId, newest: MomentId) -> Window:
        """A window with `factor` times as many moments in which `around` keeps its place."""
        span = max(min(round(self.span * factor), newest), min(self.width // 4, newest), 1)
        share = (around - self.first) / max(self.span, 1)
        return Window(round(around - share * span), span, self.width).within(newest)

    def shifted(self, moments: int, newest: MomentId) -> Window:
        """A window moved by so many moments."""
        return self._replace(first=self.first + moments).within(newest)

    def within(self, newest: MomentId) -> Window:
        """This window, moved so that it lies inside the session."""
        span = max(min(self.span, newest), 1)
        first = max(min(self.first, newest - span + 1), 1)
        return Window(first, span, self.width)

    def showing(self, moment: MomentId, newest: MomentId) -> Window:
        """This window, or the nearest one that holds the moment with some room around it."""
        margin = self.span // 8
        if moment < self.first:
            return self._replace(first=moment - margin).within(newest)
        if moment >= self.first + self.span:
            return self._replace(first=moment - self.span + 1 + margin).within(newest)
        return self


class Timeline:
    """What is known of a session's frames, attempts and events, ready to be asked by column."""

    def __init__(self) -> None:
        self._attempts = _Track()
        self._depths: list[_Track] = []
        self._marks: dict[EventKind, Sequence[MomentId]] = {}

    @property
    def depth(self) -> int:
        """How many depths there are: 1 when nothing was inlined, 0 when there is no frame."""
        return len(self._depths)

    def forget_from(self, moment: MomentId) -> None:
        """Drop all spans that begin at or after a moment, to add them anew."""
        self._attempts.cut(moment)
        for track in self._depths:
            track.cut(moment)

    def add_attempt(self, attempt: Attempt, frames: Iterable[Frame]) -> None:
        """Add an attempt, later than all that were added before, with its frames."""
        self._attempts.add(attempt.id, attempt.first_moment, attempt.last_moment)
        for frame in sorted(frames, key=lambda frame: frame.first_moment):
            while len(self._depths) <= frame.depth:
                self._depths.append(_Track())
            last = frame.last_moment if frame.last_moment is not None else attempt.last_moment
            self._depths[frame.depth].add(frame.id, frame.first_moment, last)

    def set_marks(self, kind: EventKind, moments: Sequence[MomentId]) -> None:
        """Say at which moments, in order, the events of a kind happened; it is not copied."""
        self._marks[kind] = moments

    def attempts(self, window: Window) -> list[Run]:
        """The attempts in a window."""
        return _runs(self._attempts, window)

    def spans(self, depth: int, window: Window) -> list[Run]:
        """The frames of a depth in a window."""
        return _runs(self._depths[depth], window) if depth < len(self._depths) else []

    def counts(self, kind: EventKind, window: Window) -> list[int]:
        """How many events of a kind each column of a window holds."""
        moments = self._marks.get(kind, ())
        return [
            bisect_left(moments, high) - bisect_left(moments, low)
            for low, high in map(window.moments, range(window.width))
        ]


def _runs(track: _Track, window: Window) -> list[Run]:
    runs: list[Run] = []
    for column in range(window.width):
        found = track.within(*window.moments(column))
        if found is None:
            continue
        id, count = found
        if runs and runs[-1].last == column and runs[-1].id == id and runs[-1].number == 1 == count:
            runs[-1] = runs[-1]._replace(last=column + 1)
        elif runs and runs[-1].last == column and runs[-1].number > 1 and count > 1:
            runs[-1] = Run(runs[-1].first, column + 1, runs[-1].id, runs[-1].number + count)
        else:
            runs.append(Run(column, column + 1, id, count))
    return runs
