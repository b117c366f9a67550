"""The compiler's cache as the debugger shows it: codes, their entries, the guards of an entry, and
what came of running some arguments against them.

A *cached code* is a code object of the program for which the compiler keeps entries; it and each
entry have a number for as long as the session knows them. An entry's guards are told as *rows*, in
the order in which the compiler checks them, each with the number by which an edit names it. Nothing
here holds an object of the program: objects are told by name, in words.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from stepper.model.program import Code, PythonFrame, UserLine
from stepper.model.value import TensorMeta


class CacheError(RuntimeError):
    """What was asked of the cache cannot be done; the message says why and what to do."""


class Origin(StrEnum):
    """Who made an entry."""

    COMPILED = "compiled"
    """The compiler, for a call."""
    PRECOMPILED = "precompiled"
    """The compiler, from a package that was compiled before. Tried before compiled entries."""
    MADE = "made"
    """Somebody, with the toolkit. When registered, tried before compiled entries."""


class EntryState(StrEnum):
    """Whether an entry can be used."""

    NEW = "new"
    """Compiled; the compiler puts it into the cache as soon as the program runs on."""
    VALID = "valid"
    INVALID = "invalid"
    """An object that its guards know by identity has died. It stays in the list, and its guards
    never pass."""
    DRAFT = "draft"
    """Made with the toolkit and not registered: the compiler does not know it."""
    EVICTED = "evicted"
    """Gone from the cache, by a reset or with its function."""


class Verdict(StrEnum):
    """What came of one check."""

    PASS = "pass"
    FAIL = "fail"
    UNREACHED = "unreached"
    """The value that it looks at cannot be reached from these arguments."""
    ERROR = "error"
    """It raised; the compiler would take that for an error and not for a miss."""
    UNKNOWN = "unknown"
    """It cannot be asked alone: it compares several values, or wants what the compiler does not
    tell, and only all together gave a verdict."""

    @property
    def refuses(self) -> bool:
        """Whether the guard is known not to let the call pass."""
        return self not in (Verdict.PASS, Verdict.UNKNOWN)


class Lifeline(msgspec.Struct, frozen=True, omit_defaults=True):
    """An object that an entry depends on: when it dies, the entry is invalid."""

    source: str
    """How the guards reach it, e.g. `L['scaler']`."""
    object: str
    """In words, e.g. `class Scaler`."""
    alive: bool = True
    user_line: PythonFrame | None = None
    """Where the program made the compiler depend on it."""
    guards: tuple[int, ...] = ()
    """Rows of the guards that check its identity."""
    references: int | None = None
    """How many references the program holds to it, when asked for."""
    holders: tuple[str, ...] = ()
    """Who holds them, in words, e.g. `main() line 62: scaler`; when asked for, and bounded."""


class GuardRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One guard of an entry."""

    index: int
    """Its place in the order of checks, from 0; what an edit names."""
    kind: str
    """Name of the leaf guard, e.g. `TENSOR_MATCH`."""
    source: str
    """The expression that it looks at; empty for global state."""
    code: tuple[str, ...] = ()
    """What it checks, as the compiler words it."""
    expected: str = ""
    """What the value must be, by name where there is one."""
    wants: TensorMeta | None = None
    """What a guard on a tensor wants of it. A size or stride that may be any is `?`."""
    depth: int = 0
    """How deep its value is: 0 for global state, 1 for an argument, 2 for its attribute…"""
    user_line: UserLine | None = None
    """The line that caused it."""
    hint: str = ""
    """The compiler's advice about it."""
    relational: bool = False
    """Whether it compares several values with each other."""
    made: bool = False
    """Added with the toolkit."""


class CacheEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry: what it is and how it stands."""

    id: int
    code: int
    """Number of the `CachedCode` that it belongs to."""
    compile_id: str
    """Dynamo's, e.g. `0/1`; of a copy, that of the entry that it was copied from."""
    origin: Origin = Origin.COMPILED
    loaded: str = ""
    """Where the program had it loaded, of one from a package, in words; empty: it was not seen to.
    """
    state: EntryState = EntryState.VALID
    reason: str = ""
    """Why it is invalid or evicted."""
    position: int | None = None
    """Place in the order of lookup, from 0; None when the compiler does not look at it."""
    region: int = -1
    """The isolated region it belongs to; -1 is the one of everybody."""
    backend: str = ""
    """Name of the backend; empty when it is not checked."""
    guards: int | None = None
    """None when nobody looked while it was in the cache."""
    hits: int | None = None
    """How many calls it has served; None when nobody counted."""
    age: float | None = None
    """Seconds since it was made; None when it is older than the session."""
    graph_nodes: int | None = None
    """None when the graph is not to be had: most backends keep none."""
    graph_bytes: int | None = None
    """Memory of the graph and of the constants in it, roughly."""
    code_bytes: int = 0
    """Memory of its bytecode with all constants, roughly."""
    translation: int | None = None
    """Id of the translation that made it, when it was watched."""
    transformed: str = ""
    """Name of the code that it runs."""
    lifelines: tuple[Lifeline, ...] = ()
    copied_from: int | None = None
    edits: tuple[str, ...] = ()
    """What was changed in a copy, in words."""
    warnings: tuple[str, ...] = ()
    """What the edits make unsound, in words."""


