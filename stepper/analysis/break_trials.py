"""Graph breaks forced away: the program runs again with a function left out or taken whole.

Two functions can be meant by a break: the one that the instruction calls, which Dynamo cannot
trace, and the one that was being inlined, in whose middle the graph broke. Two of torch's
decorators apply. `torch.compiler.allow_in_graph` takes a call into the graph unseen;
`torch.compiler.disable` leaves the inlined function to Python, so that the graph breaks around it
and not inside. Each is tried by itself, and so is a setting that the advice names. The whole run is
compared with one as it is: graph breaks, graphs, instructions that were interpreted, and what the
program printed, since neither decorator is always sound.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Literal, NamedTuple

from stepper.analysis.breaks import Cause
from stepper.analysis.line import Line
from stepper.analysis.replays import Replay, Replays, told
from stepper.analysis.sources import spelled
from stepper.analysis.walks import compilations, graphs
from stepper.client.names import brief_source
from stepper.client.plan import ReplayError
from stepper.client.text import clip, plural, short_path
from stepper.model.change import Admit, Change, Decorate, Setting
from stepper.model.program import Code, Instruction
from stepper.model.trace import State
from stepper.model.value import Value
from stepper.recording.reader import Recording

_LOGGED = re.compile(r"[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ ")
_WARNING = re.compile(r"\S.*:\d+: \w*Warning: ")
_TEXT = 40
"""Characters of a line that is told."""
CANNOT = "not tried: no function can be left out or taken whole here"


class RunFacts(NamedTuple):
    """What is compared of two runs."""

    breaks: int
    graphs: int
    instructions: int
    printed: tuple[str, ...]
    """The lines of its output."""


class BreakTrials(Replays[RunFacts]):
    """Tries to force graph breaks away."""

    def measure(self, recording: Recording) -> RunFacts:
        items = compilations(recording)
        return RunFacts(
            breaks=len(recording.graph_breaks()),
            graphs=len(graphs(recording)),
            instructions=sum(item.instructions for item in items),
            printed=tuple(_printed("".join(each.data for each in recording.output()))),
        )

    def lines(self, cause: Cause) -> Iterator[Line]:
        """What became of forcing a cause away."""
        changes = changes_for(self._recording, cause)
        if not changes:
            yield Line(f"   {CANNOT}", role="dim")
        for change in changes:
            yield Line(f"   {self._told(change)}")

    def _told(self, change: Change) -> str:
        try:
            usual, trial = self.after(()), self.after((change,))
        except ReplayError as error:
            return f"not tried: {error}"
        was, now = usual.found, trial.found
        parts = [
            f"{plural(now.breaks, 'graph break')} ({was.breaks})",
            f"{plural(now.graphs, 'graph')} ({was.graphs})",
            f"{plural(now.instructions, 'instruction')} interpreted ({was.instructions:,})",
        ]
        text = f"tried: {told((change,))} leaves {', '.join(parts)}; {self._output(usual, trial)}"
        text += f"; {trial.seconds:.1f} s"
        return f"{text}, but {trial.trouble}" if trial.trouble else text

    def _output(self, usual: Replay[RunFacts], trial: Replay[RunFacts]) -> str:
        lines, others = usual.found.printed, trial.found.printed
        if lines == others:
            return "it prints the same"
        if lines != self.after((), 2).found.printed:
            return "what it prints differs from run to run"
        pairs = zip_longest(lines, others)
        was, now = next(pair for pair in pairs if pair[0] != pair[1])
        return f"it PRINTS {_quoted(now)} instead of {_quoted(was)}"


def _quoted(line: str | None) -> str:
    return "nothing" if line is None else repr(clip(line, _TEXT))


def _printed(output: str) -> Iterator[str]:
    """The program's lines, without what torch logs and warns of, which comes and goes with the
    breaks."""
    warned = False
    for line in output.splitlines():
        if warned:
            warned = not line.startswith("  ")  # the line of source that ends a warning
        elif _WARNING.match(line):
            warned = True
        elif not _LOGGED.match(line):
            yield line


def changes_for(recording: Recording, cause: Cause) -> tuple[Change, ...]:
    """Each a way to force a cause away; empty: none is known."""
    if cause.instruction is None:
        return ()
    root = cause.occurrences[0].translation
    can, remedy = recording.facts.capabilities, cause.change
    place = (root.name, root.filename, root.line)
    state = recording.state(cause.moment)
    found: list[Change] = []
    called = _called(state, cause.instruction)
    if can.decorators and called is not None and called.source:
        name = spelled(brief_source(called.source))
        if remedy is not None and remedy.reordered == name.removeprefix("builtins."):
            found.append(Admit(*place, "reorder", called.source, name, can.decorators))
        elif "__builtins_dict__" not in called.source:
            found.append(Admit(*place, "allow_in_graph", called.source, name, can.decorators))
    if can.dynamo_config and remedy is not None and remedy.setting:
        found.append(Setting(remedy.setting, True))
    inlined = _inlined(recording, state)
    if can.decorators and inlined is not None:
        of = (inlined.label, inlined.filename, inlined.first_line)
        ways: tuple[Literal["disable", "allow_in_graph"], ...] = ("disable", "allow_in_graph")
        found += [Decorate(*place, way, *of, can.decorators) for way in ways]
    return tuple(found)


def _inlined(recording: Recording, state: State) -> Code | None:
    """The innermost inlined function that is not torch's own, which everything else needs, too."""
    for each in reversed(state.frames[1:]):
        code = recording.code(recording.frame(each.frame).code)
        if not short_path(code.filename).startswith("torch/"):
            return code
    return None


def _called(state: State, row: Instruction) -> Value | None:
    """What an instruction calls, where it stands on the symbolic stack."""
    arg = row.arg or 0
    counts = {"CALL": arg, "CALL_KW": arg + 1, "CALL_FUNCTION_EX": 1 + (arg & 1)}
    above = counts.get(row.opname)
    stack = state.top.stack
    if above is None or len(stack) < above + 2:
        return None
    # Beside it stands a NULL or the `self` of a method: before it or behind, by Python's version.
    pair = [state.values.get(each) for each in stack[-above - 2 : len(stack) - above]]
    return next((each for each in pair if each is not None and each.cls != "NullVariable"), None)
