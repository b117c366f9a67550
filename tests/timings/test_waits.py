"""Time spent waiting is told as that, by what was waited for; what is planted sleeps."""

from __future__ import annotations

import subprocess

import pytest

from stepper.analysis.compile_times import CompileTimes
from stepper.analysis.slow_lines import slow_lines
from stepper.engines.dynamo.versions.points import torch_version
from stepper.model.timing import COMPILE_LOCK, EFFECT_MADE, FILE_LOCK, SIDE_EFFECTS
from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import ROOT, clean_environment
from tests.timings import programs, waiting

SLEEP = int(programs.SLEEP * 1e9)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    folder = tmp_path_factory.mktemp("waits")
    file = folder / "run.stepper"
    subprocess.run(
        ready.stepper("record", "-o", file, waiting.__file__, folder / "lock"),
        env=clean_environment(), cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    return Recording.open(str(file))


def test_a_thread_that_waits_for_another_to_compile_is_not_in_the_sum(recording: Recording) -> None:
    (wait,) = (each for each in recording.timings() or [] if each.name == COMPILE_LOCK)
    assert (wait.thread, wait.parent, wait.translation) == ("second", None, None)
    assert wait.nanoseconds + wait.left_out > SLEEP
    times = CompileTimes(recording)
    assert times.waited[COMPILE_LOCK, "second"] == wait.nanoseconds
    assert times.spent({COMPILE_LOCK}) == 0
    assert {each.name for each in times.beside} == {COMPILE_LOCK}


def test_a_lock_of_a_file_is_waited_for_in_the_phase_that_needs_it(recording: Recording) -> None:
    names = {each.id: each.name for each in recording.timings() or []}
    (wait,) = (each for each in recording.timings() or [] if each.name == FILE_LOCK)
    assert (names[wait.parent or 0], wait.thread) == ("backend_compile", "")
    assert wait.nanoseconds + wait.left_out > SLEEP / 2
    lines = [line.text for line in slow_lines(recording)]
    assert "waiting for locks of files" in lines[0]
    told = lines[lines.index("waited for") + 1 :]
    assert any("Dynamo's lock" in line and "thread second" in line for line in told)
    assert any("locks of files in caches on disk" in line for line in told)


def test_side_effects_have_their_part_of_making_bytecode(recording: Recording) -> None:
    timings = recording.timings() or []
    names = {each.id: each.name for each in timings}
    made = [each for each in timings if each.name == SIDE_EFFECTS]
    assert made
    assert {names[each.parent or 0] for each in made} == {"compile_attempt_0"}
    assert sum(each.nanoseconds for each in made) > 0


def test_each_side_effects_bytecode_has_its_own_time(recording: Recording) -> None:
    names = {each.id: each.name for each in recording.timings() or []}
    made = [each for each in recording.timings() or [] if each.name == EFFECT_MADE]
    assert {names[each.parent or 0] for each in made} == {SIDE_EFFECTS}
    (attempt,) = recording.attempts(made[0].translation or 0)
    effects = {each.id: each for each in recording.side_effects(None, attempt=attempt.id)}
    assert {each.side_effect for each in made} == effects.keys()
    texts = {each.text for each in effects.values()}
    assert len(texts) == 3
    # From 2.15 on, Dynamo puts off what is computed of numbers to each call.
    counted = "1" if torch_version() < (2, 15) else "add(G['calls'], 1)"
    assert texts > {f"G['calls'] = {counted}", "G['kept'] changes"}
    lines = [line.text for line in slow_lines(recording)]
    at = next(n for n, line in enumerate(lines) if line.startswith("side effects, made in "))
    told = " ".join(lines[at + 1 : at + 4])
    assert "G['kept'] changes  from tests/timings/waiting.py:" in told
    assert f"G['calls'] = {counted}  from tests/timings/waiting.py:" in told
