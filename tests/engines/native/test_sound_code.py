"""The proof that the other tests ask of every made code: what it finds, and what it lets pass."""

from __future__ import annotations

import argparse
import asyncio.base_events
import contextlib
import dis
import inspect
from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

import pytest

from stepper.native.bytecode.bytecode_transformation import write_code
from stepper.support.bytecode_package import TryBegin, listing_of
from tests.engines.native.sound_code import CHECKS_LOADS, promises_broken


def codes_of(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from codes_of(each)


@pytest.mark.parametrize(
    "module", [argparse, asyncio.base_events, contextlib, inspect], ids=lambda each: each.__name__
)
def test_what_pythons_own_compiler_writes_is_sound(module: ModuleType) -> None:
    written = compile(inspect.getsource(module), module.__name__, "exec")
    assert [found for code in codes_of(written) for found in promises_broken(code)] == []


def without(function: Any, name: str) -> CodeType:
    """The function's code without the instructions of a name."""
    code: CodeType = function.__code__
    written = bytearray(code.co_code)
    for place in range(0, len(written), 2):
        if written[place] == dis.opmap[name]:
            written[place : place + 2] = dis.opmap["NOP"], 0
    return code.replace(co_code=bytes(written))


def found_in(code: CodeType) -> set[str]:
    """What is said of the code, without the places."""
    return {text.rpartition(": ")[2] for text in promises_broken(code)}


def branching(given: Any, other: Any) -> Any:
    if given:
        other()
    return other


def deleting(given: Any) -> Any:
    ___kept = given
    del ___kept
    return given


def with_a_cell(given: Any) -> Any:
    kept = given
    return lambda: kept


def with_a_handler(given: Any) -> Any:
    for each in given:
        try:
            each()
        except ValueError:
            return each
    return given


@pytest.mark.skipif(CHECKS_LOADS, reason="Python looks itself whether a variable is set")
def test_a_variable_of_the_program() -> None:
    code = branching.__code__.replace(co_argcount=1)
    assert found_in(code) == {"variable other may not be set"}


def test_a_variable_of_ours() -> None:
    assert found_in(deleting.__code__) == set()
    assert found_in(without(deleting, "STORE_FAST")) >= {"variable ___kept may not be set"}


def test_a_cell_that_nobody_makes() -> None:
    assert any(
        "kept may not be set" in text for text in found_in(without(with_a_cell, "MAKE_CELL"))
    )


def test_a_value_that_one_path_leaves_on_the_stack() -> None:
    found = found_in(without(branching, "POP_TOP"))
    assert any(text.endswith("is reached at depths 0 and 1") for text in found) or any(
        text.endswith("is reached at depths 1 and 0") for text in found
    )


def test_a_stack_without_room() -> None:
    code = branching.__code__.replace(co_stacksize=1)
    assert "depth 2, but there is room for 1" in found_in(code)


def test_a_handler_that_expects_more_than_is_there() -> None:
    listed = listing_of(with_a_handler.__code__)
    for each in listed:
        if isinstance(each, TryBegin) and each.stack_depth == 1:
            each.stack_depth = 2
    assert "its handler expects depth 2, not 1" in found_in(write_code(listed, room=9))
