"""One program with a cold and with a warm cache of Inductor's, and what became of each graph."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from stepper.analysis.compare_times import time_diff_lines
from stepper.analysis.compile_times import CompileTimes
from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import ROOT, clean_environment

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).with_name("cached_program.py")


def recorded(folder: Path, name: str, number: int) -> Recording:
    file = folder / f"{name}.stepper"
    subprocess.run(
        ready.stepper("record", "-o", file, PROGRAM, str(number)),
        env={**clean_environment(), "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")},
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    return Recording.open(str(file))


def test_a_warm_cache_says_what_it_saved_and_why_a_graph_missed(tmp_path: Path) -> None:
    """The second run has another constant in one of two graphs."""
    cold, warm = recorded(tmp_path, "cold", 3), recorded(tmp_path, "warm", 4)
    told = [" ".join(line.text.split()) for line in time_diff_lines(cold, warm)]
    assert CompileTimes(cold).kernels == 2 * CompileTimes(warm).kernels == 2
    cold.close()
    warm.close()
    assert "a: fx_graph_cache miss 2" in told
    [answers] = [line for line in told if line.startswith("b: fx_graph_cache")]
    assert answers.startswith("b: fx_graph_cache hit 1, fx_graph_cache miss 1; hits saved ")
    missed = [line for line in told if line.startswith("b: ") and line != answers]
    assert missed == ["b: 1/0 other: fx_graph_cache miss: another key than in a: gm"]
    [saved] = [line for line in told if line.startswith("phases of a that hits have left out in b")]
    assert "GraphLowering.compile_to_fn" in saved
    assert "fx_graph_cache" not in saved  # that is an answer, and takes no time
