"""The control channel: typed messages between a front end and the debuggee.

Each message is one msgpack document behind a four-byte big-endian length. The front end sends
requests, each with a number; the debuggee answers every request with one `Response` of that number,
and sends events on its own account. State is not sent: the front end reads it from the recording,
whose newest moment is committed before every `Stopped`. The vocabulary is that of the Debug Adapter
Protocol where it has a word.
"""

from __future__ import annotations

import msgspec

from stepper.model.breakpoint import Breakpoint
from stepper.model.cache import CacheData
from stepper.model.program import PythonFrame
from stepper.model.stepping import Motion
from stepper.model.trace import MomentId, SessionFacts

MAX_MESSAGE = 16 * 1024 * 1024
"""Bytes; a longer message is refused."""


class ProtocolError(Exception):
    """A message could not be understood; the connection can go on."""


class _Message(
    msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", forbid_unknown_fields=True
):
    pass


class Resume(_Message, frozen=True, tag="resume"):
    """Let a stopped program run on; with a motion, until it is done."""

    seq: int
    motion: Motion = Motion.CONTINUE
    line: int | None = None
    count: int = 1
    """Repeat the motion so many times."""


class Pause(_Message, frozen=True, tag="pause"):
    """Stop at the next moment."""

    seq: int
    reason: str = "pause"
    """What the stop is then called: see `Stopped.reason`."""


class SetBreakpoints(_Message, frozen=True, tag="set-breakpoints"):
    """Replace all breakpoints. Their ids are the front end's to choose."""

    seq: int
    breakpoints: tuple[Breakpoint, ...]


class Evaluate(_Message, frozen=True, tag="evaluate"):
    """Evaluate a Python expression at a live stop, over `stack`, `locals`, `inst`, `graph`,
    `guards`, `tx`."""

    seq: int
    expression: str
    frame: int | None = None
    """Id of the symbolic frame; None: the innermost."""


class ForkTranslation(_Message, frozen=True, tag="fork-translation"):
    """Go back to an earlier moment of the translation at which the program stands, in another
    attempt, and stop there, with something changed. The answer says what becomes of it, and the
    program runs on at once."""

    seq: int
    moment: MomentId
    values: tuple[tuple[str, str], ...] = ()
    """Slots of the innermost frame, `x` or `stack[-1]`, each with the expression of what it
    gets."""
    drop: tuple[int, ...] = ()
    """Ids of guards that are left out."""
    break_graph: bool = False
    """The graph is broken before the instruction."""
    keep: bool = False
    """The entry that comes of it is wanted also where it is unsound; else that is set aside, and
    the program goes on with an attempt that nobody has changed."""


class Jump(_Message, frozen=True, tag="jump"):
    """Have the innermost symbolic frame go on at a line of its own, and stop there. The answer says
    what that leaves out, and the program runs on at once."""

    seq: int
    line: int


class Terminate(_Message, frozen=True, tag="terminate"):
    """End the program, as Ctrl-C at a stop would: KeyboardInterrupt is raised in it."""

    seq: int


class Detach(_Message, frozen=True, tag="detach"):
    """Let the program run to its end without the debugger; the recording is closed."""

    seq: int


class ListCache(_Message, frozen=True, tag="list-cache"):
    """Which codes have cache entries, and which: a `CacheListing`. Also while the program runs."""

    seq: int
    function: str = ""
    """Glob over the function's name; empty: all."""


class InspectEntry(_Message, frozen=True, tag="inspect-entry"):
    """All that is in one entry: an `EntryView`. Also while the program runs."""

    seq: int
    entry: int


class FetchCode(_Message, frozen=True, tag="fetch-code"):
    """The transformed code of an entry, as bytes: an `EntryCode`. Also while the program runs."""

    seq: int
    entry: int


class CheckCache(_Message, frozen=True, tag="check-cache"):
    """Run arguments against the entries of a code: a `CacheCheck`. At a stop only."""

    seq: int
    code: int
    arguments: str = ""
    """What would stand between the parentheses of the call, e.g. `x, scale=2`, or
    `f_locals=EXPRESSION` for the locals themselves; empty: those of the call at which the program
    stands."""
    backend: str = ""
    """Name of the backend of the call; empty: any."""
    compare: bool = False
    """Run the winner and the original function, each on copies of the arguments."""


class CloneEntry(_Message, frozen=True, tag="clone-entry"):
    """Make a draft from an entry, with other guards: the `EntryView` of the draft."""

    seq: int
    entry: int
    drop: tuple[int, ...] = ()
    """Rows of guards to leave out."""
    add: tuple[str, ...] = ()
    """Expressions over `L` (the locals) and `G` (the globals) that must be true besides."""


class EditEntry(_Message, frozen=True, tag="edit-entry"):
    """Make a draft from an entry, with other bytecode: the `EntryView` of the draft. An entry that
    is a draft already is changed itself."""

    seq: int
    entry: int
    bytecode: str
    """As in `EntryView.bytecode`."""


class RunEntry(_Message, frozen=True, tag="run-entry"):
    """Run an entry's code by hand, without asking its guards: a `RunResult`. At a stop only."""

    seq: int
    entry: int
    arguments: str = ""
    """As in `CheckCache`."""
    compare: bool = False
    """Run the original function as well; both on copies of the arguments."""


class StepEntry(_Message, frozen=True, tag="step-entry"):
    """Run an entry's code by hand, as moments, and stop at its first. At a stop only: when the code
    has ended, the program stands there again and says so (`Stopped` with the reason `back`). It
    runs on copies of the arguments, and what it calls runs uncompiled."""

    seq: int
    entry: int
    arguments: str = ""
    """As in `CheckCache`."""


