"""What an attempt found: its guards, nodes, side effects and graph breaks.

Each kind is kept as one list per attempt, read once and extended after a refresh; what was there at
a moment is then a slice of it. All is written in the order of moments, so an attempt's part of a
table is found by bisecting (see `runs` and `rows`). Two kinds change after they were written, until
the translation is over: a guard gets its code when it is built and can be withdrawn, and a node can
be erased. That is told apart: the codes of all guards of a translation at once, the other two in
tables of their own (see `changes`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Generic, NamedTuple, TypeVar

import msgspec

from stepper.model.collective import CollectiveReading
from stepper.model.failure import Failure
from stepper.model.program import PythonFrame
from stepper.model.shapes import ShapeStep
from stepper.model.timing import GUARD_MADE, Timing
from stepper.model.trace import Attempt, GraphBreak, Guard, Node, SideEffect, SkippedFrame
from stepper.recording.batches import Runs, appeared
from stepper.recording.catalog import Catalog
from stepper.recording.changes import Changes
from stepper.recording.database import Database, damaged
from stepper.recording.packing import all_unpacked, unpacked, unpacked_run
from stepper.recording.recent import Recent
from stepper.recording.rows import Stretch
from stepper.recording.schema import MOST_TOGETHER, GuardsMade, RunTimes

_GUARDS_KEPT = 65_536
"""Guards of the attempts that are kept; they are asked for again and again."""
_NODES_KEPT = 16_384
"""Likewise nodes, each of which takes a kilobyte."""
_CODES_TOGETHER = 32
"""Translations whose guards' codes are read at once."""
_LARGEST = 2**63 - 1


Thing = TypeVar("Thing", Guard, Node, SideEffect, ShapeStep)
Stored = TypeVar("Stored", Guard, Node)


class _List(Generic[Thing]):
    """One attempt's things of one kind, in order."""

    def __init__(self) -> None:
        self.things: list[Thing] = []
        self._moments: list[int] = []
        """When those appeared, as far as somebody has asked."""
        self.generation = -1
        self.settled = False
        self.at_the_end: list[Thing] | None = None
        """Those that are left at the end, of a list that is settled, once somebody has asked."""

    def before(self, moment: int | None) -> Sequence[Thing]:
        if moment is None:
            return self.things
        self._moments.extend(map(appeared, self.things[len(self._moments) :]))
        return self.things[: bisect_left(self._moments, moment)]

    def replace(self, id: int, **facts: object) -> None:
        at = bisect_left(self.things, id, key=lambda thing: thing.id)
        if at < len(self.things) and self.things[at].id == id:
            self.things[at] = msgspec.structs.replace(self.things[at], **facts)


_in_graph = attrgetter("graph", "rank")


class _Row(NamedTuple):
    id: int
    attempt: int
    moment: int
    body: bytes


Told = TypeVar("Told", SideEffect, ShapeStep)


class _Rows(Generic[Told]):
    """Things of which each has a row of its own, by attempt."""

    def __init__(self, database: Database, catalog: Catalog, table: str, kind: type[Told]) -> None:
        self._database = database
        self._rows = Stretch(database, catalog.rows, _Row, table, "moment")
        self._decoder: msgspec.msgpack.Decoder[Told] = msgspec.msgpack.Decoder(kind)
        self._lists: dict[int, _List[Told]] = {}
        self.forget = self._rows.forget

    def of(self, attempt: Attempt) -> _List[Told]:
        """The findings of an attempt, as far as they were read."""
        return self._lists.setdefault(attempt.id, _List())

    def read(self, found: _List[Told], attempt: Attempt, *, settled: bool) -> None:
        """Add what is new."""
        first, last = attempt.first_moment - 1, attempt.last_moment
        if found.things or not settled or last is None:
            after = found.things[-1].id if found.things else None
            rows = self._rows.growing(attempt.id, first, last, after=after)
        else:
            rows = self._rows.of(attempt.id, first, last)
        found.things += all_unpacked(self._database, self._decoder, [row.body for row in rows])


