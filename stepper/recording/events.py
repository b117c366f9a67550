"""Everything that happened: filtered, searched, paged.

Events are stored in runs (see the schema). What a row says of its run, how many events of each kind
it holds and between which moments, is read once and continued after a refresh. So counting is an
addition, and paging to any place of a million events or finding the next one of some kind decodes
the run that it is in, and no other. The last runs read are kept.

The order of writing and that of moments differ a little: an attempt is announced at the first
moment that it will have, and what it finds before its first instruction still belongs to the moment
before. So a run may reach into the moments of its neighbours. How far those before it reach, and
where those after it begin, is kept with each: both ascend, and both can be bisected.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Iterator
from itertools import accumulate, islice, repeat
from operator import add
from typing import NamedTuple

import msgspec

from stepper.model.trace import Event, EventKind, MomentId, Output
from stepper.recording.database import Database, damaged
from stepper.recording.packing import inflated, may_hold, unpacked_run
from stepper.recording.recent import Recent
from stepper.recording.schema import EVENT_KINDS, MOST_TOGETHER
from stepper.recording.schema import Events as Body

_KEPT = 65_536
"""Events that are kept whole."""
_HEADS_KEPT = 524_288
"""Events of which the moment and the kind are kept."""
_FILTERS = 24
"""Texts that are remembered with the events that have them."""
_READ_TOGETHER = 50
"""Runs that are decoded at once to sum them up."""
_SUMMARIES_TOGETHER = 2048
"""Rows that are read at once of what they say of their runs."""
_LARGEST = 2**63 - 1
_WIDTH = len(EVENT_KINDS)
_PLACES = {str(kind): at for at, kind in enumerate(EVENT_KINDS)}

_Kinds = frozenset[EventKind] | None
"""Those that are wanted; None: all."""


class _Heads(msgspec.Struct, frozen=True, array_like=True):
    """A run of events without what they say."""

    moments: list[int]
    kinds: list[str]


class _Head:
    """The moments of a run's events, by kind."""

    def __init__(self, moments: list[int], kinds: list[str]) -> None:
        self.moments = array("q", moments)
        self.kinds = bytes(map(_PLACES.__getitem__, kinds))
        self._ascending: dict[_Kinds, array[int]] = {}

    def fitting(self, kinds: _Kinds) -> Iterable[int]:
        """Places of the events of these kinds."""
        if kinds is None:
            return range(len(self.kinds))
        wanted = {_PLACES[str(kind)] for kind in kinds}
        return [at for at, kind in enumerate(self.kinds) if kind in wanted]

    def ascending(self, kinds: _Kinds) -> array[int]:
        """Their moments, in order."""
        found = self._ascending.get(kinds)
        if found is None:
            moments = sorted(self.moments[at] for at in self.fitting(kinds))
            found = self._ascending[kinds] = array("q", moments)
        return found


class _WithText:
    """The events of some kinds that have a text in them."""

    def __init__(self) -> None:
        self.ids = array("q")
        self.moments = array("q")
        self.runs = 0
        """How many runs have been searched."""


class EventHeads(NamedTuple):
    """What a reader knows of all runs, as columns; `kinds` has a number for each kind and run.
    Readers share it: none of them puts in more."""

    end: int
    """The number that the next event has."""
    firsts: array[int]
    earliest: array[int]
    latest: array[int]
    kinds: array[int]
    reached: array[int]
    """The latest moment of each run and of all before it."""
    ahead: array[int]
    """The earliest moment of each run and of all behind it."""


class EventMoments:
    """When the events of some kinds, with some text in them, happened."""

    def __init__(self, events: Events, kinds: _Kinds, text: str) -> None:
        self._events = events
        self._kinds = kinds
        self._text = text

    def __len__(self) -> int:
        return self._events.count(self._kinds, self._text)

    def __iter__(self) -> Iterator[MomentId]:
        """In order."""
        found = self._events.events(self._kinds, text=self._text)
        return iter(sorted(event.moment for event in found))

    def before(self, moment: MomentId) -> int:
        """How many were before a moment."""
        return self._events.before(moment, self._kinds, self._text)


