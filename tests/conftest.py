"""What tests of every room use."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from stepper import _C
from tests.leftovers import nothing_left

__all__ = ["nothing_left"]

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
CORPUS = TESTS / "corpus"

# A shell starts what it puts into the background with SIGINT ignored, and every child inherits it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Run a test that needs Dynamo's evaluator out in a process of its own where it stays in: an
    exception has left the frame callback in a test before."""
    if not _needs_it_out(item) or not _evaluator_is_in():
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    call = pytest.CallInfo.from_call(lambda: _run_alone(item.nodeid), "call")
    report = item.ihook.pytest_runtest_makereport(item=item, call=call)
    item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those tests come first, when it is still out."""
    items.sort(key=lambda item: not _needs_it_out(item))


def _needs_it_out(item: pytest.Item) -> bool:
    marked = item.get_closest_marker("evaluator_out") is not None
    return marked or "hook" in getattr(item, "fixturenames", ())


def _run_alone(test: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


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

    def run(*arguments: object, timeout: float = 600) -> subprocess.CompletedProcess[str]:
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
