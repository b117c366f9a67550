"""The texts of named tuples, by whatever makes them: with the names of their items, also where they
are in another container, or what their class says."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch

from tests.engines.native.harness import check


class Pair(NamedTuple):
    a: Any
    b: str


class Says(NamedTuple):
    a: int

    def __repr__(self) -> str:
        return f"Says {self.a}"


class Writes(NamedTuple):
    a: int

    def __str__(self) -> str:
        return f"Writes {self.a}"


class Formats(NamedTuple):
    a: int

    def __format__(self, spec: str) -> str:
        return f"Formats {self.a} {spec}"


class SaysANumber(NamedTuple):
    a: int

    def __repr__(self) -> Any:
        return 3


Made = collections.namedtuple("Made", "x y")
GIVEN = Pair(3, "given")

WAYS: dict[str, Callable[[Any], Any]] = {
    "repr": repr,
    "str": str,
    "ascii": ascii,
    "formatted": lambda value: f"{value}",
    "formatted repr": lambda value: f"{value!r:>30}",
    "format": format,
    "method": lambda value: "{} {}".format(value, value),  # noqa: UP032  # one of the ways
    "method, inside": lambda value: "{}".format([value]),  # noqa: UP032  # one of the ways
    "percent": lambda value: "%s" % (value,),  # noqa: UP031  # one of the ways
    "percent, inside": lambda value: "%s" % ((value,),),  # noqa: UP031  # one of the ways
    "in a tuple": lambda value: str((value, 1)),
    "in a list": lambda value: str([value]),
    "in a dictionary": lambda value: str({"a": value}),
    "in another": lambda value: str(Made(1, value)),
    "joined": lambda value: ", ".join(map(str, [value, value])),
}
VALUES: dict[str, Callable[[], Any]] = {
    "made": lambda: Pair(1, "z"),
    "given": lambda: GIVEN,
    "by its function": lambda: Made(1, (2, 3)),
    "nested": lambda: Pair(Pair(1, "z"), "y"),
    "says": lambda: Says(1),
    "writes": lambda: Writes(1),
    "formats": lambda: Formats(1),
    "says a number": lambda: SaysANumber(1),
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("way", WAYS)
def test_a_text_is_what_it_is_without_the_capture(way: str, value: str) -> None:
    def f(x: torch.Tensor) -> Any:
        return x + 1, WAYS[way](VALUES[value]())

    check(f, torch.ones(3))


@pytest.mark.parametrize("way", ["repr", "str", "formatted", "percent"])
@pytest.mark.parametrize("value", ["made", "given", "by its function", "says"])
def test_a_text_is_captured(way: str, value: str) -> None:
    def f(x: torch.Tensor) -> Any:
        return x + 1, WAYS[way](VALUES[value]())

    assert not check(f, torch.ones(3)).graph_break_count
