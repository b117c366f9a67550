"""What can be done about a graph break, as far as a run can show whether it helps.

Two functions can be meant by a break: the one that the instruction calls, which Dynamo cannot
trace, and the one that was being inlined, in whose middle the graph broke. Two of torch's
decorators apply. `torch.compiler.allow_in_graph` takes a call into the graph unseen;
`torch.compiler.disable` leaves the inlined function to Python, so that the graph breaks around it
and not inside. A setting that the advice names is another way, and so is to leave out what somebody
has asked for: a call of `graph_break`, a `torch.compiler.disable`.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from typing import Literal

from stepper.analysis.break_changes import SETTINGS
from stepper.analysis.breaks import Cause
from stepper.analysis.places import File, Files
from stepper.analysis.recompile_remedies import setting_ways
from stepper.analysis.replays import Way
from stepper.analysis.sites import called_at, in_torch
from stepper.analysis.sources import spelled
from stepper.client.names import brief_source
from stepper.client.scratch import Edit
from stepper.model.change import Admit, Change, Decorate, Setting
from stepper.model.program import Code
from stepper.model.trace import State
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed

_ASKED = ("graph_break", "skip_frame")
_DISABLE = "disable"
_LOGS = frozenset({"debug", "info", "warning", "error", "critical", "exception", "log"})
"""The methods of a logger."""


_NO_FUNCTION = re.compile(r"__builtins_dict__|\b___stack\d")
"""In sources of what cannot be taken whole: a builtin function, and what a break has left."""


def ways_for(recording: Recording, files: Files, cause: Cause) -> list[Way]:
    """What is worth a run, the nearest first."""
    found = [*_left_out(files, cause)]
    for change in changes_for(recording, cause):
        found += _ways_of(files, change)
    said = " ".join((cause.explanation, *cause.hints))
    for name in filter(recording.facts.capabilities.heeds, SETTINGS):
        if f"config.{name}" in said:
            found += setting_ways(files, Setting(name, True))
    known: dict[tuple[object, ...], Way] = {}
    for way in found:
        known.setdefault((way.edits, way.changes), way)
    return list(known.values())


def _ways_of(files: Files, change: Change) -> Iterator[Way]:
    """A change, in the program's text where that has a place for it."""
    if isinstance(change, Setting):
        yield from setting_ways(files, change)
        return
    edit = None
    if isinstance(change, Admit) and change.way == "reorder":
        edit = reordering(files, change.called)
    elif isinstance(change, Decorate):
        edit = _decorated(files, change)
    unsafe = "allow_in_graph" in (getattr(change, "way", ""), getattr(change, "decorator", ""))
    if edit is not None:
        yield Way(str(change), (edit,), unsafe=unsafe)
    else:
        yield Way(str(change), changes=(change,), unsafe=unsafe)


def reordering(files: Files, called: str) -> Edit | None:
    """A function that only prints, named behind the imports."""
    file = files.main
    name = called.removeprefix("builtins.")
    first = name.partition(".")[0]
    if file is None or not all(part.isidentifier() for part in name.split(".")):
        return None
    if first not in _imported(file) and not hasattr(builtins, name):
        return None
    return file.setting(f"torch._dynamo.config.reorderable_logging_functions.add({name})")


def _imported(file: File | None) -> set[str]:
    """The modules that a file imports as a whole, by the names that it has for them."""
    return {
        each.asname or each.name
        for node in (() if file is None else file.tree.body)
        if isinstance(node, ast.Import)
        for each in node.names
    }


def _decorated(files: Files, change: Decorate) -> Edit | None:
    """A decorator on a function of the program."""
    if is_installed(change.decorated_filename) or not change.decorators.startswith("torch."):
        return None
    file = files.at(change.decorated_filename)
    if file is None or not file.torch:
        return None
    function = file.function(change.decorated_line, change.decorated)
    if not isinstance(function, ast.FunctionDef) or function.decorator_list:
        return None
    return file.line_before(function, f"@{file.torched(change.decorators)}.{change.decorator}")


def _left_out(files: Files, cause: Cause) -> Iterator[Way]:
    """What somebody has asked for, not asked for."""
    place = cause.place
    file = None if place is None else files.at(place.filename)
    if place is None or file is None or is_installed(file.path):
        return
    for call in file.calls:
        here = call.node.lineno <= place.line <= (call.node.end_lineno or place.line)
        func = call.node.func
        if not here or not isinstance(func, (ast.Attribute, ast.Name)):
            continue
        name = func.attr if isinstance(func, ast.Attribute) else func.id
        if name in _ASKED and isinstance(call.statement, ast.Expr):
            words = f"without {file.text(call.node)}"
            yield Way(words, file.line_removed(call.statement))
        elif name in _LOGS and "logging" in cause.kind and "logging" in _imported(files.main):
            method = f"logging.Logger.{name}"
            added = f"torch._dynamo.config.ignore_logging_functions.add({method})"
            edit = None if files.main is None else files.main.setting(added)
            if edit is not None:
                yield Way(f"{added}, so that compiled code logs nothing by it", (edit,))
        elif _DISABLE in cause.kind:
            for other in files.every():
                if edits := tuple(_enabled(other, name)):
                    yield Way(f"without torch.compiler.disable of {name}", edits)


def _enabled(file: File, name: str) -> Iterator[Edit]:
    """Edits: a function of this name without the decorator that disables it."""
    if is_installed(file.path):
        return
    for node in ast.walk(file.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            for each in node.decorator_list:
                if _disables(each):
                    line = each.lineno
                    yield Edit(file.path, line, 0, (each.end_lineno or line) + 1, 0, "")
        elif isinstance(node, ast.Call) and _disables(node.func) and len(node.args) == 1:
            statement, _ = file.statement_of(node)
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            named = [each.id for each in targets if isinstance(each, ast.Name)]
            named += [each.attr for each in targets if isinstance(each, ast.Attribute)]
            if name in named:
                yield file.replaced(node, file.text(node.args[0]))


def _disables(node: ast.expr) -> bool:
    func = node.func if isinstance(node, ast.Call) else node
    return (
        isinstance(func, ast.Attribute)
        and func.attr == _DISABLE
        and ast.unparse(func.value).endswith(("compiler", "_dynamo"))
    )


def changes_for(recording: Recording, cause: Cause) -> tuple[Change, ...]:
    """Each a way to force a cause away; empty: none is known."""
    if cause.instruction is None:
        return ()
    root = cause.occurrences[0].translation
    can, remedy = recording.facts.capabilities, cause.change
    place = (root.name, root.filename, root.line)
    state = recording.state(cause.moment)
    found: list[Change] = []
    called = called_at(state, cause.instruction)
    if can.decorators and called is not None and called.source:
        name = spelled(brief_source(called.source))
        if remedy is not None and remedy.reordered == name.removeprefix("builtins."):
            found.append(Admit(*place, "reorder", called.source, name, can.decorators))
        elif not _NO_FUNCTION.search(called.source):
            found.append(Admit(*place, "allow_in_graph", called.source, name, can.decorators))
    if remedy is not None and remedy.setting and can.heeds(remedy.setting):
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
        if not in_torch(code.filename):
            return code
    return None
