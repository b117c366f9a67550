"""Graph modules that captured code calls, and what was stored on tensors."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import nn

from stepper import native
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.evaluator_out

X = torch.arange(4.0).reshape(2, 2)


def scaled(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) + y * 0.5


def test_a_graph_module_is_part_of_the_graph_as_it_is_now() -> None:
    first = torch.fx.symbolic_trace(scaled)
    second = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))

    def f(x: torch.Tensor) -> torch.Tensor:
        return second(first(x, x + 1)) * 2

    captured = native.optimize_assert(run_graph)(f)
    assert torch.equal(captured(-X), f(-X))
    for node in first.graph.nodes:
        if node.target is torch.relu:
            node.target = torch.sin
    assert torch.equal(captured(-X), f(-X))
    first.recompile()
    assert torch.equal(captured(-X), f(-X))
    assert not torch.equal(f(-X), second(scaled(-X, -X + 1)) * 2)
    assert torch.equal(native.optimize_assert(run_graph)(second)(X), second(X))


def test_a_graph_module_that_is_called_otherwise_is_left_to_python() -> None:
    class Doubled(torch.fx.GraphModule):
        def __call__(self, *args: Any) -> Any:
            return super().__call__(*args) * 2

    module = Doubled({}, torch.fx.symbolic_trace(scaled).graph)

    def f(x: torch.Tensor) -> torch.Tensor:
        return module(x, x)

    assert torch.equal(native.optimize(run_graph)(f)(X), f(X))


def test_what_was_stored_on_a_tensor() -> None:
    parameter: Any = nn.Parameter(torch.ones(2))
    parameter.scale = lambda x: x * 3

    def f(x: torch.Tensor) -> torch.Tensor:
        return parameter.scale(parameter) + x

    captured = native.optimize_assert(run_graph)(f)
    assert torch.equal(captured(X), f(X))
    parameter.scale = lambda x: x * 5
    assert torch.equal(captured(X), f(X))
    del parameter.scale
    with pytest.raises(AttributeError):
        native.optimize(run_graph)(f)(X)


def test_the_question_for_being_compiled_by_its_older_name() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asks: Any = torch._utils.is_compiling
        assert native.optimize(run_graph)(lambda x: (x + 1, asks()))(X)[1] is True
        assert asks() is False


def both(x: torch.Tensor, y: torch.Tensor) -> Any:
    found = x.sum() > 1 and y.sum() + 1
    other = x.sum() > 2 or y.sum() * 2
    return found, other, x + y


def test_what_comes_after_and_and_or_has_its_graphs() -> None:
    made: list[Any] = []
    captured = native.optimize(lambda gm, _: made.append(gm) or gm.forward)(both)
    for x in (X, -X, X / 4):
        for y in (X, -X):
            assert repr(captured(x, y)) == repr(both(x, y))
    operations = {node.name for gm in made for node in gm.graph.nodes}
    assert operations >= {"gt", "add", "mul", "add_1"} or len(made) > 2
