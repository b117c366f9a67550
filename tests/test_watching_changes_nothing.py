"""Rule one of the dynamo engine: with and without stepper, everything is the same.

Each program of the corpus runs under the witness twice, once alone and once recorded. Its output,
the exit code, and all that the witness saw the compiler make must be equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from stepper.recording.reader import Recording
from tests.watching import (
    HEAVY,
    Run,
    alone,
    attempts_seen,
    explain_difference,
    light_batches,
    watched,
)


@dataclass(frozen=True)
class Pair:
    alone: Run
    watched: Run
    attempts_recorded: int


# Programs of one batch share its two processes, so they must run in the same test worker.
BATCHES = [(names, [pytest.mark.xdist_group(names[0])]) for names in light_batches()] + [
    ([name], [pytest.mark.xdist_group(name), pytest.mark.slow]) for name in sorted(HEAVY)
]


@pytest.fixture(scope="module")
def run_both(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[str]], Pair]:
    done: dict[str, Pair] = {}

    def run(batch: list[str]) -> Pair:
        key = batch[0]
        if key not in done:
            folder = tmp_path_factory.mktemp("watching")
            recording = folder / "watched.stepper"
            pair = (alone(batch, folder), watched(batch, folder, recording))
            done[key] = Pair(*pair, len(Recording.open(str(recording)).attempts()))
        return done[key]

    return run


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("name", "batch"),
    [pytest.param(name, batch, id=name, marks=marks) for batch, marks in BATCHES for name in batch],
)
def test_watching_changes_nothing(
    name: str, batch: list[str], run_both: Callable[[list[str]], Pair]
) -> None:
    pair = run_both(batch)
    assert name in pair.alone.accounts, pair.alone.errors
    assert name in pair.watched.accounts, pair.watched.errors
    expected, actual = pair.alone.accounts[name], pair.watched.accounts[name]
    assert actual.output == expected.output
    difference = explain_difference(expected.report, actual.report)
    assert not difference, difference
    assert pair.watched.status == pair.alone.status


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "batch", [pytest.param(batch, id=f"with {batch[0]}", marks=marks) for batch, marks in BATCHES]
)
def test_every_attempt_was_watched(batch: list[str], run_both: Callable[[list[str]], Pair]) -> None:
    pair = run_both(batch)
    assert pair.attempts_recorded == attempts_seen(pair.watched) > 0, pair.watched.errors
