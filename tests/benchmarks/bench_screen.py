"""How fast the screen answers: `python -m tests.benchmarks.bench_screen [MOMENTS …]`.

The recordings are those of `bench_questions`, with 10,000 to 1,000,000 steps. Measured are
the first paint (from opening the recording until all is drawn) and keys: from the press
until what it asked for is drawn. Times are the processor's: with several programs at work on the
machine, those of the clock say nothing. The bounds are 0.5 s and 50 ms at every size.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from stepper.client.session import open_recording
from stepper.tui.app import StepperApp
from tests.benchmarks.bench_questions import busy_recording

MOST_FIRST = 0.5
MOST_KEY = 0.05
SIZE = (160, 45)
MOVES = ("s", "s", "n", "l", "S", "s", "l", "n", "L", "s")


def main(*sizes: int) -> None:
    """Measure and print."""
    # What is imported and compiled once is no matter of size.
    with tempfile.TemporaryDirectory() as directory:
        for moments in (1_000, *(sizes or (10_000, 100_000, 1_000_000))):
            path = str(Path(directory) / f"{moments}.stepper")
            busy_recording(path, moments)
            firsts, keys = zip(*(asyncio.run(paint(path, moments)) for _ in range(3)), strict=True)
            if moments > 1_000:
                _say(f"{moments:>9,} moments: first paint", min(firsts), MOST_FIRST)
                _say(f"{moments:>9,} moments: a key, median", min(map(median, keys)), MOST_KEY)
                _say(f"{moments:>9,} moments: a key, worst", min(map(max, keys)), MOST_KEY)


def _say(what: str, seconds: float, most: float) -> None:
    verdict = "ok" if seconds < most else "TOO SLOW"
    print(f"{what:<40} {seconds * 1e3:6.0f} ms  {verdict}", flush=True)


async def paint(path: str, moments: int) -> tuple[float, list[float]]:
    """Processor time of the first paint, and of each key."""
    gc.collect()
    begun = time.process_time()
    session = open_recording(path)
    app = StepperApp(session, at=moments // 2)
    keys = []
    try:
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            first = time.process_time() - begun
            for key in MOVES:
                begun = time.process_time()
                await pilot.press(key)
                await pilot.pause()
                keys.append(time.process_time() - begun)
    finally:
        session.close()
    return first, keys


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
