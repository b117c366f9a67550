"""The program's recording, made once for all that is asked of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from stepper.analysis.compile_times import CompileTimes
from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import ROOT, clean_environment
from tests.timings import programs

RENAMED = {
    "_compile.compile_inner": "entire_frame_compile",
    "OutputGraph.call_user_compiler": "backend_compile",
    "backward._backward_impl": "entire_backward_compile",
}
"""torch counts those of a name of its own under that."""


class Ran:
    """The program's recording, and what torch counted of its own phases."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "run.stepper"
        counted = folder / "counted.json"
        subprocess.run(
            ready.stepper("record", "-o", self.file, programs.__file__, counted),
            env=clean_environment(),
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
        told = json.loads(counted.read_text())
        self.times_of_torch: dict[str, list[float]] = {
            RENAMED.get(name, name): seconds for name, seconds in told["times"].items()
        }
        self.metrics: list[dict[str, float | None]] = told["metrics"]
        self.functions: list[tuple[str, int]] = told["functions"]
        """What torch's profiler says of each call that was traced."""
        self.callbacks: int = told["callbacks"]
        """Of the garbage collector, when all was compiled."""
        self.recording = Recording.open(str(self.file))
        self.times = CompileTimes(self.recording)


@pytest.fixture(scope="session")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("timings"))
