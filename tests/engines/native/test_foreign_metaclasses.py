"""The program's metaclasses are not asked anything because a frame is captured.

Each program runs with classes whose metaclass notes that it is asked: for a hash, whether it is
equal, for an attribute, for its text. What it is asked in eager it is asked in captured code, as
often, and no more.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import pytest
import torch

from stepper import native
from tests.engines.native.harness import run_graph

pytestmark = pytest.mark.evaluator_out

ASKED: list[str] = []


class Noting(type):
    def __hash__(cls) -> int:
        ASKED.append("hash")
        return type.__hash__(cls)

    def __eq__(cls, other: object) -> bool:
        ASKED.append("eq")
        return cls is other

    def __getattribute__(cls, name: str) -> Any:
        if name != "__dict__":
            ASKED.append(name)
        return type.__getattribute__(cls, name)

    def __repr__(cls) -> str:
        ASKED.append("repr")
        return type.__repr__(cls)

    def __instancecheck__(cls, value: object) -> bool:
        ASKED.append("instancecheck")
        return type.__instancecheck__(cls, value)

    def __subclasscheck__(cls, kind: type) -> bool:
        ASKED.append("subclasscheck")
        return type.__subclasscheck__(cls, kind)


class Thing(metaclass=Noting):
    shared = 3

    def __init__(self, held: Any = 1) -> None:
        self.held = held

    def added(self, x: Any) -> Any:
        return x + self.held

    @property
    def twice(self) -> Any:
        return self.held * 2

    def __add__(self, other: Any) -> Any:
        return other + self.held

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Any:
        return iter([1, 2])

    def __call__(self, x: Any) -> Any:
        return x * 2

    def __enter__(self) -> Thing:
        return self

    def __exit__(self, *error: object) -> None: ...


@runtime_checkable
class Goes(Protocol):
    def go(self, x: Any) -> Any: ...


class Items(list[int], metaclass=Noting): ...


class Table(dict[str, int], metaclass=Noting): ...


class Text(str, metaclass=Noting): ...


class Count(int, metaclass=Noting): ...


class Pair(tuple[int, ...], metaclass=Noting): ...


class Layer(torch.nn.Module, metaclass=Noting):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return self.inner(x)


class Failure(Exception, metaclass=Noting): ...


@dataclasses.dataclass
class Record(metaclass=Noting):
    field: int = 1


thing, items, table, pair = Thing(2), Items([1, 2]), Table(a=1), Pair((1, 2))
layer, record, text, count = Layer(), Record(2), Text("ab"), Count(3)


def entered(x: Any) -> Any:
    with thing as same:
        return x + same.held


def caught(x: Any) -> Any:
    try:
        raise Failure("text")
    except (ValueError, Failure):
        return x + 1


def stored(x: Any) -> Any:
    thing.held = 2
    return x + thing.held


def broken(x: Any) -> Any:
    y = x + 1
    native.graph_break()
    return y, thing, Thing, thing.added(y)


def made_by(kind: Any, x: Any) -> Any:
    return kind(x)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "method": lambda x: thing.added(x),
    "attribute": lambda x: x + thing.held,
    "property": lambda x: x + thing.twice,
    "of the class": lambda x: x + Thing.shared,
    "operator": lambda x: thing + x,
    "length": lambda x: x + len(thing),
    "iterated": lambda x: [x + each for each in thing],
    "called": lambda x: thing(x),
    "made": lambda x: Thing(x).held + 1,
    "made of its type": lambda x: type(thing)(x).held + 1,
    "made of its class": lambda x: thing.__class__(x).held + 1,
    "made elsewhere": lambda x: made_by(Thing, x).held + 1,
    "made by a partial": lambda x: functools.partial(made_by, Thing)(x).held,
    "made by map": lambda x: [each.held for each in map(Thing, [x])],
    "entered": entered,
    "caught": caught,
    "stored": stored,
    "broken": broken,
    "items": lambda x: x + items[0] + len(items),
    "table": lambda x: x + table["a"],
    "text": lambda x: (x + 1, text + "c", len(text)),
    "count": lambda x: x * count,
    "pair": lambda x: x + pair[0],
    "module": lambda x: layer(x),
    "record": lambda x: x + record.field,
    "record made": lambda x: x + Record(5).field,
    "identity": lambda x: (x + 1, type(thing) is Thing, thing is thing, thing is None),
    "has": lambda x: (x + 1, hasattr(thing, "held"), hasattr(thing, "nothing")),
    "handed on": lambda x: {"a": Thing, "b": [thing], "c": x * 2},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_metaclass_is_asked_what_it_is_asked_in_eager(name: str) -> None:
    program, x = PROGRAMS[name], torch.ones(3)
    ASKED.clear()
    program(x)
    expected = [*ASKED]
    captured = native.optimize(run_graph)(program)
    for _ in range(2):
        ASKED.clear()
        captured(x)
        assert expected == ASKED


ONE_BY_ONE = ("__getattribute__", "__repr__", "__instancecheck__", "__subclasscheck__")
"""Not a hash: what is referred to weakly is asked for it once, and a capture does so."""


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_a_metaclass_with_one_method_is_not_asked_either(name: str) -> None:
    meta = type("Only", (type,), {name: vars(Noting)[name]})
    kind = meta("Kind", (), {"held": 3, "go": lambda self, x: x})
    given = kind()
    programs: list[Callable[[Any], Any]] = [
        lambda x: x + kind().held,
        lambda x: x + kind.held,
        lambda x: (x + 1, isinstance(given, kind), type(given) is kind),
        lambda x: (x + 1, isinstance(given, Goes)),
        lambda x: {"a": kind, "b": [kind, given], "c": x * 2},
    ]
    for program in programs:
        x = torch.ones(3)
        program(x)  # what Python remembers of abstract classes
        ASKED.clear()
        program(x)
        expected = [*ASKED]
        captured = native.optimize(run_graph)(program)
        for _ in range(2):
            ASKED.clear()
            captured(x)
            assert expected == ASKED


def test_what_is_only_called_like_a_class_of_pythons_is_not_asked() -> None:
    """Of a function in C the reason of a break says the name and the module."""
    asked: list[str] = []

    def asked_for(self: object, name: str) -> object:
        asked.append(name)
        raise AttributeError(name)

    kind = type("builtin_function_or_method", (), {"__getattr__": asked_for})

    def calling(x: torch.Tensor, called: Any) -> torch.Tensor:
        try:
            called(x)
        except TypeError:
            return x + 1
        return x

    captured = native.optimize(run_graph)(calling)
    assert torch.equal(captured(torch.ones(2), kind()), torch.full((2,), 2.0))
    assert not asked
