"""The layout of a recording, as the SQL that creates it.

The documentation page is generated from this text.

Rules. Moments are numbered 1, 2, 3 … without a hole. They are stored in runs: a row of `moments`
holds all that were committed together, some thousands or just one, since a row for each would cost
the program more than everything else that is written of it. What there are thousands of besides
(descriptions, guards, nodes, events) is stored in runs, too. A run's bytes, and those of
`guard_codes`, are compressed as zlib does it where they begin with `0x78`: short ones are not.
State is stored as deltas with keyframes: a moment's delta says what changed since the moment before
*in the same frame*, `keyframe.state` holds the whole state every few hundred moments, so any moment
is rebuilt in bounded time. No index is built while recording: rows are appended in the order of
moments, so a reader finds a moment's rows by bisecting on the id. Binary columns are msgpack of the
types named beside them; enumerations are the text of `stepper.model`.

Bump VERSION with every change that an older reader would misread, and say it in HISTORY.
"""

from __future__ import annotations

from typing import Any

import msgspec

from stepper.model.program import PythonFrame
from stepper.model.trace import EventKind
from stepper.model.value import ValueId

APPLICATION_ID = 0x53545052
"""`STPR`, in `PRAGMA application_id`."""

VERSION = 16
"""In `PRAGMA user_version`. Files of versions that HISTORY does not name cannot be read."""

HISTORY = {
    16: "How long what was compiled ran stands in `run_times`; in 15 each run had a row in "
    "`timing`.",
    15: "What a run of events holds is counted beside it: `earliest`, `latest` and `kinds` of "
    "`events`. In 14 each must be decoded for that.",
    14: "Where in the program cache entries ended stands in `entry_end`. In 13 only the texts of "
    "their events say it, which nobody reads as data.",
    13: "What it took to make guards stands in `guards_made`; in 12 each had a row in `timing`.",
    12: "Lookups that found what an earlier one has found stand in `repeated_lookups`. Files of "
    "format 11 have none of it.",
    11: "What is stored in runs is compressed, and so is `guard_codes`; in 10 it was not.",
    10: "What became known about sizes when an attempt was over stands in `late_shape_step`. Files "
    "of format 9 have none of it.",
    9: "What torch's flight recorder says of collectives stands in `collective_reading`. Files of "
    "format 8 have none of it.",
    8: "Moments have their instants, and what the compiler times of itself stands in `timing`. "
    "Files of format 7 have no times.",
    7: "What a lookup's checks found is data, in the tables `guard_program` and `tried`; in 6 it "
    "was words, cut to 300 characters. Likewise frames that were never begun with, in "
    "`skipped_frame`, and that a walk was made by hand. The facts hold the engine's capabilities. "
    "What became known about sizes is told, in `shape_step`, and what made compilations fail, in "
    "`failure`.",
}

LATER = {
    "timing": 8, "collective_reading": 9, "late_shape_step": 10, "repeated_lookups": 12,
    "guards_made": 13, "entry_end": 14, "events.earliest": 15, "events.latest": 15,
    "events.kinds": 15, "run_times": 16,
}  # fmt: skip
"""The version since which there is a table or a column, for those that not all versions have that
are read."""

EVENT_KINDS = tuple(EventKind)
"""In the order in which `events.kinds` counts them."""

MOST_TOGETHER = 65_536
"""No run is longer, so that reading one takes milliseconds, whoever wrote
it."""

