"""What is said of calls that no entry served and that were not compiled, and of such as failed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.output_graph import OutputGraph

import stepper
from stepper.analysis.failed_lines import failed_lines
from stepper.analysis.failures import failures
from stepper.analysis.recompile_lines import recompile_lines
from stepper.recording.reader import Recording
from tests.analysis.conftest import Recorded


def scaled(x: torch.Tensor, by: int) -> torch.Tensor:
    return x * by


STANCES = """
import contextlib
import torch

def scaled(x, by):
    return x * by

compiled = torch.compile(scaled, backend="eager", dynamic=False)
compiled(torch.ones(3), 2)
for args in ((torch.ones(4), 2), (torch.ones(3), 9), (torch.ones(7), 2)):
    with torch.compiler.set_stance("fail_on_recompile"), contextlib.suppress(RuntimeError):
        compiled(*args)
with torch.compiler.set_stance("eager_on_recompile"):
    compiled(torch.ones(5), 2)
with torch.compiler.set_stance("force_eager"):  # is told at the same moment
    compiled(torch.ones(6), 2)
"""


@pytest.mark.parametrize("lookups", [False, True])
def test_each_guard_that_a_stance_makes_matter_is_told(
    recorded: Recorded, program: Callable[[str], str], *, lookups: bool
) -> None:
    recording = recorded(program(STANCES), *["--lookups"] * lookups)
    size, number = "x.shape[0]: expected 3, actual 4", "by: expected 2, actual 9"
    said = [line.text for line in failed_lines(recording)]
    heads = [text.partition(":")[0] for text in said if text[:1].isdigit()]
    assert heads == ["3 calls failed", "1. 2×  scaled", "2. scaled"]
    assert [text for text in (size, number) if any(text in line for line in said)] == [size, number]
    failing, first, second, *others = (
        line.text
        for line in recompile_lines(recording)
        if line.role == "title" or ": expected " in line.text
    )
    assert failing.startswith("3 calls failed: scaled: ")
    assert "'fail_on_recompile'" in failing
    assert size in first
    assert number in second
    if lookups:  # else only an error is told
        eager, third = others
        assert eager.startswith("1 call ran uncompiled: scaled: ")
        assert "'eager_on_recompile'" in eager
        assert "x.shape[0]: expected 3, actual 5" in third
    else:
        assert others == []


def test_a_compilation_that_fails_before_its_first_instruction_blames_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(_: Any) -> None:
        raise AssertionError("no room")

    compiled = torch.compile(scaled, backend="eager", dynamic=False)
    path = tmp_path / "a.stepper"
    with stepper.record(path, lookups=True):
        compiled(torch.ones(3), 2)
        monkeypatch.setattr(OutputGraph, "install_builtins_dict_in_fglobals", cannot)
        with pytest.raises(AssertionError, match="no room"):
            compiled(torch.ones(4), 2)
    recording = Recording.open(str(path))
    (failed,) = failures(recording)
    assert failed.failure.message == "no room"
    assert failed.sites == ()
    assert not any("the graph ended" in line.text for line in failed_lines(recording))
    recording.close()
