"""`stepper run`: a program under the full-screen debugger."""

from __future__ import annotations

import argparse
import shutil
from typing import Any

from stepper.cli.arguments import (
    UsageError,
    add_breakpoints,
    add_program,
    config_here,
    launch_spec,
    need_terminal,
    theme_of,
)


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "run",
        help="run a program and step through its translation",
        description="Run a program in its own terminal and stop at the first translation, or at "
        "the first breakpoint when any is given. Exits with the program's exit code.",
        allow_abbrev=False,
    )
    add_breakpoints(parser)
    parser.add_argument(
        "--post-mortem",
        action="store_true",
        help="run the program on this terminal without stopping, and open the debugger when it "
        "dies while it compiles, where the compilation failed",
    )
    add_program(parser)
    parser.set_defaults(handler=run)


def run(options: argparse.Namespace) -> int:
    """Start the program and the interface."""
    if options.post_mortem:
        from stepper.cli.record import record

        if options.breakpoints:
            raise UsageError("--post-mortem does not stop the program: leave --break out")
        return record(options)
    import msgspec

    from stepper.cli.ending import end_as
    from stepper.client.launch import LaunchError, launch

    config = config_here()
    spec = launch_spec(options, config)
    theme = theme_of(config)
    need_terminal("stepper console, or stepper record")
    cols, rows = shutil.get_terminal_size()
    spec = msgspec.structs.replace(spec, stop_at_entry=not spec.breakpoints, rows=rows, cols=cols)
    try:
        session = launch(spec)
    except LaunchError as error:
        raise UsageError(str(error)) from None
    try:
        from stepper.tui.running import run as run_screen

        code = run_screen(session, theme=theme)
        status = session.exit_status
    finally:
        session.close()
    # 0 also when the user left and the program was ended for it.
    return end_as(status) if status is not None and code != 0 else code
