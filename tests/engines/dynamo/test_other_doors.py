"""Whatever has Dynamo translate a frame, and whatever keeps it from it, is in the recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.comptime import comptime

import stepper
from stepper.model.trace import EventKind, Outcome, Phase
from stepper.recording.reader import Recording


class Sine(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sin() + 1


class Broken(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        return x.sin() + 1


def double(x: torch.Tensor) -> torch.Tensor:
    return (x + 1) * 2


@pytest.fixture(autouse=True)
def _fresh() -> Any:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def recorded(path: Path) -> Recording:
    return Recording.open(str(path))


def test_exported_modules_are_recorded(tmp_path: Path) -> None:
    x = torch.ones(3)
    plain = torch.export.export(Sine(), (x,), strict=True).graph_module.code
    path = tmp_path / "a.stepper"
    with stepper.record(path):
        assert torch.export.export(Sine(), (x,), strict=True).graph_module.code == plain
        with pytest.raises(torch._dynamo.exc.Unsupported):
            torch.export.export(Broken(), (x,), strict=True)
        torch.export.export(Sine(), (torch.ones(4),), strict=True)
    recording = recorded(path)
    outcomes = [each.outcome for each in recording.translations()]
    assert outcomes == [Outcome.COMPILED, Outcome.FAILED, Outcome.COMPILED]
    assert len(recording.graph_breaks()) == 1
    inlined = {
        recording.code(frame.code).qualname
        for each in recording.translations()
        for attempt in recording.attempts(each.id)
        for frame in recording.frames(attempt.id)
    }
    assert {"Sine.forward", "Broken.forward"} <= inlined
    recording.close()


def test_compilation_ahead_of_time_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "a.stepper"
    # torch 2.11 has to be asked for it.
    asked = {"enable_aot_compile": True} if torch.__version__.startswith("2.11.") else {}
    with stepper.record(path, lookups=True, execute=True), torch._dynamo.config.patch(asked):
        compiled: Any = torch.compile(double, fullgraph=True, backend="eager")
        made = compiled.aot_compile(((torch.ones(3),), {}))
        assert made(torch.ones(3)).tolist() == [4.0, 4.0, 4.0]
        assert torch.compile(double, backend="eager")(torch.ones(3)).tolist() == [4.0, 4.0, 4.0]
    recording = recorded(path)
    translated = [each for each in recording.translations() if each.phase is Phase.TRANSLATE]
    assert [(each.name, each.outcome) for each in translated] == [("double", Outcome.COMPILED)] * 2
    recording.close()


sessions: list[Any] = []


def begin_session(context: object) -> None:
    sessions[-1].__enter__()


class Begins(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        comptime(begin_session)
        return x.sin() + 1


def test_a_session_that_begins_in_an_export_joins_it(tmp_path: Path) -> None:
    path = tmp_path / "a.stepper"
    sessions.append(stepper.record(path))
    torch.export.export(Begins(), (torch.ones(3),), strict=True)
    sessions.pop().__exit__()
    recording = recorded(path)
    assert [each.outcome for each in recording.translations()] == [Outcome.COMPILED]
    recording.close()


STANCES = ["fail_on_recompile", "eager_on_recompile", "force_eager"]


@pytest.mark.parametrize("stance", STANCES)
def test_a_stance_and_what_comes_of_it(tmp_path: Path, stance: str) -> None:
    compiled = torch.compile(double, backend="eager")
    path = tmp_path / "a.stepper"
    with stepper.record(path):
        compiled(torch.ones(3))
        with torch.compiler.set_stance(stance):
            compiled(torch.ones(3))
            if stance == "fail_on_recompile":
                with pytest.raises(RuntimeError, match="fail_on_recompile"):
                    compiled(torch.ones(3, dtype=torch.float64))
            else:
                compiled(torch.ones(3, dtype=torch.float64))
    recording = recorded(path)
    said = [event.text for event in recording.events(kinds=(EventKind.SKIP,))]
    assert len([text for text in said if text.startswith(f"stance {stance!r} set at ")]) == 1
    refused = [text for text in said if text.startswith("double: ")]
    assert len(refused) == (stance == "fail_on_recompile")
    recording.close()


def test_a_lookup_that_may_not_compile_leaves_the_guard_that_failed(tmp_path: Path) -> None:
    compiled = torch.compile(double, backend="eager")
    path = tmp_path / "a.stepper"
    with stepper.record(path, lookups=True):
        compiled(torch.ones(3))
        with torch.compiler.set_stance("fail_on_recompile"), pytest.raises(RuntimeError):
            compiled(torch.ones(3, dtype=torch.float64))
    recording = recorded(path)
    lookup = [each for each in recording.translations() if each.phase is Phase.LOOKUP][-1]
    assert lookup.outcome is Outcome.SKIPPED
    events = recording.events(kinds=(EventKind.GUARD_FAIL, EventKind.SKIP))
    failed, why = [event.text for event in events if event.moment >= lookup.first_moment]
    assert "dtype float32 ≠ float64" in failed
    assert why.startswith("double: torch.compiler's stance is 'fail_on_recompile'")
    recording.close()
