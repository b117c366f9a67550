"""What a book of a compiler's cache keeps of codes and entries, so that one can speak of them."""

from __future__ import annotations

import contextlib
import itertools
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import CodeType
from typing import Any, Generic, TypeVar

import msgspec
from torch.fx import GraphModule

from stepper.engines.common import graphs
from stepper.engines.common.assembling import editable_text
from stepper.engines.common.lifelines import Bond
from stepper.model.cache import (
    CachedCode,
    CacheEntry,
    CacheError,
    CacheListing,
    EntryState,
    EntryView,
    GuardRow,
    Lifeline,
)
from stepper.model.matching import glob_matches
from stepper.model.program import Code
from stepper.support.per_object import PerCode
from stepper.uncompiled import keep_out

ENTRY_NUMBERS = itertools.count(1)
"""Entries of both engines are numbered together: in code, a number alone names one."""

_EVICTED_KEPT = 20
"""Entries that are gone and still listed, for each code."""

_DEAD_KEPT = 50
"""Codes that are gone and still listed."""


class KnownEntry:
    """An entry that was seen, as long as it can be spoken of."""

    def __init__(self, code: KnownCode[Any], facts: CacheEntry) -> None:
        self.id = next(ENTRY_NUMBERS)
        self.code = code
        self.facts = msgspec.structs.replace(facts, id=self.id, code=code.id)
        """What was known of it when it was looked at last."""
        self.bonds: list[Bond] = []
        self.born: float | None = None

    @property
    def label(self) -> str:
        """What a person would call it."""
        identity = f" ({self.facts.compile_id})" if self.facts.compile_id else ""
        return f"entry {self.id} of {self.code.qualname}{identity}"

    @property
    def age(self) -> float | None:
        """Seconds since it was made, if that was seen."""
        return None if self.born is None else round(time.monotonic() - self.born, 3)

    def change(self, **facts: Any) -> None:
        """Note what has changed."""
        self.facts = msgspec.structs.replace(self.facts, **facts)


E = TypeVar("E", bound=KnownEntry)


class KnownCode(Generic[E]):
    """A code object that has or had entries."""

    def __init__(
        self,
        number: int,
        code: CodeType,
        resume_of: str,
        gone: Callable[[KnownCode[E]], None],
    ) -> None:
        self.id = number
        ends = sys.is_finalizing

        def died(_: weakref.ref[CodeType]) -> None:
            if not ends():  # else the modules are being taken apart, with their codes
                gone(self)

        self.ref = weakref.ref(code, died)
        self.name = code.co_name
        self.qualname = code.co_qualname
        self.filename = code.co_filename
        self.line = code.co_firstlineno
        self.resume_of = resume_of
        self.strategy = ""
        self.loaded = ""
        """Where its entries that another process had compiled were loaded, in words."""
        self.entries: list[E] = []

    @property
    def listed(self) -> list[E]:
        """The entries in the order of lookup, then drafts, then what is gone."""
        order = {EntryState.DRAFT: 1, EntryState.EVICTED: 2}
        return sorted(
            self.entries,
            key=lambda entry: (
                order.get(entry.facts.state, 0),
                entry.facts.position or 0,
                entry.id,
            ),
        )

    def described(self, entries: tuple[CacheEntry, ...], **limits: int) -> CachedCode:
        """The code with these entries, as it is shown."""
        return CachedCode(
            id=self.id,
            name=self.name,
            qualname=self.qualname,
            filename=self.filename,
            line=self.line,
            entries=entries,
            strategy=self.strategy,
            resume_of=self.resume_of,
            **limits,
        )


