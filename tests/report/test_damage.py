"""A recording is anybody's file: whatever its numbers say, a report of it is written or refused."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import msgspec
import pytest

from stepper.model.trace import Node
from stepper.recording.errors import RecordingError
from stepper.recording.packing import pack
from stepper.recording.reader import Recording
from stepper.report.gathering import gather
from stepper.report.markdown import markdown
from stepper.report.page import page
from tests.recordings import sample_recording
from tests.report.reading import Page
from tests.stored import inflated


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE frame SET depth = 1 << 40",
        "UPDATE frame SET depth = -5",
        "UPDATE frame SET last_moment = first_moment - 3",
        "UPDATE frame SET parent = id",
        "DELETE FROM attempt",
        "DELETE FROM frame WHERE id % 2",
        "UPDATE attempt SET first_moment = 1 << 60",
        "UPDATE guards SET moment = 1 << 60",
        "INSERT INTO guard_withdrawn VALUES (1, -(1 << 60)), (2, 1 << 60)",
        "UPDATE graph_break SET moment = -1",
        "UPDATE nodes SET body = x'90'",
        "INSERT INTO node_erased VALUES (1, -(1 << 60)), (2, 1 << 60)",
    ],
)
def test_a_report_is_written_or_refused(change: str, tmp_path: Path) -> None:
    path = str(tmp_path / "run.stepper")
    sample_recording(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(change)
        connection.commit()
    _report(path)


@pytest.mark.parametrize("change", [{"attempt": 99}, {"rank": 1e308}, {"moment": -1}])
def test_a_report_is_written_or_refused_whatever_the_nodes_say(
    change: dict[str, object], tmp_path: Path
) -> None:
    path = str(tmp_path / "run.stepper")
    sample_recording(path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for first, body in connection.execute("SELECT first, body FROM nodes").fetchall():
            nodes = msgspec.msgpack.decode(inflated(body), type=list[Node])
            spoilt = pack([msgspec.structs.replace(node, **change) for node in nodes])
            connection.execute("UPDATE nodes SET body = ? WHERE first = ?", (spoilt, first))
        connection.commit()
    _report(path)


def _report(path: str) -> None:
    recording = Recording.open(path)
    with contextlib.suppress(RecordingError):
        report = gather(recording)
        Page(page(report)).check()
        markdown(report)
    recording.close()
