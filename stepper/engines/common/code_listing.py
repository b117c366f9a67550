"""Code objects and their instructions as the recording shows them."""

from __future__ import annotations

import itertools
import linecache
import opcode
import operator
from collections.abc import Iterable, Sequence
from types import CodeType
from typing import Any

from stepper._C import plain_arguments
from stepper.engines.common.words import plain_text
from stepper.model.program import Code, Instruction

_OPERATORS: list[str] = [symbol for _, symbol in opcode._nb_ops]  # type: ignore[attr-defined]
_NONE = itertools.repeat(None)
_NOWHERE = (None, None, None, None)
_PARTS = [operator.itemgetter(part) for part in range(4)]
"""Of a place: line, last line, column, last column."""
_opname_of, _arg_of, _argval_of, _offset_of, _positions_of = map(
    operator.attrgetter,
    ("opname", "arg", "argval", "offset", "positions"),
)
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
    listed: Sequence[Any],
    texts: list[str],
    targets: list[int | None],
    handlers: Iterable[int | None],
) -> tuple[Instruction, ...]:
    """Instructions of `dis`, or of Dynamo, with the texts of their arguments, and by index where
    they jump to and where an exception goes on."""
    # Column by column, since a loop over thousands of rows is slow in the midst of the compiler.
    places = list(map(_positions_of, listed))
    if None in places:
        places = [place or _NOWHERE for place in places]
    columns = (map(_opname_of, listed), map(_arg_of, listed), texts, map(_offset_of, listed))
    where = (map(part, places) for part in _PARTS)
    return tuple(map(Instruction, itertools.count(), *columns, *where, targets, handlers))


def argument_texts(code: CodeType, listed: Sequence[Any], targets: list[int | None]) -> list[str]:
    """The arguments in words; a jump's is its target, and has none."""
    values = list(map(_argval_of, listed))
    # A name can also be a constant; Dynamo writes names into instructions of its own without a
    # number for them.
    texts = plain_arguments(
        values, list(map(_arg_of, listed)), targets, list(map(_opname_of, listed)), _WORDED,
        MAX_ARGUMENT,
    )  # fmt: skip
    for index in itertools.compress(itertools.count(), map(operator.is_, texts, _NONE)):
        texts[index] = _argument(code, listed[index], values[index])
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
