"""Guards and nodes by attempt, out of the runs in which they are stored (see the schema).

Where each run begins is read once and continued after a refresh, which is a row for each commit.
The runs that an attempt can be in are then found by bisecting on their moments. Runs never change,
so the last ones read are kept: whoever goes from attempt to attempt finds most of them decoded.

A file of unknown author can claim anything. Rows that cannot stand one after the other are refused
before anything is built on their word; what is wrong within a run is an error only for those who
ask for what could be in it.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left, bisect_right
from itertools import repeat
from typing import Generic, NamedTuple, TypeVar

import msgspec

from stepper.model.shapes import ShapeStep
from stepper.model.trace import Guard, Node, SideEffect
from stepper.recording.database import Database, damaged
from stepper.recording.errors import RecordingError
from stepper.recording.packing import all_unpacked, unpacked_run
from stepper.recording.recent import Recent
from stepper.recording.schema import MOST_TOGETHER, Guards

_READ_TOGETHER = 512
"""Things that are read at once, whosever they are, where runs are short."""
_KEPT = 4_096
"""Things that are kept, decoded: a run for its neighbours. Those of an attempt are kept by who asks
for them."""
_COLUMNS = "first, count, moment, last_moment"
INPUT = "placeholder"
"""What the node of an input does."""
_INPUT = INPUT.encode()
_LARGEST = 2**63 - 1

Thing = TypeVar("Thing", Guard, Node)


class _Place(NamedTuple):
    """What a row says of its run."""

    first: int
    size: int
    moment: int
    last_moment: int


class _Run(NamedTuple, Generic[Thing]):
    things: list[Thing]
    numbers: list[int]
    """Those of the things, ascending."""
    moments: list[int]
    """When each appeared, in order."""


class Stored(NamedTuple):
    """Some runs, as they are in the file."""

    first: int
    """The number of the first thing in them."""
    last: int
    """None of them has a greater one."""
    bodies: list[bytes]


class Runs(ABC, Generic[Thing]):
    """The things in one table, as they were when they were written."""

    def __init__(self, database: Database, table: str) -> None:
        self._database = database
        self._table = table
        # The places of all runs, in order, by columns.
        self._firsts = array("q")
        self._sizes = array("q")
        self._moments = array("q")
        self._last_moments = array("q")
        self._kept: Recent[_Run[Thing]] = Recent(_KEPT)
        self._newest_stored: tuple[range, Stored] = (range(0), Stored(1, 0, []))
        """The runs that `stored` gave last, for many attempts can share one."""
        self._stale = True

    def refresh(self) -> None:
        """Look for newer runs when next asked."""
        self._stale = True

    def of(self, attempt: int, first: int, last: int | None, *, after: int = 0) -> list[Thing]:
        """The things of an attempt, in order.

        Args:
            attempt: whose.
            first: the first moment that one of them can have.
            last: the last one; None: there is no end yet.
            after: only those after this one, by its number.

        Raises:
            RecordingError: the recording is damaged where they could be.
        """
        last = _LARGEST if last is None else last
        found: list[Thing] = []
        for at in self._between(first, last, after):
            things, _, moments = self._run(at)
            part = things[bisect_left(moments, first) : bisect_right(moments, last)]
            found += [thing for thing in part if thing.attempt == attempt and thing.id > after]
        return found

    def stored(self, first: int, last: int) -> Stored:
        """The runs that hold the things of an attempt, and mostly those of others, as they are in
        the file.

        Args:
            first: the first moment that one of the attempt's can have.
            last: the last one.
        """
        at = self._between(first, last, 0)
        if at != self._newest_stored[0]:
            found = Stored(1, 0, [])
            if at:
                beyond = self._firsts[at.stop] if at.stop < len(self._firsts) else _LARGEST
                bodies = self._bodies(at.start, at.stop)
                found = Stored(self._firsts[at.start], beyond - 1, bodies)
            self._newest_stored = at, found
        return self._newest_stored[1]

    def _between(self, first: int, last: int, after: int) -> range:
        """The places of the runs that can hold what appeared between two moments."""
        self._look()
        low = bisect_left(self._last_moments, first)
        return range(
            max(low, bisect_right(self._firsts, after) - 1), bisect_right(self._moments, last)
        )

    def _look(self) -> None:
        """Read where runs begin that are new since the last refresh."""
        if not self._stale:
            return
        for place in self._database.stream(
            _Place,
            f"SELECT {_COLUMNS} FROM {self._table} WHERE first > ? ORDER BY first",
            (self._firsts[-1] if self._firsts else -_LARGEST,),
        ):
            before = self._place(-1) if self._firsts else _Place(0, 1, 0, 0)
            if (
                place.first < before.first + before.size
                or not before.last_moment <= place.moment <= place.last_moment
                or not 1 <= place.size <= MOST_TOGETHER
            ):
                raise damaged(
                    self._database.path, f"{place.size} {self._table} cannot begin at {place.first}"
                )
            self._firsts.append(place.first)
            self._sizes.append(place.size)
            self._moments.append(place.moment)
            self._last_moments.append(place.last_moment)
        self._stale = False

    def _place(self, at: int) -> _Place:
        """What the row of a run says of it."""
        return _Place(self._firsts[at], self._sizes[at], self._moments[at], self._last_moments[at])

    # Reading runs, named by their place in the order

    def _run(self, at: int) -> _Run[Thing]:
        run = self._kept.get(at)
        return self._read(at) if run is None else run

    def _read(self, at: int) -> _Run[Thing]:
        end, total = at + 1, self._sizes[at]
        while end < len(self._sizes) and total < _READ_TOGETHER and end not in self._kept:
            total += self._sizes[end]
            end += 1
        try:
            bodies = self._bodies(at, end)
        except RecordingError:
            # What is wrong with a neighbour is told to those who ask for it.
            bodies = self._bodies(at, at + 1)
        for other, body in enumerate(bodies[1:], at + 1):
            with contextlib.suppress(RecordingError):
                self._keep(other, self._checked(other, body))
        run = self._checked(at, bodies[0])
        self._keep(at, run)
        return run

    def _bodies(self, at: int, end: int) -> list[bytes]:
        rows = self._database.query(
            tuple[int, int, int, int, bytes],
            f"SELECT {_COLUMNS}, body FROM {self._table} WHERE first BETWEEN ? AND ?"
            " ORDER BY first",
            (self._firsts[at], self._firsts[end - 1]),
        )
        if [row[:4] for row in rows] != [*map(self._place, range(at, end))]:
            raise damaged(self._database.path, f"recorded {self._table} have changed")
        return [row[4] for row in rows]

    def _checked(self, at: int, body: bytes) -> _Run[Thing]:
        place = self._place(at)
        beyond = self._firsts[at + 1] if at + 1 < len(self._firsts) else _LARGEST
        run: _Run[Thing] = self._decoded(place, body)
        if (
            len(run.things) != place.size
            or (run.moments[0], run.moments[-1]) != (place.moment, place.last_moment)
            or run.moments != sorted(run.moments)
            or run.numbers[0] != place.first
            or run.numbers[-1] >= beyond
            or run.numbers != sorted(set(run.numbers))
        ):
            raise damaged(
                self._database.path,
                f"there are not {place.size} {self._table} from {place.first} on",
            )
        return run

    @abstractmethod
    def _decoded(self, place: _Place, body: bytes) -> _Run[Thing]:
        """A run, not looked at closely; nothing in it when it cannot be put together."""

    def _keep(self, at: int, run: _Run[Thing]) -> None:
        self._kept.keep(at, run, len(run.things) + 1)


def appeared(thing: Guard | Node | SideEffect | ShapeStep) -> int:
    """The moment whose instruction brought it."""
    return thing.appeared if isinstance(thing, Node) else thing.moment


class GuardRuns(Runs[Guard]):
    """Guards, without what they check and whether they were withdrawn. Nothing else reads their
    table."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, "guards")
        self._decoder = msgspec.msgpack.Decoder(Guards)

    def _decoded(self, place: _Place, body: bytes) -> _Run[Guard]:
        run = unpacked_run(self._database, self._decoder, body)
        columns = run.attempts, run.moments, run.kinds, run.sources, run.scopes
        if any(len(column) != place.size for column in (*columns, run.lines)):
            return _Run([], [], [])
        numbers = [*range(place.first, place.first + place.size)]
        try:
            lines = map(run.user_lines.__getitem__, run.lines)
            return _Run([*map(Guard, numbers, *columns, repeat(()), lines)], numbers, run.moments)
        except IndexError:
            return _Run([], [], [])


