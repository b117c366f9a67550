"""A session as a sequence of moments, and all that is known at each.

A *moment* is the instant before one instruction is interpreted. Moments are numbered 1, 2, 3 … in
the order in which they happened, over the whole session, whatever frame or translation they belong
to. What a step caused (a guard, a node, an event) carries the number of the moment whose
instruction caused it; so it is seen from the next moment on.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from stepper.model.capabilities import Capabilities
from stepper.model.lookup import UnmetEntry
from stepper.model.moment import MomentId as MomentId
from stepper.model.program import PythonFrame
from stepper.model.ranges import Ranges
from stepper.model.value import TensorMeta, Value, ValueId

WITHHELD = "<withheld>"
"""Stands for what was not written into a recording; see `SessionFacts.secrets`."""


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who started the recorded program, and where; told by the front end that did."""

    user: int
    """Number of the user."""
    host: str
    program: str = ""
    """SHA-256 of the file that was run, in hexadecimal; empty: no file was found."""
    seal: str = ""
    """Shows whoever has that user's key that the command line is what the user started; empty:
    there was no key."""


class SessionFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a recording is a recording of."""

    argv: tuple[str, ...] = ()
    cwd: str = ""
    pid: int = 0
    rank: int | None = None
    python: str = ""
    torch: str = ""
    engine: str = "dynamo"
    """As it was asked for; see `stepper.debuggee.registry`."""
    capabilities: Capabilities = Capabilities()
    """The engine's."""
    stepper: str = ""
    started: float = 0.0
    """Seconds since the epoch."""
    hash_seed: str = ""
    detail: str = "all"
    """`all`: every instruction was recorded. `stops`: only from the first stop on."""
    launched: bool = False
    """Whether a front end started the program; else it opened the recording itself."""
    changes: tuple[str, ...] = ()
    """What was other than in the program, in words, because it was to be tried."""
    secrets: bool = False
    """Whether values of environment variables, and what looks like a key, were written as they
    are."""
    origin: Origin | None = None
    """Who started it and where; None: no front end did, or one that did not say."""


class Phase(StrEnum):
    """The part of a call's life that a row of the catalogue is about; see `Translation`."""

    TRANSLATE = "translate"
    """Symbolic interpretation of the frame."""
    LOOKUP = "lookup"
    """The guards of the code's cache entries, in the order in which they are tried."""
    EXECUTE = "execute"
    """The transformed bytecode on real values."""


class Outcome(StrEnum):
    """How a translation, or another walk, ended."""

    RUNNING = "running"
    COMPILED = "compiled"
    SKIPPED = "skipped"
    FAILED = "failed"
    """An exception left the tracer and reached the program."""
    CUT_OFF = "cut off"
    """The recording ends before it does: the debugger was detached, the program killed, the disk
    full. Never written: a recording that is over says `running` of these."""
    HIT = "hit"
    """A lookup found an entry."""
    MISS = "miss"
    """A lookup found none."""
    RETURNED = "returned"
    """An execution returned."""
    RAISED = "raised"
    """An exception left an execution."""


class Choice(msgspec.Struct, frozen=True, array_like=True):
    """An instruction that went one way rather than another by what guards hold."""

    moment: MomentId
    guards: Ranges
    """Those of them by which nothing was chosen before."""


