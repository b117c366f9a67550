"""What Python itself raises, and the program catches: captured, with the words of eager."""

# What is tried is wrong.
# mypy: ignore-errors
# ruff: noqa: C416, B905, RUF059, F821

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import check, run_graph

pytestmark = pytest.mark.evaluator_out

X = torch.arange(1.0, 4.0)
FIVE: Any = 5
NOTHING: Any = None


def two(a: Any, b: Any = 1) -> Any:
    return a


def required(a: Any, /, b: Any, *, c: Any, d: Any = 2) -> Any:
    return a


def several(a: Any, *rest: Any, d: Any, e: Any) -> Any:
    return a


def generator(a: Any) -> Any:
    yield a


class Plain:
    def __init__(self, a: Any) -> None:
        self.a = a

    def method(self, b: Any) -> Any:
        return b

    @classmethod
    def made(cls, b: Any) -> Any:
        return b


def made_here(count: int) -> Callable[..., Any]:
    @functools.wraps(two)
    def inner(a: Any, b: Any = count, *, c: Any = 2) -> Any:
        captured = count  # a cell
        return lambda: (a, captured)

    return inner


def unbound(given: Any) -> Any:
    if given is None:
        value = 1
    return value


def deletes() -> Any:
    value = 1
    del value
    del value


CALLS: list[Any] = [
    lambda: two(),
    lambda: two(1, 2, 3),
    lambda: two(1, c=2),
    lambda: two(1, a=2),
    lambda: required(1, 2),
    lambda: required(),
    lambda: required(a=1, b=2, c=3),
    lambda: required(1, 2, 3),
    lambda: several(),
    lambda: several(1, 2, 3),
    lambda: generator(),
    lambda: Plain(),
    lambda: Plain(1, 2),
    lambda: Plain(1).method(),
    lambda: Plain.made(1, 2),
    lambda: Plain(1).nothing,
    lambda: Plain.nothing,
    lambda: X.nothing,
    lambda: two.nothing,
    lambda: "".nothing,
    lambda: made_here(2)(),
    lambda: made_here(2)(1, 2, 3),
    lambda: made_here(2)(1, q=3),
    lambda: made_here(2).nothing,
    lambda: not_there,
    lambda: unbound(1),
    deletes,
    lambda: iter(FIVE),
    lambda: [each for each in NOTHING],
    lambda: any(1.5),
    lambda: zip([1], 3),
    lambda: [*FIVE],
    lambda: two(*FIVE),
    lambda: list(FIVE),
    lambda: dict(FIVE),
    lambda: dict([FIVE]),
    lambda: max(FIVE),
    lambda: "".join(FIVE),
    lambda: set(FIVE),
    lambda: FIVE in FIVE,
    lambda: next(FIVE),
    lambda: len(FIVE),
    lambda: FIVE[0],
    lambda: FIVE(),
    lambda: {}["a"],
    lambda: [][3],
    lambda: int("x"),
]


def unpacking(given: Any) -> Any:
    a, b = given


def with_a_rest(given: Any) -> Any:
    a, *b, c = given


GIVEN: list[Any] = [5, None, (), (1,), [1], (1, 2, 3), [1, 2, 3], "a", "abc", {"a": 1}, 1.5, ...]
CALLS += [functools.partial(f, given) for f in (unpacking, with_a_rest) for given in GIVEN]


def told(call: Any, x: torch.Tensor) -> Any:
    try:
        call()
    except Exception as error:
        name = error.name if isinstance(error, AttributeError | NameError) else ""
        return x + 1, type(error).__name__, str(error), error.args, name, error.__context__ is None
    return x * 2


@pytest.mark.parametrize("call", CALLS)
def test_it_is_what_it_is_in_eager(call: Any) -> None:
    check(told, call, X)


@pytest.mark.parametrize("call", CALLS[:31])
def test_it_is_caught_in_the_graph(call: Any) -> None:
    native.reset()
    found = check(lambda x: told(call, x), X)
    assert (found.graph_count, found.breaks) == (1, [])


def test_a_parameter_with_another_default_is_noticed() -> None:
    def given(a: Any, b: Any) -> Any:
        return a

    def f(x: torch.Tensor) -> Any:
        try:
            return given()
        except TypeError as error:
            return x + 1, str(error)

    captured = native.optimize(run_graph)(f)
    for change in (
        lambda: None,
        lambda: setattr(given, "__defaults__", (1,)),
        lambda: setattr(given, "__qualname__", "other"),
        lambda: setattr(given, "__defaults__", (X, X)),
    ):
        change()
        expected, got = f(X), captured(X)
        assert str(got) == str(expected)


