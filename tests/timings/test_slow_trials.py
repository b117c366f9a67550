"""What makes compiling and guards shorter is tried by running the program again."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from stepper.analysis.compile_times import CompileTimes
from stepper.analysis.replays import Verdict, together
from stepper.analysis.slow_lines import slow_lines
from stepper.analysis.slow_remedies import compile_ways
from stepper.analysis.slow_trials import SlowTrials
from stepper.client.plan import plan_of
from stepper.engines.dynamo.versions.points import torch_version
from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import ROOT, clean_environment

SAME = "the output and the exit code are the same"
REORDERED = "torch._dynamo.config.reorderable_logging_functions.add(print)"
SLOW = """
import time
import torch

@torch.library.custom_op("stepper_trials::slow", mutates_args=())
def slow(x: torch.Tensor) -> torch.Tensor:
    return x.clone()

@slow.register_fake
def _(x):
    time.sleep(0.2)
    return torch.empty_like(x)

@torch.compile(backend="eager")
def f(x):
    y = x
    for step in range(2):
        y = y + slow(x) * step
    print("traced twice up to here")
    return y * 2

print(f(torch.ones(2)).tolist())
"""
GUARDED = """
import torch

NUMBERS = list(range(80))

@torch.compile(backend="eager")
def f(x):
    return x + sum(NUMBERS)

x = torch.ones(2)
f(x)
for _ in range(3):
    x = f(x)
print(x.tolist())
"""


@pytest.fixture(autouse=True)
def _ready() -> Iterator[None]:
    with ready.forking():
        yield


def told(folder: Path, program: str) -> list[str]:
    """The answer, with what was tried."""
    (folder / "program.py").write_text(program)
    subprocess.run(
        ready.stepper("record", "--lookups", "-o", "r.stepper", "program.py"),
        cwd=folder, env=clean_environment(), capture_output=True, check=True,
    )  # fmt: skip
    recording = Recording.open(str(folder / "r.stepper"))
    trials = SlowTrials(recording, plan_of(recording, timed=True), 120.0)
    lines = [line.text.strip() for line in slow_lines(recording, trying=trials.lines)]
    recording.close()
    return lines


def test_what_is_traced_in_vain_is_taken_out_of_a_loop_or_traced_once(tmp_path: Path) -> None:
    lines = told(tmp_path, SLOW)
    proven = [line for line in lines if line.startswith("proven")]
    hoisted = next(line for line in proven if "slow(x) once, in front of the loop: " in line)
    assert " interpreted, " in hoisted
    assert " of compiling → " in hoisted
    assert SAME in hoisted
    once = next(line for line in proven if "reorderable_logging_functions.add" in line)
    assert "1 attempt thrown away → 0" in once
    assert any(line in ("+    once = slow(x)", f"+{REORDERED}") for line in lines)


def test_guards_are_left_out_where_the_program_does_the_same(tmp_path: Path) -> None:
    lines = told(tmp_path, GUARDED)
    proven = [line for line in lines if line.startswith("proven")]
    filtered = next(line for line in proven if "skip_guard_on_globals_unsafe" in line)
    assert SAME in filtered
    few = next(line for line in proven if "skip_guard_eval_unsafe=True" in line)
    assert SAME in few
    [named] = (line for line in lines if line.startswith("no longer asked: "))
    assert "EQUALS_MATCH G['NUMBERS'][" in named
    assert named.endswith(" more")


def test_a_change_that_changes_what_is_printed_is_not_advised(tmp_path: Path) -> None:
    changing = GUARDED.replace("    x = f(x)", "    x = f(x); NUMBERS[0] += 1")
    lines = told(tmp_path, changing)
    assert any("guard_filter_fn" in line and "it PRINTS" in line for line in lines), lines
    assert not any(line.startswith("proven") and "guard" in line for line in lines)


def test_only_the_guards_that_a_call_asks_are_told(tmp_path: Path) -> None:
    """Under `skip_guard_eval_unsafe` those are the ones that have told entries apart."""
    stance = "torch.compiler.set_stance(skip_guard_eval_unsafe=True)\nfor _"
    (tmp_path / "program.py").write_text(GUARDED.replace("for _", stance))
    subprocess.run(
        ready.stepper("record", "--lookups", "-o", "r.stepper", "program.py"),
        cwd=tmp_path, env=clean_environment(), capture_output=True, check=True,
    )  # fmt: skip
    recording = Recording.open(str(tmp_path / "r.stepper"))
    lookups = [item for item in recording.translations() if item.outcome == "hit"]
    asked = [
        {recording.guard_program(tried.code)[check.place].source for check in tried.checks}
        for item in lookups
        for tried in recording.tried(item.id)
    ]
    recording.close()
    assert len(asked) == 3
    assert all("L['x']" in sources for sources in asked)
    assert not any("NUMBERS[" in source for sources in asked for source in sources)


def judged(folder: Path, program: str, *changes: str) -> Verdict:
    """What becomes of a program with the changes in whose words these stand, all together; each is
    one that is proposed."""
    (folder / "program.py").write_text(program)
    subprocess.run(
        ready.stepper("record", "-o", "r.stepper", "program.py"),
        cwd=folder, env=clean_environment(), capture_output=True, check=True,
    )  # fmt: skip
    with contextlib.closing(Recording.open(str(folder / "r.stepper"))) as recording:
        trials = SlowTrials(recording, plan_of(recording, timed=True), 300.0)
        ways = compile_ways(CompileTimes(recording), trials.files)
        chosen = [next(way for way in ways if name in way.words) for name in changes]
        return trials.judged(together(chosen))


def test_the_case_of_the_guide_is_found_and_mended_at_small_scale(tmp_path: Path) -> None:
    """All that the guide does to its case is proposed, and together it is proven."""
    whole = (ROOT / "demos" / "slow_training.py").read_text()
    few = whole.replace('("24", "400")', '("3", "60")')
    mended = ("decay(STEPS) once", "reorderable_logging_functions", "mark_dynamic(x, 0)")
    verdict = judged(tmp_path, few, *mended)
    assert not verdict.trouble
    was, now = verdict.usual.found, verdict.trial.found
    assert was.compilations == 4
    assert was.thrown_away == 2
    assert (now.compilations, now.thrown_away) == (1, 0)
    assert now.instructions * 8 < was.instructions


def test_blocks_of_a_deep_model_are_compiled_once_for_all_sizes(tmp_path: Path) -> None:
    """The other case of the guide, with few blocks and without Inductor. The compiled model is
    called in an f-string, so until Python 3.12 its call has no place in the text."""
    whole = (ROOT / "demos" / "slow_blocks.py").read_text()
    few = whole.replace("else 24", "else 4").replace("(model)", '(model, backend="eager")')
    verdict = judged(tmp_path, few, "nested_compile_region of Block.forward", "mark_dynamic(x, 1)")
    assert not verdict.trouble
    assert verdict.usual.found.printed == verdict.trial.found.printed
    assert (verdict.usual.found.compilations, verdict.trial.found.compilations) == (2, 1)
    fewer = verdict.trial.found.instructions * 3 < verdict.usual.found.instructions
    assert fewer is (torch_version() > (2, 11))  # which interprets each of them all the same
