"""Recordings that several tests read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stepper.recording.reader import Recording
from tests.recordings import Tape, big_recording, sample_recording


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Tape:
    """The story of `sample_recording`, with every state remembered."""
    return sample_recording(
        str(tmp_path_factory.mktemp("sample") / "sample.stepper"), remember=True
    )


@pytest.fixture
def recording(sample: Tape) -> Iterator[Recording]:
    """The story, opened."""
    opened = Recording.open(sample.path)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """100,000 steps of one attempt."""
    path = tmp_path_factory.mktemp("big") / "big.stepper"
    big_recording(str(path))
    return path
