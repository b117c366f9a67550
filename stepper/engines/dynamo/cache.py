"""Dynamo's cache, told without touching it: which codes have entries, and what the entries are.

Where it is. Dynamo keeps a code's entries in the code object itself, out of Python's sight; asked
with a code object it lists them. Which code objects to ask about is known from the list by which
`torch._dynamo.reset` goes, so that entries are found that are older than the debugger.

What it costs to look. A listed entry is a bare pointer into a C++ list: it is good until the list
changes and deadly afterwards. So nothing here keeps one; whoever looks holds the code object (its
entries die with it) and Dynamo's compile lock (a reset needs it) meanwhile.

Identity. An entry gets a number when it is first seen, and is recognized by its guard manager, to
which there is a weak reference. When an object dies that it depends on, Dynamo swaps the guard
manager for a tombstone and moves the entry to the end: then it is recognized by its compile id,
which is unique among the entries that are in the cache at the same time.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from types import CodeType
from typing import Any

import msgspec
from torch.fx import GraphModule

from stepper.engines.common import graphs
from stepper.engines.common import known as common
from stepper.engines.common.lifelines import Bond
from stepper.engines.dynamo import bytecode
from stepper.engines.dynamo.graphs import graph_of
from stepper.engines.dynamo.guard_tree import GuardTree, identity_of
from stepper.engines.dynamo.lifelines import all_bonds, bonds_of
from stepper.engines.dynamo.versions import cache as dynamo
from stepper.engines.dynamo.versions.cache import DeletedGuardManagerWrapper, region_of
from stepper.model.cache import (
    CacheEntry,
    CacheError,
    EntryState,
    GuardRow,
    Origin,
)
from stepper.model.program import Code
from stepper.support.words import callable_name, plain_text

PATIENCE = 0.1
"""Seconds to wait for a compilation in another thread to end before the cache can be looked at."""
_CACHED = frozenset({EntryState.NEW, EntryState.VALID, EntryState.INVALID})


class KnownEntry(common.KnownEntry):
    """An entry of Dynamo's, or one that was made."""

    def __init__(self, code: KnownCode, facts: CacheEntry) -> None:
        super().__init__(code, facts)
        self.wrapper: weakref.ref[Any] | None = None
        self.transformed: weakref.ref[CodeType] | None = None
        """Its code, until Dynamo has put it into the cache."""
        self.doomed = False
        """An object has died that it depends on; Dynamo may be about to note it."""
        self.draft: Any = None
        """What the toolkit keeps of one that it made: a `stepper.engines.dynamo.toolkit.Draft`."""


KnownCode = common.KnownCode[KnownEntry]


class CacheListener:
    """Who hears what happens to entries, as long as its session lasts; this one hears nothing."""

    def hits(self, transformed: CodeType) -> int | None:
        """How many calls an entry has served, asked with its transformed code."""
        return None

    def evicted(self, entry: KnownEntry) -> None:
        """An entry is gone."""

    def died(self, entry: KnownEntry, source: str) -> None:
        """An object has died that a made entry knows as `source`."""

    def registered(self, code: CodeType, original: CodeType, compile_id: str) -> None:
        """A made entry is put into the cache: its code, the code that it was made of."""


NOBODY = CacheListener()


