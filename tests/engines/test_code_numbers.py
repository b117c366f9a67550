"""A code's number outlives its listing, which is made again where it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType

import pytest

from stepper.engines.common import code_numbers
from stepper.engines.common.code_numbers import NumberedCodes
from stepper.engines.dynamo.bytecode import CodeTable as DynamoCodes
from stepper.engines.native.code_table import CodeTable as NativeCodes
from stepper.model.program import Code


def _dynamo(stored: list[Code]) -> NumberedCodes:
    table = DynamoCodes()
    table.begin(stored.append)
    return table


def _native(stored: list[Code]) -> NumberedCodes:
    return NativeCodes(stored.append)


def _code(number: int) -> CodeType:
    made: CodeType = compile(f"def f(x):\n    return x + {number}\n", "made.py", "exec").co_consts[
        0
    ]
    return made


@pytest.mark.parametrize("table_for", [_dynamo, _native])
def test_a_listing_that_was_let_go_of_is_made_again(
    table_for: Callable[[list[Code]], NumberedCodes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(code_numbers, "_ROWS_KEPT", 20)
    stored: list[Code] = []
    table = table_for(stored)
    codes = [_code(number) for number in range(12)]
    first = [table.plain(code) for code in codes]
    assert [table.plain(code) for code in codes] == first == stored, "stored once"
    assert [table.known(code) for code in codes] == [each.id for each in first]
    kept = sum(len(each.instructions) for each in table._listed._codes.values())
    assert len(first[0].instructions) <= kept <= 20
