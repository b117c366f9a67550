"""Rule one of the dynamo engine: with and without stepper, everything is the same.

Each program of the corpus runs under the witness twice, once alone and once recorded. Its output,
the exit code, and all that the witness saw the compiler make must be equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.watching import HEAVY, Run, alone, explain_difference, light_batches, watched


@dataclass(frozen=True)
class Pair:
    alone: Run
    watched: Run


def cases() -> list[object]:
    # Programs of one batch share its two processes, so they must run in the same test worker.
    light = [
        pytest.param(name, batch, id=name, marks=pytest.mark.xdist_group(f"watching-{number}"))
        for number, batch in enumerate(light_batches())
        for name in batch
    ]
    heavy = [pytest.param(name, [name], id=name, marks=pytest.mark.slow) for name in sorted(HEAVY)]
    return light + heavy


@pytest.fixture(scope="module")
def run_both(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[str]], Pair]:
    done: dict[str, Pair] = {}

    def run(batch: list[str]) -> Pair:
        key = batch[0]
        if key not in done:
            folder = tmp_path_factory.mktemp("watching")
            done[key] = Pair(alone(batch, folder), watched(batch, folder))
        return done[key]

    return run


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("name", "batch"), cases())
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
