"""The reader: everything that a front end or an analysis asks of a recording.

It works the same on a finished recording, on one whose writer was killed, and on one that still
grows. Then what it says is true as of the last `refresh`, which is cheap when there is nothing new.
The work is done in the modules beside this one; here is the face.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple, TypeVar, cast

import msgspec

from stepper.model.lookup import TriedEntry
from stepper.model.program import Code, PythonFrame
from stepper.model.shapes import ShapeStep
from stepper.model.stepping import Place
from stepper.model.trace import (
    Attempt,
    Event,
    EventKind,
    Frame,
    GraphBreak,
    Guard,
    Moment,
    Node,
    Outcome,
    Phase,
    SessionFacts,
    SideEffect,
    State,
    Translation,
)
from stepper.model.value import Value, ValueId
from stepper.recording.catalog import Catalog, Settled
from stepper.recording.database import Database, damaged
from stepper.recording.errors import RecordingError
from stepper.recording.events import EventHeads, Events
from stepper.recording.findings import Findings
from stepper.recording.history import TrackerHistory
from stepper.recording.lookups import Lookups
from stepper.recording.moment_iterator import MomentIterator
from stepper.recording.moments import Moments, Runs
from stepper.recording.owners import Owners
from stepper.recording.packing import unpacked
from stepper.recording.recent import Recent
from stepper.recording.state import StateBuilder

T = TypeVar("T")

_COUNTED_FRAMES = 64
_DESCRIBED_TOGETHER = 500
_WHY_CUT_OFF = {
    "exit": "the program ended before it did",
    "detached": "the debugger was detached",
}
"""Why a translation was cut off, by how a session ended in order."""


class Known(NamedTuple):
    """What a reader has read of a recording and what never changes."""

    settled: Settled
    heads: EventHeads
    runs: Runs


class Recording:
    """A recording, opened for reading. To be used from one thread at a time.

    Every method raises RecordingError for an id that the recording does not have, for a file that
    is damaged at the place that is read, and after `close`.
    """

    path: str
    aside: str
    """How it is read, in a sentence, when that is not in place, as whoever opened it may want to
    know; mostly empty."""
    facts: SessionFacts
    ended: str | None
    """`exit` or why writing stopped; None while it grows, or when its writer was killed."""
    oldest: int
    """Number of the first moment, 0 when there is none."""
    newest: int
    """Number of the newest moment as of the last refresh, 0 when there is none."""
    owners: Owners
    """Whose methods its frames run."""

    def __init__(self, database: Database, known: Known | None = None) -> None:
        self._database = database
        self._catalog = Catalog(database)
        self._moments = Moments(database, None if known is None else known.runs)
        self._history = TrackerHistory(database, self._catalog, self._moments)
        self._states = StateBuilder(database, self._catalog, self._moments, self._history)
        self._findings = Findings(database, self._catalog)
        self._events = Events(database)
        self._lookups = Lookups(database)
        self._walk = MomentIterator(self._moments, self._catalog)
        self._give()
        self._executed: Recent[tuple[int, dict[int, int]]] = Recent(_COUNTED_FRAMES)
        self.owners = Owners(self)
        self._derived: dict[Callable[[Recording], object], object] = {}
        self._version = database.data_version()
        self.path = database.path
        self.aside = database.aside
        self._look()

    def _give(self) -> None:
        """Hand out what the modules beside this one give as it is."""
        catalog, findings, events = self._catalog, self._findings, self._events
        self.code, self.codes = catalog.code, catalog.codes
        self.frame, self.frames, self.spans = catalog.frame, catalog.frames, catalog.spans
        self.frames_inlined = catalog.frames_inlined
        self.translations, self.translations_of = catalog.translations, catalog.translations_of
        self.translation, self.attempt, self.attempts = (
            catalog.translation, catalog.attempt, catalog.attempts,
        )  # fmt: skip
        self.runs = self._moments.runs
        self.guard_program = self._lookups.program
        self.failures, self.timings = findings.failures, findings.timings
        self.collective_readings = findings.collective_readings
        self.skipped_frames = findings.skipped_frames
        self.events, self.output = events.events, events.output
        self.event_count, self.event_moments = events.count, events.moments

    @classmethod
    def open(
        cls,
        path: str,
        *,
        known: Known | None = None,
        before_reading: Callable[[], None] | None = None,
    ) -> Recording:
        """Open a recording. Neither the file nor its folder is changed, and no code of it is run.

        Args:
            path: its file.
            known: what another reader of it has read, which is then not read again.
            before_reading: called again and again, before something is read; what it raises goes
                to whoever asked.

        Raises:
            RecordingError: it is missing, foreign, damaged, unreadable, or of a newer stepper.
        """
        database = Database.read(os.fspath(path))
        database.before_reading = before_reading
        try:
            opened = cls(database, known)
            if known is not None:
                opened._catalog.take_over(known.settled)
                opened._events.take_over(known.heads)
            return opened
        except RecordingError:
            database.close()
            raise

    def known(self) -> Known:
        """What has been read that a reader in another thread need not read again."""
        return Known(self._catalog.settled(), self._events.heads(), self._moments.known())

    def refresh(self) -> bool:
        """Look for what was written since; True when there is something."""
        version = self._database.data_version()
        if version == self._version:
            return False
        self._version = version
        self._derived.clear()
        self._catalog.refresh()
        self._moments.refresh()
        self._findings.refresh()
        self._events.refresh()
        self._look()
        return True

    def nobody_writes(self) -> None:
        """The program is gone without a word, so what seems to run was cut off."""
        self._derived.clear()
        self._catalog.nobody_writes("the program was killed")
        self._findings.refresh()

    def derived(self, make: Callable[[Recording], T]) -> T:
        """What `make` makes of all that is recorded: made once, and anew when more is recorded."""
        if make not in self._derived:
            self._derived[make] = make(self)
        return cast(T, self._derived[make])

    @property
    def in_order(self) -> bool:
        """Whether the program was seen to its end, or to where it was let go."""
        return self.ended in _WHY_CUT_OFF

    def close(self) -> None:
        """Let go of the file. Harmless when already closed."""
        self._database.close()

    def _look(self) -> None:
        row = self._database.one(tuple[bytes, str | None], "SELECT facts, ended FROM session")
        if row is None:
            raise damaged(self.path, "it does not say what it is a recording of")
        facts, self.ended = row
        if self.ended is not None:
            self._catalog.nobody_writes(_WHY_CUT_OFF.get(self.ended, self.ended))
        self.facts = unpacked(self._database, msgspec.msgpack.Decoder(SessionFacts), facts)
        self.oldest, self.newest = self._moments.oldest, self._moments.newest

    # Moments

    def has(self, id: int) -> bool:
        """Whether a moment is recorded; of what happened before the first one, the number is 0."""
        return 0 < self.oldest <= id <= self.newest

    def moment(self, id: int) -> Moment:
        """One moment."""
        found = self._moments.get(id)
        if found is None:
            known = (
                f"its moments are {self.oldest} to {self.newest}" if self.newest else "it is empty"
            )
            raise RecordingError(f"{self.path} has no moment {id}: {known}.")
        return self._checked(found)

    def moments(self, first: int, last: int) -> list[Moment]:
        """The moments from `first` to `last`, both included."""
        return [
            self._checked(Moment(step.id, step.frame, step.ip))
            for step in self._moments.steps(first, last)
        ]

    def instants(self, first: int, last: int) -> list[int]:
        """When the moments from `first` to `last`, both included, were: nanoseconds on the clock of
        `timings`. Empty where the recording is older than they are recorded."""
        found = self._moments.instants(first, last)
        return found if len(found) == last - first + 1 else []

    def place(self, id: int) -> Place:
        """Attempt, frame, depth and source line of a moment."""
        return self.place_of(self.moment(id))

    def place_of(self, moment: Moment) -> Place:
        """Attempt, frame, depth and source line of a moment that has been read."""
        frame = self._catalog.frame(moment.frame)
        self._checked(moment)
        line = self._catalog.code(frame.code).instructions[moment.ip].line
        thread, level = self._catalog.whose(frame.attempt)
        return Place(frame.attempt, frame.id, frame.depth, line, thread, level)

    def state(self, id: int) -> State:
        """Everything that the symbolic interpreter had at a moment."""
        return self._states.state(self.moment(id))

    def begins_with(self, frame: Frame) -> Collection[str]:
        """The names of the locals that a frame, whose first moment is recorded, begins with."""
        return self._states.begins_with(frame)

    def entered_with(self, attempt: int, name: str) -> Iterator[tuple[int, Value | None]]:
        """What a local was where each frame of an attempt that is over began, as it is known at the
        frame's end; out of its cell, where it is in one. None: there was none."""
        frames = [frame for frame in self.frames(attempt) if self.has(frame.first_moment)]
        return self._states.entered_with(self.attempt(attempt), frames, name)

    def tried(self, lookup: int) -> list[TriedEntry]:
        """The entries that a lookup tried, in order, each with what its checks said."""
        found: list[TriedEntry] = []
        for attempt in self._catalog.attempts(lookup):
            original = self._catalog.original(attempt.id)
            found += (
                self._lookups.tried(attempt)
                if original is None
                else self._lookups.again(attempt, *original)
            )
        return found

    def walk(
        self,
        start: int,
        direction: int,
        *,
        over_calls_of: Frame | None = None,
        out_of: Frame | None = None,
        codes: Collection[int] | None = None,
    ) -> Iterator[Moment]:
        """The moments beyond `start`, nearest first, in the direction +1 or -1.

        All of them; or without the calls that a frame makes; or without that frame, too; or only
        those that are in some code objects.
        """
        if out_of is not None:
            return self._walk.outside(out_of, start, direction)
        if over_calls_of is not None:
            return self._walk.outside_calls(over_calls_of, start, direction)
        if codes is not None:
            return self._walk.in_codes(codes, start, direction)
        return self._walk.all(start, direction)

    def _checked(self, moment: Moment) -> Moment:
        self._catalog.check_ip(self._catalog.frame(moment.frame), moment.ip)
        return moment

    # The program

    def callers(self, frame: int) -> list[Frame]:
        """A frame and those that led to it, the outermost first."""
        return self._catalog.chain(self._catalog.frame(frame))

    def frame_children(self, frame: int) -> list[Frame]:
        """The calls that a frame made."""
        attempt = self._catalog.frame(frame).attempt
        return [child for child in self._catalog.frames(attempt) if child.parent == frame]

    def executed(self, frame: int, upto_moment: int) -> dict[int, int]:
        """How often each instruction of a frame was interpreted before a moment: index to times."""
        record = self._catalog.frame(frame)
        over = self.newest if record.last_moment is None else record.last_moment
        upto_moment = min(upto_moment, over + 1)
        last, counts = self._executed.get(frame) or (record.first_moment, {})
        sign, first, end = (
            (1, last, upto_moment) if upto_moment >= last else (-1, upto_moment, last)
        )
        counts = dict(counts)
        for run in self._moments.runs(first, end - 1):
            for at, ip in zip(run.frames, run.ips, strict=True):
                if at == frame:
                    counts[ip] = counts.get(ip, 0) + sign
        counts = {ip: times for ip, times in counts.items() if times > 0}
        self._executed.keep(frame, (upto_moment, counts), 1)
        return dict(counts)

    # Translations and attempts

    def lookups(self) -> list[Translation]:
        """The lookups of all of the program's calls, in order; empty where only those were recorded
        that were an error."""
        return self.derived(_lookups)

    def translation_at(self, moment: int) -> Translation | None:
        """The translation that a moment belongs to; None when there is no such moment."""
        attempt = self._attempt_at(moment)
        return None if attempt is None else self._catalog.translation(attempt.translation)

    def transformed(self, translation: int) -> Code | None:
        """The bytecode that a translation produced, once it has."""
        code = self._catalog.translation(translation).transformed_code
        return None if code is None else self._catalog.code(code)

    def _attempt_at(self, moment: int) -> Attempt | None:
        found = self._moments.get(moment)
        if found is None:
            return None
        return self._catalog.attempt(self._catalog.frame(found.frame).attempt)

    # What they found

    def guards(self, moment: int | None, *, attempt: int | None = None) -> list[Guard]:
        """The guards that hold at a moment, in its attempt; None: those at the attempt's end."""
        owner = self._owner(moment, attempt)
        return self._findings.guards(owner, moment) if owner else []

    def guards_installed(self, attempt: int) -> list[Guard]:
        """Every guard that an attempt installed, in order, withdrawn ones too."""
        return list(self._findings.all_guards(self._catalog.attempt(attempt)))

    def nodes(self, moment: int | None, *, attempt: int | None = None) -> list[Node]:
        """The FX nodes alive at a moment, in graph order; None: those at the attempt's end."""
        owner = self._owner(moment, attempt)
        return self._findings.nodes(owner, moment) if owner else []

    def inputs(self, attempt: int, *, erased: bool = False) -> list[Node]:
        """The inputs of an attempt's main graph at its end of which the source is known, in its
        order: as `nodes` has them, without the others; if they are wanted, with those before them
        that were erased, as one is of a tensor that only its sizes are read of."""
        return self._findings.inputs(self._catalog.attempt(attempt), erased=erased)

    def nodes_made(self, attempt: int) -> list[Node]:
        """Every node that an attempt made, in the order in which it did, erased ones too."""
        return list(self._findings.all_nodes(self._catalog.attempt(attempt)))

    def same_findings(self, attempt: int, other: Recording, its: int) -> bool:
        """Whether it is sure, without a closer look, that an attempt found the same guards and the
        same nodes as an attempt of another recording."""
        if attempt != its:  # each of them has the number of its attempt
            return False
        one, another = self._catalog.attempt(attempt), other._catalog.attempt(its)
        for whole in (True, False):  # runs of which all is the same need not be decoded
            mine = self._findings.stored(one, whole=whole)
            if mine is not None and mine == other._findings.stored(another, whole=whole):
                return True
        return False

    def node(self, attempt: int, name: str) -> Node | None:
        """A node of an attempt by its name, erased or not; the newest of that name."""
        owner = self._catalog.attempt(attempt)
        found = [node for node in self._findings.all_nodes(owner) if node.name == name]
        return found[-1] if found else None

    def side_effects(self, moment: int | None, *, attempt: int | None = None) -> list[SideEffect]:
        """The mutations buffered strictly before a moment; with None, all of `attempt`."""
        owner = self._owner(moment, attempt)
        return self._findings.side_effects(owner, moment) if owner else []

    def shape_steps(self, moment: int | None, *, attempt: int | None = None) -> list[ShapeStep]:
        """What became known about sizes before a moment; with None, all of `attempt`."""
        owner = self._owner(moment, attempt)
        return self._findings.shape_steps(owner, moment) if owner else []

    def late_shape_steps(self, attempt: int) -> list[ShapeStep]:
        """What became known about sizes when an attempt was over, in order: while a backward was
        compiled, mostly. No guard knows of it. Nothing, where the recording is older than that."""
        return self._findings.late_shape_steps(self._catalog.attempt(attempt))

    def graph_breaks(self, attempt: int | None = None) -> list[GraphBreak]:
        """The graph breaks of an attempt, or all."""
        found = self._findings.graph_breaks()
        return [each for each in found if attempt is None or each.attempt == attempt]

    def place_of_end(self, ending: Event) -> PythonFrame | None:
        """Where in the program a cache entry ended, by its event; None: that is not recorded, or it
        was not in the program."""
        if ending.ref is None:
            return None
        return self._findings.place_of_end(ending.ref, ending.moment)

    def graph_break_at(self, moment: int) -> GraphBreak | None:
        """The graph break that a moment's instruction caused."""
        found = [each for each in self._findings.graph_breaks() if each.moment == moment]
        return found[-1] if found else None

    def value_origin(self, attempt: int, value_id: int) -> int | None:
        """The moment whose instruction made a tracker: the one before it was first described.

        The attempt's first moment for what was there from the beginning; None when it is not known.
        """
        owner = self._catalog.attempt(attempt)
        first = self._history.first(owner, value_id, self.newest)
        if first is None:
            return None
        for moment in self._walk.all(first, -1):
            if moment.id < owner.first_moment:
                break
            if self._catalog.frame(moment.frame).attempt == attempt:
                return moment.id
        return first

    def descriptions_with(self, text: str) -> Iterator[tuple[int, Value]]:
        """The descriptions that have a text in them, in any case, each with a moment from which it
        holds, in the order of moments.
        """
        wanted = set(self._states.containing(text))
        for attempt in self.attempts() if wanted else ():
            yield from ((at, value) for at, _, value in self.descriptions(attempt.id, only=wanted))

    def descriptions(
        self, attempt: int, *, only: Collection[int] | None = None
    ) -> Iterator[tuple[int, ValueId, Value]]:
        """Every description of every tracker of an attempt, in the order of moments: the moment
        from which it holds, the tracker, the description. `only` names those that are wanted."""
        found = self._history.descriptions(self._catalog.attempt(attempt), self.newest)
        if only is not None:
            found = [each for each in found if each[2] in only]
        for start in range(0, len(found), _DESCRIBED_TOGETHER):
            part = found[start : start + _DESCRIBED_TOGETHER]
            values = self._states.values([body for _, _, body in part])
            for (moment, tracker, _), value in zip(part, values, strict=True):
                yield moment, tracker, value

    def _owner(self, moment: int | None, attempt: int | None) -> Attempt | None:
        if attempt is not None:
            return self._catalog.attempt(attempt)
        return None if moment is None else self._attempt_at(moment)

    # What happened

    def next_event(
        self, moment: int, kinds: Collection[EventKind] | None, direction: int
    ) -> Event | None:
        """The nearest event of some kinds at a later (+1) or an earlier (-1) recorded moment."""
        found = self._events.next(moment, kinds, direction)
        if found is None or not self.oldest <= found.moment <= self.newest:
            return None
        return found


def _lookups(recording: Recording) -> list[Translation]:
    found = [
        item for item in recording.translations() if item.phase is Phase.LOOKUP and not item.by_hand
    ]
    asked_for = any(item.outcome is not Outcome.SKIPPED for item in found)
    return found if asked_for else []
