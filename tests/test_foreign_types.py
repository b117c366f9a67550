"""What looks at a program's values asks no metaclass of theirs.

`type(value) in KNOWN` asks the type for a hash or an equality, and a table that is looked up by a
type does, too: where the program's metaclass has its own `__hash__` or `__eq__`, that is code of
the program, run because it was watched. `stepper.support.words.one_of` asks nobody.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "stepper"
LOOKING = sorted(
    path
    for folder in ("engines/common", "engines/dynamo", "debuggee")
    for path in (ROOT / folder).rglob("*.py")
    # What a person has evaluated is shown by its own repr, which runs code of the program anyway.
    if path.name != "rendering.py"
)
OF_THE_COMPILER = {"describe = self._special[kind]"}
"""Lines about trackers, whose classes are Dynamo's."""
_TABLES = {"get", "setdefault", "pop"}


def is_type_of(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "type"
        and len(node.args) == 1
    )


def kinds_in(function: ast.AST) -> set[str]:
    """The variables that hold a value's type, but for those of whose metaclass it was asked."""
    held = {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and is_type_of(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    asked = {
        node.left.args[0].id
        for node in ast.walk(function)
        if isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Call)
        and is_type_of(node.left)
        and isinstance(node.left.args[0], ast.Name)
    }
    return held - asked


def asking(tree: ast.AST) -> Iterator[int]:
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.Lambda):
            continue
        kinds = kinds_in(function)

        def of_a_type(node: ast.AST, kinds: set[str] = kinds) -> bool:
            return is_type_of(node) or (isinstance(node, ast.Name) and node.id in kinds)

        for node in ast.walk(function):
            by_equality = isinstance(node, ast.Compare) and any(
                isinstance(each, ast.In | ast.NotIn | ast.Eq | ast.NotEq) for each in node.ops
            )
            if isinstance(node, ast.Compare) and by_equality and of_a_type(node.left):
                yield node.lineno
            if isinstance(node, ast.Subscript) and of_a_type(node.slice):
                yield node.lineno
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in _TABLES
                and node.args
                and of_a_type(node.args[0])
            ):
                yield node.lineno


@pytest.mark.parametrize("path", LOOKING, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_metaclass_is_asked(path: Path) -> None:
    lines = path.read_text().splitlines()
    found = sorted({*asking(ast.parse("\n".join(lines)))})
    said = {line: lines[line - 1].strip() for line in found}
    assert not [f"{path}:{n}: {text}" for n, text in said.items() if text not in OF_THE_COMPILER]
