"""What the last line says while the program runs."""

from __future__ import annotations

from pathlib import Path

from stepper.analysis.activity import activity
from stepper.recording.reader import Recording


def test_the_backend_is_named_with_its_seconds_and_input_is_asked_for(sample_path: Path) -> None:
    recording = Recording.open(str(sample_path))
    assert activity(recording, 12, compiles=12).endswith("compiles: 12 s in the backend")
    assert "backend" not in activity(recording, 0.2, compiles=0.1), "not worth a word yet"
    assert activity(recording, 12, waits=True).startswith("waits for input")
    recording.close()
