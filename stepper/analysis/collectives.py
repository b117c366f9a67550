"""The collectives that processes have begun, by what torch's flight recorder said of them.

Each reading of a recording tells what was new; here they are put together. What is kept of a
process is small, so that those of hundreds can be compared: of each collective a number that says
what it is, and where the newest ones were begun. The numbers within a group are the same in all
its ranks as long as they do the same, so two ranks are compared number by number.
"""

from __future__ import annotations

import contextlib
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from stepper.model.collective import Collective, CollectiveReading, ProcessGroup
from stepper.model.program import PythonFrame
from stepper.recording.errors import RecordingError
from stepper.recording.reader import Recording
from stepper.recording.session_folder import Process

_MOST_MISSED = 1_000_000
"""No more are thrown away between two looks; a damaged file can say anything."""
_SIZES_MAY_DIFFER = ("all_to_all", "alltoall", "send", "recv")
"""In these, and in those below one part of them, ranks have tensors of different sizes."""
_INPUTS_MAY_DIFFER = (*_SIZES_MAY_DIFFER, "scatter")
_OUTPUTS_MAY_DIFFER = (*_SIZES_MAY_DIFFER, "gather", "reduce")


class Begun(NamedTuple):
    """A collective, and the program's frames that began it, outermost first."""

    collective: Collective
    stack: tuple[PythonFrame, ...]


class GroupHistory:
    """What a process has begun in one process group."""

    def __init__(self, group: ProcessGroup) -> None:
        self.group = group
        """As it was at the last look."""
        self.complete = False
        """Whether what it has not begun is known: the recording goes on to the process's end, or
        there is no later one."""
        self.first = 0
        """Number of the first collective that is known; 0: none is."""
        self.what: array[int] = array("Q")
        """What each is, from the first on: the same number in two ranks for the same. 0: torch has
        thrown it away before it was read."""

    def known(self, number: int) -> int | None:
        """What a collective is; None: that is not known."""
        at = number - self.first
        return self.what[at] or None if self.first and 0 <= at < len(self.what) else None

    def add(self, each: Collective) -> None:
        """Take note of one that was begun; of one that is known already, nothing."""
        if not self.first:
            self.first = each.number
        at = each.number - self.first
        if len(self.what) <= at < len(self.what) + _MOST_MISSED:
            self.what.extend([0] * (at - len(self.what)))
            self.what.append(_what(each))


class UnderWay(NamedTuple):
    """A collective that was begun and was not over, when that was read last."""

    group: ProcessGroup
    number: int
    name: str
    """Torch's; empty: it was not read."""


class Progress:
    """How far a process is in its process groups, by a recording that still grows: each time only
    what is new in it is read."""

    def __init__(self) -> None:
        self.groups: dict[tuple[str, int], ProcessGroup] = {}
        """As they were read last."""
        self._readings = 0
        self._names: dict[tuple[str, int, int], str] = {}
        """Names of the collectives that were not over, by backend, group and number."""

    def read_on(self, recording: Recording) -> None:
        """Take note of what has come since.

        Raises:
            RecordingError: it cannot be read.
        """
        for reading in recording.collective_readings(self._readings) or ():
            self._readings += 1
            _go_on(self.groups, reading)
            for each in reading.collectives:
                key = (each.backend, each.group, each.number)
                if each.over:
                    self._names.pop(key, None)
                elif not each.single:
                    self._names[key] = each.name

    def under_way(self) -> Iterator[UnderWay]:
        """The first of each group that is not over."""
        for group in self.groups.values():
            number = group.under_way
            if number is not None and group.name:
                name = self._names.get((group.backend, group.id, number), "")
                yield UnderWay(group, number, name)

    def has_begun(self, other: UnderWay) -> bool | None:
        """Whether the process has begun what another one has; None: nothing is known of the
        group."""
        same = (other.group.name, other.group.ranks)
        mine = [each for each in self.groups.values() if (each.name, each.ranks) == same]
        return mine[0].enqueued >= other.number if mine else None


class Parting(NamedTuple):
    """Where the ranks of a group have begun different collectives."""

    group: ProcessGroup
    number: int
    sides: tuple[tuple[tuple[Process, ...], Begun | None], ...]
    """Those that have begun the same one, the most first; None: they have begun no more."""


class Standing(NamedTuple):
    """A collective that some ranks have begun, and that was not over."""

    group: ProcessGroup
    number: int
    begun: Begun | None
    """As the first of them has begun it; None: that was not read."""
    standing: tuple[Process, ...]
    missing: tuple[tuple[Process, int], ...]
    """Those that have not begun it, and the number of their newest one."""
    unknown: tuple[int, ...]
    """Ranks of the group of which it is not known."""


class Compared(NamedTuple):
    """What the collectives of a session's ranks say."""

    partings: tuple[Parting, ...]
    standings: tuple[Standing, ...]
    silent: tuple[Process, ...]
    """Those of which nothing is known, where something is known of others."""
    known: bool = False
    """Whether anything is known of any."""


def begun(recording: Recording) -> Iterator[Begun]:
    """The collectives of a recording in the order in which they were read, each as it was told
    last."""
    newest: dict[tuple[str, int], Begun] = {}
    for reading in recording.collective_readings() or ():
        for each in reading.collectives:
            newest[each.backend, each.id] = Begun(each, _stack(each, reading.stacks))
    yield from newest.values()


def groups(recording: Recording) -> list[ProcessGroup]:
    """The process groups of a recording, as they were at the last look."""
    return list(_groups(recording).values())