class CachedCode(msgspec.Struct, frozen=True, omit_defaults=True):
    """A code object that the compiler has entries for."""

    id: int
    name: str
    qualname: str
    filename: str
    line: int
    entries: tuple[CacheEntry, ...] = ()
    """In the order of lookup; after them drafts and what was evicted in this session."""
    limit: int = 0
    """So many entries are made at most in one region before the compiler gives the code up."""
    nearest: int = 0
    """How many entries the fullest region has."""
    strategy: str = ""
    """How the compiler runs the code when that is out of the ordinary: `skip` or `run only`, with
    the reason; as far as it was seen in this session."""
    resume_of: str = ""
    """For a resume function: name of the function that it continues."""


class CacheListing(msgspec.Struct, frozen=True, omit_defaults=True, tag="cache-listing"):
    """Every code that has entries."""

    codes: tuple[CachedCode, ...] = ()


class EntryView(msgspec.Struct, frozen=True, omit_defaults=True, tag="cache-entry"):
    """One entry with all that is in it."""

    entry: CacheEntry
    """With references and holders at its lifelines."""
    guards: tuple[GuardRow, ...] = ()
    """In the order of checks."""
    code: Code | None = None
    """The transformed code; None for one that is gone, or that the compiler does not give away.
    Its `id` is 0: it is not the recording's."""
    original: Code | None = None
    """The program's code; `id` 0."""
    graph: str = ""
    """The FX graph as Python; empty when the backend kept none."""
    bytecode: str = ""
    """The transformed code as text, in the form in which `EditEntry` takes it back."""


class GuardCheck(msgspec.Struct, frozen=True, omit_defaults=True, array_like=True):
    """One guard asked about one set of arguments."""

    guard: int
    """Index of its row."""
    verdict: Verdict
    actual: str = ""
    """The value it found, in words."""
    difference: str = ""
    """What differs from what was expected, e.g. `size [3] ≠ [4]`."""


class EntryCheck(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry asked about one set of arguments."""

    entry: int
    matches: bool
    """Whether all its guards pass."""
    eligible: bool = True
    """Whether the compiler would look at it at all: its backend and region are those of the
    call."""
    wins: bool = False
    """Whether it is the one that would run."""
    reason: str = ""
    """Why it does not match or is not looked at, in the compiler's words where there are some."""
    checks: tuple[GuardCheck, ...] = ()
    executed: int = 0
    """How many guards the compiler would run until it knows."""


class Comparison(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry's result beside eager's, for copies of the same arguments."""

    same: bool
    entry: str = ""
    """The result, or the exception, in words."""
    eager: str = ""
    differences: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    """Arguments that could not be copied whole: what the code has done to them stays."""


class CacheCheck(msgspec.Struct, frozen=True, omit_defaults=True, tag="cache-check"):
    """What the cache says to some arguments; nothing was changed by asking."""

    code: int
    arguments: tuple[tuple[str, str], ...] = ()
    """The locals that the guards saw: name and value in words."""
    entries: tuple[EntryCheck, ...] = ()
    """In the order of lookup, then drafts."""
    guards: dict[int, tuple[GuardRow, ...]] = {}
    """The rows that the checks speak of, by entry."""
    winner: int | None = None
    """Id of the entry that would run; None: the call would be compiled, or run as it is."""
    comparison: Comparison | None = None
    """When it was asked for and there is a winner."""


class RunResult(msgspec.Struct, frozen=True, omit_defaults=True, tag="cache-run"):
    """An entry was run by hand, whatever its guards say."""

    entry: int
    text: str
    """The result, or the exception, in words."""
    raised: bool = False
    printed: str = ""
    comparison: Comparison | None = None


class WitnessTrial(msgspec.Struct, frozen=True, omit_defaults=True):
    """One input that a guard refuses, and what came of running the code with it all the same."""

    text: str
    """In what it differs from the call's, e.g. `L['x']: shape[0] 5 instead of 4`."""
    others: tuple[str, ...] = ()
    """Other guards that refuse it, too: then the code was not run."""
    comparison: Comparison | None = None
    """The code without the guard, beside eager."""
    trouble: str = ""
    """Why there is no comparison, e.g. that the process died of it."""
    died: bool = False
    """Whether the code took the process with it."""

    @property
    def witness(self) -> bool:
        """Whether it shows that the guard is needed."""
        return self.died or (self.comparison is not None and not self.comparison.same)


class WitnessSearch(msgspec.Struct, frozen=True, omit_defaults=True, tag="cache-witness"):
    """A search for an input that shows that a guard is needed."""

    entry: int
    guard: GuardRow
    trials: tuple[WitnessTrial, ...] = ()
    """Empty: no input can be built that this guard refuses."""

    @property
    def witness(self) -> WitnessTrial | None:
        """The first input that shows it; None: none was found."""
        return next((trial for trial in self.trials if trial.witness), None)


class EntryCode(msgspec.Struct, frozen=True, omit_defaults=True, tag="cache-code"):
    """The code that an entry runs, for a process that can read it."""

    entry: int
    code: bytes
    """Marshalled; objects that are no constants are told in words, as `⟨torch.float32⟩`."""
    python: str = ""
    """The interpreter whose bytecode it is; empty when that is not known."""
    version: tuple[int, int] = (0, 0)
    """The version of that Python."""


CacheData = CacheListing | EntryView | CacheCheck | RunResult | EntryCode | WitnessSearch
"""What a cache request is answered with."""
