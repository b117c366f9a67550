"""The native engine's cache, told: which codes have entries, and what the entries are.

Entries are objects of ours, in the caches of `stepper._C`, so there is little to find out: what a
book keeps is numbers, for as long as an entry can be spoken of, and how those ended that are gone.
It holds none of them: an entry that its cache gives up is freed, and with it its graph.

An entry that has ended leaves its cache at once. It stays in the list as what it was, with the
reason; that the book knows only of those whose end it was told (`heard`), as in a session.
"""

from __future__ import annotations

import sys
import time
import types
import weakref
from collections.abc import Callable, Iterator
from types import CodeType

from torch.fx import GraphModule

from stepper import _C
from stepper.engines.common import known as common
from stepper.engines.common.arguments import functions_of, no_function_left
from stepper.engines.common.graphs import graph_behind, measured
from stepper.engines.common.lifelines import Bond, bond_to
from stepper.engines.native.code_table import described
from stepper.engines.native.entry_guards import guard_rows
from stepper.model.cache import (
    CachedCode,
    CacheEntry,
    CacheError,
    EntryState,
    GuardRow,
    Verdict,
)
from stepper.model.lookup import INVALID, Check, CheckedGuard, UnmetEntry
from stepper.model.program import Code
from stepper.native import config
from stepper.native.codegen.resume_info import info_of
from stepper.native.library import is_library
from stepper.native.runtime.backends import backend_name
from stepper.native.runtime.cache_entry import GuardedCode


class KnownEntry(common.KnownEntry):
    """An entry that was seen."""

    def __init__(self, code: KnownCode, facts: CacheEntry, entry: GuardedCode) -> None:
        super().__init__(code, facts)
        self.ref = weakref.ref(entry)
        self.dead = ""
        """How its guards reached the object that has died, if one has."""
        self.draft: GuardedCode | None = None
        """The entry itself, while it is a copy that is not in the cache: nobody else holds it."""


KnownCode = common.KnownCode[KnownEntry]


