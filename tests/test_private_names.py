"""What is private to torch, and what differs between versions of CPython, stands in one module of
each layer.

Private is a name with an underscore in front that leads to a thing of torch's (`torch._dynamo`,
`torch._C.TensorBase`, `tensor._is_view`), whether or not torch's documentation uses it.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent / "stepper"
FILES = sorted(ROOT.rglob("*.py"))
PRIVATE_TORCH = (
    "engines/dynamo/versions", "engines/native/versions.py", "engines/common/versions.py",
    "native/versions.py",
)  # fmt: skip
"""Where torch's private names stand, layer by layer."""
PYTHON_TABLES = ("engines/common/versions.py", "native/bytecode/opcodes.py")
"""Where CPython's versions are told apart: for the engines, and for the compiler."""
LOOKED_UP = ("recording", "debuggee", "client", "engines", "native", "cache.py")
"""Rooms in which a text that is such a name serves to find the thing. Elsewhere, where torch cannot
be imported, it is what the user is told."""
SAID = ("engines/dynamo/registration.py",)
"""What the engine's compiler and its settings are called, for the user."""
OF_PYTHON = {
    "_actions", "_current_frames", "_exit", "_fields", "_get_subactions", "_getframe", "_name_",
    "_nb_ops", "_parse_exception_table", "_registry", "_replace", "_value2member_map_",
}  # fmt: skip
"""Private names of Python's own, and of its libraries."""
NAME = re.compile(r"torch(?:\.\w+)*\._\w+(?:\.\w+)*")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def is_in(path: Path, places: Iterable[str]) -> bool:
    return path.relative_to(ROOT).as_posix().startswith(tuple(places))


@functools.cache
def ours() -> frozenset[str]:
    """The private names that stepper's own classes and modules define."""
    found = set()
    for path in FILES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                found.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    return frozenset(found)


def names_in(source: ast.Module, *, texts: bool = True) -> Iterator[str]:
    """The dotted names by which a file reaches things of other modules, and with `texts` those that
    it writes down."""
    meant: dict[str, str] = {}  # what a name in the file stands for
    for node in ast.walk(source):
        if isinstance(node, ast.Import):
            for each in node.names:
                package = each.name.split(".")[0]
                meant[each.asname or package] = each.name if each.asname else package
                yield each.name
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for each in node.names:
                meant[each.asname or each.name] = f"{node.module}.{each.name}"
                yield f"{node.module}.{each.name}"
        elif texts and isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value if NAME.fullmatch(node.value) else ""
    for node in ast.walk(source):
        if isinstance(node, ast.Attribute):
            first, *steps = ast.unparse(node).split(".")
            if first in meant:
                yield ".".join((meant[first], *steps))


def private_to_torch(names: Iterable[str]) -> set[str]:
    return {
        name
        for name in names
        if name.split(".")[0] == "torch" and any(map(is_private, name.split(".")))
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import torch._dynamo.config", {"torch._dynamo.config"}),
        ("from torch.utils import _device", {"torch.utils._device"}),
        ("import torch\ntorch._C.tag()", {"torch._C", "torch._C.tag"}),
        ("import torch.fx as fx\nfx.graph._x", {"torch.fx.graph._x"}),
        ("'torch._dynamo.guards'", {"torch._dynamo.guards"}),
        ("'use torch._check'\nimport torch\ntorch.__version__", set()),
    ],
)
def test_private_names_are_found(text: str, found: set[str]) -> None:
    assert private_to_torch(names_in(ast.parse(text))) == found


def test_private_torch_stands_in_one_module_of_each_layer() -> None:
    found = {}
    for path in FILES:
        if not is_in(path, PRIVATE_TORCH):
            texts = is_in(path, LOOKED_UP) and not is_in(path, SAID)
            found[str(path.relative_to(ROOT))] = private_to_torch(names_in(tree(path), texts=texts))
    assert {path: names for path, names in found.items() if names} == {}


def test_no_private_attribute_of_somebody_elses_object_is_used() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for path in FILES
        if not is_in(path, PRIVATE_TORCH)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        if is_private(node.attr) and node.attr not in OF_PYTHON
        if node.attr not in ours() and ast.unparse(node.value) not in ("self", "cls", "super()")
    ]
    assert not found


def test_versions_of_python_are_told_apart_in_one_table_of_each_layer() -> None:
    """A version may be said, or compared with one that was recorded."""
    found = set()
    for path in FILES:
        for node in ast.walk(tree(path)):
            parts: list[ast.expr] = []
            if isinstance(node, ast.Subscript):
                parts = [node.slice]
            elif isinstance(node, ast.Compare):
                sides = [node.left, *node.comparators]
                parts = sides if any(isinstance(each, ast.Tuple) for each in sides) else []
            if any("sys.version_info" in ast.unparse(part) for part in parts):
                found.add(path.relative_to(ROOT).as_posix())
    assert found <= set(PYTHON_TABLES)
