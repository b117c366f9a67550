"""`stepper record`: a program as it always runs, and a recording of its translations."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stepper.cli.arguments import UsageError, add_program, config_here, launch_spec
from stepper.model.printing import say

if TYPE_CHECKING:
    from stepper.client.session import Session
    from stepper.recording.reader import Recording

FIRST_PROGRESS = 2.0
LAST_PROGRESS = 60.0
"""Seconds until the first line of progress, and between the later ones, each after twice the time
of the one before. They are whole lines: a line that is redrawn in place would wipe out what the
program itself has written there, a prompt for instance."""

_MOST_NOTED = 5
"""Processes of which is said what they have to tell."""
_NO_STOPS = "the program wanted to stop ({}), and went on: to stop there, use `stepper run`"


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "record",
        help="run a program without stopping and record it",
        description="Run a program without stopping, with its own stdin, stdout, stderr and exit "
        "code, and record every translation.",
        allow_abbrev=False,
    )
    add_program(parser)
    parser.set_defaults(handler=record)


def record(options: argparse.Namespace) -> int:
    """Run the program and write its recording."""
    import msgspec

    from stepper.cli.ending import end_as
    from stepper.client.launch import LaunchError, launch

    config = config_here()
    # Breakpoints in the configuration are for sessions that somebody watches.
    options.breakpoints = []
    # Then the terminal is not for our lines, or somebody else's screen is on it.
    post_mortem = getattr(options, "post_mortem", False)
    spec = msgspec.structs.replace(
        launch_spec(options, config), capture_output=False, post_mortem=post_mortem
    )
    progress = _Progress(sys.stderr.isatty() and not post_mortem)
    with _signals_are_the_programs() as forward:
        try:
            session = launch(spec)
        except LaunchError as error:
            raise UsageError(str(error)) from None
        forward(session)
        try:
            session.subscribe(lambda event: progress.heard(session, event))
            pause = FIRST_PROGRESS
            while not session.wait(pause):
                progress.show(session)
                pause = min(2 * pause, LAST_PROGRESS)
            progress.close(session)
            status = session.exit_status
        finally:
            session.close()
    return end_as(status)


@contextlib.contextmanager
def _signals_are_the_programs() -> Iterator[Any]:
    """Ctrl-C reaches the program from the terminal, and us as well: leave it to the program.
    What is sent to us alone is passed on."""
    sessions: list[Session] = []

    def pass_on(number: int, _frame: object) -> None:
        for session in sessions:
            session.send_signal(number)

    handlers: dict[int, Any] = {
        signal.SIGINT: signal.SIG_IGN,
        signal.SIGQUIT: signal.SIG_IGN,
        signal.SIGTERM: pass_on,
        signal.SIGHUP: pass_on,
    }
    previous = {number: signal.getsignal(number) for number in handlers}
    try:
        # An ignored signal would be inherited by the program: ignore only once it runs.
        def begin(session: Session) -> None:
            sessions.append(session)
            for number, handler in handlers.items():
                signal.signal(number, handler)

        yield begin
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


class _Progress:
    """The lines on stderr."""

    def __init__(self, terminal: bool) -> None:
        self._terminal = terminal
        self._last = ""
        self._notices: list[str] = []

    def heard(self, session: Session, event: object) -> None:
        """Keep what the debuggee's side has to say, and let a program go on that asks to be
        stopped. (Called on the reading thread.)"""
        from stepper.model.control import Notice, Stopped

        if isinstance(event, Notice):
            self._notices.append(event.text)
        elif isinstance(event, Stopped):
            session.resume()
            self._notices.append(_NO_STOPS.format(event.reason))

    def show(self, session: Session) -> None:
        """Say how far it is, on a terminal, when that has changed."""
        recording = _refreshed(session)[0] if self._terminal else None
        if recording is None or not recording.newest:
            return
        counts = _counts(recording)
        if counts != self._last:
            say(f"stepper: {counts} …", sys.stderr)
            sys.stderr.flush()
            self._last = counts

    def close(self, session: Session) -> None:
        """The closing line, and what had to be said."""
        recording, trouble = _refreshed(session)
        # Some come over the channel, some are only written down; many are both.
        written = [] if session.folder else _written_notices(recording)
        for text in dict.fromkeys([*self._notices, *written]):
            say(f"stepper: {text}", sys.stderr)
        if session.folder:
            _say_processes(session.folder)
        elif recording is not None:
            what = _counts(recording) if recording.newest else _nothing(recording)
            if session.exit_status is not None and session.exit_status.explanation:
                say(f"stepper: the program {session.exit_status.sentence}", sys.stderr)
            say(f"stepper: {what} → {recording.path}", sys.stderr)
        elif trouble:
            say(f"stepper: the recording cannot be read: {trouble}", sys.stderr)
        elif session.exit_status is not None:
            reason = session.exit_status.explanation or "the program made no recording"
            say(f"stepper: nothing recorded: {reason}", sys.stderr)
        sys.stderr.flush()


def _say_processes(folder: str) -> None:
    """The closing line of a session with children."""
    from stepper.analysis.processes import overview
    from stepper.client.text import plural
    from stepper.recording.errors import RecordingError
    from stepper.recording.session_folder import read

    try:
        found = read(folder)
        noted = [each for each in found.processes if each.note]
        for each in noted[:_MOST_NOTED]:
            say(f"stepper: process {each.pid}: {each.note}", sys.stderr)
        if len(noted) > _MOST_NOTED:
            say(f"stepper: and {plural(len(noted) - _MOST_NOTED, 'process')} more", sys.stderr)
        say(f"stepper: {overview(found)} → {folder}", sys.stderr)
    except RecordingError as error:
        say(f"stepper: the session cannot be read: {error}", sys.stderr)


def _refreshed(session: Session) -> tuple[Recording | None, str]:
    """The recording, if there is one, or why the one that was made cannot be read."""
    from stepper.recording.errors import RecordingError

    try:
        recording = session.recording
        if recording is not None:
            recording.refresh()
    except RecordingError as error:
        return None, str(error)
    return recording, ""


def _written_notices(recording: Recording | None) -> list[str]:
    from stepper.model.trace import EventKind

    if recording is None:
        return []
    return [event.text for event in recording.events(kinds=(EventKind.NOTE,))]


def _nothing(recording: Recording) -> str:
    from stepper.client.text import nothing_translated, plural
    from stepper.model.trace import EventKind

    skips = recording.event_count((EventKind.SKIP,))
    return nothing_translated(recording) + (f", {plural(skips, 'skip')}" if skips else "")


def _counts(recording: Recording) -> str:
    from stepper.analysis.failures import failures
    from stepper.client.text import plural
    from stepper.model.trace import EventKind

    failed = len([each for each in failures(recording) if each.compiling])
    parts = (
        plural(recording.event_count((EventKind.TRANSLATION,)), "translation"),
        plural(recording.newest, "moment"),
        plural(recording.event_count((EventKind.GRAPH_BREAK,)), "graph break"),
        f"{failed:,} failed" if failed else "",
    )
    return ", ".join(filter(None, parts))