class EntryRegistry(common.Numbered[KnownEntry]):
    """All codes and entries that are known in this process."""

    # -- looking -----------------------------------------------------------------------------

    def _look_everywhere(self) -> None:
        for cache in _C.code_caches():
            code = cache.code
            if code is not None and cache.entries:
                self.look_at(code)
        for known in list(self.codes.values()):
            code = known.ref()
            if code is not None:
                self.look_at(code)

    def rows(self, entry: KnownEntry) -> tuple[GuardRow, ...]:
        found = entry.ref()
        return () if found is None else guard_rows(found)

    def code_of(self, entry: KnownEntry) -> CodeType | None:
        found = entry.ref()
        return None if found is None else found.code

    def graph_of(self, entry: KnownEntry) -> GraphModule | None:
        found = entry.ref()
        return None if found is None else graph_of(found)

    def _graph_text(self, entry: KnownEntry) -> str:
        found = entry.ref()
        return "" if found is None else found.graph_code.strip()

    def _described(self, code: CodeType) -> Code:
        return described(code, 0)

    def _knowing(self, rows: tuple[GuardRow, ...]) -> Callable[[Bond], tuple[int, ...]]:
        def knowing(bond: Bond) -> tuple[int, ...]:
            check = f"_id({bond.source}, {bond.id})"
            return tuple(row.index for row in rows if any(check in code for code in row.code))

        return knowing

    def parts(self, entry: KnownEntry) -> tuple[GuardedCode, CodeType]:
        """The entry itself and the code for which it was captured.

        Raises:
            CacheError: one of them is gone.
        """
        found, original = entry.ref(), entry.code.ref()
        if found is None or original is None:
            state, reason = entry.facts.state, entry.facts.reason
            raise CacheError(f"{entry.label} is {state}, its code is gone: {reason}")
        return found, original

    # -- bringing up to date -----------------------------------------------------------------

    def look_at(self, code: CodeType) -> KnownCode:
        """Bring what is known of a code's entries up to date."""
        known = self.know(code)
        present: set[int] = set()
        for position, found in enumerate(_C.code_cache(code).entries):
            if isinstance(found, GuardedCode):
                entry = self.recognize(known, found)
                entry.change(position=position, hits=found.hits)
                present.add(entry.id)
        for entry in list(known.entries):
            if entry.facts.state is EntryState.VALID and entry.id not in present:
                self.ended(entry, EntryState.EVICTED, "it left the cache")
        return known

    def recognize(self, known: KnownCode, found: GuardedCode) -> KnownEntry:
        """The entry's record, made when it is first seen."""
        for entry in known.entries:
            if entry.ref() is found:
                return entry
        facts = CacheEntry(
            id=0,
            code=0,
            compile_id="",
            backend=backend_name(found.backend),
            guards=len(found.manager.parts),
            **measured(found.code, graph_of(found)),
        )
        entry = KnownEntry(known, facts, found)
        entry.bonds = [
            bond
            for reference, name in found.manager.lifelines
            if not _of_a_library(reference()) and (bond := bond_to(name, reference)) is not None
        ]
        entry.change(lifelines=self.lifelines(entry))
        return self.enter(entry)

    def added(self, found: GuardedCode, original: CodeType) -> KnownEntry:
        """An entry was made just now."""
        entry = self.recognize(self.know(original), found)
        entry.born = time.monotonic()
        return entry

    def of(self, found: GuardedCode) -> KnownEntry | None:
        """The record of an entry, if it was seen."""
        for entry in list(self.entries.values()):
            if entry.ref() is found:
                return entry
        return None

    def death(self, code: CodeType) -> UnmetEntry | None:
        """The code's newest entry, if it is there no more since an object died."""
        known = self._known.get(code)
        newest = known.entries[-1] if known is not None and known.entries else None
        if newest is None or newest.facts.state is not EntryState.INVALID:
            return None
        label = newest.facts.compile_id or str(newest.id)
        check = Check(0, Verdict.FAIL, why=newest.facts.reason)
        return UnmetEntry(label, (CheckedGuard(INVALID, newest.dead),), (check,))

    def ended(self, entry: KnownEntry, state: EntryState, reason: str) -> None:
        """The entry is no longer in the cache."""
        found = entry.ref()
        hits = entry.facts.hits if found is None else found.hits
        entry.change(lifelines=self.lifelines(entry) or entry.facts.lifelines)
        entry.change(state=state, reason=reason, position=None, hits=hits)
        self.forget_oldest(
            [each for each in entry.code.entries if each.facts.state is not EntryState.VALID]
        )

    def _resumed_function(self, code: CodeType) -> str:
        return info_of(code).function

    def _code_died(self, known: KnownCode) -> None:
        for entry in list(known.entries):
            copied, entry.draft = entry.draft is not None, None
            if copied or entry.facts.state is EntryState.VALID:
                self.ended(entry, EntryState.EVICTED, f"its function {known.qualname} was deleted")

    # -- telling -----------------------------------------------------------------------------

    def _limits(self, entries: tuple[CacheEntry, ...]) -> tuple[int, int]:
        return config.cache_size_limit, sum(entry.position is not None for entry in entries)

    def _code_facts(self, known: KnownCode) -> CachedCode:
        code = known.ref()
        mark = _C.get_skip(code) if code is not None else None
        known.strategy = _STRATEGIES.get(mark or "", "")
        return super()._code_facts(known)


_STRATEGIES = {"capture": "run only", "frame": "skip", "recursive": "skip"}

BOOK = EntryRegistry()
"""The one of this process: numbers mean the same with and without a session."""


def graph_of(entry: GuardedCode) -> GraphModule | None:
    """The FX graph that an entry's code calls; None: it calls none, or its backend kept none."""
    return next((graph for _, graph in graphs_of(entry.code)), None)


def graphs_of(code: CodeType) -> Iterator[tuple[types.FunctionType, GraphModule]]:
    """The functions of graphs that a transformed code calls, and their graphs, where the backend
    kept them."""
    for constant in code.co_consts:
        if (
            type(constant) is types.FunctionType
            and constant.__name__.startswith("__compiled_fn_")
            and (graph := graph_behind(constant)) is not None
        ):
            yield constant, graph


def globals_of(code: CodeType) -> dict[str, object]:
    """The global variables with which a code runs.

    Raises:
        CacheError: neither a function nor the module is left that has them.
    """
    functions = functions_of(code)
    if functions:
        namespace: dict[str, object] = functions[0].__globals__
        return namespace
    # A resume function is made for each call.
    for module in list(sys.modules.values()):
        fields = module.__dict__ if type(module) is types.ModuleType else {}
        if fields.get("__file__") == code.co_filename:
            return fields
    raise no_function_left(code)


def _of_a_library(value: object) -> bool:
    return type(value) is CodeType and is_library(value.co_filename)
