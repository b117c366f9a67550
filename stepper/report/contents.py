"""What a report says. These records are the JSON report; the page and the Markdown show them.

The page docs/report-format.md is made of this file. A moment is the number by which every front
end knows it: `stepper open FILE --at N` shows it. Walks are numbered as in the recording. A text
that is empty is not known, or there is none.

Bump FORMAT with every change that a reader of the JSON would misread; an addition needs none.
"""

from __future__ import annotations

import msgspec

from stepper.analysis.unseen import unseen_text
from stepper.report.telling import NOTHING, Told

FORMAT = 2


class Where(msgspec.Struct, frozen=True):
    """A place in the program."""

    file: Told
    line: int | None = None
    function: Told = NOTHING
    """Empty when it is not known."""

    def __str__(self) -> str:
        line = f":{self.line}" if self.line is not None else ""
        return f"{self.file}{line}" + (f" in {self.function}" if self.function else "")


class About(msgspec.Struct, frozen=True):
    """What the report is about, and with what it was recorded."""

    recording: Told
    """The recording's file, as it was named; redacted: `recording.stepper`."""
    name: Told
    """The program's name: its script, or `-m` and the module, or `-c`."""
    program: Told
    """The whole command; empty when redacted."""
    directory: Told
    """In which it ran; empty when redacted."""
    started: Told
    """In ISO 8601, UTC."""
    ended: Told
    """`exit` or why writing stopped; empty while it grows, or when the program was killed."""
    whole: bool
    """Whether the program was seen to its end; if not, what came later is not recorded."""
    engine: Told
    python: Told
    torch: Told
    stepper: Told
    rank: int | None
    oldest: int
    """The first moment; 0 when there is none."""
    newest: int
    """The last moment; 0 when there is none."""
    redacted: bool
    """Whether all text of the program was left out."""

    @property
    def unseen(self) -> str:
        """What is said of a program that was not seen to its end; empty: it was."""
        why = self.ended or ("the reason is redacted" if self.redacted else "")
        return "" if self.whole else unseen_text(why)


class Totals(msgspec.Struct, frozen=True):
    """The run in numbers."""

    frames: int
    """Frames that the compiler was asked to compile."""
    compiled: int
    skipped: int
    failed: int
    graphs: int
    """Graphs that the backend was given."""
    graph_breaks: int
    break_causes: int
    recompilations: int
    """Compilations of functions that had entries, those refused not among them."""
    refused: int
    """Compilations given up at a limit."""
    instructions: int
    """Interpreted symbolically, in all attempts."""
    guards: int
    """The guards of all cache entries."""
    nodes: int
    """The nodes of all final graphs."""
    seconds: float
    """Spent compiling."""
    lookups: int
    """Recorded lookups in the cache; 0 when none were recorded."""
    executions: int
    """Recorded executions of transformed code."""


class Walk(msgspec.Struct, frozen=True):
    """A frame that was compiled; or a lookup, or an execution."""

    id: int
    phase: Told
    """`translate`, `lookup` or `execute`."""
    compile_id: Told
    name: Told
    """The function's name."""
    title: Told
    """What it is called on the page: the class of the module whose method it is, too."""
    where: Where
    outcome: Told
    """`compiled`, `skipped`, `failed`, `hit`, `miss`, `returned` …"""
    reason: Told
    """Why it was skipped or failed: the first line of Dynamo's words."""
    recompile_reason: Told
    """Dynamo's words on the entry that it tried first; empty for a first compilation."""
    resume_of: Told
    """For a resume function: the function that it continues."""
    called_by: tuple[Where, ...]
    """The program's frames, innermost first."""
    first_moment: int
    last_moment: int | None
    attempts: int
    instructions: int
    guards: int
    nodes: int
    graph_breaks: int
    seconds: float | None
    level: int
    """How many walks were under way around it."""
    thread: Told
    by_hand: bool
    """Whether the user asked for it at a stop."""