def histories(recording: Recording) -> dict[str, GroupHistory]:
    """What a process has begun, by the names of its groups."""
    found: dict[tuple[str, int], GroupHistory] = {
        key: GroupHistory(group) for key, group in _groups(recording).items()
    }
    for reading in recording.collective_readings() or ():
        for known in found.values():
            known.complete = recording.ended is None or (
                reading.whole and recording.ended == "exit"
            )
        for each in reading.collectives:
            history = found.get((each.backend, each.group))
            if history is not None and not each.single:
                history.add(each)
    return {each.group.name: each for each in found.values() if each.group.name}


def compare(processes: Sequence[Process], known: Mapping[int, dict[str, GroupHistory]]) -> Compared:
    """Compare what ranks have begun.

    Args:
        processes: the ranks.
        known: what each has begun, by its place among them.
    """
    by_group: dict[tuple[str, tuple[int, ...]], dict[int, GroupHistory]] = {}
    for at, histories in known.items():
        for name, history in histories.items():
            by_group.setdefault((name, history.group.ranks), {})[at] = history
    partings: list[Parting] = []
    standings: list[Standing] = []
    for members in by_group.values():
        if len(members) > 1:
            partings += _partings(processes, members)
        standings += _standings(processes, members)
    silent = tuple(each for at, each in enumerate(processes) if not known.get(at))
    return Compared(tuple(partings), tuple(standings), silent if by_group else (), bool(by_group))


def _groups(recording: Recording) -> dict[tuple[str, int], ProcessGroup]:
    found: dict[tuple[str, int], ProcessGroup] = {}
    for reading in recording.collective_readings() or ():
        _go_on(found, reading)
    return found


def _go_on(found: dict[tuple[str, int], ProcessGroup], reading: CollectiveReading) -> None:
    for each in reading.groups:
        before = found.get((each.backend, each.id), each)
        found[each.backend, each.id] = each if each.name else msgspec.structs.replace(
            before, enqueued=each.enqueued, completed=each.completed
        )  # fmt: skip


def _stack(each: Collective, stacks: Sequence[tuple[PythonFrame, ...]]) -> tuple[PythonFrame, ...]:
    known = each.stack is not None and 0 <= each.stack < len(stacks)
    return stacks[each.stack or 0] if known else ()


def _what(each: Collective) -> int:
    """A number for what has to be the same in all ranks."""
    parts = [each.name]
    if not each.name.startswith(_INPUTS_MAY_DIFFER):
        parts += each.inputs
    if not each.name.startswith(_OUTPUTS_MAY_DIFFER):
        parts += ("to", *each.outputs)
    text = "\0".join(parts).encode(errors="replace")
    return zlib.crc32(text) << 32 | zlib.adler32(text) or 1


def _partings(
    processes: Sequence[Process], members: Mapping[int, GroupHistory]
) -> Iterator[Parting]:
    """The first collective of a group that is not the same in all that have begun it."""
    number = _first_unlike(list(members.values()))
    ended = [
        each for at, each in members.items() if each.complete and processes[at].state == "exited"
    ]
    if number is None and len(ended) == len(members):
        shortest, longest = (find(each.group.enqueued for each in ended) for find in (min, max))
        number = shortest + 1 if longest > shortest else None
    if number is None:
        return
    sides: dict[int | None, list[int]] = {}
    for at, history in members.items():
        what = history.known(number)
        if what is not None or (history.complete and history.group.enqueued < number):
            sides.setdefault(what, []).append(at)
    ordered = sorted(sides.items(), key=lambda each: (each[0] is None, -len(each[1])))
    yield Parting(
        next(iter(members.values())).group,
        number,
        tuple(
            (
                tuple(processes[at] for at in side),
                None if what is None else _begun(processes[side[0]], members[side[0]], number),
            )
            for what, side in ordered
        ),
    )


def _first_unlike(histories: Sequence[GroupHistory]) -> int | None:
    """The number of the first collective that is not the same in two that have begun it."""
    having = [each for each in histories if each.first]
    first = None
    for each in having[1:]:
        usual = having[0]
        start = max(usual.first, each.first)
        mine, theirs = (side.what[start - side.first :] for side in (usual, each))
        count = min(len(mine), len(theirs))
        if mine[:count] != theirs[:count]:
            pairs = zip(mine, theirs, strict=False)
            at = next((at for at, (a, b) in enumerate(pairs) if a and b and a != b), None)
            if at is not None and (first is None or start + at < first):
                first = start + at
    return first


def _standings(
    processes: Sequence[Process], members: Mapping[int, GroupHistory]
) -> Iterator[Standing]:
    by_number: dict[int, list[int]] = {}
    for at, history in members.items():
        # Torch finds a moment later that one is over: the last one of a rank that has ended.
        number = history.group.under_way
        if number is not None and processes[at].state != "exited":
            by_number.setdefault(number, []).append(at)
    ranks = {processes[at].rank for at, each in members.items() if each.complete}
    for number, standing in sorted(by_number.items()):
        group = members[standing[0]].group
        missing = [
            (processes[at], each.group.enqueued)
            for at, each in members.items()
            if each.complete and each.group.enqueued < number
        ]
        found = (_begun(processes[at], members[at], number) for at in standing)
        yield Standing(
            group,
            number,
            next(filter(None, found), None),
            tuple(processes[at] for at in standing),
            tuple(missing),
            tuple(rank for rank in group.ranks if rank not in ranks),
        )


def _begun(process: Process, history: GroupHistory, number: int) -> Begun | None:
    """A collective of a process by its number, read once more; None: it is not known."""
    wanted = history.group
    with (
        contextlib.suppress(RecordingError),
        contextlib.closing(Recording.open(process.recording)) as recording,
    ):
        for each in begun(recording):
            of = each.collective
            at = (of.backend, of.group, of.number, of.single)
            if at == (wanted.backend, wanted.id, number, False):
                return each
    return None
