"""`stepper export`: recordings for engines that ask many at once."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from stepper.cli.arguments import UsageError
from stepper.model.printing import say


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "export",
        help="the views of many recordings as Parquet",
        description="Writes the views that `stepper query` knows as Parquet, divided by process, "
        "for DuckDB, Polars, Spark and the like. Needs the extra `parquet` (pyarrow).",
        allow_abbrev=False,
    )
    parser.add_argument("folder", metavar="DIR", help="the session folder")
    parser.add_argument(
        "--parquet", required=True, metavar="OUT", help="a new folder, or an empty one"
    )
    parser.set_defaults(handler=export)


def export(options: argparse.Namespace) -> int:
    """Write the files. Returns 1 when a recording could not be read."""
    from stepper.analysis.export import ExportError
    from stepper.analysis.export import export as write
    from stepper.client.text import plural
    from stepper.recording.errors import RecordingError
    from stepper.recording.session_folder import read

    if not os.path.isdir(options.folder):
        raise UsageError(f"{options.folder} is no session folder")
    try:
        folder = read(options.folder)
        trouble = list(write(folder, options.parquet))
    except (RecordingError, ExportError) as error:
        raise UsageError(str(error)) from None
    for text in trouble:
        say(f"stepper: {text}", sys.stderr)
    count = len(folder.recorded) - len(trouble)
    say(f"stepper: {plural(count, 'recording')} → {options.parquet}", sys.stderr)
    return int(bool(trouble))
