"""Hooks on the gradients of what a graph has made: `Tensor.register_hook`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.evaluator_out

FACTOR = [3]


def clipped(gradient: torch.Tensor) -> torch.Tensor:
    return gradient.clamp(-0.5, 0.5)


def multiplied(x: torch.Tensor) -> Any:
    y = x * 2
    y.register_hook(lambda gradient: gradient * 3)
    return (y * y).sum()


def of_several(x: torch.Tensor) -> Any:
    y = x * 2
    y.register_hook(clipped)
    z = y * y
    y.register_hook(lambda gradient: gradient - 1)
    z.register_hook(lambda gradient: -gradient)
    return (y.sin() * z).sum()


def before_a_change(x: torch.Tensor) -> Any:
    y = x * 2
    y.register_hook(lambda gradient: gradient * 3)
    y.mul_(x)
    y.register_hook(lambda gradient: gradient + 1)
    return y.sum()


def without_a_gradient(x: torch.Tensor) -> Any:
    first, second = (x * 2).split(2)
    first.register_hook(lambda gradient: gradient * 3)
    return second.sum()


def in_a_list(x: torch.Tensor) -> Any:
    y = x * 2
    handles: list[Any] = []
    handles.extend(map(y.register_hook, [clipped]))
    return y.sum() * len(handles)


def removed(x: torch.Tensor) -> Any:
    y = x * 2
    handle = y.register_hook(lambda gradient: gradient * 3)
    handle.remove()
    return (y * y).sum()


def changing(x: torch.Tensor) -> Any:
    y = x * 2
    factor = 5
    y.register_hook(lambda gradient: gradient * factor)
    factor = 7
    return (y * y).sum()


def reading(x: torch.Tensor) -> Any:
    y = x * 2
    y.register_hook(lambda gradient: gradient * FACTOR[0])
    return (y * y).sum()


def asking(x: torch.Tensor) -> Any:
    y = x.expand(2, 4) * 1
    y.register_hook(lambda gradient: gradient * 2 if gradient.is_contiguous() else gradient)
    return y.sum()


def noting(x: torch.Tensor) -> Any:
    y, seen = x * 2, list[Any]()
    y.register_hook(seen.append)
    (y * y).sum().backward()
    return (y * len(seen)).sum()


def of_another_shape(x: torch.Tensor) -> Any:
    y = x * 2
    y.register_hook(lambda gradient: gradient.sum())
    return y.sum()


def gradients(function: Callable[[torch.Tensor], Any]) -> object:
    """Of what a function gives, and what they raise, once a hook reads something else."""
    x = torch.arange(4.0, requires_grad=True)
    FACTOR[0] = 3
    result = function(x)
    FACTOR[0] = 11
    try:
        result.backward()
    except Exception as error:
        return type(error), str(error)
    return x.grad if x.grad is None else x.grad.tolist()


CAPTURED = [multiplied, of_several, before_a_change, without_a_gradient, in_a_list]
BREAKING = [removed, changing, reading, asking, noting, of_another_shape]


@pytest.mark.parametrize("function", [*CAPTURED, *BREAKING])
@pytest.mark.parametrize("backend", [run_graph, "aot_eager"])
def test_gradients_are_those_of_eager(function: Any, backend: Any) -> None:
    captured = native.optimize(backend)(function)
    expected = gradients(function)
    assert [gradients(captured) for _ in range(2)] == [expected] * 2


@pytest.mark.parametrize("function", CAPTURED)
def test_a_hook_that_only_computes_is_in_the_graph(function: Any) -> None:
    explanation = native.explain(function)(torch.ones(4, requires_grad=True))
    assert (explanation.graph_count, explanation.breaks) == (1, [])


@pytest.mark.parametrize("function", BREAKING)
def test_another_breaks_it(function: Any) -> None:
    assert native.explain(function)(torch.ones(4, requires_grad=True)).breaks


def test_a_handle_that_is_kept_takes_the_hook_away() -> None:
    def keeps(x: torch.Tensor) -> Any:
        y = x * 2
        handle = y.register_hook(lambda gradient: gradient * 3)
        return y.sum(), handle

    x = torch.ones(2, requires_grad=True)
    result, handle = native.optimize(run_graph)(keeps)(x)
    handle.remove()
    result.backward()
    assert torch.equal(x.grad, torch.full((2,), 2.0))  # type: ignore[arg-type]  # it has one


def test_gradients_of_gradients_go_through_it() -> None:
    def cubed(x: torch.Tensor) -> torch.Tensor:
        y = x * x
        y.register_hook(lambda gradient: gradient * gradient)
        return (y * x).sum()

    found = []
    for function in (cubed, native.optimize(run_graph)(cubed)):
        x = torch.arange(1.0, 4.0, requires_grad=True)
        (first,) = torch.autograd.grad(function(x), x, create_graph=True)
        found.append(torch.autograd.grad(first.sum(), x)[0].tolist())
    assert found[0] == found[1]
