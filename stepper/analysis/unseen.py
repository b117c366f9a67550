"""What an answer leaves open: a recording may end before its program did."""

from __future__ import annotations

from collections.abc import Iterator

from stepper.analysis.line import Line
from stepper.recording.reader import Recording


def unseen(recording: Recording, name: str = "the recording") -> Iterator[Line]:
    """The last line of an answer about a program that was not seen to its end: that something did
    not happen is known only up to there. Nothing where the recording was ended in order."""
    if not recording.in_order:
        yield Line(f"{name} {unseen_text(recording.ended or '')}", role="dim")


def so_far(recording: Recording) -> str:
    """Behind a sentence on what has not happened: that more may come, or may have come."""
    return "" if recording.in_order else " so far"


def unseen_text(ended: str) -> str:
    """What is said of a recording that was not ended in order, by what is known of its end."""
    why = ended or "the program was killed, or still runs"
    return f"has no end ({why}): what came later is not recorded"