class _Codes:
    """What guards check, by translation; several translations' are read at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._decoder = msgspec.msgpack.Decoder(dict[int, tuple[str, ...]])
        self.forget()

    def forget(self) -> None:
        """Read anew when next asked."""
        self._bodies: dict[int, bytes] = {}
        self._first, self._last = 0, -1

    def of(self, translation: int) -> dict[int, tuple[str, ...]]:
        """By the guards' ids; empty until they have been built."""
        body = self.body(translation)
        return {} if body is None else unpacked_run(self._database, self._decoder, body)

    def body(self, translation: int) -> bytes | None:
        """What `of` decodes, as it is stored; None: nothing is."""
        if not self._first <= translation <= self._last:
            rows = self._database.query(
                tuple[int, bytes],
                "SELECT translation, body FROM guard_codes WHERE translation >= ?"
                " ORDER BY translation LIMIT ?",
                (translation, _CODES_TOGETHER),
            )
            self._bodies = dict(rows)
            cut = len(rows) == _CODES_TOGETHER
            self._first, self._last = translation, rows[-1][0] if cut else _LARGEST
        return self._bodies.get(translation)


class Findings:
    """Guards, nodes, side effects and graph breaks, by attempt and moment."""

    def __init__(self, database: Database, catalog: Catalog) -> None:
        self._database = database
        self._catalog = catalog
        self._generation = 0
        self._codes = _Codes(database)
        self._guards: Recent[_List[Guard]] = Recent(_GUARDS_KEPT)
        self._nodes: Recent[_List[Node]] = Recent(_NODES_KEPT)
        self._side_effects = _Rows(database, catalog, "side_effect", SideEffect)
        self._shape_steps = _Rows(database, catalog, "shape_step", ShapeStep)
        self._shape_step_decoder = msgspec.msgpack.Decoder(ShapeStep)
        self._late_shape_steps: dict[int, list[ShapeStep]] | None = None
        self._breaks: list[GraphBreak] = []
        self._breaks_generation = -1
        self._break_decoder = msgspec.msgpack.Decoder(GraphBreak)
        self._failure_decoder = msgspec.msgpack.Decoder(Failure)
        self._reading_decoder = msgspec.msgpack.Decoder(CollectiveReading)
        self._timing_decoder = msgspec.msgpack.Decoder(Timing)
        self._made_decoder = msgspec.msgpack.Decoder(GuardsMade)
        self._runs_decoder = msgspec.msgpack.Decoder(RunTimes)
        self._place_decoder = msgspec.msgpack.Decoder(PythonFrame)
        self._skipped_decoder = msgspec.msgpack.Decoder(SkippedFrame)

    def refresh(self) -> None:
        """Look again at what may have grown or changed, when it is next asked for."""
        self._generation += 1
        self._codes.forget()
        self._side_effects.forget()
        self._shape_steps.forget()
        self._late_shape_steps = None

    def stored(self, attempt: Attempt, *, whole: bool) -> object:
        """What is in the file of an attempt's guards and nodes; None: it is not over. Where two
        attempts of the same number have the same, they have the same guards and nodes, and nobody
        need look closer.

        Args:
            attempt: whose.
            whole: with all that is stored in the same runs, which then need not be decoded.
        """
        if attempt.last_moment is None or not self._catalog.finished(attempt):
            return None
        first, last = attempt.first_moment - 1, attempt.last_moment
        codes = self._codes.body(attempt.translation)
        catalog = self._catalog
        if whole:
            in_runs = [catalog.guards.stored(first, last), catalog.nodes.stored(first, last)]
            changes = [
                each.between(run.first, run.last) if run.bodies else []
                for each, run in zip((catalog.withdrawn, catalog.erased), in_runs, strict=True)
            ]
            return first, last, codes, in_runs, changes
        guards = catalog.guards.of(attempt.id, first, last)
        nodes = catalog.nodes.of(attempt.id, first, last)
        withdrawn, erased = _changed(catalog.withdrawn, guards), _changed(catalog.erased, nodes)
        return guards, codes, withdrawn, nodes, erased

    def guards(self, attempt: Attempt, moment: int | None) -> list[Guard]:
        """The guards that hold at the moment (None: at the end), in order."""
        every = self._every_guard(attempt)
        if moment is None and every.at_the_end is not None:
            return every.at_the_end.copy()
        found = [
            guard
            for guard in every.before(moment)
            if guard.withdrawn is None or (moment is not None and guard.withdrawn >= moment)
        ]
        if moment is None and every.settled:
            every.at_the_end = found.copy()
        return found

    def all_guards(self, attempt: Attempt) -> list[Guard]:
        """Every guard that was ever installed, in order, withdrawn ones too."""
        return self._every_guard(attempt).things

    def _every_guard(self, attempt: Attempt) -> _List[Guard]:
        found = self._guards.get(attempt.id) or _List()
        if self._is_current(found):
            return found
        # Asked before they are read: everything was committed no later than the end was.
        settled = self._catalog.finished(attempt)
        codes = self._codes.of(attempt.translation)
        for guard in [guard for guard in found.things if not guard.code and guard.id in codes]:
            found.replace(guard.id, code=codes[guard.id])
        found.things += [
            msgspec.structs.replace(guard, code=codes[guard.id]) if guard.id in codes else guard
            for guard in _new(self._catalog.guards, attempt, found)
        ]
        for id, moment in _changed(self._catalog.withdrawn, found.things):
            found.replace(id, withdrawn=moment)
        self._looked(found, settled)
        self._guards.keep(attempt.id, found, len(found.things))
        return found

    def nodes(self, attempt: Attempt, moment: int | None) -> list[Node]:
        """The nodes alive at the moment (None: the end), each graph in its order, main first."""
        alive = [
            node
            for node in self._every_node(attempt).before(moment)
            if node.erased is None or (moment is not None and node.erased >= moment)
        ]
        alive.sort(key=_in_graph)
        return alive

    def inputs(self, attempt: Attempt, *, erased: bool) -> list[Node]:
        """The inputs of an attempt's main graph at its end, in its order, with those before them
        that were erased, if these are wanted: of nodes with a source no other is decoded."""
        first, last = attempt.first_moment - 1, attempt.last_moment
        every = self._catalog.inputs.of(attempt.id, first, last)
        found = [node for node in every if node.source and not node.graph]
        gone = {id for id, _ in _changed(self._catalog.erased, every)}
        before = [node for node in found if erased and node.id in gone]
        return before + sorted((node for node in found if node.id not in gone), key=_in_graph)

    def all_nodes(self, attempt: Attempt) -> list[Node]:
        """Every node that was ever made, in the order in which they were, erased ones too."""
        return self._every_node(attempt).things

    def _every_node(self, attempt: Attempt) -> _List[Node]:
        found = self._nodes.get(attempt.id) or _List()
        if not self._is_current(found):
            settled = self._catalog.finished(attempt)
            found.things += _new(self._catalog.nodes, attempt, found)
            for id, moment in _changed(self._catalog.erased, found.things):
                found.replace(id, erased=moment)
            self._looked(found, settled)
            self._nodes.keep(attempt.id, found, len(found.things))
        return found

    def side_effects(self, attempt: Attempt, moment: int | None) -> list[SideEffect]:
        """The mutations buffered strictly before the moment; None: all."""
        return [*self._told(self._side_effects, attempt).before(moment)]

    def shape_steps(self, attempt: Attempt, moment: int | None) -> list[ShapeStep]:
        """What became known about sizes strictly before the moment; None: all."""
        return [*self._told(self._shape_steps, attempt).before(moment)]

    def late_shape_steps(self, attempt: Attempt) -> list[ShapeStep]:
        """What became known about sizes when an attempt was over, in order; nothing, where the file
        is older than that is recorded."""
        found = self._late_shape_steps
        if found is None:
            found = self._late_shape_steps = {}
            sql = "SELECT body FROM late_shape_step ORDER BY id"
            has = self._database.has_table("late_shape_step")
            bodies = [body for (body,) in self._database.query(tuple[bytes], sql)] if has else []
            for step in all_unpacked(self._database, self._shape_step_decoder, bodies):
                found.setdefault(step.attempt, []).append(step)
        return found.get(attempt.id, [])

    def _told(self, rows: _Rows[Told], attempt: Attempt) -> _List[Told]:
        found = rows.of(attempt)
        if not self._is_current(found):
            settled = self._catalog.finished(attempt)
            rows.read(found, attempt, settled=settled)
            self._looked(found, settled)
        return found

    def graph_breaks(self) -> list[GraphBreak]:
        """All graph breaks, in order."""
        if self._breaks_generation != self._generation:
            last = self._breaks[-1].id if self._breaks else -1
            rows = self._database.query(
                tuple[bytes], "SELECT body FROM graph_break WHERE id > ? ORDER BY id", (last,)
            )
            bodies = [body for (body,) in rows]
            self._breaks += all_unpacked(self._database, self._break_decoder, bodies)
            self._breaks_generation = self._generation
        return self._breaks

    def failures(self) -> list[Failure]:
        """The exceptions that left the compiler, in order; see also `stepper.analysis.failures`,
        which knows what came of them."""
        rows = self._database.query(tuple[bytes], "SELECT body FROM failure ORDER BY id")
        return all_unpacked(self._database, self._failure_decoder, [body for (body,) in rows])

    def timings(self) -> list[Timing] | None:
        """The phases that the compiler has timed, in the order in which they began, without those
        that had not ended; None: the recording is older than they are recorded."""
        if not self._database.has_table("timing"):
            return None
        rows = self._database.query(tuple[bytes], "SELECT body FROM timing ORDER BY id")
        found = all_unpacked(self._database, self._timing_decoder, [body for (body,) in rows])
        if self._database.has_table("guards_made"):
            found += self._guards_made()
        if self._database.has_table("run_times"):
            found += self._run_times()
        found.sort(key=attrgetter("id"))
        return found

    def _run_times(self) -> Iterator[Timing]:
        sql = "SELECT first, count, body FROM run_times"
        for first, count, body in self._database.query(tuple[int, int, bytes], sql):
            columns = msgspec.structs.astuple(
                unpacked_run(self._database, self._runs_decoder, body)
            )
            if not 1 <= count <= MOST_TOGETHER or any(len(each) != count for each in columns):
                raise damaged(self._database.path, f"there are not {count} runs from {first} on")
            for id, name, began, spent, moment, parent, lookup, thread, left_out in zip(
                *columns, strict=True
            ):
                yield Timing(
                    id, name, began, spent, moment, parent or None, lookup, thread, left_out
                )

    def _guards_made(self) -> Iterator[Timing]:
        sql = "SELECT first, count, body FROM guards_made ORDER BY first"
        for first, count, body in self._database.query(tuple[int, int, bytes], sql):
            run = unpacked_run(self._database, self._made_decoder, body)
            began, *spent = run.clock or [0]
            columns = run.of_kinds, run.guards, spent, run.left_out
            kinds = dict(enumerate(run.kinds))
            if (
                not 1 <= count <= MOST_TOGETHER
                or any(len(each) != count for each in columns)
                or not kinds.keys() >= set(run.of_kinds)
            ):
                raise damaged(
                    self._database.path, f"there are not {count} guards made from {first} on"
                )
            for id, (kind, guard, nanoseconds, left_out) in enumerate(
                zip(*columns, strict=True), first
            ):
                yield Timing(
                    id, f"{GUARD_MADE}{kinds[kind]}", began, nanoseconds, run.moment, run.parent,
                    run.translation, run.thread, left_out, guard=guard,
                )  # fmt: skip
                began += nanoseconds

    def collective_readings(self, after: int = 0) -> Iterator[CollectiveReading] | None:
        """What torch's flight recorder said of collectives, look by look, without the first `after`
        of them; None: the recording is older than that. See `stepper.analysis.collectives`, which
        puts them together."""
        if not self._database.has_table("collective_reading"):
            return None
        sql = "SELECT id FROM collective_reading ORDER BY id LIMIT -1 OFFSET ?"
        rows = self._database.query(tuple[int], sql, (after,))
        return (self._reading(id) for (id,) in rows)

    def _reading(self, id: int) -> CollectiveReading:
        # One after the other: a reading can be some hundred kilobytes.
        sql = "SELECT body FROM collective_reading WHERE id = ?"
        ((body,),) = self._database.query(tuple[bytes], sql, (id,))
        return unpacked(self._database, self._reading_decoder, body)

    def place_of_end(self, entry: int, moment: int) -> PythonFrame | None:
        """Where in the program an entry ended."""
        if not self._database.has_table("entry_end"):
            return None
        sql = "SELECT place FROM entry_end WHERE entry = ? AND moment = ?"
        row = self._database.one(tuple[bytes], sql, (entry, moment))
        return None if row is None else unpacked(self._database, self._place_decoder, row[0])

    def skipped_frames(self) -> list[SkippedFrame]:
        """The frames that the compiler was asked for and never began with, in order."""
        rows = self._database.query(tuple[bytes], "SELECT body FROM skipped_frame ORDER BY id")
        return all_unpacked(self._database, self._skipped_decoder, [body for (body,) in rows])

    def _is_current(self, found: _List[Thing]) -> bool:
        """Whether the list needs no look at the file."""
        return found.settled or found.generation == self._generation

    def _looked(self, found: _List[Thing], settled: bool) -> None:
        """The list has been read; `settled`: and it will not change."""
        found.generation, found.settled = self._generation, settled


def _new(runs: Runs[Stored], attempt: Attempt, found: _List[Stored]) -> list[Stored]:
    """What was not read yet of an attempt's things."""
    # What comes before the attempt's first instruction carries the moment before it.
    first, after = attempt.first_moment - 1, found.things[-1].id if found.things else 0
    return runs.of(attempt.id, first, attempt.last_moment, after=after)


def _changed(changes: Changes, things: Sequence[Guard | Node]) -> list[tuple[int, int]]:
    """What became of things since they were written, by number; of others in between, too."""
    return changes.between(things[0].id, things[-1].id) if things else []
