"""A native hit that finds what an earlier one has found is told by saying so, and reads as if in
full."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from stepper import native
from stepper.engines.native.repeated_hits import RepeatedHits
from stepper.model.trace import Phase
from stepper.recording.reader import Recording
from tests.engines.native import watch
from tests.engines.native.harness import run_graph
from tests.engines.told_hits import (
    AGAIN,
    HELD,
    MEASURED,
    Reads,
    asked_whether_it_is_empty,
    calls_that_hold,
    hits,
    reads,
    repeating_and_full,
    repeats,
)
from tests.engines.told_lookups import rows

pytestmark = pytest.mark.evaluator_out


def read(
    function: Callable[..., object], calls: Sequence[Callable[[], object]], path: Path
) -> list[Reads]:
    """What is told of the hits of these calls."""
    native.reset()
    captured = native.optimize(run_graph, dynamic=True)(function)

    def run() -> None:
        for make in calls:
            captured(make())

    recording = watch.record(path, run, Phase.LOOKUP)
    found = reads(recording)
    recording.close()
    return found


@pytest.mark.parametrize("name", HELD)
def test_what_is_held_reads_as_if_each_call_were_told_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    reading = partial(read, asked_whether_it_is_empty, calls_that_hold(name))
    repeating, full, count = repeating_and_full(monkeypatch, RepeatedHits, reading, tmp_path)
    assert repeating == full
    assert bool(count) is (name in AGAIN)


class Model(torch.nn.Module):
    """Has numbers, texts, a function and a module that guards look at."""

    def __init__(self) -> None:
        super().__init__()
        self.inside: Any = torch.nn.Linear(3, 3)
        self.some: list[Any] = [2, 3.0, "four", (5, 6)]
        self.by_name = {"a": 2}
        self.way: Callable[..., torch.Tensor] = torch.relu

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for each in self.some[:2]:
            x = x * each
        return self.way(self.inside(x)) + len(self.some[2]) + len(self.by_name)


def test_guards_are_timed_at_some_hits_and_others_repeat_them(tmp_path: Path) -> None:
    path = tmp_path / "r.stepper"
    sizes = [2, 4, 2, 2, 4, 4, 2, 4, 2, 2, 2, 4]
    found = read(Model(), [partial(torch.ones, n, 3) for n in sizes], path)
    of_size: dict[str, Any] = {}
    for read_of, size in zip(found, sizes[-len(found) :], strict=True):
        assert of_size.setdefault(str(size), read_of) == read_of
    with closing(Recording.open(str(path))) as recording:
        timed = [
            any("time" in row.said for row in rows(recording, each)) for each in hits(recording)
        ]
    assert timed == [at in MEASURED for at in range(1, len(found) + 1)]
    assert repeats(path) >= 4


def test_what_a_guard_sees_that_leaves_a_choice_is_told_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, chance = Model(), random.Random(1)

    def change(what: int) -> torch.Tensor:
        model.inside = torch.nn.Linear(3, 3) if what == 1 else model.inside
        model.way = torch.relu if what < 3 else torch.sigmoid
        model.some[1] = 3.0 if what < 4 else 4.0
        model.some[3] = (5, what)
        return torch.ones(2 + what % 2, 3)

    chosen = [0] * 12 + [chance.randint(0, 5) for _ in range(40)] + [0] * 8
    calls = [partial(change, what) for what in chosen]
    reading = partial(read, model, calls)
    repeating, full, count = repeating_and_full(monkeypatch, RepeatedHits, reading, tmp_path)
    assert repeating == full
    assert count > 4
