"""Runs this folder's tests in a debug build of Python, which counts the references to all objects:
no round of a test may leave more of them, or more memory, than the one before.

Run `python -m tests.csrc.counted [pytest arguments]`. It needs gcc and a debug build of this
version of Python (Debian: apt install python3.11-dbg). The packages are those of this environment:
release and debug builds fit together, but what a release build does with references is not counted.
So none of these tests uses any other extension (see `records.py`).

In the interpreter that runs the tests this module is a plugin of pytest.
"""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
from array import array
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from _pytest.runner import runtestprotocol

from tests.csrc.building import asked, build

SETTLING, MEASURED = 2, 3
"""Rounds of a test in which comes what comes once, and rounds that must leave nothing."""


def interpreter() -> str:
    """The path of a debug build of this version of Python; empty: there is none here."""
    version = ".".join(map(str, sys.version_info[:2]))
    for name in (f"python{version}d", f"python{version}-dbg"):
        found = shutil.which(name)
        if found is not None and asked(found, "import sys; sys.gettotalrefcount(); print('yes')"):
            return found
    return ""


def main(*arguments: str) -> int:
    """Build, and run the tests."""
    python = interpreter()
    if not python:
        print("there is no debug build of this Python here (Debian: apt install python3.11-dbg)")
        return 1
    packages = Path(pytest.__file__).parents[1]
    with tempfile.TemporaryDirectory() as name:
        build(Path(name), ["-O1", "-g", "-UNDEBUG"], python)
        environment = os.environ | {
            "PYTHONPATH": f"{name}:{packages}",
            "PYTHONHASHSEED": "0",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        command = [python, "-m", "pytest", "-p", __spec__.name, "-p", "no:cacheprovider", "-q"]
        command += ["--rootdir", name, *(arguments or ["tests/csrc"])]
        return subprocess.run(command, cwd=name, env=environment, check=False).returncode


# --- the plugin


_FORGET = getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache
"""Clears what keeps the name that was looked up last in each place. The second warns where
there is the first (Python 3.13), and pytest keeps each warning."""


class Counts:
    """What there was after each round."""

    def __init__(self) -> None:
        # Plain numbers: an object for each count would be one more each time.
        self._counts = {what: array("q", [0] * (MEASURED + 1)) for what in ("references", "blocks")}
        self._round = 0

    def take(self) -> None:
        """Count, when the garbage is gone."""
        while gc.collect():
            pass
        _FORGET()
        self._counts["blocks"][self._round] = sys.getallocatedblocks()
        self._counts["references"][self._round] = sys.gettotalrefcount()
        self._round += 1

    def check(self) -> None:
        """See that not each round left something."""
        for what, counts in self._counts.items():
            more = [after - before for before, after in pairwise(counts)]
            assert min(more) <= 0, f"each round leaves {what}: {more}"


class Again(NamedTuple):
    """What comes after a test that is run once more: what it is in stays, and it begins anew."""

    item: Any

    def listchain(self) -> Any:
        """What is still needed then."""
        return self.item.listchain()[:-1]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: Any, nextitem: Any) -> bool:
    """Run a test some times; it fails where each time leaves something."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    counts = Counts()
    reports: list[Any] = []
    gc.collect()
    gc.freeze()  # only what a round makes is looked through after it
    for number in range(SETTLING + MEASURED):
        reports = runtestprotocol(item, log=False, nextitem=cast(Any, Again(item)))
        item._initrequest()
        if not all(report.passed for report in reports):
            break
        if number >= SETTLING - 1:
            counts.take()
    else:
        call = pytest.CallInfo.from_call(counts.check, "call")
        reports = [item.ihook.pytest_runtest_makereport(item=item, call=call)]
    gc.unfreeze()
    item.session._setupstate.teardown_exact(nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
