"""`stepper open`: a recording in the full-screen debugger."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from stepper.cli.arguments import UsageError, add_recording, config_here, need_terminal, theme_of


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "open",
        help="look at a recording",
        description="Open a recording: a finished one, one whose program was killed, or one that "
        "is still being written. Nothing in it is run.",
        allow_abbrev=False,
    )
    add_recording(
        parser,
        otherwise="without it, one of those that `stepper list` lists is chosen",
    )
    parser.add_argument("--at", type=int, metavar="MOMENT", help="the moment to begin at")
    parser.set_defaults(handler=open_file)


def open_file(options: argparse.Namespace) -> int:
    """Open the recording in the interface."""
    from stepper.cli.choosing import recording_to_look_at
    from stepper.client.session import open_recording
    from stepper.recording.errors import RecordingError

    config = config_here()
    theme = theme_of(config)
    named = _chosen(theme) if options.file is None else options.file
    if not named:
        return 0
    path = recording_to_look_at(named, options.process, options.rank, theme)
    try:
        session = open_recording(path)
    except RecordingError as error:
        raise UsageError(str(error)) from None
    try:
        need_terminal(f"stepper console {shlex.quote(path)}")

        from stepper.tui.running import run as run_screen

        return run_screen(session, theme=theme, at=options.at)
    finally:
        session.close()


def _chosen(theme: str) -> str:
    """The recording that the user chooses; empty: none."""
    from stepper.client.kept import recordings_in
    from stepper.client.paths import recordings_directory

    folder = recordings_directory()
    found = recordings_in(folder)
    if not found:
        raise UsageError(f"no file was named, and there is no recording in {folder}")
    need_terminal("stepper list, and stepper open FILE")

    from stepper.tui.choosing import choose

    kept = choose(found, theme=theme)
    return "" if kept is None else str(kept.path)
