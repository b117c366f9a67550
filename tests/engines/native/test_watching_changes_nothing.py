"""Rule one of the native engine: recorded or not, programs do the same, whatever goes wrong in what
watches."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from stepper import native
from stepper.debuggee import start
from stepper.debuggee.recorder import Recorder
from stepper.engines.native.describe import NativeDescriber
from stepper.engines.native.recording import RecordingObserver
from stepper.model.launch import DebuggeeConfig
from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import CORPUS, ROOT, clean_environment
from tests.watching import light_batches

ADDRESS = re.compile(r"0x[0-9a-f]+|[0-9]{9,}")


def printed(*command: str) -> dict[str, str]:
    """What each program of the corpus prints."""
    programs = [str(CORPUS / f"{name}.py") for batch in light_batches() for name in batch]
    done = subprocess.run(
        ready.python("-m", *command, *programs),
        cwd=ROOT, env=clean_environment(), capture_output=True, text=True, check=True, timeout=900,
    )  # fmt: skip
    assert "stopped watching" not in done.stderr
    sections = (each.partition("\n") for each in done.stdout.split("=== ")[1:])
    return {name: ADDRESS.sub("<address>", text) for name, _, text in sections}


@pytest.mark.timeout(900)
def test_programs_print_the_same(tmp_path: Path) -> None:
    how = ("--engine", "native", "--lookups", "--execute", "-o", str(tmp_path / "r.stepper"), "-m")
    watched = printed("stepper", "record", *how, "tests.engines.native.run_programs")
    assert watched == printed("tests.engines.native.run_programs", "--alone")


class Counted:
    def __init__(self) -> None:
        self.calls = 0


def frame(x: torch.Tensor, counted: Counted) -> torch.Tensor:
    counted.calls += 1
    y = helped(x) * counted.calls
    torch._dynamo.graph_break()
    return y + len(x)


def helped(x: torch.Tensor) -> torch.Tensor:
    return x + 1


HOOKS: list[tuple[type, str]] = [
    (Recorder, "begin_translation"), (Recorder, "begin_attempt"), (Recorder, "enter"),
    (Recorder, "step"), (Recorder, "leave"), (Recorder, "guard_now"), (Recorder, "side_effect"),
    (Recorder, "graph_break"), (Recorder, "commit"), (Recorder, "mark"), (Recorder, "unwind"),
    (Recorder, "end_translation"), (NativeDescriber, "special"),
    (RecordingObserver, "_record_sizes"),
]  # fmt: skip


@pytest.mark.evaluator_out
@pytest.mark.parametrize(("owner", "name"), HOOKS, ids=[name for _, name in HOOKS])
def test_a_defect_of_ours_ends_the_watching_and_not_the_program(
    owner: type, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []

    def fail(*args: Any, **kwargs: Any) -> None:
        called.append(name)
        raise ValueError("a defect")

    monkeypatch.setattr(owner, name, fail)
    path = tmp_path / "r.stepper"
    session, trouble = start.try_begin(DebuggeeConfig(recording=str(path), engine="native"))
    assert session is not None, trouble
    backends: list[object] = []

    def backend(gm: Any, example_inputs: list[Any]) -> Callable[..., Any]:
        backends.append(gm)
        return gm.forward

    native.reset()
    try:
        counted = Counted()
        compiled = native.compile(frame, backend=backend)
        found = [compiled(torch.ones(2), counted) for _ in range(2)]
    finally:
        session.close()
        native.reset()
    assert [each.tolist() for each in found] == [[4.0, 4.0], [6.0, 6.0]]
    assert counted.calls == 2
    assert len(backends) == 3  # the second call finds another number
    assert called
    assert "stepper stopped watching: ValueError: a defect" in told(path)


def told(path: Path) -> str:
    recording = Recording.open(str(path))
    try:
        return "\n".join(event.text for event in recording.events() if event.kind == "note")
    finally:
        recording.close()
