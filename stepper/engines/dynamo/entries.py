"""The entries of Dynamo's cache, asked by number."""

from __future__ import annotations

from types import CodeType
from typing import Any

from torch.fx import GraphModule

from stepper.engines.common.entries import EngineEntries, Runners
from stepper.engines.dynamo import cache_check
from stepper.engines.dynamo.cache import BOOK, KnownEntry, locked
from stepper.engines.dynamo.cache_check import TOOLKIT
from stepper.engines.dynamo.graphs import graph_of
from stepper.engines.dynamo.witnesses import find_witness
from stepper.model.cache import CacheCheck, WitnessSearch


class DynamoEntries(EngineEntries[KnownEntry]):
    """Those of the `torch._dynamo` that is installed."""

    def check(
        self, code: CodeType, f_locals: dict[str, Any], *, backend: str = "", compare: bool = False
    ) -> CacheCheck:
        """See `EngineEntries.check`."""
        return cache_check.check(code, f_locals, backend=backend, compare=compare)

    def runners(self, entry: KnownEntry) -> Runners:
        """See `EngineEntries.runners`."""
        return cache_check.runners(entry)

    def witness(self, entry: KnownEntry, guard: int, f_locals: dict[str, Any]) -> WitnessSearch:
        """See `EngineEntries.witness`."""
        return find_witness(entry, guard, f_locals)

    def code_of(self, entry: KnownEntry) -> CodeType | None:
        """See `EngineEntries.code_of`."""
        with locked():
            return BOOK.parts(entry)[1]

    def graph_of(self, entry: KnownEntry) -> GraphModule | None:
        """See `EngineEntries.graph_of`."""
        with locked():
            wrapper, code = BOOK.parts(entry)
            return None if code is None else graph_of(code, wrapper)

    def after_removal(self, entry: KnownEntry) -> str:
        """See `EngineEntries.after_removal`."""
        return f": {entry.facts.reason}"


ENTRIES = DynamoEntries(BOOK, TOOLKIT)
"""Those of this process."""
