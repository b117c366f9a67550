"""The recordings that there are in a folder, and what is in each."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from stepper.client.names import program_name
from stepper.client.paths import SESSION_SUFFIX
from stepper.client.text import plural, time_text
from stepper.model.trace import Outcome, Phase
from stepper.recording.errors import RecordingError
from stepper.recording.process_entry import SUFFIX
from stepper.recording.reader import Recording

_UNITS = ("B", "KB", "MB", "GB", "TB")


class Kept(NamedTuple):
    """A recording in a folder."""

    path: Path
    changed: float
    """When it was written to last, in seconds since the epoch."""
    size: int
    """In bytes."""


def recordings_in(folder: Path) -> list[Kept]:
    """The recordings of a folder and of the session folders in it, the newest first; none where
    there is no folder."""
    found: list[Kept] = []
    for path in (*folder.glob(f"*{SUFFIX}"), *folder.glob(f"*{SESSION_SUFFIX}/*{SUFFIX}")):
        try:
            status = path.stat()
        except OSError:  # gone, or not for us to see
            continue
        found.append(Kept(path, status.st_mtime, status.st_size))
    return sorted(found, key=lambda kept: (-kept.changed, kept.path.name))


def kept_line(kept: Kept) -> str:
    """`2026-03-01 12:00:00   1.2 MB  train.py  433 moments, 16 compilations, 6 graph breaks`."""
    program, what = _content(kept.path)
    return f"{time_text(kept.changed)}  {size_text(kept.size):>9}  {program:<24}  {what}"


def size_text(size: int) -> str:
    """`812 B`, `1.2 MB`."""
    number, unit = float(size), 0
    while number >= 1000 and unit < len(_UNITS) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.0f} {_UNITS[unit]}" if unit == 0 else f"{number:.1f} {_UNITS[unit]}"


def _content(path: Path) -> tuple[str, str]:
    """The program, and what is recorded of it; or why that cannot be told."""
    try:
        recording = Recording.open(str(path))
    except RecordingError as error:
        return "?", str(error)
    try:
        made = [item for item in recording.translations() if item.phase is Phase.TRANSLATE]
        failed = sum(item.outcome is Outcome.FAILED for item in made)
        breaks = len(recording.graph_breaks())
        parts = [plural(recording.newest, "moment"), plural(len(made), "compilation")]
        parts += [plural(breaks, "graph break")] if breaks else []
        parts += [f"{failed:,} failed"] if failed else []
        if recording.ended is None:
            parts.append("not ended in order, or still written")
        return program_name(recording.facts), ", ".join(parts)
    except RecordingError as error:
        return program_name(recording.facts), str(error)
    finally:
        recording.close()
