"""A text that a captured program makes is an object of its own, as without the capture: Python has
one object for equal names in code, and so the program can see the difference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from stepper import native
from tests.engines.native.harness import run_graph

NAME = "a_name"


@native.disable
def same(*values: object) -> list[bool]:
    return [first is second for first in values for second in (*values, NAME, "x")]


def decoded(x: torch.Tensor) -> Any:
    y = x + 1
    name = str(b"a_name", "ascii")
    return same(name, "a_name"), y


def formatted(x: torch.Tensor) -> Any:
    y, part = x + 1, "name"
    names = f"a_{part}", "a_" + part, "a_%s" % part, "_".join(("a", part))  # noqa: UP031  # each way to write it
    return same(*names), y


def one_object(x: torch.Tensor) -> Any:
    y = x + 1
    name = "_".join(("a", "name"))
    again, held, keyed = name, [name, name], {"key": name}
    return same(name, again, *held, keyed["key"], name.strip(), name[:], str(name)), held, y


def after_breaks(x: torch.Tensor) -> Any:
    y = x + 1
    name, other = "_".join(("a", "name")), "_".join(("a", "name"))
    first = same(name, other)
    z = y * 2
    second = same(name, other)
    return first, second, name is other, name is name, name is NAME, z + 1


def short_and_odd(x: torch.Tensor) -> Any:
    y, letter = x + 1, "axb"
    return same(letter[1], letter[1:1], letter[1:2].upper()), y


def returned(x: torch.Tensor) -> Any:
    y = x + 1
    name = "_".join(("a", "name"))
    return name, [name], "a_name", y


PROGRAMS: list[Callable[[torch.Tensor], Any]] = [
    decoded, formatted, one_object, after_breaks, short_and_odd, returned,
]  # fmt: skip


def shape(found: Any) -> Any:
    """Which of the texts are one object, and the rest as it is."""
    flat: list[Any] = []

    def visit(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [visit(each) for each in value]
        if isinstance(value, torch.Tensor):
            return value.tolist()
        flat.append(value)
        return value, [value is each for each in flat], value is NAME

    return visit(found)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_text_is_the_object_that_it_is_without_the_capture(
    program: Callable[[torch.Tensor], Any],
) -> None:
    x = torch.ones(2)
    expected = shape(program(x))
    captured = native.optimize(run_graph)(program)
    assert shape(captured(x)) == expected
    assert shape(captured(x)) == expected


def test_each_call_makes_a_text_of_its_own() -> None:
    captured = native.optimize(run_graph)(returned)
    first, second = captured(torch.ones(2)), captured(torch.ones(2))
    assert first[0] is not second[0]
    assert first[0] is first[1][0]
    assert first[2] is second[2] is NAME