class Bar(msgspec.Struct, frozen=True):
    """Neighbouring columns of the timeline that show the same."""

    first: int
    """First column."""
    last: int
    """Column after the last one."""
    walk: int
    name: Told
    """The function's name; the first one's when there are several."""
    number: int
    """How many frames it stands for: 1, or more where columns are too narrow for each."""
    moment: int


class Marks(msgspec.Struct, frozen=True):
    """Where on the timeline events of a kind happened."""

    kind: Told
    columns: dict[int, int]
    """How many, by column; columns without any are left out."""


class Timeline(msgspec.Struct, frozen=True):
    """All moments along a line of columns."""

    columns: int
    attempts: tuple[Bar, ...]
    depths: tuple[tuple[Bar, ...], ...]
    """Frames by depth: compiled frames, then what they inline; what is deeper than a page can show
    is left out."""
    marks: tuple[Marks, ...]


class Occurrence(msgspec.Struct, frozen=True):
    """One graph break of a cause."""

    walk: int
    resumes: bool
    """Whether the frame is compiled in parts; else it is given up."""
    moment: int
    user_stack: tuple[Where, ...]
    """Outermost first."""
    resumed: tuple[int, ...]
    """Walks of the resume functions that go on after it."""


class Cause(msgspec.Struct, frozen=True):
    """Graph breaks at one line of the program for one reason."""

    kind: Told
    """Dynamo's name for the kind."""
    then: Told
    """The kind of break that came of handling it; empty: none."""
    where: Where
    source: Told
    """The line's text."""
    cost: Told
    """In words."""
    instructions: int
    """The cost: instructions interpreted for nothing, and those of resume functions."""
    change: Told
    """The nearest change that avoids it; empty where none is known."""
    explanation: Told
    context: Told
    """Which method of what, with which arguments, as Dynamo says it; empty when redacted."""
    hints: tuple[Told, ...]
    page: Told
    """Dynamo's documentation of the kind."""
    instruction: Told
    stack: tuple[Told, ...]
    """The symbolic stack at the instruction, the top first; not more than eight values."""
    moment: int
    """The moment of the first one."""
    times: int
    """How often."""
    occurrences: tuple[Occurrence, ...]
    """The first hundred."""


class Failed(msgspec.Struct, frozen=True):
    """A compilation that failed."""

    walk: int | None
    """None: it failed outside of one, or it is not recorded."""
    compile_id: Told
    name: Told
    """The function's name."""
    stage: Told
    """In words: `while tracing`, `in the backend` …"""
    exception: Told
    message: tuple[Told, ...]
    """Dynamo's words, line by line, not more than two hundred; empty when redacted."""
    where: Where | None
    """The program's line that is to blame; None: it is not known which is."""
    source: Told
    """That line's text."""
    instruction: Told
    stack: tuple[Told, ...]
    """What the instruction was about to take, the top of the stack first."""
    note: Told
    """What is not known; empty: nothing that could be."""
    called_from: tuple[Where, ...]
    """The inlined calls that led there, innermost first."""
    called_by: tuple[Where, ...]
    """The program's frames, innermost first."""
    raised: tuple[Where, ...]
    """Where the exception was raised: some frames of its traceback, outermost first."""
    moment: int


class Decision(msgspec.Struct, frozen=True):
    """One of the decisions by which a size became a number."""

    text: Told
    """What was decided, e.g. `requires Eq(s77, 5)`."""
    stage: Told
    """The part of the compiler that asked: `tracing`, `Inductor` …"""
    where: Where | None
    """The program's line for which it was asked; None: none is recorded."""
    moment: int


class FixedSize(msgspec.Struct, frozen=True):
    """A size or number that may have varied, and is a number in an entry."""

    walk: int
    compile_id: Told
    name: Told
    """The function's name."""
    size: Told
    """What it is of, e.g. `x.shape[0]`."""
    value: Told
    symbol: Told
    """That it was; empty: it never was one."""
    why: Told
    """Why it was to be a symbol: `dynamic=True`, `mark_dynamic` …; empty: it is not recorded."""
    decisions: tuple[Decision, ...]
    """What made it a number, in order."""


