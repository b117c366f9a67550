"""The views that `stepper query` offers: what is in a recording as tables with plain columns.

The schema of the file is made for writing fast: moments in runs, values as deltas, records as
msgpack. Nobody wants to ask SQL of that, and it may change. So the views are a face of their own:
declared here as SQL, each column with its meaning, and filled from the reader when a question names
them. The page docs/query-views.md is generated from this text.

Two things keep 100,000 rows cheap. Only the views that a question names are filled. And
`instructions`, the long one, is filled with numbers alone; its texts are joined from small tables
of calls and code objects, which SQLite leaves out where a question does not ask for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, pairwise, repeat
from typing import Any

from stepper.analysis.break_places import is_split
from stepper.analysis.collectives import begun, groups
from stepper.analysis.conditions import each_condition
from stepper.analysis.failures import failures
from stepper.analysis.stretches import stretches
from stepper.analysis.walks import Calls, compiled_again, lookup_checks, source_of
from stepper.model.cache import Verdict
from stepper.model.datum import text_of
from stepper.model.lookup import verdict_text
from stepper.model.trace import Attempt, Phase, Translation
from stepper.recording.moments import Run
from stepper.recording.reader import Recording
from stepper.recording.statements import statements

Row = tuple[Any, ...]

SCHEMA = """
-- Every frame that Dynamo was asked to compile, and each recorded lookup and execution.
CREATE TABLE frames (
    id INTEGER PRIMARY KEY,       -- what other views call `frame`
    phase TEXT,                   -- translate, lookup or execute
    compile_id TEXT,              -- Dynamo's, e.g. 0/1; of a lookup or an execution, the entry's
    function TEXT,                -- qualified name
    file TEXT,
    line INTEGER,                 -- first line of the function
    outcome TEXT,                 -- compiled, skipped, failed, cut off, running; hit, miss …
    reason TEXT,                  -- why it was skipped, failed or missed
    recompile_reason TEXT,        -- Dynamo's words on why an earlier entry did not match
    resume_of TEXT,               -- of a resume function: the function that it continues
    wraps TEXT,                   -- of what a decorator made: the function that it is around
    first_moment INTEGER,
    last_moment INTEGER,
    attempts INTEGER,             -- runs of the symbolic interpreter, 1 without a restart
    instructions INTEGER,         -- in all attempts
    guards INTEGER,               -- that hold at the end
    nodes INTEGER,                -- in the final graph
    graph_breaks INTEGER,
    entries_before INTEGER,       -- cache entries that the code had before
    seconds REAL,
    thread TEXT,
    level INTEGER,                -- 0: called from the program; 1: while another was under way …
    caller TEXT,                  -- the program's innermost frame, file:line in function
    by_hand INTEGER               -- 1: the user asked for it at a stop
);

-- Symbolic frames: the translated function itself (depth 0) and each inlined call.
CREATE TABLE calls (
    id INTEGER PRIMARY KEY,
    frame INTEGER,                -- frames.id
    attempt INTEGER,              -- 1, 2, … within the frame
    parent INTEGER,               -- calls.id of the caller
    depth INTEGER,
    function TEXT,
    file TEXT,
    line INTEGER,                 -- first line of the function
    first_moment INTEGER,
    last_moment INTEGER,
    call_moment INTEGER,          -- the caller's instruction
    nanoseconds INTEGER           -- with all that it called; NULL: not known
);

-- Each instruction interpreted, in order.
CREATE TABLE instructions (
    moment INTEGER PRIMARY KEY,
    frame INTEGER,                -- frames.id
    attempt INTEGER,              -- 1, 2, … within the frame
    call INTEGER,                 -- calls.id
    depth INTEGER,                -- 0: the translated function itself
    function TEXT,
    file TEXT,
    line INTEGER,
    ip INTEGER,                   -- index of the instruction in the code
    opname TEXT,
    arg TEXT,                     -- its argument in words
    instant INTEGER,              -- before it, in nanoseconds on the clock of timings.began
    nanoseconds INTEGER           -- that it took, up to the next one; NULL: not known
);

