"""`stepper why-break`: why graphs broke and frames were skipped."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from stepper.cli.arguments import add_recording
from stepper.cli.replaying import add_options, answer_or_replay

if TYPE_CHECKING:
    from stepper.analysis.break_trials import BreakTrials


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "why-break",
        help="why graphs broke and frames were skipped",
        description="Every cause of graph breaks in a recording, the most expensive first: "
        "Dynamo's reason and hints, the instruction with its symbolic stack, the user's stack, "
        "what it cost, and the nearest change that avoids it; then the frames that were skipped.",
        allow_abbrev=False,
    )
    add_recording(parser)
    parser.add_argument(
        "function", nargs="?", default="", metavar="FUNCTION", help="only in functions named so"
    )
    add_options(
        parser,
        "--replay",
        "run the recorded program again, as it is and with each break forced away "
        "(torch.compiler.disable or allow_in_graph on the function that is meant, the setting "
        "that is advised, or without what asks for the break), in a copy of its text or from "
        "outside; what leaves fewer breaks, and the output as it is, is told first, as a patch",
    )
    parser.set_defaults(handler=why_break)


def why_break(options: argparse.Namespace) -> int:
    """Print the answer."""
    from stepper.analysis.break_lines import break_lines

    def trials() -> type[BreakTrials]:
        from stepper.analysis.break_trials import BreakTrials

        return BreakTrials

    return answer_or_replay(options, break_lines, trials)
