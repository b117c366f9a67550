"""`stepper list`: the recordings there are."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

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
    parser.set_defaults(handler=list_recordings)


def list_recordings(options: argparse.Namespace) -> int:
    """Print a line for each."""
    from stepper.client.kept import kept_line, recordings_in
    from stepper.client.paths import recordings_directory

    folder = Path(options.folder) if options.folder is not None else recordings_directory()
    found = recordings_in(folder)
    if not found:
        say(f"no recording in {folder}: stepper record makes one")
        return 0
    say(f"{folder}:")
    for kept in found:
        say(kept_line(kept))
        say(f"    {kept.path.relative_to(folder)}")
    return 0
