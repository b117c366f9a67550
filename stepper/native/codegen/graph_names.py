"""What names mean in a graph's code.

`torch.fx` writes a function of torch into a graph's code by its name, `torch.full`, which is looked
up whenever the code runs. By then a program may have put a function of its own there, which calls
torch's, and the graph would call the program's although what was captured is torch's. So the code
says the same, but in it `torch` is a module that has just what was captured, under those names.

Backends that change a graph and have its code written again get the same, of the new nodes.
"""

from __future__ import annotations

import re
import types
from typing import Any

import torch
from torch.fx.graph import CodeGen
from torch.fx.node import Node, map_aggregate

from stepper.native.exc import SkipFrame
from stepper.native.versions import qualified_name
from stepper.uncompiled import keep_out

_NAMED = re.compile(r"\btorch(?:\.[A-Za-z_]\w*)+")
_CONSTANTS = (torch.dtype, torch.layout, torch.memory_format, torch.qscheme)
_TORCH = dict(vars(torch))
"""What `torch` had when this was imported; for names that no node tells of, as `torch.Size`."""
_PYTHON = {"slice": slice, "Ellipsis": Ellipsis}
"""Builtins by which constants are written."""


class CodeAsCaptured(CodeGen):
    """Writes a graph's code; see the module's essay."""

    def _gen_python_code(self, nodes: Any, *args: Any, **kwargs: Any) -> Any:
        written = super()._gen_python_code(nodes, *args, **kwargs)
        written.globals["torch"] = _as_captured(nodes, written.src)
        for name, value in _PYTHON.items():
            if name in written.src:
                written.globals[name] = value
        return written


def _as_captured(nodes: Any, source: str) -> types.ModuleType:
    meant: dict[str, object] = {}
    for node in nodes:
        name = qualified_name(node.target) if node.op == "call_function" else ""
        if name.startswith("torch."):  # others are no matter of names: FX gives each its own
            _add(meant, name, node.target)
        for value in constants_of(node):
            if isinstance(value, _CONSTANTS):
                _add(meant, repr(value), value)
    found = types.ModuleType("torch")
    paths = {match[0] for match in _NAMED.finditer(source)}
    for path in sorted(paths, key=len):
        value = meant[path] if path in meant else _of_torch(path)
        if value is not None:
            _put(found, path, value)
    return found


def constants_of(node: Node) -> list[object]:
    """What a node is called with that no other node gives."""
    found: list[object] = []
    map_aggregate((node.args, node.kwargs), found.append)
    return found


def _add(meant: dict[str, object], name: str, value: object) -> None:
    known = meant.setdefault(name, value)
    if known is not value and known != value:
        raise SkipFrame(f"two things are called {name}")


def _of_torch(path: str) -> object:
    """What this leads to in torch; None: nothing, it is part of a text."""
    _, first, *rest = path.split(".")
    found = _TORCH.get(first)
    for name in rest:
        found = getattr(found, name, None)
    return found


def _put(torch_as_captured: types.ModuleType, path: str, value: object) -> None:
    """Have a path lead to a value."""
    _, *names, last = path.split(".")
    where: Any = torch_as_captured
    for name in names:
        if name not in vars(where):
            setattr(where, name, types.ModuleType(f"{where.__name__}.{name}"))
        where = getattr(where, name)
        if type(where) is not types.ModuleType:  # a class or an operator that is captured itself
            break
    else:
        setattr(where, last, value)


keep_out()
