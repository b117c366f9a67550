"""Executions: transformed code on real values, as a user finds it in the recording."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch

from stepper import native
from stepper.model.trace import Outcome, Phase, Translation
from stepper.recording.reader import Recording
from tests.engines.native import watch

pytestmark = pytest.mark.evaluator_out


def capture(function: object) -> Any:
    return native.optimize("eager", dynamic=False)(function)


def executions(recording: Recording) -> list[Translation]:
    return [each for each in recording.translations() if each.phase is Phase.EXECUTE]


def opnames(recording: Recording, execution: Translation) -> list[tuple[int, str]]:
    """Depth and instruction of each of its moments."""
    found = []
    assert execution.last_moment is not None
    for moment in range(execution.first_moment, execution.last_moment + 1):
        state = recording.state(moment)
        code = recording.code(recording.frame(state.top.frame).code)
        found.append((len(state.frames) - 1, code.instructions[state.top.ip].opname))
    return found


def twice(x: torch.Tensor, ys: list[torch.Tensor]) -> torch.Tensor:
    y = torch.relu(x) + 2
    print("between")
    return y * ys[0]


def test_each_instruction_the_graphs_nodes_and_the_resume_function_are_stepped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    native.reset()
    captured = capture(twice)
    x = torch.ones(3)
    results: list[Any] = []

    def run() -> None:
        results.extend(captured(x, [x]) for _ in range(2))

    recording = watch.record(tmp_path / "a.stepper", run, Phase.LOOKUP, Phase.EXECUTE)
    assert capsys.readouterr().out == "between\n" * 2
    assert all(torch.equal(result, twice(x, [x])) for result in results)
    phases = [(each.phase, each.resume_of) for each in recording.translations()]
    assert phases == [
        (Phase.LOOKUP, ""), (Phase.TRANSLATE, ""), (Phase.EXECUTE, ""),
        (Phase.LOOKUP, "twice"), (Phase.TRANSLATE, "twice"), (Phase.EXECUTE, "twice"),
        (Phase.LOOKUP, ""), (Phase.EXECUTE, ""),
        (Phase.LOOKUP, "twice"), (Phase.EXECUTE, "twice"),
    ]  # fmt: skip
    first, rest = executions(recording)[2:]
    assert (first.compile_id, first.outcome) == ("0/0", Outcome.RETURNED)
    assert first.reason.startswith("call of twice, resumed at ")
    assert (rest.compile_id, rest.reason) == ("1/0", "f32[3]")
    steps = opnames(recording, first)
    assert {name for depth, name in steps if depth == 1} == {"call_function", "output"}
    assert steps[-1] == (0, "RETURN_VALUE")
    state = recording.state(first.last_moment or 0)
    assert state.values[state.top.stack[-1]].brief.startswith("call of twice, resumed at ")
    before = recording.state(first.first_moment)
    assert {name: before.values[id].brief for name, id in before.top.locals.items()} == {
        "x": "f32[3]",
        "ys": "[f32[3]]",
    }


def boom(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    print(end="")
    raise ValueError(str(y.shape))


def test_an_exception_ends_an_execution(tmp_path: Path) -> None:
    native.reset()
    captured = capture(boom)

    def run() -> None:
        with pytest.raises(ValueError, match="3"):
            captured(torch.ones(3))

    found = executions(watch.record(tmp_path / "a.stepper", run, Phase.EXECUTE))
    assert found
    assert {each.outcome for each in found} <= {Outcome.RETURNED, Outcome.RAISED}


def factorial(x: torch.Tensor, n: int) -> torch.Tensor:
    print(end="")
    return x if n == 0 else x * factorial(x, n - 1)


def test_recursion_and_threads_leave_no_tracing_behind(tmp_path: Path) -> None:
    native.reset()
    captured = capture(factorial)
    results = []
    tracing = []

    def call() -> None:
        results.append(captured(torch.full((2,), 2.0), 3))
        tracing.append(sys.gettrace())

    def run() -> None:
        call()
        threads = [threading.Thread(target=call) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    recording = watch.record(tmp_path / "a.stepper", run, Phase.EXECUTE)
    assert all(torch.equal(result, torch.full((2,), 16.0)) for result in results)
    assert tracing == [None] * 4
    names = {each.thread for each in executions(recording)}
    assert len(names) == 4


def keeps_nothing(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    print(end="")
    return y.sum()


def test_values_die_when_they_would_die_without_us(tmp_path: Path) -> None:
    native.reset()
    captured = capture(keeps_nothing)

    def run() -> None:
        tensor = torch.ones(3)
        watched = weakref.ref(tensor)
        captured(tensor)
        captured(tensor)
        del tensor
        gc.collect()
        assert watched() is None

    assert len(executions(watch.record(tmp_path / "a.stepper", run, Phase.EXECUTE))) == 4


def test_what_was_captured_before_is_followed_too(tmp_path: Path) -> None:
    native.reset()
    captured = capture(keeps_nothing)
    captured(torch.ones(3))
    run = lambda: captured(torch.ones(3))
    assert len(executions(watch.record(tmp_path / "a.stepper", run, Phase.EXECUTE))) == 2
    assert not executions(watch.record(tmp_path / "b.stepper", run))
