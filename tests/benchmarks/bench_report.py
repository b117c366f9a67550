"""How fast a report is written, and how long it is: `python -m tests.benchmarks.bench_report`.

The recording is that of a small T5 (71,000 instructions, 3,900 guards, 640 nodes), made with
`stepper record` as a user would, with its lookups. Seconds are the processor's, of the whole
command, the best of three. The bounds are 3 s and 5 MB.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conftest import ROOT

MOST_SECONDS = 3.0
MOST_BYTES = 5_000_000
PROGRAM = """
import torch
from tests.benchmarks.bench_tracing import t5
model, arguments = t5()
compiled = torch.compile(model, backend="eager")
compiled(**arguments)
compiled(**arguments)
"""


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as directory:
        recording = Path(directory, "t5.stepper")
        _stepper("record", "--lookups", "-o", recording, "-c", PROGRAM)
        for format in ("html", "markdown", "json"):
            report = Path(directory, f"report.{format}")
            arguments = ("report", recording, "-o", report, "--format", format)
            seconds = min(_stepper(*arguments) for _ in range(3))
            size = report.stat().st_size
            fits = seconds < MOST_SECONDS and size < MOST_BYTES
            verdict = "ok" if fits else "TOO SLOW OR TOO LONG"
            print(f"{format:<9} {seconds:5.2f} s  {size / 1e6:5.2f} MB  {verdict}")


def _stepper(*arguments: object) -> float:
    """Run a command; returns the seconds of the processor that it took."""
    before = _spent()
    subprocess.run(
        [sys.executable, "-m", "stepper", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return _spent() - before


def _spent() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
