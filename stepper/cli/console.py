"""`stepper console`: the debugger in lines, for pipes, dumb terminals and scripts."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

from stepper.cli.arguments import (
    UsageError,
    add_breakpoints,
    add_choice,
    add_program,
    breakpoints_of,
    config_here,
    launch_spec,
)

if TYPE_CHECKING:
    from stepper.client.process import Reads
    from stepper.client.session import Session


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "console",
        help="the same as run and open, line by line",
        description="Run a program, or open a recording, in a line-mode debugger with pdb's "
        "letters. Commands come from -x, else from stdin.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "-x",
        dest="commands",
        action="append",
        metavar="COMMAND",
        help="a command to carry out, instead of reading stdin; repeatable",
    )
    parser.add_argument("--attach-fd", type=int, help=argparse.SUPPRESS)
    add_breakpoints(parser)
    add_program(parser, what="the program to run, or the recording (or session folder) to open")
    add_choice(parser)
    parser.set_defaults(handler=console)


def console(options: argparse.Namespace) -> int:
    """Start the program, open the recording or take over the channel; then read commands."""
    import stepper.console
    from stepper.cli.ending import end_as
    from stepper.recording.errors import RecordingError

    session = _session(options)
    try:
        code = stepper.console.run(session, options.commands)
        status = session.exit_status
    except RecordingError as error:
        raise UsageError(str(error)) from None
    finally:
        session.close()
    # Another code is of the commands.
    return end_as(status) if status is not None and code == status.shell_code else code


def _session(options: argparse.Namespace) -> Session:
    from stepper.client.launch import LaunchError, attach, launch
    from stepper.client.session import open_recording
    from stepper.recording.errors import RecordingError

    try:
        if options.attach_fd is not None:
            return attach(options.attach_fd)
        config = config_here()
        named = options.program
        if options.kind == "script" and named and is_recording(named[0]):
            if len(named) > 1:
                raise UsageError(f"{named[0]} is a recording: options go before it")
            from stepper.cli.choosing import recording_in

            session = open_recording(recording_in(named[0], options.process, options.rank))
            session.set_breakpoints(breakpoints_of(options, config))
            return session
        import msgspec

        spec = launch_spec(options, config)
        cols, rows = shutil.get_terminal_size()
        # Whoever types into our terminal sees it there; a second echo would double it.
        return launch(
            msgspec.structs.replace(
                spec,
                stop_at_entry=not spec.breakpoints,
                echo=False,
                reads=_reads(options),
                rows=rows,
                cols=cols,
            )
        )
    except (LaunchError, RecordingError) as error:
        raise UsageError(str(error)) from None


def _reads(options: argparse.Namespace) -> Reads:
    """What the program reads: what is typed, or our stdin, unless the commands come from there."""
    if sys.stdin is not None and sys.stdin.isatty():
        return "terminal"
    return "nothing" if options.commands is None or sys.stdin is None else "ours"


def is_recording(path: str) -> bool:
    """Whether a path is meant as a recording: by its name, or by its first bytes; or as a folder of
    them."""
    if path.endswith(".stepper"):
        return True
    if os.path.isdir(path) and not os.path.exists(os.path.join(path, "__main__.py")):
        return True
    try:
        with open(path, "rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False
