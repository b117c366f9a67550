"""Where compile time went as a flame graph: what the compiler was at, with equal stacks as one."""

from __future__ import annotations

from stepper.analysis.compile_times import CompileTimes, Timed, unnumbered
from stepper.analysis.spans import SpanKind
from stepper.analysis.traced import TracedFrame
from stepper.client.text import source_line
from stepper.model.trace import MomentId
from stepper.support.collecting import uncollected

_NONE: dict[tuple[SpanKind, str, str, int], Flame] = {}
"""What one holds in which there is nothing, as in most lines; never changed."""


class Flame:
    """A phase, a function or a line, below all that led there."""

    __slots__ = ("children", "file", "kind", "line", "moment", "name", "own", "text", "total")

    def __init__(
        self, kind: SpanKind, name: str, moment: MomentId, place: tuple[str, int] = ("", 0)
    ) -> None:
        self.kind = kind
        self.name = name
        self.file, self.line = place
        self.moment = moment
        """The first."""
        self.text = ""
        """A line's source; empty: it is not known."""
        self.total = 0
        """Nanoseconds, of all calls."""
        self.own = 0
        self.children = _NONE

    @property
    def by_time(self) -> list[Flame]:
        """What it holds, the longest first."""
        return sorted(self.children.values(), key=lambda flame: -flame.total)

    def child(
        self, kind: SpanKind, name: str, moment: MomentId, place: tuple[str, int] = ("", 0)
    ) -> Flame:
        """The one of that kind and name at that place."""
        key = kind, name, *place
        found = self.children.get(key)
        if found is None:
            if self.children is _NONE:
                self.children = {}
            found = self.children[key] = Flame(kind, name, moment, place)
        return found


@uncollected()
def flames(times: CompileTimes, least: float = 0) -> list[Flame]:
    """The outermost, the longest first, without what compile workers did meanwhile.

    Args:
        times: what is drawn.
        least: functions that took fewer nanoseconds are left out.
    """
    whole = Flame(SpanKind.PHASE, "", 0)
    waiting: list[tuple[Flame, Timed | TracedFrame]] = [(whole, root) for root in times.roots]
    met: dict[int, TracedFrame] = {}
    if (untimed := times.traced.get(())) is not None:
        waiting += [(whole, frame) for frame in untimed.called.values()]
    while waiting:
        above, each = waiting.pop()
        if isinstance(each, TracedFrame):
            if each.total >= least:
                waiting += _lines(times, above, each)
            continue
        flame = above.child(SpanKind.PHASE, unnumbered(each.name), each.timing.moment)
        flame.total += each.total
        flame.own += each.total
        above.own -= each.total
        root = times.traced_in(each)
        if root is None:
            waiting += [(flame, child) for child in each.children]
        elif id(root) not in met:
            met[id(root)] = root
            flame.own -= sum(frame.total for frame in root.called.values())
            waiting += [(flame, frame) for frame in root.called.values()]
            waiting += [(flame, phase) for phase in root.phases[0]]
    return whole.by_time


def _lines(
    times: CompileTimes, above: Flame, frame: TracedFrame
) -> list[tuple[Flame, Timed | TracedFrame]]:
    """A function's lines, and what is below each."""
    code = times.recording.code(frame.code)
    own = times.lines_of(frame)
    started = min((moment for moment, _ in own.values()), default=0)
    function = above.child(SpanKind.FRAME, code.label, started, (code.filename, code.first_line))
    function.total += frame.total
    lines: dict[int, Flame] = {}
    for line in {**own, **frame.phases, **dict.fromkeys(line for line, _ in frame.called)}:
        moment, nanoseconds = own.get(line, (started, 0))
        flame = function.child(SpanKind.LINE, code.label, moment, (code.filename, line))
        flame.text = source_line(code, line)
        flame.own += nanoseconds
        flame.total += nanoseconds
        lines[line] = flame
    below: list[tuple[Flame, Timed | TracedFrame]] = []
    for (line, _), called in frame.called.items():
        lines[line].total += called.total
        below.append((lines[line], called))
    for line, phases in frame.phases.items():
        for phase in phases:
            lines[line].total += phase.total
            lines[line].own += phase.total  # taken out again where it is told
            below.append((lines[line], phase))
    return below
