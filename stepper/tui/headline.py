"""What the header, the status line and the banner say."""

from __future__ import annotations

import os.path

from stepper.model.trace import SessionFacts
from stepper.tui.palette import Span
from stepper.tui.snapshot import Snapshot, Status

HINTS: tuple[tuple[str, str], ...] = (
    ("s", "step"),
    ("n", "next"),
    ("l", "line"),
    ("r", "finish"),
    ("c", "continue"),
    ("Shift", "back"),
    ("b", "break"),
    ("g", "goto"),
    ("z", "zoom"),
    ("?", "help"),
    ("q", "quit"),
)
"""The keys that the status line shows while there is nothing to say."""

_STATUS_ROLES = {
    Status.STARTING: "dim",
    Status.RUNNING: "new",
    Status.STOPPED: "changed",
    Status.ENDED: "title",
    Status.RECORDING: "new",
}


def program(facts: SessionFacts | None) -> str:
    """The program's name: its script without the folders, or what `-m` or `-c` got."""
    argv = facts.argv if facts else ()
    if not argv:
        return "stepper"
    if argv[0] in ("-m", "-c") and len(argv) > 1:
        return f"{argv[0]} {argv[1]}"
    return os.path.basename(argv[0])


def header(snapshot: Snapshot, name: str) -> list[Span]:
    """Program, what is translated, and where in the session this is."""
    spans: list[Span] = [(f" {name} ", "title")]
    translation, attempt = snapshot.translation, snapshot.attempt
    if translation is not None:
        spans.append((f" {translation.compile_id or 'no id'} {translation.name} ", ""))
    if attempt is not None:
        restarted = " (restarted)" if attempt.restart_reason else ""
        spans.append((f" attempt {attempt.number}{restarted} ", "dim"))
    count = f"{snapshot.moment:,}/{snapshot.newest:,}"
    spans.append((f" moment {count} ", "bold"))
    spans.append((f" {snapshot.status} ", f"{_STATUS_ROLES[snapshot.status]} reverse"))
    if snapshot.stopped is not None:
        away = "" if snapshot.at_stop else f" at {snapshot.stopped.moment:,}"
        spans.append((f" {snapshot.stopped.reason}{away}", "dim"))
    return spans


def hints() -> list[Span]:
    """The status line while there is nothing to say."""
    spans: list[Span] = []
    for key, text in HINTS:
        spans += [(f" {key}", "key"), (f" {text}", "dim")]
    return spans


def ending(snapshot: Snapshot) -> str:
    """The banner: how the program ended, and what can still be seen."""
    if not snapshot.newest:
        return f"The program {snapshot.ended}. It translated nothing: there is nothing to show."
    return (
        f"The program {snapshot.ended}. "
        f"All {snapshot.newest:,} moments up to its last can be looked at."
    )
