"""Where a compiled function is called and compiled in the program's text, and what each call hands
over for one of its parameters."""

from __future__ import annotations

import ast
import builtins
import re
from typing import NamedTuple

from stepper.analysis.places import Call, File, Files
from stepper.analysis.replays import Function
from stepper.analysis.sites import own_frame
from stepper.analysis.sources import Path
from stepper.client.scratch import Edit
from stepper.model.program import PythonFrame
from stepper.recording.reader import Recording
from stepper.support.pythons_own import is_installed

_COMPILE = "compile"


_ELEMENT = re.compile(r"\[(\d+)\]")
_NAMED = re.compile(r"\['(\w+)'\]")


class Parameters(NamedTuple):
    """What a function takes, without `self`."""

    names: list[str]
    positional: int
    """How many of them can be handed over by position."""
    several: str
    """The name of `*args`; empty: it takes no more."""
    named: str
    """The name of `**kwargs`; empty: it takes no others."""

    def takes(self, path: Path) -> bool:
        """Whether a value comes with the call."""
        return path.root in self.names or (
            bool(path.steps) and path.root in (self.several, self.named) and path.root != ""
        )


class Handed(NamedTuple):
    """What a call hands over for a parameter."""

    call: Call
    value: ast.expr
    steps: tuple[str, ...]
    """The way from there to what is meant."""


class CallSites:
    """The calls of a function that was compiled, as far as the program's files have them."""

    def __init__(self, recording: Recording, files: Files, place: Function) -> None:
        self._files = files
        self._place = place
        self._name, filename, line = place
        self._file = files.at(filename)
        self._function = None if self._file is None else self._file.function(line, self._name)
        self.parameters = _parameters(self._file, self._function)
        """What it takes."""
        self.calls = self._calls(recording)
        """The calls, each once."""

    def _calls(self, recording: Recording) -> list[Call]:
        found: dict[tuple[str, int, int], Call] = {}
        for item in recording.translations():
            if (item.name, item.filename, item.line) != self._place:
                continue
            for call in self._meant(own_frame(item.python_stack)):
                # The same function may be called elsewhere, and have found an entry.
                written = call.file.text(call.node.func)
                for each in call.file.calls:
                    if each.node is call.node or each.file.text(each.node.func) == written:
                        at = (each.file.path, each.node.lineno, each.node.col_offset)
                        found[at] = each
        return list(found.values())

    def _meant(self, frame: PythonFrame | None) -> list[Call]:
        """The calls of a line that can be those of the function: of its name, else those of a
        compiled thing, else all that fit but builtins and what is given an f-string with a call in
        it, which can be the one that is meant."""
        file = None if frame is None else self._files.at(frame.filename)
        if frame is None or file is None:
            return []
        here = [
            call
            for call in file.calls
            if call.node.lineno <= frame.line <= (call.node.end_lineno or frame.line)
            and not is_compile(call.node)
            and self._fits(call.node)
        ]
        name = self._name.rpartition(".")[2]
        named = [call for call in here if _last(call.node.func) == name]
        compiled = [call for call in here if _last(call.node.func) in _compiled_names(file)]
        direct = [call for call in here if isinstance(call.node.func, ast.Call)]
        other = [call for call in here if not (_is_builtin(call.node.func) or _hides(call.node))]
        return named or compiled or direct or other

    def _fits(self, node: ast.Call) -> bool:
        starred = any(isinstance(each, ast.Starred) for each in node.args)
        names = {keyword.arg for keyword in node.keywords}
        takes = self.parameters
        few = len(node.args) <= takes.positional or takes.several != ""
        return not starred and few and (names <= {*takes.names} or takes.named != "")

    def handed(self, path: Path) -> list[Handed]:
        """What each call hands over of which something is a part, of the calls that do."""
        takes, name, steps = self.parameters, path.root, path.steps
        at: int | None = None
        if not takes.takes(path):
            return []
        if name in takes.names:
            at = takes.names.index(name) if name in takes.names[: takes.positional] else None
        elif name == takes.several and (element := _ELEMENT.fullmatch(steps[0])):
            at, name, steps = takes.positional + int(element[1]), "", steps[1:]
        elif name == takes.named and (key := _NAMED.fullmatch(steps[0])):
            name, steps = key[1], steps[1:]
        else:
            return []
        found = []
        for call in self.calls:
            node = call.node
            values = [keyword.value for keyword in node.keywords if keyword.arg == name]
            if at is not None and at < len(node.args):
                values = [node.args[at]]
            found += [Handed(call, value, steps) for value in values]
        return found

    def compiles(self) -> list[tuple[File, ast.expr]]:
        """Where it is compiled: the decorator, or the call of `torch.compile` that names it, or the
        only one that there is."""
        function = self._function
        if self._file is not None and isinstance(function, ast.FunctionDef):
            decorators = [each for each in function.decorator_list if is_compile(each)]
            if decorators:
                return [(self._file, decorators[0])]
        every = [
            (file, call.node)
            for file in self._files.every()
            if not is_installed(file.path)
            for call in file.calls
            if is_compile(call.node) and not isinstance(file.parent(call.node), ast.FunctionDef)
        ]
        words = {*self._name.split(".")}
        named = [
            (file, node)
            for file, node in every
            if any(words & _words(file, each) for each in _given(file, node))
        ]
        chosen = named or (every if len(every) == 1 else [])
        return [(file, node) for file, node in chosen]

    def with_option(self, option: str, value: str) -> tuple[Edit, ...]:
        """Edits: an option of `torch.compile` where the function is compiled; empty: that is not in
        the program's text."""
        found: list[Edit] = []
        for file, node in self.compiles():
            text = f"{option}={file.torched(value)}"
            if not isinstance(node, ast.Call):
                found += file.around(node, "", f"({text})")
                continue
            known = [keyword for keyword in node.keywords if keyword.arg == option]
            if known:
                found.append(file.replaced(known[0], text))
            elif not node.args and not node.keywords:
                found.append(file.replaced(node, f"{file.text(node.func)}({text})"))
            else:
                last = max(
                    [*node.args, *(keyword.value for keyword in node.keywords)],
                    key=lambda each: (each.end_lineno or 0, each.end_col_offset or 0),
                )
                found += file.around(last, "", f", {text}")[1:]
        return tuple(found)


