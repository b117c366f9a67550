"""A compiler that "compiles" a function by counting its instructions, once for each type of its
arguments. It is somebody else's: it knows nothing of stepper, and can be listened to."""

from __future__ import annotations

import dis
from collections.abc import Callable
from types import CodeType
from typing import Any

listener: Any = None
"""Told of what is compiled, if somebody listens."""
compiled: dict[tuple[CodeType, tuple[str, ...]], int] = {}
"""How many instructions there are, by code and types."""


class Count:
    """So many instructions were of one name."""

    def __init__(self, opname: str, times: int) -> None:
        self.opname, self.times = opname, times


class Translator:
    """Goes through a code once, and counts."""

    def __init__(self, code: CodeType) -> None:
        self.code, self.instructions = code, list(dis.get_instructions(code))
        self.instruction_pointer, self.current_speculation = 0, None
        self.stack: list[Count] = []
        self.symbolic_locals: dict[str, Count] = {}
        self.block_stack: list[object] = []

    def run(self) -> int:
        for index, instruction in enumerate(self.instructions):
            self.instruction_pointer = index
            if listener is not None:
                listener.step(self)
            counts = {each.opname: each for each in self.stack}
            known = counts.pop(instruction.opname, Count("", 0))
            self.stack = [*counts.values(), Count(instruction.opname, known.times + 1)]
        return len(self.instructions)


def compile(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose instructions are counted before it is called with new types."""

    def call(*args: Any) -> Any:
        key = function.__code__, tuple(type(each).__name__ for each in args)
        if key not in compiled:
            translator = Translator(function.__code__)
            if listener is not None:
                listener.begins(translator, key[1])
            compiled[key] = translator.run()
            if listener is not None:
                listener.ends(compiled[key])
        return function(*args)

    return call
