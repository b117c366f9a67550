"""Choices at a lookup that missed, made in the console."""

from __future__ import annotations

from pathlib import Path

from stepper.model.trace import EventKind, Outcome
from stepper.recording.reader import Recording
from tests.console.test_programs import commands, console


def said(tmp_path: Path, program: Path, breakpoint: str, *texts: str, engine: str) -> str:
    """What the console says, and the program, when it stops there for these commands."""
    file = tmp_path / "out.stepper"
    file.unlink(missing_ok=True)
    options = ("--engine", engine, "-b", breakpoint, "-o", file)
    return console(tmp_path, *options, *commands(*texts, "q"), program)


def interventions(tmp_path: Path) -> list[str]:
    """What the recording of that notes."""
    recording = Recording.open(str(tmp_path / "out.stepper"))
    try:
        return [event.text for event in recording.events(kinds=(EventKind.INTERVENTION,))]
    finally:
        recording.close()


def missed(tmp_path: Path) -> str:
    """Why the newest lookup that missed found nothing, and what became of its call."""
    recording = Recording.open(str(tmp_path / "out.stepper"))
    try:
        rows = recording.translations()
        return next(row.reason for row in reversed(rows) if row.outcome is Outcome.MISS)
    finally:
        recording.close()
