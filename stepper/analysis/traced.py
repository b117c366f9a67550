"""What tracing took, by function where it was inlined, and by instruction.

All calls of a function that the same lines led to are one, so that what a million moments took is
added up once, and asked for by line, by call or by kind of instruction after that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import compress, count, islice, pairwise
from operator import ne, sub
from typing import TYPE_CHECKING, NamedTuple

from stepper.model.timing import FAKE_TENSORS
from stepper.model.trace import Attempt, Frame, MomentId
from stepper.recording.reader import Recording

if TYPE_CHECKING:
    from stepper.analysis.compile_times import Timed


class TracedFrame:
    """A function below the lines that led to it."""

    __slots__ = ("_by_line", "called", "code", "first", "phases", "spent", "total")

    def __init__(self, code: int) -> None:
        self.code = code
        self.spent: dict[int, int] = {}
        """Nanoseconds of each instruction, without those of phases in its midst."""
        self.first: dict[int, MomentId] = {}
        """The first moment of each instruction."""
        self.called: dict[tuple[int, int], TracedFrame] = {}
        """What was inlined, by the line and the code."""
        self.phases: defaultdict[int, list[Timed]] = defaultdict(list)
        """What the compiler timed of itself in the midst of a line's instructions."""
        self.total = 0
        """Nanoseconds with all below it; see `add_up`."""
        self._by_line: dict[int, tuple[MomentId, int]] | None = None

    def add_up(self) -> None:
        """Know what it took with all below it, which know it."""
        phases = sum(phase.total for each in self.phases.values() for phase in each)
        called = sum(frame.total for frame in self.called.values())
        self.total = sum(self.spent.values()) + phases + called

    def by_line(self, lines: list[int]) -> dict[int, tuple[MomentId, int]]:
        """The first moment of each line and the nanoseconds of its own instructions.

        Args:
            lines: that of each instruction; see `line_at`.
        """
        if self._by_line is None:
            found: dict[int, tuple[MomentId, int]] = {}
            known, first = len(lines), self.first
            # In the order in which they were met first.
            for ip, nanoseconds in self.spent.items():
                line = lines[ip] if ip < known else lines[0]
                before = found.get(line)
                found[line] = (
                    (first[ip], nanoseconds)
                    if before is None
                    else (before[0], before[1] + nanoseconds)
                )
            self._by_line = found
        return self._by_line


def line_at(lines: list[int], ip: int) -> int:
    """The line of an instruction; a recording can name one that does not exist."""
    return lines[ip] if ip < len(lines) else lines[0]


class Steps(NamedTuple):
    """The instructions of an attempt, as columns."""

    attempt: Attempt
    phase: Timed | None
    """In which it was made; None: the compiler has not timed it."""
    frames: list[int]
    ips: list[int]
    took: list[int]
    """Nanoseconds of each, without those of phases in its midst."""


