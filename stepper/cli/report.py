"""`stepper report`: a recording as one file to be sent to somebody."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from stepper.cli.arguments import UsageError, add_recording
from stepper.model.printing import give

if TYPE_CHECKING:
    from stepper.report.contents import Report

_FORMATS = ("html", "markdown", "json")


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "report",
        help="a recording as one page to send to somebody",
        description="What a recording says, as one file: overview, frames along a timeline, graph "
        "breaks, recompilations, guards with what they cost, graphs and transformed code. The page "
        "needs no network and no script; each statement leads to its moment, with the command that "
        "shows it.",
        allow_abbrev=False,
    )
    add_recording(parser)
    parser.add_argument(
        "-o", "--output", metavar="REPORT", help="where to write to (default: stdout)"
    )
    parser.add_argument(
        "--format",
        choices=_FORMATS,
        help="html, markdown (short, for an issue) or json (see the page on the report's format); "
        "without it the ending of the output's name decides: .md, .json, else html",
    )
    parser.add_argument(
        "--redact",
        action="store_true",
        help="leave out all text of the program: source, constants, arguments, words and paths; "
        "names become name1, name2 …, but for the words of Python, torch and stepper",
    )
    parser.set_defaults(handler=report)


def report(options: argparse.Namespace) -> int:
    """Write the report."""
    from stepper.cli.asking import opened
    from stepper.report.gathering import gather
    from stepper.report.room import fitted

    output, format = options.output, options.format or _format_of(options.output)
    if output is None and format == "html" and sys.stdout.isatty():
        raise UsageError("a page is nothing for a terminal; give -o report.html")
    if output is not None and os.path.exists(output) and os.path.samefile(output, options.file):
        raise UsageError(f"{output} is the recording itself")
    with opened(options.file) as recording:
        gathered = partial(gather, recording, name=options.file, redact=options.redact)
        text = fitted(lambda room: gathered(room=room), _writer(format))
    if output is None:
        give(text)
        return 0
    from stepper.report.writing import WritingError, write

    try:
        write(output, text)
    except WritingError as error:
        raise UsageError(str(error)) from None
    return 0


def _format_of(output: str | None) -> str:
    ending = os.path.splitext(output or "")[1].lower()
    return {".md": "markdown", ".markdown": "markdown", ".json": "json"}.get(ending, "html")


def _writer(format: str) -> Callable[[Report], str]:
    if format == "html":
        from stepper.report.page import page

        return page
    if format == "markdown":
        from stepper.report.markdown import markdown

        return markdown
    from stepper.report.encoding import encoded

    return encoded