class EntryRegistry(common.Numbered[KnownEntry]):
    """All codes and entries that are known in this process."""

    def __init__(self) -> None:
        super().__init__()
        self.listener = NOBODY
        """The session's, while there is one: all that a session leaves in the book."""

    def held(self) -> AbstractContextManager[None]:
        return locked()

    # -- looking -----------------------------------------------------------------------------

    def _look_everywhere(self) -> None:
        for code in dynamo.packaged_codes():
            self.know(code)
        self.refresh()

    def rows(self, entry: KnownEntry) -> tuple[GuardRow, ...]:
        if entry.draft is not None:
            rows: tuple[GuardRow, ...] = entry.draft.rows
            return rows
        wrapper, _ = self.parts(entry)
        return () if wrapper is None else self.tree(entry).rows

    def code_of(self, entry: KnownEntry) -> CodeType | None:
        return self.parts(entry)[1]

    def ran(self, entry: KnownEntry) -> CodeType | None:
        """The code that an entry runs or has run, as long as that is there: in a traceback it
        outlives the entry."""
        made = None if entry.transformed is None else entry.transformed()
        return self.code_of(entry) if made is None else made

    def graph_of(self, entry: KnownEntry) -> GraphModule | None:
        wrapper, code = self.parts(entry)
        return None if code is None else graph_of(code, wrapper)

    def _described(self, code: CodeType) -> Code:
        return msgspec.structs.replace(bytecode.CodeTable().plain(code), id=0)

    def _knowing(self, rows: tuple[GuardRow, ...]) -> Callable[[Bond], tuple[int, ...]]:
        checks: dict[int | None, list[int]] = {}
        for row in rows:
            checks.setdefault(identity_of(row), []).append(row.index)
        return lambda bond: tuple(checks.get(bond.id, ()))

    def parts(self, entry: KnownEntry) -> tuple[Any, CodeType | None]:
        """An entry's guard manager and transformed code; None for what it has no more, or what
        Dynamo does not give away."""
        if entry.draft is not None:
            return entry.draft.wrapper, entry.draft.code
        wrapper = entry.wrapper() if entry.wrapper is not None else None
        if wrapper is None or not is_alive(wrapper):
            return None, None
        if entry.facts.state is EntryState.NEW and entry.transformed is not None:
            return wrapper, entry.transformed()
        cached = wrapper.cache_entry
        return wrapper, cached.code if cached is not None else None

    def tree(self, entry: KnownEntry) -> GuardTree:
        """The guards of an entry.

        Raises:
            CacheError: it has none any more.
        """
        wrapper, _ = self.parts(entry)
        if wrapper is None:
            raise CacheError(
                f"{entry.label} is {entry.facts.state}, its guards are gone: {entry.facts.reason}"
            )
        return GuardTree(wrapper, {bond.id: bond.text for bond in entry.bonds})

    # -- bringing up to date -----------------------------------------------------------------

    def refresh(self) -> None:
        """Look at every code that Dynamo knows; the compile lock is held."""
        bonds = all_bonds()
        listed = dynamo.codes_seen()
        for reference in [*listed, *(known.ref for known in list(self.codes.values()))]:
            code = reference()
            if code is not None:
                self.look_at(code, bonds)

    def look_at(self, code: CodeType, bonds: dict[int, list[Bond]] | None = None) -> KnownCode:
        """Bring what is known of a code's entries up to date."""
        known = self.know(code)
        present: set[int] = set()
        for position, (origin, item) in enumerate(entries_of(code)):
            entry = self._recognize(known, origin, item, bonds)
            present.add(entry.id)
            if entry.facts.state is EntryState.EVICTED or (
                entry.draft is not None and not entry.draft.registered
            ):
                continue  # it was told of, and is about to go
            wrapper = item.guard_manager
            entry.change(position=position)
            if isinstance(wrapper, DeletedGuardManagerWrapper) and not entry.doomed:
                entry.doomed = True
                entry.change(reason=wrapper.invalidation_reason)
            entry.change(state=EntryState.INVALID if entry.doomed else EntryState.VALID)
        for entry in list(known.entries):
            here = entry.id in present or (entry.draft is not None and not entry.draft.registered)
            if not here and entry.facts.state in (EntryState.VALID, EntryState.INVALID):
                self.evicted(entry, "it was taken out of the cache")
        return known

    def add(self, code: KnownCode, facts: CacheEntry, wrapper: object | None) -> KnownEntry:
        """Take note of an entry; `facts` has no number yet."""
        entry = KnownEntry(code, facts)
        entry.wrapper = weakref.ref(wrapper) if wrapper is not None else None
        return self.enter(entry)

    def evicted(self, entry: KnownEntry, reason: str) -> None:
        """The entry is no longer in the cache; what was made by hand is a draft again."""
        if entry.draft is not None:
            entry.draft.registered = False
            if entry.draft.alive:
                entry.change(state=EntryState.DRAFT, reason=reason, position=None)
                return
        entry.change(state=EntryState.EVICTED, reason=reason, position=None)
        entry.bonds = []
        self.listener.evicted(entry)
        self.forget_oldest(
            [each for each in entry.code.entries if each.facts.state is EntryState.EVICTED]
        )

    def evict_all(self, reason: str, code: CodeType | None = None) -> None:
        """Dynamo is about to empty its cache, or that of one code."""
        for known in list(self.codes.values()):
            if code is None or known.ref() is code:
                known.strategy = ""
                for entry in list(known.entries):
                    if entry.facts.state in _CACHED and not (
                        entry.draft is not None and not entry.draft.registered
                    ):
                        self.evicted(entry, reason)

    def forget_strategies(self) -> None:
        """Nobody listens any more: what is known of them can become untrue."""
        for known in list(self.codes.values()):
            known.strategy = ""

    def _resumed_function(self, code: CodeType) -> str:
        return bytecode.resumed_function(code)

    def _code_died(self, known: KnownCode) -> None:
        for entry in list(known.entries):
            if entry.draft is not None:
                entry.draft.retire()
                entry.draft = None
            if entry.facts.state is not EntryState.EVICTED:
                self.evicted(entry, f"its function {known.qualname} was deleted")

    def registered(self) -> list[tuple[CodeType, CodeType, str]]:
        """The code of each made entry that is in the cache, the code that it was made of, and the
        compile id."""
        return [
            (entry.draft.code, original, entry.facts.compile_id)
            for entry in list(self.entries.values())
            if entry.draft is not None
            and entry.draft.registered
            and (original := entry.code.ref()) is not None
        ]

    def by_wrapper(self, wrapper: object) -> KnownEntry | None:
        """The entry with that guard manager."""
        for entry in list(self.entries.values()):
            if entry.wrapper is not None and entry.wrapper() is wrapper:
                return entry
        return None

    def announce(
        self,
        code: CodeType,
        transformed: CodeType,
        wrapper: Any,
        compile_id: str,
        translation: int | None = None,
    ) -> KnownEntry:
        """Dynamo is about to put an entry into the cache: give it its number now."""
        known = self.know(code)
        entry = self.add(
            known,
            CacheEntry(0, 0, compile_id, state=EntryState.NEW, translation=translation),
            wrapper,
        )
        entry.born = time.monotonic()
        entry.bonds = bonds_of(wrapper, newest=True)
        entry.transformed = weakref.ref(transformed)
        entry.change(transformed=transformed.co_qualname, lifelines=self.lifelines(entry))
        return entry

    def _recognize(
        self, known: KnownCode, origin: Origin, item: Any, bonds: dict[int, list[Bond]] | None
    ) -> KnownEntry:
        wrapper = item.guard_manager
        dead = isinstance(wrapper, DeletedGuardManagerWrapper)
        compile_id = str(item.compile_id) if origin is Origin.COMPILED else ""
        entry = next(
            (
                each
                for each in known.entries
                if each.wrapper is not None and each.wrapper() is wrapper
            ),
            self._of_tombstone(known, compile_id) if dead else None,
        )
        if entry is None:
            loaded = known.loaded if origin is Origin.PRECOMPILED else ""
            facts = CacheEntry(0, 0, compile_id, origin=origin, loaded=loaded)
            entry = self.add(known, facts, wrapper)
            entry.bonds = bonds_of(wrapper) if bonds is None else bonds.get(id(wrapper), [])
        if dead:
            entry.wrapper = weakref.ref(wrapper)
        if origin is Origin.COMPILED and not entry.facts.backend:
            entry.change(region=region_of(item), backend=backend_name(item.backend))
        return entry

    def _of_tombstone(self, known: KnownCode, compile_id: str) -> KnownEntry | None:
        """The entry whose guard manager has been swapped for one that never passes. One that was
        told to be evicted may still be there for a moment."""
        named = [
            entry
            for entry in known.entries
            if entry.facts.compile_id == compile_id and entry.draft is None
        ]
        present = [entry for entry in named if entry.facts.state is not EntryState.EVICTED]
        return next(iter(present or [entry for entry in reversed(named) if entry.doomed]), None)

    def measure(self, entry: KnownEntry) -> None:
        """Find out what does not change while it lives, once. It takes milliseconds in a large
        model: not before somebody looks, or it dies."""
        if entry.facts.guards is not None:
            return
        wrapper, transformed = self.parts(entry)
        if is_alive(wrapper):
            rows = GuardTree(wrapper).rows
            entry.change(guards=len(rows), lifelines=self.lifelines(entry, rows))
        if transformed is not None:
            entry.change(**graphs.measured(transformed, graph_of(transformed, wrapper)))

    # -- telling -----------------------------------------------------------------------------

    def _limits(self, entries: tuple[CacheEntry, ...]) -> tuple[int, int]:
        compiled = [each for each in entries if each.origin is Origin.COMPILED]
        regions = Counter(each.region for each in compiled if each.position is not None)
        return dynamo.recompile_limit(), max(regions.values(), default=0)

    def _look_into(self, entry: KnownEntry) -> None:
        self.measure(entry)
        if entry.facts.state is EntryState.VALID:
            transformed = self.code_of(entry)
            hits = None if transformed is None else self.listener.hits(transformed)
            entry.change(hits=entry.facts.hits if transformed is None else hits)