class Numbered(Generic[E]):
    """What a front end names by number. A code can die at any time, wherever the garbage collector
    runs, and then others are forgotten: who goes through `codes` or `entries` takes a copy."""

    def __init__(self) -> None:
        self.codes: dict[int, KnownCode[E]] = {}
        self.entries: dict[int, E] = {}
        self._known: PerCode[KnownCode[E]] = PerCode()
        self._code_numbers = itertools.count(1)
        self._dead: deque[KnownCode[E]] = deque()

    def know(self, code: CodeType) -> KnownCode[E]:
        """The code's record, made when it is first seen."""
        known = self._known.get(code)
        if known is None:
            number, resume_of = next(self._code_numbers), self._resumed_function(code)
            known = KnownCode(number, code, resume_of, self._bury)
            self.codes[number] = self._known.set(code, known)
        return known

    def forget_oldest(self, gone: list[E]) -> None:
        """Keep those of a code's gone entries that went last."""
        for old in gone[:-_EVICTED_KEPT]:
            old.code.entries.remove(old)
            del self.entries[old.id]

    def _bury(self, known: KnownCode[E]) -> None:
        self._code_died(known)
        self._dead.append(known)
        while len(self._dead) > _DEAD_KEPT:
            oldest = self._dead.popleft()
            self.codes.pop(oldest.id, None)
            for entry in oldest.entries:
                self.entries.pop(entry.id, None)

    # -- the engine's part -------------------------------------------------------------------

    def held(self) -> AbstractContextManager[None]:
        """The cache does not change meanwhile.

        Raises:
            CacheError: another thread is compiling, for longer than we wait.
        """
        return contextlib.nullcontext()

    def look_at(self, code: CodeType) -> KnownCode[E]:
        """Bring what is known of a code's entries up to date."""
        raise NotImplementedError

    def _look_everywhere(self) -> None:
        """Look at every code that has entries."""
        raise NotImplementedError

    def _look_into(self, entry: E) -> None:
        """Find out what is told of an entry itself, as far as that was put off."""

    def rows(self, entry: E) -> tuple[GuardRow, ...]:
        """An entry's guards; empty when they are gone."""
        raise NotImplementedError

    def code_of(self, entry: E) -> CodeType | None:
        """The code that an entry runs; None when it is gone, or the compiler does not give it
        away."""
        raise NotImplementedError

    def graph_of(self, entry: E) -> GraphModule | None:
        """The graph that its code calls; None when it is gone, or was not kept."""
        raise NotImplementedError

    def _graph_text(self, entry: E) -> str:
        """The graph as Python; empty when there is none."""
        return graphs.text(self.graph_of(entry))

    def _described(self, code: CodeType) -> Code:
        """A code object in words."""
        raise NotImplementedError

    def _limits(self, entries: tuple[CacheEntry, ...]) -> tuple[int, int]:
        """How many entries a code may have, and how many of these count."""
        raise NotImplementedError

    def _knowing(self, rows: tuple[GuardRow, ...]) -> Callable[[Bond], tuple[int, ...]]:
        """Says which of these guards know an object by its identity."""
        raise NotImplementedError

    def _resumed_function(self, code: CodeType) -> str:
        """For a resume function, the name of the function that it continues; else empty."""
        raise NotImplementedError

    def _code_died(self, known: KnownCode[E]) -> None:
        """A code is gone, and its entries with it."""
        raise NotImplementedError

    # -- looking -----------------------------------------------------------------------------

    def listing(self, function: str = "") -> CacheListing:
        """Every code that has entries, or had some; `function` is a glob.

        Raises:
            CacheError: another thread is compiling.
        """
        with self.held():
            self._look_everywhere()
            return CacheListing(
                tuple(
                    self._code_facts(known)
                    for known in list(self.codes.values())
                    if known.entries
                    and any(glob_matches(function, name) for name in (known.qualname, known.name))
                )
            )

    def facts(self, number: int) -> CacheEntry:
        """What is known of one entry now.

        Raises:
            CacheError: there is none of that number, or another thread is compiling.
        """
        with self.held():
            entry = self.entry(number)
            if (code := entry.code.ref()) is not None:
                self.look_at(code)
            return self._entry_facts(entry)

    def view(self, number: int) -> EntryView:
        """All that is in one entry.

        Raises:
            CacheError: there is none of that number, or another thread is compiling.
        """
        with self.held():
            entry = self.entry(number)
            if (original := entry.code.ref()) is not None:
                self.look_at(original)
            rows, code = self.rows(entry), self.code_of(entry)
            facts = self._entry_facts(entry)
            return EntryView(
                msgspec.structs.replace(facts, lifelines=self.lifelines(entry, rows, detail=True)),
                rows,
                code=None if code is None else self._described(code),
                original=None if original is None else self._described(original),
                graph=self._graph_text(entry),
                bytecode="" if code is None else editable_text(code),
            )

    def lifelines(
        self, entry: E, rows: tuple[GuardRow, ...] = (), *, detail: bool = False
    ) -> tuple[Lifeline, ...]:
        """The objects that an entry depends on, with the guards among `rows` that know them and
        (`detail`) who holds them. Without rows: with the guards that were known last."""
        told = {line.source: line for line in entry.facts.lifelines}
        knowing = self._knowing(rows)
        found = []
        for bond in entry.bonds:
            old, guards = told.get(bond.source), knowing(bond)
            if guards:
                line = rows[guards[0]].user_line
                place = None if line is None else line.place
            else:
                guards, place = (old.guards, old.user_line) if old is not None else ((), None)
            found.append(bond.lifeline(guards, place, detail=detail))
        return tuple(found)

    def _code_facts(self, known: KnownCode[E]) -> CachedCode:
        entries = tuple(self._entry_facts(entry) for entry in known.listed)
        limit, nearest = self._limits(entries)
        return known.described(entries, limit=limit, nearest=nearest)

    def _entry_facts(self, entry: E) -> CacheEntry:
        self._look_into(entry)
        lifelines = self.lifelines(entry) if entry.bonds else entry.facts.lifelines
        return msgspec.structs.replace(entry.facts, age=entry.age, lifelines=lifelines)

    def enter(self, entry: E) -> E:
        """Keep an entry that is seen for the first time."""
        self.entries[entry.id] = entry
        entry.code.entries.append(entry)
        return entry

    def discard(self, entry: E) -> None:
        """Keep a draft no more: it is thrown away."""
        self.entries.pop(entry.id, None)
        entry.code.entries.remove(entry)

    # -- by name and number ------------------------------------------------------------------

    def entry(self, number: int) -> E:
        """The entry of that number.

        Raises:
            CacheError: there is none.
        """
        try:
            return self.entries[number]
        except KeyError:
            raise CacheError(f"there is no cache entry {number}: list the cache") from None

    def code(self, number: int) -> tuple[KnownCode[E], CodeType]:
        """The code of that number.

        Raises:
            CacheError: there is none, or it is gone.
        """
        known = self.codes.get(number)
        code = known.ref() if known is not None else None
        if known is None or code is None:
            raise CacheError(f"there is no code {number} with cache entries: list the cache")
        return known, code


keep_out()
