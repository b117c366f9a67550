"""Of programs that nobody wrote, what is told is what Dynamo logs.

More of them: `STEPPER_GENERATED=200 pytest tests/analysis/test_generated_calls.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from stepper.analysis.breaks import causes
from stepper.analysis.recompiles import recompilations
from tests.analysis.agreement import is_told, is_true
from tests.analysis.conftest import Recorded
from tests.analysis.dynamo_log import breaks_in, recompilations_in, run_with_log
from tests.analysis.generated_calls import program as made_up

FUNCTIONS = 8
PROGRAMS = int(os.environ.get("STEPPER_GENERATED", "2"))


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_what_is_told_is_what_dynamo_logs(
    seed: int, recorded: Recorded, program: Callable[[str], str], tmp_path: Path
) -> None:
    path = program(made_up(seed, FUNCTIONS))
    log = run_with_log(path, "recompiles,graph_breaks", tmp_path)
    recording = recorded(path, "--lookups")
    told = [
        (each.translation.compile_id, f"{cause.place.filename}:{cause.place.line}")
        for cause in causes(recording)
        if cause.place is not None
        for each in cause.occurrences
    ]
    assert sorted(told) == sorted(breaks_in(log))
    found, logged = recompilations(recording), recompilations_in(log)
    assert found
    assert [each.translation.name for each in found] == [name for name, _ in logged]
    for each, (_, reasons) in zip(found, logged, strict=True):
        assert [tried.entry for tried in each.tried] == [reason.entry for reason, _ in reasons]
        for tried, (reason, line) in zip(each.tried, reasons, strict=True):
            assert is_told(reason, tried.failures), (each.translation.compile_id, reason)
            lines = {
                failure.user_line.place.line for failure in tried.failures if failure.user_line
            }
            assert line is None or line in lines, (each.translation.compile_id, reason)
    is_true(recompilations(recorded(path)), found)
