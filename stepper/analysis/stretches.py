"""What a question reads of instructions that does not ask when they were.

A row for each moment is most of what such a question would take. Mostly one instruction follows the
other: so there is a row for each stretch of them, and SQLite makes instructions of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from stepper.recording.moments import Run
from stepper.recording.reader import Recording
from stepper.recording.schema import MOST_TOGETHER

TIMES = frozenset({"moment", "instant", "nanoseconds"})
"""The columns of `instructions` that are about one moment, by which others find it."""

SCHEMA = """
CREATE TABLE _stretch (id INTEGER PRIMARY KEY, call INTEGER, ip INTEGER, count INTEGER);
CREATE TABLE _place (place INTEGER PRIMARY KEY);
DROP VIEW instructions;
CREATE VIEW instructions AS
    SELECT NULL AS moment, c.frame, c.attempt, s.call, c.depth, o.function, o.file, i.line,
           s.ip + p.place AS ip, i.opname, i.arg, NULL AS instant, NULL AS nanoseconds
    FROM _stretch s LEFT JOIN _call c ON c.id = s.call LEFT JOIN _code o ON o.id = c.code
         CROSS JOIN _place p LEFT JOIN _instruction i ON i.code = c.code AND i.ip = s.ip + p.place
    WHERE p.place < s.count;
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


def places(_: Recording) -> Iterator[tuple[int]]:
    """The places in a stretch: none is longer than a run."""
    return ((place,) for place in range(MOST_TOGETHER))
