"""Where compile time went, in a report."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from xml.etree import ElementTree

import msgspec

from stepper.model.timing import Timing
from stepper.recording.reader import Recording
from stepper.report.gathering import gather
from stepper.report.page import page
from tests.recordings import sample_recording

_MS = 1_000_000


def recording(folder: Path) -> Recording:
    """A recording whose compiler took 70 ms, 20 of them in a phase with a hostile name."""
    path = folder / "run.stepper"
    sample_recording(str(path))
    timings = [
        Timing(1, "entire_frame_compile", 0, 70 * _MS, 0, translation=1),
        Timing(2, "<script>&", 10 * _MS, 20 * _MS, 0, parent=1),
        Timing(3, "brief", 40 * _MS, 1, 0, parent=1),
    ]
    with sqlite3.connect(path) as connection:
        rows = [(each.id, each.moment, msgspec.msgpack.encode(each)) for each in timings]
        connection.executemany("INSERT INTO timing VALUES (?, ?, ?)", rows)
    connection.close()
    return Recording.open(str(path))


def test_the_flame_graph_has_a_box_for_all_that_took_long(tmp_path: Path) -> None:
    text = page(gather(recording(tmp_path)))
    drawn = text[text.index("<svg", text.index('id="times"')) :]
    svg = ElementTree.fromstring(drawn[: drawn.index("</svg>") + 6])
    boxes = {
        (group.findtext("title") or "").removeprefix("phase "): group.find("rect")
        for group in svg.findall("g")
    }
    outer = boxes["entire_frame_compile: 70 ms, own 50 ms"]
    inner = boxes["<script>&: 20 ms"]
    assert outer is not None
    assert inner is not None
    assert not any("brief" in title for title in boxes)
    assert int(inner.get("y", "")) > int(outer.get("y", ""))
    width = int(outer.get("width", ""))
    assert abs(int(inner.get("width", "")) - width * 2 / 7) <= 2
    assert int(inner.get("x", "")) + int(inner.get("width", "")) <= width
    assert "<script" not in text
    uncoloured = {
        rect.get("class", "")
        for rect in svg.iter("rect")
        if f".{rect.get('class')} {{ fill:" not in text
    }
    assert uncoloured == set()


def test_a_recording_without_times_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.stepper"
    sample_recording(str(path))
    report = gather(Recording.open(str(path)))
    assert report.times is None
    section = page(report)
    assert "not recorded." in section[section.index('id="times"') :]
