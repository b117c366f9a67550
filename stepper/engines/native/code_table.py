"""Code objects as the recording shows them, each once."""

from __future__ import annotations

from types import CodeType
from typing import Any

from stepper.engines.common.code_listing import code_in_words, instructions
from stepper.engines.common.code_numbers import NumberedCodes
from stepper.model.program import Code, Instruction
from stepper.native.bytecode.opcodes import listing
from stepper.support.disassembly import disassemble


class CodeTable(NumberedCodes):
    """Gives every code object a number, and stores its `Code` when it is first asked for."""

    def traced(self, tx: Any) -> Code:
        """The code that a translator interprets, which is as CPython has it."""
        return self.plain(tx.f_code)

    def _listing(self, code: CodeType) -> tuple[Instruction, ...]:
        return _listed(code)


def described(code: CodeType, number: int) -> Code:
    """A code object in words, under this number."""
    return code_in_words(code, number, _listed(code))


def _listed(code: CodeType) -> tuple[Instruction, ...]:
    listed = disassemble(code)
    read = listing(code).instructions
    targets = [each.target for each in read]
    handlers = [each.handler for each in read]
    return instructions(code, listed, targets, handlers)
