"""The page: complete in itself, well formed, and whatever is in a recording stays a text in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stepper.analysis.breaks import causes
from stepper.analysis.guard_uses import entries, guards_of
from stepper.recording.reader import Recording
from stepper.report.gathering import gather
from stepper.report.page import page
from tests.analysis.conftest import Recorded
from tests.recordings import sample_recording
from tests.report.conftest import BACKWARDS, ENDLESS, MARKUP
from tests.report.reading import Page

BREAKS = ("demos/graph_breaks.py", "--lookups")
RECOMPILES = ("demos/recompilation.py", "--lookups")


def read(recording: Recording, *, redact: bool = False) -> tuple[str, Page]:
    text = page(gather(recording, name="run.stepper", redact=redact))
    return text, Page(text)


@pytest.mark.parametrize("demo", [BREAKS, RECOMPILES, ("demos/execution.py", "--execute")])
@pytest.mark.parametrize("redact", [False, True])
def test_a_page_is_well_formed_and_all_its_links_lead_somewhere(
    demo: tuple[str, ...], redact: bool, recorded: Recorded
) -> None:
    _, found = read(recorded(*demo), redact=redact)
    found.check()
    assert {"overview", "frames", "breaks", "recompilations", "guards", "graphs", "code"} <= set(
        found.ids
    )


def test_a_page_needs_nothing_from_elsewhere(recorded: Recorded) -> None:
    text, found = read(recorded(*BREAKS))
    (policy,) = [m["content"] for m in found.metas if "Security" in m.get("http-equiv", "")]
    assert policy.startswith("default-src 'none';")
    assert "script" not in found.tags
    assert not re.findall(r"url\(|@import", text)
    assert any(meta.get("name") == "viewport" for meta in found.metas)
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_the_keyboard_begins_with_a_link_to_the_report(recorded: Recorded) -> None:
    _, found = read(recorded(*BREAKS))
    assert found.links[0] == "#report"
    assert found.links[1:12] == [f"#{id}" for id in (
        "overview", "frames", "times", "failed", "sizes", "breaks", "recompilations", "guards",
        "graphs", "code", "moments",
    )]  # fmt: skip


def test_each_moment_says_how_to_see_it(recorded: Recorded) -> None:
    recording = recorded(*BREAKS)
    _, found = read(recording)
    for cause in causes(recording):
        assert f"#m{cause.moment}" in found.links
        told = found.targets[f"m{cause.moment}"]
        assert f"stepper open run.stepper --at {cause.moment}" in told
        assert cause.source in told


def test_each_break_is_told_with_its_cost_and_its_change(recorded: Recorded) -> None:
    recording = recorded(*BREAKS)
    _, found = read(recording)
    for number, cause in enumerate(causes(recording), 1):
        told = found.targets[f"cause-{number}"]
        assert cause.kind in told
        assert cause.source in told
        assert f"Change: {cause.change}" in told
        assert "Cost: " in told


def test_each_recompilation_is_told_with_what_failed(recorded: Recorded) -> None:
    _, found = read(recorded(*RECOMPILES))
    told = " ".join(found.targets[f"recompiled-{number}"] for number in range(1, 5))
    assert "x.shape[0]: expected 4, actual 5" in told
    assert "mode changes: 'a', 'bb', 'ccc', 'dddd', 'eeeee' (4 of 4)" in told
    assert "limit reached at call 5" in told


def test_each_guard_is_told_with_its_cost(recorded: Recorded) -> None:
    recording = recorded(*RECOMPILES)
    _, found = read(recording)
    for entry in entries(recording):
        for guard in guards_of(recording, entry):
            assert found.targets[f"g{guard.id}"].startswith(guard.kind)
    tensor = [text for id, text in found.targets.items() if re.fullmatch(r"g\d+", id)]
    assert any(re.search(r"TENSOR_MATCH L\['x'\] .* \d+\.\d\d \d+\.\d %", text) for text in tensor)


def test_hostile_texts_stay_texts(hostile: Recording) -> None:
    text, found = read(hostile)
    found.check()
    told = "".join(found.text)
    assert MARKUP in told
    assert MARKUP not in text
    assert "onerror=alert(1)>`" in told
    for sign in (*map(chr, range(9)), "\x1b", "\x7f", *BACKWARDS[0], "\u2066", "\u200f"):
        assert sign not in text, repr(sign)


def test_a_name_of_a_megabyte_is_cut(hostile: Recording) -> None:
    text, _ = read(hostile)
    assert ENDLESS[:200] in text
    assert len(text) < 600_000


def test_the_page_of_a_run_that_compiled_nothing_says_so(tmp_path: Path) -> None:
    from tests.tape import Tape

    Tape(str(tmp_path / "empty.stepper")).close()
    recording = Recording.open(str(tmp_path / "empty.stepper"))
    _, found = read(recording)
    found.check()
    assert "No frame was compiled." in found.targets["frames"]
    recording.close()


def test_every_kind_of_frame_is_on_the_timeline(tmp_path: Path) -> None:
    sample_recording(str(tmp_path / "sample.stepper"))
    recording = Recording.open(str(tmp_path / "sample.stepper"))
    report = gather(recording)
    _, found = read(recording)
    found.check()
    drawn = {bar.walk for bar in report.timeline.attempts}
    assert drawn == {attempt.translation for attempt in recording.attempts()}
    assert {str(marks.kind) for marks in report.timeline.marks} >= {"graph-break", "cache-limit"}
    recording.close()
