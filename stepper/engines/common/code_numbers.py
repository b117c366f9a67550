"""Numbers for the codes of a recording, and codes that are not bytecode: lookups and graphs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from types import CodeType

from stepper.engines.common.code_listing import code_in_words
from stepper.model.program import Code, Instruction

_ROWS_KEPT = 20_000
"""Rows of lookups that are remembered, so that lookups which look alike are stored once."""


class NumberedCodes:
    """Gives every `Code` that it makes a number, and stores it."""

    def __init__(self, store: Callable[[Code], None] = lambda code: None) -> None:
        self._store = store
        self._lookups: OrderedDict[tuple[object, ...], Code] = OrderedDict()
        self._rows = 0
        self._count = 0

    def lookup(
        self, code: CodeType, name: str, qualname: str, checks: tuple[Instruction, ...]
    ) -> Code:
        """A program of guards, for calls of a code object."""
        key = (code.co_filename, code.co_firstlineno, qualname, checks)
        found = self._lookups.pop(key, None)
        if found is None:
            found = self._make(code, checks, name, qualname)
            self._rows += len(checks)
            while self._lookups and self._rows > _ROWS_KEPT:
                _, oldest = self._lookups.popitem(last=False)
                self._rows -= len(oldest.instructions)
        self._lookups[key] = found
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
