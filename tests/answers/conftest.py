"""The programs of the bench, recorded once."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version

import pytest

from stepper.recording.reader import Recording
from tests import ready
from tests.answers import programs  # noqa: F401  # they take themselves up
from tests.answers.cases import of
from tests.answers.running import Recorded, counts, native_recording, run, some_of, troubles

TORCH = "2.13"
"""In which the bench's causes, lines and counts were found: another torch breaks elsewhere, and
some programs fail there."""


@pytest.fixture(scope="package", autouse=True)
def _torch_of_the_bench() -> None:
    if not version("torch").startswith(f"{TORCH}."):
        pytest.skip(f"the bench was written with torch {TORCH}")


@pytest.fixture(autouse=True)
def _ready() -> Iterator[None]:
    """Programs that are run again start quickly."""
    with ready.forking():
        yield


@pytest.fixture(scope="package")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    """The programs recorded, and what each made then."""
    path = tmp_path_factory.mktemp("answers") / "r.stepper"
    done = run(
        "-m", "stepper", "record", "--lookups", "-o", path, "-m", "tests.answers", "--experiments"
    )
    recording = Recording.open(str(path))
    yield recording, counts(done), troubles(done)
    recording.close()


@pytest.fixture(scope="package")
def native(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    """Programs that are recorded under the native engine, too."""
    cases = (*of("why-break"), *of("is-guarded"))
    some = (*some_of("why-recompile"), *some_of("why-shape"))
    names = [case.name for case in (*cases, *some)]
    recording = native_recording(tmp_path_factory.mktemp("native") / "r.stepper", *names)
    yield recording
    recording.close()