class Dependence(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the guards of an entry are there for, where they travel on the trackers: in the native
    engine. All are ids of guards."""

    output: Ranges = ()
    """Guards of what the frame returns, hands on or changes."""
    way: Ranges = ()
    """Guards of what lies on the way to values that `output` or `choices` are about."""
    choices: tuple[Choice, ...] = ()
    carried: Ranges = ()
    """Guards of any value or node that was recorded."""


AUTOCAST_DEVICES = ("cpu", "cuda", "xpu", "mps", "hpu")
"""Devices whose autocast is recorded with torch's state; of others torch says that it differs, and
no more."""


class Translation(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A walk: everything that happened to compile one frame once (one compile id, one or more
    attempts), or in another phase of a call's life (one attempt)."""

    id: int
    compile_id: str
    """Dynamo's, e.g. `0/0`, `1/2`; empty when it never got one."""
    code: int
    """Id of the original `Code`."""
    name: str
    filename: str
    line: int
    first_moment: MomentId
    """The moment that the translation's first instruction has (or would have had)."""
    last_moment: MomentId | None = None
    outcome: Outcome = Outcome.RUNNING
    reason: str = ""
    """Why it was skipped or failed; empty when compiled."""
    recompile_reason: str = ""
    """The compiler's words on why earlier entries did not match; empty for a first compilation."""
    unmet: tuple[UnmetEntry, ...] = ()
    """Entries that the code had and that did not match, where their guards were asked again; of a
    call whose lookup is recorded, that says it."""
    cache_size: int = 0
    """Entries that the code had before."""
    attempts: int = 0
    instructions: int = 0
    guards: int = 0
    nodes: int = 0
    graph_breaks: int = 0
    seconds: float | None = None
    thread: str = ""
    python_stack: tuple[PythonFrame, ...] = ()
    """The program's own frames that led to this call, outermost first."""
    transformed_code: int | None = None
    resume_of: str = ""
    """For a resume function: name of the function that it continues."""
    wraps: str = ""
    """For what a decorator has put around a function: the qualified name of that function."""
    phase: Phase = Phase.TRANSLATE
    level: int = 0
    """How many walks were under way around it in the same thread: 0 for one that the program's own
    code led to."""
    state: dict[str, str] = {}
    """Torch's state when the call was made that led to it: `grad_mode`, `autocast(cpu)`,
    `default_dtype` and others that guards check, by name."""
    dynamic: bool | None = None
    """What may be a symbol, as `torch.compile` takes it: everything; only what is marked; None:
    what changes."""
    specialize_int: bool = False
    """Whether ints are constants of the graph by the compiler's setting of this name."""
    dependence: Dependence | None = None
    """None: it made no entry, or its engine cannot tell."""
    by_hand: bool = False
    """Whether the user asked for it at a stop: it is no part of the program's life."""


class Attempt(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One run of the symbolic interpreter over the frame; a restart begins the next."""

    id: int
    translation: int
    number: int
    """1, 2, … within the translation."""
    first_moment: MomentId
    last_moment: MomentId | None = None
    restart_reason: str = ""
    """Why it was thrown away; empty for the last one."""


class Frame(msgspec.Struct, frozen=True, omit_defaults=True):
    """A symbolic frame: the translated frame itself (depth 0) or an inlined call."""

    id: int
    attempt: int
    parent: int | None
    depth: int
    code: int
    first_moment: MomentId
    last_moment: MomentId | None = None
    call_moment: MomentId | None = None
    """The moment in the parent whose instruction made the call."""


class Moment(msgspec.Struct, frozen=True, gc=False):
    """The instant before one instruction."""

    id: MomentId
    frame: int
    ip: int
    """Index of the instruction about to be interpreted, in the frame's code."""


class Block(msgspec.Struct, frozen=True, array_like=True):
    """An entry of the symbolic block stack: a `with` or `try` that is open."""

    ip: int | None
    """Instruction that opened it."""
    target: int | None
    """Instruction of the handler."""
    stack_index: int
    context: str = ""
    """Class of the context manager's tracker."""


class FrameState(msgspec.Struct, frozen=True):
    """One symbolic frame at a moment."""

    frame: int
    ip: int
    stack: tuple[ValueId, ...] = ()
    """Bottom first."""
    locals: dict[str, ValueId] = {}
    blocks: tuple[Block, ...] = ()
    speculation: str = ""
    """The checkpoint that a graph break would restart from, in words."""


class State(msgspec.Struct, frozen=True):
    """Everything the symbolic interpreter had at a moment."""

    moment: Moment
    attempt: int
    translation: int
    frames: tuple[FrameState, ...]
    """Outermost first; the last is the one whose instruction is next."""
    values: dict[ValueId, Value]
    """The description, at this moment, of every tracker reachable from the frames."""

    @property
    def top(self) -> FrameState:
        """The frame whose instruction is next."""
        return self.frames[-1]


class Guard(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A guard that Dynamo installed while tracing."""

    id: int
    attempt: int
    moment: MomentId
    kind: str
    """Name of the GuardBuilder method, e.g. `TENSOR_MATCH`."""
    source: str
    """The expression guarded, e.g. `L['x']`; empty for global state."""
    scope: str = ""
    """Dynamo's GuardSource: `local`, `global`, …"""
    code: tuple[str, ...] = ()
    """What it checks, as Dynamo's generated expressions; known once the guards are built."""
    user_line: PythonFrame | None = None
    """Where the program caused it."""
    withdrawn: MomentId | None = None
    """The moment whose instruction made Dynamo take it back; None: it holds."""


class Node(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A node of the FX graph."""

    id: int
    attempt: int
    moment: MomentId
    graph: str
    """Empty for the main graph, else the name of the higher-order op's subgraph."""
    rank: float
    """Sorts the nodes of a graph into graph order."""
    name: str
    op: str
    """placeholder, get_attr, call_function, call_method, call_module or output."""
    target: str
    args: str = ""
    inputs: tuple[str, ...] = ()
    """Names of the nodes it reads, in order, without repeats."""
    meta: TensorMeta | None = None
    meta_text: str = ""
    """The example value in one line, when it is no tensor."""
    source: str = ""
    """Where a placeholder's value comes from."""
    erased: MomentId | None = None
    """The moment whose instruction removed it, or made it another: a name, a place, sizes."""
    renamed: MomentId | None = None
    """The moment whose instruction gave it this name, this place in the graph, or these sizes, when
    it had others before; it is in the graph like this from then on."""
    guards: Ranges = ()
    """Ids of the guards on which it depends, where they travel on the trackers: in the native
    engine."""

    @property
    def appeared(self) -> MomentId:
        """The moment whose instruction brought it; a changed node is a new record of it."""
        return self.moment if self.renamed is None else self.renamed


class SideEffect(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A mutation that Dynamo buffers, to replay after the graph."""

    id: int
    attempt: int
    moment: MomentId
    kind: str
    """`attribute`, `cell`, `global`, `mutation` or `hook`."""
    target: ValueId
    name: str
    """What is changed, e.g. `L['self'].count`."""
    how: str
    """What becomes of it, e.g. ` = 3` or ` changes`."""
    value: ValueId | None = None

    @property
    def text(self) -> str:
        """In one line, e.g. `L['self'].count = 3`."""
        return f"{self.name}{self.how}"


class GraphBreak(msgspec.Struct, frozen=True, omit_defaults=True):
    """A place where Dynamo had to stop capturing."""

    id: int
    attempt: int
    moment: MomentId
    """The moment of the instruction that caused it, in the innermost inlined frame."""
    reason: str
    """The compiler's message, whole."""
    gb_type: str = ""
    """Dynamo's name for its kind; of the native engine's, where Dynamo has one."""
    explanation: str = ""
    hints: tuple[str, ...] = ()
    user_stack: tuple[PythonFrame, ...] = ()
    resumes: bool = True
    """True when the frame is compiled in parts; False when the whole frame is given up."""
    context: str = ""
    """Which method of what, or which function, it is about; empty: the message says it, if
    anything."""


class SkippedFrame(msgspec.Struct, frozen=True, array_like=True):
    """A frame that the compiler was asked for and never began with."""

    id: int
    moment: MomentId
    """The newest one then."""
    name: str
    """Qualified name of the function."""
    filename: str
    line: int
    """Its first line."""
    reason: str
    """The compiler's words."""


class EventKind(StrEnum):
    """Kinds of things that happen, as they are named in breakpoints, filters and the timeline. New
    ones stand at the end: recordings count them by their places here."""

    TRANSLATION = "translation"
    ATTEMPT = "attempt"
    INLINE = "inline"
    RETURN = "return"
    GUARD = "guard"
    NODE = "node"
    SIDE_EFFECT = "side-effect"
    SYMBOL = "symbol"
    """A size or a number became a symbol."""
    SPECIALIZE = "specialize"
    """A size that could vary became a number."""
    SHAPE_GUARD = "shape-guard"
    """A condition on sizes became one of the entry, or is asserted when the graph runs."""
    DATA_DEPENDENT = "data-dependent"
    """A decision was asked for that depends on data."""
    SHAPE = "shape"
    """Something else became known about sizes; see `stepper.model.shapes`."""
    GRAPH_BREAK = "graph-break"
    RESTART = "restart"
    SKIP = "skip"
    RECOMPILE = "recompile"
    CACHE_LIMIT = "cache-limit"
    EXCEPTION = "exception"
    END = "end"
    """A translation ended."""
    LOOKUP = "lookup"
    """A call of a compiled function looks for a cache entry."""
    GUARD_FAIL = "guard-fail"
    HIT = "hit"
    MISS = "miss"
    """A lookup found none of the entries that there are: the function is about to be compiled
    again."""
    ENTRY = "entry"
    """A cache entry was made."""
    INVALIDATE = "invalidate"
    """An object died that a cache entry depends on."""
    EVICT = "evict"
    """A cache entry was removed."""
    EXECUTE = "execute"
    """Transformed bytecode begins to run."""
    STOP = "stop"
    INTERVENTION = "intervention"
    """The user changed what the program does: from here on it is not what it would have been."""
    NOTE = "note"
    """Something the debugger itself has to say, e.g. that it lost detail and why."""


_LIMIT = re.compile(r"Limit type: (\w{1,40})")


def limit_named(text: str) -> str:
    """The limit that a compiler's words say was reached; empty: they name none."""
    found = _LIMIT.search(text)
    return "" if found is None else found[1]


def headline(text: str) -> str:
    """A compiler's words in one line: their first, and where that only announces the next one, as
    "backend='…' raised:" does, that too; with the limit that they are about."""
    if "\n" not in text:
        return text
    if limit := limit_named(text):
        return f"{text.strip().partition(chr(10))[0]}: {limit}"
    first, *others = text.strip().split("\n")
    second = next((line.strip() for line in others if line.strip()), "")
    return f"{first} {second}" if first.rstrip().endswith(":") else first


class Event(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Something that happened, at a moment."""

    id: int
    moment: MomentId
    kind: EventKind
    ref: int | None = None
    """Id in the table of its kind: frame, guard, node, translation, attempt, graph break, side
    effect."""
    text: str = ""
    """In one line."""
    frame: int | None = None


class Output(msgspec.Struct, frozen=True):
    """A piece of what the program wrote to its terminal."""

    id: int
    moment: MomentId
    """The newest moment known when it arrived."""
    data: str