class Attempts:
    """Adds up attempts."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._lines: dict[int, list[int]] = {}

    def lines_of(self, code: int) -> list[int]:
        """The line of each of a code's instructions; never empty."""
        if code not in self._lines:
            self._lines[code] = self._recording.code(code).lines()
        return self._lines[code]

    def read(self, attempt: Attempt, phases: Iterable[Timed]) -> Steps | None:
        """An attempt's instructions.

        Args:
            attempt: whose.
            phases: those in which its translation was traced; it belongs to one of them.

        Returns:
            None: not all of them have an instant.
        """
        frames, ips, instants = self._columns(attempt)
        if not instants:
            return None
        phase = next((each for each in phases if _holds(each, instants[-1])), None)
        # Without its end it is not known how long the last took.
        instants.append(instants[-1] if phase is None else phase.timing.began + phase.total)
        took = list(map(sub, islice(instants, 1, None), instants))
        for inner in _apart(phase):
            _take_out(took, instants, inner.timing.began, inner.timing.began + inner.total)
        return Steps(attempt, phase, frames, ips, took)

    def add(self, steps: Steps, root: TracedFrame) -> None:
        """Add an attempt to those that `root` has called; `root` has the phases that began before
        the first instruction."""
        frames, ips, took, attempt = steps.frames, steps.ips, steps.took, steps.attempt
        known = {frame.id: frame for frame in self._recording.frames(attempt.id)}
        nodes: dict[int, TracedFrame | None] = {}
        changes = map(ne, frames, islice(frames, 1, None))
        edges = [0, *compress(count(1), changes), len(frames)]
        for begin, over in pairwise(edges):
            number = frames[begin]
            if number not in nodes:
                self._enter(number, steps, known, root, nodes)
            node = nodes[number]
            if node is None:
                continue  # translated in the midst of this attempt, and told by its own
            spent, part = node.spent, ips[begin:over]
            moments = zip(part, count(attempt.first_moment + begin), strict=False)
            fresh = dict(zip(part, took[begin:over], strict=True))
            if not spent and len(fresh) == over - begin:
                node.spent, node.first = fresh, dict(moments)
                continue
            for ip, nanoseconds in zip(part, took[begin:over], strict=True):
                spent[ip] = spent.get(ip, 0) + nanoseconds
            if not node.first.keys() >= fresh.keys():
                # One by one: a long function is entered again after each of its calls.
                for ip, moment in moments:
                    node.first.setdefault(ip, moment)
        for inner in _apart(steps.phase):
            at = inner.timing.moment - attempt.first_moment
            holder = nodes.get(frames[at]) if 0 <= at < len(frames) else None
            if holder is None:
                root.phases[0].append(inner)
            else:
                holder.phases[line_at(self.lines_of(holder.code), ips[at])].append(inner)

    def _columns(self, attempt: Attempt) -> tuple[list[int], list[int], list[int]]:
        """The frame and the instruction at each moment, and its instant; none: not all have one."""
        frames: list[int] = []
        ips: list[int] = []
        instants: list[int] = []
        last = attempt.last_moment
        if last is not None:
            for run in self._recording.runs(attempt.first_moment, last):
                frames += run.frames
                ips += run.ips
                instants += run.clock.between(run.first, run.first + len(run.frames) - 1)
        return (frames, ips, instants) if len(instants) == len(frames) else ([], [], [])

    def _enter(
        self,
        number: int,
        steps: Steps,
        known: dict[int, Frame],
        root: TracedFrame,
        nodes: dict[int, TracedFrame | None],
    ) -> None:
        """Find the node of a frame, and those of its callers."""
        way: list[tuple[int, int, int]] = []  # the frame, its code, and its call's instruction
        above: int | None = number
        while above is not None and above not in nodes:
            here = known.get(above)
            if here is None:
                nodes[above] = None
                break
            # No frame is entered before its caller.
            parent = here.parent if here.parent is not None and here.parent < above else None
            at = -1 if here.call_moment is None else here.call_moment - steps.attempt.first_moment
            if not 0 <= at < len(steps.frames) or steps.frames[at] != parent:
                parent = None
            way.append((above, here.code, -1 if parent is None else steps.ips[at]))
            above = parent
        node = (nodes[above] if above is not None else None) or root
        for frame, code, ip in reversed(way):
            line = 0 if ip < 0 or node is root else line_at(self.lines_of(node.code), ip)
            below = node.called.get((line, code))
            if below is None:
                below = node.called[line, code] = TracedFrame(code)
            nodes[frame] = node = below


def walk(roots: Iterable[TracedFrame]) -> Iterator[TracedFrame]:
    """All of them, each before those that it called."""
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.called.values()


def _apart(phase: Timed | None) -> Iterator[Timed]:
    """What was done in the midst of an instruction and is not its own work."""
    for inner in phase.children if phase is not None else ():
        if inner.name != FAKE_TENSORS:
            yield inner
        else:
            yield from inner.children


def _holds(phase: Timed, instant: int) -> bool:
    return 0 <= instant - phase.timing.began <= phase.total


def _take_out(took: list[int], instants: list[int], begin: int, over: int) -> None:
    """Leave out of what each took the part that lies between two instants."""
    at = max(0, bisect_right(instants, begin, hi=len(took)) - 1)
    while at < len(took) and instants[at] < over:
        took[at] -= max(0, min(over, instants[at + 1]) - max(begin, instants[at]))
        at += 1
