"""The writer: what lives in the debuggee and puts a session into its file.

What is called often appends to a list and nothing else. The moments themselves gather elsewhere
(csrc/record/steps.c), which asks for a commit when there are some thousands; they become one row.
A stop, the call of the backend, the end of a translation, that of a lookup or an execution when the
last commit was not just now, and at latest the first event after a second of quiet commit too, so
that a viewer is never far behind.

It never disturbs the program. When the disk is full it remembers why (`failed`), tells `on_failure`
once, and drops what comes after; what was committed stays readable. When another process holds the
write lock it keeps its rows, up to a limit, and tries again with the next batch. When the file is
deleted it goes on in a new one beside it.

Nor does the program disturb it. A Ctrl-C or a signal handler can raise at any instruction of what
is here, and then the program's exception goes on its way; but each row is in one place at any
time, and goes from one to the next by `at_once`: from where it gathers into the newest batch, and
with all of its batch, when that is committed, away. So what was interrupted is done next time.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from stepper._C import EventRun
from stepper.model.collective import CollectiveReading
from stepper.model.failure import Failure
from stepper.model.lookup import CheckedGuard, TriedEntry
from stepper.model.program import Code, PythonFrame
from stepper.model.shapes import ShapeStep
from stepper.model.timing import Timing
from stepper.model.trace import (
    Attempt,
    GraphBreak,
    Node,
    SessionFacts,
    SideEffect,
    SkippedFrame,
    Translation,
)
from stepper.recording.at_once import at_once
from stepper.recording.database import Database
from stepper.recording.errors import RecordingBusyError, RecordingError
from stepper.recording.packing import clean, compressed, pack
from stepper.recording.schema import EVENT_KINDS, GuardsMade
from stepper.recording.secrets import Secrets
from stepper.recording.waiting import RecordedGuards, guard_rows, node_rows, repeat_rows, run_rows
from stepper.support.debug_log import log

_QUIET = 1.0
"""Seconds after which an event commits what is waiting."""

_PAUSE = 0.05
"""Seconds between two commits for the ends of walks: one takes as long as some hundred moments."""

_ROWS = 16
"""That are inserted by one statement: SQLite takes twice as long over them one by one."""

_MOST_WAITING = 64 * 1024 * 1024
"""Bytes that may wait while another process holds the write lock, a million instructions or so."""

_LAST_TRIES = 5
"""How often the last rows are tried to be written, each a second long, when it is held."""

_MOMENTS = "INSERT INTO moments VALUES (?, ?, ?)"
_KEYFRAME = "INSERT INTO keyframe VALUES (?, ?)"
_CODE = "INSERT INTO code VALUES (?, ?)"
_DESCRIPTIONS = "INSERT INTO descriptions VALUES (?, ?, ?)"
_TRANSLATION = "INSERT OR REPLACE INTO translation VALUES (?, ?)"
_ATTEMPT = "INSERT OR REPLACE INTO attempt VALUES (?, ?, ?, ?, ?, ?)"
_FRAME = "INSERT INTO frame VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_GUARDS = "INSERT INTO guards VALUES (?, ?, ?, ?, ?)"
_GUARD_WITHDRAWN = "INSERT OR REPLACE INTO guard_withdrawn VALUES (?, ?)"
_GUARD_CODES = "INSERT OR REPLACE INTO guard_codes VALUES (?, ?)"
_NODES = "INSERT INTO nodes VALUES (?, ?, ?, ?, ?)"
_NODE_ERASED = "INSERT OR REPLACE INTO node_erased VALUES (?, ?)"
_SIDE_EFFECT = "INSERT INTO side_effect VALUES (?, ?, ?, ?)"
_SHAPE_STEP = "INSERT INTO shape_step VALUES (?, ?, ?, ?)"
_LATE_SHAPE_STEP = "INSERT INTO late_shape_step VALUES (?, ?, ?, ?)"
_GRAPH_BREAK = "INSERT INTO graph_break VALUES (?, ?, ?, ?)"
_FAILURE = "INSERT INTO failure VALUES (?, ?, ?)"
_TIMING = "INSERT INTO timing VALUES (?, ?, ?)"
_GUARDS_MADE = "INSERT INTO guards_made VALUES (?, ?, ?)"
_RUN_TIMES = "INSERT INTO run_times VALUES (?, ?, ?)"
_COLLECTIVES = "INSERT INTO collective_reading VALUES (?, ?, ?)"
_ENTRY_END = "INSERT INTO entry_end VALUES (?, ?, ?)"
_SKIPPED_FRAME = "INSERT INTO skipped_frame VALUES (?, ?, ?)"
_GUARD_PROGRAM = "INSERT INTO guard_program VALUES (?, ?)"
_TRIED = "INSERT INTO tried VALUES (?, ?)"
_REPEATS = "INSERT INTO repeated_lookups VALUES (?, ?, ?)"
_EVENTS = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)"
_LAST_MOMENT = 6
"""Place of the last moment in a row of `frame`."""
# After all inserts, since it changes rows that may wait in the same batch.
_FRAME_END = "UPDATE frame SET last_moment = ? WHERE id = ?"

_STATEMENTS = (
    _MOMENTS, _KEYFRAME, _CODE, _DESCRIPTIONS, _TRANSLATION, _ATTEMPT, _FRAME, _GUARDS,
    _GUARD_WITHDRAWN, _GUARD_CODES, _NODES, _NODE_ERASED, _SIDE_EFFECT, _SHAPE_STEP,
    _LATE_SHAPE_STEP, _GRAPH_BREAK, _FAILURE, _TIMING, _GUARDS_MADE, _RUN_TIMES, _COLLECTIVES,
    _ENTRY_END, _SKIPPED_FRAME, _GUARD_PROGRAM, _TRIED, _REPEATS, _EVENTS, _FRAME_END,
)  # fmt: skip


_RUNS = (
    _MOMENTS, _DESCRIPTIONS, _GUARDS, _GUARD_CODES, _NODES, _GUARDS_MADE, _RUN_TIMES, _REPEATS,
    _EVENTS,
)  # fmt: skip
"""Whose last column is compressed."""

Source = Callable[[], tuple[int | bytes, ...] | None]
"""Gives a run of what waits elsewhere, as a row: the first's number, how many there are, …, and
their body. It is written in C, or an interrupt could lose a run."""


def _nothing() -> None:
    return None


def _no_frames(rows: list[Any], ends: list[Any]) -> None:
    return None


Statement = tuple[str, Iterable[tuple[object, ...]]]
"""What to run, with the rows for it."""


class _Batch:
    """Rows that are committed together."""

    def __init__(self) -> None:
        # Values without tuples around them: a tuple for each row would wake the garbage collector.
        self.rows: dict[str, list[object]] = {sql: [] for sql in _STATEMENTS}
        self.frame_ends: dict[int, int] = {}
        """Where in their rows the frames have their last moment."""
        self.guards: list[RecordedGuards] = []
        self.nodes: list[Node] = []
        self.repeats: list[int] = []
        self.runs: list[int | str] = []

    def size(self) -> int:
        """About how many bytes it takes."""
        values = chain.from_iterable(self.rows.values())
        held = sum(8 + len(each) for each in values if isinstance(each, (bytes, str)))
        held += 200 * (len(self.nodes) + sum(len(told[2]) for told in self.guards))
        return held + 8 * (len(self.repeats) + len(self.runs))


def _rows_of(batches: Collection[_Batch]) -> dict[str, list[object]]:
    """All rows of some batches, in lists of their own, by what writes them and in that order."""
    rows: dict[str, list[object]] = {sql: [] for sql in _STATEMENTS}
    for batch in batches:
        for sql, values in batch.rows.items():
            rows[sql] += values
    rows[_GUARDS] += guard_rows(told for batch in batches for told in batch.guards)
    rows[_NODES] += node_rows([node for batch in batches for node in batch.nodes])
    rows[_REPEATS] += repeat_rows([value for batch in batches for value in batch.repeats])
    rows[_RUN_TIMES] += run_rows([value for batch in batches for value in batch.runs])
    return rows


class Writer:
    """Writes one recording. Not thread safe: the caller lets in one thread at a time."""

    failed: str
    """Empty, or why writing stopped; from then on everything is dropped."""
    on_failure: Callable[[str], None] | None
    """Told `failed`, once, at the moment when writing stops."""
    on_create: Callable[[], None] | None
    """Called when the recording has been created that was to be created later."""
    on_move: Callable[[str], None] | None
    """Told when the file was moved or deleted, and where the recording goes on: in `path`."""

    def __init__(self, path: str, facts: SessionFacts) -> None:
        """Create the recording `path`, which must not exist (or be empty).

        A writer never replaces a file: whoever wants that deletes the old recording first.

        Raises:
            RecordingError: something with that name exists, or the place cannot be written.
        """
        self._prepare(path)
        self._database: Database | None = self._created(facts)

    @classmethod
    def later(cls, path: str, facts: Callable[[], SessionFacts]) -> Writer:
        """A writer that creates the recording, and asks for its facts, when there is something to
        write; without that there is none. Where the name is taken by then, it takes another."""
        writer = cls.__new__(cls)
        writer._prepare(path)
        writer._facts = facts
        return writer

    def _prepare(self, path: str) -> None:
        self._secrets: Secrets | None = None
        self._database = None
        self._facts: Callable[[], SessionFacts] | None = None
        """To be asked when the recording is created; None: it has been, or is not going to be."""
        self._batches = [_Batch()]
        """What is handed in belongs to the last one; those before it are being committed."""
        self._refused = False
        self._committed = 0.0
        """When, by `time.monotonic`."""
        self.moments: Source = _nothing
        """Asked at each commit for the moments since the last one."""
        self.descriptions: Source = _nothing
        """Asked at each commit for the descriptions since the last one."""
        self.frames: Callable[[list[Any], list[Any]], object] = _no_frames
        """Asked at each commit for the frames that nobody hands in by `frame`: adds their rows, one
        after the other, to the one list, and to the other the last moments and numbers of those
        whose rows were taken before they ended."""
        self.before_commit: Callable[[], None] = _nothing
        """Called before each commit: the last chance to hand something in."""
        self._guards: list[RecordedGuards] = []
        self._nodes: list[Node] = []
        self.node = self._nodes.append
        """`node(node)`: an FX node, when it is made or gets another name (then as a new one)."""
        self._repeats: list[int] = []
        self.repeated_lookup = self._repeats.extend
        """`repeated_lookup((translation, attempt, frame, moment, repeats, nanoseconds))`: a lookup
        that is over and found what another one found; see the schema."""
        self._runs: list[int | str] = []
        self.run_took = self._runs.extend
        """`run_took((id, name, began, nanoseconds, moment, parent, lookup, thread, left_out))`: a
        run of what was compiled that has ended; see the schema."""
        self._events = EventRun(self.flush, _QUIET, EVENT_KINDS)
        self.event = self._events.add
        """`event(moment, kind, text, ref=None, frame=None)`: something that happened, in the order
        of moments."""
        self.event_late = self._events.add_late
        """`event` for something that is handed in after what came later, and before the next
        commit."""
        self.event_at = self._events.add_at
        """`event_at(steps, kind, text, ref)`: something that happened at the newest moment of a
        `stepper._C.Steps`."""
        self.path = path
        self.failed = ""
        self.on_failure = None
        self.on_create = None
        self.on_move = None

    def _created(self, facts: SessionFacts) -> Database:
        if not facts.secrets:
            self._secrets = Secrets()
            facts = self._secrets.facts(facts)
        first = ("INSERT INTO session VALUES (?, NULL)", (pack(facts),))
        return Database.create(self.path, [first])

    def _create(self, facts: Callable[[], SessionFacts]) -> None:
        """Create what was to be created later."""
        if os.path.lexists(self.path):
            self.path = _free_name(self.path)
            if self.on_move is not None:
                self.on_move(f"the recording is in {self.path}")
        self._database = self._created(facts())
        self._facts = None
        if self.on_create is not None:
            self.on_create()

    def _add(self, sql: str, *row: object) -> None:
        # The row is whole before the batch is looked up: making it can run anything, even a commit.
        self._batches[-1].rows[sql].extend(row)

    def value(self, id: int, body: bytes) -> None:
        """A description that does not come from `descriptions`: an encoded Value, under the number
        by which deltas refer to it."""
        self._add(_DESCRIPTIONS, id, 1, pack((body,)))

    def keyframe(self, moment: int, state: bytes) -> None:
        """The whole state at a moment, an encoded Keyframe."""
        self._add(_KEYFRAME, moment, state)

    def code(self, code: Code) -> None:
        """A code object, once."""
        self._add(_CODE, code.id, pack(code))

    def translation(self, t: Translation) -> None:
        """A translation, at its beginning and again, whole, at its end; who tells the end commits
        (`flush`, `flush_soon`)."""
        self._add(_TRANSLATION, t.id, pack(t))

    def attempt(self, a: Attempt) -> None:
        """An attempt, at its beginning and again at its end."""
        self._add(
            _ATTEMPT, a.id, a.translation, a.number, a.first_moment, a.last_moment,
            a.restart_reason,
        )  # fmt: skip

    def frame(
        self,
        id: int,
        attempt: int,
        parent: int | None,
        depth: int,
        code: int,
        first_moment: int,
        call_moment: int | None,
    ) -> None:
        """A symbolic frame, when it is entered: the fields of `stepper.model.trace.Frame`."""
        row = (id, attempt, parent, depth, code, first_moment, None, call_moment)
        batch = self._batches[-1]
        rows = batch.rows[_FRAME]
        rows.extend(row)
        batch.frame_ends[id] = len(rows) - len(row) + _LAST_MOMENT

    def frame_end(self, frame: int, last_moment: int) -> None:
        """A frame is left; `last_moment` is its own last one."""
        batch = self._batches[-1]
        # Without a call between the question and the change: a call can be interrupted by a commit.
        if frame in batch.frame_ends:
            batch.rows[_FRAME][batch.frame_ends[frame]] = last_moment
        else:
            batch.rows[_FRAME_END].extend((last_moment, frame))

    def guards(
        self,
        first: int,
        attempt: int,
        moments: Sequence[int],
        kinds: Sequence[str],
        sources: Sequence[str],
        scopes: Sequence[str],
        lines: Sequence[PythonFrame | None],
    ) -> None:
        """Guards of an attempt, when they are installed, by the columns of
        `stepper.model.trace.Guard`; the first has the number `first`, the next the one after it."""
        self._guards.append((first, attempt, moments, kinds, sources, scopes, lines))

    def guard_codes(self, translation: int, codes: Mapping[int, Sequence[str]]) -> None:
        """What a translation's guards check, by number, when they have been built."""
        self._add(_GUARD_CODES, translation, pack(codes))

    def guard_withdrawn(self, id: int, moment: int) -> None:
        """A guard is taken back by the instruction of `moment`."""
        self._add(_GUARD_WITHDRAWN, id, moment)

    def node_erased(self, id: int, moment: int) -> None:
        """A node is removed by the instruction of `moment`."""
        self._add(_NODE_ERASED, id, moment)

    def side_effect(self, s: SideEffect) -> None:
        """A buffered mutation."""
        self._add(_SIDE_EFFECT, s.id, s.attempt, s.moment, pack(s))

    def shape_step(self, s: ShapeStep) -> None:
        """Something that became known about sizes."""
        self._add(_LATE_SHAPE_STEP if s.late else _SHAPE_STEP, s.id, s.attempt, s.moment, pack(s))

    def graph_break(self, b: GraphBreak) -> None:
        """A graph break."""
        self._add(_GRAPH_BREAK, b.id, b.attempt, b.moment, pack(b))

    def failure(self, f: Failure) -> None:
        """A compilation that failed."""
        self._add(_FAILURE, f.id, f.moment, pack(f))

    def timing(self, t: Timing) -> None:
        """A phase of the compiler that has ended."""
        self._add(_TIMING, t.id, t.moment, pack(t))

    def guards_made(self, first: int, run: GuardsMade) -> None:
        """What it took to make guards; the first one's phase has that number, the next the one
        after it."""
        self._add(_GUARDS_MADE, first, len(run.guards), pack(run))

    def collectives(self, id: int, moment: int, reading: CollectiveReading) -> None:
        """What was new in torch's flight recorder."""
        self._add(_COLLECTIVES, id, moment, pack(reading))

    def entry_end(self, entry: int, moment: int, place: PythonFrame) -> None:
        """A cache entry has ended here in the program, as its event of that moment says."""
        self._add(_ENTRY_END, entry, moment, pack(place))

    def skipped_frame(self, f: SkippedFrame) -> None:
        """A frame that the compiler never began with."""
        self._add(_SKIPPED_FRAME, f.id, f.moment, pack(f))

    def guard_program(self, code: int, guards: Sequence[CheckedGuard]) -> None:
        """The guards of a cache entry, once: those that the instructions of a code stand for."""
        self._add(_GUARD_PROGRAM, code, pack(guards))

    def tried(self, t: TriedEntry) -> None:
        """An entry that a lookup has tried, when its checks have been asked."""
        self._add(_TRIED, t.moment, pack(t))

    def flush_soon(self) -> None:
        """Commit, unless that was done just now: then it is left to what comes next."""
        if time.monotonic() - self._committed > _PAUSE:
            self.flush()

    def flush(self) -> None:
        """Commit everything handed in so far: readers see it and a SIGKILL cannot take it.

        What is handed in meanwhile, by a finalizer or a signal handler that is run in the midst of
        it, is committed with the next.
        """
        if self._is_committing():
            return
        if not self._opened or self.failed:
            self._forget()
            return
        self.before_commit()
        try:
            self._commit(wait=not self._refused)
        except RecordingBusyError as error:
            self._refused = True
            if sum(batch.size() for batch in self._batches) > _MOST_WAITING:
                self._fail(f"{error} It did for so long that what waited got too much to keep.")
        except RecordingError as error:
            self._fail(str(error))
        else:
            self._refused = False
        self._committed = time.monotonic()

    @property
    def _opened(self) -> bool:
        return self._database is not None or self._facts is not None

    def _is_committing(self) -> bool:
        """Whether a commit is under way below this call. Not a flag: an interrupt could leave one
        set."""
        frame = sys._getframe()
        while frame is not None:
            if frame.f_code is _COMMIT and frame.f_locals["self"] is self:
                return True
            frame = frame.f_back  # type: ignore[assignment]  # None ends the loop
        return False

    def _commit(self, *, wait: bool) -> None:
        """Commit what there is, all of it or nothing."""
        self._gather()
        self._batches.append(_Batch())
        done = len(self._batches) - 1
        forget = (operator.delitem, self._batches, slice(done))
        rows = _rows_of(self._batches[:done])
        if not any(rows.values()):
            at_once(forget)
            return
        log(f"commits {sum(map(len, rows.values())):,} values")
        if self._facts is not None:
            self._create(self._facts)
        assert self._database is not None
        if self._database.missing():
            self._move()
        if self._secrets is not None:
            self._secrets.clean(
                rows, codes=_CODE, values=_DESCRIPTIONS, data=(_GUARD_PROGRAM, _TRIED)
            )
        for sql in _RUNS:
            values: list[Any] = rows[sql]
            width = sql.count("?")
            values[width - 1 :: width] = map(compressed, values[width - 1 :: width])
        try:
            self._database.write(_in_many_rows(rows), forget, wait=wait)
        except UnicodeEncodeError:  # rare, so nobody looks beforehand
            for values in rows.values():
                values[:] = [clean(value) if isinstance(value, str) else value for value in values]
            self._database.write(_in_many_rows(rows), forget, wait=wait)

    def _gather(self) -> None:
        """Move what waits elsewhere into the newest batch."""
        batch = self._batches[-1]
        rows = batch.rows
        # `iter` calls a source until it has nothing more, and `extend` takes what it gives.
        for sql, source in self._sources():
            rows[sql].extend(chain.from_iterable(iter(source, None)))
        self.frames(rows[_FRAME], rows[_FRAME_END])
        at_once((batch.guards.extend, self._guards), (self._guards.clear,))
        at_once((batch.nodes.extend, self._nodes), (self._nodes.clear,))
        at_once((batch.repeats.extend, self._repeats), (self._repeats.clear,))
        at_once((batch.runs.extend, self._runs), (self._runs.clear,))

    def _sources(self) -> Iterable[tuple[str, Source]]:
        # The moments first: to tell them makes descriptions.
        return (
            (_MOMENTS, self.moments),
            (_DESCRIPTIONS, self.descriptions),
            (_EVENTS, self._events.take),
        )

    def _move(self) -> None:
        """Go on in a new file, since this one was deleted. It is still open, so all is there."""
        assert self._database is not None
        path = _free_name(self.path)
        try:
            database = self._database.again(path)
        except RecordingError as error:
            text = f"{self.path} was moved or deleted while it was written. {error}"
            raise RecordingError(text) from None
        deleted, self._database = self._database, database
        gone = f"{self.path} was moved or deleted while it was written"
        text = f"{gone}; the recording goes on in {path}"
        self.path = path
        # For those who follow the old one, and for where it was moved to.
        _note_end(deleted, text)
        deleted.fold()
        deleted.close()
        if self.on_move is not None:
            self.on_move(text)

    def close(self, ended: str = "exit") -> None:
        """Commit, note why the session ended, leave one complete file.

        Harmless when closed; when it was interrupted, the next call does the rest.
        """
        if not self._opened:
            return
        for _ in range(_LAST_TRIES):
            self._refused = False
            self.flush()
            if not self._refused:
                break
        else:
            self._fail(f"{self.path}: another process keeps it locked, so its end is missing.")
        self._note_end(self.failed or ended)
        self._facts = None
        if self._database is not None:
            self._database.tidy()
            self._database.close()
            self._database = None

    def abandon(self) -> None:
        """After a fork, in the child: let go without touching the parent's file or its locks."""
        self._forget()
        self._facts = None
        if self._database is not None:
            self._database.leak()
            self._database = None

    def _forget(self) -> None:
        for _, source in self._sources():
            source()
        self.frames([], [])
        self._guards.clear()
        self._nodes.clear()
        self._repeats.clear()
        self._runs.clear()
        self._batches[:] = [_Batch()]

    def _fail(self, reason: str) -> None:
        self.failed = reason
        log(f"writes no more: {reason}")
        self._forget()
        self._note_end(reason)
        if self.on_failure is not None:
            self.on_failure(reason)

    def _note_end(self, ended: str) -> None:
        if self._database is None:
            return  # nothing was written
        _note_end(self._database, ended if self._secrets is None else self._secrets.text(ended))


