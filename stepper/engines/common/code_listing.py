"""Code objects and their instructions as the recording shows them."""

from __future__ import annotations

import itertools
import linecache
import opcode
import operator
from collections.abc import Sequence
from types import CodeType
from typing import Any

from stepper._C import instruction_rows, plain_arguments
from stepper.engines.common.words import plain_text
from stepper.model.program import Code, Instruction

_OPERATORS: list[str] = [symbol for _, symbol in opcode._nb_ops]  # type: ignore[attr-defined]
_NONE = itertools.repeat(None)
_line_of = operator.itemgetter(2)
_WORDED = frozenset({"BINARY_OP", "FORMAT_VALUE", "KW_NAMES"})
"""Whose argument is a number that means something else."""
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
    listed: list[Any],
    texts: list[str],
    targets: list[int | None],
    handlers: list[int | None] | None = None,
) -> tuple[Instruction, ...]:
    """Instructions of `dis`, or of Dynamo, with the texts of their arguments, and by index where
    they jump to and where an exception goes on (None: nowhere)."""
    return instruction_rows(Instruction, listed, texts, targets, handlers or [None] * len(listed))


def argument_texts(code: CodeType, listed: list[Any], targets: list[int | None]) -> list[str]:
    """The arguments in words; a jump's is its target, and has none."""
    # A name can also be a constant; Dynamo writes names into instructions of its own without a
    # number for them.
    texts = plain_arguments(listed, targets, _WORDED, MAX_ARGUMENT)
    for index in itertools.compress(itertools.count(), map(operator.is_, texts, _NONE)):
        texts[index] = _argument(code, listed[index], listed[index].argval)
    return texts


def _argument(code: CodeType, instruction: Any, value: object) -> str:
    """The argument in words of an instruction that is no jump; a constant may be any object, so
    only plain ones are shown in full."""
    argument: int | None = instruction.arg
    if argument is None and type(value) is not str:
        return ""
    match instruction.opname:
        case "BINARY_OP" if argument is not None:
            return _OPERATORS[argument]
        case "FORMAT_VALUE" if argument is not None:
            return ("", "str", "repr", "ascii")[argument & 3] + (
                " with format" if argument & 4 else ""
            )
        case "KW_NAMES" if argument is not None and argument < len(code.co_consts):
            value = code.co_consts[argument]  # Dynamo's own instruction may not know it
    if type(value) is CodeType:
        return f"<code {value.co_name}>"
    return plain_text(value)[:MAX_ARGUMENT]


def _source(code: CodeType) -> tuple[int, tuple[str, ...]]:
    """The lines of the whole function, from the first line that belongs to it to the last."""
    first = last = code.co_firstlineno
    pending = [code]
    while pending:
        current = pending.pop()
        last = max(last, *filter(None, map(_line_of, current.co_lines())), 0)
        pending += [constant for constant in current.co_consts if type(constant) is CodeType]
    lines: Sequence[str] = linecache.getlines(code.co_filename)
    if not 1 <= first <= len(lines):
        return 0, ()
    return first, tuple(map(str.rstrip, lines[first - 1 : last], itertools.repeat("\r\n")))
