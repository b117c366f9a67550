"""`stepper why-guard`: why a guard is there."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stepper.cli.arguments import add_recording
from stepper.cli.replaying import add_options, agreed

if TYPE_CHECKING:
    from stepper.analysis.line import Line
    from stepper.recording.reader import Recording


def add_to(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "why-guard",
        help="why a guard is there",
        description="What a guard protects against, the instruction and the value that it came "
        "from, how often it ran and failed in recorded lookups and its part of their time, and "
        "whether another guard of its entry implies it.",
        allow_abbrev=False,
    )
    add_recording(parser)
    parser.add_argument(
        "guard",
        metavar="GUARD",
        help="a guard's number, a kind (TENSOR_MATCH), an expression (self.fc.weight), or "
        "KIND:EXPRESSION; with * and ?",
    )
    parser.add_argument(
        "entry", nargs="?", default="", metavar="ENTRY", help="only of this entry, e.g. 0/1"
    )
    add_options(
        parser,
        "--experiment",
        "run the recorded program again, and its compiled code with inputs that the guard "
        "refuses: what differs from eager shows that the guard is needed",
    )
    parser.set_defaults(handler=why_guard)


def why_guard(options: argparse.Namespace) -> int:
    """Print what is known of the guards."""
    from stepper.analysis.guard_lines import guard_lines
    from stepper.cli.asking import answer

    def lines(recording: Recording) -> Iterator[Line]:
        plan = agreed(options, recording) if options.experiment else None
        yield from guard_lines(recording, options.guard, options.entry)
        if plan is not None:
            from stepper.analysis.guard_experiments import experiment_lines

            yield from experiment_lines(
                recording, plan, options.guard, options.entry, seconds=options.seconds
            )

    return answer(options.file, lines)