class Skipped(msgspec.Struct, frozen=True):
    """Frames that run uncompiled for a reason that is no graph break."""

    name: Told
    where: Where
    reason: Told
    times: int
    wasted: int
    """Instructions interpreted for nothing."""
    moment: int


class Failure(msgspec.Struct, frozen=True):
    """A guard of an entry that a call did not pass."""

    text: Told
    """What differs, in words."""
    kind: Told
    source: Told
    known: Told
    """How it is known: `recorded`, `behind` another one that failed, or `unguarded`, as a state of
    torch that no guard is on."""
    because_of: Where | None
    """The program's line that made the compiler depend on it."""
    because_text: Told
    """That line's text."""
    guard: int | None
    """The installed guard's id."""
    moment: int | None
    """The moment of the check in the recorded lookup."""
    installed: int | None
    """The moment whose instruction installed the guard."""


class Tried(msgspec.Struct, frozen=True):
    """An entry that did not match."""

    entry: Told
    """Its compile id."""
    walk: int | None
    """The walk that made it."""
    failures: tuple[Failure, ...]
    """Empty: it is not known why."""


class Recompilation(msgspec.Struct, frozen=True):
    """A call that no entry fitted."""

    walk: int
    refused: bool
    """Whether a limit was reached, so that it runs uncompiled."""
    result: Told
    """`compiled`, `failed` or `given up`."""
    moment: int
    tried: tuple[Tried, ...]


class Advice(msgspec.Struct, frozen=True):
    """Something to change. Nobody has tried it."""

    text: Told
    evidence: Told
    """What the recording shows; empty when redacted."""


class Recompiled(msgspec.Struct, frozen=True):
    """A function that was compiled more than once."""

    name: Told
    where: Where
    entries: int
    seconds: float
    """Spent in recompilations."""
    series: tuple[Told, ...]
    """What changes from call to call, in words; the most frequent first."""
    limit: Told
    """In words; empty: none was reached."""
    advice: tuple[Advice, ...]
    times: int
    """How often."""
    recompilations: tuple[Recompilation, ...]
    """The first hundred."""


class Guard(msgspec.Struct, frozen=True):
    """A guard of a cache entry."""

    id: int
    kind: Told
    source: Told
    """The expression guarded; empty for global state."""
    module: Told
    """The module that it belongs to; empty: none's, or the model itself."""
    checks: tuple[Told, ...]
    """What it checks, as far as the compiler gives it away; redacted: of
    tensors only."""
    where: Where | None
    """The program's line that it is there for."""
    line: Told
    """That line's text."""
    moment: int
    """Whose instruction installed it; the first one, when it was there before."""
    runs: int
    """How often it was run in recorded lookups."""
    failures: int
    nanoseconds: float | None
    """How long one run takes, on average; None when it was not measured."""
    share: float | None
    """Its part of the time of all guards of its entry, 0 to 1; None when it was not measured."""
    implied_by: int | None
    """A guard that cannot pass unless this one would."""
    implied_why: Told


class Node(msgspec.Struct, frozen=True):
    """A node of a final graph."""

    name: Told
    op: Told
    target: Told
    args: Told
    """Redacted: the nodes among them only."""
    inputs: tuple[Told, ...]
    """Names of the nodes it reads."""
    value: Told
    """Dtype and shape of its example value, e.g. `f32[2, 3]`."""
    source: Told
    """Where an input comes from."""
    graph: Told
    """Empty for the main graph, else the subgraph's name."""
    module: Told
    """The module whose frame made it, `decoder.block[7].layer[0]`; empty: the model itself, or it
    is not known."""
    moment: int


class Layer(msgspec.Struct, frozen=True):
    """What an entry has of a part of the model."""

    path: Told
    """Where it is, to its first number: `decoder.block[7]`; empty: what is no module's."""
    guards: int
    kinds: dict[Told, int]
    """How many guards of each kind."""
    nodes: int
    targets: dict[Told, int]
    """What its nodes call, and how often; the most frequent."""


