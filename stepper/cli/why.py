"""Questions about a whole recording: `why-recompile`, `why-break`, `why-failed`, `why-slow`,
`why-shape`, `is-guarded` and `idle-guards`. Of the answers of the first four, a run of the program
again can prove something."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from stepper.cli.arguments import add_recording
from stepper.cli.replaying import add_options, answer_or_replay

if TYPE_CHECKING:
    from stepper.analysis.line import Line
    from stepper.recording.reader import Recording


class _Argument(NamedTuple):
    name: str
    help: str
    metavar: str = ""
    """Empty: the name in capitals."""
    optional: bool = True


class _Question(NamedTuple):
    help: str
    description: str
    lines: str
    """What answers, in `stepper.analysis`; imported when it is asked."""
    trials: str = ""
    """What tries, likewise; empty: nothing can be."""
    replay: str = ""
    """What `--replay` does then."""
    every: str = ""
    """What `--all` does; empty: there is no such option."""
    arguments: tuple[_Argument, ...] = (_Argument("function", "only functions named so"),)


_QUESTIONS = {
    "why-recompile": _Question(
        "why functions were compiled again",
        "Every recompilation of a recording: the call that caused it, each entry's "
        "failing guards with what was expected and what was there, where those guards came from, "
        "what changes from call to call, and advice. A recording made with --lookups says most.",
        "recompile_lines:recompile_lines",
        "recompile_trials:RecompileTrials",
        "run the recorded program again, as it is and with each change that can be tried, in a "
        "copy of its text or from outside; what leaves fewer compilations, and the output as it "
        "is, is told first, as a patch",
        "tell each entry that was tried, also of a function with many recompilations",
    ),
    "why-break": _Question(
        "why graphs broke and frames were skipped",
        "Every cause of graph breaks in a recording, the most expensive first: "
        "Dynamo's reason and hints, the instruction with its symbolic stack, the user's stack, "
        "what it cost, and the nearest change that avoids it; then the frames that were skipped.",
        "break_lines:break_lines",
        "break_trials:BreakTrials",
        "run the recorded program again, as it is and with each break forced away "
        "(torch.compiler.disable or allow_in_graph on the function that is meant, the setting "
        "that is advised, or without what asks for the break), in a copy of its text or from "
        "outside; what leaves fewer breaks, and the output as it is, is told first, as a patch",
    ),
    "why-failed": _Question(
        "why compilations failed, and where",
        "Each compilation that failed: in which stage and with which exception, "
        "Dynamo's whole message, the line and the instruction to blame with what it was about to "
        "take and where that comes from, and the calls that led there.",
        "failed_lines:failed_lines",
        "failure_trials:FailureTrials",
        "run the recorded program again with what torch suggests for such a failure, or what is "
        "nearest to it, in a copy of its text or from outside; with what no longer fails is told "
        "first, as a patch",
    ),
    "why-slow": _Question(
        "where compile time went",
        "Where compile time went: in the backend, in tracing, in attempts that were "
        "thrown away, in building guards; by function, by line of the program with all that was "
        "inlined from there, and by phase as the compiler times itself.",
        "slow_lines:slow_lines",
        "slow_trials:SlowTrials",
        "run the recorded program again, as it is and with each change that may make compiling or "
        "guards at calls shorter, in a copy of its text; what does, with the output as it is, is "
        "told first, as a patch",
        "all rows, not only the longest",
    ),
    "why-shape": _Question(
        "why a size is fixed, or free",
        "Why a size or a number is a symbol, what it stands for, and what fixed it: "
        "each condition with the line and the instruction that asked, the graph's node, and "
        "torch's own frames. Without EXPRESSION: every size that was to be a symbol and was fixed.",
        "shape_lines:shape_lines",
        arguments=(
            _Argument("expression", "a size (x.shape[0]), a number, or a symbol (s77)"),
            _Argument("function", "only functions named so"),
        ),
    ),
    "is-guarded": _Question(
        "whether an expression is guarded",
        "By what an expression over the inputs, a module or globals is guarded in "
        "each entry: its value, a tensor of which it is a property, parts of it, or only what "
        "leads to it.",
        "guard_lines:guarded_lines",
        arguments=(
            _Argument(
                "expression", "e.g. x.shape[0], self.fc.weight, config['depth']", "EXPR", False
            ),
            _Argument("function", "only functions named so"),
        ),
    ),
    "idle-guards": _Question(
        "guards of the native engine on which no output depends",
        "The values of the native engine carry the guards that they depend on: how "
        "many guards of each entry are of its output, of a choice of a way through the code, on "
        "the way to such values and about no value; and which are none of these.",
        "dependence_lines:idle_lines",
        arguments=(_Argument("entry", "only of this entry, e.g. 0/1"),),
    ),
}


def add_to(subparsers: Any) -> None:
    """Add the subcommands."""
    for name, question in _QUESTIONS.items():
        parser = subparsers.add_parser(
            name, help=question.help, description=question.description, allow_abbrev=False
        )
        add_recording(parser)
        for each in question.arguments:
            parser.add_argument(
                each.name,
                nargs="?" if each.optional else None,
                default="",
                metavar=each.metavar or each.name.upper(),
                help=each.help,
            )
        if question.every:
            parser.add_argument("--all", action="store_true", help=question.every)
        if question.replay:
            add_options(parser, "--replay", question.replay)
        parser.set_defaults(handler=why)


def why(options: argparse.Namespace) -> int:
    """Print the answer."""
    question = _QUESTIONS[options.subcommand]
    answer = resolve_name(f"stepper.analysis.{question.lines}")
    given = [getattr(options, each.name) for each in question.arguments]
    more = {"every": options.all} if question.every else {}

    def lines(recording: Recording, **trying: Any) -> Iterator[Line]:
        found: Iterator[Line] = answer(recording, *given, **more, **trying)
        return found

    return answer_or_replay(
        options, lines, lambda: resolve_name(f"stepper.analysis.{question.trials}")
    )
