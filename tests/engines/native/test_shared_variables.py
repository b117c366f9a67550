"""Functions that share variables with the frame: made anew at each call they are known by their
code, as long as nobody puts something into what they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import same

pytestmark = pytest.mark.evaluator_out

Program = Callable[[torch.Tensor], Any]


def reads(x: torch.Tensor) -> Any:
    def adds(y: torch.Tensor) -> torch.Tensor:
        return x + y

    native.graph_break()
    return adds(x * 2)


def reads_what_was_assigned_before(x: torch.Tensor) -> Any:
    def adds(y: torch.Tensor) -> torch.Tensor:
        return x + y

    x = x + 1
    native.graph_break()
    return adds(torch.ones(2))


def calls_another(x: torch.Tensor, factor: int = 3) -> Any:
    def scales(y: torch.Tensor) -> torch.Tensor:
        return x + y * factor

    def scales_twice(y: torch.Tensor) -> torch.Tensor:
        return scales(y) * factor

    native.graph_break()
    return scales_twice(torch.ones(2)) + scales(x)


def calls_itself(x: torch.Tensor) -> Any:
    def added(count: int) -> torch.Tensor:
        return x if count == 0 else added(count - 1) + 1

    native.graph_break()
    return added(3)


def several(x: torch.Tensor) -> Any:
    functions = [lambda y, by=by: x + y * by for by in range(3)]
    native.graph_break()
    return sum(each(x) for each in functions)


MADE_ANEW: list[Program] = [
    reads, reads_what_was_assigned_before, calls_another, calls_itself, several,
]  # fmt: skip


@pytest.mark.parametrize("program", MADE_ANEW)
def test_what_goes_on_behind_a_break_is_captured_once(program: Program) -> None:
    made: list[Any] = []
    captured = native.optimize(lambda gm, _: made.append(gm) or gm.forward)(program)
    count = 0
    for number in range(4):
        x = torch.ones(2) * number
        assert same(captured(x), program(x))
        count = count or len(made)
    assert len(made) == count > 0


def sharing(kind: str) -> Program:
    """A function that shares variables with others, which assign to them."""
    count, kept = 0, torch.zeros(2)

    def counts() -> None:
        nonlocal count, kept
        count, kept = count + 1, kept + 1

    def reads(y: torch.Tensor) -> torch.Tensor:
        return y * count + kept

    def doubles(y: torch.Tensor) -> torch.Tensor:
        nonlocal kept
        kept = kept * 2
        return reads(y)

    def before(x: torch.Tensor) -> Any:
        counts()
        return reads(x) + count, kept

    def between(x: torch.Tensor) -> Any:
        first = reads(x)
        counts()
        return first + reads(x) + count, kept

    def by_two(x: torch.Tensor) -> Any:
        return doubles(reads(x) + count) + kept, reads(x)

    def itself(x: torch.Tensor) -> Any:
        nonlocal kept
        first = reads(x)
        kept = kept + 5
        return first, reads(x), kept

    def behind_a_break(x: torch.Tensor) -> Any:
        own = lambda y: y + kept * count
        first = own(x) + reads(x)
        native.graph_break()
        counts()
        return first, own(x), reads(x), doubles(x)

    return {each.__name__: each for each in (before, between, by_two, itself, behind_a_break)}[kind]


@pytest.mark.parametrize("kind", ["before", "between", "by_two", "itself", "behind_a_break"])
def test_what_one_assigns_the_others_read(kind: str) -> None:
    calls = native.optimize(lambda gm, _: gm.forward)
    program, captured = sharing(kind), calls(sharing(kind))
    for number in range(4):
        x = torch.ones(2) * number
        assert same(captured(x), program(x))
    for number in range(3):  # others, of the same code
        program, captured = sharing(kind), calls(sharing(kind))
        for _ in range(2):
            x = torch.ones(2) * number
            assert same(captured(x), program(x))
