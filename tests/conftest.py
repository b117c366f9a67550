"""What tests of every room use."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stepper import _C
from tests import ready
from tests.leftovers import nothing_left, untracked
from tests.ready_python import leave_processor_caches

__all__ = ["nothing_left"]

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
CORPUS = TESTS / "corpus"

# A shell starts what it puts into the background with SIGINT ignored, and every child inherits it.
signal.signal(signal.SIGINT, signal.default_int_handler)


_BEFORE = pytest.StashKey[set[str]]()


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.stash[_BEFORE] = untracked()


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """No test leaves a file in the checkout, where somebody would commit it."""
    yield
    before = session.config.stash[_BEFORE]
    left = untracked() - before
    if left and not hasattr(session.config, "workerinput"):
        print(f"\nThe tests left in the checkout: {', '.join(sorted(left))}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Run a test that needs Dynamo's evaluator out in a process of its own where it stays in, as an
    exception has left the frame callback in a test before."""
    if not (_needs_it_out(item) and evaluator_is_in()):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    test = item.nodeid.removesuffix(f"@{_group(item)}")  # where xdist has put it
    call = pytest.CallInfo.from_call(lambda: _run_alone(test), "call")
    report = item.ihook.pytest_runtest_makereport(item=item, call=call)
    item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups of tests in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share what is made once for them run in one process, where it is made once. First
    those tests come that need the evaluator out, when it still is, then what takes longest."""
    for item in items:
        sharing = _sharing(item)
        if sharing and not _group(item):
            item.add_marker(pytest.mark.xdist_group(sharing))
    items.sort(key=_place)


def pytest_collection_finish() -> None:
    leave_processor_caches()
    gc.collect()
    gc.freeze()  # the collector would look at all of torch each time


def _sharing(item: pytest.Item) -> str:
    """The module, or the folder, with which the test shares a fixture; empty: with none."""
    found = getattr(item, "_fixtureinfo").name2fixturedefs.values()  # noqa: B009  # pytest has no other way
    shared = [each[-1].baseid for each in found if each[-1].scope in ("module", "package")]
    return min((each for each in shared if each.startswith("tests/")), key=len, default="")


def _group(item: pytest.Item) -> str:
    marked = item.get_closest_marker("xdist_group")
    return "" if marked is None else str(marked.args[0])


def _place(item: pytest.Item) -> int:
    if _needs_it_out(item):
        return 0
    return 1 if _group(item) or item.get_closest_marker("slow") is not None else 2


def _needs_it_out(item: pytest.Item) -> bool:
    marked = item.get_closest_marker("evaluator_out") is not None
    return marked or "hook" in getattr(item, "fixturenames", ())


def _run_alone(test: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def evaluator_is_in() -> bool:
    """Whether Dynamo's frame evaluator is in, over which no hook can be put."""
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
    """Runs this Python with arguments, in an empty folder, with nothing inherited that shows. A
    program under `-m stepper` begins as `tests.ready` says."""

    def run(*arguments: object, timeout: float = 600) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *map(str, arguments)]
        if arguments[:2] == ("-m", "stepper"):
            command = ready.python(*arguments)
        return subprocess.run(
            command,
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
