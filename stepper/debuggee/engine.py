"""The two faces between an engine and the debugger.

An engine watches a compiler and reports to an `Observer` (`stepper.debuggee.recorder.Recorder`); it
knows of no channel and no file. How they are put together (`stepper.debuggee.start`):

    engine = importlib.import_module(f"stepper.engines.{name}").create()  # compiler imported
    observer = Recorder(writer, controller, engine, detail=config.detail)
    engine.install(observer)

The engine decides *when* something happened and *what the compiler's objects are*; the observer
numbers, compares with what was there before, writes, and asks the controller whether to stand
still. So a call of the observer can take as long as the user looks at the screen; it returns
nothing the engine has to act upon, and raises only KeyboardInterrupt (the user ended the program at
a stop).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from stepper.model.breakpoint import BreakpointKind
from stepper.model.cache import (
    CacheCheck,
    CacheListing,
    EntryCode,
    EntryView,
    RunResult,
    WitnessSearch,
)
from stepper.model.control import ForkTranslation
from stepper.model.trace import EventKind, MomentId


class Observer(Protocol):
    """What an engine reports to. Each engine adds the calls that hand over its own state to the
    concrete recorder; these are the ones that the rest of the debugger relies on."""

    @property
    def moment(self) -> MomentId:
        """The newest moment, 0 when there was none."""

    def detach(self) -> None:
        """Report nothing and keep nothing from now on: the engine is about to be uninstalled."""


class Cache(Protocol):
    """The compiler's cache: what a front end's requests ask for. See `stepper.model.control`.

    Everything raises `stepper.model.cache.CacheError` for what cannot be done.
    """

    def listing(self, function: str) -> CacheListing:
        """Every code that has entries."""

    def view(self, entry: int) -> EntryView:
        """One entry, whole."""

    def code(self, entry: int) -> EntryCode:
        """The code that an entry runs, as bytes."""

    def check(self, code: int, arguments: str, backend: str, compare: bool) -> CacheCheck:
        """Run arguments against a code's entries; only at a stop."""

    def run(self, entry: int, arguments: str, compare: bool) -> RunResult:
        """Run an entry by hand; only at a stop."""

    def stepping(self, entry: int, arguments: str) -> tuple[str, Callable[[], str]]:
        """Make ready to step an entry's code by hand; only at a stop. Returns what is to be minded,
        and what runs it once and gives the result in words; exceptions of the code leave it."""

    def clone(self, entry: int, drop: tuple[int, ...], add: tuple[str, ...]) -> EntryView:
        """A draft with other guards."""

    def edit(self, entry: int, bytecode: str) -> EntryView:
        """A draft with other bytecode."""

    def register(self, entry: int) -> EntryView:
        """Put a draft into the cache; only at a stop."""

    def remove(self, entry: int) -> str:
        """Take it out again, or throw a draft away; only at a stop. Returns what was done."""

    def find_witness(self, entry: int, guard: int, arguments: str) -> WitnessSearch:
        """Look for an input that shows that a guard is needed; only at a stop."""

    def mark_dynamic(self, source: str, dim: int | None, strict: bool) -> str:
        """Before a call is compiled again: make a size of a tensor a symbol for that compilation;
        only at a stop in a lookup that missed, like the next two. Returns what was done."""

    def relax(self, entry: int | None, drop: tuple[int, ...]) -> str:
        """Have a copy of an entry without some guards serve the call and later ones."""

    def skip(self) -> str:
        """Have the call run as it is, so that nothing is compiled for it."""


class Engine(Protocol):
    """A compiler that is being watched."""

    cache: Cache

    name: str
    """`dynamo` or `native`, as in the session's facts."""

    def install(self, observer: Observer) -> None:
        """Begin to report.

        Raises:
            RuntimeError: the installed version is not supported; the message says which are.
        """

    def uninstall(self) -> None:
        """Leave the compiler as it was before `install`; safe to call twice, and in a forked
        child."""

    def wishes_changed(self) -> None:
        """Other breakpoints were set. The program stands still, in this thread."""

    def namespace(self, frame: int | None) -> dict[str, object]:
        """The names an expression can use at a stop: `stack`, `locals`, `inst`, `graph`, `guards`,
        `tx`.

        `frame` is the id of a symbolic frame, None: the innermost. Empty when nothing is being
        translated.

        Raises:
            LookupError: no such frame is on the symbolic call stack now.
        """

    def fork(self, request: ForkTranslation) -> str:
        """Have the translation at which the program stands go back to a moment, in another attempt,
        and on from there with something changed. Returns what is going to be done; the program has
        to run on for it.

        Raises:
            LookupError: it cannot be gone back to; the message says why.
        """

    def is_program(self, filename: str) -> bool:
        """Whether a file is the program's own; what happens to others is no occurrence."""


class Subject:
    """What an occurrence is about: the fields that a breakpoint's globs look at, each empty when it
    does not apply."""

    __slots__ = ("kind", "name", "source", "target")

    def __init__(
        self, *, kind: str = "", source: str = "", target: str = "", name: str = ""
    ) -> None:
        self.kind = kind
        """A guard's kind."""
        self.source = source
        """The guarded expression."""
        self.target = target
        """A node's target."""
        self.name = name
        """A node's name, or the name of the function that is inlined or skipped."""


NOTHING = Subject()
"""The subject of an occurrence that is about itself."""

BREAKPOINT_OF_EVENT: dict[EventKind, BreakpointKind] = {
    EventKind.GRAPH_BREAK: BreakpointKind.GRAPH_BREAK,
    EventKind.SKIP: BreakpointKind.SKIP,
    EventKind.GUARD: BreakpointKind.GUARD,
    EventKind.NODE: BreakpointKind.NODE,
    EventKind.INLINE: BreakpointKind.INLINE,
    EventKind.RESTART: BreakpointKind.RESTART,
    EventKind.RECOMPILE: BreakpointKind.RECOMPILE,
    EventKind.CACHE_LIMIT: BreakpointKind.CACHE_LIMIT,
    EventKind.EXCEPTION: BreakpointKind.EXCEPTION,
    EventKind.LOOKUP: BreakpointKind.LOOKUP,
    EventKind.GUARD_FAIL: BreakpointKind.GUARD_FAIL,
    EventKind.HIT: BreakpointKind.HIT,
    EventKind.MISS: BreakpointKind.MISS,
    EventKind.ENTRY: BreakpointKind.ENTRY,
    EventKind.INVALIDATE: BreakpointKind.INVALIDATE,
    EventKind.EVICT: BreakpointKind.EVICT,
    EventKind.EXECUTE: BreakpointKind.EXECUTE,
}
"""Which breakpoint stops at which occurrence; events of other kinds never stop."""