-- Each guard that was installed while tracing, and each condition on sizes.
CREATE TABLE guards (
    id INTEGER,                   -- the guard's number; of conditions on sizes, their guard's
    frame INTEGER,                -- frames.id
    attempt INTEGER,              -- 1, 2, … within the frame
    moment INTEGER,               -- whose instruction made Dynamo install it, or decided it
    kind TEXT,                    -- GuardBuilder's method, e.g. TENSOR_MATCH
    source TEXT,                  -- the guarded expression; empty: global state
    scope TEXT,                   -- local, global …
    code TEXT,                    -- what it checks, one expression a line
    user_line TEXT,               -- file:line in function of the program that caused it
    withdrawn INTEGER,            -- the moment at which it was taken back; NULL: it holds
    final INTEGER,                -- 1: of the attempt that became a cache entry, and it holds
    nanoseconds INTEGER           -- to make it when the entry was made; NULL: not recorded
);

-- Each node of the FX graphs.
CREATE TABLE nodes (
    id INTEGER PRIMARY KEY,
    frame INTEGER,                -- frames.id
    attempt INTEGER,              -- 1, 2, … within the frame
    moment INTEGER,               -- whose instruction made it
    graph TEXT,                   -- empty: the main graph; else a higher-order op's subgraph
    position REAL,                -- sorts a graph's nodes into graph order
    name TEXT,
    op TEXT,                      -- placeholder, call_function …
    target TEXT,
    args TEXT,
    dtype TEXT,                   -- of the example value, when it is a tensor
    shape TEXT,                   -- e.g. 2, s0, 3
    device TEXT,
    source TEXT,                  -- of a placeholder: where its value comes from
    erased INTEGER,               -- the moment at which it was removed; NULL: it stays
    final INTEGER,                -- 1: of the attempt that counted, and it stays
    nanoseconds INTEGER           -- of the instruction that made it; NULL: not known
);

-- What became known about sizes and numbers, step by step.
CREATE TABLE shapes (
    id INTEGER PRIMARY KEY,
    frame INTEGER,                -- frames.id
    attempt INTEGER,              -- 1, 2, … within the frame
    moment INTEGER,               -- whose instruction asked
    kind TEXT,                    -- symbol, shared, zero-one, static, unbacked, guard …
    symbol TEXT,                  -- e.g. s77; empty: it is about an expression
    expression TEXT,              -- what holds, or what the symbol is now
    hint TEXT,                    -- the value at hand
    low TEXT,
    high TEXT,                    -- the range, both ends included
    source TEXT,                  -- what the symbol stands for, e.g. L['x'].size()[0]
    why TEXT,                     -- why it is a symbol: dynamic=True, automatic …
    reason TEXT,                  -- the compiler's words, where a symbol was replaced
    stage TEXT,                   -- tracing, AOTAutograd, Inductor, guards
    late TEXT,                    -- backward, later: when no guard could be made of it any more
    node TEXT,                    -- FX node whose example value was being computed
    target TEXT,                  -- what that node calls
    user_line TEXT,               -- file:line in function of the program
    asked_by TEXT                 -- the compiler's own frame that asked
);

-- Each graph break that Dynamo acted upon.
CREATE TABLE graph_breaks (
    id INTEGER PRIMARY KEY,
    frame INTEGER,                -- frames.id
    attempt INTEGER,              -- 1, 2, … within the frame
    moment INTEGER,               -- of the instruction that caused it
    type TEXT,                    -- Dynamo's name for this kind
    reason TEXT,                  -- Dynamo's message, whole
    explanation TEXT,
    hints TEXT,                   -- one a line
    function TEXT,                -- of the instruction
    file TEXT,
    line INTEGER,
    resumes INTEGER,              -- 1: compiled in parts; 0: the whole frame runs uncompiled
    user_stack TEXT               -- outermost first, one frame a line
);

