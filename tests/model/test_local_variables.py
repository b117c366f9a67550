"""What instructions do to local variables, asked of names that CPython gives them."""

from __future__ import annotations

import dis
from types import CodeType

import pytest

from stepper.model.program import Instruction
from stepper.support.local_variables import local_uses


@pytest.mark.parametrize(
    ("opname", "named", "uses"),
    [
        ("LOAD_FAST_BORROW_LOAD_FAST_BORROW", "x, y", (("LOAD", "x"), ("LOAD", "y"))),
        ("STORE_FAST_LOAD_FAST", "x, y", (("STORE", "x"), ("LOAD", "y"))),
        ("STORE_FAST_STORE_FAST", ".0, y", (("STORE", ".0"), ("STORE", "y"))),
        ("DELETE_FAST", "x", (("DELETE", "x"),)),
        ("LOAD_FAST_CHECK", "x", (("LOAD", "x"),)),
        ("LOAD_GLOBAL", "x + NULL", ()),
    ],
)
def test_two_variables_at_once_are_two_uses(
    opname: str, named: str, uses: tuple[tuple[str, str], ...]
) -> None:
    assert Instruction(0, opname, argrepr=named).local_uses == uses


def test_each_variable_of_real_code_is_found() -> None:
    def function(a, b):
        c = a
        d = b
        x, y = c, d
        del c
        for each in (a, b, x, y, d):
            y = each
        return y

    code: CodeType = function.__code__
    uses = [
        use
        for each in dis.get_instructions(code)
        if each.opcode in dis.haslocal
        for use in local_uses(each.opname, each.argval)
    ]
    assert {name for verb, name in uses if verb == "STORE"} == {"c", "d", "x", "y", "each"}
    assert {name for verb, name in uses if verb == "LOAD"} == set(code.co_varnames)
    assert [name for verb, name in uses if verb == "DELETE"] == ["c"]
