"""`stepper why-slow`: where compile time went."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from stepper.cli.arguments import add_recording
from stepper.cli.replaying import add_options, answer_or_replay

if TYPE_CHECKING:
    from stepper.analysis.slow_trials import SlowTrials


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
    add_recording(parser)
    parser.add_argument(
        "function", nargs="?", default="", metavar="FUNCTION", help="only of functions named so"
    )
    parser.add_argument("--all", action="store_true", help="all rows, not only the longest")
    add_options(
        parser,
        "--replay",
        "run the recorded program again, as it is and with each change that may make compiling or "
        "guards at calls shorter, in a copy of its text; what does, with the output as it is, is "
        "told first, as a patch",
    )
    parser.set_defaults(handler=why_slow)


def why_slow(options: argparse.Namespace) -> int:
    """Print the answer."""
    from stepper.analysis.slow_lines import slow_lines

    def trials() -> type[SlowTrials]:
        from stepper.analysis.slow_trials import SlowTrials

        return SlowTrials

    return answer_or_replay(options, partial(slow_lines, every=options.all), trials)
