"""`stepper why-recompile`: why functions were compiled again."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from stepper.cli.arguments import add_recording
from stepper.cli.replaying import add_options, answer_or_replay

if TYPE_CHECKING:
    from stepper.analysis.recompile_trials import RecompileTrials


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
    add_recording(parser)
    parser.add_argument(
        "function", nargs="?", default="", metavar="FUNCTION", help="only of functions named so"
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="tell each entry that was tried, also of a function with many recompilations",
    )
    add_options(
        parser,
        "--replay",
        "run the recorded program again, as it is and with each change that can be tried, in a "
        "copy of its text or from outside; what leaves fewer compilations, and the output as it "
        "is, is told first, as a patch",
    )
    parser.set_defaults(handler=why_recompile)


def why_recompile(options: argparse.Namespace) -> int:
    """Print the answer."""
    from stepper.analysis.recompile_lines import recompile_lines

    def trials() -> type[RecompileTrials]:
        from stepper.analysis.recompile_trials import RecompileTrials

        return RecompileTrials

    return answer_or_replay(options, partial(recompile_lines, every=options.all), trials)
