"""Operators that are given functions: what they give, their gradients, and what they refuse."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as map_each
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.utils import checkpoint as of_torch

from stepper import native
from tests.engines.native.harness import check, run_graph

pytestmark = pytest.mark.evaluator_out

X = torch.arange(6.0).reshape(2, 3) - 1
NET = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.ReLU())
SEEN: list[int] = []
checkpoint: Callable[..., Any] = functools.partial(of_torch.checkpoint, use_reentrant=False)


def a_module(x: torch.Tensor) -> Any:
    return checkpoint(NET, x)


def several(x: torch.Tensor) -> Any:
    y, none, z = checkpoint(lambda a, b: (NET(a) + x, None, a * b), x * 2, b=x)
    return (y + z,) if none is None else None


def one_in_another(x: torch.Tensor) -> Any:
    def outer(a: torch.Tensor) -> torch.Tensor:
        parts = [checkpoint(NET, a)]
        with torch.no_grad():
            parts.append(a * 2)
        return torch.stack(parts)

    return checkpoint(outer, x)


def with_other_draws(x: torch.Tensor) -> Any:
    return checkpoint(NET, x, preserve_rng_state=False)


def run_again(x: torch.Tensor) -> Any:
    return of_torch.checkpoint(lambda a, b: (NET(a), a * b), x * 2, 3, use_reentrant=True)


def on_data(x: torch.Tensor) -> Any:
    w = x * 3
    return torch.cond(x.sum() > 0, lambda a: (a + w, NET[0](a)), lambda a: (a - w, a * 2), (x,))


def on_data_in_both(x: torch.Tensor) -> Any:
    def inner(a: torch.Tensor) -> Any:
        return torch.cond(a.max() > 1, lambda b: b.sin(), lambda b: b.cos(), (a,))

    return torch.cond(x.sum() > 0, inner, lambda a: a * 2, (x,))


def looped(x: torch.Tensor) -> Any:
    def body(i: torch.Tensor, held: Any) -> Any:
        return i + 1, {"a": held["a"].sin() + x, "b": [held["b"][0] * w]}

    w = x.cos()
    begun = torch.tensor(0), {"a": x, "b": [x * 2]}
    _, held = while_loop(lambda i, held: (i < 3) & (held["a"].sum() < 90), body, begun)
    return held["a"], held["b"][0]


def mapped(x: torch.Tensor) -> Any:
    w = x.sum(dim=0)
    one, other = map_each(lambda a, b: (a[0] * w + b, a[1].sin()), (x * 2, x * 3), w * 1)  # type: ignore[arg-type]  # as it is called
    return one, other


def scanned(x: torch.Tensor) -> Any:
    def step(total: torch.Tensor, row: torch.Tensor) -> Any:
        return total + row, total * row + x[1]

    last, rows = scan(step, x[0] * 2, x, reverse=True)
    return last, rows, associative_scan(lambda a, b: a + b * 2, x * 1, 0, combine_mode="generic")


def trained(function: Callable[..., Any], x: torch.Tensor) -> list[torch.Tensor | None]:
    """What a function gives, and all gradients of that."""
    torch.manual_seed(1)
    x = x.clone().requires_grad_()
    given = function(x)
    given = list(given) if isinstance(given, tuple) else [given]
    torch.stack([each.sum() for each in given]).sum().backward()
    gradients = [each.grad for each in NET.parameters()]
    NET.zero_grad()
    return [*given, x.grad, *gradients, torch.rand(1)]


@pytest.mark.parametrize("backend", [run_graph, "aot_eager"])
@pytest.mark.parametrize(
    "function",
    [
        a_module, several, one_in_another, with_other_draws, run_again, on_data, on_data_in_both,
        mapped, scanned,
    ],
)  # fmt: skip
def test_one_graph_gives_values_and_gradients_of_eager(
    function: Callable[..., Any], backend: Any
) -> None:
    if backend == "aot_eager" and function not in (on_data, on_data_in_both):
        NET.eval()  # AOTAutograd draws other numbers for a dropout, under Dynamo as here
    captured = native.optimize(backend, nopython=True)(function)
    for x in (X, -X, X):
        for given, expected in zip(trained(captured, x), trained(function, x), strict=True):
            assert (given is None) is (expected is None)
            assert given is None or torch.allclose(given, expected)  # type: ignore[arg-type]  # as given
    NET.train()


def test_a_loop_on_data_is_one_graph() -> None:
    explanation = check(looped, X)
    assert (explanation.graph_count, explanation.breaks) == (1, [])
    check(looped, X + 3)


def changes_what_was_there(x: torch.Tensor) -> Any:
    return checkpoint(lambda a: (SEEN.append(1), a * a)[1], x).sum() + len(SEEN)


def changes_what_the_frame_made(x: torch.Tensor) -> Any:
    seen: list[int] = []
    y = checkpoint(lambda a: (seen.append(1), a * 2)[1], x)
    return y * len(seen)


def changes_its_argument(x: torch.Tensor) -> Any:
    y = x * 1
    return checkpoint(lambda a: a.mul_(2), y), y


def gives_its_argument(x: torch.Tensor) -> Any:
    return checkpoint(lambda a: a, x) is x


def breaks_inside(x: torch.Tensor) -> Any:
    def printing(a: torch.Tensor) -> torch.Tensor:
        print("inside")
        return a * 2

    return checkpoint(printing, x) + 1


def reentrant(x: torch.Tensor) -> Any:
    return of_torch.checkpoint(NET[0], x, use_reentrant=True).detach()


def reentrant_of_more(x: torch.Tensor) -> Any:
    y = x.clone().requires_grad_(x.requires_grad)
    given = of_torch.checkpoint(lambda a: (a * 2, torch.ones(2)), y, use_reentrant=True)
    with torch.no_grad():
        without = of_torch.checkpoint(NET[0], x, use_reentrant=True)
    return given, of_torch.checkpoint(lambda a: a * given[0], y, use_reentrant=True), without


def fails(x: torch.Tensor) -> Any:
    return checkpoint(lambda a: a[torch.tensor([7])], x)


@pytest.mark.parametrize(
    "function",
    [
        changes_what_the_frame_made, changes_its_argument, gives_its_argument, breaks_inside,
        reentrant, reentrant_of_more, fails,
    ],
)  # fmt: skip
def test_what_is_refused_raised_or_broken_is_as_in_eager(
    function: Callable[..., Any], capfd: pytest.CaptureFixture[str]
) -> None:
    check(function, X.clone(), times=2)
    assert "FX" not in capfd.readouterr().err


def test_a_function_is_run_again_for_its_gradients_as_often_as_in_eager() -> None:
    def program(x: torch.Tensor) -> int:
        SEEN.clear()
        y = captured(x.clone().requires_grad_())
        y.backward()
        return len(SEEN)

    captured: Callable[..., Any] = changes_what_was_there
    expected = program(X)
    captured = native.optimize(run_graph)(changes_what_was_there)
    assert [program(X), program(X)] == [expected, expected] == [2, 2]
