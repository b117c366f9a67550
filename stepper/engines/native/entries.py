"""The entries of the native engine's caches, asked by number."""

from __future__ import annotations

from types import CodeType

from torch.fx import GraphModule

from stepper.engines.common.entries import EngineEntries, Runners
from stepper.engines.native import cache_check, toolkit
from stepper.engines.native.cache import BOOK, KnownEntry, graph_of
from stepper.model.cache import CacheCheck, WitnessSearch


class NativeEntries(EngineEntries[KnownEntry]):
    """Those of the caches of `stepper._C`."""

    def check(
        self,
        code: CodeType,
        f_locals: dict[str, object],
        *,
        backend: str = "",
        compare: bool = False,
    ) -> CacheCheck:
        """See `EngineEntries.check`."""
        return cache_check.check(code, f_locals, backend=backend, compare=compare)

    def runners(self, entry: KnownEntry) -> Runners:
        """See `EngineEntries.runners`."""
        return cache_check.runners(entry)

    def witness(self, entry: KnownEntry, guard: int, f_locals: dict[str, object]) -> WitnessSearch:
        """See `EngineEntries.witness`."""
        return cache_check.find_witness(entry, guard, f_locals)

    def code_of(self, entry: KnownEntry) -> CodeType | None:
        """See `EngineEntries.code_of`."""
        found = entry.ref()
        return None if found is None else found.code

    def graph_of(self, entry: KnownEntry) -> GraphModule | None:
        """See `EngineEntries.graph_of`."""
        found = entry.ref()
        return None if found is None else graph_of(found)

    def after_removal(self, entry: KnownEntry) -> str:
        """See `EngineEntries.after_removal`."""
        return " is out of the cache: the next call is captured anew"


ENTRIES = NativeEntries(BOOK, toolkit)
"""Those of this process."""
