"""Code objects as the recording shows them, each once."""

from __future__ import annotations

import dis
import linecache
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from stepper.engines.native.describe import plain_text
from stepper.engines.native.opcodes import listing
from stepper.engines.native.per_code import PerCode
from stepper.model.program import Code, Instruction

MAX_ARGUMENT = 120
"""Characters of an instruction's argument in words."""


class CodeBook:
    """Gives every code object a number, and stores its `Code` when it is first asked for."""

    def __init__(self, store: Callable[[Code], None]) -> None:
        self._store = store
        self._codes: PerCode[Code] = PerCode()
        self._count = 0

    def plain(self, code: CodeType) -> Code:
        """The code as CPython has it, which is how it is interpreted, too."""
        known = self._codes.get(code)
        if known is not None:
            return known
        self._count += 1
        first, source = _source(code)
        made = Code(
            id=self._count,
            name=code.co_name,
            qualname=code.co_qualname,
            filename=code.co_filename,
            first_line=code.co_firstlineno,
            instructions=_instructions(code),
            source_first_line=first,
            source=source,
        )
        self._store(made)
        return self._codes.set(code, made)

    def traced(self, tx: Any) -> Code:
        """The code that a translator interprets."""
        return self.plain(tx.f_code)


def _instructions(code: CodeType) -> tuple[Instruction, ...]:
    read = listing(code).instructions
    made = []
    for each, inst in zip(dis.get_instructions(code), read, strict=True):
        at = each.positions
        made.append(
            Instruction(
                index=inst.index,
                opname=inst.opname,
                arg=inst.arg,
                argrepr="" if inst.target is not None else _argument(each),
                offset=inst.offset,
                line=at.lineno if at is not None else None,
                end_line=at.end_lineno if at is not None else None,
                col=at.col_offset if at is not None else None,
                end_col=at.end_col_offset if at is not None else None,
                target=inst.target,
                handler=inst.handler,
            )
        )
    return tuple(made)


def _argument(inst: dis.Instruction) -> str:
    if inst.arg is None:
        return ""
    if inst.opcode in dis.hasconst:  # may be any object
        if type(inst.argval) is CodeType:
            return f"<code {inst.argval.co_name}>"
        return plain_text(inst.argval)[:MAX_ARGUMENT]
    return inst.argrepr[:MAX_ARGUMENT]


def _source(code: CodeType) -> tuple[int, tuple[str, ...]]:
    """The lines of the function."""
    lines: Sequence[str] = linecache.getlines(code.co_filename)
    first = code.co_firstlineno
    last = max([first, *(line for _, _, line in code.co_lines() if line is not None)])
    if not 1 <= first <= len(lines):
        return 0, ()
    return first, tuple(line.rstrip("\r\n") for line in lines[first - 1 : last])
