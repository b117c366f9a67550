"""Real recordings to ask, each made once."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stepper.recording.reader import Recording
from tests import ready
from tests.conftest import ROOT, clean_environment

Recorded = Callable[..., Recording]


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """Records a program with some options, and variables of the environment, and opens it."""
    folder = tmp_path_factory.mktemp("recorded")
    known: dict[tuple[object, ...], Recording] = {}

    def record(program: str, *options: str, **environment: str) -> Recording:
        # A test may write another program where one was: what it says is what it is known by.
        key = ((ROOT / program).read_bytes(), program, *options, *environment.items())
        if key not in known:
            path = folder / f"{len(known)}.stepper"
            done = subprocess.run(
                ready.stepper("record", *options, "-o", path, ROOT / program),
                cwd=folder,
                env=clean_environment() | environment,
                capture_output=True,
                text=True,
                timeout=600,
                check=False,
            )
            assert path.exists(), done.stderr
            known[key] = Recording.open(str(path))
        return known[key]

    yield record
    for recording in known.values():
        recording.close()


@pytest.fixture(autouse=True)
def _ready() -> Iterator[None]:
    """Programs that are run again start quickly."""
    with ready.forking():
        yield


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], str]:
    """Writes a program and returns its path."""

    def write(source: str) -> str:
        path = tmp_path / "program.py"
        path.write_text(source)
        return str(path)

    return write
