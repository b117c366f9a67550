"""Data that is assigned to a parameter does not count as a change in place, whatever the backend
makes of it: what was computed before can be differentiated."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch.nn import Parameter

from stepper import native
from stepper.native.explanation import Explanation
from stepper.native.watching import WATCHING
from tests.engines.native.harness import same

pytestmark = pytest.mark.evaluator_out


def is_given_data(p: Parameter, x: torch.Tensor) -> Any:
    p.data = x * 2
    return (p * x).sum()


def is_given_data_twice(p: Parameter, x: torch.Tensor) -> Any:
    kept, y = p.data, x * 2
    p.data = y
    z = p * x
    p.data = kept
    return z.sum(), y


def hands_out_what_it_had(p: Parameter, x: torch.Tensor) -> Any:
    before = p.detach()[1:]
    p.data = x * 2
    return p * x, before


GRAPHS = {is_given_data: 1, is_given_data_twice: 2, hands_out_what_it_had: 2}


def versions_and_gradients(function: Any, given: tuple[Parameter, torch.Tensor]) -> Any:
    p, x = given
    earlier = (p * p).sum()
    result = function(p, x)
    earlier.backward()
    return result, p.detach().clone(), p._version, x, p.grad


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", GRAPHS)
def test_to_be_given_data_counts_as_no_change(function: Any, backend: str) -> None:
    given = Parameter(torch.arange(4.0)), torch.arange(4.0) + 1
    expected = versions_and_gradients(function, copy.deepcopy(given))
    before, WATCHING.explanation = WATCHING.explanation, Explanation()
    try:
        captured = native.compile(function, backend=backend)
        for _ in range(2):
            assert same(versions_and_gradients(captured, copy.deepcopy(given)), expected)
        assert WATCHING.explanation.graph_count == GRAPHS[function]
    finally:
        WATCHING.explanation = before
