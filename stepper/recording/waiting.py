"""What waits for a commit, there to become rows that hold many: guards, nodes, lookups, runs.

What is handed in is only kept, a column or an object as it is: it comes in the midst of the
compiler, and to encode it is cheapest for all at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stepper.model.program import PythonFrame
from stepper.model.trace import Node
from stepper.recording.packing import pack
from stepper.recording.schema import MOST_TOGETHER, Guards, RepeatedLookups, RunTimes

_REPEAT_COLUMNS = len(RepeatedLookups.__struct_fields__)
_RUN_COLUMNS = len(RunTimes.__struct_fields__)
_Texts = Sequence[str]
RecordedGuards = tuple[
    int, int, Sequence[int], _Texts, _Texts, _Texts, Sequence[PythonFrame | None]
]
"""Guards that were handed in together: the number of the first, the attempt, and their moments,
kinds, sources, scopes and lines."""

RunTook = tuple[int, str, int, int, int, int, int, str, int]
"""A run of what was compiled: what a row of `RunTimes` says."""


def guard_rows(told: Iterable[RecordedGuards]) -> list[object]:
    """Rows of table `guards`, one after the other: guards with consecutive numbers go together."""
    rows: list[object] = []
    first, run = 0, _no_guards()
    for number, attempt, moments, kinds, sources, scopes, lines in told:
        # Numbers that an exception kept from being handed in are missing.
        if number != first + len(run.moments):
            rows += _rows_of(first, run)
            first, run = number, _no_guards()
        run.attempts.extend([attempt] * len(moments))
        run.moments.extend(moments)
        run.kinds.extend(kinds)
        run.sources.extend(sources)
        run.scopes.extend(scopes)
        run.user_lines.extend(lines)
    return rows + _rows_of(first, run)


def _no_guards() -> Guards:
    return Guards([], [], [], [], [], [], [])


def _rows_of(first: int, run: Guards) -> list[object]:
    """Rows, mostly one, of guards whose lines are not yet kept each once."""
    rows: list[object] = []
    for start in range(0, len(run.moments), MOST_TOGETHER):
        part = slice(start, start + MOST_TOGETHER)
        lines = run.user_lines[part]
        each_once = [*dict.fromkeys(lines)]
        places = dict(zip(each_once, range(len(each_once)), strict=True))
        stored = Guards(
            run.attempts[part], run.moments[part], run.kinds[part], run.sources[part],
            run.scopes[part], [*map(places.__getitem__, lines)], each_once,
        )  # fmt: skip
        moments = stored.moments
        rows += (first + start, len(lines), moments[0], moments[-1], pack(stored))
    return rows


def node_rows(nodes: Sequence[Node]) -> list[object]:
    """Rows of table `nodes`, one after the other; the nodes in the order in which they appeared."""
    rows: list[object] = []
    for start in range(0, len(nodes), MOST_TOGETHER):
        part = nodes[start : start + MOST_TOGETHER]
        first, last = part[0], part[-1]
        rows += (first.id, len(part), first.appeared, last.appeared, pack(part))
    return rows


def repeat_rows(waiting: Sequence[int]) -> list[object]:
    """Rows of table `repeated_lookups`, one after the other; `waiting`: the values of its columns,
    one lookup after the other."""
    rows: list[object] = []
    for part in _parts(waiting, _REPEAT_COLUMNS):
        rows += (part[0][0], len(part[0]), pack(RepeatedLookups(*part)))
    return rows


def run_rows(waiting: Sequence[Any]) -> list[object]:
    """Likewise rows of table `run_times`."""
    rows: list[object] = []
    for part in _parts(waiting, _RUN_COLUMNS):
        rows += (part[0][0], len(part[0]), pack(RunTimes(*part)))
    return rows


def _parts(waiting: Sequence[Any], width: int) -> Iterator[list[Any]]:
    """The columns of some rows whose values stand one after the other, as many as go together."""
    most = MOST_TOGETHER * width
    for start in range(0, len(waiting), most):
        yield [waiting[start + column : start + most : width] for column in range(width)]