-- Each compilation that failed.
CREATE TABLE failures (
    id INTEGER PRIMARY KEY,
    frame INTEGER,                -- frames.id; NULL: it failed outside of one
    compile_id TEXT,
    name TEXT,                    -- of the function
    stage TEXT,                   -- lookup, tracing, guards, AOTAutograd, backend, torch.export …
    exception TEXT,               -- its class
    message TEXT,                 -- Dynamo's words, whole
    moment INTEGER,               -- of the instruction to blame, or of the last one
    certain INTEGER,              -- 1: that instruction is known to be to blame
    function TEXT,                -- of that instruction
    file TEXT,
    line INTEGER,
    node TEXT,                    -- FX node that was being run or lowered
    raised TEXT                   -- of the traceback, outermost first, one frame a line
);

-- What the compiler times of itself, when it has ended; nested as it was. Besides its own names:
-- `guard.TENSOR_MATCH`, what it took to make a guard of that kind; `dynamo.fake_tensors`, a node's
-- result; `dynamo.codegen`, `dynamo.side_effects` (in it `dynamo.side_effect`, one of them) and
-- `dynamo.assemble`, the making of bytecode;
-- `wait.compile_lock` and `wait.file_lock`; `python.gc`; and of calls, with --lookups,
-- `run.transformed_code` and in its midst `run.graph`, where `frame` is the lookup that was a hit.
CREATE TABLE timings (
    id INTEGER PRIMARY KEY,       -- in the order in which they began
    frame INTEGER,                -- frames.id, of the innermost that was under way
    name TEXT,                    -- the compiler's, e.g. bytecode_tracing; see above
    parent INTEGER,               -- timings.id of that in whose midst it was
    began INTEGER,                -- nanoseconds on a clock that stands still at stops
    nanoseconds INTEGER,
    moment INTEGER,               -- the newest when it began
    thread TEXT,                  -- empty: the main thread
    left_out INTEGER,             -- nanoseconds at stops and of stepper's own, not in nanoseconds
    kernels INTEGER               -- how many the backend has counted while it generated code
);

-- Each collective of torch.distributed, and each message to one rank, that the process has begun,
-- as torch's flight recorder has it.
CREATE TABLE collectives (
    id INTEGER,                   -- in the order in which they were begun, by backend
    backend TEXT,                 -- of the flight recorder: nccl, or gloo for all others
    process_group TEXT,           -- torch's name, the same in all its processes
    description TEXT,             -- what the program calls the group
    number INTEGER,               -- 1, 2, … in the group: the same in ranks that do the same
    single INTEGER,               -- 1: a message to one rank; they have numbers of their own
    name TEXT,                    -- all_reduce, barrier …
    inputs TEXT,                  -- types and shapes of the tensors
    outputs TEXT,
    began REAL,                   -- seconds since the epoch
    ended REAL,                   -- NULL: torch does not say, as with gloo, or it was not over
    over INTEGER,                 -- 1: it was over, or had failed, when it was looked at last
    caller TEXT,                  -- file:line in function of the program
    members TEXT                  -- ranks of the group
);

-- Each compilation of a function that has cache entries already, tried or refused.
CREATE TABLE recompilations (
    frame INTEGER PRIMARY KEY,    -- frames.id of the new compilation
    compile_id TEXT,
    function TEXT,
    file TEXT,
    line INTEGER,
    entries INTEGER,              -- cache entries that did not match
    outcome TEXT,                 -- compiled; skipped when a limit was reached
    reason TEXT,                  -- Dynamo's words
    lookup INTEGER,               -- frames.id of the lookup that found no entry, when recorded
    caller TEXT,                  -- file:line in function of the program
    seconds REAL
);