SCHEMA = """
-- One row: what this is a recording of.
CREATE TABLE session (
    facts BLOB NOT NULL,          -- msgpack of SessionFacts
    ended TEXT                    -- 'exit', or how it ended otherwise; NULL: running
);

-- Code objects, each once.
CREATE TABLE code (
    id INTEGER PRIMARY KEY,
    body BLOB NOT NULL            -- msgpack of Code
);

-- One row for each frame that Dynamo was asked to compile, and for each lookup and execution.
CREATE TABLE translation (
    id INTEGER PRIMARY KEY,
    body BLOB NOT NULL            -- msgpack of Translation; replaced when it ends
);

-- One row for each run of the symbolic interpreter over a translation's frame.
CREATE TABLE attempt (
    id INTEGER PRIMARY KEY,
    translation INTEGER NOT NULL,
    number INTEGER NOT NULL,          -- 1, 2, ...
    first_moment INTEGER NOT NULL,    -- the number that its first moment has
    last_moment INTEGER,              -- NULL while it runs
    restart_reason TEXT NOT NULL      -- '' unless it was thrown away
);

-- Symbolic frames: the translated frame (depth 0) and inlined calls. Frames of other walks.
CREATE TABLE frame (
    id INTEGER PRIMARY KEY,
    attempt INTEGER NOT NULL,
    parent INTEGER,                   -- frame that made the call
    depth INTEGER NOT NULL,
    code INTEGER NOT NULL,
    first_moment INTEGER NOT NULL,
    last_moment INTEGER,              -- NULL while it runs
    call_moment INTEGER               -- moment in the parent whose instruction made the call
);

-- The instants before each interpreted instruction, in order.
CREATE TABLE moments (
    first INTEGER PRIMARY KEY,        -- number of the run's first moment
    count INTEGER NOT NULL,           -- how many there are, at least 1 and at most 65,536
    body BLOB NOT NULL                -- msgpack of Moments
);

-- The whole state at some moments.
CREATE TABLE keyframe (
    moment INTEGER PRIMARY KEY,
    state BLOB NOT NULL               -- msgpack of Keyframe
);

-- Descriptions of VariableTrackers and other values, each text once; in runs, as moments are.
CREATE TABLE descriptions (
    first INTEGER PRIMARY KEY,        -- number of the run's first; negative: of a walk's value
    count INTEGER NOT NULL,           -- how many there are, at least 1 and at most 65,536
    body BLOB NOT NULL                -- msgpack list of bytes, each msgpack of Value
);

-- Guards in the order in which they were installed; in runs, as moments are.
CREATE TABLE guards (
    first INTEGER PRIMARY KEY,        -- number of the run's first guard
    count INTEGER NOT NULL,           -- how many there are, at least 1 and at most 65,536
    moment INTEGER NOT NULL,          -- whose instruction installed the first
    last_moment INTEGER NOT NULL,     -- whose instruction installed the last
    body BLOB NOT NULL                -- msgpack of Guards
);

-- Guards that Dynamo took back.
CREATE TABLE guard_withdrawn (
    guard INTEGER PRIMARY KEY,        -- its number
    moment INTEGER NOT NULL           -- whose instruction made Dynamo take it back
);

-- What the guards of a translation check, once they are built.
CREATE TABLE guard_codes (
    translation INTEGER PRIMARY KEY,
    body BLOB NOT NULL                -- msgpack map of a guard's number to list of texts
);

-- FX nodes in the order in which they were made; in runs, as moments are.
CREATE TABLE nodes (
    first INTEGER PRIMARY KEY,        -- number of the run's first node; the others' are greater
    count INTEGER NOT NULL,           -- how many there are, at least 1 and at most 65,536
    moment INTEGER NOT NULL,          -- whose instruction made the first, or gave it its name
    last_moment INTEGER NOT NULL,     -- whose instruction made the last, or gave it its name
    body BLOB NOT NULL                -- msgpack list of Node (their erased fields are not used)
);

-- Nodes that were removed, or went on as others: under another name, or in another place.
CREATE TABLE node_erased (
    node INTEGER PRIMARY KEY,         -- its number
    moment INTEGER NOT NULL           -- whose instruction removed it
);

-- Buffered mutations.
CREATE TABLE side_effect (
    id INTEGER PRIMARY KEY,
    attempt INTEGER NOT NULL,
    moment INTEGER NOT NULL,
    body BLOB NOT NULL                -- msgpack of SideEffect
);

-- What became known about sizes.
CREATE TABLE shape_step (
    id INTEGER PRIMARY KEY,
    attempt INTEGER NOT NULL,
    moment INTEGER NOT NULL,
    body BLOB NOT NULL                -- msgpack of ShapeStep
);

-- What became known about sizes when the attempt was over: while a backward was compiled, mostly.
-- Not in older files.
CREATE TABLE late_shape_step (
    id INTEGER PRIMARY KEY,
    attempt INTEGER NOT NULL,
    moment INTEGER NOT NULL,          -- the newest one then, whosever
    body BLOB NOT NULL                -- msgpack of ShapeStep
);

-- Graph breaks.
CREATE TABLE graph_break (
    id INTEGER PRIMARY KEY,
    attempt INTEGER NOT NULL,
    moment INTEGER NOT NULL,
    body BLOB NOT NULL                -- msgpack of GraphBreak
);

-- Exceptions that left the compiler and reached the program.
CREATE TABLE failure (
    id INTEGER PRIMARY KEY,
    moment INTEGER NOT NULL,
    body BLOB NOT NULL                -- msgpack of Failure
);

-- Phases that the compiler has timed of itself, when they have ended. Not in older files.
CREATE TABLE timing (
    id INTEGER PRIMARY KEY,
    moment INTEGER NOT NULL,
    body BLOB NOT NULL                -- msgpack of Timing
);

-- What it took to make the guards of entries, each a phase of its own; in runs, as moments are. Not
-- in older files.
CREATE TABLE guards_made (
    first INTEGER PRIMARY KEY,        -- number that the run's first phase has among all of timing
    count INTEGER NOT NULL,           -- how many there are, at least 1 and at most 65,536
    body BLOB NOT NULL                -- msgpack of GuardsMade
);

-- How long what was compiled ran at calls whose lookups are told, each run a phase of its own; in
-- runs, as moments are. Not in older files.
CREATE TABLE run_times (
    first INTEGER PRIMARY KEY,        -- number of the one that ended first, among all of timing
    count INTEGER NOT NULL,           -- how many there are, at least 1 and at most 65,536
    body BLOB NOT NULL                -- msgpack of RunTimes
);

-- Where in the program cache entries ended, if it was in the program. Not in older files.
CREATE TABLE entry_end (
    entry INTEGER NOT NULL,           -- its number
    moment INTEGER NOT NULL,          -- that of the event
    place BLOB NOT NULL               -- msgpack of PythonFrame
);

-- What torch's flight recorder said of collectives: one row for each time that it was looked at and
-- had something new. Not in older files.
CREATE TABLE collective_reading (
    id INTEGER PRIMARY KEY,
    moment INTEGER NOT NULL,          -- the newest one then
    body BLOB NOT NULL                -- msgpack of CollectiveReading
);

-- Frames that the compiler was asked for and never began with.
CREATE TABLE skipped_frame (
    id INTEGER PRIMARY KEY,
    moment INTEGER NOT NULL,          -- the newest one then
    body BLOB NOT NULL                -- msgpack of SkippedFrame
);

-- The guards of cache entries in the order in which they are checked; one row for each program of
-- guards, whose instructions are the code of the same number.
CREATE TABLE guard_program (
    code INTEGER PRIMARY KEY,
    body BLOB NOT NULL                -- msgpack list of CheckedGuard
);

-- What lookups found: one row for each entry that one tried.
CREATE TABLE tried (
    moment INTEGER PRIMARY KEY,       -- before it was tried
    body BLOB NOT NULL                -- msgpack of TriedEntry
);

-- Lookups that found what an earlier one had found, so that all that is told of them is the same
-- but for numbers and times: neither their translations, attempts, frames and tried entries nor
-- keyframes have rows of their own. In runs, as moments are. Not in older files.
CREATE TABLE repeated_lookups (
    first INTEGER PRIMARY KEY,        -- number of the run's first translation; others are greater
    count INTEGER NOT NULL,           -- how many there are, at least 1 and at most 65,536
    body BLOB NOT NULL                -- msgpack of RepeatedLookups
);

-- Everything that happened, in order, to be filtered and searched; in runs, as moments are. What
-- runs hold is said beside them: how many events of each kind, in the order that EventKind has in
-- `stepper.model`, as numbers of four bytes of which the least comes first.
CREATE TABLE events (
    first INTEGER PRIMARY KEY,        -- number of the run's first event
    count INTEGER NOT NULL,           -- how many there are, at least 1 and at most 65,536
    earliest INTEGER NOT NULL,        -- the least of their moments; not in older files
    latest INTEGER NOT NULL,          -- the greatest of their moments; not in older files
    kinds BLOB NOT NULL,              -- four bytes for each kind; not in older files
    body BLOB NOT NULL                -- msgpack of Events
);

-- What the program wrote to its terminal; written by the front end that owns the terminal.
CREATE TABLE output (
    id INTEGER PRIMARY KEY,
    moment INTEGER NOT NULL,
    data TEXT NOT NULL
);
"""


