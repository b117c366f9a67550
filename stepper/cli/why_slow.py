"""`stepper why-slow`: where compile time went."""

from __future__ import annotations

import argparse
from typing import Any


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "why-slow",
        help="where compile time went",
        description="Where compile time went: in the backend, in tracing, in attempts that were "
        "thrown away, in building guards; by function, by line of the program with all that was "
        "inlined from there, and by phase as the compiler times itself.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="the recording")
    parser.add_argument(
        "function", nargs="?", default="", metavar="FUNCTION", help="only of functions named so"
    )
    parser.add_argument("--all", action="store_true", help="all rows, not only the longest")
    parser.set_defaults(handler=why_slow)


def why_slow(options: argparse.Namespace) -> int:
    """Print the answer."""
    from stepper.analysis.slow_lines import slow_lines
    from stepper.cli.asking import answer

    return answer(
        options.file,
        lambda recording: slow_lines(recording, options.function, every=options.all),
    )
