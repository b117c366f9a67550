"""An engine's entries, asked by number: by a program (`stepper.cache`) and by a front end alike.

What an engine adds is how its entries are found and checked, and what runs one.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, Generic, NamedTuple, Protocol

from torch.fx import GraphModule

from stepper.debuggee.evaluator import describe_exception
from stepper.engines.common import arguments
from stepper.engines.common.known import E, KnownEntry, Numbered
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


def check_of(
    known: int,
    f_locals: Locals,
    found: list[EntryCheck],
    rows: dict[int, tuple[GuardRow, ...]],
    comparison: Comparison | None,
) -> CacheCheck:
    """What the entries of the code of that number say to these locals. The first of them that wins
    is the winner."""
    return CacheCheck(
        code=known,
        arguments=tuple((name, object_text(value)) for name, value in f_locals.items()),
        entries=tuple(found),
        guards=rows,
        winner=next((each.entry for each in found if each.wins), None),
        comparison=comparison,
    )


class Toolkit(Protocol):
    """Who makes, registers and removes an engine's entries."""

    def clone(self, number: int, drop: tuple[int, ...], add: tuple[str, ...]) -> KnownEntry:
        """A draft with other guards."""

    def edit(self, number: int, text: str) -> KnownEntry:
        """A draft with other bytecode."""

    def register(self, number: int) -> KnownEntry:
        """Put a draft into the cache."""

    def remove(self, number: int) -> KnownEntry:
        """Take it out again, or throw a draft away."""


class EngineEntries(Generic[E]):
    """See `stepper.debuggee.engine.Entries`."""

    def __init__(self, book: Numbered[E], toolkit: Toolkit) -> None:
        self.book = book
        self._toolkit = toolkit

    # -- the engine's part -------------------------------------------------------------------

    def check(
        self, code: CodeType, f_locals: Locals, *, backend: str = "", compare: bool = False
    ) -> CacheCheck:
        """Run the locals of a call against all entries of a code."""
        raise NotImplementedError

    def runners(self, entry: E) -> Runners:
        """What runs an entry.

        Raises:
            CacheError: its code is gone.
        """
        raise NotImplementedError

    def witness(self, entry: E, guard: int, f_locals: Locals) -> WitnessSearch:
        """Try inputs that a guard of an entry refuses."""
        raise NotImplementedError

    def code_of(self, entry: E) -> CodeType | None:
        """The code that an entry runs; None when it is gone."""
        raise NotImplementedError

    def graph_of(self, entry: E) -> GraphModule | None:
        """The graph that its code calls; None when it is gone, or was not kept."""
        raise NotImplementedError

    def after_removal(self, entry: E) -> str:
        """What became of an entry that is out of the cache, and no draft."""
        raise NotImplementedError

    # -- looking -----------------------------------------------------------------------------

    def __contains__(self, number: object) -> bool:
        return number in self.book.entries

    def listing(self, function: str = "") -> CacheListing:
        """See `Entries.listing`."""
        return self.book.listing(function)

    def listed(self, code: CodeType) -> list[int]:
        """See `Entries.listed`."""
        return [entry.id for entry in self.book.look_at(code).listed]

    def facts(self, number: int) -> CacheEntry:
        """See `Entries.facts`."""
        return self.book.facts(number)

    def view(self, number: int) -> EntryView:
        """See `Entries.view`."""
        return self.book.view(number)

    def qualname(self, number: int) -> str:
        """See `Entries.qualname`."""
        return self.book.entry(number).code.qualname

    def transformed(self, number: int) -> CodeType | None:
        """See `Entries.transformed`."""
        return self.code_of(self.book.entry(number))

    def graph(self, number: int) -> GraphModule | None:
        """See `Entries.graph`."""
        return self.graph_of(self.book.entry(number))

    def original(self, number: int) -> CodeType:
        """See `Entries.original`."""
        entry = self.book.entry(number)
        original = entry.code.ref()
        if original is None:
            raise CacheError(f"{entry.label} cannot be run: its function was deleted")
        return original

    # -- running -----------------------------------------------------------------------------

    def execute(self, number: int, f_locals: Locals, *, compare: bool) -> Executed:
        """See `Entries.execute`."""
        return self.runners(self.book.entry(number)).execute(f_locals, compare=compare)

    def run(self, number: int, f_locals: Locals, *, compare: bool) -> RunResult:
        """Run an entry by hand: what came of it, in words for a front end."""
        result, error, comparison = self.execute(number, f_locals, compare=compare)
        text = object_text(result) if error is None else describe_exception(error)
        return RunResult(number, text, raised=error is not None, comparison=comparison)

    def find_witness(self, number: int, guard: int, f_locals: Locals) -> WitnessSearch:
        """Try inputs that a guard of an entry refuses."""
        return self.witness(self.book.entry(number), guard, f_locals)

    # -- making ------------------------------------------------------------------------------

    def clone(self, number: int, drop: tuple[int, ...], add: tuple[str, ...]) -> int:
        """See `Entries.clone`."""
        return self._toolkit.clone(number, drop, add).id

    def edit(self, number: int, text: str) -> int:
        """See `Entries.edit`."""
        return self._toolkit.edit(number, text).id

    def register(self, number: int) -> int:
        """See `Entries.register`."""
        return self._toolkit.register(number).id

    def remove(self, number: int) -> str:
        """See `Entries.remove`."""
        entry = self.book.entry(number)
        self._toolkit.remove(number)
        match entry.facts.state:
            case EntryState.DRAFT:
                return f"{entry.label} is out of the cache; it is a draft again"
            case EntryState.EVICTED if entry.facts.copied_from is not None:
                return f"{entry.label} is thrown away"
            case _:
                return f"{entry.label}{self.after_removal(entry)}"