-- Each lookup in the cache; recorded with --lookups.
CREATE TABLE lookups (
    frame INTEGER PRIMARY KEY,    -- frames.id
    function TEXT,
    outcome TEXT,                 -- hit, miss; skipped: nothing matched, nothing was compiled
    entry TEXT,                   -- compile id of the entry that matched
    entries INTEGER,              -- entries that were tried
    checks INTEGER,               -- guards that were run
    nanoseconds INTEGER,          -- what those guards take, without getting to their values
    reason TEXT,                  -- of each entry that did not match
    caller TEXT,                  -- file:line in function of the program
    first_moment INTEGER,
    last_moment INTEGER
);

-- Each guard that was run in a recorded lookup.
CREATE TABLE checks (
    moment INTEGER PRIMARY KEY,
    lookup INTEGER,               -- frames.id
    entry TEXT,                   -- compile id
    place INTEGER,                -- 0, 1, … in the order of the entry
    kind TEXT,                    -- name of the leaf guard, e.g. TENSOR_MATCH
    source TEXT,                  -- the guarded expression, when the check names one
    checks TEXT,                  -- the check in words
    expected TEXT,
    actual TEXT,
    verdict TEXT,                 -- pass, FAIL or unknown
    differs TEXT,                 -- in what the value is not as wanted
    nanoseconds INTEGER,          -- what it takes, without getting to the value; NULL: not known
    user_line TEXT                -- file:line in function of what caused it, and the line
);

-- What the compiler knew of each value: a row for each description of each tracker. In SQL the name
-- stands in double quotes.
CREATE TABLE "values" (
    frame INTEGER,                -- frames.id
    attempt INTEGER,              -- 1, 2, … within the frame
    tracker INTEGER,              -- number of the VariableTracker within the session
    moment INTEGER,               -- from which on it is described so
    class TEXT,                   -- of the tracker, e.g. TensorVariable
    type TEXT,                    -- the Python type that it stands for
    text TEXT,                    -- short form
    source TEXT,                  -- where it comes from, e.g. L['x']; empty: made while tracing
    constant TEXT,
    dtype TEXT,
    shape TEXT,                   -- e.g. 2, s0, 3
    device TEXT,
    requires_grad INTEGER,
    node TEXT,                    -- FX node that computes it
    mutability TEXT,
    length INTEGER,               -- children of a container
    lazy INTEGER                  -- 1 while a lazy tracker is not realized
);

-- Everything that happened, in order.
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    moment INTEGER,
    kind TEXT,                    -- guard, node, graph-break, restart, recompile …
    text TEXT,
    ref INTEGER,                  -- id in the view of its kind
    call INTEGER                  -- calls.id
);
"""

_TABLE = re.compile(r'CREATE TABLE "?(\w+)"? \(\n(.*?)^\);', re.MULTILINE | re.DOTALL)

COLUMNS: dict[str, tuple[str, ...]] = {
    name: tuple(line.split()[0] for line in body.splitlines())
    for name, body in _TABLE.findall(SCHEMA)
}
"""The columns of each view."""

PARTS = """
CREATE TABLE _moment (moment INTEGER PRIMARY KEY, call INTEGER, ip INTEGER, instant INTEGER);
CREATE TABLE _end (moment INTEGER PRIMARY KEY);
CREATE TABLE _call (
    id INTEGER PRIMARY KEY, frame INTEGER, attempt INTEGER, depth INTEGER, code INTEGER,
    traced INTEGER
);
CREATE TABLE _code (id INTEGER PRIMARY KEY, function TEXT, file TEXT);
CREATE TABLE _instruction (
    code INTEGER, ip INTEGER, opname TEXT, arg TEXT, line INTEGER, PRIMARY KEY (code, ip)
) WITHOUT ROWID;
CREATE VIEW instructions AS
    SELECT m.moment, c.frame, c.attempt, m.call, c.depth, o.function, o.file, i.line, m.ip,
           i.opname, i.arg, m.instant,
           CASE WHEN c.traced AND e.moment IS NULL THEN n.instant - m.instant END AS nanoseconds
    FROM _moment m LEFT JOIN _call c ON c.id = m.call LEFT JOIN _code o ON o.id = c.code
         LEFT JOIN _instruction i ON i.code = c.code AND i.ip = m.ip
         LEFT JOIN _moment n ON n.moment = m.moment + 1 LEFT JOIN _end e ON e.moment = m.moment;
