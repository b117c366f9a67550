"""What may be done about a compilation that failed, tried: the program runs again with what torch
suggests for such a failure, or what is nearest to it, and its failures are counted.

| what the recording shows | what is tried |
| --- | --- |
| a marked size that the code has fixed | `maybe_mark_dynamic` instead of `mark_dynamic` |
| a setting in the message, or that belongs to the kind of break | that setting |
| a condition on data, in an `if` | `torch._check` of the condition, or of its opposite, before it |
| a break where there may be none | `fullgraph=False`, so that the graph breaks there |
| one recompilation too many | what is tried against recompilations of the function |
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stepper.analysis.break_changes import CHANGES, SETTINGS
from stepper.analysis.break_remedies import reordering
from stepper.analysis.failure_changes import change_of
from stepper.analysis.failures import Failed, fixed_sizes
from stepper.analysis.line import Line
from stepper.analysis.places import Files
from stepper.analysis.recompile_advice import REFUSED, histories_with
from stepper.analysis.recompile_remedies import setting_ways
from stepper.analysis.recompile_remedies import ways_for as against_recompiling
from stepper.analysis.replays import Replays, RunFacts, Way
from stepper.analysis.trial_lines import MOST, Left, Told, counted, trial_lines, try_all
from stepper.client.scratch import Edit
from stepper.model.change import Setting
from stepper.model.failure import FailedStage
from stepper.model.trace import headline
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed

CANNOT = "not tried: no change is known that could be tried"
_OPPOSITE: dict[type[ast.cmpop], str] = {
    ast.Gt: "<=", ast.GtE: "<", ast.Lt: ">=", ast.LtE: ">", ast.Eq: "!=", ast.NotEq: "==",
}  # fmt: skip
_ON_DATA = ("GuardOnDataDependentSymNode", "UserError", "PendingUnbackedSymbolNotFound")


class FailureTrials(Replays):
    """Tries to have compilations not fail."""

    def lines(self, failed: Failed) -> Told:
        """What came of what may be done about a failure."""
        ways = list(ways_for(self.recording, self.files, failed))
        if not ways:
            yield Line(f"   {CANNOT}", role="dim")
        return (
            yield from trial_lines(self, try_all(self, ways[:MOST], _left, failing=True), "   ")
        )


def _left(was: RunFacts, now: RunFacts) -> Left:
    words = counted(was.failed, now.failed, "failure")
    if now.breaks != was.breaks:
        words += f", {counted(was.breaks, now.breaks, 'graph break')}"
    helps = now.failed < was.failed
    # Without fullgraph=True the break is there still that was the failure.
    gone = now.breaks < was.breaks or not now.breaks
    return Left((now.failed, now.breaks), words, helps, helps and gone)


def ways_for(recording: Recording, files: Files, failed: Failed) -> Iterator[Way]:
    """What is worth a run, the nearest first."""
    failure = failed.failure
    if failure.stage is FailedStage.GUARDS and failed.translation is not None:
        if fixed_sizes(recording, failed.translation):
            yield from _marked_maybe(files)
        return
    if failed.translation is not None and failure.exception in REFUSED:
        for history in histories_with(recording, failed.translation):
            for ways in against_recompiling(recording, files, history):
                yield from ways
        return
    if failure.stage is not FailedStage.TRACING:
        return
    kind = CHANGES.get(headline(failure.message).strip())
    settings = [kind.setting] if kind is not None else []
    settings += [name for name in SETTINGS if f"config.{name}" in failure.message]
    for name in dict.fromkeys(filter(None, settings)):
        yield from setting_ways(files, Setting(name, True))
    remedy = change_of(recording, failed)
    edit = reordering(files, remedy.reordered) if remedy is not None and remedy.reordered else None
    if remedy is not None and edit is not None:
        added = f"torch._dynamo.config.reorderable_logging_functions.add({remedy.reordered})"
        yield Way(f"{added}, so that it is printed after the graph", (edit,))
    if failure.exception.endswith(_ON_DATA):
        yield from _checked(files, failed)
    yield from _broken(files)


def _marked_maybe(files: Files) -> Iterator[Way]:
    edits: list[Edit] = []
    for file in files.every():
        for call in () if is_installed(file.path) else file.calls:
            func = call.node.func
            if isinstance(func, ast.Attribute) and func.attr == "mark_dynamic":
                # Of the arguments it has the tensor and the dimension only, no bounds.
                named = (each for each in call.node.keywords if each.arg in ("t", "index"))
                taken = ", ".join(map(file.text, (*call.node.args, *named)))
                name = f"{file.text(func.value)}.maybe_mark_dynamic"
                edits.append(file.replaced(call.node, f"{name}({taken})"))
    if edits:
        yield Way("maybe_mark_dynamic instead of mark_dynamic", tuple(edits))


def _checked(files: Files, failed: Failed) -> Iterator[Way]:
    """The condition of an `if` as a check before it, from which the compiler knows the way."""
    place = failed.place
    file = None if place is None else files.at(place.filename)
    if place is None or file is None or is_installed(file.path) or not file.torch:
        return
    for node in ast.walk(file.tree):
        if not (isinstance(node, ast.If) and node.test.lineno == place.line):
            continue
        conditions = [file.text(node.test)]
        test = node.test
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in _OPPOSITE:
            one, other = file.text(test.left), file.text(test.comparators[0])
            conditions.append(f"{one} {_OPPOSITE[type(test.ops[0])]} {other}")
        for condition in conditions:
            edit = file.line_before(node, f"{file.torch}._check({condition})")
            if edit is not None and "\n" not in condition:
                words = f"torch._check({condition}) before it, which other data may fail"
                yield Way(words, (edit,))


def _broken(files: Files) -> Iterator[Way]:
    """Without `fullgraph=True`, wherever that stands."""
    edits = [
        file.replaced(keyword, "fullgraph=False")
        for file in files.every()
        if not is_installed(file.path)
        for call in file.calls
        for keyword in call.node.keywords
        if keyword.arg == "fullgraph"
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is True
    ]
    if edits:
        yield Way("fullgraph=False", tuple(edits))
