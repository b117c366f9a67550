"""Questions about a whole recording: a subcommand of each row of `stepper.analysis.questions`. Of
some answers a run of the program again can prove something."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from stepper.analysis.questions import QUESTIONS
from stepper.cli.arguments import add_recording
from stepper.cli.replaying import add_options, answer_or_replay

if TYPE_CHECKING:
    from stepper.analysis.line import Line
    from stepper.recording.reader import Recording


def add_to(subparsers: Any) -> None:
    """Add the subcommands."""
    for name, question in QUESTIONS.items():
        parser = subparsers.add_parser(
            name, help=question.summary, description=question.description, allow_abbrev=False
        )
        add_recording(parser)
        for each in question.arguments:
            parser.add_argument(
                each.name,
                nargs=None if each.required else "?",
                default="",
                metavar=each.name.upper(),
                help=each.help,
            )
        if question.every:
            parser.add_argument("--all", action="store_true", help=question.every)
        if question.trials:
            add_options(parser, "--replay", question.replay)
        parser.set_defaults(handler=why)


def why(options: argparse.Namespace) -> int:
    """Print the answer."""
    question = QUESTIONS[options.subcommand]
    given = [getattr(options, each.name) for each in question.arguments]
    more = {"every": options.all} if question.every else {}

    def lines(recording: Recording, **trying: Any) -> Iterator[Line]:
        found: Iterator[Line] = question.answer()(recording, *given, **more, **trying)
        return found

    return answer_or_replay(options, lines, question.trying)
