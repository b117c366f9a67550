"""The questions about a whole recording: one table, from which all who ask take them.

The command line makes a subcommand of each row, the console a command, the screen a question on `W`
(where it needs no argument), the report a part (where it has none of its own), and the fixture
`stepper_ask` of the plugin for pytest asks any of them by its name. A row says which function
answers and which class tries; both are imported when they are asked, so that reading the table
costs nothing.

What is asked of one guard, value or moment is no row: there each front end points in its own way.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any, NamedTuple


class Argument(NamedTuple):
    """What a question is about, in the order in which it is said."""

    name: str
    help: str
    required: bool = False


_FUNCTION = Argument("function", "only functions with this in their names")


class Question(NamedTuple):
    """A question, and who answers it."""

    name: str
    """Its name as a subcommand and a command."""
    summary: str
    """What it asks, to go behind "says"."""
    description: str
    """What the answer has in it; a paragraph."""
    lines: str
    """What answers, as `module:function` of `stepper.analysis`: for a recording and the arguments,
    its lines."""
    title: str = ""
    """What the screen calls it; empty: it is asked about something that is said there otherwise."""
    trials: str = ""
    """What tries, likewise; empty: nothing can be."""
    replay: str = ""
    """What `--replay` does then."""
    every: str = ""
    """What `--all` does; empty: nothing is left out."""
    arguments: tuple[Argument, ...] = (_FUNCTION,)
    examples: tuple[str, ...] = ("",)
    """What stands behind the recording, in calls that are often made."""
    about: tuple[str, ...] = ()
    """The kinds of events of which it is asked first."""
    needs: str = ""
    """The capability that an engine needs for it; empty: none."""
    in_report: bool = False
    """Whether reports have a part that answers it in their own way."""

    @property
    def open(self) -> bool:
        """Whether it can be asked without saying of what."""
        return not any(each.required for each in self.arguments)

    @property
    def usage(self) -> str:
        """Its options and arguments: `[--all] [--replay --yes] [FUNCTION]`."""
        words = ["[--all]"] if self.every else []
        words += ["[--replay --yes]"] if self.trials else []
        names = [(each.name.upper(), each.required) for each in self.arguments]
        return " ".join((*words, *(name if needed else f"[{name}]" for name, needed in names)))

    def answer(self) -> Any:
        """What answers."""
        return resolve_name(f"stepper.analysis.{self.lines}")

    def trying(self) -> Any:
        """The class of what tries."""
        return resolve_name(f"stepper.analysis.{self.trials}")

    def fits(self, capabilities: object) -> bool:
        """Whether the engine of a recording knows what it asks for."""
        return not self.needs or bool(getattr(capabilities, self.needs))


_ROWS = (
    Question(
        "why-recompile",
        "why functions were compiled again",
        "Every recompilation of a recording: the call that caused it, each entry's failing guards "
        "with what was expected and what was there, where those guards came from, what changes "
        "from call to call, and advice. One made with --lookups also has calls for which nothing "
        "was compiled.",
        "recompile_lines:recompile_lines",
        title="why it was compiled again",
        trials="recompile_trials:RecompileTrials",
        replay="run the recorded program again, as it is and with each change that can be tried, "
        "in a copy of its text or from outside; what leaves fewer compilations, and the output as "
        "it is, is told first, as a patch",
        every="tell each entry that was tried, also of a function with many recompilations, and "
        "each function whole",
        examples=("", "forward --replay"),
        in_report=True,
    ),
    Question(
        "why-break",
        "why graphs broke and frames were skipped",
        "Every cause of graph breaks in a recording, the most expensive first: Dynamo's reason and "
        "hints, the instruction with its symbolic stack, the user's stack, what it cost, and the "
        "nearest change that avoids it; then the frames that were skipped.",
        "break_lines:break_lines",
        title="why graphs broke",
        trials="break_trials:BreakTrials",
        replay="run the recorded program again, as it is and with each break forced away "
        "(torch.compiler.disable or allow_in_graph on the function that is meant, the setting that "
        "is advised, or without what asks for the break), in a copy of its text or from outside; "
        "what leaves fewer breaks, and the output as it is, is told first, as a patch",
        examples=("", "forward --replay"),
        about=("graph-break", "skip"),
        in_report=True,
    ),
    Question(
        "why-failed",
        "why compilations failed, and where",
        "Each compilation that failed: in which stage and with which exception, Dynamo's whole "
        "message, the line and the instruction to blame with what it was about to take and where "
        "that comes from, and the calls that led there.",
        "failed_lines:failed_lines",
        title="why compilations failed",
        trials="failure_trials:FailureTrials",
        replay="run the recorded program again with what torch suggests for such a failure, or "
        "what is nearest to it, in a copy of its text or from outside; with what no longer fails "
        "is told first, as a patch",
        examples=("", "--replay"),
        about=("exception",),
        in_report=True,
    ),
    Question(
        "why-slow",
        "where compile time went",
        "Where compile time went: in the backend, in tracing, in attempts that were thrown away, "
        "in building guards; by function, by line of the program with all that was inlined from "
        "there, and by phase as the compiler times itself.",
        "slow_lines:slow_lines",
        title="why compiling takes so long",
        trials="slow_trials:SlowTrials",
        replay="run the recorded program again, as it is and with each change that may make "
        "compiling or guards at calls shorter, in a copy of its text; what does, with the output "
        "as it is, is told first, as a patch",
        every="all rows, not only the longest",
        examples=("", "--replay"),
        in_report=True,
    ),
    Question(
        "why-shape",
        "why a size is fixed, or free",
        "Why a size or a number is a symbol, what it stands for, and what fixed it: each condition "
        "with the line and the instruction that asked, the graph's node, and torch's own frames. "
        "Without EXPRESSION: every size that was to be a symbol and was fixed.",
        "shape_lines:shape_lines",
        title="why sizes are fixed",
        arguments=(
            Argument("expression", "a size (x.shape[0]), a number, or a symbol (s77)"),
            _FUNCTION,
        ),
        examples=("", '"x.size(0)" forward'),
        about=("specialize",),
        in_report=True,
    ),
    Question(
        "is-guarded",
        "whether an expression is guarded",
        "By what an expression over the inputs, a module or globals is guarded in each entry: its "
        "value, a tensor of which it is a property, parts of it, or only what leads to it.",
        "guard_lines:guarded_lines",
        arguments=(
            Argument("expression", "e.g. x.shape[0], self.fc.weight, config['depth']", True),
            _FUNCTION,
        ),
        examples=('"x.shape[0]"', "self.training forward"),
    ),
    Question(
        "idle-guards",
        "guards of the native engine on which no output depends",
        "The values of the native engine carry the guards that they depend on: how many guards of "
        "each entry are of its output, of a choice of a way through the code, on the way to such "
        "values and about no value; and which are none of these.",
        "dependence_lines:idle_lines",
        title="which guards no output depends on",
        arguments=(Argument("entry", "only of this entry, e.g. 0/1"),),
        examples=("", "0/1"),
        needs="carries_guards",
    ),
)
QUESTIONS: dict[str, Question] = {each.name: each for each in _ROWS}
"""All of them by name, in the order in which they are offered."""
