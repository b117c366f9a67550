"""The JSON report is what its documentation says."""

from __future__ import annotations

import inspect

import msgspec
import pytest

from stepper.recording.reader import Recording
from stepper.report import contents, document
from stepper.report.encoding import encoded
from stepper.report.gathering import gather
from tests.analysis.conftest import Recorded
from tests.docs.transcripts import DOCS

RECORDS = [
    record
    for record in vars(contents).values()
    if inspect.isclass(record) and issubclass(record, msgspec.Struct)
]


def test_the_page_on_the_format_is_up_to_date() -> None:
    assert (DOCS / "report-format.md").read_text(encoding="utf-8") == document.page(), (
        "run: python -m stepper.report.document > docs/report-format.md"
    )


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_every_field_is_on_the_page(record: type[msgspec.Struct]) -> None:
    section = document.page().partition(f"## `{record.__name__}`")[2].partition("\n## ")[0]
    for name in record.__struct_fields__:
        assert f"| `{name}` |" in section


def test_a_report_can_be_read_back(recorded: Recorded) -> None:
    for demo in ("demos/graph_breaks.py", "demos/recompilation.py"):
        report = gather(recorded(demo, "--lookups"))
        assert msgspec.json.decode(encoded(report), type=contents.Report) == report


def test_hostile_texts_can_be_encoded(hostile: Recording) -> None:
    text = encoded(gather(hostile))
    report = msgspec.json.decode(text, type=contents.Report)
    assert report.walks[0].name == "<script>alert(1)</script>"
    assert len(text) < 400_000


def test_every_moment_that_is_spoken_of_is_described(recorded: Recorded) -> None:
    recording = recorded("demos/recompilation.py", "--lookups")
    report = gather(recording)
    described = {each.moment for each in report.moments}
    spoken = {guard.moment for entry in report.entries for guard in entry.guards}
    spoken |= {node.moment for entry in report.entries for node in entry.graph}
    spoken |= {each.moment for f in report.recompiled for each in f.recompilations}
    spoken |= {walk.first_moment for walk in report.walks}
    recorded_ones = {at for at in spoken if recording.oldest <= at <= recording.newest}
    assert recorded_ones <= described


def test_the_numbers_of_a_run_are_those_of_its_recording(recorded: Recorded) -> None:
    recording = recorded("demos/recompilation.py", "--lookups")
    totals = gather(recording).totals
    assert totals.guards == sum(
        len(recording.guards(None, attempt=recording.attempts(walk.id)[-1].id))
        for walk in recording.translations()
        if walk.outcome == "compiled"
    )
    assert (totals.recompilations, totals.refused, totals.skipped) == (8, 1, 1)
