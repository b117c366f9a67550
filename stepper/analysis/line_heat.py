"""What tracing took in one frame, by its lines: what the gutter of its source shows."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import msgspec

from stepper.analysis.compile_times import CompileTimes
from stepper.analysis.traced import line_at
from stepper.model.trace import Phase
from stepper.recording.reader import Recording


class Heat(NamedTuple):
    """Nanoseconds for a line of a frame."""

    own: int
    """Its own instructions."""
    total: int
    """With all that was inlined from there; those of all lines are what the frame took."""


def line_heat(recording: Recording, frame: int) -> dict[int, Heat]:
    """By line; of a frame that is not over, so far. Nothing where no times are recorded, and of a
    lookup or an execution, which are not timed by instruction.

    What the compiler times of itself in the midst of an instruction, as the backend, is not in it.

    Args:
        recording: what is asked.
        frame: the frame's id, of this call alone.
    """
    found = recording.frame(frame)
    attempt = recording.attempt(found.attempt)
    if recording.translation(attempt.translation).phase is not Phase.TRANSLATE:
        return {}
    over = attempt.last_moment or recording.newest
    last = min(over, found.last_moment or over)
    # One moment more says how long the last one took.
    part = msgspec.structs.replace(
        attempt, first_moment=found.first_moment, last_moment=min(over, last + 1)
    )
    steps = CompileTimes(recording).steps(part)
    if steps is None:
        return {}
    count = last - found.first_moment + 1
    passed = [0, *accumulate(steps.took[:count])]
    places = [at for at, each in enumerate(steps.frames[:count]) if each == frame]
    lines = recording.code(found.code).lines()
    spent: dict[int, Heat] = {}
    for at, after in zip(places, [*places[1:], count], strict=True):
        line = line_at(lines, steps.ips[at])
        own, total = spent.get(line, (0, 0))
        spent[line] = Heat(own + steps.took[at], total + passed[after] - passed[at])
    return spent
