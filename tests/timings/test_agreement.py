"""Times of T5, GPT-2 and a training step with Inductor agree with what torch counts itself.

Both sides come from one run, so what else the machine does is on both. torch's profiler is given
the clock of the recording (`models.profile`): what is compared is what each counts as a function's
time, and not which of their clocks a commit to the disk is on.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stepper.analysis.compile_times import CompileTimes
from stepper.analysis.slow_lines import slow_lines
from stepper.analysis.spans import SpanKind, spans, walk
from stepper.model.timing import TRACING
from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import ROOT, clean_environment
from tests.timings import models

pytestmark = pytest.mark.slow

COLUMNS = {
    "dynamo_cumulative_compile_time_us": "entire_frame_compile",
    "aot_autograd_cumulative_compile_time_us": "backend_compile",
    "backward_cumulative_compile_time_us": "entire_backward_compile",
    "inductor_cumulative_compile_time_us": "inductor_compile",
    "inductor_code_gen_cumulative_compile_time_us": "code_gen",
    "joint_graph_pass_time_us": "_recursive_joint_graph_passes",
}
"""Of torch's `CompilationMetrics`: the phase that each is a sum of."""
METRIC, FUNCTION = 0.03, 0.10
"""Parts by which a sum of phases, and a function, may differ."""
RUNS = 3
"""The machine may stop the program between the two readings of a clock, which is long for a
function; what is counted otherwise differs in each of so many runs."""
STOPPED = 50_000
"""Microseconds for which the machine may stop the program between two clocks."""
LONG = 0.05
"""Part of the longest function that a function takes at least to be compared: the profiler begins
before a function's first instruction, which matters for short ones."""
Key = tuple[str, int, str]


class Ran:
    """The recording, and what torch counted in the same run."""

    def __init__(self, folder: Path) -> None:
        file, counted = folder / "run.stepper", folder / "counted.json"
        subprocess.run(
            ready.stepper("record", "-o", file, models.__file__, counted),
            env=clean_environment(), cwd=ROOT, check=True, capture_output=True,
        )  # fmt: skip
        told = json.loads(counted.read_text())
        self.metrics: list[dict[str, Any]] = told["metrics"]
        self.functions: list[models.Function] = told["functions"]
        self.kernels: int = told["kernels"]
        self.recording = Recording.open(str(file))
        self.times = CompileTimes(self.recording)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("agreement"))


def test_phases_agree_with_the_metrics(ran: Ran) -> None:
    timings = ran.recording.timings() or []
    compared = 0
    for column, name in COLUMNS.items():
        theirs = sum(metrics.get(column) or 0 for metrics in ran.metrics)
        ours = sum(each.nanoseconds + each.left_out for each in timings if each.name == name)
        if theirs and ours:  # some versions count no passes
            compared += 1
            assert abs(ours / 1000 - theirs) <= METRIC * theirs + STOPPED, name
    assert compared >= 5


def test_nearly_all_of_the_wall_time_is_attributed(ran: Ran) -> None:
    wall = sum(
        (metrics.get("end_time_us") or 0) - (metrics.get("start_time_us") or 0)
        for metrics in ran.metrics
    )
    left_out = sum(root.timing.left_out for root in ran.times.roots)
    assert (ran.times.total + left_out) / 1000 >= 0.98 * wall
    assert ran.times.of_lines >= 0.95 * ran.times.spent({TRACING})
    # What no phase within another has taken is said as that one's own: nothing is lost between.
    told = sum(each.own for root in ran.times.roots for each in root.walk())
    assert told == pytest.approx(ran.times.total, rel=0.001)


def test_as_many_kernels_are_told_as_inductor_counts(ran: Ran) -> None:
    assert ran.kernels > 1
    assert ran.times.kernels == ran.kernels
    assert f"generating code for {ran.kernels} kernels" in next(slow_lines(ran.recording)).text


def test_functions_agree_with_the_profiler(ran: Ran, tmp_path: Path) -> None:
    if not ran.functions:
        pytest.skip("this torch has no profiler of tracing that goes on after a break")
    differ = differing(ran)
    for number in range(1, RUNS):
        if not differ:
            break
        (folder := tmp_path / str(number)).mkdir()
        again = differing(Ran(folder))
        differ = {key: ratio for key, ratio in differ.items() if key in again}
    assert not differ


def differing(ran: Ran) -> dict[Key, float]:
    """The functions that take longer or shorter than the profiler says, with the ratio."""
    theirs: Counter[Key] = Counter()
    called: Counter[Key] = Counter()
    for name, file, line, nanoseconds in ran.functions:
        key = file, line, name.rpartition(".")[2]
        theirs[key] += nanoseconds
        called[key] += 1
    ours: Counter[Key] = Counter()
    met: Counter[Key] = Counter()
    for _, span in walk(spans(ran.recording)[""]):
        if span.kind is SpanKind.FRAME:
            key = span.file, span.line, span.name.rpartition(".")[2]
            ours[key] += span.total
            met[key] += 1
    longest = max(theirs.values())
    differ = {}
    compared = 0
    for key, nanoseconds in theirs.items():
        # Calls that Dynamo inlines by another way the profiler does not see.
        if nanoseconds < LONG * longest or called[key] != met[key]:
            continue
        compared += 1
        ratio = ours[key] / nanoseconds
        if abs(ratio - 1) > FUNCTION:
            differ[key] = ratio
    assert compared >= 10
    return differ
