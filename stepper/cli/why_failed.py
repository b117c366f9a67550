"""`stepper why-failed`: compilations that failed, and what is to blame."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from stepper.cli.arguments import add_recording
from stepper.cli.replaying import add_options, answer_or_replay

if TYPE_CHECKING:
    from stepper.analysis.failure_trials import FailureTrials


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "why-failed",
        help="why compilations failed, and where",
        description="Each compilation that failed: in which stage and with which exception, "
        "Dynamo's whole message, the line and the instruction to blame with what it was about to "
        "take and where that comes from, and the calls that led there.",
        allow_abbrev=False,
    )
    add_recording(parser)
    parser.add_argument(
        "function", nargs="?", default="", metavar="FUNCTION", help="only of functions named so"
    )
    add_options(
        parser,
        "--replay",
        "run the recorded program again with what torch suggests for such a failure, or what is "
        "nearest to it, in a copy of its text or from outside; with what no longer fails is told "
        "first, as a patch",
    )
    parser.set_defaults(handler=why_failed)


def why_failed(options: argparse.Namespace) -> int:
    """Print the answer."""
    from stepper.analysis.failed_lines import failed_lines

    def trials() -> type[FailureTrials]:
        from stepper.analysis.failure_trials import FailureTrials

        return FailureTrials

    return answer_or_replay(options, failed_lines, trials)