BOOK = EntryRegistry()
"""The one of this process: numbers mean the same with and without a session."""


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Nobody compiles or resets meanwhile.

    Raises:
        CacheError: somebody compiles, for longer than we wait.
    """
    if not dynamo.compile_lock.acquire(timeout=PATIENCE):
        raise CacheError(
            "another thread is compiling, and its cache cannot be looked at meanwhile: try again, "
            "or pause the program"
        )
    try:
        yield
    finally:
        dynamo.compile_lock.release()


def is_alive(wrapper: Any) -> bool:
    """Whether a guard manager is an entry's own: for the one of an entry that something of has
    died, Dynamo puts in one that never passes."""
    return wrapper is not None and not isinstance(wrapper, DeletedGuardManagerWrapper)


def entries_of(code: CodeType) -> list[tuple[Origin, Any]]:
    """A code's entries as Dynamo has them, in the order in which a lookup tries them. To be dropped
    before anything else runs: see the module's essay."""
    compiled = sorted(
        dynamo.compiled_entries(code),
        key=lambda item: (region_of(item) == -1, region_of(item)),
    )
    return [
        *((Origin.PRECOMPILED, item) for item in dynamo.precompiled_entries(code)),
        *((Origin.COMPILED, item) for item in compiled),
    ]


def backend_name(backend: object) -> str:
    """The backend in a word."""
    fields = getattr(backend, "__dict__", {})
    of_type = type.__getattribute__(type(backend), "__dict__").get("compiler_name")
    name = fields.get("compiler_name", of_type) if type(fields) is dict else of_type
    if type(name) is str:
        return name
    return callable_name(backend) or plain_text(backend)
