"""What the subcommands that ask a recording have in common."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from stepper.cli.arguments import UsageError

if TYPE_CHECKING:
    from stepper.analysis.line import Line
    from stepper.recording.reader import Recording


@contextlib.contextmanager
def opened(path: str) -> Iterator[Recording]:
    """A recording, for the time of a question.

    Raises:
        UsageError: it cannot be opened, or it is damaged where it was read.
    """
    from stepper.console.screen import Screen
    from stepper.recording.errors import RecordingError
    from stepper.recording.reader import Recording
    from stepper.support.collecting import uncollected

    try:
        recording = Recording.open(path)
        if recording.aside:
            Screen(sys.stderr).say(recording.aside)
        try:
            with uncollected():
                yield recording
        finally:
            recording.close()
    except RecordingError as error:
        raise UsageError(str(error)) from None


def answer(path: str, lines_of: Callable[[Recording], Iterable[Line]]) -> int:
    """Print the lines that answer a question about a recording; returns the exit code.

    Raises:
        UsageError: it cannot be opened, or it is damaged where it was read.
    """
    from stepper.analysis.unseen import unseen

    with opened(path) as recording:
        say(lines_of(recording))
        say(unseen(recording))
    return 0


def say(lines: Iterable[Line]) -> None:
    """Print the lines of an answer on stdout."""
    from stepper.console.screen import STYLES, Screen

    screen = Screen(sys.stdout)
    for line in lines:
        screen.say(line.text, STYLES.get(line.role, ""))
