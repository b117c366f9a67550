"""Where compile time went, as a report tells it."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median_low

from stepper.analysis.compile_times import CompileTimes
from stepper.analysis.flame import Flame, flames
from stepper.analysis.run_costs import served
from stepper.analysis.spans import SpanKind
from stepper.report import contents
from stepper.report.places import Places
from stepper.report.telling import Told

_LEAST = 0.004
"""Part of the whole below which nothing is told: it would be too narrow to be hit."""
_DEEPEST = 64
_MOST = 40
_MOST_CALLS = 100
"""Entries whose calls are told."""


def compile_times(places: Places) -> contents.CompileTimes | None:
    """The phases and the flame graph; None: no times are recorded."""
    times = CompileTimes(places.recording)
    if not times.roots:
        return None
    phases = [row for row in times.by_phase() if row[3] >= _LEAST * times.total]
    boxes = list(_boxes(places, flames(times)))
    return contents.CompileTimes(
        nanoseconds=times.total,
        phases=tuple(
            contents.PhaseTime(depth, places.tell.own(name), count, total, own)
            for depth, name, count, total, own in phases[:_MOST]
        ),
        flames=tuple(sorted(boxes, key=lambda box: (box.depth, box.left))),
        calls=tuple(_calls(places)),
    )


def _calls(places: Places) -> Iterator[contents.CallCost]:
    for each in served(places.recording)[:_MOST_CALLS]:
        yield contents.CallCost(
            name=places.tell.name(each.name),
            entry=places.tell.own(each.entry),
            calls=each.calls,
            guards=_median(each.guards),
            transformed=_median(each.transformed),
            graphs=_median(each.graphs),
        )


def _median(nanoseconds: list[int]) -> int | None:
    return median_low(nanoseconds) if nanoseconds else None


def _boxes(places: Places, roots: list[Flame]) -> Iterator[contents.FlameBox]:
    whole = sum(root.total for root in roots) or 1
    waiting: list[tuple[int, int, Flame]] = []
    left = 0
    for root in roots:
        waiting.append((0, left, root))
        left += root.total
    while waiting:
        depth, left, flame = waiting.pop()
        if flame.total < _LEAST * whole or depth >= _DEEPEST:
            continue
        yield contents.FlameBox(
            depth=depth,
            left=round(left / whole, 4),
            width=round(flame.total / whole, 4),
            kind=places.tell.own(flame.kind),
            name=_name(places, flame),
            nanoseconds=flame.total,
            own=flame.own,
        )
        for child in flame.by_time:
            waiting.append((depth + 1, left, child))
            left += child.total


def _name(places: Places, flame: Flame) -> Told:
    tell = places.tell
    if flame.kind is SpanKind.PHASE:
        return tell.own(flame.name)
    place = contents.Where(tell.path(flame.file), flame.line, tell.name(flame.name))
    return Told(str(place))