class NodeRuns(Runs[Node]):
    """Nodes, without whether they were erased. Nothing else reads their table."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, "nodes")
        self._decoder = msgspec.msgpack.Decoder(list[Node])

    def _decoded(self, place: _Place, body: bytes) -> _Run[Node]:
        return _run_of(unpacked_run(self._database, self._decoder, body))


class InputRuns(Runs[Node]):
    """The nodes that are inputs of a graph. They are few, and no other one is decoded."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, "nodes")
        self._decoder = msgspec.msgpack.Decoder(list[msgspec.Raw])
        self._node_decoder = msgspec.msgpack.Decoder(Node)

    def _checked(self, at: int, body: bytes) -> _Run[Node]:
        run = self._decoded(self._place(at), body)
        if run.moments != sorted(run.moments):
            raise damaged(self._database.path, f"nodes from {run.numbers[0]} on are in disorder")
        return run

    def _decoded(self, place: _Place, body: bytes) -> _Run[Node]:
        stored = unpacked_run(self._database, self._decoder, body)
        marked = [each for each in map(bytes, stored) if _INPUT in each]
        nodes = all_unpacked(self._database, self._node_decoder, marked)
        return _run_of([node for node in nodes if node.op == INPUT])


def _run_of(nodes: list[Node]) -> _Run[Node]:
    return _Run(nodes, [node.id for node in nodes], [node.appeared for node in nodes])