"""
"""What `instructions` is made of."""


def tables() -> Iterator[str]:
    """The statements that make all views, empty."""
    for statement in statements(SCHEMA):
        if "CREATE TABLE instructions" not in statement:
            yield statement
    yield from statements(PARTS)


class RecordingViews:
    """What a question can ask of a recording."""

    columns = COLUMNS
    """The columns of each view."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self.path = recording.path

    def tables(self) -> Iterator[str]:
        """The statements that make all views, empty."""
        return tables()

    def rows(self, names: set[str]) -> Iterator[tuple[str, Iterator[Row]]]:
        """The rows of some tables."""
        return ((name, fill(self._recording)) for name, fill in FILLERS.items() if name in names)


def _frames(recording: Recording) -> Iterator[Row]:
    for item in recording.translations():
        yield (
            item.id, str(item.phase), item.compile_id, item.name, item.filename, item.line,
            str(item.outcome), item.reason, item.recompile_reason, item.resume_of, item.wraps,
            item.first_moment, item.last_moment, item.attempts, item.instructions, item.guards,
            item.nodes, item.graph_breaks, item.cache_size, item.seconds, item.thread, item.level,
            caller(item), item.by_hand,
        )  # fmt: skip


def caller(item: Translation) -> str:
    """`file:line in function` of the program's frame that made the call; empty: there is none."""
    return str(item.python_stack[-1]) if item.python_stack else ""


def _calls(recording: Recording) -> Iterator[Row]:
    for attempt in recording.attempts():
        first, last = attempt.first_moment, attempt.last_moment
        instants = recording.instants(first, last) if last is not None and last >= first else []
        for each in recording.frames(attempt.id):
            code = recording.code(each.code)
            begin, over = each.first_moment - first, (each.last_moment or 0) + 1 - first
            known = 0 <= begin < over < len(instants)
            yield (
                each.id, attempt.translation, attempt.number, each.parent, each.depth, code.label,
                code.filename, code.first_line, each.first_moment, each.last_moment,
                each.call_moment, instants[over] - instants[begin] if known else None,
            )  # fmt: skip


def _moment_parts(recording: Recording) -> Iterator[Row]:
    runs = recording.runs(recording.oldest, recording.newest)
    return chain.from_iterable(map(_moments_of, runs))


def _moments_of(run: Run) -> Iterable[Row]:
    count = len(run.frames)
    numbers = range(run.first, run.first + count)
    instants = run.clock.between(run.first, run.first + count - 1) or repeat(None, count)
    return zip(numbers, run.frames, run.ips, instants, strict=True)


def _ends(recording: Recording) -> Iterator[Row]:
    """The last moments of attempts: what came next was another's."""
    return ((moment,) for moment in {each.last_moment for each in recording.attempts()} - {None})


def _call_parts(recording: Recording) -> Iterator[Row]:
    phases = {item.id: item.phase for item in recording.translations()}
    for attempt in recording.attempts():
        for each in recording.frames(attempt.id):
            traced = phases[attempt.translation] is Phase.TRANSLATE
            yield each.id, attempt.translation, attempt.number, each.depth, each.code, traced


def _code_parts(recording: Recording) -> Iterator[Row]:
    return ((code.id, code.label, code.filename) for code in recording.codes())


def _instruction_parts(recording: Recording) -> Iterator[Row]:
    for code in recording.codes():
        for each in code.instructions:
            yield code.id, each.index, each.opname, each.argrepr, each.line


