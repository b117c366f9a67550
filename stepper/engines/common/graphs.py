"""The FX graph behind what a backend returned, and how much memory a cache entry takes.

Eager backends leave the GraphModule within reach, behind a bound method and a few wrappers; others
compile it away. So a graph is looked for a few steps deep, and often there is none.
"""

from __future__ import annotations

import sys
import types
from types import CodeType
from typing import Any

import torch
from torch.fx import GraphModule

from stepper.engines.common.versions import buffers_of

_STEPS = 6
_LINKS = ("_torchdynamo_orig_callable", "__wrapped__", "_boxed_call_fn")


def graph_behind(value: Any) -> GraphModule | None:
    """The graph that something calls which a backend has returned, if the backend kept it."""
    waiting = [(value, 0)]
    seen: set[int] = set()
    while waiting:
        value, depth = waiting.pop(0)
        if id(value) in seen or depth > _STEPS or value is None:
            continue
        seen.add(id(value))
        if isinstance(value, GraphModule):
            return value
        if type(value) is types.MethodType:
            waiting.append((value.__self__, depth + 1))
        elif type(value) is types.FunctionType:
            linked = [value.__dict__.get(name) for name in _LINKS]
            cells = [_content(cell) for cell in value.__closure__ or ()]
            waiting += [(each, depth + 1) for each in [*linked, *cells] if callable(each)]
    return None


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def text(graph: GraphModule | None) -> str:
    """The graph as Python; empty when there is none."""
    return "" if graph is None else graph.code.strip()


def graph_bytes(graph: GraphModule) -> int:
    """Memory of a graph, roughly: its nodes and the tensors that only it has."""
    total = 0
    for node in graph.graph.nodes:
        total += sys.getsizeof(node) + sys.getsizeof(node.__dict__) + sys.getsizeof(node.meta)
    own = [*graph.__dict__.values(), *buffers_of(graph)]
    for value in own:
        if type(value) is torch.Tensor:
            total += value.untyped_storage().nbytes()
    return total


def code_bytes(code: CodeType) -> int:
    """Memory of a code object with its constants, roughly."""
    total = sys.getsizeof(code) + len(code.co_code)
    for constant in code.co_consts:
        is_code = type(constant) is CodeType
        total += code_bytes(constant) if is_code else sys.getsizeof(constant)
    return total


def measured(code: CodeType, graph: GraphModule | None) -> dict[str, Any]:
    """What an entry's facts tell of its code and of the graph that the code calls."""
    return {
        "transformed": code.co_qualname,
        "code_bytes": code_bytes(code),
        "graph_nodes": None if graph is None else len(graph.graph.nodes),
        "graph_bytes": None if graph is None else graph_bytes(graph),
    }