class Entry(msgspec.Struct, frozen=True):
    """A cache entry: what one compilation made."""

    walk: int
    compile_id: Told
    name: Told
    where: Where
    moment: int
    """The last one of its compilation."""
    lookups: bool
    """Whether lookups of it were recorded."""
    left_out: bool
    """Whether guards, nodes or code are left out, since the report would be too long."""
    guard_count: int
    """How many guards it has."""
    node_count: int
    """How many nodes its graph has."""
    layers: tuple[Layer, ...]
    """All guards and nodes, by the part of the model that they belong to."""
    guards: tuple[Guard, ...]
    """Those that failed, those that take most time, then one of each that many layers have."""
    graph: tuple[Node, ...]
    """Whole, or left out."""
    transformed: tuple[Told, ...]
    """The transformed bytecode as `dis` prints it, a line each."""


class GuardKind(msgspec.Struct, frozen=True):
    """What a kind of guard is for."""

    name: Told
    protects: Told
    fact: Told
    """Where that can be looked up in torch's source."""


class Moment(msgspec.Struct, frozen=True):
    """A moment that the report speaks of."""

    moment: int
    walk: int
    where: Where
    instruction: Told
    source: Told
    """The line's text."""


class PhaseTime(msgspec.Struct, frozen=True):
    """What a phase that the compiler times took, in all its runs at that place."""

    depth: int
    """Phases around it; a phase comes behind the one in whose midst it is."""
    name: Told
    count: int
    nanoseconds: int
    own: int
    """Nanoseconds that no phase within it took."""


class FlameBox(msgspec.Struct, frozen=True):
    """A box of the flame graph: equal stacks are one."""

    depth: int
    left: float
    width: float
    """Parts of the whole. A box lies within the one above it."""
    kind: Told
    """`phase`, `frame` (a function that was traced) or `line`."""
    name: Told
    nanoseconds: int
    own: int


class CallCost(msgspec.Struct, frozen=True):
    """What calls cost that an entry has served: the median of those recorded, in nanoseconds."""

    name: Told
    """The function's."""
    entry: Told
    """Its compile id."""
    calls: int
    guards: int | None
    """As the compiler runs them, all together; null: not measured."""
    transformed: int | None
    """The code that runs in the function's place; null: not recorded."""
    graphs: int | None
    """In it."""


class CompileTimes(msgspec.Struct, frozen=True):
    """Where compile time went."""

    nanoseconds: int
    """Without what compile workers did meanwhile."""
    phases: tuple[PhaseTime, ...]
    flames: tuple[FlameBox, ...]
    """In rows; what took less than some thousandths is left out."""
    calls: tuple[CallCost, ...] = ()
    """What calls cost whose lookups were recorded, by entry; the first hundred."""


class Answer(msgspec.Struct, frozen=True):
    """The answer to a question that no other part of the report answers."""

    question: str
    """Its name, as a subcommand."""
    title: str
    lines: tuple[Told, ...]
    """As the command line prints them; the first 200."""


class Report(msgspec.Struct, frozen=True):
    """The whole report."""

    format: int
    """The version of these definitions."""
    about: About
    totals: Totals
    walks: tuple[Walk, ...]
    """Every compilation; of lookups and executions the first thousand."""
    timeline: Timeline
    causes: tuple[Cause, ...]
    """The causes of graph breaks, the most expensive first."""
    failed: tuple[Failed, ...]
    """In the order in which they failed."""
    fixed_sizes: tuple[FixedSize, ...]
    """In the order of their entries; the first thousand."""
    free_sizes: int
    """Sizes and numbers that are symbols in their entries."""
    skipped: tuple[Skipped, ...]
    recompiled: tuple[Recompiled, ...]
    """What took most time comes first."""
    entries: tuple[Entry, ...]
    guard_kinds: tuple[GuardKind, ...]
    """The kinds that are in the entries."""
    moments: tuple[Moment, ...]
    """The moments that the report speaks of, in order."""
    left_out: dict[str, int]
    """How many records of a part have no room in the report."""
    times: CompileTimes | None = None
    """Null: not recorded."""
    answers: tuple[Answer, ...] = ()
    """None when redacted: they are sentences with names in them."""
