"""`stepper why-recompile`, `why-break`, `why-failed` and `why-slow`: questions about a whole
recording, of whose answers a run of the program again can prove something."""

from __future__ import annotations

import argparse
from functools import partial
from pkgutil import resolve_name
from typing import Any, NamedTuple

from stepper.cli.arguments import add_recording
from stepper.cli.replaying import add_options, answer_or_replay


class _Question(NamedTuple):
    help: str
    description: str
    replay: str
    """What `--replay` does."""
    lines: str
    """What answers, in `stepper.analysis`; imported when it is asked."""
    trials: str
    """What tries, likewise."""
    every: str = ""
    """What `--all` does; empty: there is no such option."""


_QUESTIONS = {
    "why-recompile": _Question(
        "why functions were compiled again",
        "Every recompilation of a recording: the call that caused it, each entry's "
        "failing guards with what was expected and what was there, where those guards came from, "
        "what changes from call to call, and advice. A recording made with --lookups says most.",
        "run the recorded program again, as it is and with each change that can be tried, in a "
        "copy of its text or from outside; what leaves fewer compilations, and the output as it "
        "is, is told first, as a patch",
        "recompile_lines:recompile_lines",
        "recompile_trials:RecompileTrials",
        "tell each entry that was tried, also of a function with many recompilations",
    ),
    "why-break": _Question(
        "why graphs broke and frames were skipped",
        "Every cause of graph breaks in a recording, the most expensive first: "
        "Dynamo's reason and hints, the instruction with its symbolic stack, the user's stack, "
        "what it cost, and the nearest change that avoids it; then the frames that were skipped.",
        "run the recorded program again, as it is and with each break forced away "
        "(torch.compiler.disable or allow_in_graph on the function that is meant, the setting "
        "that is advised, or without what asks for the break), in a copy of its text or from "
        "outside; what leaves fewer breaks, and the output as it is, is told first, as a patch",
        "break_lines:break_lines",
        "break_trials:BreakTrials",
    ),
    "why-failed": _Question(
        "why compilations failed, and where",
        "Each compilation that failed: in which stage and with which exception, "
        "Dynamo's whole message, the line and the instruction to blame with what it was about to "
        "take and where that comes from, and the calls that led there.",
        "run the recorded program again with what torch suggests for such a failure, or what is "
        "nearest to it, in a copy of its text or from outside; with what no longer fails is told "
        "first, as a patch",
        "failed_lines:failed_lines",
        "failure_trials:FailureTrials",
    ),
    "why-slow": _Question(
        "where compile time went",
        "Where compile time went: in the backend, in tracing, in attempts that were "
        "thrown away, in building guards; by function, by line of the program with all that was "
        "inlined from there, and by phase as the compiler times itself.",
        "run the recorded program again, as it is and with each change that may make compiling or "
        "guards at calls shorter, in a copy of its text; what does, with the output as it is, is "
        "told first, as a patch",
        "slow_lines:slow_lines",
        "slow_trials:SlowTrials",
        "all rows, not only the longest",
    ),
}


def add_to(subparsers: Any) -> None:
    """Add the subcommands."""
    for name, question in _QUESTIONS.items():
        parser = subparsers.add_parser(
            name, help=question.help, description=question.description, allow_abbrev=False
        )
        add_recording(parser)
        parser.add_argument(
            "function",
            nargs="?",
            default="",
            metavar="FUNCTION",
            help="only about functions named so",
        )
        if question.every:
            parser.add_argument("--all", action="store_true", help=question.every)
        add_options(parser, "--replay", question.replay)
        parser.set_defaults(handler=why)


def why(options: argparse.Namespace) -> int:
    """Print the answer."""
    question = _QUESTIONS[options.subcommand]
    lines = resolve_name(f"stepper.analysis.{question.lines}")
    if question.every:
        lines = partial(lines, every=options.all)
    return answer_or_replay(
        options, lines, lambda: resolve_name(f"stepper.analysis.{question.trials}")
    )
