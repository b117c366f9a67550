"""Gradient modes that are set by calls, and functions that are called in one."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import check, run_graph

pytestmark = pytest.mark.evaluator_out


def mode(x: torch.Tensor) -> Any:
    return torch.is_grad_enabled(), x * 2


def off() -> Any:
    return torch.set_grad_enabled(False)


def functions_in_a_mode(x: torch.Tensor) -> Any:
    no_grad: Any = torch.no_grad
    functions = no_grad()(mode), no_grad(mode), torch.enable_grad()(mode), off()(mode)
    return [function(x) for function in functions], torch.is_grad_enabled()


def within_another_mode(x: torch.Tensor) -> Any:
    torch.set_grad_enabled(False)
    found = torch.enable_grad()(mode)(x), mode(x)
    torch.set_grad_enabled(True)
    return found, x + 1


class Sets:
    """A context manager that sets the mode by torch's own builtin."""

    def __init__(self, on: bool) -> None:
        self.on = on
        self.before = torch.is_grad_enabled()

    def __enter__(self) -> None:
        torch._C._set_grad_enabled(self.on)

    def __exit__(self, *_: object) -> None:
        torch._C._set_grad_enabled(self.before)


def managers_of_ones_own(x: torch.Tensor) -> Any:
    with Sets(False):
        outer = mode(x)
        with Sets(True):
            inner = mode(x)
    return outer, inner, mode(x)


@pytest.mark.parametrize(
    "function", [functions_in_a_mode, within_another_mode, managers_of_ones_own]
)
def test_a_mode_that_a_call_sets_is_in_the_graph(function: Any) -> None:
    explanation = check(function, torch.ones(2, requires_grad=True))
    assert (explanation.graph_count, explanation.breaks) == (1, []), str(explanation)


def test_a_function_in_a_mode_is_handed_on_as_torch_makes_it() -> None:
    def makes(x: torch.Tensor) -> Any:
        return x + 1, torch.no_grad()(mode)

    x = torch.ones(2, requires_grad=True)
    y, made = native.optimize(run_graph)(makes)(x)
    assert (y.requires_grad, made(x)[0], made(x)[1].requires_grad) == (True, False, False)
    assert (made.__name__, made.__wrapped__) == ("mode", mode)


def test_a_mode_stays_over_a_break() -> None:
    def breaks(x: torch.Tensor) -> Any:
        with Sets(False):
            y = x * 2
            native.graph_break()
            z = x * 3
        return y, z, mode(x)

    check(breaks, torch.ones(2, requires_grad=True))


def test_a_generator_in_a_mode_is_left_to_torch() -> None:
    def gives(x: torch.Tensor) -> Any:
        yield torch.is_grad_enabled()
        yield x * 2

    def takes(x: torch.Tensor) -> Any:
        return list(torch.no_grad()(gives)(x)), x + 1

    check(takes, torch.ones(2, requires_grad=True))
