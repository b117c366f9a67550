"""The session as something to draw along a line: spans by inline depth, and marks.

A session can hold a hundred thousand moments and ten thousand frames, a terminal has a hundred
columns. What is kept here are sorted lists of numbers: for each depth where frames begin and end,
for each kind of event where it happened. Frames of one depth follow each other (a frame ends
before its next sibling begins), so the frames in a column are found by bisection, and a picture
costs (columns x rows x log n) whatever the zoom, and nothing where nobody looks.

Walks can lie inside of each other: transformed code calls a function, whose lookup, translation and
execution are walks of their own. Their frames stand below the frame that led to them, and among the
attempts the innermost is seen.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from stepper.model.trace import Attempt, EventKind, Frame, MomentId
from stepper.recording.catalog import Span
from stepper.recording.events import EventMoments

LOOKUP_MARKS = (EventKind.INVALIDATE, EventKind.GUARD_FAIL, EventKind.HIT)
"""The kinds of event of the cache's that share a row of marks, the rarest first."""

MARKS = (
    EventKind.GRAPH_BREAK,
    EventKind.RESTART,
    EventKind.INLINE,
    EventKind.GUARD,
    EventKind.NODE,
)
"""The kinds of event that have a row of marks, the rarest first."""


DEEPEST = 1000
"""Frames are not drawn deeper than that, whatever a damaged recording says: each depth is a row."""


_NEVER = 2**63 - 1
"""When something ends that has not ended."""

Add = Callable[[int], None]

Marks = Sequence[MomentId] | EventMoments
"""When something happened, again and again."""


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


class _Track:
    """Spans that do not overlap, in the order of time."""

    def __init__(self) -> None:
        self.firsts = array("q")
        self.lasts = array("q")
        self.ids = array("q")

    def add(self, id: int, first: int, last: int) -> None:
        self.firsts.append(first)
        self.lasts.append(last)
        self.ids.append(id)

    def cut(self, first: int) -> None:
        """Forget the spans that begin at or after `first`."""
        keep = bisect_left(self.firsts, first)
        del self.firsts[keep:], self.lasts[keep:], self.ids[keep:]

    def put_inside(self, id: int, first: int, last: int) -> None:
        """Add a span that may lie inside of an earlier one, which then goes on after it."""
        at = len(self.firsts) - 1
        if at < 0 or self.lasts[at] < first:  # mostly
            self.add(id, first, last)
            return
        at = bisect_right(self.firsts, first) - 1
        if at < 0 or not self._reaches(at, first):
            self.add(id, first, last)
            return
        outer, end = self.ids[at], self.lasts[at]
        self.lasts[at] = first - 1
        pieces = [(id, first, last)]
        if end > last:
            pieces.append((outer, last + 1, end))
        if self.firsts[at] == first:
            del self.firsts[at], self.lasts[at], self.ids[at]
            at -= 1
        for number, piece in enumerate(pieces, at + 1):
            self.ids.insert(number, piece[0])
            self.firsts.insert(number, piece[1])
            self.lasts.insert(number, piece[2])

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
        return self.lasts[index] >= moment


class _Walk(NamedTuple):
    top: int
    frames: Callable[[], Iterable[Frame]]

    def depth_at(self, moment: MomentId) -> int:
        """The depth of its innermost frame at a moment."""
        inside = (
            frame.depth
            for frame in self.frames()
            if frame.first_moment <= moment
            and (frame.last_moment is None or frame.last_moment >= moment)
        )
        return self.top + max(inside, default=0)


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
        self._marks: dict[EventKind, Marks] = {}
        self._newest: dict[tuple[str, int], _Walk] = {}
        """The newest walk of each thread and level."""
        self._tops: dict[int, int] = {}

    @property
    def depth(self) -> int:
        """How many depths there are: 1 when nothing was inlined, 0 when there is no frame."""
        return len(self._depths)

    def forget_from(self, moment: MomentId) -> None:
        """Drop all spans that begin at or after a moment, to add them anew."""
        self._attempts.cut(moment)
        for track in self._depths:
            track.cut(moment)

    def add_attempt(
        self, attempt: Attempt, frames: Iterable[Frame], *, thread: str = "", level: int = 0
    ) -> None:
        """Add an attempt that begins later than all that were added before, with its frames; else
        as `begin`."""
        frames = sorted(frames, key=lambda frame: frame.first_moment)
        self.begin(attempt, lambda: frames, thread=thread, level=level)
        end = attempt.last_moment
        self.add_frames(
            (
                each.id, attempt.id, each.depth, each.first_moment,
                end if each.last_moment is None else each.last_moment,
            )
            for each in frames
        )  # fmt: skip

    def begin(
        self,
        attempt: Attempt,
        frames: Callable[[], Iterable[Frame]],
        *,
        thread: str = "",
        level: int = 0,
    ) -> None:
        """Add an attempt that begins later than all that were added before, without its frames.

        Args:
            attempt: the attempt.
            frames: gives its frames; asked when a walk lies inside of it.
            thread: name of the thread in which it was made.
            level: how many walks of that thread it lies inside of.
        """
        around = self._newest.get((thread, level - 1)) if level else None
        top = around.depth_at(attempt.first_moment) + 1 if around else 0
        self._newest[thread, level] = _Walk(top, frames)
        if top:
            self._tops[attempt.id] = top
        last = _NEVER if attempt.last_moment is None else attempt.last_moment
        self._attempts.put_inside(attempt.id, attempt.first_moment, last)

    def add_frames(self, frames: Iterable[Span]) -> None:
        """Add frames of attempts that have been added, in the order in which they were entered."""
        tracks, tops = self._depths, self._tops
        of_depths: dict[int, tuple[Add, Add, Add]] = {}  # of each depth, how one more is added
        for id, attempt, depth, first, last in frames:
            at = depth + tops[attempt] if attempt in tops else depth
            if at not in of_depths:
                place = max(0, min(at, DEEPEST))
                tracks += (_Track() for _ in range(len(tracks), place + 1))
                track = tracks[place]
                of_depths[at] = track.ids.append, track.firsts.append, track.lasts.append
            add_id, add_first, add_last = of_depths[at]
            add_id(id)
            add_first(first)
            add_last(_NEVER if last is None else last)

    def top(self, attempt: int) -> int:
        """The depth at which an attempt's outermost frame is drawn: 0 for what lies inside of
        nothing.
        """
        return self._tops.get(attempt, 0)

    def set_marks(self, kind: EventKind, moments: Marks) -> None:
        """Say at which moments, in order, the events of a kind happened; it is not copied."""
        self._marks[kind] = moments

    def has_any(self, kinds: Iterable[EventKind]) -> bool:
        """Whether anything of these kinds has happened."""
        return any(self._marks.get(kind) for kind in kinds)

    def attempts(self, window: Window) -> list[Run]:
        """The attempts in a window."""
        return _runs(self._attempts, window)

    def spans(self, depth: int, window: Window) -> list[Run]:
        """The frames of a depth in a window."""
        return _runs(self._depths[depth], window) if depth < len(self._depths) else []

    def counts(self, kind: EventKind, window: Window) -> list[int]:
        """How many events of a kind each column of a window holds."""
        moments = self._marks.get(kind)
        if not moments:
            return [0] * window.width
        bounds = [window.moments(column) for column in range(window.width)]
        before = {at: _before(moments, at) for at in {*chain.from_iterable(bounds)}}
        return [before[high] - before[low] for low, high in bounds]


def _before(moments: Marks, moment: MomentId) -> int:
    """How many of them were before another."""
    if isinstance(moments, EventMoments):
        return moments.before(moment)
    return bisect_left(moments, moment)


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
