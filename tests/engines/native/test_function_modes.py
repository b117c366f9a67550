"""Modes that are asked what operations give, entered by the frame (`TorchFunctionMode`)."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from tests.engines.native.harness import check

pytestmark = pytest.mark.evaluator_out


class Noting(TorchFunctionMode):
    def __init__(self, notes: list[str]) -> None:
        super().__init__()
        self.notes = notes

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.notes.append(getattr(func, "__name__", "?"))
        return func(*args, **(kwargs or {}))


class Turned(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.sin or func is torch.Tensor.sin:
            return torch.cos(*args)
        if func is torch.ones:
            return torch.zeros(*args, **(kwargs or {}))
        if func is torch.Tensor.add:
            return func(*args, **(kwargs or {})) * 10
        return func(*args, **(kwargs or {}))


class Sub(torch.Tensor):
    pass


LAYER = nn.Linear(3, 2)


def operators(x: Any, mode: Any) -> Any:
    with mode:
        y = x + 1 - x * 2
        z = 2 / y, -y, y @ x, y > 1, y[0], abs(y)
        y += 1
    return y + 1, z


def functions(x: Any, mode: Any) -> Any:
    with mode:
        y = torch.sin(x) + torch.ones(3) + x.sin()
        z = torch.nn.functional.relu(y), LAYER(x), torch.stack([x, y]), torch.max(y, dim=0)
    return torch.sin(y), z, torch.ones(3)


def facts(x: Any, mode: Any) -> Any:
    with mode:
        n = x.shape[0] + x.dim() + len(x) + x.size(0)
        y = x.reshape(1, 3).T * n, x.dtype, x.is_floating_point()
    return y, x.shape


def nested(x: Any, mode: Any) -> Any:
    with mode, Turned():
        y = torch.sin(x)
        with Turned():
            z = torch.sin(y) + 1
    return y, z


def across_a_break(x: Any, mode: Any) -> Any:
    y = x * 3
    with mode:
        y = torch.sin(y)
        print("between")
        y = torch.sin(y) + 1
    return torch.sin(y)


def raised_within(x: Any, mode: Any) -> Any:
    try:
        with mode:
            x = x + 1
            raise ValueError("told")
    except ValueError:
        return torch.sin(x)


def of_a_class(x: Any, mode: Any) -> Any:
    made = x.as_subclass(Sub)
    with mode:
        y = made + 1
        with torch._C.DisableTorchFunctionSubclass():
            z = torch.sin(made)
    return y, z, made * 2


def rows(x: Any, mode: Any) -> Any:
    with mode:
        return [row + 1 for row in x.reshape(3, 1)]


def grad_mode(x: Any, mode: Any) -> Any:
    with mode, torch.no_grad():
        y = x * 2
    return y, torch.is_grad_enabled()


def entered_by_hand(x: Any, mode: Any) -> Any:
    mode.__enter__()
    y = torch.sin(x)
    mode.__exit__(None, None, None)
    return y + torch.sin(x)


FUNCTIONS = [
    operators, functions, facts, nested, across_a_break, raised_within, of_a_class, rows,
    grad_mode, entered_by_hand,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("kind", ["noting", "turned"])
def test_modes_are_asked_as_in_torch(function: Any, kind: str) -> None:
    def entered(x: Any, notes: list[str]) -> Any:
        mode = Noting(notes) if kind == "noting" else Turned()
        return function(x, mode), notes

    check(entered, torch.arange(1.0, 4), [])


def left_active(x: Any) -> Any:
    mode = Turned()
    mode.__enter__()
    return torch.sin(x), mode


def test_a_mode_that_lives_on_is_entered_by_the_program() -> None:
    from stepper import native

    expected = left_active(torch.ones(3))
    expected[1].__exit__(None, None, None)
    captured = native.optimize(lambda gm, inputs: gm.forward)(left_active)
    found = captured(torch.ones(3))
    assert torch.equal(torch.sin(torch.ones(3)), torch.cos(torch.ones(3)))
    found[1].__exit__(None, None, None)
    assert torch.equal(found[0], expected[0])


def test_what_a_mode_says_is_captured() -> None:
    def turned(x: Any) -> Any:
        with Turned():
            y = torch.sin(x) + 1
        return torch.sin(y)

    assert not check(turned, torch.ones(3)).breaks
