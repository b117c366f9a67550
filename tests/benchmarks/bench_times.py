"""How fast questions about compile time are answered over 1,000,000 moments:
`python -m tests.benchmarks.bench_times`.

The recording is synthetic: attempts of some thousand instructions with inlined calls, each within
the phases that torch has. Times are the processor's, of the best of three; each question opens the
recording anew. The bound is a second for each question of SQL.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from itertools import count
from pathlib import Path

import msgspec

from stepper.analysis.compile_times import CompileTimes
from stepper.analysis.flame import flames
from stepper.analysis.slow_lines import slow_lines
from stepper.model.timing import Timing
from tests.benchmarks.bench_questions import Question, asking, time_of
from tests.recordings import straight_code
from tests.stored import inflated
from tests.tape import Tape

MOST_SECONDS = 1.0
STEP = 20_000
"""Nanoseconds from one moment to the next."""
LENGTH = 60
CALLS = 40
"""Inlined calls of an attempt."""

QUERIES = (
    "SELECT name, sum(nanoseconds) FROM timings GROUP BY name ORDER BY 2 DESC",
    "SELECT frame, sum(nanoseconds) FROM timings WHERE name = 'bytecode_tracing' GROUP BY frame",
    "SELECT max(instant) - min(instant) FROM instructions",
    "SELECT frame, max(instant) - min(instant) FROM instructions GROUP BY frame ORDER BY 2 DESC",
    "SELECT opname, count(*) FROM instructions GROUP BY opname",
)


def main(steps: int = 1_000_000) -> None:
    """Measure and print."""
    questions: dict[str, Question] = {
        "why-slow": lambda recording: list(slow_lines(recording)),
        "flame graph": lambda recording: flames(CompileTimes(recording)),
        **{sql: asking(sql) for sql in QUERIES},
    }
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory, "timed.stepper"))
        timed_recording(path, steps)
        for name, question in questions.items():
            seconds = min(time_of(path, question) for _ in range(3))
            verdict = "ok" if seconds < MOST_SECONDS else "TOO SLOW"
            print(f"{name:<92} {seconds * 1e3:6.0f} ms  {verdict}")


def timed_recording(path: str, steps: int) -> None:
    """Write a recording whose every moment has an instant, and every attempt its phases."""
    tape = Tape(path)
    attempts: list[tuple[int, int, int]] = []
    inner = tape.code(straight_code("inner", LENGTH))
    for number in count():
        if tape.moment >= steps:
            break
        walk = tape.begin(straight_code(f"f{number}", LENGTH), f"{number}/0")
        tape.start_attempt()
        first = tape.moment + 1
        for call in range(CALLS):
            tape.step(call, stack=(), locals={})
            tape.enter(inner)
            for ip in range(LENGTH):
                tape.step(ip, stack=(), locals={})
            tape.leave()
        tape.end_attempt()
        tape.end()
        attempts.append((walk.id, first, tape.moment))
    tape.close()
    with sqlite3.connect(path) as connection:
        for first, body in connection.execute("SELECT first, body FROM moments").fetchall():
            parts = msgspec.msgpack.decode(inflated(body))[:3]
            clock = [first * STEP, *([STEP] * (len(parts[0]) - 1))]
            whole = msgspec.msgpack.encode([*parts, clock])
            connection.execute("UPDATE moments SET body = ? WHERE first = ?", (whole, first))
        timings = [each for walk in attempts for each in _phases(*walk)]
        connection.executemany(
            "INSERT INTO timing VALUES (?, ?, ?)",
            [(n, 0, msgspec.msgpack.encode(t)) for n, t in enumerate(timings, 1)],
        )
    connection.close()


def _phases(walk: int, first: int, last: int) -> list[Timing]:
    began, took = first * STEP - 1, (last - first + 1) * STEP
    number = 4 * walk - 3
    return [
        Timing(number, "entire_frame_compile", began, 2 * took, 0, translation=walk),
        Timing(number + 1, "compile_attempt_0", began, 2 * took, 0, number, walk),
        Timing(number + 2, "bytecode_tracing", began, took, 0, number + 1, walk),
        Timing(number + 3, "backend_compile", began + took, took, 0, number + 1, walk),
    ]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
