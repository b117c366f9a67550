"""Rule one with lookups recorded: guards are asked again, and everything stays the same.

A part of the corpus: programs whose guards are of many kinds, whose objects would notice being
looked at, and that call what they compiled often.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from stepper.model.trace import Phase
from stepper.recording.reader import Recording
from tests.watching import alone, explain_difference, watched

PROGRAMS = [
    "automatic_dynamic", "cache_limit", "class_attributes", "closures", "context_no_grad",
    "defaultdicts", "dicts", "hostile_counts", "hostile_metaclass", "hostile_notices",
    "hostile_repr", "hooks", "lifetime", "methods", "modules", "parameters", "properties",
    "recompiles", "sets", "tensor_subclass", "threads",
]  # fmt: skip


@pytest.mark.timeout(900)
def test_recording_lookups_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lookups.stepper"
    expected = alone(PROGRAMS, tmp_path)
    actual = watched(PROGRAMS, tmp_path, path, "--lookups")
    for name in PROGRAMS:
        before, after = expected.accounts[name], actual.accounts[name]
        assert after.output == before.output, name
        difference = explain_difference(before.report, after.report)
        assert not difference, f"{name}: {difference}"
    assert actual.status == expected.status
    recording = Recording.open(str(path))
    lookups = [each for each in recording.translations() if each.phase is Phase.LOOKUP]
    notes = [event.text for event in recording.events() if event.kind == "note"]
    recording.close()
    assert len(lookups) > len(PROGRAMS)
    assert not notes
