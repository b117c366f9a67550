"""Programs under the debugger, ended whatever a test does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .harness import Program


@pytest.fixture
def debug(tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """Starts a program under the debugger: `debug(source, breakpoints=..., ...)`."""
    programs: list[Program] = []

    def start(source: str, **options: Any) -> Program:
        program = Program(source, tmp_path, **options)
        programs.append(program)
        return program

    yield start
    for program in programs:
        program.close()
