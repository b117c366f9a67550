"""What a book of a compiler's cache keeps of codes and entries, so that one can speak of them."""

from __future__ import annotations

import itertools
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable
from types import CodeType
from typing import Any, Generic, TypeVar

import msgspec

from stepper.engines.common.lifelines import Bond
from stepper.model.cache import (
    CachedCode,
    CacheEntry,
    CacheError,
    CacheListing,
    EntryState,
    EntryView,
)
from stepper.model.matching import glob_matches
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
        self.entries: list[E] = []

    @property
    def listed(self) -> list[E]:
        """Its entries in the order of lookup, then drafts, then what is gone."""
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
        """Of the entries of a code that are gone, keep those that went last."""
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

    def listing(self, function: str = "") -> CacheListing:
        """Every code that has entries, or had some; `function` is a glob.

        Raises:
            CacheError: another thread is compiling.
        """
        raise NotImplementedError

    def facts(self, number: int) -> CacheEntry:
        """What is known of one entry now.

        Raises:
            CacheError: there is none of that number, or another thread is compiling.
        """
        raise NotImplementedError

    def view(self, number: int) -> EntryView:
        """All that is in one entry.

        Raises:
            CacheError: there is none of that number, or another thread is compiling.
        """
        raise NotImplementedError

    def look_at(self, code: CodeType) -> KnownCode[E]:
        """Bring what is known of a code's entries up to date."""
        raise NotImplementedError

    def _code_facts(self, known: KnownCode[E]) -> CachedCode:
        """A code with its entries, as it is shown."""
        raise NotImplementedError

    def _resumed_function(self, code: CodeType) -> str:
        """For a resume function, the name of the function that it continues; else empty."""
        raise NotImplementedError

    def _code_died(self, known: KnownCode[E]) -> None:
        """A code is gone, and its entries with it."""
        raise NotImplementedError

    # -- by name and number ------------------------------------------------------------------

    def _listed(self, function: str) -> CacheListing:
        """The codes of that name that have entries, as far as they are known."""
        return CacheListing(
            tuple(
                self._code_facts(known)
                for known in list(self.codes.values())
                if known.entries
                and (glob_matches(function, known.qualname) or glob_matches(function, known.name))
            )
        )

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