class Moments(msgspec.Struct, frozen=True, array_like=True):
    """A run of consecutive moments, as four lists of the same length."""

    frames: list[int]
    """Ids in table `frame`."""
    ips: list[int]
    """Indices into the instructions of the frames' codes."""
    deltas: list[bytes | None]
    """msgpack of Delta; None: nothing changed in the frame."""
    clock: list[int] = []
    """The instant of the first, in nanoseconds of a clock that goes on only while the compiler
    works; then what has passed from one to the next. Empty in older files."""


class Guards(msgspec.Struct, frozen=True, array_like=True):
    """A run of guards with consecutive numbers, as lists of the same length, except the last."""

    attempts: list[int]
    """Ids in table `attempt`."""
    moments: list[int]
    """Whose instructions installed them; never decreasing."""
    kinds: list[str]
    """Each a GuardBuilder method."""
    sources: list[str]
    """The guarded expressions."""
    scopes: list[str]
    lines: list[int]
    """Places in `user_lines`."""
    user_lines: list[PythonFrame | None]
    """Lines of the user's code, each once: they are long, and few."""


class GuardsMade(msgspec.Struct, frozen=True, array_like=True):
    """Guards that were made one after the other: what `Timing` says of each, where lists are of the
    same length but for `kinds` and `clock`."""

    moment: int
    translation: int
    parent: int
    """The number of the phase in whose midst it was."""
    thread: str
    kinds: list[str]
    """Each once."""
    of_kinds: list[int]
    """Places in `kinds`."""
    guards: list[int]
    """Their numbers."""
    clock: list[int]
    """When the first began; then what each took."""
    left_out: list[int]


