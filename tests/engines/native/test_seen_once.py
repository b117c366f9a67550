"""What a graph does before it raises is seen once: its exception reaches the handler that the
program has for it, and what its operators do that their schemas do not say is not done again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import check, outcome, run_graph

pytestmark = pytest.mark.evaluator_out

X, AT, BEYOND = torch.arange(1.0, 4.0), torch.tensor([1]), torch.tensor([7])


@torch.library.custom_op("stepper_tests::telling", mutates_args=())
def telling(x: torch.Tensor) -> torch.Tensor:
    print("told", x.tolist())
    if x.sum() < 0:
        raise ValueError("negative")
    return x * 2


@telling.register_fake
def _telling(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


@native.allow_in_graph
def allowed(x: torch.Tensor) -> torch.Tensor:
    print("allowed")
    return x + 1


def seen(function: Callable[..., Any], *first: Any) -> Callable[[Any], None]:
    """Checks that a captured function does what it does in eager, whatever it is called with."""
    captured = native.optimize(run_graph)(function)
    captured(*[each.clone() for each in first])

    def compare(args: Any) -> None:
        expected, got = (outcome(f, [a.clone() for a in args]) for f in (function, captured))
        for key in ("raised", "printed"):
            assert expected[key] == got[key]
        for one, other in zip(expected["arguments"], got["arguments"], strict=True):
            assert torch.equal(one, other)

    return compare


def raises_itself(x: torch.Tensor, at: torch.Tensor) -> Any:
    return telling(x + 1) + 1


def raises_later(x: torch.Tensor, at: torch.Tensor) -> Any:
    return telling(x + 1)[at]


def by_name(x: torch.Tensor, at: torch.Tensor) -> Any:
    return torch.ops.stepper_tests.telling(x)[at]


def is_allowed(x: torch.Tensor, at: torch.Tensor) -> Any:
    return allowed(x)[at]


def changes_an_input(x: torch.Tensor, at: torch.Tensor) -> Any:
    x.add_(1)
    return telling(x)[at]


def noted_later(x: torch.Tensor, at: torch.Tensor, log: Any = []) -> Any:  # noqa: B006  # is kept
    y = telling(x)[at]
    log.append(1)
    return y


@pytest.mark.parametrize(
    "function",
    [raises_itself, raises_later, by_name, is_allowed, changes_an_input, noted_later],
)
def test_an_operator_of_the_program_is_called_once(function: Callable[..., Any]) -> None:
    compare = seen(function, X, AT)
    compare([X, AT])
    compare([X, BEYOND])
    compare([-X, AT])


def caught_by_who_is_called(x: torch.Tensor, at: torch.Tensor) -> Any:
    def inner() -> torch.Tensor:
        try:
            x.add_(1)
            return x[at]
        except IndexError:
            return x * 2

    return inner() + 1


def caught_in_a_generator(x: torch.Tensor, at: torch.Tensor) -> Any:
    def values() -> Any:
        try:
            yield x.mul_(2)
            yield x[at]
        except IndexError as error:
            print("caught", error)
            yield x

    return list(values())[-1] + 1


def caught_by_a_context(x: torch.Tensor, at: torch.Tensor) -> Any:
    import contextlib

    def inner() -> torch.Tensor:
        with contextlib.suppress(IndexError):
            x.sub_(1)
            return x[at]
        return x - 5

    return inner()


def caught_further_out(x: torch.Tensor, at: torch.Tensor) -> Any:
    def innermost() -> torch.Tensor:
        x.add_(1)
        return x[at]

    def inner() -> torch.Tensor:
        try:
            return innermost()
        except IndexError:
            return x + 7

    return inner()


def generator_let_go_of(x: torch.Tensor, at: torch.Tensor) -> Any:
    def values() -> Any:
        try:
            yield 1
            yield 2
        finally:
            print("closed")

    for value in values():
        x.add_(value)
        y = x[at]
    return y


def test_a_generator_that_is_let_go_of_cleans_up() -> None:
    compare = seen(generator_let_go_of, X, AT)
    compare([X, AT])
    compare([X, BEYOND])


@pytest.mark.parametrize(
    "function",
    [caught_by_who_is_called, caught_in_a_generator, caught_by_a_context, caught_further_out],
)
def test_a_handler_of_a_function_that_is_called_gets_what_the_graph_raises(
    function: Callable[..., Any],
) -> None:
    assert check(function, X, AT).graph_count == 1
    compare = seen(function, X, AT)
    compare([X, AT])
    compare([X, BEYOND])
