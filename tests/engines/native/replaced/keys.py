"""What is a key, a member or a pattern: tensors known by their identity, enumerations, classes that
are matched; and what functions and optimizers have as attributes."""

from __future__ import annotations

import collections.abc
import copy
import enum
from collections.abc import Iterator
from typing import Any

import torch

from tests.engines.native.replaced.running import case, fresh


def _two() -> list[Any]:
    return [torch.ones(3), torch.ones(3)]


@case
def tensors_as_keys_that_become_one() -> Iterator[Any]:
    held = _two()
    yield lambda x: (x * {held[0]: 2, held[1]: 3}[held[0]], len({held[0]: 2, held[1]: 3}))
    held[1] = held[0]
    yield
    held[0] = torch.zeros(3)
    yield


@case
def tensors_in_a_set_that_become_one() -> Iterator[Any]:
    held = _two()
    yield lambda x: (x + len({held[0], held[1], x + 1}), held[0] in {held[1]})
    held[1] = held[0]
    yield


@case
def identities_that_become_one() -> Iterator[Any]:
    held: list[Any] = [*_two(), [], []]
    yield lambda x: x + (id(held[0]) == id(held[1])) + 2 * (id(held[2]) == id(held[3]))
    held[1] = held[0]
    yield
    held[2] = held[3]
    yield


@case
def copies_of_two_that_become_one() -> Iterator[Any]:
    held = [[1], [1]]

    def program(x: Any) -> Any:
        copied = copy.deepcopy(held)
        return x + 1, copied[0] is copied[1]

    yield program
    held[1] = held[0]
    yield


@case
def a_dictionary_with_tensors_as_keys() -> Iterator[Any]:
    first, second = _two()
    held = {first: 2, second: 3}
    keys = [first, second]
    yield lambda x: (x * held.get(keys[0], 7), x + sum(held.values()), len(held), keys[1] in held)
    held[first] = 5
    yield
    del held[first]
    yield
    keys.reverse()
    yield
    held[torch.ones(3)] = 4
    yield


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Rank(enum.IntEnum):
    HIGH = 5


class Word(enum.StrEnum):
    LOW = "low"
    HIGH = "high"


@case
def members_that_are_numbers() -> Iterator[Any]:
    held: list[Any] = [Level.HIGH]
    yield lambda x: (x * held[0] if held[0] > Level.LOW else x, held[0], {5: 1}.get(held[0]))
    for other in (Level.LOW, Rank.HIGH, 5, 5.0, True, Word.HIGH):
        held[0] = other
        yield
    held[0] = Level.HIGH
    Level.__gt__ = lambda self, other: False  # type: ignore[method-assign,assignment]  # it is the case
    yield
    del Level.__gt__
    yield


@case
def members_that_are_keys() -> Iterator[Any]:
    held: list[Any] = [{Word.LOW: 2, Level.HIGH: 3}]
    yield lambda x: (x * held[0].get(Word.LOW, 7) + held[0].get(5, 8), [*held[0]])
    for key, other in (("low", 5), (Word.LOW, Rank.HIGH), (Word.HIGH, Level.HIGH), (Word.LOW, 5.0)):
        held[0] = {key: 2, other: 3}
        yield
    held[0] = {Level.HIGH: 3, Word.LOW: 2}
    yield


@case
def enumerations_that_are_asked() -> Iterator[Any]:
    class Color(enum.Enum):
        RED = 1
        BLUE = 2

    yield lambda x: ([x * c.value for c in Color], len(Color), Color(1) is Color["RED"])
    kind: Any = type(Color)
    kept = kind.__len__
    kind.__len__ = lambda self: 7
    yield
    kind.__len__ = kept
    yield
    Color._value2member_map_[1] = Color.BLUE
    yield
    Color._member_names_.reverse()
    yield


@case
def function_attributes() -> Iterator[Any]:
    def function(a: Any, b: Any = 2, *, c: Any = 3) -> Any:
        return a

    held: Any = fresh(function)
    held.tag = 4
    yield lambda x: (
        x + held.tag + held.__defaults__[0] + held.__kwdefaults__["c"],
        hasattr(held, "no"),
        getattr(held, "no", 9),
    )
    held.tag = 4.0
    yield
    held.no = 1
    yield
    held.__defaults__ = (7, 8)
    yield
    held.__kwdefaults__["c"] = torch.ones(3)
    yield


def _matches(held: Any, x: torch.Tensor) -> Any:
    match held:
        case {"a": first, **rest}:
            return x + first, len(rest)
        case [first, *_, last]:
            return x * first, last
        case Point(y=2, z=second):
            return x - second
        case Point(first):
            return x / first
        case int(first):
            return x + 10 * first
    return x


class Point:
    __match_args__ = ("y", "z")

    def __init__(self, y: Any, z: Any) -> None:
        self.y = y
        self.z = z


@case
def subjects_of_patterns() -> Iterator[Any]:
    held: list[Any] = [{"a": 1, "b": 2}]
    yield lambda x: _matches(held[0], x)
    for other in ({"b": 1}, [3, 4, 5], (3, 4), [3], Point(2, 5), Point(6, 7), 8, True, "ab", None):
        held[0] = other
        yield
    held[0] = Point(6, 7)
    Point.__match_args__ = ("z", "y")
    yield
    Point.__match_args__ = ("y", "z")
    held[0].y = 2
    yield


@case
def a_class_that_becomes_a_mapping() -> Iterator[Any]:
    class Table:
        def get(self, key: Any, default: Any = None) -> Any:
            return 3

        def keys(self) -> Any:
            return ["a"]

        def __getitem__(self, key: Any) -> Any:
            return 4

        def __len__(self) -> int:
            return 1

    held = Table()
    yield lambda x: _matches(held, x + 1)
    collections.abc.Mapping.register(Table)
    yield


@case
def an_optimizer() -> Iterator[Any]:
    parameter = torch.nn.Parameter(torch.ones(3))
    parameter.grad = torch.tensor([1.0, 2.0, 3.0])
    held = torch.optim.SGD([parameter], lr=0.5)

    def program(x: torch.Tensor) -> Any:
        with torch.no_grad():
            parameter.copy_(x)
        held.step()
        return parameter.detach().clone()

    yield program
    group = held.param_groups[0]
    for name, value in (("lr", 0.25), ("weight_decay", 0.1), ("maximize", True), ("foreach", True)):
        group[name] = value
        yield
    hook = held.register_step_pre_hook(lambda *_: parameter.grad.mul_(1))  # type: ignore[union-attr]  # it is a tensor
    yield
    hook.remove()
    yield
    parameter.grad = None
    yield
    other = torch.nn.Parameter(torch.ones(2))
    other.grad = torch.ones(2)
    held.add_param_group({"params": [other]})
    yield
