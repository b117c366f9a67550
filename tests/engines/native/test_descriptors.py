"""Descriptors of the program that keep what they are given in the object's own dictionary, under
the attribute's name or another, and objects of the frame and of before that have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import check, outcome, run_graph, same

pytestmark = pytest.mark.evaluator_out

X = torch.arange(1.0, 4.0)


class Number:
    """Keeps it under the attribute's own name."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, obj: Any, owner: Any = None) -> Any:
        return self if obj is None else obj.__dict__.get(self.name, 0)

    def __set__(self, obj: Any, value: Any) -> None:
        if not isinstance(value, int | float):
            raise TypeError(f"{self.name} must be a number")
        obj.__dict__[self.name] = value

    def __delete__(self, obj: Any) -> None:
        del obj.__dict__[self.name]


class Checked:
    """Is asked when it is stored only: what is read is the dictionary's."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __set__(self, obj: Any, value: Any) -> None:
        vars(obj)[self.name] = value * 2


class Kept:
    """Cannot be deleted but by the program."""

    def __delete__(self, obj: Any) -> None:
        obj.__dict__["deleted"] = True


class Holder:
    a: Any = Number()
    b: Any = Number()
    checked: Any = Checked()
    kept: Any = Kept()

    def __init__(self) -> None:
        self.a = 3
        self.checked = 4
        self._value: Any = 5

    @property
    def value(self) -> Any:
        return self.__dict__.get("value", self._value)

    @value.setter
    def value(self, value: Any) -> None:
        self.__dict__["value"] = value

    @value.deleter
    def value(self) -> None:
        self._value = 0
        self.__dict__.pop("value", None)


class Watched(Holder):
    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        self.__dict__["last"] = name

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        self.__dict__["last"] = f"no {name}"


class Slots:
    __slots__ = ("one", "two")

    def __init__(self, one: Any) -> None:
        self.one = one


def reads(holder: Any, x: torch.Tensor) -> Any:
    return x * holder.a + holder.b, holder.checked, holder.value


def stores(holder: Any, x: torch.Tensor) -> Any:
    holder.b = 4.5
    holder.checked = 7
    holder.value = holder.a + 1
    y = x * holder.b + holder.checked
    holder.a = holder.value
    return y * holder.a, dict(vars(holder))


def refused(holder: Any, x: torch.Tensor) -> Any:
    holder.a = 9
    try:
        holder.a = "no"
    except TypeError as error:
        return x + holder.a, str(error)


def deletes(holder: Any, x: torch.Tensor) -> Any:
    holder.b = 4
    del holder.b
    y = x + holder.b
    del holder.value
    return y + holder.value, sorted(vars(holder))


def deletes_what_stays(holder: Any, x: torch.Tensor) -> Any:
    del holder.kept
    return x + 1, holder.deleted


def through_the_dictionary(holder: Any, x: torch.Tensor) -> Any:
    fields = vars(holder)
    fields["b"] = 6
    fields["value"] = 8
    fields["checked"] = 1
    there = "a" in fields, "b" in fields, "value" in fields
    return x * fields["b"] + holder.value + holder.checked, there, holder.b, sorted(fields)


def tensors(holder: Any, x: torch.Tensor) -> Any:
    holder.value = x * 2
    holder.__dict__["b"] = holder.value + 1
    return holder.b, vars(holder)["value"]


def missing_slot(holder: Any, x: torch.Tensor) -> Any:
    made: Any = Slots(x * 2)
    try:
        made.two  # noqa: B018  # is not there
    except AttributeError as error:
        made.two = 3
        return made.one + made.two, str(error), error.name, hasattr(Slots(1), "two")


FUNCTIONS: list[Any] = [
    reads, stores, refused, deletes, deletes_what_stays, through_the_dictionary, tensors,
    missing_slot,
]  # fmt: skip


@pytest.mark.parametrize("kind", [Holder, Watched])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_object_that_was_there(function: Callable[..., Any], kind: type) -> None:
    check(function, kind(), X)


@pytest.mark.parametrize("kind", [Holder, Watched])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_object_that_the_frame_makes(function: Callable[..., Any], kind: type) -> None:
    def f(x: torch.Tensor) -> Any:
        holder = kind()
        return function(holder, x), holder

    def across_a_break(x: torch.Tensor) -> Any:
        holder = kind()
        first = function(holder, x)
        print("between")
        return first, holder, vars(holder), function(holder, x + 1)

    for each in (f, across_a_break):
        check(each, X)


@pytest.mark.parametrize("function", [reads, stores, refused, through_the_dictionary, tensors])
def test_it_is_one_graph(function: Callable[..., Any]) -> None:
    found = check(function, Holder(), X)
    assert (found.graph_count, found.breaks) == (1, [])


def test_what_the_dictionary_has_meanwhile_is_noticed() -> None:
    captured = native.optimize(run_graph)(reads)
    for change in (
        lambda holder: None,
        lambda holder: setattr(holder, "b", 2),
        lambda holder: holder.__dict__.update(value=11, checked=3),
        lambda holder: holder.__dict__.clear() or holder.__dict__.update(_value=1, checked=0),
    ):
        holders = [Holder(), Holder()]
        results = []
        for function, holder in zip((reads, captured), holders, strict=True):
            change(holder)
            results.append(outcome(function, [holder, X.clone()]))
        assert same(results[0]["result"], results[1]["result"])
        assert vars(holders[0]) == vars(holders[1])


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, **given: Any) -> None:
        for name, value in given.items():
            setattr(self, name, value)


def deletes_a_slot(held: Any, x: Any) -> Any:
    y = x + held.a
    del held.a
    try:
        return held.a
    except AttributeError as error:
        return y, hasattr(held, "a"), str(error), held.b


def sets_again(held: Any, x: Any) -> Any:
    del held.a
    held.a = x * 2
    return held.a + 1


@pytest.mark.parametrize("function", [deletes_a_slot, sets_again])
def test_a_slot_is_deleted(function: Callable[..., Any]) -> None:
    explanation = check(function, Slotted(a=1, b=2), torch.ones(2))
    assert (explanation.graph_count, explanation.graph_break_count) == (1, 0)
    captured = native.optimize(run_graph)(function)
    captured(Slotted(a=1, b=2), torch.ones(2))
    with pytest.raises(AttributeError):
        captured(Slotted(b=2), torch.ones(2))
