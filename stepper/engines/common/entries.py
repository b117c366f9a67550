"""An engine's entries, asked by number: by a program (`stepper.cache`) and by a front end alike.

What an engine adds is how its entries are found, what their guards are, and what runs one.

Asking changes nothing: no entry moves, nothing is counted, nothing is compiled. The guards run as
they do in a lookup, on the arguments themselves; what is run is run on copies.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, Generic, NamedTuple

import msgspec
from torch.fx import GraphModule

from stepper.debuggee.evaluator import describe_exception
from stepper.engines.common import arguments, witnesses
from stepper.engines.common.entry_guards import EntryGuards
from stepper.engines.common.known import E, Numbered
from stepper.engines.common.toolkit import Toolkit
from stepper.engines.common.words import object_text
from stepper.model.cache import (
    CacheCheck,
    CacheEntry,
    CacheError,
    CacheListing,
    Comparison,
    EntryCheck,
    EntryState,
    EntryView,
    GuardRow,
    RunResult,
    WitnessSearch,
)

Locals = dict[str, Any]
Executed = tuple[Any, BaseException | None, Comparison | None]
"""The result, or the exception that came in its place; and what differs from eager, if asked."""


class Runners(NamedTuple):
    """What runs an entry's code by hand, and what runs the code that it was made of."""

    entry: Callable[[Locals], Any]
    original: Callable[[Locals], Any]

    def execute(self, f_locals: Locals, *, compare: bool = False) -> Executed:
        """Run the entry's code, whatever its guards say."""
        if compare:
            comparison, result, error = arguments.compare(self.entry, self.original, f_locals)
            return result, error, comparison
        try:
            return self.entry(f_locals), None, None
        except Exception as error:
            return None, error, None

    def compared(self, f_locals: Locals) -> Comparison:
        """What the entry's code gives, beside what eager gives."""
        return arguments.compare(self.entry, self.original, f_locals)[0]


class Runnable(NamedTuple):
    """What it takes to run an entry."""

    code: CodeType
    original: CodeType
    """The code that it was made of."""
    f_globals: dict[str, Any]


