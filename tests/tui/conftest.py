"""Recordings for the tests of the terminal interface, each written once for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recordings import big_recording, sample_recording


@pytest.fixture(scope="session")
def sample_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session with something of everything."""
    path = tmp_path_factory.mktemp("sample") / "sample.stepper"
    sample_recording(str(path))
    return path


@pytest.fixture(scope="session")
def big_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hundred thousand moments."""
    path = tmp_path_factory.mktemp("big") / "big.stepper"
    big_recording(str(path))
    return path