class RunTimes(msgspec.Struct, frozen=True, array_like=True):
    """Runs of what was compiled, in the order in which they ended: what `Timing` says of each, as
    lists of the same length."""

    ids: list[int]
    names: list[str]
    began: list[int]
    nanoseconds: list[int]
    moments: list[int]
    parents: list[int]
    """0: it was in the midst of none."""
    lookups: list[int]
    threads: list[str]
    left_out: list[int]


class RepeatedLookups(msgspec.Struct, frozen=True, array_like=True):
    """A run of repeated lookups, as lists of the same length."""

    translations: list[int]
    """Their numbers, and so the next three."""
    attempts: list[int]
    frames: list[int]
    """That of the first frame; the others' follow as in the lookup that is repeated."""
    moments: list[int]
    """The first one, likewise."""
    repeats: list[int]
    """The translation that each repeats, which has a row of its own."""
    nanoseconds: list[int]
    """Between its beginning and its end."""


class Events(msgspec.Struct, frozen=True, array_like=True):
    """A run of events, as five lists of the same length."""

    moments: list[int]
    kinds: list[str]
    """Each an EventKind."""
    texts: list[str]
    refs: list[int | None]
    """Ids in the kind's own table."""
    frames: list[int | None]
    """Ids in table `frame`."""


class Delta(msgspec.Struct, frozen=True, array_like=True):
    """What changed in one frame since its previous moment (or since it was entered, empty).

    Elements at the end that have their default value may be left out.
    """

    keep: int = 0
    """How many stack entries, from the bottom, stayed."""
    push: tuple[ValueId, ...] = ()
    """The entries above them."""
    locals: dict[str, ValueId] | None = None
    """Locals that were set; 0: deleted."""
    values: tuple[tuple[ValueId, int], ...] = ()
    """Trackers described for the first time or anew, or seen again that the newest keyframe does
    not hold: (tracker, number in table `descriptions`)."""
    blocks: Any = None
    """The whole block stack as a list of Block, when it changed."""
    speculation: str | None = None
    """FrameState.speculation, when it changed."""


class FrameKey(msgspec.Struct, frozen=True, array_like=True):
    """One frame of a keyframe."""

    frame: int
    """Id in table `frame`."""
    ip: int
    """Index of its instruction: the next one in the innermost frame, the call in the others."""
    stack: tuple[ValueId, ...]
    """Bottom first."""
    locals: dict[str, ValueId]
    blocks: Any
    """A list of Block."""
    speculation: str


class Keyframe(msgspec.Struct, frozen=True, array_like=True):
    """The whole state at a moment, its delta already applied: frames outermost first, and the
    description of every tracker that is reachable from them."""

    frames: tuple[FrameKey, ...]
    values: dict[ValueId, int]
    """Tracker to number in table `descriptions`."""
