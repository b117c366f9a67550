"""Frames that are called in inference mode, and tensors that were made there."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from stepper import native
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.evaluator_out

MODEL = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.BatchNorm1d(3), nn.Dropout(0.5)).eval()


def model(x: torch.Tensor) -> Any:
    return MODEL(x.view(1, 3))


def asks(x: torch.Tensor) -> Any:
    y = x * 2
    found = torch.is_inference_mode_enabled(), torch.is_grad_enabled(), y.requires_grad
    return found, y, torch.ones(2) + 1


def writes(x: torch.Tensor) -> Any:
    x[1:].mul_(3)
    return x.sum()


def leaves(x: torch.Tensor) -> Any:
    with torch.inference_mode(False):
        made = torch.ones(3) * 2
        inside = torch.is_inference_mode_enabled()
    return made, inside, x + 1, torch.is_inference_mode_enabled()


def records(x: torch.Tensor) -> Any:
    with torch.enable_grad():
        y = x * 2
        return y, y.requires_grad, torch.is_grad_enabled()


def breaks(x: torch.Tensor) -> Any:
    y = x * 2
    print(end="")
    return y.add_(1) * 2, y


def asks_a_tensor(x: torch.Tensor) -> Any:
    y = x + 1
    return y.is_inference(), x.is_inference(), y * 2


def facts(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(facts, value))
    if not isinstance(value, torch.Tensor):
        return value
    return value.tolist(), value.dtype, value.requires_grad, value.is_inference()


def called(function: Any, kind: str) -> Any:
    x = torch.arange(3.0, requires_grad=kind == "leaf")
    with torch.inference_mode():
        given = torch.arange(3.0) if kind == "inference" else x
        return facts(function(given)), facts(given)


@pytest.mark.parametrize("kind", ["inference", "normal", "leaf"])
@pytest.mark.parametrize("function", [model, asks, writes, leaves, records, breaks, asks_a_tensor])
@pytest.mark.parametrize("backend", [run_graph, "aot_eager"])
def test_a_call_in_inference_mode_is_captured(function: Any, kind: str, backend: Any) -> None:
    if function is writes and kind == "leaf":
        kind = "normal"
    captured = native.optimize(backend)(function)
    expected = called(function, kind)
    assert [called(captured, kind) for _ in range(2)] == [expected] * 2


@pytest.mark.parametrize("function", [model, asks, records])
def test_it_is_one_graph(function: Any) -> None:
    with torch.inference_mode():
        explanation = native.explain(function)(torch.ones(3))
    assert (explanation.graph_count, explanation.breaks, explanation.skips) == (1, [], [])


def makes(scale: Any) -> Any:
    return torch.ones(2) * scale.value, torch.is_inference_mode_enabled()


class Scale:
    value = 2


def test_an_entry_serves_one_mode() -> None:
    captured = native.optimize(run_graph)(makes)
    for _ in range(2):
        for context in (torch.no_grad, torch.inference_mode, torch.enable_grad):
            with context():
                assert facts(captured(Scale)) == facts(makes(Scale))


def test_a_graph_that_raises_is_put_back_and_run_as_it_is() -> None:
    def fails(x: torch.Tensor, log: list[int]) -> Any:
        log.append(1)
        x.add_(1)
        return x[torch.tensor([5])]

    captured = native.optimize(run_graph)(fails)
    for function in (fails, captured, captured):
        with torch.inference_mode():
            x, log = torch.zeros(3), list[int]()
            with pytest.raises(IndexError):
                function(x, log)
            assert (x.tolist(), log) == ([1.0] * 3, [1])


def test_a_tensor_that_was_made_there_breaks_the_graph_elsewhere() -> None:
    with torch.inference_mode():
        x = torch.ones(3)
    explanation = native.explain(lambda given: given * 2)(x)
    assert any("was made in inference mode" in why for _, _, why in explanation.breaks) or (
        explanation.skips
    )