def _guards(recording: Recording) -> Iterator[Row]:
    final = _final_attempts(recording)
    frames = {item.id: item for item in recording.translations()}
    made = {each.guard: each.nanoseconds for each in recording.timings() or ()}
    for attempt in recording.attempts():
        installed = recording.guards_installed(attempt.id)
        for each in each_condition(recording, frames[attempt.translation], installed, attempt.id):
            yield (
                each.id, attempt.translation, attempt.number, each.moment, each.kind, each.source,
                each.scope, "\n".join(each.code), str(each.user_line or ""), each.withdrawn,
                int(attempt.id in final and each.withdrawn is None), made.get(each.id),
            )  # fmt: skip


def _nodes(recording: Recording) -> Iterator[Row]:
    final = _final_attempts(recording)
    for attempt in recording.attempts():
        took = _took(recording, attempt)
        for each in recording.nodes_made(attempt.id):
            meta = each.meta
            yield (
                each.id, attempt.translation, attempt.number, each.moment, each.graph, each.rank,
                each.name, each.op, each.target, each.args, meta.dtype if meta else None,
                ", ".join(meta.shape) if meta and meta.shape is not None else None,
                meta.device if meta else None, each.source, each.erased,
                int(attempt.id in final and each.erased is None), took.get(each.moment),
            )  # fmt: skip


def _took(recording: Recording, attempt: Attempt) -> dict[int, int]:
    """The nanoseconds of each instruction of an attempt, but for the last, up to the next."""
    first, last = attempt.first_moment, attempt.last_moment
    instants = recording.instants(first, last) if last is not None and last >= first else []
    return dict(enumerate((b - a for a, b in pairwise(instants)), first))


def _shapes(recording: Recording) -> Iterator[Row]:
    for attempt in recording.attempts():
        late = recording.late_shape_steps(attempt.id)
        for each in (*recording.shape_steps(None, attempt=attempt.id), *late):
            yield (
                each.id, attempt.translation, attempt.number, each.moment, str(each.kind),
                each.symbol, each.expression, each.hint, each.low, each.high, each.source,
                str(each.why), each.reason, str(each.stage), str(each.late), each.node, each.target,
                str(each.program_stack[-1]) if each.program_stack else "",
                str(each.asked_by[0]) if each.asked_by else "",
            )  # fmt: skip


def _final_attempts(recording: Recording) -> set[int]:
    """The attempts that became cache entries: the last of each compiled frame."""
    last = {attempt.translation: attempt.id for attempt in recording.attempts()}
    return {
        last[item.id]
        for item in recording.translations()
        if item.phase is Phase.TRANSLATE and item.outcome == "compiled" and item.id in last
    }


def _graph_breaks(recording: Recording) -> Iterator[Row]:
    for each in recording.graph_breaks():
        attempt = recording.attempt(each.attempt)
        splits = int(is_split(each, recording.translation(attempt.translation)))
        function = file = line = None
        if recording.has(each.moment):
            moment = recording.moment(each.moment)
            code = recording.code(recording.frame(moment.frame).code)
            function, file = code.label, code.filename
            line = code.instructions[moment.ip].line
        yield (
            each.id, attempt.translation, attempt.number, each.moment, each.gb_type, each.reason,
            each.explanation, "\n".join(each.hints), function, file, line, splits,
            "\n".join(map(str, each.user_stack)),
        )  # fmt: skip


def _failures(recording: Recording) -> Iterator[Row]:
    for number, each in enumerate(failures(recording), 1):
        failure, item, place = each.failure, each.translation, each.place
        yield (
            number, item.id if item else None, each.compile_id, each.name, str(failure.stage),
            failure.exception, failure.message, each.moment, int(each.certain),
            place.function if place else None, place.filename if place else None,
            place.line if place else None, failure.node, "\n".join(map(str, failure.raised)),
        )  # fmt: skip


