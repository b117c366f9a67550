"""Everything that happened: filtered, searched, paged.

For each filter in use the ids of the events that fit are kept in one array, extended after a
refresh; so counting, paging to any place of 100,000 events and finding the next one are look-ups,
and only the rows on screen are read.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import NamedTuple

from stepper.model.trace import Event, EventKind, Output
from stepper.recording.database import Database, damaged

_FILTERS = 24
"""Filters that are remembered: a search or two, and each kind that a timeline counts."""


class _EventRow(NamedTuple):
    id: int
    moment: int
    kind: str
    ref: int | None
    text: str
    frame: int | None


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
        self.last_id = -1
        self.generation = -1

    def add(self, events: Sequence[tuple[int, int]]) -> None:
        """Add later events, as ids and moments. Their places by moment are at or near the end."""
        self.ids.extend(id for id, _ in events)
        # The part that the new events can touch is taken off and sorted anew with them.
        at = bisect_left(self.moments, min(moment for _, moment in events))
        touched = [*zip(self.moments[at:], self.ids_by_moment[at:], strict=True)]
        touched = sorted([*touched, *((moment, id) for id, moment in events)])
        self.moments[at:] = array("q", [moment for moment, _ in touched])
        self.ids_by_moment[at:] = array("q", [id for _, id in touched])

    def between(self, after: int, before: int | None) -> Sequence[int]:
        """Ids of the events whose moment is in a range, in the order of writing."""
        if after <= 0 and before is None:
            return self.ids
        first = bisect_right(self.moments, after) if after > 0 else 0
        last = len(self.moments) if before is None else bisect_left(self.moments, before)
        return sorted(self.ids_by_moment[first:last])


class Events:
    """The events and the output of a recording."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._generation = 0
        self._matches: OrderedDict[_Filter, _Matches] = OrderedDict()

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
        """The events that fit, in order; `after` and `before` are moments, both exclusive.

        Events before the first moment (their moment is 0) belong to every range that begins at 0.
        """
        ids = self._matching(kinds, text).between(after, before)
        first = max(offset, 0)
        return self._read(ids[first:] if limit is None else ids[first : first + max(limit, 0)])

    def moments(self, kinds: Collection[EventKind]) -> Sequence[int]:
        """The moments of the events of these kinds, in order; not to be changed."""
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
        return self._read(found.ids_by_moment[at : at + 1])[0]

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
        newest = self._database.one(tuple[int | None], "SELECT max(id) FROM event")
        sql = "SELECT id, moment FROM event WHERE id > ?"
        params: list[object] = [found.last_id]
        if kinds is not None:
            sql += f" AND kind IN ({','.join('?' * len(kinds))})"
            params.extend(sorted(map(str, kinds)))
        if text:
            escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            sql += " AND text LIKE ? ESCAPE '\\'"
            params.append(f"%{escaped}%")
        events = self._database.query(tuple[int, int], sql + " ORDER BY id", params)
        if events:
            found.add(events)
        ends = [newest[0] if newest and newest[0] is not None else -1, found.last_id]
        found.last_id = max([*ends, *found.ids[-1:]])

    def _read(self, ids: Sequence[int]) -> list[Event]:
        found: list[Event] = []
        columns = ", ".join(_EventRow._fields)
        for i in range(0, len(ids), 500):
            part = ids[i : i + 500]
            if part[-1] - part[0] == len(part) - 1:
                condition, params = "BETWEEN ? AND ?", [part[0], part[-1]]
            else:
                condition, params = f"IN ({','.join('?' * len(part))})", list(part)
            sql = f"SELECT {columns} FROM event WHERE id {condition} ORDER BY id"
            found.extend(map(self._event, self._database.query(_EventRow, sql, params)))
        return found

    def _event(self, row: _EventRow) -> Event:
        try:
            kind = EventKind(row.kind)
        except ValueError as error:
            raise damaged(self._database.path, str(error)) from error
        return Event(row.id, row.moment, kind, row.ref, row.text, row.frame)
