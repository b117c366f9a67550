"""Each condition on sizes is a guard of its own: with a verdict, what it saw, and its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepper.analysis.conditions import comparisons
from stepper.analysis.guard_lines import guard_lines, guarded_lines
from stepper.analysis.guard_uses import Uses, matching
from stepper.analysis.query import Query
from stepper.analysis.recompile_lines import recompile_lines
from stepper.recording.reader import Recording
from tests.shapes.test_against_torch import run

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
import torch

torch._dynamo.config.enable_cpp_symbolic_shape_guards = sys.argv[1] == "cpp"

@torch.compile(backend="eager", dynamic=True)
def several(x, y):
    if x.shape[0] > 3:  # the first
        x = x + 1
    z = torch.cat([x, y])
    if z.shape[0] % 2 == 0:  # the second
        z = z * 2
    return z

several(torch.ones(4), torch.ones(6))
several(torch.ones(5), torch.ones(7))
several(torch.ones(2), torch.ones(6))
several(torch.ones(2), torch.ones(5))
"""
FIRST = PROGRAM.splitlines().index("    if x.shape[0] > 3:  # the first") + 1
SECOND = PROGRAM.splitlines().index("    if z.shape[0] % 2 == 0:  # the second") + 1


@pytest.fixture(scope="module", params=["python", "cpp"])
def recorded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Recording]]:
    """What torch says of recompilations, and the recording, by how the conditions are tested."""
    folder: Path = tmp_path_factory.mktemp("conditions")
    (folder / "several.py").write_text(PROGRAM)
    said = run(folder / "several.py", request.param, TORCH_LOGS="recompiles").stderr
    path = folder / "r.stepper"
    command = ("record", "--lookups", "-o", path, folder / "several.py", request.param)
    done = run("-m", "stepper", *command)
    assert done.returncode == 0, done.stderr
    recording = Recording.open(str(path))
    yield said, recording
    recording.close()


def test_the_conditions_that_failed_are_those_that_torch_names(
    recorded: tuple[str, Recording],
) -> None:
    said, recording = recorded
    named = {
        (entry, comparisons(condition))
        for entry, condition in re.findall(r"- (0/\d): (.*?)  #", said)
    }
    uses = Uses(recording)
    failed = {
        (
            use.translation.compile_id,
            comparisons(part.replace("L['x']", "x").replace("L['y']", "y")),
        )
        for each in matching(recording, "SHAPE_ENV")
        if (use := uses.of(each)).failures
        for part in use.guard.code
    }
    assert len(named) == 3
    assert failed == named


def test_a_recompilation_has_the_value_and_the_line_of_the_condition(
    recorded: tuple[str, Recording],
) -> None:
    text = "\n".join(line.text for line in recompile_lines(recorded[1], "several", every=True))
    first, second = (f"several.py:{line} in several" for line in (FIRST, SECOND))
    assert re.search(rf"fails: 4 <= x.shape\[0\], with 2  .*\n.*s77 > 3.*{first}", text)
    saw = r"with y.shape\[0\] = 5, x.shape\[0\] = 2  .*\n"
    assert re.search(rf"% 2\) == 0, {saw}.*Eq\(Mod\(s17 \+ s77, 2\), 0\).*{second}", text)


def test_why_guard_tells_each_condition_with_its_origin(recorded: tuple[str, Recording]) -> None:
    lines = [line.text.strip() for line in guard_lines(recorded[1], "SHAPE_ENV", entry="0/0")]
    assert [line for line in lines if line.startswith("checks")] == [
        "checks ((L['y'].size()[0] + L['x'].size()[0]) % 2) == 0",
        "checks 4 <= L['x'].size()[0]",
        "checks 2 <= L['y'].size()[0]",
    ]
    origins = [line for line in lines if line.startswith(("requires", "2 or more"))]
    assert f"several.py:{SECOND} in" in origins[0]
    assert f"several.py:{FIRST} in" in origins[1]
    assert "0/1 specialization" in origins[2]
    assert "failed with 2" in lines


def test_a_question_in_sql_finds_each_condition_at_its_line(
    recorded: tuple[str, Recording],
) -> None:
    asked = Query(
        recorded[1],
        "SELECT code, user_line FROM guards JOIN frames ON frames.id = frame"
        " WHERE kind = 'SHAPE_ENV' AND final AND compile_id = '0/0'",
    )
    rows: dict[str, str] = dict(asked.rows())
    asked.close()
    conditions = [
        part for each in matching(recorded[1], "SHAPE_ENV", entry="0/0") for part in each.guard.code
    ]
    assert [*rows] == conditions
    assert f"several.py:{SECOND} in" in rows[conditions[0]]
    assert f"several.py:{FIRST} in" in rows[conditions[1]]


def test_times_are_told_where_there_are_any(recorded: tuple[str, Recording]) -> None:
    """In C++ all conditions are one function, which nobody can time in parts."""
    runs = [
        line.text for line in guard_lines(recorded[1], "SHAPE_ENV", entry="0/0")
        if " run in " in line.text
    ]  # fmt: skip
    told = "its time is not recorded" if "cpp" in recorded[1].facts.argv else "µs each"
    assert len(runs) == 3
    assert all(told in line for line in runs)


def test_is_guarded_names_the_conditions_on_a_size(recorded: tuple[str, Recording]) -> None:
    lines = [line.text for line in guarded_lines(recorded[1], "y.shape[0]")]
    assert "  SHAPE_ENV  2 <= L['y'].size()[0]" in lines
    assert not any("4 <= L['x']" in line for line in lines)
