"""Tracing as a tree of calls: which lines led to which, and what each took with all below it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from stepper.analysis.compile_times import CompileTimes
from stepper.analysis.flame import Flame, flames
from stepper.analysis.spans import SpanKind
from stepper.model.timing import TRACING
from stepper.model.trace import MomentId
from stepper.support.pythons_own import is_installed

_NEARLY_ALL = 0.95
"""Part of a line's time that one call has where the line only leads on to it."""


class Call(NamedTuple):
    """A row of the tree."""

    depth: int
    name: str
    """The function's."""
    file: str
    line: int
    moment: MomentId
    """The first at the line."""
    total: int
    own: int
    """Nanoseconds."""
    through: int
    """Lines between this one and the row above it that only lead on, and are left out."""


def calls(times: CompileTimes, least: float) -> Iterator[Call]:
    """The lines that took at least so many nanoseconds, each before those that it called."""
    waiting = [(0, line) for line in _under(_traced(flames(times, least)))][::-1]
    while waiting:
        depth, line = waiting.pop()
        first, through = line, 0
        below = _under([line])
        # Wrappers are most of what is between a module and the code in it. A line of the program
        # is not left out for one of a library.
        while (
            below
            and below[0].total >= _NEARLY_ALL * line.total
            and is_installed(line.file) >= is_installed(below[0].file)
        ):
            line, through = below[0], through + 1
            below = _under([line])
        if first.total >= least:
            yield Call(
                depth, line.name, line.file, line.line, line.moment, first.total, line.own, through
            )
            waiting += [(depth + 1, each) for each in reversed(below)]


def _traced(roots: list[Flame]) -> list[Flame]:
    """The phases in which functions were traced."""
    found, waiting = [], list(roots)
    while waiting:
        flame = waiting.pop()
        if flame.kind is SpanKind.PHASE:
            if flame.name == TRACING:
                found.append(flame)
            waiting += flame.children.values()
    return found


def _under(flames: list[Flame]) -> list[Flame]:
    """The lines of the functions that were traced from there, the longest first."""
    lines = [
        line
        for flame in flames
        for frame in flame.children.values()
        if frame.kind is SpanKind.FRAME
        for line in frame.children.values()
    ]
    return sorted(lines, key=lambda line: -line.total)
