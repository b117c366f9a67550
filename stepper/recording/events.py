"""Everything that happened: filtered, searched, paged.

They are stored in runs (see the schema). When they are first asked for, every run is read once and
its moments and kinds are kept; the rest is read when it is asked for, and kept of the runs that
were read last. For each filter in use the ids of the events that fit are kept in one array,
extended after a refresh; so counting, paging to any place of 100,000 events and finding the next
one are look-ups.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence, Sized
from itertools import compress, islice
from operator import le
from typing import NamedTuple

import msgspec

from stepper.model.trace import Event, EventKind, Output
from stepper.recording.database import Database, damaged
from stepper.recording.packing import unpacked_run
from stepper.recording.recent import Recent
from stepper.recording.schema import MOST_TOGETHER
from stepper.recording.schema import Events as Body

_WANTED = re.compile(b"\x01")
_RARE = 8
"""One event in so many: fewer are looked for, and not each of all events asked."""
_FILTERS = 24
"""Filters that are remembered: a search or two, and each kind that a timeline counts."""


_KEPT = 65_536
"""Events that are kept whole."""

_LARGEST = 2**63 - 1

_KINDS = {str(kind): number for number, kind in enumerate(EventKind)}


class _Heads(msgspec.Struct, frozen=True, array_like=True):
    """A run of events without what they say: that is decoded when somebody reads it."""

    moments: list[int]
    kinds: list[str]


_Filter = tuple[frozenset[EventKind] | None, str]


class _Matches:
    """The events that fit a filter, in the order in which they were written and by moment.

    The two orders differ a little: an attempt is announced at the first moment that it will have,
    and what it finds before its first instruction still belongs to the moment before.
    """

    def __init__(self) -> None:
        self.ids = array("q")
        self.moments = array("q")
        """Ascending; `ids_by_moment` goes with it."""
        self.ids_by_moment = array("q")
        self.last_id = 0
        self.generation = -1

    def add(self, ids: array[int], moments: array[int]) -> None:
        """Add later events, of which there are some. Their places by moment are at or near the
        end."""
        self.ids += ids
        if not (self.moments and moments[0] < self.moments[-1]) and _ascends(moments):
            self.moments += moments
            self.ids_by_moment += ids
            return
        # The part that the new events can touch is taken off and sorted anew with them.
        at = bisect_left(self.moments, min(moments))
        ids, moments = self.ids_by_moment[at:] + ids, self.moments[at:] + moments
        order = sorted(range(len(ids)), key=list(zip(moments, ids, strict=True)).__getitem__)
        self.moments[at:] = array("q", map(moments.__getitem__, order))
        self.ids_by_moment[at:] = array("q", map(ids.__getitem__, order))

    def between(self, after: int, before: int | None) -> Sequence[int]:
        """Ids of the events whose moment is in a range, in the order of writing."""
        if after <= 0 and before is None:
            return self.ids
        first = bisect_right(self.moments, after) if after > 0 else 0
        last = len(self.moments) if before is None else bisect_left(self.moments, before)
        return sorted(self.ids_by_moment[first:last])


def _ascends(moments: array[int]) -> bool:
    return all(map(le, moments, islice(moments, 1, None)))


class EventHeads(NamedTuple):
    """What is known of all events without what they say."""

    firsts: list[int]
    moments: array[int]
    kinds: array[int]


class Events:
    """The events and the output of a recording."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._decoder = msgspec.msgpack.Decoder(Body)
        self._heads = msgspec.msgpack.Decoder(_Heads)
        self._generation = 0
        self._read_generation = -1
        self._firsts: list[int] = []
        """The number of each run's first event; the next run goes on where it ends."""
        self._moments = array("q")
        self._kinds = array("b")
        """The kinds of all events in order, as numbers. The first event has number 1."""
        self._kept: Recent[Body] = Recent(_KEPT)
        self._matches: OrderedDict[_Filter, _Matches] = OrderedDict()

    def heads(self) -> EventHeads:
        """What has been read of all of them; a copy, which another thread can have."""
        return EventHeads([*self._firsts], self._moments[:], self._kinds[:])

    def take_over(self, known: EventHeads) -> None:
        """Begin with what another reader of the same file has read, before anything is asked."""
        self._firsts, self._moments, self._kinds = known

    def refresh(self) -> None:
        """Look for newer events when they are next asked for."""
        self._generation += 1

    def count(self, kinds: Collection[EventKind] | None = None, text: str = "") -> int:
        """How many events there are of these kinds (None: all) that have `text` in them."""
        return len(self._matching(kinds, text).ids)

    def events(
        self,
        kinds: Collection[EventKind] | None = None,
        *,
        after: int = 0,
        before: int | None = None,
        text: str = "",
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Event]:
        """The events of some kinds (None: all) with `text` in them, in order.

        `after` and `before` are moments, both exclusive; `offset` and `limit` cut a page out.
        Events before the first moment (their moment is 0) belong to every range that begins at 0.
        """
        ids = self._matching(kinds, text).between(after, before)
        first = max(offset, 0)
        return [
            self._event(id)
            for id in (ids[first:] if limit is None else ids[first : first + max(limit, 0)])
        ]

    def moments(self, kinds: Collection[EventKind]) -> Sequence[int]:
        """The moments of all events of these kinds, in order, to be counted; not to be changed."""
        return self._matching(kinds, "").moments

    def next(
        self, moment: int, kinds: Collection[EventKind] | None, direction: int
    ) -> Event | None:
        """The nearest event of these kinds at a later (+1) or an earlier (-1) moment."""
        found = self._matching(kinds, "")
        if direction > 0:
            at = bisect_right(found.moments, moment)
        else:
            at = bisect_left(found.moments, moment) - 1
        if not 0 <= at < len(found.ids):
            return None
        return self._event(found.ids_by_moment[at])

    def output(self, *, upto: int | None = None, after_id: int = 0) -> list[Output]:
        """What the program printed up to a moment (None: all), beyond the piece `after_id`."""
        sql = "SELECT id, moment, data FROM output WHERE id > ?"
        params = [after_id]
        if upto is not None:
            sql += " AND moment <= ?"
            params.append(upto)
        rows = self._database.query(tuple[int, int, str], sql + " ORDER BY id", params)
        return [Output(*row) for row in rows]

    def _matching(self, kinds: Collection[EventKind] | None, text: str) -> _Matches:
        key = (None if kinds is None else frozenset(kinds), text)
        found = self._matches.get(key)
        if found is None:
            found = self._matches[key] = _Matches()
            if len(self._matches) > _FILTERS:
                self._matches.popitem(last=False)
        self._matches.move_to_end(key)
        if found.generation != self._generation:
            self._extend(found, key)
            found.generation = self._generation
        return found

    def _extend(self, found: _Matches, wanted: _Filter) -> None:
        kinds, text = wanted
        self._read_on()
        known, count = found.last_id, len(self._moments)
        ids: Iterable[int] = range(known + 1, count + 1)
        moments: Iterable[int] = self._moments[known:]
        if kinds is not None:
            # A byte for each event says whether it is wanted: there can be a million of them.
            numbers = {_KINDS[str(kind)] for kind in kinds}
            table = bytes(number in numbers for number in range(256))
            wanted_ones = self._kinds[known:].tobytes().translate(table)
            if wanted_ones.count(1) * _RARE < len(wanted_ones):
                ids = [known + 1 + hit.start() for hit in _WANTED.finditer(wanted_ones)]
                moments = [self._moments[id - 1] for id in ids]
            else:
                ids, moments = compress(ids, wanted_ones), compress(moments, wanted_ones)
        if text:
            text = text.lower()
            ids = [id for id in ids if text in self._text(id).lower()]
            moments = [self._moments[id - 1] for id in ids]
        if found_ones := array("q", ids):
            found.add(found_ones, array("q", moments))
        found.last_id = count

    def _read_on(self) -> None:
        """Read the runs that are new since the last refresh."""
        if self._read_generation == self._generation:
            return
        while rows := self._database.query(
            tuple[int, int, bytes],
            "SELECT first, count, body FROM events WHERE first > ? ORDER BY first LIMIT 50",
            (len(self._moments) or -_LARGEST,),
        ):
            runs = [unpacked_run(self._database, self._heads, body) for _, _, body in rows]
            kinds, moments = array("b"), array("q")
            for (first, count, _), run in zip(rows, runs, strict=True):
                if (
                    first != len(self._moments) + len(moments) + 1
                    or not 1 <= count <= MOST_TOGETHER
                ):
                    raise damaged(self._database.path, f"{count} events from {first} on")
                self._check(count, run.moments, run.kinds)
                try:
                    kinds.extend(map(_KINDS.__getitem__, run.kinds))
                    moments.extend(run.moments)
                except (KeyError, OverflowError) as error:
                    raise damaged(self._database.path, f"an event of {error}") from error
            self._kinds += kinds
            self._moments += moments
            self._firsts += [first for first, _, _ in rows]
        self._read_generation = self._generation

    def _check(self, count: int, *columns: Sized) -> None:
        if {*map(len, columns)} != {count}:
            raise damaged(self._database.path, f"a run of {count} events is shorter or longer")

    def _run(self, first: int) -> Body:
        found = self._kept.get(first)
        if found is not None:
            return found
        row = self._database.one(
            tuple[int, bytes], "SELECT count, body FROM events WHERE first = ?", (first,)
        )
        if row is None:
            raise damaged(self._database.path, "a run of events is gone")
        count, body = row
        found = unpacked_run(self._database, self._decoder, body)
        self._check(count, *msgspec.structs.astuple(found))
        self._kept.keep(first, found, count)
        return found

    def _find(self, id: int) -> tuple[Body, int]:
        """The run that an event is in, and its place there."""
        first = self._firsts[bisect_right(self._firsts, id) - 1]
        return self._run(first), id - first

    def _text(self, id: int) -> str:
        run, at = self._find(id)
        return run.texts[at]

    def _event(self, id: int) -> Event:
        run, at = self._find(id)
        kind = EventKind(run.kinds[at])
        return Event(id, run.moments[at], kind, run.refs[at], run.texts[at], run.frames[at])
