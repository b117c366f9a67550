"""How a recording's readers grow with it: `python -m tests.benchmarks.bench_growth`.

The recordings are those of `bench_questions`, of 10,000 moments to 10,000,000 (or of as many as the
arguments say). Everything is asked in a process of its own. Times are the processor's, of all
threads, so what is found beside the screen counts; but a key's is the clock's, from its being
written to a terminal until the last that it draws has come. Memory is the most that the process
ever had. `--plot FILE` draws how each row grows.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from stepper.recording.reader import Recording
from tests.benchmarks.bench_questions import QUERIES, busy_recording, questions, time_of
from tests.benchmarks.bench_screen import paint
from tests.benchmarks.plot import Curve, plot
from tests.benchmarks.terminal_keys import key_times

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
_STATES = 400
_OPENED = 5
"""How often the screen is opened."""

Measured = dict[str, float]
"""By row."""


def _state(path: str) -> Measured:
    recording = Recording.open(path)
    chance = random.Random(1)
    taken = []
    for moment in [chance.randint(1, recording.newest) for _ in range(_STATES)]:
        begun = time.process_time()
        recording.state(moment)
        taken.append((time.process_time() - begun) * 1e3)
    recording.close()
    return {"state at any moment, 95 % below (ms)": _most(taken)}


def _screen(path: str) -> Measured:
    moments = _newest(path)
    with tempfile.TemporaryDirectory() as folder:  # what is imported once is no matter of size
        short = str(Path(folder) / "short.stepper")
        busy_recording(short, 1_000)
        asyncio.run(paint(short, 1_000))
    firsts = [asyncio.run(paint(path, moments)) for _ in range(_OPENED)]
    return {
        "`stepper open`, painted and settled (ms)": min(firsts) * 1e3,
        "memory of the screen (MB)": _memory(),
    }


def _keys(path: str) -> Measured:
    taken = key_times(path, _newest(path) // 2)
    return {"a key, until it is seen, 95 % below (ms)": _most(taken) * 1e3}


def _asked(row: str, name: str) -> Callable[[str], Measured]:
    def ask(path: str) -> Measured:
        return {row: time_of(path, questions(path, path)[name]) * 1e3}

    return ask


def _disk(path: str) -> Measured:
    return {"disk, a moment (bytes)": os.path.getsize(path) / _newest(path)}


_ROWS = {
    "`why-recompile` (ms)": "why-recompile",
    "`why-break` (ms)": "why-break",
    "`why-guard TENSOR_MATCH` (ms)": "why-guard TENSOR_MATCH",
    "`is-guarded x.shape[0]` (ms)": "is-guarded x.shape[0]",
    "`diff` with itself (ms)": "diff, the same",
    "`query`, instructions by opcode (ms)": QUERIES[0],
    "`query`, guards by kind (ms)": QUERIES[1],
}
TASKS: Mapping[str, Callable[[str], Measured]] = {
    "disk": _disk,
    "state": _state,
    "screen": _screen,
    "keys": _keys,
    **{row: _asked(row, name) for row, name in _ROWS.items()},
}
"""What is measured, each in a process of its own."""


def _most(taken: Sequence[float]) -> float:
    return sorted(taken)[int(len(taken) * 0.95)]


def _newest(path: str) -> int:
    recording = Recording.open(path)
    try:
        return recording.newest
    finally:
        recording.close()


def _memory() -> float:
    """The most since this program began: what `getrusage` says counts the process that began it."""
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(peak.split()[1]) / 1024


def _apart(task: str, path: str) -> Measured:
    """A task in a process of its own."""
    command = [sys.executable, "-m", __spec__.name, "--task", task, path]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {name: float(figure) for name, figure in json.loads(told).items()}


def measured(moments: int) -> Measured:
    """All rows for a recording of so many moments."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "busy.stepper")
        busy_recording(path, moments)
        return {name: figure for task in TASKS for name, figure in _apart(task, path).items()}


def main() -> None:
    """Measure and print; or do one task, for the process that does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("moments", type=int, nargs="*", default=SIZES)
    parser.add_argument("--plot")
    parser.add_argument("--task", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.task:
        task, path = arguments.task
        print(json.dumps(TASKS[task](path)))
        return
    columns = {moments: measured(moments) for moments in arguments.moments}
    rows = list(next(iter(columns.values())))
    print(f"{'moments':<42}{''.join(f'{moments:>12,}' for moments in columns)}")
    for row in rows:
        figures = "".join(f"{found[row]:>12,.1f}" for found in columns.values())
        print(f"{row.replace('`', ''):<42}{figures}")
    if arguments.plot:
        curves = [Curve(row, [(n, found[row]) for n, found in columns.items()]) for row in rows]
        Path(arguments.plot).write_text(plot(curves, "moments"))


if __name__ == "__main__":
    main()