@pytest.mark.parametrize("namespace", [globals(), vars(builtins)])
def test_a_name_that_comes_to_be_is_noticed(namespace: dict[str, Any]) -> None:
    def f(x: torch.Tensor) -> Any:
        try:
            return came_to_be  # type: ignore[name-defined]  # is not there at first
        except NameError as error:
            return x + 1, str(error)

    captured = native.optimize(run_graph)(f)
    assert captured(X)[1] == "name 'came_to_be' is not defined"
    namespace["came_to_be"] = 3
    try:
        assert captured(X) == 3
    finally:
        del namespace["came_to_be"]
    assert captured(X)[1] == "name 'came_to_be' is not defined"


def test_a_function_with_another_name_says_so() -> None:
    def f(x: torch.Tensor) -> Any:
        @functools.wraps(two)
        def inner(a: Any) -> Any:
            return a

        try:
            inner()
        except TypeError as error:
            return x + 1, str(error), inspect.unwrap(inner) is two

    assert check(f, X).graph_count == 1


class Asked(type):
    def __eq__(cls, other):
        raise AssertionError

    __hash__ = type.__hash__


class Silent(metaclass=Asked):
    pass


def test_no_metaclass_is_asked_whether_a_note_is_a_text() -> None:
    def f(x: torch.Tensor, note: Any) -> Any:
        error = ValueError()
        try:
            error.add_note(note)
        except TypeError as other:
            return x + 1, str(other)

    check(f, X, Silent())


def notes(x: torch.Tensor) -> Any:
    try:
        raise ValueError("inner")
    except ValueError as error:
        error.add_note("one")
        error.add_note(note="two")
        return x + 1, error.__notes__, repr(error)


def notes_before_and_after(x: torch.Tensor) -> Any:
    error = ValueError("inner", 3)
    before = hasattr(error, "__notes__")
    error.add_note("one")
    error.__notes__.append("two")
    error.__notes__ = [*error.__notes__, "three"]
    error.add_note("four")
    try:
        error.add_note(5)  # type: ignore[arg-type]  # is refused
    except TypeError as other:
        return x + 1, before, error.__notes__, str(other), f"{error!r}"


def noted_when_it_leaves(x: torch.Tensor) -> Any:
    try:
        x.nothing_there  # type: ignore[attr-defined]  # noqa: B018  # is not there
    except AttributeError as error:
        error.add_note("from here")
        raise


class Named(Exception):
    def __repr__(self) -> str:
        return f"<{self.args[0]}>"


def shown(x: torch.Tensor) -> Any:
    made: list[Exception] = [
        ValueError(), ValueError(1), KeyError("a", 2), Named("n"), OSError(), StopIteration(3),
    ]  # fmt: skip
    return x + 1, [repr(each) for each in made], [f"{each!r}" for each in made]


@pytest.mark.parametrize("f", [notes, notes_before_and_after, noted_when_it_leaves, shown])
def test_notes_and_texts(f: Callable[..., Any]) -> None:
    check(f, X)


def test_the_notes_are_there_when_it_leaves() -> None:
    with pytest.raises(AttributeError) as caught:
        native.optimize(run_graph)(noted_when_it_leaves)(X)
    assert caught.value.__notes__ == ["from here"]
    assert caught.value.name == "nothing_there"


class ThreeTimes:
    def __iter__(self):
        return iter((1, 2, 3))

    def __class_getitem__(cls, key):
        return cls, key


def unpacks_too_few(x):
    try:
        a, b, c, d = ThreeTimes()
    except ValueError as error:
        return x + 1, str(error)


def unpacks_too_few_with_a_rest(x):
    try:
        a, b, c, d, *rest = ThreeTimes()
    except ValueError as error:
        return x + 1, str(error)


def subscripts_a_class(x):
    made, other = (1,), (1, x.dim())
    return x + 1, ThreeTimes[3, ...], made is other


@pytest.mark.parametrize(
    "function", [unpacks_too_few, unpacks_too_few_with_a_rest, subscripts_a_class]
)
def test_an_iterable_of_the_programs_is_unpacked(function: Any) -> None:
    explanation = check(function, X)
    assert (explanation.graph_count, explanation.graph_break_count) == (1, 0)
