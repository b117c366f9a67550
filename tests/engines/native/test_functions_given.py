"""Functions that are given to `compile` and are not the program's own: what a call comes to is code
of a library, or of C, and is captured all the same."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from stepper import native
from tests.engines.native.harness import same

pytestmark = pytest.mark.evaluator_out

LAYER = nn.Linear(3, 3)
X = torch.arange(6.0).reshape(2, 3)


def _twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


GIVEN: dict[str, tuple[Callable[..., Any], int]] = {
    "of torch's, in Python": (nn.functional.gelu, 1),
    "of torch's, in C": (torch.sin, 1),
    "method of a layer": (LAYER.forward, 1),
    "partial": (functools.partial(nn.functional.softmax, dim=0), 1),
    "unbound method": (torch.Tensor.exp, 1),
    "method of a tensor": (X.mul, 1),
    "builtin": (functools.partial(operator.add, 1), 1),
    "mapped": (torch.func.vmap(_twice), 1),
    "derived": (torch.func.grad(torch.sum), 1),
    "in a mode": (torch.no_grad()(_twice), 1),
    "without a tensor": (functools.partial(divmod, 7, 2), 0),
}
"""Each with the number of graphs that calls make."""


@pytest.mark.parametrize("name", GIVEN)
def test_what_a_call_comes_to_is_captured(name: str) -> None:
    function, count = GIVEN[name]
    graphs: list[Any] = []

    def backend(gm: Any, inputs: list[Any]) -> Any:
        graphs.append(gm)
        return gm.forward

    captured: Any = native.optimize(backend)(function)
    args = (X,) if count else ()
    for _ in range(2):
        assert same(function(*args), captured(*args))
    assert len(graphs) == count


def test_a_step_that_a_scheduler_counts_is_captured() -> None:
    def trained(compiler: Callable[[Any], Any]) -> torch.Tensor:
        weight = nn.Parameter(torch.ones(2))
        optimizer = torch.optim.SGD([weight], lr=1.0)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        step = compiler(optimizer.step)
        for _ in range(3):
            (weight * 2).sum().backward()
            step()
            scheduler.step()
        return weight.detach()

    graphs: list[Any] = []

    def backend(gm: Any, inputs: list[Any]) -> Any:
        graphs.append(gm)
        return gm.forward

    assert same(trained(lambda step: step), trained(native.optimize(backend)))
    assert graphs
