"""Bytecode as text and back: what was there is there again, handlers included."""

from __future__ import annotations

import ast
import collections
import contextlib
import dis
import functools
import inspect
import re
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import pytest

from stepper.engines.common.assembler import from_text, stack_size, to_text


def codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def nested(fail: bool) -> str:
    """Handlers whose depths the `bytecode` package computes wrongly."""
    try:
        if fail:
            raise KeyError
    except KeyError:
        try:
            try:
                raise ValueError
            finally:
                raise TypeError
        except TypeError:
            pass
        return "handled"
    return "passed"


@pytest.mark.parametrize("module", [ast, collections, contextlib, functools, inspect])
def test_round_trip(module: Any) -> None:
    with open(module.__file__, encoding="utf-8") as file:
        top = compile(file.read(), module.__file__, "exec")
    for code in codes(top):
        made = from_text(to_text(code), code)
        assert _unnumbered(made) == _unnumbered(code)
        assert _table(made) == _table(code)
        assert made.co_varnames == code.co_varnames
        assert made.co_freevars == code.co_freevars
        assert made.co_stacksize >= code.co_stacksize
        assert stack_size(made) <= code.co_stacksize


def _unnumbered(code: CodeType) -> str:
    """The text; constants may get other numbers."""
    return re.sub(r"@\d+", "@", to_text(code))


def _table(code: CodeType) -> list[tuple[int, bool]]:
    entries = dis._parse_exception_table(code)  # type: ignore[attr-defined]  # no stub has it
    return [(entry.depth, entry.lasti) for entry in entries]


def test_handlers_keep_their_depths() -> None:
    made = nested.__code__.replace()
    made = from_text(to_text(made), made)
    assert _table(made) == _table(nested.__code__)
    copy = FunctionType(made, {"__builtins__": __builtins__})
    assert [copy(True), copy(False)] == ["handled", "passed"]


def test_lines_stay_where_they_were() -> None:
    text = to_text(nested.__code__)
    made = from_text(text.replace("RESUME 0", "RESUME 0\nNOP", 1), nested.__code__)
    before = [line for _, _, line in nested.__code__.co_lines()]
    after = [line for _, _, line in made.co_lines()]
    assert set(before) == set(after)


def test_comments_and_blank_lines_are_left_out() -> None:
    text = "# a remark\n\n" + to_text(nested.__code__)
    assert to_text(from_text(text, nested.__code__)) == to_text(nested.__code__)
