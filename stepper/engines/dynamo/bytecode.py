"""Dynamo's instructions and code objects as the debugger's `Code`, each once."""

from __future__ import annotations

import dis
import itertools
import operator
import os
import re
from collections.abc import Callable
from types import CodeType
from typing import Any

import msgspec
import torch

import stepper
from stepper.engines.common.code_listing import instructions
from stepper.engines.common.code_numbers import NumberedCodes
from stepper.engines.dynamo.calls import callees
from stepper.model.program import Code, Instruction
from stepper.model.resume_names import resumed
from stepper.support.disassembly import disassemble
from stepper.support.per_object import PerCode
from stepper.support.pythons_own import is_own_file

_TORCH_INTERNAL = re.compile(
    r"[/\\]torch[/\\](_dynamo|_utils_internal|_compile|nn[/\\]modules[/\\]module)"
)
_TORCH = os.path.join(os.path.dirname(torch.__file__), "")
_STEPPER = os.path.join(os.path.dirname(stepper.__file__), "")
_JUMPS = frozenset({*dis.hasjrel, *dis.hasjabs})
_offset_of, _opcode_of = map(operator.attrgetter, ("offset", "opcode"))


class CodeTable(NumberedCodes):
    """Gives every code object a number and stores its `Code` when it is first asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._traced: PerCode[tuple[int, int]] = PerCode()

    def begin(self, store: Callable[[Code], None]) -> None:
        """New codes go to `store` from now on."""
        self._store = store

    def traced(self, tx: Any) -> Code:
        """A code object as the translator `tx` interprets it.

        Dynamo cleans a code's instructions before it traces them and often hands out the same list
        again; one that it made anew has instructions of its own."""
        code, length = tx.f_code, len(tx.instructions)
        number, known_length = self._traced.get(code) or (0, -1)
        if length != known_length:
            made = self._listed_as(code, instructions(code, tx.instructions))
            self._traced.set(code, (made.id, length))
            return made
        return self._listed.get(number) or self._again(
            code, number, instructions(code, tx.instructions)
        )

    def _listing(self, code: CodeType) -> tuple[Instruction, ...]:
        return _plain_instructions(code)


def _plain_instructions(code: CodeType) -> tuple[Instruction, ...]:
    listed = disassemble(code)
    index_of = dict(zip(map(_offset_of, listed), itertools.count(), strict=False))
    jumps = map(_JUMPS.__contains__, map(_opcode_of, listed))
    targets: list[int | None] = [None] * len(listed)
    for index in itertools.compress(itertools.count(), jumps):
        targets[index] = index_of.get(listed[index].argval)
    rows = list(instructions(code, listed, targets))
    for index, callee in callees(code, listed).items():
        rows[index] = msgspec.structs.replace(rows[index], argrepr=callee)
    return tuple(rows)


def active_names(code: CodeType, at: int) -> set[str]:
    """What a function's arguments are called, and what the loops take up that an instruction is in;
    `at`: its offset."""
    names = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}
    listed = disassemble(code)
    for index, row in enumerate(listed):
        if row.opname == "FOR_ITER" and row.offset < at < row.argval:
            after = itertools.islice(listed, index + 1, None)
            stores = itertools.dropwhile(lambda each: each.opname.startswith("UNPACK_"), after)
            for store in itertools.takewhile(lambda each: each.opname.startswith("STORE_"), stores):
                stored = store.argval if isinstance(store.argval, tuple) else (store.argval,)
                names.update(stored[:1] if "LOAD" in store.opname else stored)
    return names


def resumed_function(code: CodeType) -> str:
    """For one of Dynamo's resume functions, the name of the function that it continues."""
    rest = resumed(code.co_name)
    return "" if rest is None else rest.function


def is_torch_internal(filename: str) -> bool:
    """Whether a file is part of the machinery between a compiled call and the tracer."""
    return _TORCH_INTERNAL.search(filename) is not None


def is_machinery(filename: str) -> bool:
    """Whether a file is torch's machinery, or stepper's own."""
    return filename.startswith(_STEPPER) or is_torch_internal(filename)


def is_program(filename: str) -> bool:
    """Whether a file is the program's, its libraries included, and not torch's or Python's own."""
    return not filename.startswith(_TORCH) and not is_own_file(filename)
