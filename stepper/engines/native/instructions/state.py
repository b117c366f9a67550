"""What every method of an opcode can rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepper.engines.native.opcodes import Instruction
from stepper.engines.native.variables.base import VariableTracker


class TranslatorState:
    """What the methods use; `InstructionTranslatorBase` has it."""

    if TYPE_CHECKING:
        output: Any
        stack: list[VariableTracker]
        symbolic_locals: dict[str, VariableTracker]
        block_stack: list[tuple[int, VariableTracker]]
        handled: list[Any]
        kw_names: tuple[str, ...]
        f_code: Any
        f_globals: dict[str, Any]
        f_builtins: dict[str, Any]
        instructions: tuple[Instruction, ...]
        instruction_pointer: int
        result: VariableTracker | None
        yielded: VariableTracker | None
        root: Any
        push: Any
        pop: Any
        popn: Any
        realize: Any
        build: Any
        call_function: Any
