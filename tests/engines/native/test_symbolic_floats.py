"""Floats that are symbols, and floats computed of symbols, where the program needs to know them:
they are what Python computes, in all digits and with their sign."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import run_graph, same

pytestmark = pytest.mark.evaluator_out

KNOWN: dict[str, Callable[[float, int], Any]] = {
    "text": lambda v, n: str(v),
    "as a key": lambda v, n: {v * 0.1: 1},
    "times zero": lambda v, n: str(v * 0),
    "whole part": lambda v, n: (v // 1, v % 1, str(-v)),
    "added and taken away": lambda v, n: f"{v + 0.1 - 0.1}",
    "taken away from more": lambda v, n: str((v + 0.1) - v),
    "compared": lambda v, n: (v + 0.1) - v == 0.1,
    "truth": lambda v, n: 1 if v * 0.5 else 2,
    "method": lambda v, n: (v * 3).hex(),
    "size times zero": lambda v, n: str(n * -0.0),
    "of a size": lambda v, n: str((n * 0.1 + 0.1) - n * 0.1),
    "of a size and a float": lambda v, n: str(n * v - v * n + 0.1),
}
"""What needs a float to be known, of one that changes and of a size that does."""
CALLS = ((2, 1.5), (3, 0.3), (7, 0.7), (5, -1.1), (6, 2.9), (11, -0.0), (12, 0.0))


@pytest.mark.parametrize("name", KNOWN)
def test_a_float_that_is_known_is_pythons(name: str) -> None:
    def function(x: torch.Tensor, v: float) -> Any:
        return x + 1, KNOWN[name](v, x.shape[0])

    captured: Any = native.optimize(run_graph)(function)
    for size, value in CALLS:
        expected, got = function(torch.ones(size), value), captured(torch.ones(size), value)
        assert same(expected, got), (size, value)
        assert repr(expected[1]) == repr(got[1]), (size, value)


def test_a_float_that_need_not_be_known_stays_a_symbol() -> None:
    graphs: list[Any] = []

    def backend(gm: Any, inputs: list[Any]) -> Any:
        graphs.append(gm)
        return gm.forward

    def function(x: torch.Tensor, v: float) -> torch.Tensor:
        return x * (v * 2 + 1)

    captured: Any = native.optimize(backend)(function)
    for size, value in CALLS:
        assert same(function(torch.ones(2), value), captured(torch.ones(2), value)), size
    assert len(graphs) == 2


INTS: dict[str, Callable[[torch.Tensor, int], Any]] = {
    "factor": lambda x, i: x * i,
    "sum": lambda x, i: (x + i, i + 1, i * 2, -i),
    "bound": lambda x, i: x[:i],
    "size": lambda x, i: x + torch.ones(i, 3).sum(),
}
"""What need not know an int."""


@pytest.mark.parametrize("name", INTS)
def test_an_int_that_counts_from_zero_is_a_symbol_from_the_second_capture_on(name: str) -> None:
    graphs: list[Any] = []

    def backend(gm: Any, inputs: list[Any]) -> Any:
        graphs.append(gm)
        return gm.forward

    function = INTS[name]
    captured: Any = native.optimize(backend)(function)
    for i in (0, 1, 2, 3, 1, 0):
        expected, got = function(torch.ones(3), i), captured(torch.ones(3), i)
        assert same(expected, got), i
    assert len(graphs) <= 3 if name in ("bound", "size") else len(graphs) == 2


@pytest.mark.parametrize("branch", [lambda x, i: x[i], lambda x, i: x + 1 if i else x - 1])
def test_an_int_that_counts_from_zero_decides(branch: Callable[..., torch.Tensor]) -> None:
    captured: Any = native.optimize(run_graph)(branch)
    for i in (0, 1, 2, 0, 1):
        assert same(branch(torch.ones(3), i), captured(torch.ones(3), i)), i
