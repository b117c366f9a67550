"""How fast the screen answers: `python -m tests.benchmarks.bench_screen [MOMENTS …]`.

The recordings are those of `bench_questions`, with 10,000 to 1,000,000 steps. Measured are
the first paint, from opening the recording until all is drawn, in time of the processor, and keys
as they are seen on a terminal (`terminal_keys`), by the clock. The bounds are 0.5 s and 50 ms at
every size.
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
from tests.benchmarks.terminal_keys import key_times

MOST_FIRST = 0.5
MOST_KEY = 0.05
SIZE = (160, 45)


def main(*sizes: int) -> None:
    """Measure and print."""
    # What is imported and compiled once is no matter of size.
    with tempfile.TemporaryDirectory() as directory:
        for moments in (1_000, *(sizes or (10_000, 100_000, 1_000_000))):
            path = str(Path(directory) / f"{moments}.stepper")
            busy_recording(path, moments)
            first = min(asyncio.run(paint(path, moments)) for _ in range(3))
            if moments > 1_000:
                keys = key_times(path, moments // 2)
                _say(f"{moments:>9,} moments: first paint", first, MOST_FIRST)
                _say(f"{moments:>9,} moments: a key, median", median(keys), MOST_KEY)
                _say(f"{moments:>9,} moments: a key, worst", max(keys), MOST_KEY)


def _say(what: str, seconds: float, most: float) -> None:
    verdict = "ok" if seconds < most else "TOO SLOW"
    print(f"{what:<40} {seconds * 1e3:6.0f} ms  {verdict}", flush=True)


async def paint(path: str, moments: int) -> float:
    """Processor time of the first paint."""
    gc.collect()
    begun = time.process_time()
    session = open_recording(path)
    app = StepperApp(session, at=moments // 2)
    try:
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            return time.process_time() - begun
    finally:
        session.close()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
