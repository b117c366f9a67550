"""A native hit that finds what an earlier one has found is told by saying so, and reads as if in
full."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from stepper import native
from stepper.engines.native.repeated_hits import RepeatedHits
from stepper.model.trace import Phase
from tests.engines.native import watch
from tests.engines.native.harness import run_graph
from tests.engines.told_hits import AGAIN, HELD, MEASURED, ONE, arguments, hits, repeats, told
from tests.engines.told_lookups import rows

pytestmark = pytest.mark.evaluator_out

Reads = tuple[list[Any], list[object]]


def read(
    path: Path, function: Callable[..., object], calls: Sequence[Callable[[], object]]
) -> tuple[list[Reads], list[bool]]:
    """What is told of the hits of these calls, and at which of them guards were timed."""
    native.reset()
    captured = native.optimize(run_graph, dynamic=True)(function)

    def call(make: Callable[[], object]) -> None:
        captured(make())

    def run() -> None:
        for each in map(partial, [call] * len(calls), calls):
            each()

    recording = watch.record(path, run, Phase.LOOKUP)
    found = hits(recording)
    reads = [(told(recording, each), arguments(recording, each)) for each in found]
    timed = [any("time" in row.said for row in rows(recording, each)) for each in found]
    recording.close()
    return reads, timed


def repeating_and_full(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    function: Callable[..., object],
    calls: Sequence[Callable[[], object]],
) -> tuple[list[Reads], list[Reads], int]:
    """What is told of hits, as it is and with each told in full, and how many were repeats."""
    found = []
    for at, tell in enumerate((RepeatedHits.tell, lambda *_: None)):
        monkeypatch.setattr(RepeatedHits, "tell", tell)
        found.append(read(tmp_path / f"{at}.stepper", function, calls)[0])
    assert not repeats(tmp_path / "1.stepper")
    return found[0], found[1], repeats(tmp_path / "0.stepper")


@pytest.mark.parametrize("name", HELD)
def test_what_is_held_reads_as_if_each_call_were_told_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    chance, made = random.Random(name), HELD[name]
    order = [made[0]] * 12 + [chance.choice(made) for _ in range(40)]
    repeating, full, count = repeating_and_full(
        tmp_path, monkeypatch, lambda held: ONE + 1 if held else ONE, order
    )
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
    reads, timed = read(path, Model(), [partial(torch.ones, n, 3) for n in sizes])
    of_size: dict[str, Any] = {}
    for read_of, size in zip(reads, sizes[-len(reads) :], strict=True):
        assert of_size.setdefault(str(size), read_of) == read_of
    assert timed == [at in MEASURED for at in range(1, len(reads) + 1)]
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
    repeating, full, count = repeating_and_full(tmp_path, monkeypatch, model, calls)
    assert repeating == full
    assert count > 4
