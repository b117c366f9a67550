"""What tests of every room use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stepper import _C

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
CORPUS = TESTS / "corpus"


@pytest.fixture(autouse=True)
def evaluator_out() -> Iterator[None]:
    """No test may leave Dynamo's evaluator in. Others of this process need it out."""
    yield
    if not _C.hook_installed():
        try:
            _C.install_hook()
        except RuntimeError:
            pytest.fail(
                "Dynamo's evaluator stays in: its frame callback was left by an exception. Run "
                "what raises in a process of its own."
            )
        _C.remove_hook()


@pytest.fixture
def corpus() -> Callable[[str], Path]:
    """The path of a program of the corpus, by its name."""

    def find(name: str) -> Path:
        path = CORPUS / f"{name}.py"
        assert path.exists(), f"the corpus has no program {name}"
        return path

    return find


@pytest.fixture
def run_python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs this Python with arguments, in an empty folder, with nothing inherited that shows."""

    def run(*arguments: object, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=tmp_path,
            env=clean_environment(),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run


def clean_environment() -> dict[str, str]:
    """This environment, less what changes torch's output or the order of sets.

    The checkout is on the path, so that the tests also run where it is not installed.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TORCH")}
    return kept | {"PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT)}
