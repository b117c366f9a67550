"""Views of dictionaries and mappings, what compares and combines with them; methods that are bound
to objects which are called; members of enumerations that there are not."""

from __future__ import annotations

import enum
import operator
import types
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest.mock import ANY

import pytest
import torch

from stepper import native
from tests.engines.native.harness import check, run_graph

pytestmark = pytest.mark.evaluator_out

X = torch.arange(1.0, 4.0)
ONE: dict[str, Any] = {"a": 1, "b": 2}


class Compares:
    """Has its own word in each comparison."""

    def __eq__(self, other: object) -> Any:
        return "equal"

    __hash__ = None  # type: ignore[assignment]  # as Python has it

    def __ge__(self, other: object) -> Any:
        return "more"

    def __gt__(self, other: object) -> Any:
        return NotImplemented

    def __rand__(self, other: object) -> Any:
        return "both"


class Asked(type):
    def __eq__(cls, other: object) -> bool:
        raise AssertionError

    def __hash__(cls) -> int:
        raise AssertionError


class Silent(metaclass=Asked):
    """Its class may not be asked what it is equal to."""


class Elements(set[Any]):
    """A set by inheritance."""


OPERANDS: list[Any] = [
    lambda: ONE.keys(), lambda: ONE.items(), lambda: ONE.values(), lambda: {"a": 1}.items(),
    lambda: {"b": 2, "c": 3, "a": 1}.keys(), lambda: {"a", "b"}, lambda: frozenset({"a"}),
    lambda: {("a", 1)}, lambda: ["a", "b"], lambda: ("a", "b"), dict, lambda: {}.keys(),
    lambda: None, lambda: "ab", Compares, lambda: ANY, Silent, lambda: Elements("ab"),
    lambda: {"a": [1], "b": {2}}.items(), lambda: 5,
]  # fmt: skip
OPERATIONS: list[Any] = [
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, operator.and_,
    operator.or_, operator.sub, operator.xor, lambda a, b: a.isdisjoint(b), operator.contains,
]  # fmt: skip


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_views_give_with_others(operation: Callable[..., Any]) -> None:
    def f(x: torch.Tensor, one: Any, other: Any) -> Any:
        try:
            found = operation(one(), other())
        except (TypeError, AttributeError) as error:
            return x + 1, type(error), str(error)
        return x * 2, type(found), found

    for one in (*OPERANDS[:5], OPERANDS[-2]):
        for other in OPERANDS:
            check(f, X, one, other, times=2)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_it_is_one_graph(operation: Callable[..., Any]) -> None:
    def f(x: torch.Tensor) -> Any:
        return x + 1, operation({"a": 1}.keys(), {"b": 2}.keys())

    if operation is operator.contains:
        return
    native.reset()
    assert check(f, X).graph_count == 1


PROXY = types.MappingProxyType({"a": 2, "b": 3})
BASE = {"a": X}


def asks_a_proxy(x: torch.Tensor) -> Any:
    items = list(PROXY.items()), [*PROXY], PROXY.get("z", 1), "b" in PROXY, len(PROXY), dict(PROXY)
    return x * PROXY["a"], items, PROXY | {"c": 1}, PROXY


def test_a_proxy_that_was_there() -> None:
    def given(x: torch.Tensor, proxy: Any) -> Any:
        return x + proxy["a"], proxy, sorted(proxy)

    found = check(asks_a_proxy, X)
    assert found.graph_count == 1
    captured = native.optimize(run_graph)(given)
    for mapping in ({"a": X}, {"a": X * 2, "b": 1}, {"b": 1, "a": 3.0}):
        proxy = types.MappingProxyType(mapping)
        (one, _, names), (other, same, others) = given(X, proxy), captured(X, proxy)
        assert torch.equal(one, other)
        assert (names, same) == (others, proxy)
    mapping = {"a": 1.0}
    proxy = types.MappingProxyType(mapping)
    for value in (1.0, 2.0):
        mapping["a"] = value
        assert captured(X, proxy)[0].tolist() == (X + value).tolist()


class Counted:
    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.count = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.count += 1
        return self.function(*args, **kwargs)

    def __get__(self, obj: Any, owner: Any = None) -> Any:
        return self if obj is None else types.MethodType(self, obj)


class User:
    factor = 3

    @Counted
    def scaled(self, x: torch.Tensor, by: float = 1.0) -> torch.Tensor:
        return x * self.factor * by


def calls_it(x: torch.Tensor, user: User) -> Any:
    bound = user.scaled
    before = vars(User)["scaled"].count
    y = bound(user.scaled(x), by=2.0)
    found = bound.__self__ is user, bound.__func__ is vars(User)["scaled"]
    return y, vars(User)["scaled"].count - before, found, bound


def calls_a_new_one(x: torch.Tensor, user: User) -> Any:
    counted = Counted(lambda obj, y: y + obj.factor)
    bound = types.MethodType(counted, user)
    return bound(bound(x)), counted.count


@pytest.mark.parametrize("f", [calls_it, calls_a_new_one])
def test_a_method_of_an_object_that_is_called(f: Callable[..., Any]) -> None:
    assert check(f, X, User()).graph_count >= 1


class Color(enum.Enum):
    RED = 1
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1


class Lenient(enum.Enum):
    ONE = 1

    @classmethod
    def _missing_(cls, value: object) -> Any:
        return cls.ONE if value == 5 else None


class Mode(enum.Flag):
    A = 1
    B = 2


@pytest.mark.parametrize("kind", [Color, Level, Lenient, Mode])
@pytest.mark.parametrize("value", [1, 5, "green", "no", None, 99, (1, 2)])
def test_a_member_that_there_is_not(kind: Any, value: Any) -> None:
    def f(x: torch.Tensor) -> Any:
        try:
            return x * 2, kind(value)
        except ValueError as error:
            return x + 1, str(error), error.__context__

    check(f, X)


class Pair(NamedTuple):
    a: Any
    b: Any = 2


@pytest.mark.parametrize("operation", OPERATIONS[:6])
@pytest.mark.parametrize("other", [Pair(1, 3), (1, 2), (1,), Pair("a"), [1, 2], 3])
def test_named_tuples_in_order(operation: Callable[..., Any], other: Any) -> None:
    def f(x: torch.Tensor, other: Any) -> Any:
        try:
            return x * 2, operation(Pair(1), other), operation(other, Pair(1, 0))
        except TypeError as error:
            return x + 1, str(error)

    check(f, X, other)
