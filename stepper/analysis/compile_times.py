"""Where compile time went: by phase, by function, by attempt, and by line of the program.

Two things are recorded on one clock. The compiler's *phases* are what it times of itself, nested as
they are; torch's reach from Dynamo into Inductor's passes. *Moments* have their instants, so an
instruction took as long as it was until the next moment, and the last of an attempt until tracing
was over. What the backend took in the midst of an instruction is the backend's and not that
instruction's.

The clock leaves out the time for which the program stood still, and what noting the instructions
took. It does not leave out what else recording costs, some hundredths of the whole.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from operator import sub

from stepper.client.text import is_installed
from stepper.model.program import PythonFrame
from stepper.model.timing import Timing
from stepper.model.trace import Attempt, Frame, MomentId, Outcome, Phase, Translation
from stepper.recording.reader import Recording

TRACING = "bytecode_tracing"
GUARDS = "build_guards"
BACKEND = frozenset({"backend_compile", "entire_backward_compile"})
"""The call of the backend, and a backward that is compiled when gradients are asked for."""
_COMPILATION = frozenset({"entire_frame_compile", "entire_backward_compile"})
_ATTEMPT = "compile_attempt_"


class Timed:
    """A phase, and those in its midst."""

    def __init__(self, timing: Timing) -> None:
        self.timing = timing
        self.children: list[Timed] = []

    @property
    def name(self) -> str:
        """The compiler's own."""
        return self.timing.name

    @property
    def total(self) -> int:
        """Nanoseconds."""
        return self.timing.nanoseconds

    @property
    def own(self) -> int:
        """Nanoseconds that no phase in its midst took."""
        return max(0, self.total - sum(child.total for child in self.children))

    def walk(self) -> Iterator[Timed]:
        """This phase, then all that lie in its midst."""
        yield self
        for child in self.children:
            yield from child.walk()

    def outermost(self, names: Iterable[str]) -> Iterator[Timed]:
        """The phases of these names, without those within another of them."""
        if self.name in names:
            yield self
            return
        for child in self.children:
            yield from child.outermost(names)

    @property
    def attempts(self) -> list[Timed]:
        """What its attempts took, in order."""
        found = (each for each in self.walk() if each.name.startswith(_ATTEMPT))
        return [each for each in found if each.timing.parent is not None]

    @property
    def translation(self) -> int | None:
        """The translation that was made in it."""
        return next((t for each in self.walk() if (t := each.timing.translation)), None)


class LineTime:
    """A line of the program, and what the compiler spent on it while tracing."""

    def __init__(self, place: PythonFrame, moment: MomentId) -> None:
        self.place = place
        self.moment = moment
        """The first."""
        self.own = 0
        """Nanoseconds for its own instructions."""
        self.total = 0
        """Likewise with all that was inlined from there."""


