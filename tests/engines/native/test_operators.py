"""Operators that a program calls by their own names: `torch.ops`, and what it has defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import check, run_graph

pytestmark = pytest.mark.evaluator_out

ADD = torch.ops.aten.add.Tensor
X = torch.arange(4.0)


@torch.library.custom_op("stepper_tests::scale", mutates_args=())
def scale(x: torch.Tensor, by: float) -> torch.Tensor:
    return x * by


@scale.register_fake
def _scale(x: torch.Tensor, by: float) -> torch.Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("stepper_tests::fill", mutates_args=("x",))
def fill(x: torch.Tensor, by: float) -> None:
    x.fill_(by)


@torch.library.custom_op("stepper_tests::unknown", mutates_args=())
def unknown(x: torch.Tensor) -> torch.Tensor:
    return x * 3


def overload(x: torch.Tensor) -> torch.Tensor:
    return ADD(x, x, alpha=2) + 1


def by_name(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.aten.add.Tensor(x, x) + torch.ops.aten.relu(x)


def several_results(x: torch.Tensor) -> Any:
    values, places = torch.ops.aten.sort(x, descending=True)
    return values + places, torch.ops.aten.split(x, 2)[1]


def of_the_program(x: torch.Tensor) -> torch.Tensor:
    return torch.ops.stepper_tests.scale(x, 2.0) + torch.ops.stepper_tests.scale.default(x, 3.0)


def as_defined(x: torch.Tensor) -> torch.Tensor:
    return scale(x, by=2.0) + 1


@pytest.mark.parametrize("f", [overload, by_name, several_results, of_the_program, as_defined])
def test_they_are_nodes(f: Callable[..., Any]) -> None:
    found = check(f, X)
    assert (found.graph_count, found.breaks) == (1, [])


def in_place(x: torch.Tensor) -> Any:
    y = x + 1
    torch.ops.aten.add_.Tensor(y, 2)
    return y * 2


def into_another(x: torch.Tensor) -> Any:
    y = torch.empty(4)
    torch.ops.aten.add.out(x, x, out=y)
    return y


def in_place_in_a_list(x: torch.Tensor) -> Any:
    y = x + 1
    torch.ops.aten._foreach_add_.Scalar(self=[y], scalar=2)
    return y * 2


def fills(x: torch.Tensor) -> Any:
    y = x + 1
    fill(y, 3.0)
    return y * 2


def random(x: torch.Tensor) -> Any:
    torch.manual_seed(3)
    return torch.ops.aten.rand_like(x), torch.rand(2)


def missing(x: torch.Tensor) -> Any:
    return torch.ops.stepper_tests.nothing(x + 1)


def no_fake(x: torch.Tensor) -> Any:
    return unknown(x + 1) * 2


@pytest.mark.parametrize(
    "f", [in_place, in_place_in_a_list, into_another, fills, random, missing, no_fake]
)
def test_the_others_do_what_they_do_in_eager(f: Callable[..., Any]) -> None:
    check(f, X)


@pytest.mark.parametrize("f", [in_place, in_place_in_a_list, into_another, fills])
def test_one_that_writes_to_its_arguments_breaks_the_graph(f: Callable[..., Any]) -> None:
    found = native.explain(f)(X)
    assert any("writes to its arguments" in why for _, _, why in found.breaks), str(found)


def test_an_operator_that_lives_across_a_break() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        operator, packet, own = ADD, torch.ops.aten.relu, scale
        x = x + 1
        print("between")
        return own(packet(operator(x, 1)), 2.0)

    assert check(f, X).graph_count == 2


def test_another_operator_of_the_same_name_is_noticed() -> None:
    def define(factor: float) -> torch.library.Library:
        library = torch.library.Library("stepper_tests_again", "DEF")
        library.define("times(Tensor x) -> Tensor")
        library.impl("times", lambda x: x * factor, "CompositeExplicitAutograd")
        return library

    def f(x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch.ops.stepper_tests_again.times(x) + 1
        return result

    compiled = native.optimize(run_graph)(f)
    library = define(2.0)
    assert torch.equal(compiled(X), X * 2 + 1)
    library._destroy()
    library = define(5.0)
    assert torch.equal(compiled(X), X * 5 + 1)
    library._destroy()


def test_gradients_go_through_an_operator_of_the_program() -> None:
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        return grad * 7, None

    scale.register_autograd(backward)
    captured = native.optimize(run_graph, nopython=True)(as_defined)
    found = []
    for call in (as_defined, captured):
        x = X.clone().requires_grad_()
        call(x).sum().backward()
        found.append(x.grad)
    assert torch.equal(found[0], found[1])  # type: ignore[arg-type]  # it has one
    assert found[0] is not None
    assert found[0].tolist() == [7.0] * 4
