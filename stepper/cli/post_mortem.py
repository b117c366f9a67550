"""`stepper post-mortem`: a recording where its last compilation failed."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from stepper.cli.arguments import UsageError, add_recording, config_here, need_terminal, theme_of
from stepper.model.printing import say

if TYPE_CHECKING:
    from stepper.client.session import Session


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "post-mortem",
        help="look at where a compilation failed",
        description="Open a recording at the moment at which its last failed compilation failed, "
        "or at its last moment when none did: on the full screen, or line by line where there is "
        "no terminal. A failure without a moment, of torch.export without strict=True, is told as "
        "why-failed tells it.",
        allow_abbrev=False,
    )
    add_recording(parser)
    parser.add_argument(
        "--why", default="", metavar="TEXT", help="what went wrong; by default what the file says"
    )
    parser.set_defaults(handler=post_mortem)


def post_mortem(options: argparse.Namespace) -> int:
    """Open the recording in the interface that this terminal allows."""
    from stepper.client.session import open_recording
    from stepper.recording.errors import RecordingError

    theme = theme_of(config_here())
    try:
        session = open_recording(options.file)
        try:
            if (found := _failure(session)) is None:
                return 0
            at, reason = found
            reason = options.why or reason
            if _on_full_screen():
                from stepper.tui.running import run as run_screen

                return run_screen(session, theme=theme, at=at, why=reason)
            import stepper.console

            if reason:
                say(reason)
            return stepper.console.run(session, at=at)
        finally:
            session.close()
    except RecordingError as error:
        raise UsageError(str(error)) from None


def _failure(session: Session) -> tuple[int, str] | None:
    """The moment to open at, and what happened there in one line; None: there is no moment, and
    what failed has been told."""
    from stepper.analysis.failed_lines import failed_headline, failed_lines
    from stepper.analysis.failures import last_failure
    from stepper.cli.asking import say as tell
    from stepper.client.text import nothing_translated

    recording = session.recording
    if recording is not None and not recording.newest and recording.failures():
        tell(failed_lines(recording))
        return None
    if recording is None or not recording.newest:
        raise UsageError(f"{nothing_translated(recording)}: there is no moment to look at")
    failed = last_failure(recording)
    if failed is None:
        return recording.newest, ""
    return failed.moment, failed_headline(failed)


def _on_full_screen() -> bool:
    try:
        need_terminal("the console")
    except UsageError:
        return False
    return True
