"""Listing a code's instructions runs nothing of the program's."""

from __future__ import annotations

import ast
import dis
import inspect
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType

import pytest

from stepper.support.disassembly import disassemble
from tests.conftest import ROOT

from .harness import Program, run_plainly

OWN_FUNCTIONS_ONLY = {"stepper/support/disassembly.py", "stepper/engines/common/probes.py"}
"""Where `dis` is asked itself: of codes that the program has not written, nor a compiler for it."""

TELLS_OF_REPR = """
import sys
import types

import torch

import stepper

class Telling:
    def __repr__(self):
        print("its repr was called")
        return "Telling()"

sys.modules["other"] = other = types.ModuleType("other")
exec("kept = []\\n\\ndef add(x):\\n    kept[:] = [x]\\n    return x + 1", vars(other))
other.telling = Telling()

@stepper.compile(backend="eager")
def f(x):
    return other.add(x)

print(f(torch.ones(3)), len(other.kept))
"""
"""A program whose transformed code has a namespace among its constants: to change what a
global of another module holds."""


class Loud:
    def __repr__(self) -> str:
        raise AssertionError("the repr of a constant was called")


def codes_of(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_of(constant)


@pytest.mark.parametrize("module", [inspect, dis, ast, types])
def test_instructions_are_those_of_dis(module: types.ModuleType) -> None:
    """With constants that `dis` may show, and with one more that it may not."""
    path = Path(inspect.getsourcefile(module) or "")
    for code in codes_of(compile(path.read_text(), str(path), "exec")):
        expected = list(dis.get_instructions(code))
        for listed in (code, code.replace(co_consts=(*code.co_consts, Loud()))):
            for mine, theirs in zip(disassemble(listed), expected, strict=True):
                shown = theirs.argrepr if mine.opcode in dis.hasconst else mine.argrepr
                assert mine._replace(argrepr=shown) == theirs


def test_a_constant_is_given_and_not_shown() -> None:
    loud = Loud()
    code = (lambda: "replaced").__code__
    constants = tuple(loud if constant == "replaced" else constant for constant in code.co_consts)
    found = [each.argval for each in disassemble(code.replace(co_consts=constants))]
    assert any(each is loud for each in found)


def test_nobody_else_asks_dis() -> None:
    asking = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "stepper").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in {("dis", "get_instructions"), ("dis", "dis")}
    }
    assert asking == OWN_FUNCTIONS_ONLY


def test_recording_generated_code_calls_no_repr(
    debug: Callable[..., Program], tmp_path: Path
) -> None:
    status, out, err = run_plainly(TELLS_OF_REPR, tmp_path)
    assert (status, out) == (0, "tensor([2., 2., 2.]) 1\n"), err
    program = debug(TELLS_OF_REPR, engine="native", execute=True, lookups=True)
    assert program.finish() == (status, out, err)
