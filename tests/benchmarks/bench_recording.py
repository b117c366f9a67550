"""What a recording costs and how fast it answers: `python -m tests.benchmarks.bench_recording`.

The recording is synthetic, with 100,000 steps (or as many as the argument says), so this says what
the file and its writer and reader take, not what describing a real compiler's state does. Ratios
are against the bounds that the project keeps.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from stepper.model.breakpoint import parse_breakpoint
from stepper.model.stepping import Motion
from stepper.recording.diff import diff
from stepper.recording.navigation import find_break, move
from stepper.recording.reader import Recording
from stepper.recording.writer import Writer
from tests.recordings import FACTS, big_recording
from tests.tape import Runs


def main(steps: int = 100_000) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory) / "big.stepper")
        big_recording(path, steps)
        _line("bytes a step", os.path.getsize(path) / steps, 150, "")
        _write_rate(str(Path(directory) / "rate.stepper"), steps)
        _line("cold open", _time(lambda: Recording.open(path).close()), 50)
        _read(path, steps)


def _write_rate(path: str, steps: int) -> None:
    """What the writer alone takes for a step: one moment, half a value, told 64 at once."""
    delta, value = b"d" * 12, b"v" * 60
    writer = Writer(path, FACTS)
    runs = Runs(writer)
    begun = time.perf_counter()
    for first in range(1, steps, 64):
        frames: list[int] = []
        ips: list[int] = []
        deltas: list[bytes | None] = []
        for i in range(first, first + 64):
            frames.append(1 + i // 100)
            ips.append(i % 100)
            deltas.append(delta)
            if i % 2:
                writer.value(i, value)
        runs.add(first, frames, ips, deltas)
    writer.flush()
    taken = time.perf_counter() - begun
    writer.close()
    print(
        f"{'writing':<34}{taken / steps * 1e6:9.2f} µs a step{steps / taken:12,.0f} steps a second"
    )


def _read(path: str, steps: int) -> None:
    recording = Recording.open(path)
    chance = random.Random(1)
    somewhere = [chance.randrange(1, recording.newest) for _ in range(300)]
    middle = recording.newest // 2
    _line("state, anywhere", _each(recording.state, somewhere), 5)
    _line("state, one on", _each(recording.state, range(middle, middle + 300)), 5)
    _line("state, one back", _each(recording.state, range(middle, middle - 300, -1)), 5)
    _line("diff with the one before", _each(lambda m: diff(recording, m - 1, m), somewhere), 50)
    recording = Recording.open(path)
    for name, ask in (
        ("guards", recording.guards),
        ("nodes", recording.nodes),
        ("events, a page", lambda m: recording.events(limit=50, offset=m % 1000)),
        ("executed", lambda m: recording.executed(1, m)),
    ):
        _line(f"{name}, first time", _time(lambda ask=ask: ask(steps // 2)), 50)  # type: ignore[misc]  # no type is inferred for a default
        _line(f"{name}, then", _each(ask, somewhere[:50]), 50)
    _line("origin of a value", _time(lambda: recording.value_origin(1, steps // 4)), 500)
    for motion in (Motion.NEXT, Motion.LINE, Motion.FINISH):
        end = _each(lambda m, motion=motion: move(recording, m, motion, 1), somewhere[:50])  # type: ignore[misc]  # no type is inferred for a default
        _line(f"{motion} forwards", end, 50)
    rare = [parse_breakpoint("function:nobody"), parse_breakpoint("node:nothing")]
    _line("continue, without a hit", _time(lambda: find_break(recording, 1, rare, 1)), 500)
    often = [parse_breakpoint("big.py:15"), parse_breakpoint("opcode:BINARY_OP")]
    _line(
        "continue, to a hit",
        _each(lambda m: find_break(recording, m, often, 1), somewhere[:50]),
        50,
    )


def _time(ask: Callable[[], object]) -> float:
    begun = time.perf_counter()
    ask()
    return (time.perf_counter() - begun) * 1000


def _each(ask: Callable[[int], object], moments: Iterable[int]) -> list[float]:
    return [_time(lambda moment=moment: ask(moment)) for moment in moments]  # type: ignore[misc]  # no type is inferred for a default


def _line(what: str, taken: float | list[float], bound: float, unit: str = "ms") -> None:
    """One figure, or median and worst of many, and the worst one's share of the bound."""
    many = taken if isinstance(taken, list) else [taken]
    worst = max(many)
    middle = f"{statistics.median(many):9.3f} {unit:<3}"
    print(f"{what:<34}{middle} worst {worst:9.3f}   bound {bound:5g}   ratio {worst / bound:.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
