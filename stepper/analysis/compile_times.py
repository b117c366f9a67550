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

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property

import msgspec

from stepper.analysis.traced import Attempts, Steps, TracedFrame, walk
from stepper.client.meant import is_meant
from stepper.model.program import PythonFrame
from stepper.model.timing import (
    ASSEMBLE,
    ATTEMPT,
    BACKEND_PHASES,
    CODEGEN,
    GARBAGE,
    GENERATING,
    RUNS,
    SIDE_EFFECTS,
    TRACING,
    WAITS,
    Timing,
)
from stepper.model.trace import Attempt, MomentId, Outcome, Phase, Translation
from stepper.recording.reader import Recording
from stepper.support.collecting import uncollected
from stepper.support.pythons_own import is_installed

UNFINISHED = "unfinished"
"""The name of what stands for the phases that were not over when the recording ended."""
WORKERS = "async_compile.wait"
COMPILERS = frozenset({"compile_file", WORKERS})
BYTECODE = frozenset({CODEGEN, SIDE_EFFECTS, ASSEMBLE})
_COMPILATION = frozenset({"entire_frame_compile", "entire_backward_compile"})


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
        found = (each for each in self.walk() if each.name.startswith(ATTEMPT))
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
            and is_meant(recording, each, function)
            and each.id > after
        }
        self._own: dict[int, bool] = {}
        self._traced_in: dict[int, TracedFrame] = {}
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

    def spent(self, names: Iterable[str], *, without: Iterable[str] = ()) -> int:
        """Nanoseconds in phases of these names, but for those in their midst that are named to be
        left out."""
        found = [each for root in self.roots for each in root.outermost(names)]
        left_out = sum(each.total for phase in found for each in phase.outermost(without))
        return sum(each.total for each in found) - left_out

    def largest(self, names: Iterable[str], *, without: Iterable[str]) -> tuple[str, int]:
        """The phase that took most by itself, and its nanoseconds, of those of these names and all
        in their midst but for what is named to be left out. An empty name: there is none."""
        found: Counter[str] = Counter()
        left = [each for root in self.roots for each in root.outermost(names)]
        while left:
            phase = left.pop()
            if phase.name not in without:
                found[phase.name] += phase.own
                left += phase.children
        return max(found.items(), key=lambda each: each[1], default=("", 0))

    @property
    def waited(self) -> dict[tuple[str, str], int]:
        """Nanoseconds spent waiting, by the phase's name and the thread: for locks, and for compile
        workers what no phase in the midst of that took; and for the garbage collector."""
        found: Counter[tuple[str, str]] = Counter()
        for root in (*self.roots, *self.beside):
            for each in root.walk():
                if each.name in WAITS or each.name in (WORKERS, GARBAGE):
                    found[each.name, each.timing.thread] += each.own
        return dict(found.most_common())

    @property
    def kernels(self) -> int:
        """How many the backend has counted while it generated code."""
        found = (each for root in self.roots for each in root.outermost({GENERATING}))
        return sum(each.timing.kernels or 0 for each in found)

    @property
    def effects_made(self) -> list[Timed]:
        """What making the bytecode of each side effect took."""
        every = (each for root in self.roots for each in root.walk())
        return [each for each in every if each.timing.side_effect is not None]

    @property
    def guards_made(self) -> list[Timed]:
        """What each guard's making took, of those that are known."""
        every = (each for root in self.roots for each in root.walk())
        return [each for each in every if each.timing.guard is not None]

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

    def traced_in_vain(self) -> int:
        """Nanoseconds that the attempts which a restart ended spent with tracing."""
        ended = (timed for timed, _ in self.thrown_away())
        return sum(each.total for timed in ended for each in timed.outermost({TRACING}))

    def by_function(self) -> list[list[tuple[Translation, Timed]]]:
        """What compiling each function took, the longest first; each compilation in order."""
        groups: dict[tuple[str, int, str], list[tuple[Translation, Timed]]] = defaultdict(list)
        for root in self.roots:
            if (number := self.owner(root)) in self.translations:
                item = self.translations[number]
                groups[item.filename, item.line, item.name].append((item, root))
        return sorted(groups.values(), key=lambda pairs: -sum(root.total for _, root in pairs))

    def by_phase(self) -> list[tuple[int, str, int, int, int]]:
        """The phases of all functions in one tree: depth, name, how often, nanoseconds in all and
        its own; the longest first among those with the same parent."""
        return list(merged(self.roots))

    # By line

    @cached_property
    @uncollected()
    def traced(self) -> dict[tuple[str, ...], TracedFrame]:
        """What tracing took, by the names of the phases in whose midst it was done; without names
        what the compiler has not timed. Each stands for what is above all functions."""
        found: dict[tuple[str, ...], TracedFrame] = {}
        for item in self.translations.values():
            for attempt in self.recording.attempts(item.id):
                steps = self.steps(attempt)
                if steps is not None:
                    way = () if steps.phase is None else self._ways[steps.phase.timing.id]
                    root = found.setdefault(way, TracedFrame(0))
                    self._attempts.add(steps, root)
                    if steps.phase is not None:
                        self._traced_in[steps.phase.timing.id] = root
        for frame in reversed(list(walk(found.values()))):
            frame.add_up()
        return found

    def steps(self, attempt: Attempt) -> Steps | None:
        """An attempt's instructions with what each took; None: that is not recorded."""
        return self._attempts.read(attempt, self._tracing[attempt.translation])

    @cached_property
    def _ways(self) -> dict[int, tuple[str, ...]]:
        """For each phase in which functions were traced the names of all around it, and its own."""
        ways: dict[int, tuple[str, ...]] = {}
        waiting: list[tuple[Timed, tuple[str, ...]]] = [(root, ()) for root in self.roots]
        while waiting:
            each, around = waiting.pop()
            way = (*around, unnumbered(each.name))
            if each.name == TRACING:
                ways[each.timing.id] = way
            waiting += [(child, way) for child in each.children]
        return ways

    @cached_property
    def _tracing(self) -> defaultdict[int | None, list[Timed]]:
        """The phases in which each translation was traced."""
        phases: defaultdict[int | None, list[Timed]] = defaultdict(list)
        for root in self.roots:
            for each in root.walk():
                if each.name == TRACING:
                    phases[each.timing.translation].append(each)
        return phases

    def traced_in(self, phase: Timed) -> TracedFrame | None:
        """What was traced in a phase, and in those like it."""
        return self._traced_in.get(phase.timing.id)

    @cached_property
    def _of_tracing(self) -> list[TracedFrame]:
        """The functions that were traced, not those that were inlined."""
        return [frame for root in self.traced.values() for frame in root.called.values()]

    @cached_property
    def _attempts(self) -> Attempts:
        return Attempts(self.recording)

    def lines_of(self, frame: TracedFrame) -> dict[int, tuple[MomentId, int]]:
        """See `TracedFrame.by_line`."""
        return frame.by_line(self._attempts.lines_of(frame.code))

    @cached_property
    @uncollected()
    def lines(self) -> list[LineTime]:
        """The program's lines by what tracing them took with all that was inlined from there, the
        longest first. A library's are those from which none of the program's led there."""
        lines: dict[tuple[int, int], LineTime] = {}
        # Each function with the lines that led to it, each once, with the moment of the call.
        waiting: list[tuple[TracedFrame, dict[tuple[int, int], MomentId]]] = [
            (frame, {}) for frame in self._of_tracing
        ]
        while waiting:
            frame, callers = waiting.pop()
            spent = self._with_phases(frame)
            own = self._is_own(frame.code)
            above = {each: first for each, first in callers.items() if self._is_own(each[0])}
            told = own or not above
            if told and not own:
                above = callers
            whole = sum(nanoseconds for _, nanoseconds in spent.values())
            for (code, line), first in above.items():
                recursive = spent.get(line, (0, 0))[1] if told and code == frame.code else 0
                self._line(lines, (code, line), first).total += whole - recursive
            for line, (moment, nanoseconds) in spent.items() if told else ():
                mine = self._line(lines, (frame.code, line), moment)
                mine.total += nanoseconds
                mine.own += nanoseconds
            for (line, _), below in frame.called.items():
                first = spent[line][0] if line in spent else 0
                waiting.append((below, {(frame.code, line): first, **callers}))
        return sorted(lines.values(), key=lambda line: -line.total)

    def _with_phases(self, frame: TracedFrame) -> dict[int, tuple[MomentId, int]]:
        """Its lines with what phases in their midst took, but for the backend and for what was
        compiled there itself."""
        if not frame.phases:
            return self.lines_of(frame)
        found = dict(self.lines_of(frame))
        for line, phases in frame.phases.items():
            moment, nanoseconds = found.get(line, (phases[0].timing.moment, 0))
            for phase in phases:
                others = phase.outermost(BACKEND_PHASES | _COMPILATION)
                nanoseconds += phase.total - sum(each.total for each in others)
            found[line] = moment, nanoseconds
        return found

    @cached_property
    def of_lines(self) -> int:
        """Nanoseconds of tracing that are some line's; the rest is what the compiler does before
        the first instruction of an attempt."""
        frames = walk(self._of_tracing)
        return sum(ns for each in frames for _, ns in self._with_phases(each).values())

    @cached_property
    def opnames(self) -> list[tuple[str, int]]:
        """The kinds of instructions with the nanoseconds of all of a kind, the longest first."""
        spent: Counter[str] = Counter()
        for frame in walk(self._of_tracing):
            instructions = self.recording.code(frame.code).instructions
            for ip, nanoseconds in frame.spent.items():
                if ip < len(instructions):
                    spent[instructions[ip].opname] += nanoseconds
        return spent.most_common()

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
        found.moment = min(found.moment, moment)
        return found