class RegisterEntry(_Message, frozen=True, tag="register-entry"):
    """Put a draft into the compiler's cache: its `EntryView`, with what that makes unsound."""

    seq: int
    entry: int


class RemoveEntry(_Message, frozen=True, tag="remove-entry"):
    """Take an entry that was made and registered out again, or throw a draft away."""

    seq: int
    entry: int


class FindWitness(_Message, frozen=True, tag="find-witness"):
    """Look for an input that shows that a guard of an entry is needed: a `WitnessSearch`. What is
    tried is tried in a process of its own. At a stop only."""

    seq: int
    entry: int
    guard: int
    """Its row."""
    arguments: str = ""
    """Arguments of the call to begin from, as in `CheckCache`."""


class MarkDynamic(_Message, frozen=True, tag="mark-dynamic"):
    """Make a size of a tensor of the call a symbol, for the compilation that is about to begin. At
    a stop in a lookup that missed only, like the next two; the answer says what was done."""

    seq: int
    source: str = ""
    """The tensor's expression, as guards have it; empty: that of the newest failing guard."""
    dim: int | None = None
    """None: the one whose size differs."""
    strict: bool = False
    """Compiling is to fail when the size turns out to have to be a number."""


class RelaxGuard(_Message, frozen=True, tag="relax-guard"):
    """Have a copy of an entry, without some of its guards, serve the call in place of the
    compilation, and later calls that pass what is left."""

    seq: int
    entry: int | None = None
    """None: the entry of the newest failing guard."""
    drop: tuple[int, ...] = ()
    """Rows of guards to leave out; empty: those that fail."""


class SkipCall(_Message, frozen=True, tag="skip-call"):
    """Run the call, and what it calls, uncompiled: nothing is compiled for it."""

    seq: int


class Locate(_Message, frozen=True, tag="locate"):
    """Where the main thread is now: a `Position`. While the program runs."""

    seq: int


class Position(msgspec.Struct, frozen=True, omit_defaults=True, tag="position"):
    """Where a running program is."""

    function: str = ""
    """The program's own innermost one; empty: not known."""
    filename: str = ""
    line: int = 0
    collective: str = ""
    """The function of `torch.distributed` that it has called and that has not returned; empty: it
    is in none."""


CacheRequest = (
    ListCache
    | InspectEntry
    | FetchCode
    | CheckCache
    | CloneEntry
    | EditEntry
    | RunEntry
    | RegisterEntry
    | RemoveEntry
    | FindWitness
    | MarkDynamic
    | RelaxGuard
    | SkipCall
)
Request = (
    Resume
    | Pause
    | SetBreakpoints
    | Evaluate
    | ForkTranslation
    | Jump
    | Terminate
    | Detach
    | StepEntry
    | Locate
    | CacheRequest
)


class Response(_Message, frozen=True, tag="response"):
    """The answer to one request."""

    seq: int
    ok: bool = True
    text: str = ""
    """A value's bounded repr, or why the request was refused and what to do."""
    printed: str = ""
    """What an evaluated expression wrote to stdout."""
    data: CacheData | Position | None = None
    """What was asked for."""


class Hello(_Message, frozen=True, tag="hello"):
    """First message of a debuggee."""

    facts: SessionFacts
    recording: str
    """Path of the recording; empty when none is written. That of a process that the program has
    started is made when there is something to record: see `Moved`."""


class Refused(_Message, frozen=True, tag="refused"):
    """Only message of a debuggee's side that could not begin; the program runs without it. (It is
    written by hand in `stepper/debuggee/startup/sitecustomize.py`.)"""

    text: str
    """Why, and what to do."""


class Stopped(_Message, frozen=True, tag="stopped"):
    """The program stands still at a moment. Everything up to it is in the recording."""

    moment: MomentId
    reason: str
    """`step`, `breakpoint`, `pause`, `entry`, `breakpoint()`; `back`: what was stepped by hand at
    this stop has ended; `fork`: a fork has come to its moment; `jump`: a frame goes on there."""
    text: str = ""
    """In words, e.g. the graph break's reason."""
    breakpoint: int | None = None
    thread: str = ""
    hits: dict[int, int] = {}
    """How often each breakpoint was met so far, those let pass too."""
    stack: tuple[PythonFrame, ...] = ()
    """The program's own frames, outermost first, where an entry died or was evicted: that happens
    outside of what was recorded last. Else empty."""


class Running(_Message, frozen=True, tag="running"):
    """The program runs on."""


class Compiling(_Message, frozen=True, tag="compiling"):
    """The compiler hands a graph to the backend; later, that the backend is done."""

    done: bool = False


class BreakpointChanged(_Message, frozen=True, tag="breakpoint-changed"):
    """A one-shot breakpoint was used up, or a condition raised."""

    id: int
    removed: bool = False
    text: str = ""


class Notice(_Message, frozen=True, tag="notice"):
    """Something the debuggee's side has to say to the user, e.g. that the disk is full."""

    text: str


class Moved(_Message, frozen=True, tag="moved"):
    """The recording is in this file from now on: there was nothing to record before, or the file
    was moved or deleted, and the recording, all of it, goes on in another."""

    recording: str
    """Its path."""


class Exiting(_Message, frozen=True, tag="exiting"):
    """The interpreter is shutting down in order; the recording is complete."""


DebuggeeEvent = (
    Hello | Refused | Stopped | Running | Compiling | BreakpointChanged | Notice | Moved | Exiting
)
DebuggeeMessage = Response | DebuggeeEvent
