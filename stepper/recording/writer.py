"""The writer: what lives in the debuggee and puts a session into its file.

What is called often appends to a list and nothing else. The moments themselves gather elsewhere
(csrc/steps.c), which asks for a commit when there are some thousands; they become one row.
A stop, the end of a translation, and at latest the first event after a second of quiet commit too,
so that a viewer is never far behind.

It never disturbs the program. When the disk is full it remembers why (`failed`), tells `on_failure`
once, and drops what comes after; what was committed stays readable. When another process holds the
write lock it keeps its rows and tries again with the next batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from stepper._C import EventRun
from stepper.model.program import Code
from stepper.model.trace import (
    Attempt,
    GraphBreak,
    SessionFacts,
    SideEffect,
    Translation,
)
from stepper.recording.database import Database
from stepper.recording.errors import RecordingBusyError, RecordingError
from stepper.recording.packing import clean, pack
from stepper.recording.waiting import WaitingGuards, WaitingNodes

_QUIET = 1.0
"""Seconds after which an event commits what is waiting."""

_ROWS = 16
"""That are inserted by one statement: SQLite takes twice as long over them one by one."""

_PATIENCE = 10
"""How many times in a row another process may hold the write lock before writing is given up."""

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
_GRAPH_BREAK = "INSERT INTO graph_break VALUES (?, ?, ?, ?)"
_EVENTS = "INSERT INTO events VALUES (?, ?, ?)"
_LAST_MOMENT = 6
"""Place of the last moment in a row of `frame`."""
# After all inserts, since it changes rows that may wait in the same batch.
_FRAME_END = "UPDATE frame SET last_moment = ? WHERE id = ?"

_STATEMENTS = (
    _MOMENTS, _KEYFRAME, _CODE, _DESCRIPTIONS, _TRANSLATION, _ATTEMPT, _FRAME, _GUARDS,
    _GUARD_WITHDRAWN, _GUARD_CODES, _NODES, _NODE_ERASED, _SIDE_EFFECT, _GRAPH_BREAK, _EVENTS,
    _FRAME_END,
)  # fmt: skip


Source = Callable[[], tuple[int, int, bytes] | None]
"""Gives a run of what waits elsewhere: the first's number, how many there are, and their body."""


def _nothing() -> None:
    return None


def _no_frames() -> tuple[list[int | None], list[int]]:
    return [], []


