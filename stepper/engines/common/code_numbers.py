"""Numbers for the codes of a recording, and codes that are not bytecode: lookups and graphs."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType

from stepper.engines.common.code_listing import code_in_words
from stepper.model.program import Code, Instruction


class NumberedCodes:
    """Gives every `Code` that it makes a number, and stores it."""

    def __init__(self, store: Callable[[Code], None] = lambda code: None) -> None:
        self._store = store
        self._lookups: dict[tuple[object, ...], Code] = {}
        self._count = 0

    def lookup(
        self, code: CodeType, name: str, qualname: str, checks: tuple[Instruction, ...]
    ) -> Code:
        """A program of guards, for calls of a code object."""
        key = (code.co_filename, code.co_firstlineno, qualname, checks)
        found = self._lookups.get(key)
        if found is None:
            found = self._lookups[key] = self._make(code, checks, name, qualname)
        return found

    def graph(self, code: CodeType, name: str, nodes: tuple[Instruction, ...]) -> Code:
        """The Python function of a graph, whose instructions are nodes."""
        return self._make(code, nodes, name, name)

    def _make(
        self,
        code: CodeType,
        instructions: tuple[Instruction, ...],
        name: str = "",
        qualname: str = "",
    ) -> Code:
        self._count += 1
        made = code_in_words(code, self._count, instructions, name, qualname)
        self._store(made)
        return made