class EngineEntries(Generic[E]):
    """See `stepper.debuggee.entries.Entries`."""

    def __init__(self, book: Numbered[E], toolkit: Toolkit[E]) -> None:
        self.book = book
        self._toolkit = toolkit

    # -- the engine's part -------------------------------------------------------------------

    def guards(self, entry: E) -> EntryGuards:
        """An entry's guards.

        Raises:
            CacheError: it has none any more.
        """
        raise NotImplementedError

    def runnable(self, entry: E) -> Runnable:
        """What it takes to run an entry.

        Raises:
            CacheError: its code is gone.
        """
        raise NotImplementedError

    def call(self, code: CodeType, what: Runnable, f_locals: Locals) -> Any:
        """Run the entry's code or the one that it was made of. Nothing that it calls is compiled or
        looked up in the cache meanwhile."""
        raise NotImplementedError

    def serves(self, entry: E, backend: str) -> bool:
        """Whether an entry is one for calls of a backend."""
        return entry.facts.backend == backend

    def after_removal(self, entry: E) -> str:
        """What became of an entry that is out of the cache, and no draft."""
        raise NotImplementedError

    # -- looking -----------------------------------------------------------------------------

    def __contains__(self, number: object) -> bool:
        return number in self.book.entries

    def listing(self, function: str = "") -> CacheListing:
        return self.book.listing(function)

    def listed(self, code: CodeType) -> list[int]:
        return [entry.id for entry in self.book.look_at(code).listed]

    def facts(self, number: int) -> CacheEntry:
        return self.book.facts(number)

    def view(self, number: int) -> EntryView:
        return self.book.view(number)

    def qualname(self, number: int) -> str:
        return self.book.entry(number).code.qualname

    def transformed(self, number: int) -> CodeType | None:
        with self.book.held():
            return self.book.code_of(self.book.entry(number))

    def graph(self, number: int) -> GraphModule | None:
        with self.book.held():
            return self.book.graph_of(self.book.entry(number))

    def original(self, number: int) -> CodeType:
        entry = self.book.entry(number)
        original = entry.code.ref()
        if original is None:
            raise CacheError(f"{entry.label} cannot be run: its function was deleted")
        return original

    # -- asking ------------------------------------------------------------------------------

    def check(
        self, code: CodeType, f_locals: Locals, *, backend: str = "", compare: bool = False
    ) -> CacheCheck:
        """Run the locals of a call against all entries of a code. The first that matches wins.

        Raises:
            CacheError: another thread is compiling.
        """
        with self.book.held():
            known = self.book.look_at(code)
            found: list[EntryCheck] = []
            rows: dict[int, tuple[GuardRow, ...]] = {}
            winner: E | None = None
            for entry in known.listed:
                if entry.facts.state in (EntryState.NEW, EntryState.EVICTED):
                    continue
                said, rows[entry.id] = self._ask(entry, f_locals, backend)
                if winner is None and said.matches and said.eligible:
                    winner = entry
                    said = msgspec.structs.replace(said, wins=True)
                found.append(said)
            return CacheCheck(
                code=known.id,
                arguments=tuple((name, object_text(value)) for name, value in f_locals.items()),
                entries=tuple(found),
                guards=rows,
                winner=None if winner is None else winner.id,
                comparison=self._runners(winner).compared(f_locals) if compare and winner else None,
            )

    def _ask(
        self, entry: E, f_locals: Locals, backend: str
    ) -> tuple[EntryCheck, tuple[GuardRow, ...]]:
        facts = entry.facts
        if facts.state is EntryState.INVALID:
            return EntryCheck(entry.id, False, eligible=False, reason=facts.reason), ()
        why = ""
        if facts.state is EntryState.DRAFT:
            why = "it is a draft: the compiler does not know it"
        elif backend and not self.serves(entry, backend):
            why = f"it is of the backend {facts.backend}"
        try:
            guards = self.guards(entry)
            result, checks = guards.run(f_locals)
        except CacheError as error:
            return EntryCheck(entry.id, False, eligible=False, reason=str(error)), ()
        except Exception as error:
            reason = f"a guard raised {describe_exception(error)}"
            return EntryCheck(entry.id, False, eligible=not why, reason=reason), ()
        said = EntryCheck(
            entry.id, result.passed, eligible=not why, reason=result.reason or why,
            checks=checks, executed=result.executed,
        )  # fmt: skip
        return said, guards.rows

    def find_witness(self, number: int, guard: int, f_locals: Locals) -> WitnessSearch:
        """Try inputs that a guard of an entry refuses: see `stepper.engines.common.witnesses`.

        Args:
            number: the entry's.
            guard: the guard's row.
            f_locals: the call to begin from.

        Raises:
            CacheError: there is no such guard, its code is gone, or the process cannot be copied.
        """
        with self.book.held():
            entry = self.book.entry(number)
            f_globals, compared = self.runnable(entry).f_globals, self._runners(entry).compared
            guards = self.guards(entry)
            rows = guards.rows

            def refused(local: Locals) -> list[GuardRow]:
                _, checks = guards.run(local)
                return [rows[each.guard] for each in checks if each.verdict.refuses]

            tried = witnesses.Tried(entry.id, entry.label, rows, f_globals, refused, compared)
            return witnesses.find_witness(tried, guard, f_locals)

    # -- running -----------------------------------------------------------------------------

    def _runners(self, entry: E) -> Runners:
        what = self.runnable(entry)
        return Runners(
            lambda local: self.call(what.code, what, local),
            lambda local: self.call(what.original, what, local),
        )

    def execute(self, number: int, f_locals: Locals, *, compare: bool) -> Executed:
        return self._runners(self.book.entry(number)).execute(f_locals, compare=compare)

    def run(self, number: int, f_locals: Locals, *, compare: bool) -> RunResult:
        """Run an entry by hand: what came of it, in words for a front end."""
        result, error, comparison = self.execute(number, f_locals, compare=compare)
        text = object_text(result) if error is None else describe_exception(error)
        return RunResult(number, text, raised=error is not None, comparison=comparison)

    # -- making ------------------------------------------------------------------------------

    def clone(self, number: int, drop: tuple[int, ...], add: tuple[str, ...]) -> int:
        return self._toolkit.clone(number, drop, add).id

    def edit(self, number: int, text: str) -> int:
        return self._toolkit.edit(number, text).id

    def register(self, number: int) -> int:
        return self._toolkit.register(number).id

    def remove(self, number: int) -> str:
        entry = self.book.entry(number)
        self._toolkit.remove(number)
        match entry.facts.state:
            case EntryState.DRAFT:
                return f"{entry.label} is out of the cache; it is a draft again"
            case EntryState.EVICTED if entry.facts.copied_from is not None:
                return f"{entry.label} is thrown away"
            case _:
                return f"{entry.label}{self.after_removal(entry)}"
