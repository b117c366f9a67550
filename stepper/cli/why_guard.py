"""Questions about guards: `stepper why-guard`, `is-guarded` and `idle-guards`."""

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
    """Add the subcommands."""
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
    parser = subparsers.add_parser(
        "is-guarded",
        help="whether an expression is guarded",
        description="By what an expression over the inputs, a module or globals is guarded in "
        "each entry: its value, a tensor of which it is a property, parts of it, or only what "
        "leads to it.",
        allow_abbrev=False,
    )
    add_recording(parser)
    parser.add_argument(
        "expression", metavar="EXPR", help="e.g. x.shape[0], self.fc.weight, config['depth']"
    )
    parser.add_argument(
        "function", nargs="?", default="", metavar="FUNCTION", help="only of functions named so"
    )
    parser.set_defaults(handler=is_guarded)
    parser = subparsers.add_parser(
        "idle-guards",
        help="guards of the native engine on which no output depends",
        description="The values of the native engine carry the guards that they depend on: how "
        "many guards of each entry are of its output, of a choice of a way through the code, on "
        "the way to such values and about no value; and which are none of these.",
        allow_abbrev=False,
    )
    add_recording(parser)
    parser.add_argument(
        "entry", nargs="?", default="", metavar="ENTRY", help="only of this entry, e.g. 0/1"
    )
    parser.set_defaults(handler=idle_guards)


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


def is_guarded(options: argparse.Namespace) -> int:
    """Print what guards the expression."""
    from stepper.analysis.guard_lines import guarded_lines
    from stepper.cli.asking import answer

    return answer(
        options.file,
        lambda recording: guarded_lines(recording, options.expression, options.function),
    )


def idle_guards(options: argparse.Namespace) -> int:
    """Print the guards that no output needs."""
    from stepper.analysis.dependence_lines import idle_lines
    from stepper.cli.asking import answer

    return answer(options.file, lambda recording: idle_lines(recording, options.entry))