class Events:
    """The events and the output of a recording."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._decoder = msgspec.msgpack.Decoder(Body)
        self._heads_decoder = msgspec.msgpack.Decoder(_Heads)
        self._summed_up = database.has_column("events", "kinds")
        self._stale = True
        nothing = [array(each) for each in "qqqIqq"]
        self._known = EventHeads(1, *nothing)
        self._shared = False
        """Whether another reader has the same columns."""
        self._totals: dict[_Kinds, array[int]] = {}
        """How many events of some kinds there are up to the end of each run."""
        self._kept: Recent[Body] = Recent(_KEPT)
        self._heads: Recent[_Head] = Recent(_HEADS_KEPT)
        self._lacking: tuple[str, set[int]] = "", set()
        """The text that was searched last, and the runs that do not have it."""
        self._with_text: OrderedDict[tuple[_Kinds, str], _WithText] = OrderedDict()

    def heads(self) -> EventHeads:
        """What has been read of all of them, which another thread can have."""
        self._shared = True
        return self._known

    def take_over(self, known: EventHeads) -> None:
        """Begin with what another reader of the same file has read, before anything is asked."""
        self._known, self._shared = known, True

    def refresh(self) -> None:
        """Look for newer events when they are next asked for."""
        self._stale = True

    def count(self, kinds: Collection[EventKind] | None = None, text: str = "") -> int:
        """How many events there are of these kinds (None: all) that have `text` in them."""
        wanted = _kinds(kinds)
        if text:
            return len(self._having(wanted, text).ids)
        totals = self._total(wanted)
        return totals[-1] if totals else 0

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
        wanted, first = _kinds(kinds), max(offset, 0)
        after, before = (after if after > 0 else -1), (_LARGEST if before is None else before)
        if text:
            anywhere = limit is not None and after < 0 and before == _LARGEST
            having = self._having(wanted, text, first + limit if anywhere and limit else None)
            pairs = zip(having.ids, having.moments, strict=True)
            ids = islice((id for id, moment in pairs if after < moment < before), first, None)
        else:
            ids = islice(self._ids(wanted, after, before, first), None)
        return [self._event(id) for id in islice(ids, None if limit is None else max(limit, 0))]

    def moments(self, kinds: Collection[EventKind] | None = None, text: str = "") -> EventMoments:
        """The moments of all events of these kinds (None: all) that have `text` in them, to be
        counted."""
        return EventMoments(self, _kinds(kinds), text)

    def before(self, moment: MomentId, kinds: _Kinds, text: str = "") -> int:
        """How many events of some kinds that have `text` in them were before a moment."""
        if text:
            return sum(each < moment for each in self._having(kinds, text).moments)
        totals, latest = self._total(kinds), self._known.latest
        at = bisect_left(self._known.reached, moment)
        found = totals[at - 1] if at else 0
        for other in _having_any(totals, at, bisect_left(self._known.ahead, moment)):
            if latest[other] < moment:
                found += totals[other] - (totals[other - 1] if other else 0)
            else:
                found += bisect_left(self._head(other).ascending(kinds), moment)
        return found

    def next(
        self, moment: int, kinds: Collection[EventKind] | None, direction: int
    ) -> Event | None:
        """The nearest event of these kinds at a later (+1) or an earlier (-1) moment."""
        wanted = _kinds(kinds)
        totals = self._total(wanted)
        best: tuple[int, int] | None = None
        """Its moment and its number."""
        if direction > 0:
            runs = _having_any(totals, bisect_right(self._known.reached, moment), len(totals))
        else:
            runs = _having_any_backwards(totals, bisect_left(self._known.ahead, moment))
        for at in runs:
            if best is not None and (
                self._known.ahead[at] >= best[0]
                if direction > 0
                else self._known.reached[at] <= best[0]
            ):
                break
            head, first = self._head(at), self._known.firsts[at]
            found = [(head.moments[place], first + place) for place in head.fitting(wanted)]
            beyond = [each for each in found if (each[0] - moment) * direction > 0]
            candidates = beyond if best is None else [*beyond, best]
            best = min(candidates, default=None) if direction > 0 else max(candidates, default=None)
        return None if best is None else self._event(best[1])

    def output(self, *, upto: int | None = None, after_id: int = 0) -> list[Output]:
        """What the program printed up to a moment (None: all), beyond the piece `after_id`."""
        sql = "SELECT id, moment, data FROM output WHERE id > ?"
        params = [after_id]
        if upto is not None:
            sql += " AND moment <= ?"
            params.append(upto)
        rows = self._database.query(tuple[int, int, str], sql + " ORDER BY id", params)
        return [Output(*row) for row in rows]

    # Finding events, by the places of their runs

    def _total(self, kinds: _Kinds) -> array[int]:
        """How many events of some kinds there are up to the end of each run."""
        self._read_on()
        totals = self._totals.setdefault(kinds, array("q"))
        known, done = self._known, len(totals)
        if done < len(known.firsts):
            before = totals[-1] if done else 0
            if kinds is None:
                totals.extend(first - 1 for first in known.firsts[done + 1 :])
                totals.append(known.end - 1)
            else:
                begin = done * _WIDTH
                columns = (known.kinds[begin + _PLACES[str(kind)] :: _WIDTH] for kind in kinds)
                counts: Iterable[int] = repeat(0, len(known.firsts) - done)
                for column in filter(any, columns):  # of most kinds there is nothing
                    counts = map(add, counts, column)
                totals.extend(islice(accumulate(counts, initial=before), 1, None))
        return totals

    def _ids(self, kinds: _Kinds, after: int, before: int, skip: int) -> Iterator[int]:
        """The numbers of the events of some kinds between two moments, in order, without the first
        ones."""
        totals, known = self._total(kinds), self._known
        start = bisect_right(self._known.reached, after)
        if after < 0 and before == _LARGEST:
            start = bisect_right(totals, skip)
            skip -= totals[start - 1] if start else 0
        for at in _having_any(totals, start, bisect_left(self._known.ahead, before)):
            count = totals[at] - (totals[at - 1] if at else 0)
            whole = after < known.earliest[at] and known.latest[at] < before
            if whole and skip >= count:
                skip -= count
                continue
            head, first = self._head(at), known.firsts[at]
            found = [
                first + place
                for place in head.fitting(kinds)
                if whole or after < head.moments[place] < before
            ]
            yield from found[skip:]
            skip = max(0, skip - len(found))

    def _having(self, kinds: _Kinds, text: str, enough: int | None = None) -> _WithText:
        """The events of some kinds that have a text in them, in any case; `enough`: so many of them
        will do."""
        text = text.lower()
        found = self._with_text.setdefault((kinds, text), _WithText())
        self._with_text.move_to_end((kinds, text))
        if len(self._with_text) > _FILTERS:
            self._with_text.popitem(last=False)
        totals = self._total(kinds)
        for at in _having_any(totals, found.runs, len(totals)):
            if enough is not None and len(found.ids) >= enough:
                found.runs = at
                return found
            if not self._may_hold(at, text):
                continue
            run, first = self._run(at), self._known.firsts[at]
            for place in self._head(at).fitting(kinds):
                if text in run.texts[place].lower():
                    found.ids.append(first + place)
                    found.moments.append(run.moments[place])
        found.runs = len(totals)
        return found

    def _may_hold(self, at: int, text: str) -> bool:
        """Whether a run can have a text: who asks for one kind mostly asks for others, too."""
        if text != self._lacking[0]:
            self._lacking = text, set()
        lacking = self._lacking[1]
        if at not in lacking and at not in self._kept:
            body = inflated(self._database, self._body(at))
            if not may_hold(body, text):
                lacking.add(at)
        return at not in lacking

    # Reading

    def _read_on(self) -> None:
        """Read what rows say that are new since the last refresh."""
        if not self._stale:
            return
        while rows := self._summaries(self._known.end - 1):
            firsts, counts, earliest, latest, kinds = map(list, zip(*rows, strict=True))
            ends = [*accumulate(counts, initial=self._known.end)]
            if (
                firsts != ends[:-1]
                or not 1 <= min(counts) <= max(counts) <= MOST_TOGETHER
                or any(len(each) % 4 or len(each) > 4 * _WIDTH for each in kinds)
            ):
                raise damaged(
                    self._database.path, f"{len(rows)} runs of events from {firsts[0]} on"
                )
            # There may have been fewer kinds when it was written.
            numbers = array("I", b"".join(each.ljust(4 * _WIDTH, b"\0") for each in kinds))
            if sys.byteorder == "big":
                numbers.byteswap()
            before = len(self._known.firsts)
            if self._shared:
                end, *columns = self._known
                self._known, self._shared = EventHeads(end, *(each[:] for each in columns)), False
            known = self._known._replace(end=ends[-1])
            known.firsts.extend(firsts)
            known.earliest.extend(earliest)
            known.latest.extend(latest)
            known.kinds.extend(numbers)
            self._known = known
            self._reach(before)
        self._stale = False

    def _summaries(self, after: int) -> list[tuple[int, int, int, int, bytes]]:
        """What the rows of some runs behind an event say but for the body; in older files, runs
        must be decoded for that."""
        after = after or -_LARGEST
        if self._summed_up:
            return self._database.query(
                tuple[int, int, int, int, bytes],
                "SELECT first, count, earliest, latest, kinds FROM events WHERE first > ?"
                " ORDER BY first LIMIT ?",
                (after, _SUMMARIES_TOGETHER),
            )
        rows = self._database.query(
            tuple[int, int, bytes],
            "SELECT first, count, body FROM events WHERE first > ? ORDER BY first LIMIT ?",
            (after, _READ_TOGETHER),
        )
        return [self._summed(*row) for row in rows]

    def _summed(self, first: int, count: int, body: bytes) -> tuple[int, int, int, int, bytes]:
        heads = unpacked_run(self._database, self._heads_decoder, body)
        if not len(heads.moments) == len(heads.kinds) == count or not heads.kinds:
            raise self._differs(first)
        numbers = array("I", _counted(heads.kinds))
        if sys.byteorder == "big":
            numbers.byteswap()
        return first, count, min(heads.moments), max(heads.moments), numbers.tobytes()

    def _reach(self, start: int) -> None:
        """Keep how far runs reach, from one run on."""
        earliest, latest = self._known.earliest[start:], self._known.latest[start:]
        if not earliest:
            return
        reached = self._known.reached[-1] if start else latest[0]
        self._known.reached.extend(islice(accumulate(latest, max, initial=reached), 1, None))
        ahead = array("q", accumulate(reversed(earliest), min))
        ahead.reverse()
        self._known.ahead.extend(ahead)
        for at in range(start - 1, -1, -1):
            if self._known.ahead[at] <= ahead[0]:
                break
            self._known.ahead[at] = ahead[0]

    def _head(self, at: int) -> _Head:
        found = self._heads.get(at)
        if found is None:
            heads = unpacked_run(self._database, self._heads_decoder, self._body(at))
            self._check(at, heads.moments, heads.kinds)
            found = _Head(heads.moments, heads.kinds)
            self._heads.keep(at, found, len(found.kinds))
        return found

    def _run(self, at: int) -> Body:
        found = self._kept.get(at)
        if found is None:
            found = unpacked_run(self._database, self._decoder, self._body(at))
            self._check(at, found.moments, found.kinds)
            if {*map(len, msgspec.structs.astuple(found))} != {len(found.kinds)}:
                raise self._differs(self._known.firsts[at])
            self._kept.keep(at, found, len(found.kinds))
        return found

    def _body(self, at: int) -> bytes:
        first = self._known.firsts[at]
        row = self._database.one(tuple[bytes], "SELECT body FROM events WHERE first = ?", (first,))
        if row is None:
            raise damaged(self._database.path, "a run of events is gone")
        return row[0]

    def _check(self, at: int, moments: list[int], kinds: list[str]) -> None:
        """See to it that a run is as its row says."""
        known = self._known
        if (
            len(moments) != len(kinds)
            or (min(moments, default=0), max(moments, default=0))
            != (known.earliest[at], known.latest[at])
            or _counted(kinds) != known.kinds[at * _WIDTH : (at + 1) * _WIDTH].tolist()
            or len(kinds) != self._total(None)[at] - known.firsts[at] + 1
        ):
            raise self._differs(known.firsts[at])

    def _differs(self, first: int) -> Exception:
        text = f"the run of events from {first} on is not what it should be"
        return damaged(self._database.path, text)

    def _event(self, id: int) -> Event:
        at = bisect_right(self._known.firsts, id) - 1
        run, place = self._run(at), id - self._known.firsts[at]
        kind = EventKind(run.kinds[place])
        return Event(
            id, run.moments[place], kind, run.refs[place], run.texts[place], run.frames[place]
        )


def _kinds(kinds: Collection[EventKind] | None) -> _Kinds:
    return None if kinds is None else frozenset(kinds)


def _counted(kinds: list[str]) -> list[int]:
    """How many there are of each kind; without those that nobody knows."""
    found = Counter(kinds)
    return [found[kind] for kind in _PLACES]


def _having_any(totals: array[int], start: int, end: int) -> Iterator[int]:
    """The runs from one on, and before another, that add something to the totals."""
    while (at := bisect_right(totals, totals[start - 1] if start else 0, start)) < end:
        yield at
        start = at + 1


def _having_any_backwards(totals: array[int], end: int) -> Iterator[int]:
    """The runs before one that add something to the totals, the last first."""
    while end and totals[end - 1]:
        end = bisect_left(totals, totals[end - 1], 0, end)
        yield end