class CompileTimes:
    """Everything that a recording knows of it. Asked lazily: a front end may want the sum only."""

    def __init__(self, recording: Recording, function: str = "", *, after: int = 0) -> None:
        """
        Args:
            recording: what is asked.
            function: only of functions with this in their name; empty: all.
            after: only what began after this walk, that of a backward too; 0: all.
        """
        since = (recording.translation(after).last_moment or 0) if after else 0
        self.recording = recording
        self.translations: dict[int, Translation] = {
            each.id: each
            for each in recording.translations()
            if each.phase is Phase.TRANSLATE
            and not each.by_hand
            and function in each.name
            and each.id > after
        }
        self._lines: dict[int, list[int]] = {}
        self._own: dict[int, bool] = {}
        timings = recording.timings()
        self.recorded = timings is not None
        """Whether the recording is new enough."""
        roots = [
            root
            for root in _forest(timings or [])
            if (not function or self.owner(root) in self.translations)
            and root.timing.moment >= since
            and (root.translation or after + 1) > after
        ]
        self.beside = _beside(roots)
        """The outermost phases of threads that worked for a compilation of another thread, which
        waited for them or went on meanwhile."""
        aside = {root.timing.id for root in self.beside}
        self.roots = [root for root in roots if root.timing.id not in aside]

    @property
    def total(self) -> int:
        """Nanoseconds, without what was done beside."""
        return sum(root.total for root in self.roots)

    def owner(self, root: Timed) -> int | None:
        """The translation that an outermost phase belongs to, that of a backward's forward, too."""
        if root.translation is not None or not root.timing.compile_id:
            return root.translation
        return next(
            (
                item.id
                for item in reversed(self.translations.values())
                if item.compile_id == root.timing.compile_id
                and item.first_moment <= root.timing.moment
            ),
            None,
        )

    def spent(self, names: Iterable[str]) -> int:
        """Nanoseconds in phases of these names."""
        return sum(each.total for root in self.roots for each in root.outermost(names))

    def thrown_away(self) -> list[tuple[Timed, Attempt]]:
        """The attempts that a restart ended, with what each took, the longest first."""
        found = []
        for root in self.roots:
            of_translation: dict[int, list[Timed]] = defaultdict(list)
            for timed in root.attempts:
                if timed.timing.translation in self.translations:
                    of_translation[timed.timing.translation].append(timed)
            for number, timed_ones in of_translation.items():
                pairs = zip(timed_ones, self.recording.attempts(number), strict=False)
                found += [(timed, attempt) for timed, attempt in pairs if attempt.restart_reason]
        return sorted(found, key=lambda pair: -pair[0].total)

    def by_function(self) -> list[tuple[str, list[tuple[Translation, Timed]]]]:
        """What compiling each function took, the longest first; each compilation in order."""
        groups: dict[tuple[str, int, str], list[tuple[Translation, Timed]]] = defaultdict(list)
        for root in self.roots:
            if (number := self.owner(root)) in self.translations:
                item = self.translations[number]
                groups[item.filename, item.line, item.name].append((item, root))
        ordered = sorted(groups.items(), key=lambda group: -sum(root.total for _, root in group[1]))
        return [(name, pairs) for (_, _, name), pairs in ordered]

    def by_phase(self) -> list[tuple[int, str, int, int, int]]:
        """The phases of all functions in one tree: depth, name, how often, nanoseconds in all and
        its own; the longest first among those with the same parent."""
        return list(merged(self.roots))

    # By line

    @cached_property
    def lines(self) -> list[LineTime]:
        """The program's lines by what tracing them took with all that was inlined from there, the
        longest first. A library's are those from which none of the program's led there."""
        lines: dict[tuple[int, int], LineTime] = {}
        for frame, spent in self._of_frames.items():
            callers = self._callers(frame)
            for line, (moment, nanoseconds) in spent.items():
                key = self.recording.frame(frame).code, line
                way = {**callers, key: moment}
                of_program = {each: first for each, first in way.items() if self._is_own(each[0])}
                for each, first in (of_program or way).items():
                    self._line(lines, each, first).total += nanoseconds
                if key in of_program or not of_program:
                    lines[key].own += nanoseconds
        return sorted(lines.values(), key=lambda line: -line.total)

    @property
    def of_lines(self) -> int:
        """Nanoseconds of tracing that are some line's; the rest is what the compiler does before
        the first instruction of an attempt."""
        return sum(ns for spent in self._of_frames.values() for _, ns in spent.values())

    def _is_own(self, code: int) -> bool:
        if code not in self._own:
            self._own[code] = not is_installed(self.recording.code(code).filename)
        return self._own[code]

    def _line(
        self, lines: dict[tuple[int, int], LineTime], key: tuple[int, int], moment: MomentId
    ) -> LineTime:
        found = lines.get(key)
        if found is None:
            code = self.recording.code(key[0])
            found = lines[key] = LineTime(PythonFrame(code.filename, key[1], code.label), moment)
        return found

    @cached_property
    def _of_frames(self) -> dict[int, dict[int, tuple[MomentId, int]]]:
        """Nanoseconds of each symbolic frame's own instructions by line, with a line's first
        moment."""
        found: dict[int, dict[int, tuple[MomentId, int]]] = defaultdict(dict)
        away = _Intervals(each.timing for root in self.roots for each in root.outermost(BACKEND))
        tracing = _Intervals(
            each.timing for root in self.roots for each in root.walk() if each.name == TRACING
        )
        for item in self.translations.values():
            for attempt in self.recording.attempts(item.id):
                steps = self._steps(attempt, away, tracing)
                number, lines = 0, [0]
                spent: dict[int, tuple[MomentId, int]] = {}
                for moment, (frame, ip, took) in enumerate(steps, attempt.first_moment):
                    if frame != number:
                        number, lines = frame, self._lines_of(frame)
                        # What was translated in the midst of it is told by its own attempt.
                        own = self.recording.frame(frame).attempt == attempt.id
                        spent = found[frame] if own else {}
                    line = lines[ip] if ip < len(lines) else lines[0]
                    first, so_far = spent.get(line, (moment, 0))
                    spent[line] = first, so_far + took
        return found

    def _steps(
        self, attempt: Attempt, away: _Intervals, tracing: _Intervals
    ) -> Iterable[tuple[int, int, int]]:
        """The frame and the instruction at each moment of an attempt, and how long it took."""
        last = attempt.last_moment
        if last is None or last < attempt.first_moment:
            return ()
        frames: list[int] = []
        ips: list[int] = []
        instants: list[int] = []
        for run in self.recording.runs(attempt.first_moment, last):
            frames += run.frames
            ips += run.ips
            instants += run.clock.between(run.first, run.first + len(run.frames) - 1)
        if not instants or len(instants) != len(frames):
            return ()
        end = tracing.end_of(instants[-1])
        # Without its end it is not known how long the last took.
        instants.append(instants[-1] if end is None else end)
        took = list(map(sub, instants[1:], instants))
        for begin, over in away.between(instants[0], instants[-1]):
            at = max(0, bisect_right(instants, begin, hi=len(took)) - 1)
            while at < len(took) and instants[at] < over:
                took[at] -= max(0, min(over, instants[at + 1]) - max(begin, instants[at]))
                at += 1
        return zip(frames, ips, took, strict=True)

    def _lines_of(self, frame: int) -> list[int]:
        """The line of each of a frame's instructions; never empty."""
        number = self.recording.frame(frame).code
        if number not in self._lines:
            self._lines[number] = self.recording.code(number).lines()
        return self._lines[number]

    def _callers(self, frame: int) -> dict[tuple[int, int], MomentId]:
        """The lines that led to a frame, each once, with the moment of the call."""
        found: dict[tuple[int, int], MomentId] = {}
        here: Frame = self.recording.frame(frame)
        # No frame is entered before its caller.
        while here.parent is not None and here.parent < here.id and here.call_moment is not None:
            call = self.recording.moment(here.call_moment)
            here = self.recording.frame(here.parent)
            if call.frame != here.id:
                break
            lines = self._lines_of(here.id)
            line = lines[call.ip] if call.ip < len(lines) else lines[0]
            found.setdefault((here.code, line), call.id)
        return found


