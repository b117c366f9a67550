"""What Python does in C with what a program has: objects as indices, what is rounded, classes that
are abstract, enumerations that find a member, defaults, and arguments that get another shape."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import outcome, run_graph, same

pytestmark = pytest.mark.evaluator_out

X = torch.arange(3.0)


def in_one_graph(function: Callable[..., Any], *calls: Any) -> None:
    """Assert that each call is captured whole, and gives what it gives else."""
    captured = native.optimize(run_graph, nopython=True)(function)
    native.reset()
    for args in calls:
        given = args() if callable(args) else args
        expected = outcome(function, args() if callable(args) else args)
        got = outcome(captured, given)
        assert same(expected["result"], got["result"]), (args, expected, got)
        assert expected["raised"] == got["raised"]
        assert same(expected["arguments"], got["arguments"])


class Place:
    def __init__(self, at: Any) -> None:
        self.at = at

    def __index__(self) -> Any:
        return self.at

    def __round__(self, digits: Any = "none") -> Any:
        return self.at, digits


class Whole:
    def __round__(self) -> int:
        return 7


def test_an_object_with_index_is_an_index() -> None:
    def picks(x: torch.Tensor, place: Any) -> Any:
        items = [x, x * 2, x * 3]
        items[place] = x + 9
        taken = items.pop(place)
        items.insert(place, taken * 2)
        return items, (1, 2, 3)[place]

    in_one_graph(picks, *((X, Place(at)) for at in (0, 2, -1)))
    captured = native.optimize(run_graph)(picks)
    for wrong in (7, True, "text", 1.0):
        given = X, Place(wrong)
        assert outcome(captured, given)["raised"] == outcome(picks, given)["raised"] is not None


def test_an_index_that_changes_what_it_is_to_find() -> None:
    class Grows:
        def __index__(self) -> int:
            items.insert(0, 5)
            return 0

    def picks(x: torch.Tensor, place: Any) -> Any:
        return x + items[place], items

    found = []
    for each in (picks, native.optimize(run_graph)(picks)):
        items = [1, 2]
        found.append([each(X, Grows()) for _ in range(2)])
    assert same(found[0], found[1])


def test_an_object_says_what_it_is_rounded_to() -> None:
    def rounds(x: torch.Tensor, place: Any, digits: Any) -> Any:
        try:
            whole = [round(Whole(), digits)]
        except TypeError:
            whole = []
        return x + 1, round(place), round(place, digits), round(place, None), whole

    in_one_graph(rounds, *((X, Place(3), digits) for digits in (1, 2, None)))


class Drawn(ABC):
    @abstractmethod
    def draw(self) -> None: ...


class Named(Drawn):
    def __init__(self, name: str) -> None:
        self.name = name


def test_an_abstract_class_has_no_instances_until_nothing_is_open() -> None:
    def makes(x: torch.Tensor, kind: Any, *args: Any) -> Any:
        done = [1]
        try:
            kind(*args)
            done.append(2)
        except TypeError as error:
            return x + 1, str(error), done
        return x - 1, done

    in_one_graph(makes, (X, Drawn), (X, Named), (X, Named, "a"))

    class Later(Drawn):
        pass

    captured = native.optimize(run_graph)(makes)
    for left in ({"draw"}, {"draw", "show"}, (), {"show"}):
        Later.__abstractmethods__ = frozenset(left)
        assert same(makes(X, Later), captured(X, Later))


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"
    BOTH = ("low", "high")

    @classmethod
    def _missing_(cls, value: object) -> Any:
        if value == "wrong":
            raise ValueError("of its own")
        return {"top": cls.HIGH, "number": 3}.get(str(value))


class Plain(enum.Enum):
    A = 1
    B = (2, 3)
    C = None


def test_an_enumeration_is_asked_for_what_it_has_no_member_for() -> None:
    def finds(x: torch.Tensor, kind: Any, value: Any) -> Any:
        try:
            return x + 1, kind(value)
        except ValueError as error:
            return x - 1, str(error)

    levels = [(X, Level, value) for value in ("low", "top", "wrong", "none", Level.LOW)]
    values = (1, 1.0, True, (2, 3), (2, 4), None, "text", b"bytes", Plain.B)
    in_one_graph(finds, *levels)
    in_one_graph(finds, *((X, Plain, value) for value in values[:5]))
    in_one_graph(finds, *((X, Plain, value) for value in values[5:]))
    with pytest.raises(TypeError, match="returned 3 instead of None or a valid member"):
        native.optimize(run_graph)(finds)(X, Level, "number")


def test_a_function_is_given_other_defaults() -> None:
    def changes(x: torch.Tensor) -> Any:
        def scales(a: Any, b: Any = 1, *, more: Any = 2) -> Any:
            return a * b + more

        scaled: Any = scales
        scaled.__defaults__ = (x, 3)
        found = [scaled(), scaled(1)]
        scaled.__kwdefaults__ = {"more": x}
        found.append(scaled(1))
        scaled.__defaults__ = None
        try:
            scaled(x)
        except TypeError as error:
            found.append(str(error))
        scaled.__defaults__ = (7,)
        return found, scaled(x), scaled.__defaults__, scaled.__kwdefaults__

    in_one_graph(changes, (X,))


def test_defaults_by_name_are_of_parameters_by_name() -> None:
    def scaled(a: Any, b: Any = 2) -> Any:
        return a * b

    scaled.__kwdefaults__ = {"b": 7}
    in_one_graph(lambda x: scaled(x), (X,))


def test_an_argument_gets_another_shape() -> None:
    def turns(x: torch.Tensor, y: torch.Tensor) -> Any:
        flat = x.reshape(-1)
        x.t_().add_(1)
        y.unsqueeze_(0)
        return flat * 2, x + 1, x.shape, x.stride(), y

    in_one_graph(turns, *[lambda: (torch.arange(6.0).reshape(2, 3), torch.ones(3))] * 2)
    x, y, again, other = torch.ones(2, 3), torch.ones(3), torch.ones(2, 3), torch.ones(3)
    captured = native.optimize("aot_eager")(turns)
    for _ in range(3):
        assert same(turns(x, y), captured(again, other))
        assert same((x, y), (again, other))
        assert x.stride() == again.stride()


def test_an_argument_whose_sizes_are_symbols_keeps_its_shape_until_they_are_read() -> None:
    def turns(x: torch.Tensor) -> Any:
        x.unsqueeze_(0)
        print("between")
        return x.sum(1) * x.shape[1], x

    captured = native.optimize(run_graph, dynamic=True)(turns)
    for size in (3, 4, 5):
        found = [outcome(each, (torch.ones(size, 2),)) for each in (turns, captured)]
        assert same(found[0]["result"], found[1]["result"])


def test_an_argument_that_needs_gradients_keeps_them() -> None:
    def turns(x: torch.Tensor) -> Any:
        x.t_()
        return (x * x).sum()

    found = []
    for function in (turns, native.optimize("aot_eager")(turns)):
        leaf = torch.arange(6.0).reshape(2, 3).requires_grad_()
        function(leaf * 2).backward()
        found.append(leaf.grad)
    assert same(found[0], found[1])
