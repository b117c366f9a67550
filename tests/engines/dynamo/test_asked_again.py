"""What our own reading says of a guard, held to what Dynamo said: of an entry that was hit, all
guards have passed, so none fails when it is asked again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import ready
from tests.conftest import CORPUS, ROOT, clean_environment
from tests.engines.dynamo.asked_again import FUNCTIONS
from tests.watching import FORKS, HEAVY

LIGHT = sorted(path.stem for path in CORPUS.glob("*.py") if path.stem not in HEAVY | FORKS)


@pytest.mark.slow
@pytest.mark.parametrize("names", [[*FUNCTIONS], LIGHT], ids=["functions", "programs"])
def test_no_guard_of_an_entry_that_was_hit_fails(names: list[str], tmp_path: Path) -> None:
    left = names
    while left:
        done = subprocess.run(
            ready.python("-m", "tests.engines.dynamo.asked_again", tmp_path, *left),
            cwd=ROOT, env=clean_environment(), capture_output=True, text=True, timeout=600,
            check=False,
        )  # fmt: skip
        said = done.stderr.splitlines()
        assert [line for line in said if line.startswith("FAILS")] == []
        finished = [line for line in said if line.startswith("DONE")]
        assert finished, done.stderr
        left = left[len(finished) :]
