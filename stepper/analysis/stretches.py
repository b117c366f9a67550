"""What a question reads of instructions that does not ask when they were.

A row for each moment is most of what such a question would take. Mostly one instruction follows the
other: so there is a row for each stretch of them, and SQLite makes instructions of it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from stepper.recording.database import damaged
from stepper.recording.moments import Run
from stepper.recording.reader import Recording

TIMES = frozenset({"moment", "instant", "nanoseconds"})
"""The columns of `instructions` that are about one moment, by which others find it."""

SCHEMA = """
CREATE TABLE _stretch (id INTEGER PRIMARY KEY, call INTEGER, ip INTEGER, count INTEGER);
DROP VIEW instructions;
CREATE VIEW instructions AS
    SELECT NULL AS moment, c.frame, c.attempt, s.call, c.depth, o.function, o.file, i.line,
           i.ip, i.opname, i.arg, NULL AS instant, NULL AS nanoseconds
    FROM _stretch s LEFT JOIN _call c ON c.id = s.call LEFT JOIN _code o ON o.id = c.code
         CROSS JOIN _instruction i ON i.code = c.code AND i.ip BETWEEN s.ip AND s.ip + s.count - 1;
"""
_MISSING = """
SELECT s.call, s.ip + s.count - 1
FROM _stretch s LEFT JOIN _call c ON c.id = s.call
     LEFT JOIN _instruction i ON i.code = c.code AND i.ip = s.ip + s.count - 1
WHERE i.ip IS NULL OR s.ip < 0 LIMIT 1
"""


def stretches(recording: Recording) -> Iterator[tuple[int | None, int, int, int]]:
    """A row for each of them, in order."""
    for run in recording.runs(recording.oldest, recording.newest):
        begin = 0
        for end in (*_ends(run), len(run.ips)):
            yield None, run.frames[begin], run.ips[begin], end - begin
            begin = end


def _ends(run: Run) -> list[int]:
    """Where an instruction is not the next one of the same frame."""
    steps = zip(run.frames, run.frames[1:], run.ips, run.ips[1:], strict=False)
    return [
        at
        for at, (frame, following, ip, next_ip) in enumerate(steps, 1)
        if next_ip != ip + 1 or following != frame
    ]


def check_stretches(connection: sqlite3.Connection, path: str) -> None:
    """See to it that the view has all instructions: one that does not exist would have no row.

    Raises:
        RecordingError: there is such a one.
    """
    for call, ip in connection.execute(_MISSING):
        raise damaged(path, f"frame {call} has no instruction {ip}")
