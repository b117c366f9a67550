"""What tests of every room use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from stepper import _C

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
CORPUS = TESTS / "corpus"


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that needs Dynamo's evaluator out in a process of its own where it stays in: an
    exception has left the frame callback in a test before."""
    if pyfuncitem.get_closest_marker("evaluator_out") is None or not _evaluator_is_in():
        return None
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", pyfuncitem.nodeid]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return True


def _evaluator_is_in() -> bool:
    if _C.hook_installed():
        return False
    try:
        _C.install_hook()
    except RuntimeError:
        return True
    _C.remove_hook()
    return False


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
