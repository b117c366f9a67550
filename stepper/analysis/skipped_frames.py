"""Frames that run uncompiled for a reason that is no graph break."""

from __future__ import annotations

import msgspec

from stepper.analysis.break_changes import CHANGES, Remedy
from stepper.analysis.walks import compilations
from stepper.client.frame_names import compiled_name
from stepper.client.text import one_line
from stepper.model.trace import MomentId, Outcome, headline
from stepper.recording.reader import Recording


class Skipped(msgspec.Struct, frozen=True):
    """Frames that run uncompiled for a reason that is no graph break."""

    name: str
    """The function's name."""
    filename: str
    line: int
    """Where the function begins."""
    reason: str
    """In one line."""
    times: int
    wasted: int
    """Instructions interpreted for nothing."""
    moment: MomentId

    @property
    def change(self) -> Remedy | None:
        """The nearest change that avoids it, where the reason begins with Dynamo's name for its
        kind; None: none is known."""
        found = (change for kind, change in CHANGES.items() if self.reason.startswith(kind))
        return next(found, None)


def skipped(recording: Recording, *, after: int = 0) -> list[Skipped]:
    """Frames that were given up without a graph break, in walks after the one given, or never
    looked at; each reason once."""
    found: dict[tuple[str, str, int, str], list[tuple[int, int]]] = {}
    broken = {each.attempt for each in recording.graph_breaks()}
    for item in compilations(recording):
        if item.outcome is not Outcome.SKIPPED or item.id <= after:
            continue
        attempts = recording.attempts(item.id)
        if any(attempt.id in broken for attempt in attempts):
            continue
        reason = one_line(headline(item.reason))
        key = (compiled_name(recording, item), item.filename, item.line, reason)
        found.setdefault(key, []).append((item.first_moment, item.instructions))
    for frame in recording.skipped_frames():
        key = (frame.name, frame.filename, frame.line, one_line(frame.reason))
        found.setdefault(key, []).append((frame.moment, 0))
    return [
        Skipped(*key, times=len(each), wasted=sum(n for _, n in each), moment=each[0][0])
        for key, each in found.items()
    ]
