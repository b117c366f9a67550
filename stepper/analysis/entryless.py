"""What became of the functions that somebody asks about, where none of them has an entry.

A function that was given up, failed, or was only inlined has no entry, and so nothing that could
be guarded in it: an answer that says only so leaves the asker to find out why.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepper.analysis.line import Line
from stepper.analysis.unseen import so_far
from stepper.analysis.walks import compilations
from stepper.client.frame_names import compiled_name, compiled_title
from stepper.client.meant import inlined_as_meant, is_meant
from stepper.model.trace import Outcome, headline
from stepper.recording.reader import Recording

_FEW = 3
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


def inlined_lines(recording: Recording, function: str) -> Iterator[Line]:
    """Say of what is answered where functions of that name are only inlined into others; none:
    one that is compiled has the name, or none has."""
    into = inlined_as_meant(recording, function) if function else {}
    names = sorted({label for labels in into.values() for label in labels})
    items = [item for item in compilations(recording) if item.id in into]
    if items:
        first, *_ = items
        whole = _few([*dict.fromkeys(compiled_name(recording, item) for item in items)])
        one = len(names) == 1
        own = "is not compiled by itself" if one else "are not compiled by themselves"
        text = f"{_few(names)} {own}, but inlined: this is about {whole}"
        yield Line(text, first.first_moment, "dim")


def _few(names: list[str]) -> str:
    if len(names) > _FEW:
        return f"{', '.join(names[: _FEW - 1])} and {len(names) - _FEW + 1} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
