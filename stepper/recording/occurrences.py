"""Which of the recorded events a breakpoint speaks of that names a guard or a function.

A function goes by all names that it is shown by, as it does where a live program stops
(`stepper.debuggee.breakpoints`).
"""

from __future__ import annotations

from stepper.model.breakpoint import CACHE_KINDS, Breakpoint, BreakpointKind
from stepper.model.matching import (
    CALL_ENDS,
    ENTRY_KINDS,
    entry_of,
    failed_guard_matches,
    function_told,
    walk_matches,
)
from stepper.model.trace import Event, Translation
from stepper.recording.reader import Recording


def event_has_name(kind: BreakpointKind) -> bool:
    """Whether `event_fits` can say what an event of this kind is about."""
    return kind is BreakpointKind.GUARD_FAIL or kind in CACHE_KINDS


def event_fits(recording: Recording, breakpoint: Breakpoint, event: Event) -> bool:
    """Whether an event, of the breakpoint's kind, is one to stop at."""
    if breakpoint.kind is BreakpointKind.GUARD_FAIL:
        return failed_guard_matches(breakpoint, event.text)
    walk = _walk(recording, breakpoint.kind, event)
    if walk is None:
        return walk_matches(
            breakpoint.pattern, function_told(breakpoint.kind, event.text), "", None
        )
    owner = recording.owners.of_walk(walk)
    return walk_matches(breakpoint.pattern, walk.name, walk.resume_of, owner)


def _walk(recording: Recording, kind: BreakpointKind, event: Event) -> Translation | None:
    """The walk that an event is of, or that made the entry; None: it is not recorded."""
    if kind in ENTRY_KINDS:
        return recording.owners.compiled(entry_of(event.text)[1], event.moment)
    if kind in CALL_ENDS:
        return recording.translation_at(event.moment)
    return None if event.ref is None else recording.translation(event.ref)
