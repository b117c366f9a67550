"""In a graph's code the names of torch's functions mean what was captured, whatever has been put
there since."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.fx import Graph, GraphModule

from stepper.native.codegen.graph_names import CodeAsCaptured
from stepper.native.exc import SkipFrame
from stepper.native.variables.torch import is_graph_function
from tests.engines.native.harness import check
from tests.engines.native.replaced.running import swapped

_PLACES: tuple[Any, ...] = (
    torch, F, torch.functional, torch.special, torch.linalg, torch.fft, torch._C._nn,
    torch._C._VariableFunctions,
)  # fmt: skip


def _functions() -> Iterator[Any]:
    for place in _PLACES:
        for name in dir(place):
            value = getattr(place, name, None)
            if callable(value) and not isinstance(value, type) and is_graph_function(value):
                yield value


def _module_of(*targets: Any) -> GraphModule:
    graph = Graph()
    x = graph.placeholder("x")
    for target in targets:
        graph.call_function(target, (x,))
    graph.output(x)
    graph.set_codegen(CodeAsCaptured())
    return GraphModule({}, graph)


def test_every_function_is_called_itself() -> None:
    """Each function that may be a node, whatever its name leads to in torch."""
    functions = list({id(each): each for each in _functions()}.values())
    assert len(functions) > 1000
    for function in functions:
        module = _module_of(function)
        line = next(line for line in module.code.splitlines() if " = " in line and "(x)" in line)
        forward: Any = module.forward
        names = forward.__func__.__globals__
        assert names["torch"] is not torch
        assert eval(line.partition(" = ")[2].partition("(x)")[0], names) == function


def test_a_changed_graph_is_written_again_with_what_it_calls_then() -> None:
    module = _module_of(torch.sin)
    with swapped(torch, "cos", torch.tan):
        node = next(iter(node for node in module.graph.nodes if node.op == "call_function"))
        node.target = torch.ops.aten.cos.default
        module.graph.output_node().args = (node,)
        module.recompile()
        assert torch.equal(module(torch.ones(2)), torch.ones(2).cos())


def test_a_graph_can_be_copied_and_stored() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(torch.full, ((2,), 3.0), {"dtype": torch.float64}))
    index: Any = (..., slice(1, 2))
    graph.call_function(operator.getitem, (x, index))
    graph.set_codegen(CodeAsCaptured())
    module = GraphModule({}, graph)
    expected = torch.full((2,), 3.0, dtype=torch.float64)
    for made in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(made(torch.ones(3)), expected)


def test_two_functions_of_one_name_are_no_graph() -> None:
    def cos(x: Any) -> Any: ...

    cos.__module__ = "torch"
    with pytest.raises(SkipFrame, match=r"two things are called torch\.cos"):
        _module_of(torch.cos, cos)


def test_inputs_that_are_called_the_same_are_two() -> None:
    def f(of: dict[Any, torch.Tensor]) -> torch.Tensor:
        return of["+"] - of["-"] * of[0] + of["0"]

    assert not check(
        f, {key: torch.full((2,), n) for n, key in enumerate(("+", "-", 0, "0"))}
    ).breaks
