"""`stepper list`: the recordings there are."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from stepper.cli.arguments import UsageError
from stepper.model.printing import say


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "list",
        help="list the recordings there are",
        description="List the recordings of a folder, the newest first: when, how large, of which "
        "program, and what is in them. Without a folder, those that `stepper run` and "
        "`stepper record` kept because no file was named.",
        allow_abbrev=False,
    )
    parser.add_argument("folder", metavar="FOLDER", nargs="?", help="the folder")
    parser.add_argument(
        "--older", metavar="DAYS", type=float, help="only those not written to for DAYS days"
    )
    parser.add_argument(
        "--over", metavar="MB", type=float, help="only the oldest, beyond MB megabytes of all"
    )
    parser.add_argument(
        "--delete",
        action="store_true",
        help="delete them, with --older or --over; what is no recording of yours, or is still "
        "written or open, stays",
    )
    parser.set_defaults(handler=list_recordings)


def list_recordings(options: argparse.Namespace) -> int:
    """Print a line for each."""
    from stepper.client.kept import kept_line, recordings_in
    from stepper.client.paths import recordings_directory

    folder = Path(options.folder) if options.folder is not None else recordings_directory()
    if options.older is not None or options.over is not None:
        return _prune(folder, options)
    if options.delete:
        raise UsageError("--delete needs --older DAYS or --over MB")
    found = recordings_in(folder)
    if not found:
        say(f"no recording in {folder}: stepper record makes one")
        return 0
    say(f"{folder}:")
    for kept in found:
        say(kept_line(kept))
        say(f"    {kept.path.relative_to(folder)}")
    return 0


def _prune(folder: Path, options: argparse.Namespace) -> int:
    """Print a line for each that goes beyond what is to be kept; delete them where that is asked
    for."""
    from stepper.client.paths import prunable, remove

    found = prunable(
        folder,
        older_than=None if options.older is None else options.older * 86_400,
        together=None if options.over is None else int(options.over * 1_000_000),
    )
    for path in found:
        done = "" if not options.delete else "deleted  " if remove(path) else "not deleted  "
        say(f"{done}{path}")
    if not found:
        say(f"no recording in {folder} goes beyond that")
    elif not options.delete:
        say("--delete deletes them")
    return 0
