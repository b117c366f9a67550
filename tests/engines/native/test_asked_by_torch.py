"""What asks an object of the program's where eager does: torch and its operators for
`__torch_function__`, Python's for equality; and what a function is told of its own variables."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import check, run_graph

pytestmark = pytest.mark.evaluator_out


class Asked:
    def __init__(self, number: torch.Tensor) -> None:
        self.number = number

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [each.number if isinstance(each, Asked) else each for each in args]
        return func(*given, **(kwargs or {})) + 1


HANDLERS: dict[object, Callable[..., object]] = {torch.Tensor.add: lambda a, b: a - b.number}


class ByTable(Asked):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return HANDLERS[func](*args) if func in HANDLERS else "nothing"


class Unequal(enum.IntFlag):
    A = 1
    B = 2

    def __eq__(self, other: object) -> bool:
        return NotImplemented

    __hash__ = enum.IntFlag.__hash__


class Access(enum.IntFlag):
    READ = 4
    WRITE = 2


def test_another_torch_function_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    relu: Callable[..., object] = torch.nn.functional.relu

    def function(x: torch.Tensor) -> Any:
        return operator.mul(x, Asked(x)), relu(Asked(x))

    captured = native.optimize(run_graph)(function)
    x = torch.ones(2)
    before = captured(x)
    assert [each.tolist() for each in before] == [each.tolist() for each in function(x)]
    monkeypatch.setattr(Asked, "__torch_function__", classmethod(lambda *_: "another"))
    assert captured(x) == function(x) == ("another", "another")


def test_another_handler_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def function(x: torch.Tensor) -> Any:
        return operator.add(x, ByTable(x))

    captured = native.optimize(run_graph)(function)
    x = torch.ones(2)
    assert captured(x).tolist() == [0, 0]
    monkeypatch.setitem(HANDLERS, torch.Tensor.add, lambda a, b: "another")
    assert captured(x) == "another"
    monkeypatch.delitem(HANDLERS, torch.Tensor.add)
    assert captured(x) == "nothing"


@pytest.mark.parametrize("name", ["add", "sub", "truediv", "matmul", "pow", "lt", "iadd", "and_"])
@pytest.mark.parametrize("left", [True, False])
def test_an_operator_asks_as_in_eager(name: str, left: bool) -> None:
    operation = getattr(operator, name)

    class Says:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any, kwargs: Any = None) -> Any:
            kinds = [each.__name__ for each in types]
            return func.__name__, kinds, [type(each) is Says for each in args], kwargs

    def function(x: torch.Tensor) -> object:
        return x + 1, operation(x, Says()) if left else operation(Says(), x)

    check(function, torch.ones(2))


def test_a_number_answers_for_what_says_nothing() -> None:
    def function(x: torch.Tensor) -> object:
        return x + 1 if Unequal.A == 1 else x - 1

    check(function, torch.ones(2))


def test_other_flags_are_noticed() -> None:
    def function(x: torch.Tensor, access: Access) -> torch.Tensor:
        return x + 1 if access & Access.WRITE else x * int(access)

    captured = native.optimize(run_graph)(function)
    for access in (Access.READ, Access.WRITE, Access(0), Access.READ | Access.WRITE):
        assert captured(torch.ones(2), access).tolist() == function(torch.ones(2), access).tolist()


def after_a_break(x: torch.Tensor) -> object:
    y = x + 1
    print(end="")
    return sorted(locals()), y


def told_twice(x: torch.Tensor) -> object:
    first = locals()
    y = x + 1
    second = locals()
    return y, first is second, sorted(first)


def told_in_a_loop(x: torch.Tensor) -> object:
    found = []
    for each in (1, 2):
        x = x + each
        found.append(locals())
    return x, found[0] is found[1], found[0]["each"]


def told_while_it_goes_on(x: torch.Tensor) -> object:
    found: list[Any] = []
    while len(found) < 2:
        x = x + 1
        found.append(locals())
    return x, found[0] is found[1]


ANOTHER_NAME = locals


def told_by_another_name(x: torch.Tensor) -> object:
    first = ANOTHER_NAME()
    y = x + 1
    return y, first is ANOTHER_NAME(), sorted(first)


def told_of_what_is_deleted(x: torch.Tensor, n: int = 3) -> object:
    y = x + n
    del n
    found = locals()
    found["x"] = 1
    return found, x * 2


@pytest.mark.parametrize(
    "function",
    [
        after_a_break,
        told_twice,
        told_in_a_loop,
        told_while_it_goes_on,
        told_by_another_name,
        told_of_what_is_deleted,
    ],
)
def test_a_function_is_told_of_its_variables(function: Callable[..., object]) -> None:
    check(function, torch.ones(2))
