"""`stepper why-recompile`: why functions were compiled again."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stepper.cli.arguments import UsageError

if TYPE_CHECKING:
    from stepper.analysis.line import Line
    from stepper.recording.reader import Recording


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "why-recompile",
        help="why functions were compiled again",
        description="Every recompilation of a recording: the call that caused it, each entry's "
        "failing guards with what was expected and what was there, where those guards came from, "
        "what changes from call to call, and advice. A recording made with --lookups says most.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="the recording")
    parser.add_argument(
        "function", nargs="?", default="", metavar="FUNCTION", help="only of functions named so"
    )
    parser.add_argument(
        "--replay",
        action="store_true",
        help="run the recorded program again, as it is and with each advised change that can be "
        "made from outside, and say how many compilations that leaves",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=300.0,
        metavar="N",
        help="with --replay: kill a run that takes longer (default: 300)",
    )
    parser.set_defaults(handler=why_recompile)


def why_recompile(options: argparse.Namespace) -> int:
    """Print the answer."""
    from stepper.analysis.recompile_lines import recompile_lines
    from stepper.cli.asking import answer

    if not options.replay:
        return answer(options.file, lambda recording: recompile_lines(recording, options.function))

    from stepper.analysis.recompile_trials import Trials
    from stepper.client.replay import ReplayError, program_of

    def lines(recording: Recording) -> Iterator[Line]:
        try:
            program_of(recording)
        except ReplayError as error:
            raise UsageError(f"{options.file} cannot be replayed: {error}") from None
        trials = Trials(recording, options.seconds)
        return recompile_lines(recording, options.function, trying=trials.lines)

    return answer(options.file, lines)
