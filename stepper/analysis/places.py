"""Places of a program's files that a change is about: the calls of a compiled function and what
they hand over, where it is compiled, where torch is imported.

A recording has the line of each call and of each function. Which expression of that line is meant
is found in the file as it is, by its syntax; where several are possible, that is for a trial to
show. Nothing of the program is run for this.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from stepper.client.scratch import Edit, Sources

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)
"""Statements that nothing of is run before what stands in front of them."""
_GOES_ON = _SIMPLE[:-1]
"""Those that are followed by the next one."""
_NOT_AT_ONCE = (
    ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.IfExp, ast.BoolOp,
)  # fmt: skip
"""Expressions of which a part is run later, not at all, or several times."""
_INDENT = re.compile(rb"[ \t]*")


class Call(NamedTuple):
    """A call in a file, and the statement that it is part of."""

    file: File
    node: ast.Call
    statement: ast.stmt
    movable: bool
    """Whether what it hands over can be computed in front of the statement."""


class File:
    """One file of the program, taken apart."""

    def __init__(self, path: str, text: bytes) -> None:
        """
        Raises:
            SyntaxError: it is no Python.
            ValueError: nor any text.
        """
        self.path = path
        self.tree = ast.parse(text)
        self._lines = text.splitlines(keepends=True)
        self._parents = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }

    def text(self, node: ast.AST) -> str:
        """What stands there, as it is written."""
        line, col, end, end_col = _span(node)
        lines = self._lines[line - 1 : end]
        lines[-1] = lines[-1][:end_col]
        lines[0] = lines[0][col:]
        return b"".join(lines).decode("utf-8")

    def replaced(self, node: ast.AST, text: str) -> Edit:
        """An edit: something else in a node's place."""
        return Edit(self.path, *_span(node), text)

    def around(self, node: ast.AST, before: str, after: str) -> tuple[Edit, ...]:
        """Edits: something before a node and something behind it."""
        line, col, end, end_col = _span(node)
        return (
            Edit(self.path, line, col, line, col, before),
            Edit(self.path, end, end_col, end, end_col, after),
        )

    def line_before(self, statement: ast.stmt, text: str) -> Edit | None:
        """An edit: a line in front of a statement; None: it does not begin its line."""
        line = statement.lineno
        if isinstance(statement, (*_CLASSES,)) and statement.decorator_list:
            line = statement.decorator_list[0].lineno
        written = self._lines[line - 1]
        found = _INDENT.match(written)
        assert found is not None
        indent = found[0].decode("ascii")
        if statement.col_offset != len(indent):
            return None
        return Edit(self.path, line, 0, line, 0, f"{indent}{text}\n")

    def line_after(self, statement: ast.stmt, text: str) -> Edit | None:
        """An edit: a line behind a statement after which the program goes on; None: the statement
        does not have its lines for itself."""
        before = self.line_before(statement, text)
        _, _, end, end_col = _span(statement)
        rest = self._lines[end - 1][end_col:]
        alone = rest.endswith((b"\n", b"\r")) and b";" not in rest
        if before is None or not alone or not isinstance(statement, _GOES_ON):
            return None
        return Edit(self.path, end + 1, 0, end + 1, 0, before.text)

    def indented(self, statement: ast.stmt, header: str) -> tuple[Edit, ...]:
        """Edits: a statement of one line below a header, such as `with …:`; empty: it is not one
        that has its line for itself."""
        edit = self.line_before(statement, header)
        line = statement.lineno
        if edit is None or statement.end_lineno != line or b";" in self._lines[line - 1]:
            return ()
        return (edit, Edit(self.path, line, 0, line, 0, "    "))

    def line_removed(self, statement: ast.stmt) -> tuple[Edit, ...]:
        """Edits: a statement that has its lines for itself is gone; `pass` where a block would be
        empty."""
        parent = self.parent(statement)
        block = next(
            (
                block
                for name in ("body", "orelse", "finalbody")
                if statement in (block := getattr(parent, name, None) or [])
            ),
            [],
        )
        if len(block) == 1:
            return (self.replaced(statement, "pass"),)
        line, _, end, _ = _span(statement)
        if self.line_before(statement, "") is None or b";" in b"".join(self._lines[line - 1 : end]):
            return (self.replaced(statement, "pass"),)
        return (Edit(self.path, line, 0, end + 1, 0, ""),)

    def parent(self, node: ast.AST) -> ast.AST | None:
        """What a node is part of."""
        return self._parents.get(node)

    def statement_of(self, node: ast.AST) -> tuple[ast.stmt | None, bool]:
        """The statement of an expression, and whether the expression is always computed once there,
        before anything else is done; None: its place is not known."""
        at_once = True
        while not isinstance(node, ast.stmt):
            at_once = at_once and not isinstance(node, _NOT_AT_ONCE)
            parent = self._parents.get(node)
            # Until Python 3.12 places within an f-string are not those of the file.
            if parent is None or isinstance(parent, ast.JoinedStr):
                return None, False
            node = parent
        return node, at_once and isinstance(node, _SIMPLE)

    @cached_property
    def calls(self) -> list[Call]:
        """Every call, in the order of the text."""
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                statement, movable = self.statement_of(node)
                if statement is not None:
                    found.append(Call(self, node, statement, movable))
        return sorted(found, key=lambda each: _span(each.node)[:2])

    def free_name(self, wanted: str, near: ast.AST) -> str:
        """A name that nothing has yet where a node is, or around that."""
        scope: ast.AST = next(self.enclosing(near), self.tree)
        taken = self._names(scope)
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}_{number}"
        return name

    def _names(self, scope: ast.AST) -> set[str]:
        """The names that code uses, but for those that functions inside have for themselves."""
        found: set[str] = set()
        for node in ast.iter_child_nodes(scope):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                inside = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
                own = {each.id for each in inside if isinstance(each.ctx, ast.Store)}
                own |= {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
                found |= {each.id for each in inside} - own
                found.add(getattr(node, "name", ""))
                continue
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.arg):
                found.add(node.arg)
            found |= self._names(node)
        return found

    @cached_property
    def torch(self) -> str:
        """What the file calls torch; empty: it does not import it as a whole."""
        for node in self.tree.body:
            if isinstance(node, ast.Import):
                for each in node.names:
                    if each.name == "torch":
                        return each.asname or each.name
                    if each.name.startswith("torch.") and each.asname is None:
                        return "torch"
        return ""

    def setting(self, text: str) -> Edit | None:
        """An edit: a statement behind the imports at the beginning of the file, with torch by the
        name that it has there; None: torch is not imported there."""
        last: ast.stmt | None = None
        for node in self.tree.body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                last = node
            elif last is not None:
                break
        if last is None or not self.torch or last.end_lineno is None:
            return None
        after = last.end_lineno + 1
        if not (self._lines[after - 2].endswith((b"\n", b"\r")) and self._alone(last)):
            return None
        return Edit(self.path, after, 0, after, 0, f"{self.torched(text)}\n")

    def _alone(self, statement: ast.stmt) -> bool:
        on_it = [each for each in self.tree.body if each.lineno == statement.end_lineno]
        return len(on_it) <= 1

    def torched(self, text: str) -> str:
        """A text in which torch has the name that it has in this file."""
        return text if self.torch == "torch" else re.sub(r"\btorch\b", self.torch, text)

    def function(self, line: int, name: str) -> _Function | ast.Lambda | None:
        """The function that begins at a line."""
        last = name.rpartition(".")[2]
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == last:
                first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
                if line in (first, node.lineno):
                    return node
            elif isinstance(node, ast.Lambda) and last == "<lambda>" and node.lineno == line:
                return node
        return None

    def enclosing(self, node: ast.AST) -> Iterator[_Function]:
        """The functions around a node, the innermost first."""
        inner: ast.AST | None = node
        while (inner := self._parents.get(inner) if inner is not None else None) is not None:
            if isinstance(inner, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield inner


_CLASSES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _span(node: ast.AST) -> tuple[int, int, int, int]:
    line, col = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    return line, col, getattr(node, "end_lineno", line), getattr(node, "end_col_offset", col)


class Files:
    """The files of a plan, taken apart."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._known: dict[str, File | None] = {}

    @property
    def main(self) -> File | None:
        """The program's own file, if it is one of Python source."""
        return self.at(self._sources.main)

    def at(self, path: str) -> File | None:
        """A file; None: it is none of the program's, or no Python."""
        if path not in self._known:
            text = self._sources.text(path)
            try:
                self._known[path] = None if text is None else File(path, text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._known[path] = None
        return self._known[path]

    def every(self) -> Iterator[File]:
        """All of them, the program's own first."""
        for path in self._sources.paths:
            file = self.at(path)
            if file is not None:
                yield file
