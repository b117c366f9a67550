"""What the program says is the same at each call is asked once, with what the arguments are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import run_graph, same

pytestmark = pytest.mark.evaluator_out

ASKED: list[str] = []
GROWN: list[int] = []
X = torch.ones(2)


@native.assume_constant_result
def total(x: torch.Tensor) -> Any:
    ASKED.append("total")
    return x.sum().item()


@torch.compiler.assume_constant_result
def parts(given: dict[str, torch.Tensor], items: list[Any], times: int = 3) -> Any:
    ASKED.append("parts")
    return {"a": [given["a"] + 1], "b": items[0] * times}


@native.assume_constant_result
def refuses(x: torch.Tensor) -> Any:
    raise ValueError("not this one")


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.factor = 3

    @native.assume_constant_result
    def kept(self, x: torch.Tensor) -> Any:
        ASKED.append("kept")
        return torch.nonzero(x), self.factor

    def forward(self, x: torch.Tensor) -> Any:
        places, factor = self.kept(self.linear(x))
        return x * factor, places + self.kept(x)[0].sum()


def of_what_the_graph_computes(x: torch.Tensor) -> Any:
    return x * total(x * 2)


def of_containers(x: torch.Tensor) -> Any:
    found = parts({"a": x}, [x, 1], times=2)
    return found["a"][0] + found["b"]


def after_a_change(x: torch.Tensor) -> Any:
    GROWN.append(1)
    return x + total(x)


def after_writing(x: torch.Tensor) -> Any:
    y = x.clone()
    y.add_(1)
    return y * total(y)


def of_what_is_drawn(x: torch.Tensor) -> Any:
    return x * total(torch.rand(2))


def that_raises(x: torch.Tensor) -> Any:
    try:
        return refuses(x)
    except ValueError as error:
        return x, str(error)


ONCE: list[tuple[Callable[[torch.Tensor], Any], list[str]]] = [
    (of_what_the_graph_computes, ["total"]),
    (of_containers, ["parts"]),
    (after_writing, ["total"]),
    (Layer(), ["kept", "kept"]),
]


@pytest.mark.parametrize(("program", "asked"), ONCE)
def test_it_is_asked_once(program: Callable[[torch.Tensor], Any], asked: list[str]) -> None:
    expected = program(X)
    captured = native.optimize_assert(run_graph)(program)
    ASKED.clear()
    for _ in range(3):
        assert same(captured(X.clone()), expected)
    assert asked == ASKED


def test_it_is_taken_for_what_other_tensors_give() -> None:
    captured = native.optimize_assert(run_graph)(of_what_the_graph_computes)
    first, second = captured(X), captured(X * 5)
    assert second.tolist() == (first * 5).tolist()


@pytest.mark.parametrize("program", [after_a_change, of_what_is_drawn, that_raises])
def test_where_it_cannot_be_asked_it_is_called_by_python(
    program: Callable[[torch.Tensor], Any],
) -> None:
    captured = native.optimize(run_graph)(program)
    for number in range(3):
        torch.manual_seed(number)
        expected = program(X + number)
        ASKED.clear()
        torch.manual_seed(number)
        assert same(captured(X + number), expected)
        assert program is that_raises or ASKED == ["total"]


def test_what_it_gives_is_part_of_what_is_exported() -> None:
    layer = Layer()
    exported = native.export(layer, X).graph_module
    expected = layer(X)
    assert same(exported(X), expected)
    assert same(exported(X * 0)[1], expected[1])
