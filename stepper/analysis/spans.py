"""What the compiler was at, and when: its phases, the frames that it traced and their lines.

All of it on one clock and properly nested: a frame within the phase that traced it, a line within
its frame, an inlined call within the line that made it, and what the compiler times of itself in
the midst of an instruction within that instruction's line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

from stepper.model.program import Code
from stepper.model.timing import FAKE_TENSORS, RUNS, TRACING, Timing
from stepper.model.trace import Attempt, MomentId, Phase
from stepper.recording.moments import Run
from stepper.recording.reader import Recording


class SpanKind(StrEnum):
    """What is going on; each can hold those that come after it here."""

    PHASE = "phase"
    FRAME = "frame"
    LINE = "line"


class Span:
    """Something that went on for a while."""

    __slots__ = ("began", "children", "ended", "file", "kind", "line", "moment", "name")

    def __init__(
        self,
        kind: SpanKind,
        name: str,
        began: int,
        ended: int,
        moment: MomentId,
        place: tuple[str, int] = ("", 0),
    ) -> None:
        self.kind = kind
        self.name = name
        """The compiler's for a phase, the function's for a frame or a line."""
        self.began = began
        self.ended = ended
        """Nanoseconds on the clock of `Timing.began`."""
        self.moment = moment
        """The first in it; of a phase the newest when it began."""
        self.file, self.line = place
        """A frame has its function's first line; a phase has none."""
        self.children: list[Span] = []

    @property
    def total(self) -> int:
        """Nanoseconds."""
        return self.ended - self.began

    @property
    def own(self) -> int:
        """Nanoseconds in which nothing within it went on."""
        return self.total - sum(child.total for child in self.children)


def spans(recording: Recording) -> dict[str, list[Span]]:
    """The outermost of each thread, in order, with all that they hold; the main thread is the
    empty name. Of an older recording, which has no times, nothing."""
    timings = recording.timings()
    if timings is None:
        return {}
    # The result of a node is the work of the instruction that made it.
    timings = [each for each in timings if each.name not in RUNS | {FAKE_TENSORS}]
    found: dict[str, list[Span]] = {}
    for timing in timings:
        end = timing.began + max(0, timing.nanoseconds)
        span = Span(SpanKind.PHASE, timing.name, timing.began, end, timing.moment)
        found.setdefault(timing.thread, []).append(span)
    tracing = [each for each in timings if each.name == TRACING]
    for item in recording.translations():
        if item.phase is Phase.TRANSLATE and not item.by_hand:
            for attempt in recording.attempts(item.id):
                thread, traced = _traced(recording, attempt, tracing)
                found.setdefault(thread, []).extend(traced)
    return {thread: _nested(each) for thread, each in found.items() if each}


def _traced(
    recording: Recording, attempt: Attempt, tracing: list[Timing]
) -> tuple[str, list[Span]]:
    """The frames and lines of an attempt, and the thread in which it was made."""
    last = attempt.last_moment
    if last is None or last < attempt.first_moment:
        return "", []
    frames = _Frames(recording, attempt.id)
    end = None
    for run in recording.runs(attempt.first_moment, last):
        instants = run.clock.between(run.first, run.first + len(run.frames) - 1)
        if len(instants) != len(run.frames):
            return "", []
        frames.steps(run, instants)
        end = instants[-1]
    phase = next((each for each in tracing if _holds(each, end)), None)
    # The last instruction takes until tracing is over; where no phase says so, it is not known.
    frames.close(end if phase is None else phase.began + phase.nanoseconds)
    return "" if phase is None else phase.thread, frames.found


def _holds(timing: Timing, instant: int | None) -> bool:
    return instant is not None and 0 <= instant - timing.began <= timing.nanoseconds


