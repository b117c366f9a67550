"""`stepper export`: recordings for engines that ask many at once, and for viewers of traces."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

from stepper.cli.arguments import UsageError
from stepper.model.printing import give, say

if TYPE_CHECKING:
    from stepper.analysis.trace_formats import Traced


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "export",
        help="the views of many recordings as Parquet; compile time for viewers of traces",
        description="--parquet writes the views that `stepper query` knows as Parquet, divided by "
        "process, for DuckDB, Polars, Spark and the like; it needs the extra `parquet` (pyarrow). "
        "--format writes where compile time went (phases, frames, lines) for a viewer: perfetto "
        "(ui.perfetto.dev, chrome://tracing), speedscope (speedscope.app), or folded stacks.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "recording", metavar="FILE", help="a session folder; for --format a recording, too"
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--parquet", metavar="OUT", help="a new folder, or an empty one")
    what.add_argument("--format", choices=("perfetto", "speedscope", "folded"))
    parser.add_argument(
        "-o", "--output", metavar="OUT", help="for --format: the file; - is the terminal or a pipe"
    )
    parser.set_defaults(handler=export)


def export(options: argparse.Namespace) -> int:
    """Write the files. Returns 1 when a recording could not be read."""
    if options.format is not None:
        return _trace(options)
    from stepper.analysis.export import ExportError
    from stepper.analysis.export import export as write
    from stepper.client.text import plural
    from stepper.recording.errors import RecordingError
    from stepper.recording.session_folder import read

    if options.output is not None:
        raise UsageError("--output is for --format; --parquet names its folder")
    if not os.path.isdir(options.recording):
        raise UsageError(f"{options.recording} is no session folder")
    try:
        folder = read(options.recording)
        trouble = list(write(folder, options.parquet))
    except (RecordingError, ExportError) as error:
        raise UsageError(str(error)) from None
    for text in trouble:
        say(f"stepper: {text}", sys.stderr)
    count = len(folder.recorded) - len(trouble)
    say(f"stepper: {plural(count, 'recording')} → {options.parquet}", sys.stderr)
    return int(bool(trouble))


def _trace(options: argparse.Namespace) -> int:
    from stepper.analysis.slow_lines import NOT_RECORDED
    from stepper.analysis.trace_formats import FORMATS
    from stepper.recording.errors import RecordingError
    from stepper.report.writing import WritingError, write

    ending, text_of = FORMATS[options.format]
    path = options.output or os.path.splitext(options.recording.rstrip(os.sep))[0] + ending
    trouble: list[str] = []
    with contextlib.ExitStack() as stack:
        traced = _opened(options.recording, stack, trouble)
        try:
            if all(each.recording.timings() is None for each in traced):
                raise UsageError(f"{options.recording}: {NOT_RECORDED}")
            text = "".join(text_of(traced))
        except RecordingError as error:
            raise UsageError(str(error)) from None
    if path == "-":
        give(text)
    else:
        try:
            write(path, text)
        except WritingError as error:
            raise UsageError(str(error)) from None
        say(f"stepper: {path}", sys.stderr)
    for each in trouble:
        say(f"stepper: {each}", sys.stderr)
    return int(bool(trouble))


def _opened(path: str, stack: contextlib.ExitStack, trouble: list[str]) -> list[Traced]:
    """A recording, or all of a session folder that can be read."""
    from stepper.analysis.trace_formats import Traced
    from stepper.cli.asking import opened
    from stepper.recording import session_folder
    from stepper.recording.errors import RecordingError
    from stepper.recording.reader import Recording

    if not session_folder.is_session(path):
        return [Traced(1, os.path.basename(path), stack.enter_context(opened(path)))]
    found = []
    for process in session_folder.read(path).recorded:
        rank = "" if process.rank is None else f"rank {process.rank} "
        name = f"{rank}process {process.pid} {process.name}".rstrip()
        try:
            recording = stack.enter_context(contextlib.closing(Recording.open(process.recording)))
        except RecordingError as error:
            trouble.append(f"process {process.pid}: {error}")
        else:
            found.append(Traced(process.pid, name, recording))
    if not found:
        raise UsageError(f"{path} has no recording that can be read")
    return found
