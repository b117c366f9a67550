"""Code objects and their instructions as the recording shows them."""

from __future__ import annotations

import itertools
import linecache
import opcode
from collections.abc import Sequence
from types import CodeType
from typing import Any

from stepper._C import instruction_rows, last_line, shortened
from stepper.model.program import Code, Instruction
from stepper.support.words import plain_text

_CONVERSIONS = ("", "str", "repr", "ascii")
_MEANINGS: dict[str, tuple[str, ...] | None] = {
    "BINARY_OP": tuple(symbol for _, symbol in opcode._nb_ops),  # type: ignore[attr-defined]  # no stub has it
    "FORMAT_VALUE": (*_CONVERSIONS, *(f"{name} with format" for name in _CONVERSIONS)),
    "KW_NAMES": None,
}
"""Where an argument is a number that means something else: what each means; None: a constant."""
MAX_ARGUMENT = 120
"""Characters of an instruction's argument in words."""


def code_in_words(
    code: CodeType,
    number: int,
    instructions: tuple[Instruction, ...],
    name: str = "",
    qualname: str = "",
) -> Code:
    """A code object in words, under this number; `name` and `qualname` where not its own."""
    first, source = _source(code)
    return Code(
        id=number,
        name=name or code.co_name,
        qualname=qualname or code.co_qualname,
        filename=code.co_filename,
        first_line=code.co_firstlineno,
        instructions=instructions,
        source_first_line=first,
        source=source,
    )


def instructions(
    code: CodeType,
    listed: list[Any],
    targets: list[int | None] | None = None,
    handlers: list[int | None] | None = None,
) -> tuple[Instruction, ...]:
    """A code's instructions, as `dis` or Dynamo has them, with their arguments in words.

    `targets` and `handlers` say by index where they jump to and where an exception goes on (None:
    nowhere). Dynamo's refer to each other, and need neither."""
    constants = code.co_consts
    if targets is None:
        return instruction_rows(Instruction, listed, constants, _MEANINGS, MAX_ARGUMENT, _constant)
    handlers = handlers or [None] * len(listed)
    return instruction_rows(
        Instruction, listed, constants, _MEANINGS, MAX_ARGUMENT, _constant, targets, handlers
    )


def _constant(value: object) -> str:
    """A constant in words. It may be any object, so only plain ones are shown in full; the plainest
    never come here (csrc/describe/argument_words.c)."""
    return shortened(plain_text(value), MAX_ARGUMENT)


def _source(code: CodeType) -> tuple[int, tuple[str, ...]]:
    """The lines of the whole function, from the first line that belongs to it to the last."""
    first = code.co_firstlineno
    last = max(first, last_line(code))
    lines: Sequence[str] = linecache.getlines(code.co_filename)
    if not 1 <= first <= len(lines):
        return 0, ()
    return first, tuple(map(str.rstrip, lines[first - 1 : last], itertools.repeat("\r\n")))