def _note_end(database: Database, ended: str) -> None:
    """On a full disk, what was taken of it for that is given up."""
    for _ in range(2):
        with contextlib.suppress(RecordingError):
            database.write([("UPDATE session SET ended = ?", [(clean(ended),)])])
            break
        database.make_room()


_COMMIT = Writer._commit.__code__


def _in_many_rows(rows: Mapping[str, list[object]]) -> Iterator[Statement]:
    """Statements with their rows, several in one where there are many."""
    for sql, values in rows.items():
        insert, _, row = sql.partition(" VALUES ")
        width = sql.count("?")
        rest = values
        if row and len(values) >= _ROWS * width:
            whole = len(values) - len(values) % (_ROWS * width)
            many = f"{insert} VALUES {', '.join([row] * _ROWS)}"
            yield many, zip(*[iter(values[:whole])] * (_ROWS * width), strict=True)
            rest = values[whole:]
        if rest:
            yield sql, zip(*[iter(rest)] * width, strict=True)


def _free_name(path: str) -> str:
    """The name of a new file beside one: `run-2.stepper` for `run.stepper`."""
    stem, suffix = os.path.splitext(path)
    numbers = itertools.count(2)
    return next(
        name for number in numbers if not os.path.lexists(name := f"{stem}-{number}{suffix}")
    )
