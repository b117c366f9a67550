"""An engine's cache as the front ends' requests see it: see `stepper.debuggee.engine.Cache`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, Generic

from stepper.engines.common import portable_code
from stepper.engines.common.arguments import copies, same_random_numbers
from stepper.engines.common.asked_call import locals_of_call
from stepper.engines.common.choices import AnyChoice, Choices
from stepper.engines.common.entries import EngineEntries
from stepper.engines.common.known import E
from stepper.engines.common.resumed import ResumedCalls
from stepper.engines.common.words import object_text
from stepper.model.cache import (
    CacheCheck,
    CacheError,
    CacheListing,
    EntryCode,
    EntryView,
    RunResult,
    WitnessSearch,
)

Standing = Callable[[CodeType], dict[str, Any] | None]
"""The locals of the call of a code, if the program stands at one."""


class CacheFace(Generic[E, AnyChoice]):
    """Answers as a `Cache` does, for the entries of an engine and for what is chosen at a miss."""

    def __init__(
        self,
        entries: EngineEntries[E],
        choices: Choices[AnyChoice],
        standing: Standing,
        is_program: Callable[[str], bool],
        resumed: Callable[[str], ResumedCalls[E]],
    ) -> None:
        """
        Args:
            entries: the engine's.
            choices: what becomes of calls that no entry serves.
            standing: the locals of the call at which the program stands.
            is_program: whether a file is the program's own.
            resumed: who runs an entry of a backend by hand.
        """
        self._entries = entries
        self._choices = choices
        self._standing = standing
        self._is_program = is_program
        self._resumed = resumed

    def listing(self, function: str) -> CacheListing:
        return self._entries.listing(function)

    def view(self, entry: int) -> EntryView:
        return self._entries.view(entry)

    def code(self, entry: int) -> EntryCode:
        transformed = self._entries.transformed(entry)
        if transformed is None:
            label = self._entries.book.entry(entry).label
            raise CacheError(f"the code of {label} is gone, or the compiler does not give it away")
        data = portable_code.to_bytes(transformed)
        return EntryCode(entry, data, sys.executable or "", sys.version_info[:2])

    def check(self, code: int, arguments: str, backend: str, compare: bool) -> CacheCheck:
        _, original = self._entries.book.code(code)
        f_locals = self._locals(original, arguments)
        return self._entries.check(original, f_locals, backend=backend, compare=compare)

    def run(self, entry: int, arguments: str, compare: bool) -> RunResult:
        f_locals = self._locals(self._entries.original(entry), arguments)
        return self._entries.run(entry, f_locals, compare=compare)

    def stepping(self, entry: int, arguments: str) -> tuple[str, Callable[[], str]]:
        known = self._entries.book.entry(entry)
        runnable = self._entries.runnable(known)
        copied = copies(self._locals(runnable.original, arguments))

        def stepped() -> str:
            resumed = self._resumed(known.facts.backend)
            with same_random_numbers():
                result = resumed.follow(runnable, known.facts.compile_id, copied.f_locals)
                return f"{object_text(result)}{resumed.remark}"

        return copied.beware, stepped

    def clone(self, entry: int, drop: tuple[int, ...], add: tuple[str, ...]) -> EntryView:
        return self.view(self._entries.clone(entry, drop, add))

    def edit(self, entry: int, bytecode: str) -> EntryView:
        return self.view(self._entries.edit(entry, bytecode))

    def register(self, entry: int) -> EntryView:
        return self.view(self._entries.register(entry))

    def remove(self, entry: int) -> str:
        return self._entries.remove(entry)

    def find_witness(self, entry: int, guard: int, arguments: str) -> WitnessSearch:
        f_locals = self._locals(self._entries.original(entry), arguments)
        return self._entries.find_witness(entry, guard, f_locals)

    def mark_dynamic(self, source: str, dim: int | None, strict: bool) -> str:
        return self._choices.here().mark_dynamic(source, dim, strict)

    def relax(self, entry: int | None, drop: tuple[int, ...]) -> str:
        return self._choices.here().relax(entry, drop)

    def skip(self) -> str:
        return self._choices.here().skip()

    def _locals(self, code: CodeType, text: str) -> dict[str, Any]:
        return locals_of_call(code, text, self._standing(code), self._is_program)
