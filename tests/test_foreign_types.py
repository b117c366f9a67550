"""What looks at a program's values asks no metaclass of theirs.

`type(value) in KNOWN` asks the type for a hash or an equality, and a table that is looked up by a
type does, too: where the program's metaclass has its own `__hash__` or `__eq__`, that is code of
the program, run because it was watched. `stepper.support.words.one_of` asks nobody, and nor does
a table that is made of `Classes`.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from stepper.support.words import Classes

ROOT = Path(__file__).parent.parent / "stepper"
_ALL = (
    path
    for folder in ("engines", "debuggee", "native")
    for path in (ROOT / folder).rglob("*.py")
    # What a person has evaluated is shown by its own repr, which runs code of the program anyway.
    # Polyfills are not run, but interpreted.
    if path.name != "rendering.py" and path.parent.name != "polyfills"
)
LOOKING = [*sorted(_ALL), ROOT / "model" / "datum.py"]
OF_THE_COMPILER = {
    "describe = self._special[kind]",
    "return one == other if type(one) in (int, str) else text_of(one) == text_of(other)",
    "text = _CHANGED.get(kind)",
    "return _TYPES[type(self.sym_num)]",
}
"""Lines about what is the compiler's own, trackers and symbols, and about data."""
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


def is_of_classes(module: ModuleType, node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(getattr(module, node.id, None), Classes)


def asking(tree: ast.AST, module: ModuleType) -> Iterator[int]:
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.Lambda):
            continue
        kinds = kinds_in(function)

        def of_a_type(node: ast.AST, kinds: set[str] = kinds) -> bool:
            return is_type_of(node) or (isinstance(node, ast.Name) and node.id in kinds)

        for node in ast.walk(function):
            by_equality = isinstance(node, ast.Compare) and any(
                isinstance(each, ast.In | ast.NotIn | ast.Eq | ast.NotEq)
                and not is_of_classes(module, table)
                for each, table in zip(node.ops, node.comparators, strict=True)
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
    module = ModuleType(path.name)
    if path.parent.name != "startup":  # what is imported there begins to watch
        name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        module = importlib.import_module(name.removesuffix(".__init__"))
    found = sorted({*asking(ast.parse("\n".join(lines)), module)})
    said = {line: lines[line - 1].strip() for line in found}
    assert not [f"{path}:{n}: {text}" for n, text in said.items() if text not in OF_THE_COMPILER]
