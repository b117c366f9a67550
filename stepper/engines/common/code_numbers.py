"""Numbers for the codes of a recording, and codes that are not bytecode: lookups and graphs.

A code's number is kept as long as the code lives. Its listing is needed while the code is
translated or executed, and weighs twenty times as much as all else that is remembered of a
compilation; so only those that were asked for last are kept, and the others made again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from types import CodeType
from typing import Generic, TypeVar

from stepper.engines.common.code_listing import code_in_words
from stepper.model.program import Code, Instruction
from stepper.support.per_object import PerCode

K = TypeVar("K")
_ROWS_KEPT = 10_000
"""Instructions, and rows of lookups, of the codes that are remembered whole."""


class KeptCodes(Generic[K]):
    """Codes in words, as many as have `_ROWS_KEPT` rows in all: those that were asked for last."""

    def __init__(self) -> None:
        self._codes: OrderedDict[K, Code] = OrderedDict()
        self._rows = 0

    def get(self, key: K) -> Code | None:
        """The code, if it is still here."""
        found = self._codes.get(key)
        if found is not None:
            self._codes.move_to_end(key)
        return found

    def keep(self, key: K, code: Code) -> Code:
        """Keep a code, and let go of the oldest for it; returns it."""
        self._rows += len(code.instructions)
        while self._codes and self._rows > _ROWS_KEPT:
            _, oldest = self._codes.popitem(last=False)
            self._rows -= len(oldest.instructions)
        self._codes[key] = code
        return code


class NumberedCodes:
    """Gives every `Code` that it makes a number, and stores it."""

    def __init__(self, store: Callable[[Code], None] = lambda code: None) -> None:
        self._store = store
        self._numbers: PerCode[int] = PerCode()
        self._listed: KeptCodes[int] = KeptCodes()
        self._lookups: KeptCodes[tuple[object, ...]] = KeptCodes()
        self._count = 0

    def plain(self, code: CodeType) -> Code:
        """A code object as CPython has it."""
        number = self._numbers.get(code)
        if number is None:
            made = self._listed_as(code, self._listing(code))
            self._numbers.set(code, made.id)
            return made
        return self._listed.get(number) or self._again(code, number, self._listing(code))

    def known(self, code: CodeType) -> int | None:
        """The number of a code object, if it has one."""
        return self._numbers.get(code)

    def lookup(
        self, code: CodeType, name: str, qualname: str, checks: tuple[Instruction, ...]
    ) -> Code:
        """A program of guards, for calls of a code object; those that look alike are stored
        once."""
        key = (code.co_filename, code.co_firstlineno, qualname, checks)
        found = self._lookups.get(key)
        if found is not None:
            return found
        return self._lookups.keep(key, self._make(code, checks, name, qualname))

    def graph(self, code: CodeType, name: str, nodes: tuple[Instruction, ...]) -> Code:
        """The Python function of a graph, whose instructions are nodes."""
        return self._make(code, nodes, name, name)

    def _listing(self, code: CodeType) -> tuple[Instruction, ...]:
        raise NotImplementedError

    def _listed_as(self, code: CodeType, instructions: tuple[Instruction, ...]) -> Code:
        made = self._make(code, instructions)
        return self._listed.keep(made.id, made)

    def _again(self, code: CodeType, number: int, instructions: tuple[Instruction, ...]) -> Code:
        return self._listed.keep(number, code_in_words(code, number, instructions))

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
