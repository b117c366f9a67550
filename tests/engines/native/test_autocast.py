"""Frames that are called under autocast."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
import torch
from torch import nn

from stepper import native
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.evaluator_out

MODEL = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 4))
CONTEXTS: list[Callable[[], AbstractContextManager[object]]] = [
    contextlib.nullcontext,
    lambda: torch.autocast("cpu", torch.bfloat16),
    lambda: torch.autocast("cpu", torch.float16),
    lambda: torch.autocast("cpu", torch.bfloat16, cache_enabled=False),
]


def model(x: torch.Tensor) -> Any:
    return MODEL(x)


def asks(x: torch.Tensor) -> Any:
    asked = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    return x @ x.T, asked, torch.is_autocast_enabled(), torch.is_autocast_cache_enabled()


def breaks(x: torch.Tensor) -> Any:
    y = MODEL(x)
    print(end="")
    return (y @ y.T).sum()


def in_another(x: torch.Tensor) -> Any:
    with torch.autocast("cpu", enabled=False):
        y = MODEL(x)
    with torch.autocast("cpu", torch.bfloat16):
        return y, x @ x.T


def breaks_in_a_block(x: torch.Tensor) -> Any:
    with torch.autocast("cpu", torch.bfloat16):
        y = MODEL(x)
        print(end="")
        z = y @ y.T
    return z, y @ y.T


def breaks_in_blocks(x: torch.Tensor) -> Any:
    y = x * 2
    try:
        with torch.autocast("cpu", torch.bfloat16):
            y = MODEL[0](y)  # what its weight was cast to serves twice: the gradients tell
            print(end="")
            y = MODEL[0](y)
            with torch.autocast("cpu", enabled=False):
                y = y.float() @ torch.ones(8, 8)
                print(end="")
                y = y @ torch.ones(8, 8)
            asked = torch.is_autocast_enabled("cpu")
            y = MODEL[0](y)
            raise KeyError(asked)
    except KeyError as error:
        told = error.args
    return y.float() @ y.float().T, told


@torch.autocast("cpu", torch.bfloat16)
def decorated(x: torch.Tensor) -> Any:
    y = x @ x.T
    print(end="")
    return y @ y, torch.is_autocast_enabled("cpu")


def wrong_device(x: torch.Tensor) -> Any:
    try:
        return x + torch.is_autocast_enabled("nowhere")
    except RuntimeError as error:
        return str(error)


def facts(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(facts, value))
    if not isinstance(value, torch.Tensor):
        return value
    return value.dtype, value.requires_grad, value.tolist()


def called(function: Any, context: Any) -> Any:
    """What it gives, and the gradients of the model's parameters then."""
    x = torch.arange(16.0).reshape(2, 8) / 9
    MODEL.zero_grad()
    with context():
        result = function(x)
    given = result if isinstance(result, tuple) else (result,)
    for each in given:
        if isinstance(each, torch.Tensor) and each.requires_grad:
            each.float().sum().backward(retain_graph=True)
    return facts(result), [facts(each.grad) for each in MODEL.parameters()]


@pytest.mark.parametrize(
    "function",
    [model, asks, breaks, in_another, breaks_in_a_block, breaks_in_blocks, decorated, wrong_device],
)
def test_each_autocast_has_an_entry_of_its_own(function: Any) -> None:
    captured = native.optimize(run_graph)(function)
    for context in [*CONTEXTS, *CONTEXTS]:
        assert called(captured, context) == called(function, context)


@pytest.mark.parametrize("function", [model, asks])
def test_a_call_under_autocast_is_one_graph(function: Any) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        explanation = native.explain(function)(torch.ones(2, 8))
    assert (explanation.graph_count, explanation.breaks, explanation.skips) == (1, [], [])


@pytest.mark.parametrize(("function", "count"), [(breaks_in_a_block, 2), (breaks_in_blocks, 3)])
def test_what_is_before_and_behind_a_break_in_a_block_is_captured(
    function: Any, count: int
) -> None:
    explanation = native.explain(function)(torch.ones(2, 8))
    assert (explanation.graph_count, len(explanation.breaks)) == (count, count - 1)
    assert not torch.is_autocast_enabled("cpu")


def test_a_context_that_was_made_before_stays_the_same_object() -> None:
    context = torch.autocast("cpu", torch.bfloat16)

    def enters(x: torch.Tensor) -> Any:
        with context as entered:
            print(end="")
            return x @ x, entered, context

    assert native.optimize(run_graph)(enters)(torch.eye(2))[1:] == (context, context)
