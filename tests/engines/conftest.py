"""What tests of both engines share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The PROGRAM of the test's module, in a file."""
    path = tmp_path / "program.py"
    path.write_text(request.module.PROGRAM, encoding="utf-8")
    return path
