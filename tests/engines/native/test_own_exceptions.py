"""Exceptions that are objects of the program's, and those that go through a generator's context."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from tests.engines.native.harness import check

pytestmark = pytest.mark.evaluator_out


class Refused(ValueError):
    """Has an `__init__` of its own."""

    def __init__(self, code: int, text: str = "refused") -> None:
        super().__init__(text, code)
        self.code = code
        self.seen = [code]

    def doubled(self) -> int:
        return self.code * 2


class RefusedTwice(Refused):
    def __init__(self, *args: Any, extra: int = 1) -> None:
        super().__init__(*args)
        self.extra = extra

    def __str__(self) -> str:
        return f"{self.code} and {self.extra}"


@contextmanager
def swallowing(log: list[Any]) -> Iterator[int]:
    try:
        yield 5
    except KeyError as error:
        log.append(str(error))
    finally:
        log.append("left")


@contextmanager
def translating() -> Iterator[None]:
    try:
        yield
    except KeyError as error:
        raise Refused(2) from error


class Missing(NotImplementedError):
    """Has nothing of its own."""


@dataclasses.dataclass(frozen=True)
class Fixed:
    size: int


def raises_what_python_has(x: Any) -> Any:
    told = []
    for kind in (Missing, AttributeError, NameError, ZeroDivisionError, RecursionError, Warning):
        try:
            raise kind("text", 2)
        except Exception as error:
            told.append((str(error), error.args, isinstance(error, RuntimeError)))
    try:
        Fixed(3).size = 4  # type: ignore[misc]  # that it is refused is asked
    except dataclasses.FrozenInstanceError as error:
        return x + 1, told, str(error)


def reads_what_init_stored(x: Any) -> Any:
    try:
        raise Refused(3)
    except ValueError as error:
        found = error.args, str(error), type(error)
        return (x + error.code, error.doubled(), error.seen, *found)  # type: ignore[attr-defined]  # set as programs set it


def calls_init_of_the_base(x: Any) -> Any:
    try:
        raise RefusedTwice(4, "no", extra=7)
    except Refused as error:
        error.seen.append(1)
        return x + error.extra, error.args, str(error), error.seen  # type: ignore[attr-defined]  # set as programs set it


def is_swallowed(x: Any) -> Any:
    log: list[Any] = []
    with swallowing(log) as n:
        x = x + n
        raise KeyError("k")
    return x * 2, log


def goes_through(x: Any) -> Any:
    log: list[Any] = []
    try:
        with swallowing(log) as n:
            x = x + n
            raise Refused(1)
    except Refused as error:
        log.append(error.args)
    return x * 2, log


def is_translated(x: Any) -> Any:
    try:
        with translating():
            x = x + 1
            raise KeyError("k")
    except Refused as error:
        same = error.__cause__ is error.__context__
        return x * error.code, str(error.__cause__), same


@pytest.mark.parametrize(
    "function",
    [
        reads_what_init_stored, calls_init_of_the_base, is_swallowed, goes_through, is_translated,
        raises_what_python_has,
    ],
)  # fmt: skip
def test_it_is_one_graph(function: Any) -> None:
    explanation = check(function, torch.ones(3))
    assert (explanation.graph_count, explanation.breaks) == (1, []), str(explanation)


def leaves_the_frame(x: Any) -> Any:
    y = x + 1
    with swallowing([]):
        raise RefusedTwice(y.shape[0])


def is_kept(x: Any) -> Any:
    error = Refused(5)
    error.note = "kept"  # type: ignore[attr-defined]  # set as programs set it
    return x + 1, error.args, vars(error)


def does_not_fit(x: Any) -> Any:
    y = x + 1
    raise Refused(y, nothing=1)  # type: ignore[call-arg]  # refused


def ends_twice(x: Any) -> Any:
    @contextmanager
    def never_ends() -> Iterator[None]:
        try:
            yield
        except KeyError:
            yield

    y = x + 1
    with never_ends():
        raise KeyError
    return y


@pytest.mark.parametrize("function", [leaves_the_frame, is_kept, does_not_fit, ends_twice])
def test_what_is_not_captured_runs_as_in_eager(function: Any) -> None:
    check(function, torch.ones(3))