def _is_builtin(func: ast.expr) -> bool:
    return isinstance(func, ast.Name) and hasattr(builtins, func.id)


def _hides(node: ast.Call) -> bool:
    """Whether there is a call in an f-string in it: until Python 3.12 such ones have no places."""
    strings = [each for each in ast.walk(node) if isinstance(each, ast.JoinedStr)]
    return any(isinstance(each, ast.Call) for string in strings for each in ast.walk(string))


def is_compile(node: ast.expr) -> bool:
    """Whether an expression is `torch.compile`, or a call of it."""
    func = node.func if isinstance(node, ast.Call) else node
    return isinstance(func, ast.Attribute) and func.attr == _COMPILE and (
        isinstance(func.value, ast.Name)
        and func.value.id != "re"
    )  # fmt: skip


def _last(func: ast.expr) -> str:
    if isinstance(func, ast.Attribute):
        return func.attr
    return func.id if isinstance(func, ast.Name) else ""


def _given(file: File, node: ast.Call) -> list[ast.expr]:
    """What a call of `torch.compile` compiles: `torch.compile(f)`, or `torch.compile(…)(f)`."""
    if node.args:
        return node.args[:1]
    parent = file.parent(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return parent.args[:1]
    return []


def _words(file: File, node: ast.expr) -> set[str]:
    """The names in an expression, and in what they are bound to at first."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    names |= {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
    for each in ast.walk(file.tree):
        if isinstance(each, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id in names for target in each.targets
        ):
            names |= {part.id for part in ast.walk(each.value) if isinstance(part, ast.Name)}
    return names


def _compiled_names(file: File) -> set[str]:
    """Names that a file gives to what `torch.compile` returns."""
    found = set()
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Assign) and any(
            isinstance(part, ast.Call) and is_compile(part) for part in ast.walk(node.value)
        ):
            found |= {_last(target) for target in node.targets}
    return found - {""}


def _parameters(
    file: File | None, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None
) -> Parameters:
    if file is None or function is None:
        return Parameters([], 0, "", "")
    arguments = function.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    static = isinstance(function, ast.FunctionDef) and any(
        _last(each) == "staticmethod" for each in function.decorator_list
    )
    # A wrapper of methods calls it so, too.
    bound = isinstance(file.parent(function), ast.ClassDef) or names[:1] == ["self"]
    if bound and names and not static:
        names = names[1:]
    return Parameters(
        names=[*names, *(each.arg for each in arguments.kwonlyargs)],
        positional=len(names),
        several=arguments.vararg.arg if arguments.vararg is not None else "",
        named=arguments.kwarg.arg if arguments.kwarg is not None else "",
    )
