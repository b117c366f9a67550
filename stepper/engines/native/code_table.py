"""Code objects as the recording shows them, each once."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from stepper.engines.common.code_listing import code_in_words, instructions
from stepper.engines.common.code_numbers import NumberedCodes
from stepper.model.program import Code, Instruction
from stepper.native.bytecode.opcodes import listing
from stepper.support.disassembly import disassemble
from stepper.support.per_object import PerCode


class CodeTable(NumberedCodes):
    """Gives every code object a number, and stores its `Code` when it is first asked for."""

    def __init__(self, store: Callable[[Code], None]) -> None:
        super().__init__(store)
        self._codes: PerCode[Code] = PerCode()

    def plain(self, code: CodeType) -> Code:
        """The code as CPython has it, which is how it is interpreted, too."""
        known = self._codes.get(code)
        return self._codes.set(code, self._make(code, _listed(code))) if known is None else known

    def traced(self, tx: Any) -> Code:
        """The code that a translator interprets."""
        return self.plain(tx.f_code)


def described(code: CodeType, number: int) -> Code:
    """A code object in words, under this number."""
    return code_in_words(code, number, _listed(code))


def _listed(code: CodeType) -> tuple[Instruction, ...]:
    listed = disassemble(code)
    read = listing(code).instructions
    targets = [each.target for each in read]
    handlers = [each.handler for each in read]
    return instructions(code, listed, targets, handlers)
