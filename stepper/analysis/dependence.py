"""What guards are there for, as far as they travel on values: in recordings of the native engine.

Its trackers carry the guards that they depend on. So it is recorded of each value and node which
guards those are, and of each entry which its output needs and by which a way was chosen; here that
is asked from the guard's side. What Dynamo installs belongs to a whole graph, and so nothing of
this can be said of its guards.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from stepper.model.ranges import Ranges, in_ranges
from stepper.model.trace import Dependence, Guard, MomentId, Translation
from stepper.recording.reader import Recording


class Purpose(StrEnum):
    """What a guard is there for: the first that is true of it."""

    OUTPUT = "output"
    """What the frame returns, hands on or changes depends on it."""
    CHOICE = "choice"
    """A way through the code was chosen by it."""
    WAY = "way"
    """It lies on the way to a value that the output, or a choice, depends on."""
    FRAME = "frame"
    """It is about no value: torch's state, the backend, aliases, relations of sizes."""
    NOTHING = "nothing"
    """Values carry it, and nothing came of them."""
    UNKNOWN = "unknown"
    """No value that was recorded carries it."""


IDLE = (Purpose.NOTHING, Purpose.UNKNOWN)
"""What the output does not depend on, and no choice."""


class Purposed(NamedTuple):
    """A guard, and what it is there for."""

    guard: Guard
    purpose: Purpose
    chosen: MomentId | None = None
    """For a choice, the moment whose instruction went one way by it."""


def purpose_of(guard: Guard, dependence: Dependence) -> Purposed:
    """What a guard of an entry is there for."""
    id = guard.id
    if in_ranges(id, dependence.output):
        return Purposed(guard, Purpose.OUTPUT)
    for choice in dependence.choices:
        if in_ranges(id, choice.guards):
            return Purposed(guard, Purpose.CHOICE, choice.moment)
    if in_ranges(id, dependence.way):
        return Purposed(guard, Purpose.WAY)
    if not guard.source:
        return Purposed(guard, Purpose.FRAME)
    carried = in_ranges(id, dependence.carried)
    return Purposed(guard, Purpose.NOTHING if carried else Purpose.UNKNOWN)


def purposes(recording: Recording, entry: Translation) -> list[Purposed]:
    """What each guard of an entry is there for; empty where that was not recorded."""
    attempts = recording.attempts(entry.id)
    if entry.dependence is None or not attempts:
        return []
    guards = recording.guards(None, attempt=attempts[-1].id)
    return [purpose_of(guard, entry.dependence) for guard in guards]


def depends_on(recording: Recording, attempt: int, ranges: Ranges) -> list[Guard]:
    """The guards that a value or a node of an attempt carries."""
    if not ranges:
        return []
    return [guard for guard in recording.guards_installed(attempt) if in_ranges(guard.id, ranges)]


def nodes_that_need(recording: Recording, guard: Guard) -> list[str]:
    """The nodes of its graph that carry a guard, by name."""
    nodes = recording.nodes(None, attempt=guard.attempt)
    return [node.name for node in nodes if in_ranges(guard.id, node.guards)]