def unfinished(translations: Iterable[Translation]) -> list[Translation]:
    """The translations whose time is not known, since the recording ends in their midst."""
    over = (Outcome.RUNNING, Outcome.CUT_OFF)
    return [each for each in translations if each.outcome in over]


def _forest(timings: list[Timing]) -> list[Timed]:
    found = {timing.id: Timed(timing) for timing in timings if timing.name not in RUNS}
    roots = []
    cut: dict[tuple[int | None, str], list[Timed]] = defaultdict(list)
    for each in found.values():
        parent = each.timing.parent
        # A phase begins after the one in whose midst it is.
        if parent is not None and parent < each.timing.id and parent in found:
            found[parent].children.append(each)
        elif parent is not None and each.timing.translation is not None:
            cut[each.timing.translation, each.timing.thread].append(each)
        else:
            roots.append(each)
    return [*roots, *map(_unfinished, cut.values())]


def _unfinished(parts: list[Timed]) -> Timed:
    """One compilation in whose midst the recording ends: a phase is written when it is over, so
    those around these parts are not there."""
    first = parts[0].timing
    over = max(each.timing.began + each.total for each in parts)
    whole = Timed(
        msgspec.structs.replace(
            first,
            name=UNFINISHED,
            nanoseconds=over - first.began,
            left_out=0,
            parent=None,
            guard=None,
            side_effect=None,
            kernels=None,
            cache=None,
        )
    )
    whole.children = parts
    return whole


def _beside(roots: list[Timed]) -> list[Timed]:
    """Those that began while another thread compiled, and are no compilation themselves; waits for
    that are such ones, too."""
    names = {*_COMPILATION, UNFINISHED}
    compiling = [root for root in roots if any(root.outermost(names))]
    found = []
    for root in roots:
        if root.name in WAITS:
            found.append(root)
        elif not any(root.outermost(names)):
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
    return ATTEMPT.rstrip("_") if name.startswith(ATTEMPT) else name