class _Frames:
    """The frames and lines that are open while moments go by."""

    def __init__(self, recording: Recording, attempt: int) -> None:
        self._recording = recording
        self._attempt = attempt
        self.found: list[Span] = []
        self._open: list[tuple[int, Span, Span]] = []
        """From the outermost: the frame's number, it, and its line."""
        self._at: dict[int, int] = {}
        """The line at which each frame is or was last."""
        self._ways: dict[int, tuple[int, ...]] = {}
        self._lines: dict[int, tuple[Code, list[int]]] = {}

    def steps(self, run: Run, instants: list[int]) -> None:
        """The interpreter goes from one instruction to the next."""
        frame, line, first, own = 0, 0, 0, True
        lines = [0]
        for moment, (number, ip, now) in enumerate(
            zip(run.frames, run.ips, instants, strict=True), run.first
        ):
            if number != frame:
                frame, line = number, 0
                code, lines = self._code(frame)
                first = code.first_line
                # What was translated in the midst of it is told by its own attempt.
                own = self._recording.frame(frame).attempt == self._attempt
            if not own:
                continue
            where = lines[ip] if ip < len(lines) else first
            if where != line:
                line = where
                self._step(frame, line, moment, now)

    def _step(self, frame: int, where: int, moment: MomentId, now: int) -> None:
        """It is at another line or in another frame than before."""
        self._at[frame] = where
        if not self._open or self._open[-1][0] != frame:
            way = self._way(frame)
            shared = 0
            for (number, *_), other in zip(self._open, way, strict=False):
                if number != other:
                    break
                shared += 1
            self._leave(shared, now)
            for number in way[shared:]:
                self._enter(number, moment, now)
        _, span, line = self._open[-1]
        if line.line != where:
            line.ended = now
            self._open[-1] = frame, span, self._begin_line(span, where, moment, now)

    def close(self, now: int | None) -> None:
        """All of it is over."""
        if now is not None:
            self._leave(0, now)

    def _enter(self, frame: int, moment: MomentId, now: int) -> None:
        code, _ = self._code(frame)
        place = code.filename, code.first_line
        span = Span(SpanKind.FRAME, code.label, now, now, moment, place)
        self.found.append(span)
        line = self._begin_line(span, self._at.get(frame, code.first_line), moment, now)
        self._open.append((frame, span, line))

    def _begin_line(self, frame: Span, line: int, moment: MomentId, now: int) -> Span:
        span = Span(SpanKind.LINE, frame.name, now, now, moment, (frame.file, line))
        self.found.append(span)
        return span

    def _leave(self, depth: int, now: int) -> None:
        for _, span, line in self._open[depth:]:
            span.ended = line.ended = now
        del self._open[depth:]

    def _way(self, frame: int) -> tuple[int, ...]:
        """A frame's callers, the outermost first, and it."""
        if frame not in self._ways:
            self._ways[frame] = tuple(each.id for each in self._recording.callers(frame))
        return self._ways[frame]

    def _code(self, frame: int) -> tuple[Code, list[int]]:
        number = self._recording.frame(frame).code
        if number not in self._lines:
            code = self._recording.code(number)
            self._lines[number] = code, code.lines()
        return self._lines[number]


def _nested(found: list[Span]) -> list[Span]:
    """Each within the innermost that holds its beginning; none goes beyond that one's end."""
    # Sorting keeps the order of those that begin together: a frame comes before its line.
    found.sort(key=lambda span: span.began)
    roots: list[Span] = []
    around: list[Span] = []
    for span in found:
        while around and (span.began > around[-1].ended or _is_over(around[-1], span)):
            around.pop()
        if around:
            span.ended = min(span.ended, around[-1].ended)
        (around[-1].children if around else roots).append(span)
        around.append(span)
    return roots


def _is_over(outer: Span, span: Span) -> bool:
    return span.began == outer.ended and not outer.total == 0 == span.total


def walk(roots: Iterable[Span]) -> Iterator[tuple[int, Span]]:
    """All of them with their depth, each before those within it."""
    waiting = [(0, root) for root in reversed(list(roots))]
    while waiting:
        depth, span = waiting.pop()
        yield depth, span
        waiting += [(depth + 1, child) for child in reversed(span.children)]
