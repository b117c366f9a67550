"""torch's operators, by its own samples of them: watched as Dynamo compiles them, and compiled by
the native engine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.real.running import environment, run

EVERY = 8
EQUAL = re.compile(r"[1-9]\d* calls of [1-9]\d* operators compared")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("-m", "stepper", "record", "--lookups", "-o", "run.stepper", "-m", "tests.real.operators"),
        ("-m", "tests.real.operators", "--native"),
    ],
    ids=["watched", "native"],
)
def test_operators_give_what_they_give_eagerly(tmp_path: Path, command: tuple[str, ...]) -> None:
    where = environment(tmp_path, PYTHONPATH=str(Path(__file__).parents[2]))
    done = run([*command, "--every", EVERY], tmp_path, forked=True, env=where)
    assert EQUAL.fullmatch(done.out.strip()), done.out + done.err
    assert "stopped watching" not in done.err
