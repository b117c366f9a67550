"""The programs of the bench, recorded once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stepper.recording.reader import Recording
from tests.answers.running import Recorded, counts, run


@pytest.fixture(scope="package")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """The programs recorded, and the graphs that each made then."""
    path = tmp_path_factory.mktemp("answers") / "r.stepper"
    done = run("-m", "stepper", "record", "--lookups", "-o", path, "-m", "tests.answers")
    recording = Recording.open(str(path))
    yield recording, counts(done)
    recording.close()
