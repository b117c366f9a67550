"""Objects of the library that frames of models use: contexts, the environment, signatures."""

from __future__ import annotations

import contextlib
import inspect
import os
from typing import Any

import pytest
import torch
from torch import nn

from stepper import _C, native
from tests.engines.native.harness import check, run_graph


def test_a_variable_of_the_environment_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * int(os.environ.get("STEPPER_TEST_FACTOR", "2"))

    captured = native.optimize(run_graph)(f)
    assert captured(torch.ones(1)).item() == 2
    monkeypatch.setenv("STEPPER_TEST_FACTOR", "3")
    assert [captured(torch.ones(1)).item() for _ in range(2)] == [3, 3]
    monkeypatch.delenv("STEPPER_TEST_FACTOR")
    assert captured(torch.ones(1)).item() == 2
    assert len(_C.code_cache(f.__code__).entries) == 2


def test_decorated_with_no_grad_and_within_nullcontext() -> None:
    @torch.no_grad()
    def scaled(x: torch.Tensor) -> torch.Tensor:
        with contextlib.nullcontext(3) as factor:
            return x * factor

    def f(x: torch.Tensor) -> Any:
        y = scaled(x)
        return y, y.requires_grad, (x * 2).requires_grad

    explanation = check(f, torch.ones(2, requires_grad=True))
    assert explanation.graph_count == 1, str(explanation)
    assert not explanation.breaks


def test_under_autocast_nothing_is_captured() -> None:
    def f(x: torch.Tensor) -> Any:
        return x @ x, torch.is_autocast_enabled("cpu")

    def g(x: torch.Tensor) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return f(x)

    check(f, torch.ones(2, 2))
    check(g, torch.ones(2, 2))


def test_parts_of_a_module_list() -> None:
    layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(4)])

    def f(x: torch.Tensor) -> Any:
        some = layers[1:3]
        for layer in some:
            x = layer(x)
        return layers[:2][0](x), len(some), x

    explanation = check(f, torch.ones(1, 2))
    assert explanation.graph_count == 1, str(explanation)
    assert not explanation.breaks


def test_how_many_parameters_a_function_has() -> None:
    def g(a: Any, b: Any = 1, *, c: Any = 2) -> Any:
        return a

    def f(x: torch.Tensor) -> Any:
        return x * len(inspect.signature(g).parameters), "b" in inspect.signature(g).parameters

    explanation = check(f, torch.ones(1))
    assert explanation.graph_count == 1, str(explanation)
    assert not explanation.breaks
