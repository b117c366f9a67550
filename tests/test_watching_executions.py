"""Rule one with executions recorded: a few programs of the corpus, alone and watched."""

from __future__ import annotations

from pathlib import Path

from stepper.model.trace import Phase
from stepper.recording.reader import Recording
from tests.watching import alone, explain_difference, watched

PROGRAMS = [
    "break_print", "break_in_try", "break_in_loop", "closures", "exceptions", "generators",
    "buffers", "cache_limit", "coroutines", "dicts", "hostile_notices",
]  # fmt: skip


def test_recording_executions_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "watched.stepper"
    expected = alone(PROGRAMS, tmp_path)
    actual = watched(PROGRAMS, tmp_path, path, "--execute")
    assert actual.status == expected.status
    for name in PROGRAMS:
        assert actual.accounts[name].output == expected.accounts[name].output
        difference = explain_difference(
            expected.accounts[name].report, actual.accounts[name].report
        )
        assert not difference, f"{name}: {difference}"
    recording = Recording.open(str(path))
    executed = [row for row in recording.translations() if row.phase is Phase.EXECUTE]
    assert len(executed) > len(PROGRAMS)
    assert not [event.text for event in recording.events() if event.kind == "note"]
    recording.close()
