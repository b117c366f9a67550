"""`stepper ranks`: what many recordings of one program have in common, and where they part."""

from __future__ import annotations

import argparse
from typing import Any

from stepper.cli.arguments import UsageError


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "ranks",
        help="which ranks did the same, and where the others part",
        description="Groups the recordings of a session folder into classes that did the same "
        "(frames, graphs, guards, recompilations, in order), and names for each that deviates "
        "the first divergence with its cause on both sides; and says which ranks stand in which "
        "collective, and who has not begun it. The recordings can come from other machines: put "
        "them into one folder. The exit code is 1 when there is more than one class, when ranks "
        "have begun different collectives, or when some stand in one that others have not begun.",
        allow_abbrev=False,
    )
    parser.add_argument("folder", metavar="DIR", help="the session folder")
    parser.add_argument(
        "--all",
        action="store_true",
        dest="everything",
        help="compare every class that deviates, however many there are",
    )
    parser.set_defaults(handler=ranks)


def ranks(options: argparse.Namespace) -> int:
    """Print the classes. Returns 1 when not all did the same, as `diff` does."""
    from stepper.analysis.rank_lines import rank_lines
    from stepper.analysis.ranks import classes, compared, unrecorded
    from stepper.cli.asking import say
    from stepper.recording.errors import RecordingError
    from stepper.recording.session_folder import read

    try:
        folder = read(options.folder)
        processes = compared(folder.processes)
        if not processes:
            raise UsageError(f"{options.folder} has no recording: nothing was compiled")
        found = classes(processes, unrecorded(folder.processes))
    except RecordingError as error:
        raise UsageError(str(error)) from None
    say(rank_lines(found, everything=options.everything))
    return int(not found.alike)
