"""Named tuples, partials and enumerations, that were there before and that a frame makes."""

from __future__ import annotations

import collections
import enum
import functools
import types
import typing
from typing import Any, NamedTuple

import pytest
import torch

from stepper import _C, native
from tests.engines.native.harness import check, run_graph

pytestmark = pytest.mark.evaluator_out

Pair = collections.namedtuple("Pair", "a b", defaults=(2,))


class Point(NamedTuple):
    x: Any
    y: Any = 3

    def length(self) -> Any:
        return self.x + self.y


class Strange(collections.namedtuple("Strange", "a")):
    def __getitem__(self, index: Any) -> Any:
        return 5


class Vector(collections.namedtuple("Vector", "x y")):
    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, by: Any) -> Any:
        return self._replace(x=self.x * by)


class Colour(enum.Enum):
    RED = 1
    GREEN = "green"

    @property
    def upper(self) -> str:
        return self.name.upper()


class Number(enum.IntEnum):
    ONE = 1


def added(x: Any, y: Any = 1, *, scale: Any = 1) -> Any:
    return (x + y) * scale


def one_graph(function: Any, *args: Any) -> None:
    explanation = check(function, *args)
    assert explanation.graph_count == 1, str(explanation)
    assert not explanation.breaks, str(explanation)


def test_named_tuples() -> None:
    def f(x: torch.Tensor, given: Any) -> Any:
        made = Pair(x + 1)
        point = Point(y=made.a, x=given.a)
        a, b = made
        return (
            made, [point], a * b, made[0], point[1:], len(made), given[:] + made[:1], given.b,
            torch.stack(given[:1]), isinstance(point, tuple), tuple(made),
            torch.stack(Pair(x, x)),
        )  # fmt: skip

    one_graph(f, torch.ones(2), Pair(torch.ones(2), 7))

    def method(x: torch.Tensor) -> Any:
        point = Point(x + 1)
        return point.length(), point._replace(y=4)

    one_graph(method, torch.ones(1))


def test_named_tuples_with_operators_of_their_own() -> None:
    def f(x: torch.Tensor, given: Any) -> Any:
        total = (given + Vector(x, 1)) * 2
        a, b = total
        return total, a + b, total.x, len(total), Vector._make([1, x]), given == (1, 2)

    one_graph(f, torch.ones(2), Vector(1, 2))

    def as_tuples(x: torch.Tensor, given: Any) -> Any:
        return given + given, given == (1, x), (1, x) == given, given * 2, 1 in given, hash(given)

    check(as_tuples, torch.ones(1), Pair(1, 2))

    def strange(x: torch.Tensor, value: Any) -> Any:
        return x + value[0]

    check(strange, torch.ones(1), Strange(1))


def test_another_class_of_named_tuples_is_noticed() -> None:
    def f(x: torch.Tensor, pair: Any) -> Any:
        return x + pair[0], type(pair).__name__

    captured = native.optimize(run_graph)(f)
    assert captured(torch.ones(1), Pair(1, 2))[1] == "Pair"
    assert captured(torch.ones(1), Point(1, 2))[1] == "Point"
    assert captured(torch.ones(1), (1, 2))[1] == "tuple"


def test_partials() -> None:
    given = functools.partial(added, scale=3)

    def f(x: torch.Tensor) -> Any:
        made = functools.partial(given, y=x)
        return given(x), made(x), made(x, scale=4), functools.partial(made, x), made

    one_graph(f, torch.ones(2))
    made = native.optimize(run_graph)(f)(torch.ones(2))[3]
    assert made.func is added
    assert made.keywords.keys() == {"scale", "y"}
    assert torch.equal(made(), torch.full((2,), 6.0))


def test_a_partials_arguments_are_checked() -> None:
    def f(x: torch.Tensor, function: Any) -> Any:
        return function(x)

    captured = native.optimize(run_graph)(f)
    results = [
        captured(torch.ones(1), functools.partial(added, scale=scale)).item() for scale in (2, 2, 5)
    ]
    assert results == [4, 4, 10]
    assert len(_C.code_cache(f.__code__).entries) == 2


def test_members_of_enumerations() -> None:
    def f(x: torch.Tensor, colour: Any) -> Any:
        if colour is Colour.RED:
            x = x + colour.value
        elif colour == Colour.GREEN:
            x = x * 2
        return x, colour, colour.name, colour != Colour.RED, colour.upper

    one_graph(f, torch.ones(1), Colour.RED)
    one_graph(f, torch.ones(1), Colour.GREEN)

    def compared(x: torch.Tensor, colour: Any) -> Any:
        return x * 2, colour == 1, colour in (1, Colour.RED), {colour: 1}, str(colour), Colour(1)

    check(compared, torch.ones(1), Colour.RED)

    def number(x: torch.Tensor, value: Any) -> Any:
        return x + value

    check(number, torch.ones(1), Number.ONE)