def _timings(recording: Recording) -> Iterator[Row]:
    for each in recording.timings() or ():
        yield (
            each.id, each.translation, each.name, each.parent, each.began, each.nanoseconds,
            each.moment, each.thread, each.left_out, each.kernels,
        )  # fmt: skip


def _collectives(recording: Recording) -> Iterator[Row]:
    known = {(each.backend, each.id): each for each in groups(recording)}
    for each, stack in begun(recording):
        group = known.get((each.backend, each.group))
        yield (
            each.id, each.backend, group.name if group else "", group.description if group else "",
            each.number, int(each.single), each.name, ", ".join(each.inputs),
            ", ".join(each.outputs), each.began / 1e9, each.ended / 1e9 if each.ended else None,
            int(each.over), str(stack[-1]) if stack else "",
            ", ".join(map(str, group.ranks)) if group else "",
        )  # fmt: skip


def _recompilations(recording: Recording) -> Iterator[Row]:
    calls = Calls(recording)
    for each in compiled_again(recording):
        lookup = calls.before(each)
        yield (
            each.id, each.compile_id, each.name, each.filename, each.line, each.cache_size,
            str(each.outcome), each.recompile_reason, lookup.id if lookup else None, caller(each),
            each.seconds,
        )  # fmt: skip


def _lookups(recording: Recording) -> Iterator[Row]:
    for item in recording.translations():
        if item.phase is Phase.LOOKUP:
            checks = list(lookup_checks(recording, item))
            yield (
                item.id, item.name, str(item.outcome), item.compile_id or None,
                len({each.entry for each in checks}), len(checks),
                sum(each.check.nanoseconds or 0 for each in checks), item.reason, caller(item),
                item.first_moment, item.last_moment,
            )  # fmt: skip


def _checks(recording: Recording) -> Iterator[Row]:
    for item in recording.translations():
        if item.phase is Phase.LOOKUP:
            for entry, guard, check in lookup_checks(recording, item):
                yield (
                    check.moment, item.id, entry, check.place, guard.kind, source_of(guard),
                    guard.text, text_of(guard.expected), text_of(check.actual),
                    verdict_text(check.verdict),
                    check.failure(guard) if check.verdict is Verdict.FAIL else "",
                    check.nanoseconds,
                    "" if guard.user_line is None else str(guard.user_line),
                )  # fmt: skip


def _values(recording: Recording) -> Iterator[Row]:
    for attempt in recording.attempts():
        if recording.translation(attempt.translation).phase is Phase.LOOKUP:
            continue  # its values are words about checks
        for moment, tracker, each in recording.descriptions(attempt.id):
            meta = each.tensor
            yield (
                attempt.translation, attempt.number, tracker, moment, each.cls, each.type,
                each.text, each.source, each.constant, meta.dtype if meta else None,
                ", ".join(meta.shape) if meta and meta.shape is not None else None,
                meta.device if meta else None, int(meta.requires_grad) if meta else None,
                each.node, each.mutability, each.length, int(each.lazy),
            )  # fmt: skip


def _events(recording: Recording) -> Iterator[Row]:
    for each in recording.events():
        yield each.id, each.moment, str(each.kind), each.text, each.ref, each.frame


FILLERS: dict[str, Callable[[Recording], Iterator[Row]]] = {
    "frames": _frames,
    "calls": _calls,
    "guards": _guards,
    "nodes": _nodes,
    "shapes": _shapes,
    "graph_breaks": _graph_breaks,
    "failures": _failures,
    "timings": _timings,
    "collectives": _collectives,
    "recompilations": _recompilations,
    "lookups": _lookups,
    "checks": _checks,
    "values": _values,
    "events": _events,
    "_moment": _moment_parts,
    "_end": _ends,
    "_call": _call_parts,
    "_code": _code_parts,
    "_instruction": _instruction_parts,
    "_stretch": stretches,
}
"""What fills each table."""
