"""What became of the functions that somebody asks about, where none of them has an entry.

A function that was given up, failed, or was only inlined has no entry, and so nothing that could
be guarded in it: an answer that says only so leaves the asker to find out why.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepper.analysis.guard_uses import entries
from stepper.analysis.line import Line
from stepper.analysis.unseen import so_far
from stepper.analysis.walks import compilations
from stepper.client.frame_names import compiled_name, compiled_title, is_meant
from stepper.model.trace import Outcome, Translation, headline
from stepper.recording.reader import Recording

_MOST = 10
"""How many functions are told of."""
_BECAME = {
    Outcome.SKIPPED: "it was given up, and runs uncompiled",
    Outcome.FAILED: "its compilation failed",
    Outcome.CUT_OFF: "its compilation was not over when the recording ended",
    Outcome.RUNNING: "it is being compiled",
}


def without_entry(recording: Recording, function: str) -> Iterator[Line]:
    """Why no entry is of a function with this in its name."""
    yield Line(f"no entry is of a function with {function!r} in its name{so_far(recording)}")
    newest = {
        compiled_name(recording, item): item
        for item in compilations(recording)
        if item.outcome in _BECAME and is_meant(recording, item, function)
    }
    for item in [*newest.values()][:_MOST]:
        why = f": {headline(item.reason)}" if item.reason else ""
        title = compiled_title(recording, item)
        yield Line(f"  {title}: {_BECAME[item.outcome]}{why}", item.last_moment)
    if not newest:
        yield from _inlined(recording, function)


def _inlined(recording: Recording, function: str) -> Iterator[Line]:
    """Where it was inlined, the first time into each function."""
    into: dict[str, tuple[Translation, str, int]] = {}
    for item in entries(recording):
        name = compiled_name(recording, item)
        if name in into or len(into) == _MOST:
            continue
        for frame in recording.frames(recording.attempts(item.id)[-1].id)[1:]:
            label = recording.code(frame.code).label
            if function.lower() in label.lower():
                into[name] = item, label, frame.first_moment
                break
    for item, label, moment in into.values():
        title = compiled_title(recording, item)
        yield Line(
            f"  {label} is inlined in {title}: if what it reads is guarded, then there", moment
        )
