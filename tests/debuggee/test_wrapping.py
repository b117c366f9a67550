"""Which function a decorator has been put around is told by its code and its closure; how that is
shown is tested with the breakpoints on such names (`tests/console/test_method_breakpoints.py`)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest

from stepper.support.wrapping import wrapped


def inner(x: int, *rest: int, scale: int = 1) -> int:
    return x * scale


def hands_on(function: Callable[..., int]) -> Any:
    def made(*args: int, **kwargs: int) -> int:
        return function(*args, **kwargs)

    return made


def hands_on_with_its_own(function: Callable[..., int]) -> Any:
    def made(self: int, *args: int, scale: int = 2) -> int:
        held = [function(self, *args, scale=scale), len(args)]
        return held[0] if args else function(*args)

    return made


def only_calls(function: Callable[..., int]) -> Any:
    def made(*args: int) -> int:
        return function(args[0]) + max(*args)

    return made


def hands_on_to_two(function: Callable[..., int], other: Callable[..., int]) -> Any:
    def made(*args: int) -> int:
        return function(*args) + other(*args)

    return made


def takes_no_rest(function: Callable[..., int]) -> Any:
    def made(args: tuple[int, ...]) -> int:
        return function(*args)

    return made


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (hands_on(inner), "inner"),
        (hands_on(functools.wraps(inner)(hands_on(len))), "inner"),
        (hands_on_with_its_own(inner), "inner"),
        (only_calls(inner), ""),
        (hands_on_to_two(inner, inner), ""),
        (takes_no_rest(inner), ""),
        (hands_on(functools.partial(inner, 1)), ""),
        (inner, ""),
    ],
)
def test_the_function_that_arguments_are_handed_on_to(made: FunctionType, name: str) -> None:
    cells = made.__closure__ or ()
    held = {
        free: cell.cell_contents
        for free, cell in zip(made.__code__.co_freevars, cells, strict=True)
    }
    assert wrapped(made.__code__, held) == name
