"""Where compile time went as a flame graph: what the compiler was at, with equal stacks as one."""

from __future__ import annotations

from stepper.analysis.compile_times import CompileTimes, unnumbered
from stepper.analysis.spans import Span, SpanKind, spans, walk
from stepper.model.trace import MomentId


class Flame:
    """A phase, a function or a line, below all that led there."""

    __slots__ = ("children", "file", "kind", "line", "moment", "name", "own", "total")

    def __init__(self, span: Span) -> None:
        self.kind = span.kind
        self.name = unnumbered(span.name) if span.kind is SpanKind.PHASE else span.name
        self.file, self.line = span.file, span.line
        self.moment: MomentId = span.moment
        """The first."""
        self.total = 0
        """Nanoseconds, of all its spans."""
        self.own = 0
        self.children: dict[tuple[SpanKind, str, str, int], Flame] = {}

    @property
    def by_time(self) -> list[Flame]:
        """What it holds, the longest first."""
        return sorted(self.children.values(), key=lambda flame: -flame.total)


def flames(times: CompileTimes) -> list[Flame]:
    """The outermost, the longest first, without what compile workers did meanwhile."""
    whole = Flame(Span(SpanKind.PHASE, "", 0, 0, 0))
    workers = {root.timing.thread for root in times.beside}
    for thread, roots in spans(times.recording).items():
        if thread in workers:
            continue
        stack = [whole]
        for depth, span in walk(roots):
            del stack[depth + 1 :]
            key = span.kind, unnumbered(span.name), span.file, span.line
            flame = stack[-1].children.get(key)
            if flame is None:
                flame = stack[-1].children[key] = Flame(span)
            flame.total += span.total
            flame.own += span.own
            stack.append(flame)
    return whole.by_time