class Writer:
    """Writes one recording. Not thread safe: the caller lets in one thread at a time."""

    failed: str
    """Empty, or why writing stopped; from then on everything is dropped."""
    on_failure: Callable[[str], None] | None
    """Told `failed`, once, at the moment when writing stops."""

    def __init__(self, path: str, facts: SessionFacts) -> None:
        """Create the recording `path`, which must not exist (or be empty).

        A writer never replaces a file: whoever wants that deletes the old recording first.

        Raises:
            RecordingError: something with that name exists, or the place cannot be written.
        """
        first = ("INSERT INTO session VALUES (?, NULL)", (pack(facts),))
        self._database: Database | None = Database.create(path, [first])
        self._refused = 0
        # Values without tuples around them: a tuple for each row would wake the garbage collector.
        self._waiting: dict[str, list[object]] = {sql: [] for sql in _STATEMENTS}
        self.moments: Source = _nothing
        """Asked at each commit for the moments since the last one."""
        self.descriptions: Source = _nothing
        """The same for descriptions."""
        self.frames: Callable[[], tuple[list[int | None], list[int]]] = _no_frames
        """The same for frames that are not told by `frame`: their rows, one after the other, and
        the last moments and numbers of those whose rows were taken before they ended."""
        self.before_commit: Callable[[], None] = _nothing
        """Called before: the last chance to hand something in."""
        self._frame_ends: dict[int, int] = {}
        """Where in their waiting rows the frames have their last moment."""
        self._guards = WaitingGuards()
        self.guards = self._guards.add
        """Guards of an attempt, when they are installed."""
        self._nodes = WaitingNodes()
        self.node = self._nodes.add
        """`node(node)`: an FX node, when it is made or gets another name (then as a new one)."""
        self._events = EventRun(self.flush, _QUIET)
        self.event = self._events.add
        """`event(moment, kind, text, ref=None, frame=None)`: something that happened, in the order
        of moments."""
        self.event_late = self._events.add_late
        """The same of something that is told after what came later, and before the next commit."""
        self.event_at = self._events.add_at
        """The same of the newest moment of a `stepper._C.Steps`: `(steps, kind, text, ref)`."""
        self.path = path
        self.failed = ""
        self.on_failure = None

    def value(self, id: int, body: bytes) -> None:
        """A description that does not come from `descriptions`: an encoded Value, under the number
        by which deltas refer to it."""
        self._waiting[_DESCRIPTIONS] += (id, 1, pack((body,)))

    def keyframe(self, moment: int, state: bytes) -> None:
        """The whole state at a moment, an encoded Keyframe."""
        self._waiting[_KEYFRAME] += (moment, state)

    def code(self, code: Code) -> None:
        """A code object, once."""
        self._waiting[_CODE] += (code.id, pack(code))

    def translation(self, t: Translation) -> None:
        """A translation, at its beginning and again, whole, at its end, which is committed."""
        self._waiting[_TRANSLATION] += (t.id, pack(t))
        if t.last_moment is not None:
            self.flush()

    def attempt(self, a: Attempt) -> None:
        """An attempt, at its beginning and again at its end."""
        self._waiting[_ATTEMPT] += (
            a.id,
            a.translation,
            a.number,
            a.first_moment,
            a.last_moment,
            a.restart_reason,
        )

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
        waiting = self._waiting[_FRAME]
        self._frame_ends[id] = len(waiting) + _LAST_MOMENT
        waiting += (id, attempt, parent, depth, code, first_moment, None, call_moment)

    def frame_end(self, frame: int, last_moment: int) -> None:
        """A frame is left; `last_moment` is its own last one."""
        if (place := self._frame_ends.pop(frame, None)) is not None:
            self._waiting[_FRAME][place] = last_moment
        else:
            self._waiting[_FRAME_END] += (last_moment, frame)

    def guard_codes(self, translation: int, codes: dict[int, tuple[str, ...]]) -> None:
        """What a translation's guards check, by number, when they have been built."""
        self._waiting[_GUARD_CODES] += (translation, pack(codes))

    def guard_withdrawn(self, id: int, moment: int) -> None:
        """A guard is taken back by the instruction of `moment`."""
        self._waiting[_GUARD_WITHDRAWN] += (id, moment)

    def node_erased(self, id: int, moment: int) -> None:
        """A node is removed by the instruction of `moment`."""
        self._waiting[_NODE_ERASED] += (id, moment)

    def side_effect(self, s: SideEffect) -> None:
        """A buffered mutation."""
        self._waiting[_SIDE_EFFECT] += (s.id, s.attempt, s.moment, pack(s))

    def graph_break(self, b: GraphBreak) -> None:
        """A graph break."""
        self._waiting[_GRAPH_BREAK] += (b.id, b.attempt, b.moment, pack(b))

    def flush(self) -> None:
        """Commit everything handed in so far: readers see it and a SIGKILL cannot take it."""
        if self._database is None or self.failed:
            self._forget()
            return
        self.before_commit()
        for sql, source in self._sources():
            if (run := source()) is not None:
                self._waiting[sql] += run
        self._waiting[_GUARDS] += self._guards.take()
        self._waiting[_NODES] += self._nodes.take()
        rows, ends = self.frames()
        self._waiting[_FRAME] += rows
        self._waiting[_FRAME_END] += ends
        if not any(self._waiting.values()):
            return
        try:
            try:
                self._database.write(self._batches())
            except UnicodeEncodeError:  # rare, so nobody looks beforehand
                for values in self._waiting.values():
                    values[:] = [clean(v) if isinstance(v, str) else v for v in values]
                self._database.write(self._batches())
        except RecordingBusyError as error:
            self._refused += 1
            if self._refused < _PATIENCE:
                return
            self._fail(str(error))
        except RecordingError as error:
            self._fail(str(error))
        self._refused = 0
        self._forget()

    def _sources(self) -> Iterable[tuple[str, Source]]:
        # The moments first: to tell them makes descriptions.
        return (
            (_MOMENTS, self.moments),
            (_DESCRIPTIONS, self.descriptions),
            (_EVENTS, self._events.take),
        )

    def _batches(self) -> Iterator[tuple[str, Iterable[tuple[object, ...]]]]:
        for sql, values in self._waiting.items():
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

    def close(self, ended: str = "exit") -> None:
        """Commit, note why the session ended, leave one complete file. Harmless when closed."""
        if self._database is None:
            return
        self.flush()
        self._note_end(self.failed or ended)
        database, self._database = self._database, None
        database.tidy()
        database.close()

    def abandon(self) -> None:
        """After a fork, in the child: let go without touching the parent's file or its locks."""
        self._forget()
        if self._database is not None:
            self._database.leak()
            self._database = None

    def _forget(self) -> None:
        for _, source in self._sources():
            source()
        self.frames()
        self._guards.clear()
        self._nodes.clear()
        self._frame_ends.clear()
        for values in self._waiting.values():
            values.clear()

    def _fail(self, reason: str) -> None:
        self.failed = reason
        self._note_end(reason)
        if self.on_failure is not None:
            self.on_failure(reason)

    def _note_end(self, ended: str) -> None:
        """Best effort: on a full disk there is often room for one more word."""
        assert self._database is not None
        try:
            self._database.write([("UPDATE session SET ended = ?", [(clean(ended),)])])
        except RecordingError:
            return
