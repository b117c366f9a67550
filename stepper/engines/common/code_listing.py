"""Code objects and their instructions as the recording shows them."""

from __future__ import annotations

import functools
import itertools
import linecache
import opcode
from collections.abc import Sequence
from types import CodeType
from typing import Any

from stepper._C import instruction_rows, last_line
from stepper.engines.common.words import plain_text
from stepper.model.program import Code, Instruction

_CONVERSIONS = ("", "str", "repr", "ascii")
_MEANINGS: dict[str, tuple[str, ...]] = {
    "BINARY_OP": tuple(symbol for _, symbol in opcode._nb_ops),  # type: ignore[attr-defined]
    "FORMAT_VALUE": (*_CONVERSIONS, *(f"{name} with format" for name in _CONVERSIONS)),
    "KW_NAMES": (),  # the code's constants
}
"""Where an argument is a number that means something else: what each means."""
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
    other = functools.partial(_argument, code)
    if targets is None:
        return instruction_rows(Instruction, listed, _MEANINGS, MAX_ARGUMENT, other)
    handlers = handlers or [None] * len(listed)
    return instruction_rows(Instruction, listed, _MEANINGS, MAX_ARGUMENT, other, targets, handlers)


def _argument(code: CodeType, instruction: Any) -> str:
    """The argument in words of an instruction that is no jump; a constant may be any object, so
    only plain ones are shown in full. The plainest never come here (csrc/argument_words.c)."""
    argument, value = instruction.arg, instruction.argval
    if instruction.opname == "KW_NAMES" and argument is not None and argument < len(code.co_consts):
        value = code.co_consts[argument]  # Dynamo's own instruction may not know it
    return plain_text(value)[:MAX_ARGUMENT]


def _source(code: CodeType) -> tuple[int, tuple[str, ...]]:
    """The lines of the whole function, from the first line that belongs to it to the last."""
    first = code.co_firstlineno
    last = max(first, last_line(code))
    lines: Sequence[str] = linecache.getlines(code.co_filename)
    if not 1 <= first <= len(lines):
        return 0, ()
    return first, tuple(map(str.rstrip, lines[first - 1 : last], itertools.repeat("\r\n")))