@pytest.mark.parametrize("arguments", [(3,), (1, 3), (-2, None), (None, None, 2), (0, 4, 3)])
def test_slices_that_a_frame_makes(arguments: tuple[Any, ...]) -> None:
    def f(x: torch.Tensor, given: tuple[Any, ...]) -> Any:
        part = slice(*given)
        rows = x.view(2, 4)[slice(1), part]
        return x[part] * 2, rows, [1, 2, 3, 4][part], "abcd"[part], part, part.start, part.step

    assert not check(f, torch.arange(8.0), arguments).breaks


def compared(x: torch.Tensor) -> Any:
    part: Any = slice(1, 2)
    same = slice(1, 2, None)
    return x + 1, part == same, part == (1, 2, None), part != (1, 2, None), part < slice(1, 3)


def in_others(x: torch.Tensor) -> Any:
    part = slice(1, 2)
    return x + 1, part in [slice(1, 2)], (1, 2, None) in [part], bool(slice(0)), repr(part)


@pytest.mark.parametrize("f", [compared, in_others])
def test_slices_are_no_tuples(f: Any) -> None:
    check(f, torch.arange(3.0))


@pytest.mark.parametrize(
    "use",
    [len, list, sum, iter, hash, lambda s: s * 2, lambda s: [1, *s], lambda s: s < (1, 2)],
)
def test_what_slices_do_not_do(use: Any) -> None:
    def f(x: torch.Tensor) -> Any:
        return x + 1, use(slice(1, 2))

    check(f, torch.arange(3.0))


def test_slices_of_what_no_slice_takes() -> None:
    def f(x: torch.Tensor) -> Any:
        return x[slice()], x  # type: ignore[call-overload]  # refused

    check(f, torch.arange(8.0))


def test_a_dictionary_with_tensors_and_numbers_as_keys() -> None:
    def f(d: Any, x: torch.Tensor) -> Any:
        return d[x] + d[3], next(iter(d.values()))

    x, y, z = (torch.ones(2) * n for n in range(3))
    made: list[Any] = []
    captured = native.optimize_assert(lambda gm, _: made.append(gm) or gm.forward)(f)
    for d in ({x: y, 3: z}, {x: y, 3: z}, {3: z, x: y}, {3.0: z, x: y}):
        assert all(map(torch.equal, captured(d, x), f(d, x)))
    assert len(made) == 3


def _ordered(*keys: str) -> collections.OrderedDict[str, Any]:
    return collections.OrderedDict.fromkeys(keys, 1)


@pytest.mark.parametrize("others", [_ordered("a", "b"), _ordered("b", "a"), {"b": 1, "a": 1}, 3])
def test_ordered_dictionaries_are_compared_in_one_graph(others: Any) -> None:
    def function(x: torch.Tensor, one: Any, other: Any) -> Any:
        made = collections.OrderedDict(a=1, b=1)
        return x + 1, one == other, one != other, made == other, other == made, made != one

    explanation = check(function, torch.ones(2), _ordered("a", "b"), others)
    assert not explanation.breaks


def test_sizes_are_asked_through_their_class() -> None:
    def function(x: torch.Tensor) -> Any:
        made = torch.Size([1, 2])
        return x + 1, type(made + x.shape).__name__, torch.Size((3, 2)).numel(), type(made)

    assert not check(function, torch.ones(2)).breaks


def test_variables_are_asked_of_any_expression() -> None:
    def function(x: torch.Tensor, points: list[Point]) -> Any:
        first = vars(type(points[-1 if len(points) > 1 else 0]))["_fields"]
        return x + len(first), sorted(name for name in dir(type(points[0])) if name[0] != "_")

    assert not check(function, torch.ones(2), [Point(1), Point(2)]).skips


def test_what_typing_names_is_asked_as_a_class() -> None:
    def function(x: torch.Tensor, value: Any) -> Any:
        asked = isinstance(value, typing.Sequence), isinstance(value, typing.Hashable)
        return x + 1, asked, isinstance(value, (int, typing.Mapping))

    values: list[object] = [[1], 1, {}, "a"]
    assert not any(check(function, torch.ones(2), value).breaks for value in values)


def test_a_field_of_a_namespace_is_deleted() -> None:
    def function(x: torch.Tensor, given: Any) -> Any:
        made = types.SimpleNamespace(a=1, b=x)
        del made.a, given.a
        delattr(made, "b")
        return x + 1, vars(made), hasattr(given, "a"), given.b

    assert not check(function, torch.ones(2), types.SimpleNamespace(a=1, b=2)).breaks
