"""A graph that writes to its inputs, beside other changes of the program: what is done before an
operator refuses to write is done once, as without the compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import stepper
from tests.engines.native.harness import check

pytestmark = pytest.mark.evaluator_out

Arguments = tuple[torch.Tensor, torch.Tensor]


def added(a: torch.Tensor, b: torch.Tensor, log: list[int]) -> torch.Tensor:
    log.append(1)
    a.add_(b)
    log.append(2)
    return a


def stored(a: torch.Tensor, b: torch.Tensor, log: list[int]) -> torch.Tensor:
    log.append(1)
    a[1:] = a[:-1] + b[1:]
    a[1:].copy_(a[:-1])
    log.append(2)
    return a


def for_each(a: torch.Tensor, b: torch.Tensor, log: list[int]) -> torch.Tensor:
    log.append(1)
    torch._foreach_add_([a, a * 1], [b, b])
    log.append(2)
    return a


def handled(a: torch.Tensor, b: torch.Tensor, log: list[int]) -> torch.Tensor:
    try:
        log.append(1)
        a.mul_(b)
    except RuntimeError:
        log.append(2)
    log.append(3)
    return a


def looked_up(a: torch.Tensor, b: torch.Tensor, log: list[int]) -> torch.Tensor:
    log.append(1)
    a.add_(torch.rand(5))
    log.append(2)
    a[:] = torch.arange(3.0)[b.long()] + a
    log.append(3)
    return a


def looked_up_handled(a: torch.Tensor, b: torch.Tensor, log: list[int]) -> torch.Tensor:
    for _ in range(2):
        try:
            a.add_(torch.rand(5))
            a.mul_(torch.arange(3.0)[b.long()])
        except IndexError:
            log.append(2)
    return a


def apart() -> Arguments:
    return torch.ones(5), torch.ones(5)


def shifted() -> Arguments:
    base = torch.arange(6.0)
    return base[1:], base[:-1]


def same() -> Arguments:
    a = torch.ones(5)
    return a, a


def alike() -> Arguments:
    base = torch.ones(5)
    return base[:], base[:]


def expanded() -> Arguments:
    return torch.ones(1).expand(5), torch.ones(5)


def parts() -> Arguments:
    base = torch.arange(10.0)
    return base[:5], base[5:]


def a_leaf() -> Arguments:
    return torch.ones(5, requires_grad=True), torch.ones(5)


MADE = [apart, shifted, same, alike, expanded, parts, a_leaf]


def outcome(function: Callable[..., Any], arguments: Arguments) -> str:
    log: list[int] = []
    torch.manual_seed(0)
    try:
        function(*arguments, log)
        error = ""
    except (RuntimeError, IndexError) as raised:
        error = str(raised)
    found = [(each.tolist(), each._version, each.grad_fn) for each in arguments]
    return f"{found} {log} {error} {torch.rand(1)}"


@pytest.mark.parametrize("first", [apart, shifted], ids=lambda each: each.__name__)
@pytest.mark.parametrize(
    "function",
    [added, stored, for_each, handled, looked_up, looked_up_handled],
    ids=lambda each: each.__name__,
)
def test_what_was_done_before_is_done(
    function: Callable[..., Any], first: Callable[[], Arguments]
) -> None:
    compiled = stepper.compile(function, backend="eager")
    for made in (first, *MADE):
        assert outcome(compiled, made()) == outcome(function, made()), made.__name__


def test_what_the_data_can_make_fail_is_in_one_graph_with_other_changes() -> None:
    def counted(a: torch.Tensor, b: torch.Tensor, log: list[int]) -> torch.Tensor:
        log.append(1)
        a.add_(1)
        return torch.arange(3.0)[b.long()] + a

    explanation = check(counted, *apart(), [])
    assert (explanation.graph_count, explanation.breaks, explanation.skips) == (1, [], [])
