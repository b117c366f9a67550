"""The entries of Dynamo's cache, asked by number."""

from __future__ import annotations

from types import CodeType
from typing import Any

from stepper.engines.common import arguments
from stepper.engines.common.entries import EngineEntries, Runnable
from stepper.engines.common.entry_guards import EntryGuards
from stepper.engines.dynamo.cache import BOOK, KnownEntry
from stepper.engines.dynamo.calling import call
from stepper.engines.dynamo.toolkit import TOOLKIT
from stepper.model.cache import CacheError, Origin


class DynamoEntries(EngineEntries[KnownEntry]):
    """The cache entries of the `torch._dynamo` that is installed."""

    def guards(self, entry: KnownEntry) -> EntryGuards:
        """See `EngineEntries.guards`. One that was made by hand asks those of the entry that it was
        copied from."""
        guards: EntryGuards = BOOK.tree(entry) if entry.draft is None else entry.draft
        return guards

    def runnable(self, entry: KnownEntry) -> Runnable:
        wrapper, transformed = BOOK.parts(entry)
        original = entry.code.ref()
        if transformed is None or original is None:
            why = entry.facts.reason or "its code is gone"
            raise CacheError(f"{entry.label} cannot be run: {why}")
        scope = wrapper.global_scope if wrapper is not None else None
        f_globals = scope["G"] if scope else arguments.function_of(original).__globals__
        return Runnable(transformed, original, f_globals)

    def call(self, code: CodeType, what: Runnable, f_locals: dict[str, Any]) -> Any:
        return call(code, what.f_globals, f_locals, what.original)

    def serves(self, entry: KnownEntry, backend: str) -> bool:
        """See `EngineEntries.serves`. Other entries than compiled ones serve calls of all."""
        return entry.facts.origin is not Origin.COMPILED or super().serves(entry, backend)

    def after_removal(self, entry: KnownEntry) -> str:
        return f": {entry.facts.reason}"


ENTRIES = DynamoEntries(BOOK, TOOLKIT)
"""Those of this process."""
