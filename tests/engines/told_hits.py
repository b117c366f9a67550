"""All that is told of hits, and calls of which one repeats what another one was told to find."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
import torch

from stepper.model.trace import Outcome, Translation
from stepper.recording.reader import Recording
from tests.engines.told_lookups import Row, lookups, rows

MEASURED = {1, 2, 4, 8, 16}
"""Hits of an entry that are told in full, since their guards are timed."""


def repeats(path: Path) -> int:
    """How many lookups of a recording are told by saying which one they repeat."""
    with closing(sqlite3.connect(path)) as connection:
        [(count,)] = connection.execute("SELECT coalesce(sum(count), 0) FROM repeated_lookups")
    return int(count)


def hits(recording: Recording) -> list[Translation]:
    return [each for each in lookups(recording) if each.outcome is Outcome.HIT]


def untimed(found: list[Row]) -> list[Row]:
    return [
        row._replace(said={name: text for name, text in row.said.items() if name != "time"})
        for row in found
    ]


def told(recording: Recording, lookup: Translation) -> list[Any]:
    """All that is told of a lookup, without numbers and times."""
    first = lookup.first_moment
    last = lookup.last_moment
    assert last is not None
    frames = [
        frame for each in recording.attempts(lookup.id) for frame in recording.frames(each.id)
    ]
    places = {frame.id: at for at, frame in enumerate(frames)}
    return [
        msgspec.structs.replace(
            lookup, id=0, first_moment=0, last_moment=last - first, seconds=None
        ),
        untimed(rows(recording, lookup)),
        [
            (frame.depth, frame.code, frame.first_moment - first, (frame.last_moment or 0) - first)
            for frame in frames
        ],
        [places[recording.moment(moment).frame] for moment in range(first, last + 1)],
        [
            (entry.moment - first, entry.entry, entry.code, entry.matches)
            for entry in recording.tried(lookup.id)
        ],
        [
            (check.place, check.verdict, check.moment - first, check.actual, check.why)
            for entry in recording.tried(lookup.id)
            for check in entry.checks
        ],
        [
            (event.kind, event.moment - first, event.text, event.frame and places[event.frame])
            for event in recording.events()
            if first <= event.moment <= last
        ],
    ]


def arguments(recording: Recording, lookup: Translation) -> list[object]:
    """What is told of a call's arguments, and of what they hold; each object by when it comes."""
    state = recording.state(lookup.first_moment)
    numbers: dict[int, int] = {}

    def told_of(id: int) -> object:
        value = state.values[id]
        return (
            numbers.setdefault(id, len(numbers)), value.type, value.text, value.constant,
            value.length, [(item.label, told_of(item.value)) for item in value.items],
        )  # fmt: skip

    own = {name: id for name, id in state.top.locals.items() if name.startswith("L[")}
    return [(name, told_of(id)) for name, id in own.items()]


class Settings:
    """An object of which nothing is told but its class."""


class Pair(NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


ONE, OTHER = torch.ones(3), torch.ones(3)
HELD: dict[str, list[Callable[[], Any]]] = {
    "lists": [lambda: [ONE, OTHER], lambda: [ONE, ONE], lambda: [ONE.clone(), ONE.clone()]],
    "tuples": [lambda: (ONE, 1.5, "a"), lambda: (OTHER, 1.5, "a"), lambda: (ONE, 2.5, "a")],
    "dictionaries": [
        lambda: {"a": ONE, "b": 1}, lambda: {"b": 1, "a": ONE}, lambda: {"a": ONE, "b": True},
        lambda: {"a": OTHER, "b": 1, "c": None},
    ],
    "nested": [
        lambda: {"a": [ONE, (OTHER, [])]}, lambda: {"a": [ONE, (ONE, [])]},
        lambda: {"a": [ONE, (OTHER, [1])]}, lambda: {"a": [ONE, (OTHER, ())]},
    ],
    "long": [lambda: [ONE] * 70, lambda: [*[ONE] * 69, OTHER], lambda: [ONE, *[1] * 69]],
    "long of numbers": [lambda: [ONE, [*range(90)]], lambda: [ONE, [*range(89), 7]]],
    "objects": [
        lambda: [ONE, Settings()], lambda: [ONE, Pair(ONE, OTHER)], lambda: [ONE, object()],
    ],
    "named": [lambda: Pair(ONE, OTHER), lambda: Pair(ONE, ONE)],
    "sets": [lambda: [ONE, {1, 2}], lambda: [ONE, {1, 3}], lambda: [ONE, frozenset()]],
    "devices": [lambda: [ONE, torch.device("cpu")], lambda: [ONE, torch.device("meta")]],
    "sizes": [lambda: [ONE, torch.ones(3)], lambda: [ONE, torch.ones(4)], lambda: [torch.ones(2)]],
}  # fmt: skip
AGAIN = {"lists", "tuples", "dictionaries", "nested", "long", "objects", "devices", "sizes"}
"""Of which a call with another one that holds the same repeats what was told."""


Reads = tuple[list[Any], list[object]]
"""All that is told of a hit, and of its call's arguments."""


def reads(recording: Recording) -> list[Reads]:
    """What is told of each hit."""
    return [(told(recording, each), arguments(recording, each)) for each in hits(recording)]


def repeating_and_full(
    monkeypatch: pytest.MonkeyPatch,
    watched: type,
    read: Callable[[Path], list[Reads]],
    folder: Path,
) -> tuple[list[Reads], list[Reads], int]:
    """What is told of hits, as it is and with each told in full, and how many were repeats.

    Args:
        monkeypatch: the test's.
        watched: what tells an engine's hits again.
        read: makes the recording, and says what is told of its hits.
        folder: where the recordings are.
    """
    found = []
    for at, tell in enumerate((vars(watched)["tell"], lambda *_: None)):
        monkeypatch.setattr(watched, "tell", tell)
        found.append(read(folder / f"{at}.stepper"))
    assert not repeats(folder / "1.stepper")
    return found[0], found[1], repeats(folder / "0.stepper")


def calls_that_hold(name: str) -> list[Callable[[], Any]]:
    """Calls with what is held: the first again and again, then all in turn."""
    chance, made = random.Random(name), HELD[name]
    return [made[0]] * 12 + [chance.choice(made) for _ in range(40)]


def asked_whether_it_is_empty(held: Any) -> torch.Tensor:
    """Looks at what is held as little as can be."""
    return ONE + 1 if held else ONE
