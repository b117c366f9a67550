"""The console runs the recorded program again when it is told to, and not before."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests import ready
from tests.conftest import ROOT, clean_environment

PROGRAM = """
import torch

open("ran", "a").write("x")

@torch.compile(backend="eager")
def scaled(x, factor):
    return x * factor

for factor in (1.5, 2.5):
    print(scaled(torch.ones(2), factor))
"""


def stepper(folder: Path, *words: str, typed: str = "") -> str:
    environment = clean_environment() | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ready.stepper(*words),
        cwd=folder, env=environment, input=typed, capture_output=True, text=True, check=False,
        timeout=600,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.slow
def test_it_is_run_when_that_is_agreed_to(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(PROGRAM)
    ran = tmp_path / "ran"
    stepper(tmp_path, "record", "-o", "r.stepper", "p.py")
    said = stepper(tmp_path, "console", "r.stepper", typed="why-recompile --replay scaled\n")
    assert "this runs again, with all that it does:" in said
    assert "p.py" in said
    assert "nothing was run: --replay --yes agrees to it" in said
    assert ran.read_text() == "x"
    typed = "why-recompile --replay --yes scaled\nwhy-break --replay --yes\n"
    said = stepper(tmp_path, "console", "r.stepper", typed=typed)
    assert "proven: torch.tensor(factor) at the calls: 2 compilations → 1" in said
    assert ran.read_text() == "xxx", "once as it is, and once with the change"
    # Another's recording is not run, whatever is typed.
    (tmp_path / "key").mkdir()
    state = {"XDG_STATE_HOME": str(tmp_path / "key")}
    os.environ |= state
    try:
        said = stepper(tmp_path, "console", "r.stepper", typed=typed)
    finally:
        del os.environ["XDG_STATE_HOME"]
    assert "the program cannot be run again: " in said
    assert ran.read_text() == "xxx"
