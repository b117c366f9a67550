"""Why nothing is known of a size: nothing asked for it, or the frame was given up.

The compiler looks at an argument when an instruction takes it. Of one that none takes it makes no
guard and no symbol, and so there is nothing to tell but that.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepper.analysis.line import Line
from stepper.analysis.sources import Path
from stepper.client.frame_names import compiled_title
from stepper.model.trace import Outcome, Translation
from stepper.recording.reader import Recording

_NO_ENTRY = {
    Outcome.SKIPPED: "the frame was given up (why-break says why)",
    Outcome.FAILED: "its compilation failed (why-failed says why)",
}


def unread_lines(
    recording: Recording, item: Translation, path: Path, expression: str
) -> Iterator[Line]:
    """Say of an argument of which nothing else is known that nothing asks for it, or that its frame
    came to no entry."""
    title, ended = compiled_title(recording, item), _NO_ENTRY.get(item.outcome, "")
    if not _is_argument(recording, item, path):
        return
    if is_unread(recording, item, path):
        until = f" until {ended}" if ended else ""
        text = f"nothing that was traced asks what {path.root} is{until}: none of it is required"
        yield Line(f"{title}: {text}", item.first_moment, "title")
    elif ended:
        text = f"nothing had asked for {expression} when {ended}"
        yield Line(f"{title}: {text}", item.first_moment, "title")


def is_unread(recording: Recording, item: Translation, path: Path) -> bool:
    """Whether an argument was the same at the end as it came, and no instruction had the compiler
    look at it."""
    attempts = recording.attempts(item.id)
    last = attempts[-1].last_moment if attempts else None
    if last is None or not recording.has(last) or not _is_argument(recording, item, path):
        return False
    state = recording.state(last)
    value = state.values.get(state.frames[0].locals.get(path.root, 0))
    return value is not None and value.lazy and value.source == f"L[{path.root!r}]"


def _is_argument(recording: Recording, item: Translation, path: Path) -> bool:
    if path.globally or not recording.has(item.first_moment):
        return False
    return path.root in recording.state(item.first_moment).frames[0].locals