def unfinished(translations: Iterable[Translation]) -> list[Translation]:
    """The translations whose time is not known, since the recording ends in their midst."""
    over = (Outcome.RUNNING, Outcome.CUT_OFF)
    return [each for each in translations if each.outcome in over]


def _forest(timings: list[Timing]) -> list[Timed]:
    found = {timing.id: Timed(timing) for timing in timings}
    roots = []
    for each in found.values():
        parent = each.timing.parent
        # A phase begins after the one in whose midst it is.
        if parent is not None and parent < each.timing.id and parent in found:
            found[parent].children.append(each)
        else:
            roots.append(each)
    return roots


def _beside(roots: list[Timed]) -> list[Timed]:
    """Those that began while another thread compiled, and are no compilation themselves."""
    compiling = [root for root in roots if any(root.outermost(_COMPILATION))]
    found = []
    for root in roots:
        if not any(root.outermost(_COMPILATION)):
            for other in compiling:
                since = root.timing.began - other.timing.began
                if other.timing.thread != root.timing.thread and 0 <= since < other.total:
                    found.append(root)
                    break
    return found


def merged(phases: list[Timed], depth: int = 0) -> Iterator[tuple[int, str, int, int, int]]:
    """Phases in one tree; see `CompileTimes.by_phase`."""
    groups: dict[str, list[Timed]] = defaultdict(list)
    for phase in phases:
        groups[unnumbered(phase.name)].append(phase)
    for name, group in sorted(
        groups.items(), key=lambda item: -sum(phase.total for phase in item[1])
    ):
        total, own = sum(phase.total for phase in group), sum(phase.own for phase in group)
        yield depth, name, len(group), total, own
        yield from merged([child for phase in group for child in phase.children], depth + 1)


def unnumbered(name: str) -> str:
    """A phase's name; `compile_attempt_0`, `compile_attempt_1`, … are one."""
    return _ATTEMPT.rstrip("_") if name.startswith(_ATTEMPT) else name


class _Intervals:
    """When phases were under way that do not overlap."""

    def __init__(self, timings: Iterable[Timing]) -> None:
        spans = sorted((each.began, each.began + each.nanoseconds) for each in timings)
        self._begins = [begin for begin, _ in spans]
        self._ends = [end for _, end in spans]

    def between(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """Those of which a part lies between two instants."""
        at = bisect_right(self._ends, begin)
        while at < len(self._begins) and self._begins[at] < end:
            yield self._begins[at], self._ends[at]
            at += 1

    def end_of(self, instant: int) -> int | None:
        """When the one ended that was under way at an instant; None: none was."""
        at = bisect_left(self._begins, instant + 1) - 1
        return self._ends[at] if at >= 0 and instant <= self._ends[at] else None
